"""What `tracekiln batch` costs: the table of docs/batch.md. Run by hand, on a machine with nothing else to do.

    bazel build -c opt --symlink_prefix=bazel-opt- //tools:tracekiln //tools/tracegen
    python3 tests/batch_measure.py --tracekiln bazel-opt-bin/tools/tracekiln \\
        --tracegen bazel-opt-bin/tools/tracegen/tracegen --directory /tmp/measure

Everything is made in --directory, which must not exist, and removed. One line of the table per claim: what was
measured, the number, what it has to be. The exit status is 1 if one is missed.

  large   64 ranks of 50 MB of JSON as .json.gz to .kiln. A round is first some of the ranks one after the other, each
          by `convert --jobs 1` on one core, then all of them by one batch on all cores: its wall time against the sum
          of single-core times over the number of cores. Rounds in which other processes took over a tenth of the cores
          say more about those and are done again, up to --rounds × 4 in all; the ratio is the median of the others.
          Peak memory is the greatest sum of resident sizes of all processes of the batch, looked at every 10 ms, which
          counts shared pages several times.
  small   1,024 ranks of 1 MB of JSON, plain, to .kiln; then the same command again, which skips all of them.
  info    `tracekiln info` on 10,000 files, names of one small .json.gz copied.
  memory  The peak of a worker for one rank of 1, 50 and 400 MB, by format, against the model in
          tools/batch/admission.h.
"""

import argparse
import gzip
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import threading
import time

