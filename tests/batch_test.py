"""tracekiln batch and what goes wrong around it: disks, inputs, names, options, terminals; and what a re-run does then.

Whatever went wrong: once it is repaired, the same command again must leave, byte for byte, what an undisturbed batch
makes. A rank of 2 GB is not made here: what grows with size is tested with one rank 64 times as long as the others and
a budget of memory below its need.
"""

import contextlib
import gzip
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import unittest

import batch_runs as br
import real_traces as rt

RANKS = 6


class RunTest(br.BatchTest):
    def setUp(self):
        super().setUp()
        self.run_dir = os.path.join(self.dir, "run")
        br.generate(self.run_dir, ranks=RANKS)
        self.arguments = [self.run_dir, "--to", br.FORMATS]

    def rank(self, number):
        return os.path.join(self.run_dir, f"rank-{number}.json")

    def reference(self, *more):
        """An undisturbed batch of the run as it is now."""
        out = os.path.join(self.dir, "reference")
        shutil.rmtree(out, ignore_errors=True)
        self.batch(*self.arguments, *more, "-o", out, "--quiet")
        return out

    def again(self, code=0, *more):
        return self.batch(*self.arguments, *more, "-o", self.out, code=code)

    def files_of(self, task, out=None):
        return [name for name in br.outputs(out or self.out) if name.split("/")[-1].split(".")[0] == task]

    def errors(self):
        return {entry["task"]: entry["error"] for entry in self.manifest()["ranks"] if entry["state"] == "failed"}


@contextlib.contextmanager
def small_disk(path, size):
    """A file system of that many bytes; SkipTest, said loudly, where none can be mounted."""
    os.mkdir(path)
    result = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tracekiln-test", path], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        print(f"SKIPPED: no test of a full disk (cannot mount a tmpfs: {result.stderr.strip()})", file=sys.stderr)
        raise unittest.SkipTest("cannot mount a tmpfs")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", path], check=True, timeout=30)


class DiskTest(RunTest):
    def setUp(self):
        super().setUp()
        self.disk = os.path.join(self.dir, "disk")
        self.out = os.path.join(self.disk, "out")

    def fill(self, left):
        """Leaves so many bytes free."""
        free = os.statvfs(self.disk)
        size = free.f_bavail * free.f_bsize - left
        with open(os.path.join(self.disk, "ballast"), "wb") as file:
            file.write(b"x" * size)

    def test_a_disk_that_gets_full_fails_those_that_no_longer_fit(self):
        reference = self.reference()
        with small_disk(self.disk, "4m"):
            self.fill(420_000)
            err = self.again(code=3)
            states = self.states()
            self.assertEqual(set(states.values()), {"done", "disk_full"})
            self.assertIn("  disk_full: ", err)
            for task, error in self.errors().items():
                self.assertRegex(error["message"], rf"^{re.escape(self.out)}/\w+/{task}\..*No space left on device")
                self.assertIn(f"{task}: disk_full: {self.out}/", err)
                self.assertEqual(self.files_of(task), [])
            expected = br.outputs(reference)
            for name, content in br.outputs(self.out).items():
                if name != "manifest.json":
                    self.assertTrue(content == expected[name], name)
            self.assertEqual(br.leftovers(self.out), [])
            os.unlink(os.path.join(self.disk, "ballast"))
            done = len([state for state in states.values() if state == "done"])
            self.assertIn(f"{RANKS} of {RANKS} traces done ({done} before)", self.again())
            self.assert_same_batch(self.out, reference)

    def test_a_full_disk(self):
        reference = self.reference()
        with small_disk(self.disk, "4m"):
            for left in (0, 8192, 24576, 49152):
                with self.subTest(left=left):
                    self.fill(left)
                    result = subprocess.run([rt.TRACEKILN, "batch", *self.arguments, "-o", self.out], capture_output=True, timeout=60, check=False)
                    self.assertEqual(result.returncode, 1, result.stderr)
                    self.assertIn(b"No space left on device", result.stderr)
                    self.assertIn(self.disk.encode(), result.stderr)
                    os.unlink(os.path.join(self.disk, "ballast"))
                    self.again()
                    self.assert_same_batch(self.out, reference)
                    shutil.rmtree(self.out)

    def test_an_output_that_is_read_only(self):
        reference = self.reference("--ranks", "0-2")
        with small_disk(self.disk, "16m"):
            self.again(0, "--ranks", "0-2")
            before = br.outputs(self.out), br.identities(self.out)
            subprocess.run(["mount", "-o", "remount,ro", self.disk], check=True, timeout=30)
            err = self.again(code=1)
            self.assertRegex(err, f"tracekiln: {self.out}/.*: .*Read-only file system")
            self.assertEqual((br.outputs(self.out), br.identities(self.out)), before)
            err = self.batch(*self.arguments, "-o", os.path.join(self.disk, "new"), code=1)
            self.assertRegex(err, f"tracekiln: {self.disk}/new.*: .*Read-only file system")
            subprocess.run(["mount", "-o", "remount,rw", self.disk], check=True, timeout=30)
            self.assertEqual(br.outputs(reference), br.outputs(self.out))
            self.again()
            self.assert_same_batch(self.out, self.reference())

    def test_a_directory_that_is_not_ours_to_write(self):
        # Read-only for the superuser as well: a file where the directory of a format should be.
        reference = self.reference()
        os.mkdir(self.disk)
        os.mkdir(self.out)
        os.mkdir(os.path.join(self.out, ".batch"))
        with open(os.path.join(self.out, "chrome"), "wb"):
            pass
        err = self.again(code=1)
        self.assertEqual(set(self.states().values()), {"unwritable"})
        self.assertIn(f"unwritable: {RANKS} (ranks 0-{RANKS - 1})", err)
        self.assertIn(f"{self.out}/chrome: ", err)
        self.assertEqual(self.files_of("rank-0"), [])
        os.unlink(os.path.join(self.out, "chrome"))
        self.again()
        self.assert_same_batch(self.out, reference)


