"""The program from outside: exit statuses, standard error, and which files are there afterwards."""

import gzip
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import zipfile

BINARY = os.path.abspath("tools/tracekiln")

EVENTS = [
    {"ph": "M", "name": "process_name", "ts": 0, "pid": 10, "tid": 0, "args": {"name": "python"}},
    {"ph": "M", "name": "thread_name", "ts": 0, "pid": 10, "tid": 11, "args": {"name": "thread 11 (main)"}},
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 10, "tid": 11, "ts": 100.001, "dur": 20.5,
     "args": {"External id": 7, "Input Dims": [[2, 3], [3, 4]], "big": 9007199254740993}},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 10, "tid": 11, "ts": 105, "dur": 5,
     "args": {"correlation": 3}},
    {"ph": "s", "id": 3, "pid": 10, "tid": 11, "ts": 105, "cat": "ac2g", "name": "ac2g"},
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 112.25, "dur": 30,
     "args": {"device": 0, "stream": 7, "correlation": 3}},
    {"ph": "f", "id": 3, "pid": 0, "tid": 7, "ts": 112.25, "cat": "ac2g", "name": "ac2g", "bp": "e"},
    {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 10, "tid": 11, "ts": 120, "s": "t",
     "args": {"Bytes": -512}},
]
TRACE = {
    "schemaVersion": 1,
    "deviceProperties": [{"id": 0, "name": "Test GPU"}],
    "distributedInfo": {"backend": "nccl", "rank": 2, "world_size": 8},
    "baseTimeNanoseconds": 1700000000000000000,
    "traceEvents": EVENTS,
}
TEXT = json.dumps(TRACE).encode()


def run(*args, stdin=b""):
    return subprocess.run([BINARY, *args], input=stdin, capture_output=True, timeout=60, check=False)


