"""Real traces: what the importer makes of them equals what Python's json reads.

For every Chrome trace under $TRACEKILN_SHARED (default: ../shared beside the workspace) the number of slices and the
durations in ns by category and by (pid, tid) are compared. B and E are paired here by the same rule as in slice_pairing.h.
Files that Python cannot parse must give repairs or an error with a place."""

import collections
import decimal
import glob
import gzip
import json
import os
import re
import subprocess
import sys
import unittest

PATTERNS = [
    "data/traces/**/*.json*",
    "data/torch_cpu/**/pytorch_profile/**/*.json*",
    "data/samples/catapult/**/*.json*",
    "data/samples/speedscope/**/*.json*",
    "data/samples/viztracer/**/*.json*",
]


def shared_directory():
    named = os.environ.get("TRACEKILN_SHARED")
    if named:
        return named
    workspace = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    return os.path.join(os.path.dirname(workspace), "shared")


def read_text(path):
    with open(path, "rb") as file:
        data = file.read()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def nanos(value):
    if isinstance(value, bool) or not isinstance(value, (int, decimal.Decimal, str)):
        return None
    try:
        return int((decimal.Decimal(value) * 1000).quantize(decimal.Decimal(1), decimal.ROUND_HALF_UP))
    except decimal.InvalidOperation:
        return None


def show(event, key):
    if key not in event:
        return "absent"
    value = event[key]
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return "text " + (value if isinstance(value, str) else json.dumps(value, default=str))


def totals(events):
    slices = 0
    by_category = collections.Counter()
    by_track = collections.Counter()
    open_slices = collections.defaultdict(list)

    def add(event, dur):
        nonlocal slices
        if dur == -1:
            return
        slices += 1
        category = event.get("cat")
        by_category[category if isinstance(category, str) else ""] += dur
        by_track[show(event, "pid") + " / " + show(event, "tid")] += dur

    for event in events:
        if not isinstance(event, dict):
            continue
        phase = event.get("ph")
        phase = phase[:1] if isinstance(phase, str) else ""
        ts = nanos(event.get("ts"))
        if ts is None:
            continue
        thread = (str(event.get("pid", 0)), str(event.get("tid", 0)))
        if phase == "X":
            dur = nanos(event.get("dur"))
            if dur is not None:
                add(event, dur)
        elif phase == "B":
            open_slices[thread].append((event, ts))
        elif phase == "E":
            stack = open_slices[thread]
            for i in range(len(stack) - 1, -1, -1):
                if "name" not in event or stack[i][0].get("name", "") == event["name"]:
                    begin, begin_ts = stack.pop(i)
                    add(begin, ts - begin_ts)
                    break
    return slices, dict(by_category), dict(by_track)


class RealTracesTest(unittest.TestCase):
    def test_totals_equal_those_of_a_plain_parser(self):
        shared = shared_directory()
        if not os.path.isdir(shared):
            print("SKIPPED: no directory of real traces; set TRACEKILN_SHARED", file=sys.stderr)
            self.skipTest("no real traces")
        binary = os.path.join(os.path.dirname(os.path.abspath(__file__)), "trace_totals")
        compared = 0
        odd = []
        for path in sorted({p for pattern in PATTERNS for p in glob.glob(os.path.join(shared, pattern), recursive=True)}):
            if not os.path.isfile(path):
                continue
            try:
                data = read_text(path)
            except (OSError, EOFError) as error:
                odd.append((path, str(error)))
                continue
            head = data[:4096].lstrip(b"\xef\xbb\xbf \r\n\t")
            if not (b'"traceEvents"' in data or (head[:1] == b"[" and b'"ph"' in data)):
                continue
            result = subprocess.run([binary, path], capture_output=True, text=True, check=True)
            got = json.loads(result.stdout)
            with self.subTest(path=os.path.relpath(path, shared)):
                try:
                    document = json.loads(data.decode("utf-8-sig"), parse_float=decimal.Decimal)
                except ValueError as error:
                    odd.append((path, str(error)))
                    if "error" in got:
                        self.assertRegex(got["error"], re.escape(path) + r":\d+: ")
                    else:
                        self.assertGreater(got["repaired"], 0)
                        self.assertTrue(got["balanced"])
                    continue
                events = document if isinstance(document, list) else document.get("traceEvents", [])
                self.assertNotIn("error", got)
                self.assertTrue(got["balanced"])
                self.assertEqual(got["seen"], len(events))
                slices, by_category, by_track = totals(events)
                self.assertEqual(got["slices"], slices)
                self.assertEqual(got["by_category"], by_category)
                self.assertEqual(got["by_track"], by_track)
                compared += 1
        for path, error in odd:
            print("Python cannot read", os.path.relpath(path, shared), "--", error)
        print(compared, "traces compared")
        self.assertGreater(compared, 0)


if __name__ == "__main__":
    unittest.main()