class InputTest(RunTest):
    def assert_fails_alone(self, task, kind, reason, path, code=3):
        err = self.again(code)
        states = self.states()
        self.assertEqual(states.pop(task), kind)
        self.assertEqual(set(states.values()), {"done"})
        self.assertEqual(len(states), RANKS - 1)
        self.assertIn(f"tracekiln: {task}: {kind}: {path}: {reason}" if reason.startswith("cannot") else f"tracekiln: {task}: {kind}: {path}:", err)
        self.assertIn(reason, err)
        self.assertRegex(err, f"\ntracekiln: {RANKS - 1} of {RANKS} traces done( \\(5 before\\))?, 1 failed\n  {kind}: 1 \\(rank {task.removeprefix('rank-')}\\)\n")
        self.assertEqual(self.files_of(task), [])
        self.assertEqual(br.leftovers(self.out), [])

    def broken(self, make, kind, reason, name="rank-2.json"):
        """Rank 2 in the state that make(path) leaves it in, from the beginning and after it was done before; then repaired."""
        path = os.path.join(self.run_dir, name)
        whole = os.path.join(self.dir, "whole.json")
        for was_done in (False, True):
            with self.subTest(was_done=was_done):
                shutil.rmtree(self.out, ignore_errors=True)
                if was_done:
                    self.again()
                os.rename(self.rank(2), whole)
                make(path)
                self.assert_fails_alone("rank-2", kind, reason, path)
                # What failed is tried again, and nothing else is done.
                before = {name: what for name, what in br.identities(self.out).items() if "rank-2" not in name}
                self.assertIn(f"{RANKS - 1} of {RANKS} traces done ({RANKS - 1} before), 1 failed", self.again(3))
                self.assertEqual({name: what for name, what in br.identities(self.out).items() if "rank-2" not in name}, before)
                os.unlink(path)
                os.rename(whole, self.rank(2))
                self.again()
                self.assert_same_batch(self.out, self.reference())

    def write(self, content):
        def make(path):
            with open(path, "wb") as file:
                file.write(content)
        return make

    def test_a_file_of_0_bytes(self):
        self.broken(self.write(b""), "no_trace", "empty file")

    def test_a_file_of_20_bytes(self):
        self.broken(self.write(b"\x00\xff\x01garbage\xfe garbag"), "no_trace", "no known trace format")
        self.broken(self.write(b"not a trace at all.\n"), "no_trace", "no known trace format")
        self.broken(self.write(b'{"traceEvents": [{"a'), "truncated", "truncated")

    def whole(self):
        with open(os.path.join(self.dir, "whole.json"), "rb") as file:
            return file.read()

    def compressed(self, size):
        return gzip.compress(self.whole(), 6, mtime=0)[:size]

    def test_a_gzip_that_is_truncated(self):
        for size in (12, 20_000, -8):
            self.broken(lambda path, size=size: self.write(self.compressed(size))(path), "truncated", "truncated", "rank-2.json.gz")

    def test_a_gzip_of_nothing(self):
        self.broken(self.write(gzip.compress(b"")), "no_trace", "empty", "rank-2.json.gz")

    def test_a_json_that_is_truncated(self):
        self.broken(lambda path: self.write(self.whole()[:300_000])(path), "truncated", "whole events precede it")

    def test_a_link_to_nothing(self):
        self.broken(lambda path: os.symlink("nowhere.json", path), "unreadable", "cannot open: No such file or directory")

    def test_a_link_to_itself(self):
        self.broken(lambda path: os.symlink(os.path.basename(path), path), "unreadable", "cannot open: Too many levels of symbolic links")

    def test_a_directory_in_place_of_a_file_is_no_rank(self):
        os.rename(self.rank(2), os.path.join(self.dir, "whole.json"))
        os.mkdir(self.rank(2))
        err = self.again()
        self.assertIn("missing_rank: rank 2 of 6 is missing", err)
        self.assertIn(f"{RANKS - 1} of {RANKS - 1} traces done", err)
        os.rmdir(self.rank(2))
        os.rename(os.path.join(self.dir, "whole.json"), self.rank(2))
        self.assertIn(f"({RANKS - 1} before)", self.again())
        self.assert_same_batch(self.out, self.reference())

    def test_all_broken(self):
        for number in range(RANKS):
            os.truncate(self.rank(number), 100_000)
        err = self.again(code=1)
        self.assertIn(f"0 of {RANKS} traces done, {RANKS} failed\n  truncated: {RANKS} (ranks 0-{RANKS - 1})", err)
        self.assertEqual(self.manifest()["summary"], {"done": 0, "salvaged": 0, "failed": RANKS, "missing": 0})

    def test_salvage_keeps_what_is_readable(self):
        os.truncate(self.rank(2), 300_000)
        err = self.again(3, "--salvage")
        self.assertIn("1 of them salvaged", err)
        self.assertEqual(self.states()["rank-2"], "salvaged")
        self.assertIn("(6 before), 1 of them salvaged", self.again(3, "--salvage"))
        self.assert_same_batch(self.out, self.salvaged_reference())

    def salvaged_reference(self):
        out = os.path.join(self.dir, "reference")
        self.batch(*self.arguments, "--salvage", "-o", out, "--quiet", code=3)
        return out

    def between_plan_and_run(self, change, repair, kind, reason):
        """What is no longer there, or something else, when its worker comes to it: the plan of an earlier batch says what
        there was. What was done stays: only the rank in question is done again."""
        self.again()
        reference = self.reference()
        os.unlink(os.path.join(self.out, ".batch", "results", "rank-4.json"))
        change(self.rank(4))
        err = self.batch("--resume", self.out, code=3)
        self.assertIn(f"rank-4: {kind}: {self.rank(4)}: {reason}", err)
        self.assertEqual(self.files_of("rank-4"), [])
        self.assertIn(f"failed, {kind}: rank 4\n", self.status())
        repair(self.rank(4))
        self.assertIn(f"({RANKS - 1} before)", self.batch("--resume", self.out))
        self.assert_same_batch(self.out, reference)

    def status(self):
        return subprocess.run([rt.TRACEKILN, "batch", "--status", self.out], capture_output=True, text=True, timeout=60, check=True).stdout

    def test_a_file_that_vanishes(self):
        self.between_plan_and_run(lambda path: os.rename(path, path + "~"), lambda path: os.rename(path + "~", path),
                                  "unreadable", "cannot open: No such file or directory")

    def test_a_file_that_becomes_a_directory(self):
        def change(path):
            os.rename(path, path + "~")
            os.mkdir(path)

        def repair(path):
            os.rmdir(path)
            os.rename(path + "~", path)

        self.between_plan_and_run(change, repair, "unreadable", "expected a file, got a directory")

    def test_a_file_that_becomes_a_pipe(self):
        def change(path):
            os.rename(path, path + "~")
            os.mkfifo(path)

        def repair(path):
            os.unlink(path)
            os.rename(path + "~", path)

        self.between_plan_and_run(change, repair, "unreadable", "expected a file, got a device, pipe or socket")

    def test_a_file_that_changes_while_it_is_read(self):
        process = self.start(*self.arguments, "--jobs", "1", "-o", self.out)
        pid, task = self.frozen_worker(process)
        # Whether it has been read already is left open: either it is the new one that is done, or it has failed.
        os.utime(self.rank(task.removeprefix("rank-")))
        os.kill(pid, signal.SIGCONT)
        _, err = process.communicate(timeout=60)
        self.assertIn(process.returncode, (0, 3), err)
        if process.returncode == 3:
            self.assertIn(f"{task}: changed: ".encode(), err)
        self.again()
        self.assert_same_batch(self.out, self.reference())

    def test_a_large_rank_with_little_memory(self):
        # One at a time, but never none.
        br.generate(os.path.join(self.dir, "large"), ranks=1, steps=64)
        shutil.copy(os.path.join(self.dir, "large", "rank-0.json"), self.rank(0))
        self.assertGreater(os.path.getsize(self.rank(0)), 30 << 20)
        self.again(0, "--memory", "1MB")
        reference = self.reference()
        self.assert_same_batch(self.out, reference)


