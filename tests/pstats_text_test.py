"""`tracekiln stats` prints what CPython's pstats prints, byte for byte: for profiles that cProfile makes here, for
random ones, for profiles made of timelines and, where the shared directory is there, for all `.prof` files in it.

Where the two differ on purpose (analysis/profile_table/pstats_text.h), the expected text comes from pstats too, with
that one thing changed: times rounded to whole nanoseconds, names escaped, callers that become one added up.
"""

import contextlib
import cProfile
import fractions
import functools
import io
import itertools
import json
import marshal
import math
import os
import profile
import pstats
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

import real_traces as rt

SHARED = rt.shared_dir()
SKIP = "SKIPPED: no ../shared beside the workspace (TRACEKILN_SHARED): real profiles are not compared"

INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1
ALL_KEYS = tuple(pstats.Stats.sort_arg_dict_default)

# Files of the shared directory of which tracekiln shows something else than pstats, and what: see as_read.
OTHER_NUMBERS = {
    "c_nan.prof": "not a number is 0",
    "c_int_callers.prof": "callers without times are shown like others",
    "089-pstats-negative-and-non-finite-times/input.prof": "not a number is 0",
    "090-pstats-huge-counts/input.prof": "counts end at 2^63",
}


# What is shown: `rows` are restrictions in pstats' form; `show` is "stats", "callers" or "callees", or several of them.
class View:
    def __init__(self, keys=("cumulative",), rows=(), show=("stats",), reverse=False, strip=False):
        self.keys, self.rows, self.show = tuple(keys), tuple(rows), tuple(show)
        self.reverse, self.strip = reverse, strip

    def flags(self):
        flags = ["--sort", ",".join(self.keys) or "none"]
        for row in self.rows:
            flags += ["--filter", row] if isinstance(row, str) else ["--limit", repr(row)]
        flags += ["--" + show for show in self.show if show != "stats"]
        return flags + ["--reverse"] * self.reverse + ["--strip-dirs"] * self.strip

    def text(self, stats):
        """What pstats prints; `stats` is sorted and stripped afterwards."""
        stats.stream = io.StringIO()
        if self.strip:
            stats.strip_dirs()
        if self.keys:
            stats.sort_stats(*self.keys)
        if self.reverse:
            stats.reverse_order()
        for show in self.show:
            getattr(stats, "print_" + show)(*self.rows)
        return stats.stream.getvalue()


SHOWN = (("stats",), ("callers",), ("callees",))
EACH_KEY = [View([key], reverse=reverse) for key in ALL_KEYS for reverse in (False, True)]
SOME = ([View(show=show, strip=strip) for show in SHOWN for strip in (False, True)]
        + [View((), rows=[0.5], show=show) for show in SHOWN]
        + [View(["tottime", "stdname"]), View(["nfl"], show=("callers", "callees"))])


class AddingStats(pstats.Stats):
    """strip_dirs() adds up callers that become one, where pstats keeps the last one's numbers."""

    def strip_dirs(self):
        callers_of = {}
        for function, (*_, callers) in self.stats.items():
            added = callers_of.setdefault(pstats.func_strip_path(function), {})
            for caller, numbers in callers.items():
                key = pstats.func_strip_path(caller)
                added[key] = tuple(map(sum, zip(added[key], numbers))) if key in added else numbers
        super().strip_dirs()
        for function, numbers in self.stats.items():
            self.stats[function] = (*numbers[:4], callers_of[function])
        return self


class EscapingStats(AddingStats):
    """Prints names with control characters and lone surrogates escaped, once it has sorted and selected. To be used
    where pstats.func_std_string is mended afterwards, see expected_text."""

    def get_print_list(self, sel_list):
        _, rows = super().get_print_list(sel_list)
        standard_name = pstats.func_std_string
        pstats.func_std_string = lambda function: escaped(standard_name(function))
        return max((len(pstats.func_std_string(row)) for row in rows), default=0) + 2, rows