class TracekilnTest(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.dir)
        os.chdir(self.dir)

    def write(self, name, data):
        with open(name, "wb") as file:
            file.write(data)

    def read(self, name):
        with open(name, "rb") as file:
            return file.read()

    def run_ok(self, *args, stdin=b""):
        result = run(*args, stdin=stdin)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        return result.stdout

    def rows(self, *args, stdin=b""):
        return [json.loads(line) for line in self.run_ok("cat", "--quiet", *args, stdin=stdin).splitlines()]

    def test_containers_are_found_by_content_and_inputs_untouched(self):
        self.write("kiln_called.json", self.run_ok("convert", "-", "--to", "kiln", "-o", "-", stdin=TEXT))
        self.write("plain.json.gz", TEXT)
        self.write("gzip.json", gzip.compress(TEXT))
        half = len(TEXT) // 2
        self.write("members.json", gzip.compress(TEXT[:half]) + gzip.compress(TEXT[half:]))
        self.write("bom", b"\xef\xbb\xbf" + TEXT)
        self.write("utf16.json", TEXT.decode().encode("utf-16"))
        with zipfile.ZipFile("zip.json", "w") as archive:
            archive.writestr("t.json", TEXT)
        self.write("in.json", TEXT)
        self.run_ok("convert", "in.json", "--to", "chrome", "--option", "lanes=off", "-o", "zstd.json", "--compress",
                    "zstd:5")
        self.assertEqual(self.read("zstd.json")[:4], b"\x28\xb5\x2f\xfd")
        want = self.rows("in.json")
        self.assertEqual(len(want), 6)  # two of the eight events are links of others
        for name in sorted(os.listdir(".")):
            before = self.read(name)
            self.assertEqual(self.rows(name), want, name)
            self.assertEqual(self.read(name), before, name)
        self.assertEqual(self.rows("-", stdin=TEXT), want)
        container = {"gzip.json": "gzip", "zstd.json": "zstd", "zip.json": "zip", "plain.json.gz": "plain",
                     "kiln_called.json": "plain"}
        for name, kind in container.items():
            info = json.loads(self.run_ok("info", "--format", "json", name))
            self.assertEqual(info["container"], kind, name)
            self.assertEqual(info["format"], "kiln" if name == "kiln_called.json" else "chrome", name)

    def test_there_and_back_is_the_same_trace(self):
        self.write("in.json", TEXT)
        self.run_ok("convert", "in.json", "--to", "kiln")
        self.assertEqual(sorted(os.listdir(".")), ["in.json", "in.kiln"])
        self.run_ok("convert", "in.kiln", "--to", "chrome", "--option", "lanes=off", "-o", "out.json")
        out = json.loads(self.read("out.json"))
        self.assertEqual(out["traceEvents"], EVENTS)
        for key in ("schemaVersion", "deviceProperties", "distributedInfo", "baseTimeNanoseconds"):
            self.assertEqual(out[key], TRACE[key])

    def test_jobs_make_no_difference(self):
        events = [dict(EVENTS[2], ts=i, name=f"op{i % 97}") for i in range(30000)]
        self.write("in.json", json.dumps({"traceEvents": events}).encode())
        for fmt in ("kiln", "chrome"):
            outputs = [self.run_ok("convert", "in.json", "--to", fmt, "-o", "-", "--jobs", n) for n in ("1", "3")]
            self.assertTrue(outputs[0] == outputs[1], fmt)

    def test_damage_is_mended_refused_or_salvaged(self):
        mended = TEXT.replace(b"gemm", b"ge\xffmm")
        self.write("mended.json", mended)
        result = run("convert", "mended.json", "--to", "kiln", "-o", "x.kiln")
        self.assertEqual(result.returncode, 0)
        self.assertIn(b"mended.json: 8 events seen = ", result.stderr)
        self.assertIn(str(mended.index(b"\xff")).encode(), result.stderr)
        os.remove("x.kiln")
        # The report travels in the file.
        self.run_ok("convert", "mended.json", "--to", "kiln", "-o", "y.kiln", "-q")
        self.assertIn(b"repaired", run("info", "y.kiln").stdout)
        os.remove("y.kiln")

        self.write("cut.json", TEXT[: TEXT.index(b"gemm")])
        for args in (["--strict", "mended.json"], ["cut.json"], ["cut.json", "--strict"]):
            result = run("convert", *args, "--to", "kiln", "-o", "x.kiln")
            self.assertEqual(result.returncode, 1, args)
            self.assertIn(args[0].replace("--strict", "mended.json").encode() + b":", result.stderr)
            self.assertNotIn(b"terminate", result.stderr)
        self.assertEqual(sorted(os.listdir(".")), ["cut.json", "mended.json"])

        result = run("convert", "cut.json", "--to", "kiln", "-o", "x.kiln", "--salvage")
        self.assertEqual(result.returncode, 3)
        self.assertIn(b"(salvaged)", result.stderr)
        info = json.loads(run("info", "x.kiln", "--format", "json").stdout)
        self.assertTrue(info["report"]["salvaged"])
        # Whole before the cut: two M, the op, and the call whose flow start is part of it.
        self.assertEqual((info["events"], info["merged_flows"]), (4, 1))

    def test_failures_leave_nothing_behind(self):
        self.write("in.json", TEXT)
        self.write("cut.gz", gzip.compress(TEXT)[:-20])
        self.write("html.json", b"<html>")
        self.write("empty.json", b"")
        for args in (["missing.json", "--to", "kiln"], ["cut.gz", "--to", "kiln"], ["html.json", "--to", "kiln"],
                     ["empty.json", "--to", "kiln"], [".", "--to", "kiln"],
                     ["in.json", "--to", "kiln", "-o", "no/such/dir.kiln"]):
            for extra in ([], ["--jobs", "1"]):
                result = run("convert", *args, *extra)
                self.assertEqual(result.returncode, 1, args)
                self.assertTrue(result.stderr.startswith(b"tracekiln: "), result.stderr)
                self.assertEqual(result.stdout, b"")
        # Wrong usage, whatever the input is.
        for args in (["--to", "chrome", "--option", "lanes=maybe"], ["--to", "chrome", "--option", "name=("],
                     ["--to", "kiln", "--option", "level=99"], ["--to", "kiln", "--compress", "zstd:99"],
                     ["--to", "pstats", "--option", "gpu=some"]):
            result = run("convert", "cut.gz", "-o", "x", *args)
            self.assertEqual(result.returncode, 2, args)
            self.assertEqual(result.stderr.count(b"\n"), 1, result.stderr)
        self.assertEqual(sorted(os.listdir(".")), ["cut.gz", "empty.json", "html.json", "in.json"])

    def test_input_is_never_overwritten(self):
        self.write("in.json", TEXT)
        os.symlink("in.json", "link.json")
        for output in ("in.json", "./in.json", "link.json"):
            result = run("convert", "in.json", "--to", "chrome", "-o", output, "--force")
            self.assertEqual(result.returncode, 2, output)
        self.assertEqual(self.read("in.json"), TEXT)

    def test_output_that_cannot_be_written_is_an_error(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        self.write("in.json", TEXT)
        for args in (["cat", "in.json"], ["info", "in.json"], ["formats"],
                     ["convert", "in.json", "--to", "chrome", "-o", "-"]):
            with open("/dev/full", "wb") as full:
                result = subprocess.run([BINARY, *args], stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
            self.assertEqual(result.returncode, 1, args)
            self.assertIn(b"No space left", result.stderr)

    def test_interrupt_removes_what_was_begun(self):
        for name in ("INT", "TERM"):
            number = getattr(signal, "SIG" + name)
            with subprocess.Popen([BINARY, "convert", "-", "--to", "kiln", "-o", "x.kiln"], stdin=subprocess.PIPE,
                                  stderr=subprocess.PIPE) as process:
                process.stdin.write(TEXT[:-2])  # the list stays open
                event = b"," + json.dumps(EVENTS[2]).encode()
                for _ in range(300):
                    process.stdin.write(event * 100)
                process.stdin.flush()
                deadline = time.monotonic() + 30
                while not os.listdir(".") and time.monotonic() < deadline:
                    time.sleep(0.01)
                self.assertEqual(len(os.listdir(".")), 1)  # under its temporary name
                process.send_signal(number)
                for _ in range(300):  # enough for another batch
                    process.stdin.write(event * 100)
                _, err = process.communicate(b"]}")
            self.assertEqual(process.returncode, -number)
            self.assertIn(b"interrupted", err)
            self.assertEqual(os.listdir("."), [])

    def test_info_and_check(self):
        self.write("in.json", TEXT)
        text = self.run_ok("info", "in.json").decode()
        self.assertIn("rank        2 of 8", text)
        self.assertIn("base        1700000000000000000 ns", text)
        self.assertIn("time span   42.249 us, from 100.001 us to 142.250 us", text)
        self.assertIn("0  Test GPU", text)
        info = json.loads(self.run_ok("info", "in.json", "--format", "json"))
        self.assertEqual(info["devices"], [{"id": 0, "name": "Test GPU"}])
        self.assertEqual({c["category"]: c["sum_dur_ns"] for c in info["categories"] if c["kind"] == "slice"},
                         {"cpu_op": 20500, "cuda_runtime": 5000, "kernel": 30000})
        self.assertEqual([(t["pid"], t["tid"], t["process_name"], t["thread_name"]) for t in info["tracks"]],
                         [("10", "11", "python", "thread 11 (main)"), ("0", "7", "", "")])
        check = json.loads(self.run_ok("check", "in.json", "--format", "json"))
        self.assertEqual(check["warnings"], 0)
        self.assertEqual(check["launches"]["mean_delay_ns"], 7250)
        self.assertEqual([f["code"] for f in check["findings"]], ["no_steps"])

    def test_cat_keeps_every_digit(self):
        self.write("in.json", TEXT)
        (row,) = self.rows("in.json", "--category", "cpu_op")
        self.assertEqual(row, {"row": 2, "kind": "slice", "ts_us": 100.001, "dur_us": 20.5, "name": "aten::mm",
                               "cat": "cpu_op", "pid": 10, "tid": 11, "args": EVENTS[2]["args"]})
        (row,) = self.rows("in.json", "--category", "kernel")
        self.assertEqual((row["correlation"], row["flow"]), (3, "in"))
        self.assertEqual(len(self.rows("in.json", "--rank", "2")), 6)
        self.assertEqual(len(self.rows("in.json", "--rank", "1")), 0)

    def test_empty_traces(self):
        for events in ([], EVENTS[:2]):
            self.write("in.json", json.dumps({"traceEvents": events}).encode())
            for command in ("info", "check"):
                for how in ("text", "json"):
                    out = self.run_ok(command, "in.json", "--format", how).decode()
                    self.assertNotIn("nan", out)
            self.assertIn("no events", self.run_ok("info", "in.json").decode())
            self.run_ok("convert", "in.json", "--to", "kiln", "-o", "x.kiln")
            self.assertEqual(self.rows("x.kiln"), self.rows("in.json"))

    def test_no_progress_where_standard_error_is_no_terminal(self):
        self.write("in.json", TEXT)
        self.assertNotIn(b"\r", run("convert", "in.json", "--to", "kiln", "-o", "-").stderr)


if __name__ == "__main__":
    unittest.main()
