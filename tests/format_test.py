"""All C++ of the checkout is formatted as .clang-format says. Mend with the command that the failure prints."""
import os
import re
import shutil
import subprocess
import unittest

from tests import tracked_files

EXTENSIONS = (".cc", ".h", ".c", ".cpp", ".hpp")
# Releases of clang-format differ in small ways; this is the one of Debian 12.
RELEASE = "14."


def clang_format():
    """Path of the right release, or None."""
    for name in ("clang-format-14", "clang-format"):
        path = shutil.which(name)
        if path:
            version = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
            if re.search(r"version " + re.escape(RELEASE), version):
                return path
    return None


def unformatted(tool, root, files):
    """Those of `files` that `tool` would change."""
    bad = set()
    for start in range(0, len(files), 50):
        command = [tool, "--dry-run", "-ferror-limit=1"] + files[start : start + 50]
        run = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        found = re.findall(r"^(.+?):\d+:\d+: warning: code should be clang-formatted", run.stderr, re.M)
        if run.returncode != 0 and not found:
            raise RuntimeError(run.stderr)
        bad.update(found)
    return sorted(bad)


class Format(unittest.TestCase):
    def setUp(self):
        self.tool = clang_format()
        self.assertIsNotNone(self.tool, "clang-format 14 not found: install clang-format (third_party/install.sh test)")

    def test_notices_unformatted_code(self):
        path = os.path.join(os.environ["TEST_TMPDIR"], "bad.cc")
        with open(path, "w") as file:
            file.write("int  f( ){return 1 ;}\n")
        self.assertEqual(unformatted(self.tool, os.environ["TEST_TMPDIR"], [path]), [path])

    def test_checkout_is_formatted(self):
        files = [f for f in tracked_files.tracked_files() if f.endswith(EXTENSIONS)]
        self.assertTrue(files)
        bad = unformatted(self.tool, tracked_files.root(), files)
        self.assertFalse(bad, "%d of %d files are not formatted; run: clang-format -i %s" % (len(bad), len(files), " ".join(bad)))


if __name__ == "__main__":
    unittest.main()