class NameTest(RunTest):
    NAMES = [b"line\nbreak-rank-0.json", b"it's \"quoted\"_rank-1.json", b"-rank-2.json", b"caf\xe9-rank-3.json", b"--help", b"\x1b[31m$(x) rank-5.json "]

    def setUp(self):
        super().setUp()
        for number, name in enumerate(self.NAMES):
            os.rename(self.rank(number).encode(), os.path.join(self.run_dir.encode(), name))

    def test_any_name_of_a_file(self):
        reference = os.path.join(self.dir, "reference")
        self.batch(*self.arguments, "-o", reference, "--quiet")
        self.assertEqual(self.states(reference), {f"rank-{number}": "done" for number in range(RANKS)})
        for entry in self.manifest(reference)["ranks"]:
            # Any file can be found again by the manifest alone.
            name = bytes.fromhex(entry["input_hex"]) if "input_hex" in entry else entry["input"].encode()
            self.assertEqual(name, self.NAMES[entry["rank"]])
        # The same as of files with plain names.
        plain = os.path.join(self.dir, "plain")
        br.generate(plain, ranks=RANKS)
        self.batch(plain, "--to", br.FORMATS, "-o", os.path.join(self.dir, "plain-out"), "--quiet")
        got, want = br.outputs(reference), br.outputs(os.path.join(self.dir, "plain-out"))
        # Of a .kiln file but for the name of its source, which it holds.
        plain_bytes = [name for name in want if not name.endswith((".kiln", "manifest.json"))]
        self.assertGreaterEqual(len(plain_bytes), RANKS)
        self.assertEqual(sorted(got), sorted(want))
        for name in plain_bytes:
            self.assertTrue(got[name] == want[name], name)
        self.assertIn(f"({RANKS} before)", self.batch(*self.arguments, "-o", reference))
        os.unlink(os.path.join(reference, ".batch", "results", "rank-3.json"))
        self.assertIn(f"({RANKS - 1} before)", self.batch("--resume", reference))

    def test_messages_with_names_are_one_printable_line_each(self):
        for name in self.NAMES:
            path = os.path.join(self.run_dir.encode(), name)
            os.truncate(path, 300_000)
        result = subprocess.run([rt.TRACEKILN, "batch", *self.arguments, "-o", self.out], capture_output=True, timeout=60, check=False)
        self.assertEqual(result.returncode, 1)
        for line in result.stderr.split(b"\n")[:-1]:
            self.assertRegex(line, rb"^(tracekiln: |  )")
        self.assertNotIn(b"\x1b", result.stderr)

    def test_any_name_of_directories(self):
        directory, out = b"-run\n\"\xff'", b"-out\n\"\xff'"
        os.rename(self.run_dir, directory)
        result = subprocess.run([rt.TRACEKILN, "batch", "--to", "kiln", b"--output=" + out, "--", directory], capture_output=True, timeout=60, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(os.listdir(os.path.join(out, b"kiln"))), [b"rank-%d.kiln" % number for number in range(RANKS)])
        os.unlink(os.path.join(out, b".batch", b"results", b"rank-1.json"))
        result = subprocess.run([rt.TRACEKILN, "batch", b"--resume=" + out], capture_output=True, timeout=60, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"(5 before)", result.stderr)


