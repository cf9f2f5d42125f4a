"""The tool on inputs that have the faults of the acceptance cases in other places and spellings; see siblings.py."""
import os
import re
import shutil
import tempfile
import unittest

from tests.cases import checks, harness, siblings


class Siblings(unittest.TestCase):
    maxDiff = 3000

    def check_group(self, group):
        names = set()
        for name, sibling in group():
            self.assertNotIn(name, names)
            names.add(name)
            top = tempfile.mkdtemp(dir=os.environ["TEST_TMPDIR"])
            with self.subTest(name):
                self.check_sibling(top, sibling)
            shutil.rmtree(top)
        self.assertTrue(names)

    def check_sibling(self, top, sibling):
        path = os.path.join(top, "made.json")
        with open(path, "wb") as file:
            file.write(sibling.data if isinstance(sibling.data, bytes) else sibling.data.encode())
        subject = harness.Subject(path, top)
        os.remove(path)
        if isinstance(sibling, siblings.Loads):
            checks.check_good_input(self, subject, sibling.warnings, sibling.is_plain)
            for check in sibling.checks:
                check(self, subject)
        else:
            self.check_failure(subject, sibling)
        checks.check_limits(self, subject)

    def check_failure(self, subject, sibling):
        for command in harness.COMMANDS_THAT_READ:
            run = subject.run_on_input(*command)
            self.assertEqual(run.rc, 1, str(run))
            message = run.err.strip().split("\n")[-1]
            self.assertRegex(message, sibling.says)
            self.assertIn(subject.name, message)
            if sibling.window is not None:
                place = re.search(re.escape(subject.name) + r"\D*:(\d+): ", message)
                self.assertTrue(place, message)
                self.assertTrue(sibling.window[0] <= int(place.group(1)) <= sibling.window[1], "%s: %s" % (sibling.window, message))
            self.assertEqual(harness.digests(subject.output_directory), {}, str(run))


def add_tests():
    for group in siblings.GROUPS:
        setattr(Siblings, "test_" + group.__name__, lambda self, group=group: self.check_group(group))


add_tests()

if __name__ == "__main__":
    unittest.main()
