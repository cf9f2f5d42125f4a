#!/usr/bin/python3
"""Counts the test targets of one `bazel test` run and prints "N passed, N failed, N skipped".

    test_summary.py EXIT_CODE < build_events.json

The input is what --build_event_json_file wrote, EXIT_CODE that of bazel. What is counted, per target:

passed   Bazel says PASSED or FLAKY, and at least one test case ran.
skipped  Bazel says PASSED, but every test case skipped itself (by test.xml, by unittest's summary, or by a last line of
         the log that begins with "SKIPPED"); or the target does not fit the platform.
failed   everything else: FAILED, TIMEOUT, not built, not analysed, not run because something before it failed. A package
         that cannot be loaded counts as one failure. If bazel failed and no target did, the run itself counts as one.

Lines before the last one name the targets that skipped some or all of their cases, and what failed besides tests.
"""
import json
import re
import sys
import urllib.parse
import xml.etree.ElementTree


class Outcome:
    def __init__(self):
        self.passed = []
        self.failed = {}  # label -> why
        self.skipped = {}  # label -> why
        self.partly_skipped = {}  # label -> (skipped cases, all cases)

    def line(self):
        return "%d passed, %d failed, %d skipped" % (len(self.passed), len(self.failed), len(self.skipped))


def read_uri(uri):
    parts = urllib.parse.urlparse(uri)
    if parts.scheme != "file":
        return ""
    try:
        with open(urllib.parse.unquote(parts.path), errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def skipped_cases(log, xml_text):
    """(skipped, all) cases of one test that passed; all = 0: the kind of test has no cases that could be counted."""
    ran = re.findall(r"^Ran (\d+) tests? in ", log, re.M)
    if ran:  # Python's unittest; Bazel's test.xml knows nothing of its cases
        skips = re.findall(r"^OK \(.*?\bskipped=(\d+)", log, re.M)
        return sum(map(int, skips)), sum(map(int, ran))
    if re.search(r"^\[==========\] ", log, re.M):  # googletest
        try:
            cases = list(xml.etree.ElementTree.fromstring(xml_text).iter("testcase"))
        except xml.etree.ElementTree.ParseError:
            return 0, 0
        skips = [c for c in cases if c.get("result") == "skipped" or c.find("skipped") is not None]
        return len(skips), len([c for c in cases if c.get("status") != "notrun"])
    lines = log.rstrip().splitlines()
    return (1, 1) if lines and lines[-1].startswith("SKIPPED") else (0, 0)


def summarize(events, exit_code, read=read_uri):
    """events: iterable of dicts, one per build event. Returns an Outcome."""
    tests, status, outputs, broken = set(), {}, {}, {}
    for event in events:
        ident = event.get("id", {})
        kind = next(iter(ident), "")
        label = ident.get(kind, {}).get("label", "") if isinstance(ident.get(kind), dict) else ""
        if kind == "progress":  # a package that cannot be loaded has no event of its own
            for package in re.findall(r"package contains errors: (\S+)", event.get("progress", {}).get("stderr", "")):
                broken.setdefault("//" + package, "the package cannot be loaded")
        elif "aborted" in event:
            reason = event["aborted"].get("reason", "UNKNOWN")
            if kind == "pattern":
                label = " ".join(ident["pattern"].get("pattern", []))
            if label and reason != "SKIPPED":
                broken.setdefault(label, reason)
            elif label:
                status[label] = "SKIPPED"
        elif kind == "targetConfigured":
            if event.get("configured", {}).get("testSize") or "_test rule" in event.get("configured", {}).get("targetKind", ""):
                tests.add(label)
        elif kind == "targetCompleted":
            if not event.get("completed", {}).get("success"):
                broken.setdefault(label, "FAILED_TO_BUILD")
        elif kind == "testResult":
            files = {f["name"]: f.get("uri", "") for f in event.get("testResult", {}).get("testActionOutput", []) if "name" in f}
            outputs.setdefault(label, []).append(files)
        elif kind == "testSummary":
            status[label] = event.get("testSummary", {}).get("overallStatus", "NO_STATUS")

    outcome = Outcome()
    for label in sorted(tests | set(status)):
        what = status.get(label) or broken.get(label) or "NOT_RUN"
        if what == "SKIPPED":
            outcome.skipped[label] = "does not fit this platform"
        elif what in ("PASSED", "FLAKY"):
            skips = every = 0
            for files in outputs.get(label, []):
                counts = skipped_cases(read(files.get("test.log", "")), read(files.get("test.xml", "")))
                skips, every = skips + counts[0], every + counts[1]
            if every and skips == every:
                outcome.skipped[label] = "skipped itself"
            else:
                outcome.passed.append(label)
                if skips:
                    outcome.partly_skipped[label] = (skips, every)
        else:
            outcome.failed[label] = broken.get(label, what) if what == "NO_STATUS" else what
    for label, reason in broken.items():
        if label not in outcome.failed and label not in tests and label not in status:
            outcome.failed[label] = reason
    if exit_code != 0 and not outcome.failed:
        outcome.failed["(the run itself)"] = "bazel ended with exit code %d" % exit_code
    return outcome


def main():
    exit_code = int(sys.argv[1])
    events = []
    for line in sys.stdin:
        try:
            events.append(json.loads(line))
        except ValueError:  # a run that was killed leaves a torn last line
            pass
    outcome = summarize(events, exit_code)
    for label, (skips, every) in sorted(outcome.partly_skipped.items()):
        print("partly skipped: %s (%d of %d cases)" % (label, skips, every))
    for label, why in sorted(outcome.skipped.items()):
        print("SKIPPED: %s (%s)" % (label, why))
    for label, why in sorted(outcome.failed.items()):
        print("failed: %s (%s)" % (label, why))
    print(outcome.line())


if __name__ == "__main__":
    main()