class RankTest(RunTest):
    def test_ranks_that_are_missing_are_named(self):
        os.unlink(self.rank(1))
        os.unlink(self.rank(4))
        self.assertIn("missing_rank: ranks 1, 4 of 6 are missing", self.again())
        self.assertEqual([finding["code"] for finding in self.manifest()["findings"]], ["missing_rank"])
        self.assert_same_batch(self.out, self.reference())
        self.assertIn("there is no trace of rank 4", self.again(1, "--ranks", "0,4"))

    def test_ranks_that_are_there_twice_are_both_converted_and_named(self):
        br.generate(os.path.join(self.dir, "other"), ranks=RANKS, seed=2)
        shutil.copy(os.path.join(self.dir, "other", "rank-3.json"), os.path.join(self.run_dir, "copy-rank-3.json"))
        err = self.again()
        self.assertIn("duplicate_rank: ", err)
        self.assertIn("copy-rank-3.json", err)
        self.assertEqual(sorted(self.states()), ["rank-0", "rank-1", "rank-2", "rank-3", "rank-3.2", "rank-4", "rank-5"])
        self.assertEqual(len({br.outputs(self.out)[f"kiln/rank-3{end}.kiln"] for end in ("", ".2")}), 2)
        self.assert_same_batch(self.out, self.reference())


