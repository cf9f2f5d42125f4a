"""What tests of `tracekiln batch` share: generated runs, running the command, and what an output directory holds."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import real_traces as rt

TEMPORARY = re.compile(r"\.tmp-\d+-\d+$")
FORMATS = "kiln,chrome,pstats"


def generate(path, ranks=6, layers=3, steps=1, seed=1):
    subprocess.run([rt.TRACEGEN, "--ranks", str(ranks), "--steps", str(steps), "--layers", str(layers), "--seed", str(seed), "-o", path],
                   check=True, capture_output=True, timeout=120)


def outputs(out):
    """Every file of a batch that a user may see, as bytes by path; the manifest without what differs from run to run."""
    found = {}
    for folder, folders, names in os.walk(out):
        if folder == out:
            folders[:] = [name for name in folders if name != ".batch"]
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, out)] = file.read()
    if "manifest.json" in found:
        manifest = json.loads(found["manifest.json"])
        manifest.pop("measured")
        found["manifest.json"] = json.dumps(manifest, indent=1)
    return found


def results(out):
    """The results of all tasks, by name, without what differs from run to run."""
    found = {}
    folder = os.path.join(out, ".batch", "results")
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            found[name] = json.load(file)
        found[name].pop("measured")
    return found


def leftovers(out):
    """What nobody works on any more and should not be there: temporary files and notes of who works."""
    found = [os.path.join(out, ".batch", "running", name) for name in os.listdir(os.path.join(out, ".batch", "running"))]
    for folder, _, names in os.walk(out):
        found += [os.path.join(folder, name) for name in names if TEMPORARY.search(name)]
    return found


def identities(out):
    """Inode and time of all outputs and results: they change when a file is written again, even with the same bytes."""
    found = {}
    for folder, _, names in os.walk(out):
        for name in names:
            path = os.path.join(folder, name)
            relative = os.path.relpath(path, out)
            if relative.startswith((".batch/results/", "kiln/", "chrome/", "pstats/")):
                info = os.stat(path)
                found[relative] = (info.st_ino, info.st_mtime_ns)
    return found


def children(pid):
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                found += [int(word) for word in file.read().split()]
    except (FileNotFoundError, ProcessLookupError):
        pass
    return found


def state_of(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


class BatchTest(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.dir)
        os.chdir(self.dir)
        self.out = os.path.join(self.dir, "out")

    def start(self, *arguments, **options):
        """The command in a process group of its own, which is ended with the test at the latest."""
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        process = subprocess.Popen([rt.TRACEKILN, "batch", *arguments], start_new_session=True, **options)

        def end():
            if process.poll() is None:
                self.kill_group(process)
            process.communicate()

        self.addCleanup(end)
        return process

    def kill_group(self, process, number=signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            pass

    def batch(self, *arguments, code=0, **options):
        """Runs the command, which must end with `code`; what it said on standard error."""
        result = subprocess.run([rt.TRACEKILN, "batch", *arguments], capture_output=True, timeout=120, check=False, **options)
        self.assertEqual(result.returncode, code, result.stderr.decode(errors="replace"))
        return result.stderr.decode(errors="replace")

    def manifest(self, out=None):
        with open(os.path.join(out or self.out, "manifest.json"), encoding="utf-8") as file:
            return json.load(file)

    def states(self, out=None):
        """State of each task, or the kind of its failure."""
        return {rank["task"]: rank["error"]["kind"] if rank["state"] == "failed" else rank["state"]
                for rank in self.manifest(out)["ranks"]}

    def assert_same_batch(self, out, want):
        """`out` holds the same as `want`, an undisturbed batch of the same input, byte for byte, and nothing else."""
        got, expected = outputs(out), outputs(want)
        self.assertEqual(sorted(got), sorted(expected))
        self.assertEqual(got["manifest.json"], expected["manifest.json"])
        for name, content in expected.items():
            self.assertTrue(got[name] == content, name)
        self.assertEqual(results(out), results(want))
        self.assertEqual(leftovers(out), [])

    def frozen_worker(self, process, out=None):
        """Stops the first worker that has begun on a task, before it has ended; its process id and its task."""
        running = os.path.join(out or self.out, ".batch", "running")
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            self.assertIsNone(process.poll(), "the batch ended before a worker could be stopped")
            for name in os.listdir(running) if os.path.isdir(running) else []:
                if TEMPORARY.search(name):
                    continue
                try:
                    with open(os.path.join(running, name), encoding="utf-8") as file:
                        pid = json.load(file)["pid"]
                    os.kill(pid, signal.SIGSTOP)
                except (FileNotFoundError, ProcessLookupError, json.JSONDecodeError):
                    continue
                while state_of(pid) not in ("T", "Z", ""):
                    time.sleep(0.001)
                if state_of(pid) == "T":
                    return pid, name.removesuffix(".json")
            time.sleep(0.001)
        raise AssertionError("no worker was seen")