def expected_text(stats, view):
    with mock.patch("pstats.func_std_string", pstats.func_std_string):
        return view.text(stats)


def has_odd_names(stats):
    return any(escaped(text) != text for key, row in stats.stats.items() for file, _, name in (key, *row[4])
               for text in (file, name))


def has_colliding_callers(stats):
    """Whether a function has callers that are one without their directories."""
    return any(len(set(map(pstats.func_strip_path, callers))) < len(callers) for *_, callers in stats.stats.values())


def escaped(text):
    return re.sub(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]",
                  lambda m: f"\\x{ord(m[0]):02x}" if ord(m[0]) < 0x100 else f"\\u{ord(m[0]):04x}", text)


def as_read(stats):
    """Changes the numbers to those that tracekiln reads: whole nanoseconds, 64 bits, callers with times."""
    def count(number):
        return max(INT64_MIN, min(INT64_MAX, number))

    def seconds(number):
        if not math.isfinite(number):
            return 0.0
        return count(math.floor(fractions.Fraction(number) * 10**9 + fractions.Fraction(1, 2))) / 10**9

    def caller(numbers):
        if isinstance(numbers, int):
            return (count(numbers), count(numbers), 0.0, 0.0)
        nc, cc, tt, ct = numbers
        return (count(nc), count(cc), seconds(tt), seconds(ct))

    for function, (cc, nc, tt, ct, callers) in stats.stats.items():
        stats.stats[function] = (count(cc), count(nc), seconds(tt), seconds(ct),
                                 {key: caller(numbers) for key, numbers in callers.items()})
    stats.total_calls = count(sum(row[1] for row in stats.stats.values()))
    stats.prim_calls = count(sum(row[0] for row in stats.stats.values()))
    stats.total_tt = functools.reduce(lambda a, b: a + b, (row[2] for row in stats.stats.values()), 0)
    return stats


def ours(view, *paths):
    return rt.run_tracekiln("stats", "--quiet", *view.flags(), *paths)


# --- Random profiles. Names and numbers come from few values, so that every sort key has ties.

FILES = ("/usr/lib/python3.11/a.py", "/opt/b.py", "b.py", "/opt/x/b.py", "/größe/日本.py",
         "<frozen importlib._bootstrap>", "~", "", "/", "dir/", "C:\\p\\q.py", "a:1(b).py", "<string>",
         "with blank.py", "'q'.py", "/opt/\U0001f600.py")
NAMES = ("f", "g", "<lambda>", "<module>", "F", "<built-in method builtins.len>", "<>", "<", "", "é", "日本語",
         "x" * 90, "{braces}", "a b", "100%s", "f(g)", "\u200b", "\u2028", "𝔘", "<method 'x' of 'y' objects>")
ODD_NAMES = ("\n", "tab\there", "\x1b[31mred\x1b[0m", "\x00", "del\x7f", "\x85", "\xa0", "\ud800", "x\udcff",
             "\udfff\ud800", "<\x07>", "\ufffe", "</script")
COUNTS = (0, 1, 2, 3, 7, 10, 1000, 2**31, 2**32 + 1, 2**53 - 1, 2**53 + 1, 2**57)


def quotient(ns):
    """The double nearest to the time, as tracekiln writes it and as a literal has it."""
    return ns / 10**9


def product(ns):
    """As cProfile computes seconds."""
    return ns * 1e-9


def times(rng):
    """Nanoseconds: none, tiny, halves of a thousandth of a second, and of all magnitudes up to 100 years."""
    return rng.choice((0, 0, 1, 9, 499_999, 500_000, 500_001, 1_500_000, 2_500_000, 1_000_000_000, 62_500_000,
                       500_000 * rng.randrange(1, 4000, 2), 500_000 * rng.randrange(1, 2 * 10**9, 2),
                       rng.randrange(10**6), rng.randrange(10**10), rng.randrange(10**15), rng.randrange(3 * 10**18)))


