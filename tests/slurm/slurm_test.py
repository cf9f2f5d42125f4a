"""tracekiln batch --engine slurm on a real Slurm of one node: the same files as the local engine writes, also after a fault.

Needs root and Debian's slurmctld, slurmd, slurm-client and munge; without them the test says SKIPPED.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import real_traces as rt

# The daemons lie where only root looks.
os.environ["PATH"] += ":/usr/sbin:/sbin"
CLUSTER = os.path.join(rt.ROOT, "tests", "slurm", "cluster.sh")
RANKS = 32
CORRUPT = 5
KILLED = 20
TO = "kiln,pstats,chrome"


def why_not():
    if os.geteuid() != 0:
        return "starting a Slurm needs root"
    missing = [name for name in ("munged", "slurmctld", "slurmd", "sbatch", "scancel") if shutil.which(name) is None]
    return f"not installed: {', '.join(missing)}" if missing else ""


def make_longer(path, size):
    """Writes the events of a trace again and again, so that somebody can be quick enough to kill who reads it."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    start = text.index("[", text.index('"traceEvents"')) + 1
    end = text.rindex("]")
    events = text[start:end]
    with open(path, "w", encoding="utf-8") as file:
        file.write(text[:start] + ",".join([events] * (size // len(events) + 1)) + text[end:])


def files_below(directory):
    """Contents of all files by relative path, without hidden directories."""
    found = {}
    for folder, folders, names in os.walk(directory):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, directory)] = file.read()
    return found


def manifest(directory):
    """What depends on inputs, options and outcome only."""
    with open(os.path.join(directory, "manifest.json"), encoding="utf-8") as file:
        return without_measured(json.load(file))


def without_measured(value):
    if isinstance(value, dict):
        return {key: without_measured(member) for key, member in value.items() if key != "measured"}
    if isinstance(value, list):
        return [without_measured(member) for member in value]
    return value


def batch(*arguments):
    return subprocess.run([rt.TRACEKILN, "batch", *arguments], capture_output=True, text=True, timeout=240, check=False)


def wait_for(condition, what):
    for _ in range(600):
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"waited 30 s for {what}")


class SlurmTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # The paths of sockets have at most 107 bytes: not below Bazel's directory.
        cls.dir = tempfile.mkdtemp(prefix="tracekiln-slurm-", dir="/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.dir)
        cluster = os.path.join(cls.dir, "cluster")
        cls.addClassCleanup(subprocess.run, [CLUSTER, "stop", cluster], check=True, timeout=60)
        started = subprocess.run([CLUSTER, "start", cluster], stdout=subprocess.PIPE, text=True, check=True, timeout=120)
        os.environ["SLURM_CONF"] = started.stdout.split("'")[1]

        cls.run_dir = tempfile.mkdtemp(prefix="run-", dir=os.environ.get("TEST_TMPDIR"))
        cls.addClassCleanup(shutil.rmtree, cls.run_dir)
        subprocess.run([rt.TRACEGEN, "--ranks", str(RANKS), "--size", "300KB", "-o", cls.run_dir], check=True, capture_output=True, timeout=60)
        make_longer(os.path.join(cls.run_dir, f"rank-{KILLED}.json"), 100_000_000)
        cls.corrupt = os.path.join(cls.run_dir, f"rank-{CORRUPT}.json")
        os.truncate(cls.corrupt, os.path.getsize(cls.corrupt) // 2)
        cls.local = os.path.join(cls.run_dir, "..", os.path.basename(cls.run_dir) + "-local")
        cls.addClassCleanup(shutil.rmtree, cls.local, ignore_errors=True)
        cls.local_result = batch(cls.run_dir, "--to", TO, "-o", cls.local, "--quiet")

    def setUp(self):
        self.out = tempfile.mkdtemp(prefix="out ' % ", dir=os.environ.get("TEST_TMPDIR"))  # words for a shell and for sbatch's patterns
        self.addCleanup(shutil.rmtree, self.out)

    def assert_same_as_local(self):
        mine, theirs = files_below(self.out), files_below(self.local)
        self.assertEqual(sorted(mine), sorted(theirs))
        for name, data in mine.items():
            if name != "manifest.json":
                self.assertEqual(data, theirs[name], name)
        self.assertEqual(manifest(self.out), manifest(self.local))

    def test_the_local_engine_reports_the_corrupt_rank(self):
        self.assertEqual(self.local_result.returncode, 3, self.local_result.stderr)
        self.assertIn(f"truncated: 1 (rank {CORRUPT})", self.local_result.stderr)
        self.assertEqual(len([name for name in files_below(self.local) if name.startswith("kiln/")]), RANKS - 1)

    def test_an_array_of_all_ranks_writes_what_the_local_engine_writes(self):
        result = batch(self.run_dir, "--to", TO, "-o", self.out, "--engine", "slurm", "--wait", "--slurm-tasks", "4")
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn(f"{RANKS} traces in {RANKS // 4} array tasks", result.stderr)
        self.assertIn(f"truncated: 1 (rank {CORRUPT})", result.stderr)
        self.assert_same_as_local()
        with open(os.path.join(self.out, "manifest.json"), encoding="utf-8") as file:
            self.assertIn('"slurm"', file.read())

    def test_an_array_task_that_is_killed_is_listed_and_done_again(self):
        submitted = batch(self.run_dir, "--to", TO, "-o", self.out, "--engine", "slurm")
        self.assertEqual(submitted.returncode, 0, submitted.stderr)
        with open(os.path.join(self.out, ".batch", "slurm", "jobs.json"), encoding="utf-8") as file:
            jobs = json.load(file)
        with open(os.path.join(self.out, ".batch", "plan.json"), encoding="utf-8") as file:
            index = [task["name"] for task in json.load(file)["tasks"]].index(f"rank-{KILLED}")
        with open(os.path.join(self.out, ".batch", "slurm", "ranges"), encoding="utf-8") as file:
            array_task = file.read().split("\n").index(f"{index}-{index}")

        running = os.path.join(self.out, ".batch", "running", f"rank-{KILLED}.json")
        wait_for(lambda: os.path.exists(running), "the rank to be worked on")
        temporary = wait_for(lambda: [name for name in os.listdir(os.path.join(self.out, "kiln")) if f"rank-{KILLED}" in name], "its output to be begun")
        self.assertNotIn(f"rank-{KILLED}.kiln", temporary, "already done: nothing was killed in the middle")
        self.assertIn(f"running: rank-{KILLED}", batch("--status", self.out).stdout)
        subprocess.run(["scancel", "--signal=KILL", "--full", f"{jobs['array_job']}_{array_task}"], check=True, timeout=30)

        wait_for(lambda: os.path.exists(os.path.join(self.out, "manifest.json")), "the job that writes the manifest")
        status = batch("--status", self.out)
        self.assertEqual(status.returncode, 0, status.stderr)
        self.assertRegex(status.stdout, rf"done +{RANKS - 2}\n")
        self.assertRegex(status.stdout, r"failed +1\n")
        self.assertRegex(status.stdout, r"left +1\n")
        states = {entry["task"]: entry["state"] for entry in manifest(self.out)["ranks"]}
        self.assertEqual([name for name, state in states.items() if state == "failed"], [f"rank-{CORRUPT}"])
        self.assertEqual([name for name, state in states.items() if state == "missing"], [f"rank-{KILLED}"])
        self.assertNotIn(f"kiln/rank-{KILLED}.kiln", files_below(self.out))

        resumed = batch("--resume", self.out, "--engine", "slurm", "--wait")
        self.assertEqual(resumed.returncode, 3, resumed.stderr)
        # What failed is tried again, what is done is not.
        self.assertIn("2 traces in 2 array tasks", resumed.stderr)
        self.assert_same_as_local()

    def test_the_local_engine_continues_what_slurm_began(self):
        result = batch(self.run_dir, "--to", TO, "-o", self.out, "--engine", "slurm", "--wait", "--ranks", "0-3")
        self.assertEqual(result.returncode, 0, result.stderr)
        result = batch(self.run_dir, "--to", TO, "-o", self.out, "--quiet")
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("(4 before)", result.stderr)
        self.assert_same_as_local()

    def test_what_sbatch_refuses_is_said(self):
        result = batch(self.run_dir, "--to", "kiln", "-o", self.out, "--engine", "slurm", "--slurm-args", "--partition=none_such")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("sbatch refuses", result.stderr)
        self.assertIn("none_such", result.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.out, "manifest.json")))


if __name__ == "__main__":
    reason = why_not()
    if reason:
        print(f"SKIPPED: no batch on a real Slurm ({reason})")
        sys.exit(0)
    unittest.main()
