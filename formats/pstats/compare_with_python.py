"""Our reader and writer against Python's marshal and pstats on the same file, in the same run.

    bazel build -c opt //formats/pstats:pstats_dump
    python3 formats/pstats/compare_with_python.py --dump "$(bazel info -c opt bazel-bin)/formats/pstats/pstats_dump" [FILE.prof]

Without FILE a profile of 1 M functions with 2 callers each is made (--functions changes that). Each is run three times,
the best counts. `pstats.Stats` loads the file and sums it up, as every viewer does first.
"""

import argparse
import json
import marshal
import os
import pstats
import random
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dump", required=True, help="the binary pstats_dump, built with -c opt")
    parser.add_argument("--functions", type=int, default=1_000_000)
    parser.add_argument("file", nargs="?")
    options = parser.parse_args()
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
        ours = [json.loads(subprocess.run([options.dump, "time", path], check=True, capture_output=True).stdout) for _ in range(3)]
        read = min(run["read_s"] for run in ours)
        write = min(run["write_s"] for run in ours)
        size = os.path.getsize(path)
        marshal_load = best(lambda: load(path))
        pstats_load = best(lambda: pstats.Stats(path))
        stats = load(path)
        marshal_dump = best(lambda: marshal.dumps(stats))
        dumped = len(marshal.dumps(stats))
    python = "Python %d.%d.%d" % sys.version_info[:3]
    print(f"{ours[0]['rows']} functions, {ours[0]['callers']} callers, {size / 1e6:.1f} MB; {python}")
    print(f"read   ours {read:.3f} s ({size / 1e6 / read:.0f} MB/s)   marshal.load {marshal_load:.3f} s ({marshal_load / read:.1f} x)   "
          f"pstats.Stats {pstats_load:.3f} s ({pstats_load / read:.1f} x)")
    print(f"write  ours {write:.3f} s   marshal.dumps {marshal_dump:.3f} s ({marshal_dump / write:.1f} x)")
    print(f"size   ours {ours[0]['written_bytes']}   marshal.dumps {dumped} ({ours[0]['written_bytes'] / dumped:.3f})")


if __name__ == "__main__":
    main()
