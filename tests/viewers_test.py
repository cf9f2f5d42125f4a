"""The default layout in the real viewers: Perfetto's engine and catapult's importer see everything that is in the trace.

What they see is compared with what Python's json finds in the original, not with what we say of ourselves. Needs
TRACEKILN_VIEWERS_VENV (a virtual environment that .ci/run makes), ../shared/tools/viewers, and Chromium for catapult.
"""

import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import real_traces as rt

SHARED = rt.shared_dir()
VENV = os.environ.get("TRACEKILN_VIEWERS_VENV", "")
HAS_VIEWERS = bool(SHARED) and os.path.isdir(VENV)
SKIP = ("SKIPPED: no test of the viewers. They need ../shared (TRACEKILN_SHARED) and a virtual environment with viztracer and "
        "torch_tb_profiler (TRACEKILN_VIEWERS_VENV), as .ci/run makes it")

# The traces of the table in ../shared/tools/viewers/README.md: each has something that a viewer loses when it is shown
# as it is. Smaller ones first.
TRACES = (
    "data/traces/param/dlrm_kineto_8rank/worker0_step_12.1694128201545.pt.trace.json.gz",
    "data/torch_cpu/pipeline/pytorch_profile/rank-0.json.gz",
    "data/torch_cpu/ddp/pytorch_profile/rank-0.json.gz",
    "data/torch_cpu/basic/pytorch_profile/rank-0.json.gz",
    "data/traces/tracelens/mi300/ddp_resnet18_no_pool/train_resnet18.json.gz",
    "data/traces/tracelens/b200/eager_trace.json.gz",
    "data/traces/hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
    "data/traces/hta/trace_diff/control/control.json.gz",
    "data/traces/kineto_tb_plugin/samples/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz",
    "data/traces/hta/df_index_resolver/df_index_resolver.json.gz",
    "data/traces/tracelens/inference/xdit_sd_3.5/profile_trace_rank_0.json.gz",
    "data/traces/hta/mtia_trace_single_rank/mtia_rank_0.json.gz",
)

# After this many seconds the larger traces that are left are named and left out.
TIME_LIMIT_S = 420


class Expected:
    """What the original holds, by a plain reading of it."""

    def __init__(self, path):
        self.slices = self.instants = 0
        self.dur_ns = collections.Counter()  # by category
        self.count = collections.Counter()
        self.steps = collections.Counter()  # ProfilerStep# by name
        starts, ends = {}, []
        slice_starts = set()
        for event in rt.events_of(rt.load(path)):
            phase = event.get("ph")
            if phase == "X":
                self.slices += 1
                category = event.get("cat")
                self.count[category] += 1
                self.dur_ns[category] += rt.nanos(event["dur"])
                if event["name"].startswith("ProfilerStep#"):
                    self.steps[event["name"]] += 1
                slice_starts.add((event["pid"], event["tid"], event["ts"]))
            elif phase in ("i", "I"):
                self.instants += 1
                self.count[event.get("cat")] += 1
            elif phase in ("s", "f"):
                key = (event.get("cat"), event.get("name"), str(event["id"]))
                if phase == "s":
                    starts.setdefault(key, event)
                else:
                    ends.append((key, event))
        # Arrows that every viewer can draw: one start, both ends at the start of a slice, not backwards. There may be
        # more (several starts of one id, ends within a slice), never more than there are ends.
        self.max_arrows = sum(key in starts for key, _ in ends)
        at = lambda event: (event["pid"], event["tid"], event["ts"])
        self.min_arrows = 0
        seen = set()
        for key, end in ends:
            start = starts.get(key)
            if start and key not in seen and at(start) in slice_starts and at(end) in slice_starts and end["ts"] > start["ts"]:
                self.min_arrows += 1
            seen.add(key)


