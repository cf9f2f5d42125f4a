"""tracekiln batch that is killed or interrupted: what is left is whole, and the same command again completes it.

After each fault the output directory must hold, byte for byte, what an undisturbed batch of the same run makes.
"""

import os
import random
import shutil
import signal
import subprocess
import time
import unittest

import batch_runs as br

KILLS = 20  # of each sort


class SmallRun(br.BatchTest):
    def setUp(self):
        super().setUp()
        self.run_dir = os.path.join(self.dir, "run")
        br.generate(self.run_dir)
        self.arguments = [self.run_dir, "--to", br.FORMATS, "--jobs", "2", "--quiet"]
        self.reference = os.path.join(self.dir, "reference")
        begin = time.monotonic()
        self.batch(*self.arguments, "-o", self.reference)
        self.seconds = time.monotonic() - begin

    def started(self, out):
        return self.start(*self.arguments, "-o", out)

    def assert_whole(self, out):
        """Each file that has its name already is whole."""
        expected = br.outputs(self.reference)
        for name, content in br.outputs(out).items():
            if not br.TEMPORARY.search(name) and name != "manifest.json":
                self.assertTrue(content == expected[name], name)

    def completes(self, out):
        self.assert_whole(out)
        self.batch(*self.arguments, "-o", out)
        self.assert_same_batch(out, self.reference)

    def status(self):
        result = subprocess.run([br.rt.TRACEKILN, "batch", "--status", self.out], capture_output=True, text=True, timeout=60, check=True)
        return result.stdout


class KillTest(SmallRun):
    def at_random_moments(self, seed, kill):
        """Calls kill(process) somewhere between start and end of a batch, KILLS times; how often that came in time."""
        moments = random.Random(seed)
        in_time = 0
        for i in range(KILLS):
            out = os.path.join(self.dir, f"out-{i}")
            process = self.started(out)
            time.sleep(moments.random() * self.seconds)
            kill(process)
            process.communicate(timeout=60)
            in_time += process.returncode != 0
            with self.subTest(kill=i):
                self.completes(out)
        return in_time

    def test_kill_of_all_processes(self):
        in_time = self.at_random_moments(1, self.kill_group)
        self.assertGreater(in_time, 0)

    def test_kill_of_the_parent_only(self):
        in_time = self.at_random_moments(2, lambda process: process.kill())
        self.assertGreater(in_time, 0)

    def test_kill_of_workers_only(self):
        chosen = random.Random(3)

        def kill(process):
            workers = br.children(process.pid)
            if workers:
                try:
                    os.kill(chosen.choice(workers), signal.SIGKILL)
                except ProcessLookupError:
                    pass

        self.at_random_moments(4, kill)

    def test_the_same_directory_is_killed_again_and_again(self):
        moments = random.Random(5)
        for _ in range(5):
            process = self.started(self.out)
            time.sleep(moments.random() * self.seconds)
            self.kill_group(process)
            process.communicate(timeout=60)
        self.completes(self.out)

    def test_workers_end_with_the_parent(self):
        process = self.started(self.out)
        pid, task = self.frozen_worker(process)
        process.kill()
        process.communicate(timeout=60)
        # The signal is sent at once; on a busy machine it may be a while until the worker has a core to die on.
        end = time.monotonic() + 20
        while br.state_of(pid) not in ("", "Z") and time.monotonic() < end:
            time.sleep(0.01)
        deadline = time.monotonic() + 60
        while br.state_of(pid) not in ("", "Z"):
            self.assertLess(time.monotonic(), deadline, "the worker outlives its parent")
            time.sleep(0.01)
        self.assertFalse(os.path.exists(os.path.join(self.out, "manifest.json")))
        self.assertNotIn(f"running: {task}", self.status())
        self.completes(self.out)

    def test_a_killed_worker_fails_its_task_and_no_other(self):
        process = self.started(self.out)
        pid, task = self.frozen_worker(process)
        os.kill(pid, signal.SIGKILL)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 3, err)
        self.assertIn(f"{task}: killed: ".encode(), err)
        self.assertIn(b"signal 9", err)
        states = self.states()
        self.assertEqual(states.pop(task), "killed")
        self.assertEqual(set(states.values()), {"done"})
        self.assertEqual([name for name in br.outputs(self.out) if f"/{task}." in name], [])
        self.assertEqual(br.leftovers(self.out), [])
        self.completes(self.out)

    @staticmethod
    def stopped_within(pid, directory):
        """Lets a stopped worker go on in small steps until some file of the directory is whole. False if it ended."""
        while not (os.path.isdir(directory) and any(not br.TEMPORARY.search(name) for name in os.listdir(directory))):
            os.kill(pid, signal.SIGCONT)
            time.sleep(0.0005)
            os.kill(pid, signal.SIGSTOP)
            while br.state_of(pid) not in ("T", "Z", ""):
                pass
            if br.state_of(pid) != "T":
                return False
        return True

    def test_a_killed_worker_leaves_no_part_of_a_directory(self):
        # The files of a directory become whole one after the other: half of them would look like all of them.
        arguments = [self.run_dir, "--to", "pstats", "--option", "per=action", "--jobs", "1", "--quiet"]
        reference = os.path.join(self.dir, "directories")
        self.batch(*arguments, "-o", reference)
        self.assertGreater(len([name for name in br.outputs(reference) if name.startswith("pstats/rank-0/")]), 5)
        # A worker may be quicker than the one who stops it; then with the next.
        for _ in range(20):
            shutil.rmtree(self.out, ignore_errors=True)
            process = self.start(*arguments, "-o", self.out)
            pid, task = self.frozen_worker(process)
            directory = os.path.join(self.out, "pstats", task)
            if self.stopped_within(pid, directory):
                break
            process.communicate(timeout=60)
        else:
            self.fail("20 workers were quicker than the test")
        os.kill(pid, signal.SIGKILL)
        process.communicate(timeout=60)
        self.assertEqual(self.states()[task], "killed")
        self.assertFalse(os.path.exists(directory))
        self.batch(*arguments, "-o", self.out)
        self.assert_same_batch(self.out, reference)


