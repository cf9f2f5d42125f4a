"""Our reader, writer and `tracekiln stats` against Python's marshal and pstats on the same file, in the same run.

    bazel build -c opt //formats/pstats:pstats_dump //tools:tracekiln
    bin="$(bazel info -c opt bazel-bin)"
    python3 formats/pstats/compare_with_python.py --dump "$bin/formats/pstats/pstats_dump" \\
        --tracekiln "$bin/tools/tracekiln" [FILE.prof]

Without FILE a profile of 1 M functions with 2 callers each is made (--functions changes that). Each is run three times,
the best counts. `pstats.Stats` loads the file and sums it up, as every viewer does first. `stats` is two whole
processes, from start to end: `tracekiln stats --limit 20` and `python -m pstats` with the same commands; their tables
must be equal. Either of --dump and --tracekiln may be left out.
"""

import argparse
import json
import marshal
import os
import pstats
import random
import re
import subprocess
import sys
import tempfile
import time


def make(path, function_count):
    rng = random.Random(1)
    keys = [("/usr/lib/python3/site-packages/pkg/module%d.py" % (i // 40), 10 + i % 900, "function_%d" % i) for i in range(function_count)]
    stats = {
        key: (i % 7 + 1, i % 9 + 1, rng.random(), rng.random() * 5,
              {keys[rng.randrange(function_count)]: (i % 9 + 1, i % 7 + 1, rng.random(), rng.random()) for _ in range(2)})
        for i, key in enumerate(keys)
    }
    with open(path, "wb") as file:
        marshal.dump(stats, file)


def best(action, runs=3):
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        result = action()
        times.append(time.perf_counter() - start)
        del result
    return min(times)


def load(path):
    with open(path, "rb") as file:
        return marshal.load(file)


def printed(command, commands=""):
    return subprocess.run(command, input=commands, check=True, capture_output=True, text=True).stdout


def compare_stats(tracekiln, path):
    for name, flags, commands in (
            ("sort, 20 rows", ["--sort", "tottime"], "sort tottime\nstats 20\n"),
            ("strip, sort, 20 callers", ["--strip-dirs", "--sort", "cumulative", "--callers"],
             "strip\nsort cumulative\ncallers 20\n")):
        ours = [tracekiln, "stats", "--quiet", *flags, "--limit", "20", path]
        theirs = [sys.executable, "-m", "pstats", path]
        # What `python -m pstats` prints besides are its prompts.
        text = re.sub(r"^(Welcome.*\n|Goodbye.*\n|\S.*% )+", "", printed(theirs, commands), flags=re.MULTILINE)
        if list(filter(None, text.split("\n"))) != list(filter(None, printed(ours).split("\n"))):
            sys.exit(f"{name}: tracekiln stats and pstats print different texts")
        ours_s, theirs_s = best(lambda: printed(ours)), best(lambda: printed(theirs, commands))
        print(f"stats  ours {ours_s:.3f} s   python -m pstats {theirs_s:.3f} s ({theirs_s / ours_s:.1f} x)   {name}")


def compare_marshal(dump, path):
    ours = [json.loads(printed([dump, "time", path])) for _ in range(3)]
    read = min(run["read_s"] for run in ours)
    write = min(run["write_s"] for run in ours)
    size = os.path.getsize(path)
    marshal_load = best(lambda: load(path))
    pstats_load = best(lambda: pstats.Stats(path))
    stats = load(path)
    marshal_dump = best(lambda: marshal.dumps(stats))
    dumped = len(marshal.dumps(stats))
    print(f"{ours[0]['rows']} functions, {ours[0]['callers']} callers")
    print(f"read   ours {read:.3f} s ({size / 1e6 / read:.0f} MB/s)   marshal.load {marshal_load:.3f} s "
          f"({marshal_load / read:.1f} x)   pstats.Stats {pstats_load:.3f} s ({pstats_load / read:.1f} x)")
    print(f"write  ours {write:.3f} s   marshal.dumps {marshal_dump:.3f} s ({marshal_dump / write:.1f} x)")
    print(f"size   ours {ours[0]['written_bytes']}   marshal.dumps {dumped} ({ours[0]['written_bytes'] / dumped:.3f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dump", help="the binary pstats_dump, built with -c opt")
    parser.add_argument("--tracekiln", help="the binary tracekiln, built with -c opt")
    parser.add_argument("--functions", type=int, default=1_000_000)
    parser.add_argument("file", nargs="?")
    options = parser.parse_args()
    if not options.dump and not options.tracekiln:
        parser.error("give --dump or --tracekiln")
    with tempfile.TemporaryDirectory() as folder:
        path = options.file or os.path.join(folder, "made.prof")
        if options.file is None:
            # In a process of its own, so that this one has no garbage to look after.
            pid = os.fork()
            if pid == 0:
                make(path, options.functions)
                os._exit(0)
            if os.waitpid(pid, 0)[1] != 0:
                sys.exit("could not make the file")
        print(f"{os.path.getsize(path) / 1e6:.1f} MB; Python %d.%d.%d" % sys.version_info[:3])
        if options.tracekiln:
            compare_stats(options.tracekiln, path)
        if options.dump:
            compare_marshal(options.dump, path)


if __name__ == "__main__":
    main()
