"""Each fact of the acceptance cases under ../shared/cases that are about Chrome JSON, containers, encodings and .prof
files, on the tool itself. The directory is $TRACEKILN_SHARED or ../shared beside the workspace; without it everything is skipped.
Facts that a later part of the tool will answer are listed at the end of the output."""
import os
import re
import shutil
import sys
import tempfile
import unittest

from tests import tracked_files
from tests.cases import checks, expectations, harness

# Those up to here are about Chrome JSON, containers and encodings, and about .prof files.
LAST_CASE = 96

_later = []
_fact_count = 0


def cases_directory():
    shared = os.environ.get("TRACEKILN_SHARED") or os.path.join(os.path.dirname(tracked_files.root()), "shared")
    directory = os.path.join(shared, "cases")
    return directory if os.path.isdir(directory) else None


def case_names():
    names = sorted(os.listdir(cases_directory()))
    return [name for name in names if re.match(r"\d{3}-", name) and int(name[:3]) <= LAST_CASE]


class CaseInputs:
    """The inputs of one case, each a Subject when asked for."""

    def __init__(self, name, top):
        self.directory = os.path.join(cases_directory(), name)
        self.top = top
        self.subjects = {}
        with open(os.path.join(self.directory, "case.md"), encoding="utf-8") as file:
            self.text = file.read()
        self.names = []
        for place, _, files in os.walk(self.directory):
            self.names += [os.path.relpath(os.path.join(place, f), self.directory) for f in files if f != "case.md"]
        self.names.sort()

    def subject(self, name):
        if name not in self.subjects:
            self.subjects[name] = harness.Subject(os.path.join(self.directory, name), self.top)
        return self.subjects[name]

    def copy(self):
        """A new directory with all inputs."""
        directory = tempfile.mkdtemp(dir=self.top)
        for name in self.names:
            os.makedirs(os.path.dirname(os.path.join(directory, name)), exist_ok=True)
            shutil.copyfile(os.path.join(self.directory, name), os.path.join(directory, name))
        return directory

    def facts(self):
        return re.findall(r"^- (F\d+):", self.text, re.M)

    def outcome(self):
        return re.search(r"^- outcome: (\S+)", self.text, re.M).group(1)


class Cases(unittest.TestCase):
    maxDiff = 4000

    @classmethod
    def setUpClass(cls):
        if cases_directory() is None:
            raise unittest.SkipTest("no directory of cases")
        cls.top = tempfile.mkdtemp(dir=os.environ["TEST_TMPDIR"])
        cls.inputs = {}

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.top)

    def inputs_of(self, name):
        if name not in self.inputs:
            self.inputs[name] = CaseInputs(name, self.top)
        return self.inputs[name]

    def test_every_case_and_fact_has_expectations(self):
        names = case_names()
        self.assertEqual(sorted(expectations.CASES), names)
        for name in names:
            with self.subTest(name):
                inputs = self.inputs_of(name)
                self.assertEqual(list(expectations.CASES[name].facts), inputs.facts())
                self.assertEqual(expectations.CASES[name].outcome, inputs.outcome())
                self.assertTrue(all(expectations.CASES[name].facts.values()), "a fact without checks")

    def check_fact(self, name, fact):
        global _fact_count  # pylint: disable=global-statement
        _fact_count += 1
        inputs = self.inputs_of(name)
        for check in expectations.CASES[name].facts[fact]:
            if isinstance(check, checks.Later):
                _later.append("%s %s: %s" % (name, fact, check.reason))
            elif isinstance(check, checks.Whole):
                check.check(self, inputs)
            elif isinstance(check, checks.On):
                check.check(self, inputs.subject(check.name))
            else:
                self.assertEqual(len(inputs.names), 1, "which input?")
                check(self, inputs.subject(inputs.names[0]))

    def check_inputs(self, name):
        """What holds for every input, whatever the case is about."""
        case = expectations.CASES[name]
        inputs = self.inputs_of(name)
        for input_name in inputs.names:
            subject = inputs.subject(input_name)
            if input_name not in case.refused:
                with self.subTest(input_name):
                    if subject.is_profile:
                        checks.check_good_profile(self, subject)
                        found = [f["code"] for f in subject.check["profile"]["findings"] if f["severity"] == "warning"]
                        warnings = case.warnings.get(input_name, []) if isinstance(case.warnings, dict) else case.warnings
                        self.assertEqual(found, list(warnings))
                    else:
                        checks.check_good_input(self, subject, case.warnings)
            for command in subject.commands_that_read:
                if (input_name, command[:3]) in case.commands_that_refuse:
                    continue
                run = subject.run_on_input(*command)
                self.assertEqual(run.rc, 1 if input_name in case.refused else 0, str(run))
            checks.check_limits(self, subject)


def add_tests():
    for name, case in expectations.CASES.items():
        for fact in case.facts:
            setattr(
                Cases,
                "test_%s_%s" % (name.replace("-", "_"), fact),
                lambda self, name=name, fact=fact: self.check_fact(name, fact),
            )
        setattr(Cases, "test_%s_inputs" % name.replace("-", "_"), lambda self, name=name: self.check_inputs(name))


add_tests()

if __name__ == "__main__":
    if cases_directory() is None:
        print("SKIPPED: no directory of cases ($TRACEKILN_SHARED or ../shared): no acceptance case was tested", file=sys.stderr)
    program = unittest.main(exit=False)
    if cases_directory() is not None:
        print("%d facts of %d cases checked. Of later parts of the tool:" % (_fact_count, len(expectations.CASES)))
        print("\n".join("  later: " + line for line in sorted(_later)))
    sys.exit(not program.result.wasSuccessful())