class ViewersTest(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.dir)
        self.exported = os.path.join(self.dir, "exported.json")

    def viewer(self, script, *args):
        """Runs one of the viewers' scripts with the environment's Python; its lines of JSON."""
        # Programs of the environment first: Node may be there.
        env = dict(os.environ, PATH=os.path.join(VENV, "bin") + os.pathsep + os.environ.get("PATH", os.defpath))
        result = subprocess.run([os.path.join(VENV, "bin", "python"), os.path.join(SHARED, "tools/viewers", script), *args],
                                capture_output=True, text=True, timeout=200, env=env, check=False)
        self.assertEqual(result.returncode, 0, f"{script}: {result.stdout[-3000:]}\n{result.stderr[-3000:]}")
        return result.stdout

    def check(self, source):
        expected = Expected(source)
        rt.run_tracekiln("convert", source, "--quiet", "--to", "chrome", "-o", self.exported)
        exported = rt.load(self.exported)
        told = exported["tracekiln"]
        self.check_export(exported, expected, told)
        self.check_perfetto(expected, told)
        if shutil.which("chromium"):
            self.check_catapult(expected, told)
        return expected

    def check_export(self, exported, expected, told):
        """What the export says of itself is in it, and every arrow that can be drawn is."""
        flows = collections.Counter(event["ph"] for event in exported["traceEvents"] if event["ph"] in "sft")
        self.assertEqual(flows["s"], told["arrows"])
        self.assertEqual(flows["f"], told["arrows"])
        self.assertEqual(flows["t"], 0)
        self.assertGreaterEqual(told["arrows"], expected.min_arrows)
        self.assertLessEqual(told["arrows"], expected.max_arrows)

    def check_perfetto(self, expected, told):
        report = json.loads(self.viewer("perfetto_query.py", "--strict", self.exported))
        self.assertIsNone(report["error"])
        self.assertEqual(report["stats"], [])
        self.assertEqual([row for row in report["info_stats"] if "flow" in row["name"]], [])
        self.assertEqual(report["slices"], expected.slices + expected.instants)
        self.assertEqual(report["slices_unfinished"], 0)
        self.assertEqual(report["flows"], told["arrows"])
        rows = [json.loads(line) for line in self.viewer(
            "perfetto_query.py", self.exported,
            "SELECT category, count(*) AS n, sum(dur) AS dur_ns FROM slice GROUP BY category",
            "SELECT name, count(*) AS n FROM slice WHERE name GLOB 'ProfilerStep#*' GROUP BY name",
            # The ends of arrows are where they are in the trace: no arrow hangs on a slice of another name or time.
            "SELECT count(*) AS n FROM flow JOIN slice s ON s.id = slice_out JOIN slice f ON f.id = slice_in "
            "WHERE f.ts + f.dur < s.ts").splitlines()]
        by_query = collections.defaultdict(list)
        for row in rows:
            by_query[row["query"]].append(row["row"])
        queries = sorted(by_query)
        categories, steps, backwards = (by_query.get(n, []) for n in (queries[0], queries[0] + 1, queries[0] + 2))
        self.assertEqual({row["category"] or None: row["n"] for row in categories}, dict(expected.count))
        self.assertEqual({row["category"] or None: row["dur_ns"] for row in categories},
                         {category: expected.dur_ns[category] for category in expected.count})
        self.assertEqual({row["name"]: row["n"] for row in steps}, dict(expected.steps))
        self.assertEqual(backwards, [{"n": 0}])

    def check_catapult(self, expected, told):
        report = json.loads(self.viewer("catapult_check.py", "--strict", self.exported))
        self.assertIsNone(report["error"])
        self.assertEqual(report["warnings"], [])
        self.assertEqual(report["slices_unfinished"], 0)
        self.assertEqual(report["flow_events"], told["arrows"])
        # Instants of a thread are slices for catapult, those of a process or of all are not.
        self.assertEqual(report["slices"] + report["instants"], expected.slices + expected.instants)

    @unittest.skipUnless(HAS_VIEWERS, SKIP)
    def test_generated_runs(self):
        for version in rt.DIALECTS:
            with self.subTest(version):
                source = os.path.join(self.dir, "source.json")
                rt.generate(source, version, size="3MB", seed=version)
                expected = self.check(source)
                if version > 2021:
                    self.assertGreater(len(expected.steps), 0)
                    # Waits of the device overlap the kernels of their stream: there is something to lay out.
                    told = rt.load(self.exported)["tracekiln"]
                    self.assertGreater(told["slices_on_other_lanes"] + (version == 2026), 0)

    @unittest.skipUnless(HAS_VIEWERS, SKIP)
    def test_real_traces(self):
        start = time.monotonic()
        done = 0
        for trace in TRACES:
            if time.monotonic() - start > TIME_LIMIT_S:
                print(f"SKIPPED: {trace}: this machine is too slow today", flush=True)
                continue
            with self.subTest(trace):
                expected = self.check(os.path.join(SHARED, trace))
                self.assertGreater(expected.slices, 0)
                done += 1
                print(f"{time.monotonic() - start:6.1f} s  {expected.slices} slices, {expected.instants} instants  {trace}",
                      flush=True)
        self.assertGreaterEqual(done, 6)


if __name__ == "__main__":
    if not HAS_VIEWERS:
        print(SKIP, file=sys.stderr)
    elif not shutil.which("chromium"):
        print("SKIPPED: no Chromium: nothing is tested in catapult", file=sys.stderr)
    unittest.main()