def plain_times(rng):
    """Nanoseconds, none of which (nor any of their quotients) is within a rounding error of half a thousandth."""
    return rng.randrange(10**9) * 1000 + 7


def make_rows(rng, size, seconds, names=NAMES, draw=times):
    keys = []
    while len(keys) < size:
        line = rng.choice((0, 0, 1, 2, 30, 4000, 2**31 - 1, 2**40, -1))
        keys.append((rng.choice(FILES), line, rng.choice(names)))
        keys = list(dict.fromkeys(keys))

    def numbers():
        return (rng.choice(COUNTS[:7] if rng.random() < 0.8 else COUNTS), rng.choice(COUNTS[:7]),
                seconds(draw(rng)), seconds(draw(rng)))

    # The last ones are only callers.
    rows = max(1, size * 9 // 10)
    return {key: (*numbers(), {rng.choice(keys): numbers() for _ in range(rng.choice((0, 0, 1, 2, 5)))})
            for key in keys[:rows]}


def random_view(rng):
    keys = () if rng.random() < 0.1 else rng.choices(ALL_KEYS, k=rng.choice((1, 1, 2, 3)))
    rows = [rng.choice((0, 1, 5, 10**6, 0.0, 0.25, 0.3, 0.999, 1.0, 1e-05, r"a\.py", "^<", r"\(f\)$", "[a-f]:", "|",
                        "b'", "\"'", "größe", "(?i)BUILT", r"^\S+:\d+\(", "x{80,}", "no such name"))
            for _ in range(rng.choice((0, 0, 1, 2, 3)))]
    show = rng.choice((*SHOWN, *SHOWN, ("callers", "callees")))
    return View(keys, rows, show, rng.random() < 0.3)


# --- Programs for cProfile.

def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def is_even(n):
    return n == 0 or is_odd(n - 1)


def is_odd(n):
    return n != 0 and is_even(n - 1)


def numbers_up_to(n):
    yield from (i for i in range(n))


def deep(n):
    return 0 if n == 0 else 1 + deep(n - 1)


def raises():
    with contextlib.suppress(KeyError):
        {}.pop("no such key")


def program():
    fibonacci(12)
    is_even(40)
    sum(numbers_up_to(50))
    sorted([3, 1, 2], key=lambda x: -x)
    for _ in range(10):
        raises()
        json.loads(json.dumps({"a": [1, 2.5, None], "ü": "x"}))
        re.sub(r"[a-c]+(\d)", lambda m: m[1], "abc1 " * 20)
    exec(compile("def made(): return [len(str(i)) for i in range(9)]\nmade()", "<made>", "exec"), {})
    time.sleep(0.002)


# Exits with 0 if pstats loads and prints the file. Of some it would take all the memory.
LOADS = """
import io, pstats, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 31, 1 << 31))
pstats.Stats(sys.argv[1], stream=io.StringIO()).print_stats().print_callers().print_callees()
"""


class PstatsTextTest(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.dir)
        self.maxDiff = 4000

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, rows):
        with open(self.path(name), "wb") as file:
            marshal.dump(rows, file)
        # A day of one digit, and fractions of a second.
        os.utime(self.path(name), (1e9, 1e9 - 86400 * 7 + 0.75))
        return self.path(name)

    def record(self, name, run, make=cProfile.Profile):
        profiler = make()
        profiler.runcall(run)
        profiler.dump_stats(self.path(name))
        return self.path(name)

    def assert_text(self, expected, view, *paths):
        found = ours(view, *paths)
        if found != expected.encode():
            self.assertEqual(found.decode(errors="backslashreplace"), expected, view.flags())
            self.fail(f"other bytes: {view.flags()}")

    def assert_same(self, path, views, numbers=lambda stats: stats):
        """`numbers` changes those of pstats first. Names and sums are those of pstats itself wherever they can be."""
        plain = pstats.Stats(path)
        is_odd, collides = has_odd_names(plain), has_colliding_callers(plain)
        for view in views:
            make = EscapingStats if is_odd else AddingStats if view.strip and collides else pstats.Stats
            self.assert_text(expected_text(numbers(make(path)), view), view, path)

    def test_programs_that_cprofile_recorded(self):
        path = self.record("program.prof", program)
        rows = pstats.Stats(path).stats
        self.assertGreater(len(rows), 30)
        self.assertTrue(any(row[0] != row[1] for row in rows.values()), "nothing is recursive")
        self.assert_same(path, EACH_KEY + SOME)

    def test_deep_recursion(self):
        self.addCleanup(sys.setrecursionlimit, sys.getrecursionlimit())
        sys.setrecursionlimit(5000)
        path = self.record("deep.prof", lambda: deep(3000))
        self.assertIn("3001/1", ours(View(), path).decode())
        self.assert_same(path, EACH_KEY[:2] + SOME)

    def test_timers_of_integers(self):
        # Half thousandths: cProfile multiplies by the unit, so its doubles are not always the nearest ones.
        for unit in (0.0005, 1e-6, 1e-3):
            clock = itertools.count(0, 500 if unit == 1e-6 else 1)
            path = self.record("clock.prof", program, lambda: cProfile.Profile(lambda: next(clock), unit))
            self.assert_same(path, EACH_KEY[:4] + SOME[:3], as_read)

    def test_abbreviated_sort_keys_are_those_of_pstats(self):
        path = self.write("a.prof", make_rows(random.Random(1), 40, quotient))
        known = pstats.Stats(path).get_sort_arg_defs()
        self.assertGreater(len(known), 40)
        for key in known:
            self.assert_same(path, [View([key])])
        prefixes = {key[:n] for key in ALL_KEYS for n in range(1, len(key))} - set(known)
        self.assertIn("cum", prefixes)
        for key in prefixes:
            result = subprocess.run([rt.TRACEKILN, "stats", "--sort", key, path], capture_output=True, timeout=60,
                                    check=False)
            self.assertEqual((result.returncode, result.stdout), (2, b""), key)

    def test_every_key_with_ties(self):
        for seed in range(3):
            path = self.write("ties.prof", make_rows(random.Random(seed), 300, quotient))
            self.assert_same(path, EACH_KEY)

    def test_random_profiles_and_options(self):
        for seed in range(60):
            with self.subTest(seed=seed):
                rng = random.Random(seed)
                path = self.write("random.prof", make_rows(rng, rng.choice((1, 2, 10, 200)), quotient))
                self.assert_same(path, [random_view(rng) for _ in range(6)])

    def test_half_thousandths(self):
        halves = [500_000 * n for n in range(1, 4000, 2)]
        rows = {("~", 0, f"f{i:04}"): (1 + i % 3, 1 + i % 4, quotient(ns), quotient(ns + 10**9), {
            ("~", 0, "f0000"): (1, 1, quotient(2 * 10**9 + ns), quotient(10**12 + ns))}) for i, ns in enumerate(halves)}
        self.assert_same(self.write("halves.prof", rows), SOME)

    def test_times_between_those_of_nanoseconds_are_rounded_to_them(self):
        """That is all that differs, and only in the last digit."""
        differing = 0
        for seed in range(40):
            rng = random.Random(seed)
            made = rng.choice((product, lambda ns: ns * 1e-9 * (1 + 2e-16), lambda ns: ns / 1e9 + 3e-10))
            path = self.write("between.prof", make_rows(rng, 100, made))
            self.assert_same(path, [random_view(rng) for _ in range(3)] + SOME[:3], as_read)
            # Against pstats as it is, in the order of the file.
            for view in (View(()), View((), show=("callers",))):
                found = ours(view, path).decode().split("\n")
                expected = view.text(pstats.Stats(path)).split("\n")
                self.assertEqual(len(found), len(expected))
                for mine, theirs in zip(found, expected):
                    if mine == theirs:
                        continue
                    differing += 1
                    self.assertEqual(re.sub(r"\d+\.\d{3}(?= )", "#", mine), re.sub(r"\d+\.\d{3}(?= )", "#", theirs))
                    for a, b in zip(re.findall(r"\d+\.\d{3}(?= )", mine), re.findall(r"\d+\.\d{3}(?= )", theirs)):
                        self.assertLessEqual(abs(int(a.replace(".", "")) - int(b.replace(".", ""))), 1, (mine, theirs))
        # Otherwise this limit is none any more, and the header and this test should say so.
        self.assertGreater(differing, 0)

    def test_names_that_harm_are_escaped(self):
        for seed in range(20):
            with self.subTest(seed=seed):
                rng = random.Random(seed)
                path = self.write("odd.prof", make_rows(rng, 60, quotient, NAMES + ODD_NAMES))
                self.assertTrue(has_odd_names(pstats.Stats(path)))
                keys = ("stdname", "name", "calls")
                self.assert_same(path, [View([key], show=show) for key in keys for show in SHOWN])

    def test_damaged_numbers(self):
        rows = {("a.py", 1, "f"): (-1, -1, 0.0, 0.0, {}), ("a.py", 2, "f"): (-3, 5, -1.5, -0.0005, {}),
                ("a.py", 3, "f"): (1, -2, 0.25, -1e-3, {("a.py", 1, "f"): (-1, -1, -0.25, -2.0)})}
        path = self.write("negative.prof", rows)
        self.assert_same(path, EACH_KEY + SOME)
        rows["a.py", 4, "f"] = (2, 2, math.nan, math.inf, {})
        rows["a.py", 5, "f"] = (2**70, -2**70, -0.0, 1e300, {})
        self.assert_same(self.write("damaged.prof", rows), EACH_KEY + SOME, as_read)

    def test_files_without_their_directories(self):
        collided = 0
        for seed in range(20):
            path = self.write("strip.prof", make_rows(random.Random(seed), 80, quotient, draw=plain_times))
            collided += has_colliding_callers(pstats.Stats(path))
            keys = ("calls", "stdname")
            self.assert_same(path, [View([key], show=show, strip=True) for key in keys for show in SHOWN])
        self.assertTrue(0 < collided < 20, collided)

    def test_the_total_is_added_up_before_directories_are_stripped(self):
        times_s = (0.465, 6.387, 3.5455)
        first, second, third = times_s
        self.assertNotEqual(f"{first + second + third:.3f}", f"{first + third + second:.3f}")
        path = self.write("total.prof", {(file, 1, "f"): (1, 1, seconds, seconds, {}) for file, seconds in
                                         zip(("/x/a.py", "b.py", "/y/a.py"), times_s)})
        self.assert_same(path, SOME)

    def test_several_files_are_added_up(self):
        for seed in range(20):
            with self.subTest(seed=seed):
                rng = random.Random(seed)
                # Times of which sums have no rounding error, or none that shows.
                draw = rng.choice((plain_times, lambda r: r.randrange(100_000) * 1_953_125))
                paths = [self.write(f"{i}.prof", make_rows(rng, 60, quotient, draw=draw)) for i in range(3)]
                for view in [random_view(rng) for _ in range(4)]:
                    self.assert_text(view.text(pstats.Stats(*paths[:2])), view, *paths[:2])
                    self.assert_text(view.text(pstats.Stats(paths[0]).add(paths[1]).add(paths[2])), view, *paths)
                    self.assert_text(view.text(pstats.Stats(paths[0], paths[0])), view, paths[0], paths[0])

    def test_callers_that_are_only_counts(self):
        path = self.record("pure.prof", lambda: fibonacci(8), profile.Profile)
        self.assertTrue(any(isinstance(n, int) for row in pstats.Stats(path).stats.values() for n in row[4].values()))
        self.assert_same(path, EACH_KEY + SOME, as_read)

    def test_keys_that_are_twice_in_a_file_are_added_up(self):
        rows = [(("a.py", 1, "f"), (1, 2, 0.25, 0.5, {})),
                (("b.py", 1, "g"), (1, 1, 1.0, 1.0, {("a.py", 1, "f"): (1, 1, 1.0, 1.0)})),
                (("a.py", 1, "f"), (2, 2, 2.0, 4.0, {("b.py", 1, "g"): (2, 2, 2.0, 4.0)}))]
        path = self.write("twice.prof", {})
        with open(path, "wb") as file:
            file.write(b"{" + b"".join(marshal.dumps(part, 2) for row in rows for part in row) + b"0")
        self.assertEqual(pstats.Stats(path).stats[rows[0][0]], rows[2][1])
        sums = {**dict(rows), rows[0][0]: (3, 4, 2.25, 4.5, rows[2][1][4])}

        def summed(stats):
            stats.stats, stats.total_calls, stats.prim_calls, stats.total_tt = sums, 5, 4, 3.25
            return stats

        self.assert_same(path, SOME, summed)

    def test_top_level_functions_of_jprofile(self):
        profiler = ("jprofile", 0, "profiler")
        path = self.write("top.prof", {profiler: (1, 1, 0.5, 2.0, {}),
                                       ("a.py", 1, "top"): (1, 1, 1.5, 1.5, {profiler: (1, 1, 1.5, 1.5)}),
                                       ("b.py", 1, "f"): (1, 1, 0.0, 0.0, {("a.py", 1, "top"): (1, 1, 0.0, 0.0)})})
        self.assertIn("\n         top\n", ours(View(), path).decode())
        self.assert_same(path, SOME)

    def test_profiles_of_timelines(self):
        path = self.path("timeline.json")
        rt.generate(path, 2025, size="1MB")
        rt.run_tracekiln("convert", path, "--quiet", "--to", "pstats", "-o", self.path("timeline.prof"))
        self.assert_same(self.path("timeline.prof"), EACH_KEY + SOME)

    @unittest.skipUnless(SHARED, SKIP)
    def test_profiles_of_real_timelines(self):
        for trace in rt.kineto_traces(SHARED):
            with self.subTest(trace):
                path = self.path("real.prof")
                rt.run_tracekiln("convert", os.path.join(SHARED, trace), "--quiet", "--to", "pstats", "-o", path)
                self.assert_same(path, SOME[:3])

    @unittest.skipUnless(SHARED, SKIP)
    def test_all_profiles_of_lightning(self):
        folder = os.path.join(SHARED, "data", "lightning")
        paths = [os.path.join(top, name) for top, _, names in os.walk(folder) for name in names
                 if name.endswith(".prof")]
        self.assertGreaterEqual(len(paths), 68)
        for path in sorted(paths):
            with self.subTest(path):
                self.assert_same(path, SOME)
        self.assert_same(max(paths, key=os.path.getsize), EACH_KEY)

    @unittest.skipUnless(SHARED, SKIP)
    def test_all_other_profiles(self):
        same = different = 0
        for top, _, names in os.walk(SHARED):
            if os.path.join("data", "lightning") in top:
                continue
            for name in names:
                path = os.path.join(top, name)
                if not name.endswith(".prof"):
                    continue
                # Some of them end a Python that loads them.
                loading = subprocess.run([sys.executable, "-c", LOADS, path], capture_output=True, timeout=60,
                                         check=False)
                if loading.returncode != 0:
                    continue
                other = [why for file, why in OTHER_NUMBERS.items() if path.endswith("/" + file)]
                with self.subTest(path):
                    self.assert_same(path, EACH_KEY[:8] + SOME, as_read if other else lambda stats: stats)
                    same += not other
                    different += bool(other)
        print(f"{same} other profiles are shown as pstats shows them, {different} nearly so")
        self.assertGreater(same, 20)


if __name__ == "__main__":
    if not SHARED:
        print(SKIP, file=sys.stderr)
    unittest.main()
