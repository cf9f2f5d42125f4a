"""No tracked text names a directory of the machine it was written on, or a package registry's host."""
import os
import re
import unittest

from tests import tracked_files

# Written so that no pattern matches its own text.
MACHINE_PATH = re.compile(r"/(work|farm)/|/roo[t]/")
REGISTRY_HOST = re.compile(
    r"pypi[.]org|pythonhosted[.]org|(deb|security)[.]debian[.]org|archive[.]ubuntu[.]com|registry[.]npmjs|proxy[.]golang[.]org"
    r"|crates[.]io|docker[.]io|index-url\s*=\s*http",
    re.I,
)


def findings(text):
    """(line number, line) of each line that says what it should not."""
    lines = text.splitlines()
    return [(i + 1, line.strip()[:120]) for i, line in enumerate(lines) if MACHINE_PATH.search(line) or REGISTRY_HOST.search(line)]


class PortableText(unittest.TestCase):
    def test_notices_what_it_looks_for(self):
        for text in ("cd /wor" + "k/main", "/far" + "m/x", "HOME=/roo" + "t/x", "https://pypi." + "org/simple", "index-url" + " = http://x"):
            with self.subTest(text):
                self.assertEqual(len(findings("fine\n" + text)), 1)

    def test_takes_harmless_text(self):
        for text in ("a/workspace/b", "framework/x", "/usr/root", "the pypi index", "bazel-out/"):
            with self.subTest(text):
                self.assertEqual(findings(text), [])

    def test_checkout_is_portable(self):
        root = tracked_files.root()
        found = []
        for name in tracked_files.tracked_files():
            with open(os.path.join(root, name), "rb") as file:
                data = file.read()
            if b"\0" in data[:8192]:  # git's own rule for what is no text
                continue
            found += ["%s:%d: %s" % (name, number, line) for number, line in findings(data.decode(errors="replace"))]
        self.assertFalse(found, "\n" + "\n".join(found))


if __name__ == "__main__":
    unittest.main()
