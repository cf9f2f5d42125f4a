"""A `.prof` of a timeline has all its time, to the nanosecond: on every real trace and on generated ones, the own times
of each thread's file add up to the self times of its slices, by a plain second implementation; where slices nest, that
is the time in which the thread was busy. Device work adds up to the durations of kernels and copies, and every row,
count and edge is plausible."""

import marshal
import os
import shutil
import sys
import tempfile
import unittest

import real_traces as rt

SHARED = rt.shared_dir()
SKIP = "SKIPPED: no ../shared beside the workspace (TRACEKILN_SHARED): nothing is tested on real traces"

DEVICE_WORK = {"kernel", "Kernel", "concurrent_kernel", "gpu_memcpy", "gpu_memset", "Memcpy", "Memset"}
NOT_HOST = DEVICE_WORK | {
    "gpu_user_annotation", "cuda_sync", "cuda_event", "mtia_ccp_events", "collective_comm", "cuda_profiler_range",
    "Trace", "overhead"}
CALLS = {"cuda_runtime", "cuda_driver", "Runtime", "xpu_runtime", "xpu_driver", "mtia_runtime", "privateuse1_runtime",
         "privateuse1_driver", "glow_runtime"}
ORDER = {"python_function": 0, "user_annotation": 1, "cpu_op": 2, "Operator": 2}


def nanos_or_none(value):
    return rt.nanos(value) if isinstance(value, (int, rt.Decimal)) and not isinstance(value, bool) else None


def threads_of(document):
    """Host slices by (pid, tid): (start, -end, order of kinds, place in the file); and the sum of device work."""
    threads = {}
    device_ns = 0
    device_count = 0
    for place, event in enumerate(rt.events_of(document)):
        if event.get("ph") != "X":
            continue
        start, duration = nanos_or_none(event.get("ts")), nanos_or_none(event.get("dur"))
        if start is None or duration is None or duration < 0:
            continue
        category = event.get("cat", "")
        if category in DEVICE_WORK:
            device_ns += duration
            device_count += 1
        if category in NOT_HOST:
            continue
        kind = 3 if category in CALLS else ORDER.get(category, 4)
        key = (str(event.get("pid", 0)), str(event.get("tid", 0)))
        threads.setdefault(key, []).append((start, -(start + duration), kind, place))
    return threads, device_ns, device_count


def own_time(slices):
    """(self time, busy time, slices that only overlap a neighbour or stick out of what holds them)."""
    slices.sort()
    stack = []  # [start, end, end as far as those around go, covered until, covered]
    own = odd = busy = 0
    busy_until = None

    def close():
        nonlocal own
        start, end, _, _, covered = stack.pop()
        own += end - start - covered
        if stack:
            around = stack[-1]
            begin, stop = max(start, around[3]), min(end, around[1])
            if stop > begin:
                around[4] += stop - begin
                around[3] = stop

    for start, minus_end, _, _ in slices:
        end = -minus_end
        while stack:
            limit = stack[-1][2]
            if start < limit and (end <= limit or (end - limit <= 1000 and end - limit <= limit - start)):
                odd += end > limit
                break
            odd += stack[-1][1] > start
            close()
        stack.append([start, end, min(end, stack[-1][2]) if stack else end, start, 0])
        if busy_until is None or end > busy_until:
            busy += end - (start if busy_until is None else max(start, busy_until))
            busy_until = end
    while stack:
        close()
    return own, busy, odd


def read_prof(path):
    """Rows with times in whole ns."""
    with open(path, "rb") as file:
        rows = marshal.load(file)
    return {key: (cc, nc, round(tt * 1e9), round(ct * 1e9), callers) for key, (cc, nc, tt, ct, callers) in rows.items()}


class ProfTest(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.dir)

    def check_rows(self, rows):
        for key, (cc, nc, tt, ct, callers) in rows.items():
            self.assertIsInstance(key[0], str)
            self.assertTrue(0 <= cc <= nc and nc >= 1, key)
            self.assertTrue(tt >= 0 and ct >= 0, key)
            for caller, (edge_nc, edge_cc, _, _) in callers.items():
                self.assertIn(caller, rows)
                self.assertTrue(0 < edge_cc <= edge_nc <= nc, (caller, key))

    def check_trace(self, path):
        threads, device_ns, device_count = threads_of(rt.load(path))
        apart = os.path.join(self.dir, "apart")
        shutil.rmtree(apart, ignore_errors=True)
        if not threads:
            return 0
        rt.run_tracekiln("convert", path, "--quiet", "--to", "pstats", "-o", apart, "--option", "threads=split",
                         "--option", "gpu=off", "--option", "root=off")
        files = [name for name in sorted(os.listdir(apart)) if name.endswith(".prof")]
        self.assertEqual(len(files), len(threads))
        expected = sorted(own_time(slices) for slices in threads.values())
        found = []
        for name in files:
            rows = read_prof(os.path.join(apart, name))
            self.check_rows(rows)
            # A row that viewers need above a flat profile has no own time, but 1 ns where nothing has any.
            found.append(sum(row[2] for row in rows.values()))
        self.assertEqual([max(own, 1) for own, _, _ in expected], sorted(found))
        for own, busy, odd in expected:
            if odd == 0:
                self.assertEqual(own, busy)
        whole = os.path.join(self.dir, "whole.prof")
        rt.run_tracekiln("convert", path, "--quiet", "--to", "pstats", "-o", whole)
        rows = read_prof(whole)
        self.check_rows(rows)
        gpu = {key: row for key, row in rows.items() if key[2].startswith("<gpu ") and row[2] + row[3] > 0
               and key[2] != "<gpu work without launch>"}
        host = sum(row[2] for key, row in rows.items() if not key[2].startswith("<gpu "))
        self.assertEqual(host, max(1, sum(own for own, _, _ in expected)) if device_ns == 0 else
                         sum(own for own, _, _ in expected))
        self.assertEqual(sum(row[2] for row in gpu.values()), device_ns)
        self.assertEqual(sum(row[1] for key, row in rows.items() if key[2].startswith("<gpu ")
                             and key[2] != "<gpu work without launch>"), device_count)
        # Every call of device work has one caller.
        for key, row in gpu.items():
            self.assertEqual(sum(edge[0] for edge in row[4].values()), row[1], key)
            self.assertEqual(sum(round(edge[2] * 1e9) for edge in row[4].values()), row[2], key)
        return sum(len(slices) for slices in threads.values())

    @unittest.skipUnless(SHARED, SKIP)
    def test_real_traces_keep_all_their_time(self):
        slices = 0
        for trace in rt.kineto_traces(SHARED):
            with self.subTest(trace):
                slices += self.check_trace(os.path.join(SHARED, trace))
        self.assertGreater(slices, 1000000)
        print(f"{slices} host slices")

    def test_generated_runs_keep_all_their_time(self):
        for version in rt.DIALECTS:
            with self.subTest(version):
                path = os.path.join(self.dir, f"{version}.json")
                rt.generate(path, version, size="2MB")
                self.assertGreater(self.check_trace(path), 1000)


if __name__ == "__main__":
    if not SHARED:
        print(SKIP, file=sys.stderr)
    unittest.main()
