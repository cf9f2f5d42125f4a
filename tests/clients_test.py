"""HTA and TensorBoard's profiler see the same tables in a trace and in its round trip through .kiln.

Needs TRACEKILN_VIEWERS_VENV (a virtual environment that .ci/run makes, with HolisticTraceAnalysis and
torch_tb_profiler) and ../shared/tools/clients.
"""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import real_traces as rt

SHARED = rt.shared_dir()
VENV = os.environ.get("TRACEKILN_VIEWERS_VENV", "")
HAS_CLIENTS = bool(SHARED) and os.path.isdir(VENV)
SKIP = ("SKIPPED: no test with HTA and TensorBoard's profiler. They need ../shared (TRACEKILN_SHARED) and a virtual "
        "environment (TRACEKILN_VIEWERS_VENV), as .ci/run makes it")

# Of each kind one: an NVIDIA GPU with collectives, AMD, the layout of 2021, CPU only, times finer than a double at epoch
# time.
TRACES = (
    "data/traces/param/dlrm_kineto_8rank/worker0_step_12.1694128201545.pt.trace.json.gz",
    "data/torch_cpu/ddp/pytorch_profile/rank-1.json.gz",
    "data/traces/tracelens/mi300/ddp_resnet18_no_pool/train_resnet18.json.gz",
    "data/traces/kineto_tb_plugin/samples/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz",
    "data/traces/hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
)


@unittest.skipUnless(HAS_CLIENTS, SKIP)
class ClientsTest(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.dir)

    def with_whole_times_as_integers(self, path):
        """A copy in which 12.000 us are 12, as we write them: TensorBoard keeps the two apart in its texts."""
        with open(path, "rb") as file:
            text = file.read()
        if text[:2] == b"\x1f\x8b":
            text = gzip.decompress(text)
        copy = os.path.join(self.dir, "original.json.gz")
        with open(copy, "wb") as file:
            file.write(gzip.compress(re.sub(rb'("(?:ts|dur)":\s*-?\d+)\.000(?=[\s,}])', rb"\1", text), 1))
        return copy

    def compare(self, source, rank):
        kiln, exported, report = (os.path.join(self.dir, name) for name in ("a.kiln", "a.json.gz", "report.json"))
        rt.run_tracekiln("convert", source, "--quiet", "--to", "kiln", "-o", kiln)
        rt.run_tracekiln("convert", kiln, "--quiet", "--to", "chrome", "--option", "lanes=off", "-o", exported)
        result = subprocess.run(
            [os.path.join(VENV, "bin", "python"), os.path.join(SHARED, "tools/clients/kineto_clients.py"),
             self.with_whole_times_as_integers(source), exported, "--rank", str(rank), "--json", report],
            capture_output=True, text=True, timeout=250, check=False)
        self.assertEqual(result.returncode, 0, result.stdout[-3000:] + result.stderr[-3000:])
        with open(report, encoding="utf-8") as file:
            told = json.load(file)
        # The comparison of two failures would be equal, too.
        self.assertGreater(told["hta"]["tables"], 10)
        self.assertGreater(told["tb"]["tables"], 10)
        self.assertNotIn("load", told["hta"]["raises"])
        self.assertNotIn("load", told["tb"]["raises"])

    def test_real_traces_look_the_same(self):
        for trace in TRACES:
            with self.subTest(trace):
                self.compare(os.path.join(SHARED, trace), 0)

    def test_a_generated_run_looks_the_same(self):
        source = os.path.join(self.dir, "source.json")
        rt.generate(source, 2025, size="2MB")
        self.compare(source, 0)


if __name__ == "__main__":
    if not HAS_CLIENTS:
        print(SKIP, file=sys.stderr)
    unittest.main()