class InterruptTest(SmallRun):
    """Ctrl-C in a terminal goes to all processes, what a supervisor sends to the parent only."""

    def interrupt(self, number, send, wakes_up=True):
        process = self.started(self.out)
        pid, task = self.frozen_worker(process)
        send(process, number)
        if wakes_up:
            while not self.has_pending_signal(pid):
                time.sleep(0.001)
            os.kill(pid, signal.SIGCONT)
        _, err = process.communicate(timeout=60)
        # As of any program that does not catch the signal, so that scripts that call it end as well.
        self.assertEqual(process.returncode, -number, err)
        self.assertEqual(err, b"tracekiln: interrupted; the same command continues where it stopped\n")
        self.assertFalse(os.path.exists(os.path.join(self.out, "manifest.json")))
        self.assertEqual(br.leftovers(self.out), [])
        if not wakes_up:
            self.assertNotIn(f"{task}.json", br.results(self.out))
        self.completes(self.out)

    def has_pending_signal(self, pid):
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            pending = dict(line.split(":", 1) for line in file if ":" in line)["ShdPnd"]
        return int(pending, 16) != 0

    def test_interrupt_of_all_processes(self):
        self.interrupt(signal.SIGINT, self.kill_group)

    def test_interrupt_of_the_parent_only(self):
        self.interrupt(signal.SIGINT, lambda process, number: process.send_signal(number))

    def test_termination_of_all_processes(self):
        self.interrupt(signal.SIGTERM, self.kill_group)

    def test_hangup_of_the_parent_only(self):
        self.interrupt(signal.SIGHUP, lambda process, number: process.send_signal(number))

    def test_a_worker_that_does_not_listen_is_killed(self):
        self.interrupt(signal.SIGINT, self.kill_group, wakes_up=False)

    def test_interrupts_at_random_moments_keep_what_is_done(self):
        moments = random.Random(6)
        in_time = 0
        for i in range(KILLS):
            out = os.path.join(self.dir, f"out-{i}")
            process = self.started(out)
            time.sleep(moments.random() * self.seconds)
            self.kill_group(process, signal.SIGINT)
            _, err = process.communicate(timeout=60)
            in_time += process.returncode != 0
            if process.returncode == -signal.SIGINT and os.path.isdir(os.path.join(out, ".batch", "results")):
                self.assertTrue(err in (b"", b"tracekiln: interrupted; the same command continues where it stopped\n"), err)
                self.assertEqual(br.leftovers(out), [])
                done = br.identities(out)
                self.completes(out)
                for name in br.results(out):
                    # A task that was done keeps its files.
                    if f".batch/results/{name}" in done:
                        mine = {path: what for path, what in br.identities(out).items() if f"/{name.removesuffix('.json')}." in path}
                        self.assertEqual(mine, {path: done[path] for path in mine}, name)
            else:
                self.completes(out)
        self.assertGreater(in_time, 0)


if __name__ == "__main__":
    unittest.main()
