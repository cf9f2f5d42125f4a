"""convert --merge: several ranks in one Chrome trace, as a plain reader sees it."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

import real_traces as rt


class MergeTest(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.dir)
        self.run_dir = os.path.join(self.dir, "run")
        subprocess.run([rt.TRACEGEN, "--ranks", "3", "--steps", "2", "--layers", "3", "--clock-skew", "5000000", "-o", self.run_dir],
                       check=True, capture_output=True, timeout=60)
        self.out = os.path.join(self.dir, "merged.json")

    def merge(self, *options):
        rt.run_tracekiln("convert", self.run_dir, "--to", "chrome", "--merge", "--option", "lanes=off", "-o", self.out, *options)
        with open(self.out, encoding="utf-8") as file:
            return json.load(file, parse_float=rt.Decimal)

    def ranks(self):
        return [rt.load(os.path.join(self.run_dir, f"rank-{rank}.json")) for rank in range(3)]

    def test_every_event_is_there_under_the_pid_of_its_rank(self):
        merged = [event for event in self.merge()["traceEvents"] if event["ph"] != "M"]
        for rank, document in enumerate(self.ranks()):
            events = [event for event in document["traceEvents"] if event["ph"] != "M"]
            mine = [event for event in merged if event["pid"] // 10000 == rank + 1]
            self.assertEqual(sorted((e["ph"], e["name"], e.get("cat", "")) for e in events),
                             sorted((e["ph"], e["name"], e.get("cat", "")) for e in mine))

    def test_correlations_and_flows_stay_within_a_rank(self):
        ranks_of = {}
        kernels = launches = 0
        for event in self.merge()["traceEvents"]:
            correlation = event.get("args", {}).get("correlation")
            if event["ph"] == "X" and correlation:
                ranks_of.setdefault(("correlation", correlation), set()).add(event["pid"] // 10000)
                kernels += event["cat"] == "kernel"
                launches += event["cat"] == "cuda_runtime"
            if event["ph"] in "stf":
                ranks_of.setdefault((event["cat"], event["id"]), set()).add(event["pid"] // 10000)
        self.assertGreater(kernels, 50)
        self.assertGreater(launches, 50)
        self.assertEqual({len(ranks) for ranks in ranks_of.values()}, {1})

    def test_collectives_end_together_once_clocks_are_aligned(self):
        def spread(document):
            ends = {}
            for event in document["traceEvents"]:
                if event["ph"] == "X" and event["cat"] == "kernel" and event.get("args", {}).get("Collective name") == "allreduce":
                    ends.setdefault(event["pid"] // 10000, []).append(rt.nanos(event["ts"]) + rt.nanos(event["dur"]))
            self.assertEqual([len(e) for e in ends.values()], [2, 2, 2])
            return max(max(same) - min(same) for same in zip(*map(sorted, ends.values())))

        aligned = self.merge()
        self.assertLess(spread(aligned), 100_000)
        offsets = [entry["clock_offset_ns"] for entry in aligned["tracekilnMerge"]]
        self.assertEqual(len(offsets), 3)
        self.assertTrue(any(abs(offset) > 100_000 for offset in offsets))
        raw = self.merge("--align", "off")
        self.assertGreater(spread(raw), 100_000)
        self.assertEqual([entry["clock_offset_ns"] for entry in raw["tracekilnMerge"]], [None] * 3)

    def test_chosen_ranks_only(self):
        document = self.merge("--ranks", "2,0")
        self.assertEqual([entry["rank"] for entry in document["tracekilnMerge"]], [0, 2])
        self.assertEqual({event["pid"] // 10000 for event in document["traceEvents"] if event["ph"] != "M"}, {1, 3})

    def test_a_broken_rank_leaves_no_output(self):
        path = os.path.join(self.run_dir, "rank-1.json")
        with open(path, "r+b") as file:
            file.truncate(os.path.getsize(path) // 2)
        result = subprocess.run([rt.TRACEKILN, "convert", self.run_dir, "--to", "chrome", "--merge", "-o", self.out],
                                capture_output=True, timeout=60, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"rank-1.json", result.stderr)
        self.assertFalse(os.path.exists(self.out))

    def test_misuse(self):
        for arguments in (["convert", self.run_dir, "--to", "chrome", "--merge"],
                          ["convert", os.path.join(self.run_dir, "rank-0.json"), "--to", "chrome", "--merge", "-o", self.out],
                          ["convert", self.run_dir, "--to", "pstats", "--merge", "-o", self.out],
                          ["convert", self.run_dir, "--to", "chrome", "--merge", "--align", "perhaps", "-o", self.out]):
            result = subprocess.run([rt.TRACEKILN, *arguments], capture_output=True, timeout=60, check=False)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertFalse(os.path.exists(self.out))


if __name__ == "__main__":
    unittest.main()