PAGE = os.sysconf("SC_PAGE_SIZE")


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def resident_bytes(pid):
    """Of a process and all below it."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            own = int(file.read().split()[1]) * PAGE
    except (FileNotFoundError, ProcessLookupError, IndexError):
        own = 0
    return own + sum(resident_bytes(child) for child in children(pid))


def busy_seconds():
    """Of all cores since the start of the machine, and of our own processes that have ended."""
    with open("/proc/stat", encoding="ascii") as file:
        words = [int(word) for word in file.readline().split()[1:]]
    own = os.times()
    ticks = sum(words[:3]) + sum(words[5:8])  # user, nice, system; irq, softirq, stolen
    return ticks / os.sysconf("SC_CLK_TCK"), own.user + own.system + own.children_user + own.children_system


def run(command, core=None):
    """Seconds and peak memory of a command and all its processes."""
    if core is not None:
        command = ["taskset", "-c", str(core), *command]
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    peak = 0
    errors = []
    reader = threading.Thread(target=lambda: errors.append(process.stderr.read()))
    reader.start()
    while process.poll() is None:
        peak = max(peak, resident_bytes(process.pid))
        time.sleep(0.01)
    seconds = time.monotonic() - start
    reader.join()
    if process.returncode != 0:
        raise SystemExit(f"{command} ended with {process.returncode}: {errors[0].decode()}")
    return seconds, peak


def expected_peak(size, is_compressed, formats, threads=1):
    """As ExpectedPeakBytes does."""
    mib = 1 << 20
    text = size * (16 if is_compressed else 1)
    held = [
        min(64 * mib, text // 8) + text // 16 if name == "chrome" else text // 6 for name in formats if name != "kiln"
    ]
    return min((24 + 20 * threads) * mib, 16 * mib + 4 * text) + max(held, default=0)


class Measurement:
    def __init__(self, args):
        self.args = args
        self.rows = []
        self.is_missed = False
        self.cores = len(os.sched_getaffinity(0))

    def path(self, name):
        return os.path.join(self.args.directory, name)

    def row(self, what, value, limit, is_met):
        self.rows.append((what, value, limit))
        self.is_missed = self.is_missed or not is_met
        print(f"| {what} | {value} | {limit} |{'' if is_met else ' MISSED'}", flush=True)

    def generate(self, name, *flags):
        directory = self.path(name)
        subprocess.run([self.args.tracegen, *flags, "-o", directory], check=True, stderr=subprocess.DEVNULL)
        return directory

    def batch(self, run_directory, out, *flags, core=None, to="kiln"):
        return run([self.args.tracekiln, "batch", run_directory, "--to", to, "-o", out, "--quiet", *flags], core)

    def measure_large(self):
        directory = self.generate("large", "--ranks", "64", "--size", "50MB", "--gzip")
        out = self.path("large-out")
        sample = range(0, 64, 64 // self.args.sample)
        ratios, peaks, seconds = [], [], 0
        for _ in range(self.args.rounds * 4):
            start, (busy, own) = time.monotonic(), busy_seconds()
            alone = []
            for rank in sample:
                command = [self.args.tracekiln, "convert", os.path.join(directory, f"rank-{rank}.json.gz")]
                command += ["--to", "kiln", "--jobs", "1", "--quiet", "-o", self.path("alone.kiln")]
                alone.append(run(command, min(os.sched_getaffinity(0)))[0])
            shutil.rmtree(out, ignore_errors=True)
            seconds, peak = self.batch(directory, out, "--memory", self.args.memory)
            ratio = seconds / (statistics.mean(alone) * 64 / self.cores)
            busy_after, own_after = busy_seconds()
            others = (busy_after - busy - own_after + own) / (time.monotonic() - start) / self.cores
            print(f"  {seconds:.2f} s, single-core {statistics.mean(alone):.3f} s a rank, ratio {ratio:.3f}, "
                  f"peak {peak / 1e6:.0f} MB, other processes {others:.0%} of the cores", file=sys.stderr)
            peaks.append(peak)
            if others <= 0.1:
                ratios.append(ratio)
            if len(ratios) == self.args.rounds:
                break
        shutil.rmtree(out)
        if not ratios:
            raise SystemExit("other processes were too busy for a measurement")
        ratio = statistics.median(ratios)
        self.row(f"64 × 50 MB `.json.gz` → `.kiln`: wall ÷ (Σ single-core ÷ {self.cores} cores), "
                 f"median of {len(ratios)} rounds ({min(ratios):.2f} to {max(ratios):.2f})",
                 f"{ratio:.2f} ({seconds:.1f} s in the last)", "≤ 1.15", ratio <= 1.15)
        budget = int(self.args.memory.removesuffix("MB")) * 10**6
        self.row(f"the same: peak of all processes, `--memory {self.args.memory}`", f"{max(peaks) / 1e6:.0f} MB",
                 f"≤ {budget / 1e6:.0f} MB", max(peaks) <= budget)
        shutil.rmtree(directory)

    def measure_small(self):
        directory = self.generate("small", "--ranks", "1024", "--size", "1MB")
        out = self.path("small-out")
        seconds, _ = self.batch(directory, out)
        self.row("1,024 × 1 MB `.json` → `.kiln`", f"{seconds:.1f} s", "< 60 s", seconds < 60)
        again, _ = self.batch(directory, out)
        self.row("the same command again: all skipped", f"{again:.2f} s", "", True)
        verified, _ = self.batch(directory, out, "--verify")
        self.row("and with `--verify`", f"{verified:.2f} s", "", True)
        shutil.rmtree(directory)
        shutil.rmtree(out)

    def measure_info(self):
        one = self.generate("one", "--ranks", "1", "--size", "150KB", "--gzip")
        name = os.path.join(one, os.listdir(one)[0])
        with gzip.open(name) as file:
            content = file.read()
        directory = self.path("files")
        os.mkdir(directory)
        for rank in range(10_000):
            # Each says its own rank, as a real run does.
            text = content.replace(b'"rank": 0', b'"rank": %d' % rank, 1)
            with gzip.open(os.path.join(directory, f"rank-{rank}.json.gz"), "wb", compresslevel=1) as file:
                file.write(text)
        seconds = statistics.median(run([self.args.tracekiln, "info", directory])[0] for _ in range(3))
        self.row(f"`info` on 10,000 `.json.gz` of {len(content) // 1000} kB of JSON each, median of 3",
                 f"{seconds:.2f} s", "< 2 s", seconds < 2)
        shutil.rmtree(directory)
        shutil.rmtree(one)

    def measure_memory(self):
        for size in ("1MB", "50MB", "400MB"):
            directory = self.generate("memory", "--ranks", "1", "--size", size)
            input_bytes = os.path.getsize(os.path.join(directory, "rank-0.json"))
            for to in ("kiln", "chrome", "pstats", "kiln,chrome,pstats"):
                out = self.path("memory-out")
                self.batch(directory, out, "--jobs", "1", core=min(os.sched_getaffinity(0)), to=to)
                with open(os.path.join(out, "manifest.json"), encoding="utf-8") as file:
                    peak = json.load(file)["measured"]["tasks"]["rank-0"]["peak_memory_bytes"]
                expected = expected_peak(input_bytes, False, to.split(","))
                self.row(f"peak of one worker, {size} of JSON → {to}, one thread", f"{peak / 1e6:.0f} MB",
                         f"expected {expected / 1e6:.0f} MB", peak <= expected)
                shutil.rmtree(out)
            shutil.rmtree(directory)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tracekiln", required=True)
    parser.add_argument("--tracegen", required=True)
    parser.add_argument("--directory", required=True)
    parser.add_argument("--parts", default="info,memory,small,large")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sample", type=int, default=8, help="ranks that a round converts one by one")
    parser.add_argument("--memory", default="150MB", help="budget of the large part, in MB")
    args = parser.parse_args()
    os.mkdir(args.directory)
    measurement = Measurement(args)
    print(f"{measurement.cores} cores, {platform.machine()}, load before: {os.getloadavg()[0]:.1f}", file=sys.stderr)
    try:
        for part in args.parts.split(","):
            getattr(measurement, f"measure_{part}")()
    finally:
        shutil.rmtree(args.directory)
    return 1 if measurement.is_missed else 0


if __name__ == "__main__":
    sys.exit(main())
