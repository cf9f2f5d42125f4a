"""Import, .kiln, export and import again is the identity, on real traces, samples and generated runs; and what .kiln
takes per event."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from decimal import Decimal

import real_traces as rt

SHARED = rt.shared_dir()
SKIP = "SKIPPED: no ../shared beside the workspace (TRACEKILN_SHARED): nothing is tested on real traces"

# The budget is for traces in which the texts of names and shapes, which are there once a chunk, are not most of it.
MAX_BYTES_PER_EVENT = 5.0
MIN_EVENTS_FOR_BUDGET = 20000


def comparable(value):
    """1.0 and 1.00 are the same, 1 is another. Keys keep their order, except where the caller sorts them."""
    if isinstance(value, Decimal):
        return ("float", str(value.normalize()))
    if isinstance(value, list):
        return [comparable(item) for item in value]
    if isinstance(value, dict):
        return [(key, comparable(item)) for key, item in value.items()]
    return value


def plain_events(document):
    """The events in file order, made comparable: times as nanoseconds since the epoch."""
    base = document.get("baseTimeNanoseconds", 0) if isinstance(document, dict) else 0
    for event in rt.events_of(document):
        event = dict(event)
        if "ts" in event:
            event["ts"] = rt.nanos(event["ts"]) + base
        if "dur" in event:
            event["dur"] = rt.nanos(event["dur"])
        yield repr(sorted(comparable(event), key=lambda item: item[0]))


class RoundTripTest(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.dir)
        self.kiln = os.path.join(self.dir, "a.kiln")
        self.json = os.path.join(self.dir, "a.json")
        self.again = os.path.join(self.dir, "b.json")

    def convert(self, source, target, *options):
        rt.run_tracekiln("convert", source, "--quiet", "--to", "kiln" if target.endswith("kiln") else "chrome", "-o", target,
                         *options)

    def to_json(self, source, target):
        self.convert(source, target, "--option", "lanes=off")

    def same_bytes(self, left, right):
        with open(left, "rb") as a, open(right, "rb") as b:
            return a.read() == b.read()

    def assert_same_as_direct(self, source):
        """The way through .kiln and the direct one give the same bytes, and so does another round."""
        self.to_json(source, self.again)
        self.assertTrue(self.same_bytes(self.json, self.again), "through .kiln and directly differ")
        self.to_json(self.json, self.again)
        self.assertTrue(self.same_bytes(self.json, self.again), "the second round differs")

    def test_generated_runs_come_back_as_they_were(self):
        for version in rt.DIALECTS:
            with self.subTest(version):
                source = os.path.join(self.dir, "source.json")
                rt.generate(source, version)
                self.convert(source, self.kiln)
                self.to_json(self.kiln, self.json)
                original, exported = rt.load(source), rt.load(self.json)
                self.assertGreater(len(original["traceEvents"]), 5000)
                for number, (want, got) in enumerate(zip(plain_events(original), plain_events(exported))):
                    self.assertEqual(got, want, f"event {number}")
                self.assertEqual(len(exported["traceEvents"]), len(original["traceEvents"]))
                del original["traceEvents"], exported["traceEvents"]
                self.assertEqual(list(exported), list(original))
                self.assertEqual(repr(comparable(exported)), repr(comparable(original)))
                self.assert_same_as_direct(source)

    @unittest.skipUnless(SHARED, SKIP)
    def test_real_traces_come_back_as_they_were(self):
        traces = rt.kineto_traces(SHARED)
        self.assertGreater(len(traces), 60)
        large = all_bytes = all_events = 0
        for trace in traces:
            source = os.path.join(SHARED, trace)
            with self.subTest(trace):
                self.convert(source, self.kiln)
                self.to_json(self.kiln, self.json)
                self.assert_same_as_direct(source)
                equal = subprocess.run(
                    [sys.executable, os.path.join(SHARED, "tools/clients/kineto_equal.py"), source, self.json],
                    capture_output=True, text=True, timeout=300, check=False)
                self.assertEqual(equal.returncode, 0, equal.stdout + equal.stderr)
                self.assertIn("file order same", equal.stdout)
                events = int(equal.stdout.rsplit("(", 1)[1].split()[0])
                size = os.path.getsize(self.kiln)
                print(f"{size / events:6.2f} bytes/event  {size:9d} bytes  {events:7d} events  {trace}", flush=True)
                all_bytes += size
                all_events += events
                if events >= MIN_EVENTS_FOR_BUDGET:
                    large += 1
                    self.assertLessEqual(size / events, MAX_BYTES_PER_EVENT)
        print(f"{all_bytes / all_events:6.2f} bytes/event in all {len(traces)} traces", flush=True)
        self.assertGreaterEqual(large, 15)
        self.assertLessEqual(all_bytes / all_events, MAX_BYTES_PER_EVENT)

    @unittest.skipUnless(SHARED, SKIP)
    def test_samples_come_to_rest_after_one_round(self):
        """Begin and end events become one slice, damage is mended: but only once, and no event is lost on the way."""
        count = 0
        for top in ("data/samples/catapult", "data/samples/speedscope", "data/samples/generated/json_cases",
                    "data/samples/viztracer"):
            for folder, _, names in os.walk(os.path.join(SHARED, top)):
                for name in sorted(names):
                    source = os.path.join(folder, name)
                    try:
                        events = rt.events_of(rt.load(source))
                    except (ValueError, KeyError, TypeError):
                        continue  # not JSON, or of another kind
                    if not isinstance(events, list) or not all(isinstance(e, dict) and e.get("ph") for e in events):
                        continue
                    with self.subTest(os.path.relpath(source, SHARED)):
                        count += 1
                        self.convert(source, self.kiln)
                        self.to_json(self.kiln, self.json)
                        self.assert_same_as_direct(source)
                        if not any(e["ph"] in "BE" for e in events):
                            self.assertEqual(len(rt.events_of(rt.load(self.json))), len(events))
        self.assertGreater(count, 40)


if __name__ == "__main__":
    if not SHARED:
        print(SKIP, file=sys.stderr)
    unittest.main()