class AgainTest(RunTest):
    def setUp(self):
        super().setUp()
        self.again()
        self.before = br.identities(self.out)

    def redone(self):
        """Tasks whose result or any output is another file than before."""
        now = br.identities(self.out)
        return sorted({os.path.basename(name).split(".")[0] for name in now if now[name] != self.before.get(name)})

    def all_ranks(self):
        return [f"rank-{number}" for number in range(RANKS)]

    def test_what_is_done_is_skipped(self):
        self.assertIn(f"{RANKS} of {RANKS} traces done ({RANKS} before)", self.again())
        self.assertEqual(self.redone(), [])
        self.assertIn(f"({RANKS} before)", self.again(0, "--verify"))
        self.assertIn(f"({RANKS} before)", self.batch("--resume", self.out))
        self.assertEqual(self.redone(), [])

    def test_force_does_all_again(self):
        self.again(0, "--force")
        self.assertEqual(self.redone(), self.all_ranks())
        self.assert_same_batch(self.out, self.reference())

    def test_a_changed_input_is_done_again(self):
        br.generate(os.path.join(self.dir, "other"), ranks=RANKS, seed=2)
        shutil.copy(os.path.join(self.dir, "other", "rank-3.json"), self.rank(3))
        self.again()
        self.assertEqual(self.redone(), ["rank-3"])
        self.assert_same_batch(self.out, self.reference())

    def test_times_count_without_verify_and_digests_with_it(self):
        os.utime(self.rank(3), ns=(1, 1))
        self.again(0, "--verify")
        self.assertEqual(self.redone(), [])
        self.again()
        self.assertEqual(self.redone(), ["rank-3"])

    def test_verify_finds_bytes_that_changed_behind_the_times(self):
        info = os.stat(self.rank(3))
        with open(self.rank(3), "r+b") as file:
            text = file.read()
            file.seek(0)
            file.write(text.replace(b"aten::linear", b"aten::Linear"))
        os.utime(self.rank(3), ns=(info.st_atime_ns, info.st_mtime_ns))
        with open(os.path.join(self.out, "kiln", "rank-4.kiln"), "r+b") as file:
            file.seek(100)
            file.write(b"!!")
        self.again(0, "--verify")
        self.assertEqual(self.redone(), ["rank-3", "rank-4"])
        self.assert_same_batch(self.out, self.reference())

    def test_outputs_that_are_gone_or_cut_are_made_again(self):
        os.unlink(os.path.join(self.out, "pstats", "rank-1.prof"))
        os.truncate(os.path.join(self.out, "kiln", "rank-2.kiln"), 1000)
        os.unlink(os.path.join(self.out, ".batch", "results", "rank-4.json"))
        os.truncate(os.path.join(self.out, ".batch", "results", "rank-5.json"), 20)
        os.unlink(os.path.join(self.out, "manifest.json"))
        self.again()
        self.assertEqual(self.redone(), ["rank-1", "rank-2", "rank-4", "rank-5"])
        self.assert_same_batch(self.out, self.reference())

    def test_changed_options_are_done_again(self):
        self.again(0, "--option", "gpu=off")
        self.assertEqual(self.redone(), self.all_ranks())
        self.assert_same_batch(self.out, self.reference("--option", "gpu=off"))

    def test_status_counts(self):
        os.unlink(os.path.join(self.out, ".batch", "results", "rank-4.json"))
        result = subprocess.run([rt.TRACEKILN, "batch", "--status", self.out], capture_output=True, text=True, timeout=60, check=True)
        self.assertEqual(result.stdout, "traces   6\ndone     5\nsalvaged 0\nfailed   0\nrunning  0\nleft     1\nmanifest written\n")
        result = subprocess.run([rt.TRACEKILN, "batch", "--status", self.run_dir], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn(".batch/plan.json: cannot open", result.stderr)

    def test_a_directory_of_others_is_left_alone(self):
        other = os.path.join(self.dir, "other")
        os.mkdir(other)
        with open(os.path.join(other, "thesis.tex"), "wb"):
            pass
        self.assertIn("holds files that are no batch's", self.batch(*self.arguments, "-o", other, code=2))
        self.assertEqual(os.listdir(other), ["thesis.tex"])


class ProcessTest(RunTest):
    def test_quiet_says_nothing_but_errors(self):
        self.assertEqual(self.again(0, "--quiet"), "")
        os.truncate(self.rank(2), 300_000)
        self.assertRegex(self.again(3, "--quiet"), r"^tracekiln: rank-2: truncated: .*\ntracekiln: 5 of 6 traces done.*\n  truncated: 1 \(rank 2\)\n$")

    def test_lines_without_a_terminal(self):
        process = self.start(*self.arguments, "--jobs", "1", "-o", self.out)
        pid, _ = self.frozen_worker(process)
        line = process.stderr.readline()  # after five seconds
        os.kill(pid, signal.SIGCONT)
        _, err = process.communicate(timeout=60)
        self.assertRegex(line, rb"^tracekiln: \d of 6 traces, [0-9.]+ MB of [0-9.]+ MB")
        self.assertNotIn(b"\x1b", line + err)
        self.assertEqual(err.decode().splitlines()[-1], "tracekiln: 6 of 6 traces done")

    def test_bars_on_a_terminal(self):
        primary, secondary = pty.openpty()
        self.addCleanup(os.close, primary)
        process = self.start(*self.arguments, "--jobs", "1", "-o", self.out, stderr=secondary)
        os.close(secondary)
        pid, task = self.frozen_worker(process)
        text = b""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if select.select([primary], [], [], 1)[0]:
                try:
                    piece = os.read(primary, 65536)
                except OSError:  # how Linux says that the other end is closed
                    break
                text += piece
                if not piece:
                    break
            if pid and b"] " in text:
                os.kill(pid, signal.SIGCONT)
                pid = None
        self.assertEqual(process.wait(timeout=60), 0)
        self.assertIn(f"  {task}: ".encode(), text)
        self.assertRegex(text, rb"\[[#.]{20}\] \d of 6 traces, ")
        self.assertRegex(text, rb"\x1b\[\d+A\x1b\[J")
        # What was drawn is wiped away at the end.
        self.assertTrue(text.endswith(b"\x1b[Jtracekiln: 6 of 6 traces done\r\n"), text[-200:])

    def test_two_batches_in_one_directory(self):
        reference = self.reference()
        processes = [self.start(*self.arguments, "--jobs", "1", "-o", self.out) for _ in range(2)]
        for process in processes:
            _, err = process.communicate(timeout=60)
            # One after the other: the second finds all done.
            self.assertEqual(process.returncode, 0, err)
        self.assert_same_batch(self.out, reference)

    def test_a_batch_does_not_disturb_another_that_takes_long(self):
        reference = self.reference()
        process = self.start(*self.arguments, "--jobs", "1", "-o", self.out)
        pid, _ = self.frozen_worker(process)
        self.assertIn(f"{self.out}: another batch is working here", self.again(code=1))
        os.kill(pid, signal.SIGCONT)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        self.assert_same_batch(self.out, reference)

    def test_a_time_limit(self):
        reference = self.reference()
        process = self.start(*self.arguments, "--jobs", "1", "--timeout", "5", "-o", self.out)
        _, task = self.frozen_worker(process)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 3, err)
        self.assertIn(f"{task}: timed_out: ".encode(), err)
        self.assertIn(b"took longer than 5 s", err)
        self.assertEqual(self.states().pop(task), "timed_out")
        self.assertEqual(self.files_of(task), [])
        self.again()
        self.assert_same_batch(self.out, reference)


if __name__ == "__main__":
    unittest.main()
