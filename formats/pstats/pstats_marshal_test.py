"""The reader and the writer of .prof files against CPython's own marshal and pstats.

Python makes dicts of statistics, marshals them in every version of the format that it knows, and pstats_dump must read
what Python has. What pstats_dump writes must load in Python and be equal.
"""

import cProfile
import fractions
import json
import marshal
import math
import os
import pstats
import random
import subprocess
import tempfile
import unittest

DUMP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pstats_dump")
SEEDS = 40
VERSIONS = range(marshal.version + 1)

NAMES = (
    "", "a", "step", "<lambda>", "<built-in method builtins.len>", "caf\xe9", "\u4e2d\u6587", "\U0001f600", "\udc80", "\ud800\udc00", "a\x00b", "a\nb",
    "x" * 255, "x" * 256, "\xe9" * 300, "</script>", "<!--", "\\x00", "C:\\f.py", '"', "~",
)
INTEGERS = (0, 1, -1, 255, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**40, -(2**40), 2**63 - 1, -(2**63), True)
BEYOND = (2**63, -(2**63) - 1, 2**70, 10**100)
TIMES = (0.0, -0.0, 1e-9, 0.1, 1.5, -0.25, 3, 1e5, 2251799.813685247, 5e-324, 1e-300)
ODD_TIMES = (math.nan, math.inf, -math.inf, 1e300, -1e300, 2**70)
LIMIT = 2**63


def saturated(value):
    return max(-LIMIT, min(LIMIT - 1, value))


def nanos(seconds):
    """Seconds as ns, exactly rounded; half a ns may go either way."""
    if isinstance(seconds, float) and not math.isfinite(seconds):
        return (0, 0)
    exact = fractions.Fraction(seconds) * 10**9
    return (saturated(math.ceil(exact - fractions.Fraction(1, 2))), saturated(math.floor(exact + fractions.Fraction(1, 2))))


def random_stats(rng, hostile):
    """A dict of statistics. Objects are shared at random, as marshal then writes references."""
    integers = INTEGERS + (BEYOND if hostile else ())
    times = TIMES + (ODD_TIMES if hostile else ())
    files = ["".join(rng.choice(NAMES) for _ in range(rng.randrange(3))) for _ in range(3)]
    # In a dict 1 and True, or a pair of equal texts, are one key; lines beyond int64 would be one for the reader.
    lines = (0, 1, 2, 10, 2**31, 2**40, -1)

    def count():
        return rng.choice(integers) if rng.random() < 0.3 else rng.randrange(1000)

    def time():
        return rng.choice(times) if rng.random() < 0.3 else rng.random() * 10.0 ** rng.randrange(-6, 4)

    keys = list({(rng.choice(files), rng.choice(lines), rng.choice(NAMES)): None for _ in range(rng.randrange(1, 40))})
    shared_callers, shared_rows, shared_calls = [], [], []

    def shared(pool, make):
        if pool and rng.random() < 0.2:
            return rng.choice(pool)
        pool.append(make())
        return pool[-1]

    def caller():
        if hostile and rng.random() < 0.1:
            return count()
        items = count(), count(), time(), time()
        return list(items) if hostile and rng.random() < 0.1 else items

    def callers():
        return {rng.choice(keys): shared(shared_calls, caller) for _ in range(rng.randrange(5))}

    def row():
        items = count(), count(), time(), time(), shared(shared_callers, callers)
        return list(items) if hostile and rng.random() < 0.1 else items

    rows = [k for k in keys if rng.random() < 0.9] or keys[:1]
    return {k: shared(shared_rows, row) for k in rows}


def run(*arguments):
    result = subprocess.run([DUMP, *arguments], capture_output=True)
    if result.returncode != 0:
        raise AssertionError(result.stderr.decode("utf-8", "replace"))
    return result.stdout.decode("ascii")


def read(path):
    """What pstats_dump reads, as {key: (is_row, stats, {caller's key: stats})}."""
    functions = [json.loads(line) for line in run("read", path).splitlines()]
    keys = [key_of_json(f) for f in functions]
    return {
        key: (f["is_row"], f["stats"], {keys[c[0]]: c[1:] for c in f["callers"]})
        for key, f in zip(keys, functions)
    }


def key_of_json(f):
    return f["file"], f["line"], f["name"]


def joined(key):
    """A key as JSON can hold it: json.loads makes one character of a pair of surrogates, which Python may have as two."""
    return tuple(
        part.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass") if isinstance(part, str) else part
        for part in key
    )


