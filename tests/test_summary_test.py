"""What ./test counts, on build events in the form that Bazel 4.2 writes."""
import unittest

from tests import test_summary

GTEST_LOG = "[==========] Running 2 tests from 1 test suite.\n[  PASSED  ] 1 test.\n"
GTEST_XML = '<testsuites><testsuite><testcase name="A" status="run" result="%s"/><testcase name="B" status="run" result="skipped"/></testsuite></testsuites>'


def configured(label):
    return {"id": {"targetConfigured": {"label": label}}, "configured": {"targetKind": "cc_test rule", "testSize": "SMALL"}}


def library(label):
    return {"id": {"targetConfigured": {"label": label}}, "configured": {"targetKind": "cc_library rule"}}


def completed(label, success):
    return {"id": {"targetCompleted": {"label": label}}, "completed": {"success": True} if success else {}}


def aborted(label, reason):
    return {"id": {"targetCompleted": {"label": label}}, "aborted": {"reason": reason}}


def summary(label, status):
    return {"id": {"testSummary": {"label": label}}, "testSummary": {"overallStatus": status}}


def result(label):
    outputs = [{"name": n, "uri": label + n} for n in ("test.log", "test.xml")]
    return {"id": {"testResult": {"label": label}}, "testResult": {"testActionOutput": outputs}}


def line(events, exit_code=0, files=None):
    return test_summary.summarize(events, exit_code, read=lambda uri: (files or {}).get(uri, "")).line()


class Summary(unittest.TestCase):
    def test_counts_by_status(self):
        table = [("PASSED", "1 passed, 0 failed, 0 skipped", 0), ("FLAKY", "1 passed, 0 failed, 0 skipped", 0)]
        table += [(s, "0 passed, 1 failed, 0 skipped", 3) for s in ("FAILED", "TIMEOUT", "INCOMPLETE", "NO_STATUS", "REMOTE_FAILURE")]
        for status, want, code in table:
            with self.subTest(status):
                self.assertEqual(line([configured("//a:t"), completed("//a:t", True), summary("//a:t", status)], code), want)

    def test_target_that_does_not_compile_has_failed(self):
        events = [configured("//a:t"), configured("//a:u"), completed("//a:t", False), completed("//a:u", True), summary("//a:u", "PASSED")]
        self.assertEqual(line(events, 1), "1 passed, 1 failed, 0 skipped")

    def test_test_that_was_never_run_has_failed(self):
        self.assertEqual(line([configured("//a:t")], 1), "0 passed, 1 failed, 0 skipped")

    def test_library_that_does_not_compile_has_failed(self):
        self.assertEqual(line([library("//a:l"), completed("//a:l", False)], 1), "0 passed, 1 failed, 0 skipped")

    def test_library_that_compiles_is_no_test(self):
        self.assertEqual(line([library("//a:l"), completed("//a:l", True)]), "0 passed, 0 failed, 0 skipped")

    def test_target_that_cannot_be_analysed_has_failed(self):
        self.assertEqual(line([aborted("//a:t", "ANALYSIS_FAILURE")], 1), "0 passed, 1 failed, 0 skipped")

    def test_package_that_cannot_be_loaded_has_failed(self):
        text = "\x1b[31mERROR: \x1b[0mpackage contains errors: a/b\nERROR: package contains errors: a/b\n"
        events = [{"id": {"progress": {}}, "progress": {"stderr": text}}, configured("//c:t"), summary("//c:t", "PASSED")]
        self.assertEqual(line(events, 1), "1 passed, 1 failed, 0 skipped")

    def test_failed_run_without_events_is_a_failure(self):
        self.assertEqual(line([], 37), "0 passed, 1 failed, 0 skipped")

    def test_incompatible_target_is_skipped(self):
        self.assertEqual(line([aborted("//a:t", "SKIPPED")]), "0 passed, 0 failed, 1 skipped")

    def test_skips_inside_a_passed_target(self):
        table = [
            ("one of two in googletest", GTEST_LOG, GTEST_XML % "completed", "1 passed, 0 failed, 0 skipped"),
            ("all in googletest", GTEST_LOG, GTEST_XML % "skipped", "0 passed, 0 failed, 1 skipped"),
            ("googletest, damaged xml", GTEST_LOG, "<", "1 passed, 0 failed, 0 skipped"),
            ("all in unittest", "Ran 3 tests in 0.1s\n\nOK (skipped=3)\n", "", "0 passed, 0 failed, 1 skipped"),
            ("some in unittest", "Ran 3 tests in 0.1s\n\nOK (skipped=2)\n", "", "1 passed, 0 failed, 0 skipped"),
            ("script", "looking\nSKIPPED: no directory\n", "", "0 passed, 0 failed, 1 skipped"),
            ("script that went on", "SKIPPED: no directory\nfine\n", "", "1 passed, 0 failed, 0 skipped"),
        ]
        for name, log, xml, want in table:
            with self.subTest(name):
                events = [configured("//a:t"), result("//a:t"), summary("//a:t", "PASSED")]
                self.assertEqual(line(events, 0, {"//a:ttest.log": log, "//a:ttest.xml": xml}), want)


if __name__ == "__main__":
    unittest.main()
