"""The tool on inputs that have the faults of the acceptance cases in other places and spellings; see siblings.py and
profile_siblings.py."""
import os
import re
import shutil
import tempfile
import unittest

from tests.cases import checks, harness, profile_siblings, siblings


class Groups:
    """What all siblings are put through."""

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

    def check_failure(self, subject, sibling):
        for command in subject.commands_that_read:
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

class Siblings(Groups, unittest.TestCase):
    def check_sibling(self, top, sibling):
        path = os.path.join(top, "made.json")
        with open(path, "wb") as file:
            file.write(sibling.data if isinstance(sibling.data, bytes) else sibling.data.encode())
        subject = harness.Subject(path, top)
        os.remove(path)
        if isinstance(sibling, siblings.Salvages):
            self.check_salvage(subject, sibling)
        elif isinstance(sibling, siblings.Loads):
            checks.check_good_input(self, subject, sibling.warnings, sibling.is_plain)
            for check in sibling.checks:
                check(self, subject)
        else:
            self.check_failure(subject, sibling)
        checks.check_limits(self, subject)

    def check_salvage(self, subject, sibling):
        for lanes in ("on", "off"):
            arguments = ("convert", "--to", "chrome", "--option", "lanes=" + lanes)
            refused = subject.run_on_input(*arguments)
            self.assertEqual(refused.rc, 1, str(refused))
            self.assertEqual(harness.digests(subject.output_directory), {}, str(refused))
            path = os.path.join(subject.output_directory, lanes)
            run = subject.run(*arguments, "--salvage", subject.name, "-o", path)
            self.assertEqual(run.rc, 3, str(run))
            self.assertIn("salvaged", run.err)
            with open(path, "rb") as file:
                made = harness.parse_strictly(file.read())
            self.assertEqual([e["name"] for e in harness.events_of(made) if e["ph"] == "X"], sibling.names, str(run))
            if isinstance(made, dict):
                self.assertIs(made["tracekiln"]["salvaged"], True)
            else:
                self.assertFalse(sibling.is_marked)
            os.remove(path)
        kiln = os.path.join(subject.output_directory, "out.kiln")
        self.assertEqual(subject.run("convert", "--to", "kiln", "--salvage", subject.name, "-o", kiln).rc, 3)
        run = subject.run("check", "--format", "json", kiln)
        self.assertEqual(run.rc, 3, str(run))
        self.assertIn("salvaged", [f["code"] for f in harness.parse_strictly(run.out)["findings"]])


class ProfileSiblings(Groups, unittest.TestCase):
    def check_sibling(self, top, sibling):
        path = os.path.join(top, sibling.file_name)
        with open(path, "wb") as file:
            file.write(sibling.data)
        subject = harness.Subject(path, top, is_profile=True)
        os.remove(path)
        if isinstance(sibling, profile_siblings.Fails):
            self.check_failure(subject, sibling)
        else:
            profile = subject.profile_with()
            rows = [tuple(r[key] for key in ("file", "line", "name", "calls", "primitive_calls", "own_ns", "cumulative_ns")) for r in profile["rows"]]
            self.assertEqual(sorted(rows, key=str), sorted(sibling.rows, key=str))
            self.assertEqual(sorted(e["reason"] for e in profile["files"][0]["report"]["entries"]), sorted(sibling.notes))
            if sibling.is_kept:
                checks.check_good_profile(self, subject)
            for command in subject.commands_that_read:
                run = subject.run_on_input(*command)
                self.assertEqual(run.rc, 1 if not rows and command[:3] == ("convert", "--to", "pstats") else 0, str(run))
        checks.check_limits(self, subject)

    def test_damage_in_every_place(self):
        """Each either loads, or is refused in one line with a place; never by a signal."""
        top = tempfile.mkdtemp(dir=os.environ["TEST_TMPDIR"])
        path = os.path.join(top, "made.prof")
        loaded = refused = 0
        for name, data, may_load in profile_siblings.damages():
            with open(path, "wb") as file:
                file.write(data)
            run = harness.Run(("stats", "--format", "json", "made.prof"), top)
            with self.subTest(name):
                self.assertIn(run.rc, (0, 1) if may_load else (1,), str(run))
                self.assertLess(run.peak_bytes, harness.BYTES // 2, str(run))
                self.assertLess(run.cpu_seconds, 1, str(run))
                if run.rc == 0:
                    loaded += 1
                    harness.parse_strictly(run.out)
                else:
                    refused += 1
                    self.assertEqual(run.out, b"")
                    place = re.fullmatch(r"tracekiln: made\.prof:(\d+): [^\n]+\n", run.err)
                    self.assertTrue(place, str(run))
                    self.assertLessEqual(int(place.group(1)), len(data))
        self.assertGreater(loaded, 100)
        self.assertGreater(refused, 800)
        shutil.rmtree(top)


def add_tests():
    for group in profile_siblings.GROUPS:
        setattr(ProfileSiblings, "test_profiles_" + group.__name__, lambda self, group=group: self.check_group(group))
    for group in siblings.GROUPS:
        setattr(Siblings, "test_" + group.__name__, lambda self, group=group: self.check_group(group))


add_tests()

if __name__ == "__main__":
    unittest.main()