class Test(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def assert_stats(self, got, want, counts, what):
        self.assertEqual(got[:2], [saturated(int(c)) for c in counts], what)
        for ns, seconds in zip(got[2:], want):
            low, high = nanos(seconds)
            self.assertTrue(low <= ns <= high, (what, ns, seconds))

    def assert_reads(self, path, stats):
        got = read(path)
        wanted = set()
        for key, (cc, nc, tt, ct, callers) in stats.items():
            wanted.add(joined(key))
            is_row, numbers, got_callers = got[joined(key)]
            self.assertTrue(is_row)
            self.assert_stats(numbers, (tt, ct), (cc, nc), key)
            self.assertEqual(list(got_callers), [joined(k) for k in callers])
            for caller, value in callers.items():
                wanted.add(joined(caller))
                nc, cc, tt, ct = value if isinstance(value, (tuple, list)) else (value, value, 0, 0)
                self.assert_stats(got_callers[joined(caller)], (tt, ct), (nc, cc), (key, caller))
        self.assertEqual(set(got), wanted)

    def test_reads_what_python_writes(self):
        for seed in range(SEEDS):
            for hostile in (False, True):
                stats = random_stats(random.Random(seed), hostile)
                for version in VERSIONS:
                    with self.subTest(seed=seed, hostile=hostile, version=version):
                        self.assert_reads(self.write("x.prof", marshal.dumps(stats, version)), stats)

    def test_python_loads_what_is_written(self):
        for seed in range(SEEDS):
            stats = random_stats(random.Random(seed), False)
            source = self.write("x.prof", marshal.dumps(stats))
            before = read(source)
            for mode in ("raw", "references", "plain"):
                with self.subTest(seed=seed, mode=mode):
                    run(mode, source, self.path("y.prof"))
                    with open(self.path("y.prof"), "rb") as file:
                        data = file.read()
                    self.assertEqual(data[0], 0x7B if mode == "plain" else 0xFB)
                    loaded = marshal.loads(data)
                    self.assertEqual(len(loaded), len(before))
                    self.assertEqual(
                        [v[:2] for v in list(loaded.values())[: len(stats)]],
                        [tuple(int(n) for n in v[:2]) for v in stats.values()],
                    )
                    self.assertEqual(list(read(self.path("y.prof")).values())[0][1], before[next(iter(before))][1])
                    for (cc, nc, tt, ct, callers) in loaded.values():
                        self.assertEqual([type(v) for v in (cc, nc, tt, ct, callers)], [int, int, float, float, dict])
                        for caller, value in callers.items():
                            self.assertIn(caller, loaded)
                            self.assertEqual([type(v) for v in value], [int, int, float, float])
                    if mode == "raw":
                        self.assert_equal_in_nanoseconds(loaded, stats)
                    else:
                        for key in loaded:
                            text = (key[0] + key[2]).encode("utf-8")  # no lone surrogate
                            self.assertFalse(any(byte < 0x20 or byte == 0x7F for byte in text), key)
                            self.assertNotIn(b"</script", text.lower())
                            self.assertNotIn(b"<!--", text)

    def assert_equal_in_nanoseconds(self, loaded, stats):
        for key, (cc, nc, tt, ct, callers) in stats.items():
            got = loaded[key]
            self.assertEqual(got[:2], (cc, nc))
            for ours, theirs in zip(got[2:4], (tt, ct)):
                self.assertIn(ours, [ns / 10**9 for ns in nanos(theirs)])  # the nearest double of whole ns
            self.assertEqual(list(got[4]), list(callers))
            for caller, value in callers.items():
                self.assertEqual(got[4][caller][:2], value[:2])
                for ours, theirs in zip(got[4][caller][2:], value[2:]):
                    self.assertIn(ours, [ns / 10**9 for ns in nanos(theirs)])

    def profile_of_real_work(self):
        profiler = cProfile.Profile()
        profiler.enable()
        for i in range(20):
            json.loads(json.dumps({"a": [i, {"b": str(i)}]}, indent=1))
            fractions.Fraction(i, 7) + fractions.Fraction("1/3")
            sorted(random.Random(i).sample(range(100), 10), key=lambda value: -value)
            os.path.join("a", os.path.normpath("b/../c"))
        profiler.disable()
        profiler.dump_stats(self.path("real.prof"))
        return self.path("real.prof")

    def test_files_are_about_as_large_as_pythons(self):
        source = self.profile_of_real_work()
        with open(source, "rb") as file:
            stats = marshal.load(file)
        self.assertGreater(len(stats), 40)
        self.assert_reads(source, stats)
        run("references", source, self.path("ours.prof"))
        run("plain", source, self.path("plain.prof"))
        ours, theirs = os.path.getsize(self.path("ours.prof")), os.path.getsize(source)
        print(f"{len(stats)} functions: {theirs} bytes by cProfile, {ours} by us, "
              f"{os.path.getsize(self.path('plain.prof'))} without references")
        self.assertLess(ours, theirs * 1.1)
        for name in ("ours.prof", "plain.prof"):
            with open(self.path(name), "rb") as file:
                loaded = marshal.load(file)
            self.assertEqual(list(loaded)[: len(stats)], list(stats))
            self.assert_equal_in_nanoseconds(loaded, stats)

    def test_pstats_adds_and_prints_our_files(self):
        source = self.profile_of_real_work()
        run("references", source, self.path("ours.prof"))
        with open(self.path("text"), "w") as text:
            stats = pstats.Stats(self.path("ours.prof"), source, stream=text)
            stats.sort_stats("tottime").print_stats()
            stats.print_callers()
        theirs = pstats.Stats(source)
        self.assertEqual(stats.total_calls, 2 * theirs.total_calls)
        self.assertEqual(stats.prim_calls, 2 * theirs.prim_calls)


if __name__ == "__main__":
    unittest.main()
