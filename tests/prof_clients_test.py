"""The programs people open `.prof` files with (pstats, SnakeViz, tuna, gprof2dot with dot, flameprof, pyprof2calltree)
open what `tracekiln convert --to pstats` writes; `tracekiln check` says of bad files with which of them they fail; and
after `check --repair` none does.

Needs TRACEKILN_VIEWERS_VENV (a virtual environment that .ci/run makes, with those programs), and for all but the
generated run ../shared/tools/clients/prof_clients.py, which drives them.
"""

import json
import marshal
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

import real_traces as rt

SHARED = rt.shared_dir()
VENV = os.environ.get("TRACEKILN_VIEWERS_VENV", "")
PYTHON = os.path.join(VENV, "bin", "python")
DRIVER = os.path.join(SHARED or "", "tools/clients/prof_clients.py")
NEEDS = "import snakeviz, tuna, gprof2dot, flameprof, pyprof2calltree, selenium"


def has_packages():
    return os.path.exists(PYTHON) and subprocess.run([PYTHON, "-c", NEEDS], capture_output=True, check=False).returncode == 0


HAS_CLIENTS = has_packages()
HAS_DRIVER = HAS_CLIENTS and bool(SHARED) and os.path.exists(DRIVER)
HAS_BROWSER = bool(shutil.which("chromium") and shutil.which("chromedriver"))
HAS_DOT = bool(shutil.which("dot"))
SKIP_CLIENTS = ("SKIPPED: no test with SnakeViz, tuna, gprof2dot, flameprof and pyprof2calltree. They need a virtual "
                "environment (TRACEKILN_VIEWERS_VENV), as .ci/run makes it")
SKIP_DRIVER = "SKIPPED: no test of real and of bad profiles with their viewers. They need ../shared (TRACEKILN_SHARED), too"
SKIP_BROWSER = "SKIPPED: no test of the pages of SnakeViz and tuna. They need chromium, chromium-driver and ../shared"

VIEWERS = ("pstats", "snakeviz", "tuna", "gprof2dot", "flameprof", "pyprof2calltree")

# What each program does with a file, to its result. Names are written as UTF-8.
LOADERS = """
import contextlib, io, json, os, pstats, sys, tempfile
from snakeviz.stats import json_stats, table_rows
import flameprof, gprof2dot, tuna.main
from pyprof2calltree import CalltreeConverter
path = sys.argv[1]
stats = pstats.Stats(path, stream=io.StringIO())
stats.sort_stats("cumulative").print_stats().print_callers()
rows = len(stats.stats)
assert rows > 1
fresh = pstats.Stats(path)
assert len(table_rows(fresh)) == rows
nodes = json_stats(fresh)
assert nodes
json.dumps(nodes, allow_nan=False)
page = tuna.main.render(tuna.main.read(path), path)
assert "Possible calls of" in page or "::self" in page
with tempfile.TemporaryDirectory() as folder:
    dot = os.path.join(folder, "x.dot")
    gprof2dot.main(["-f", "pstats", "-n0", "-e0", "-o", dot, path])
    with open(dot, encoding="utf-8") as file:
        assert file.read().count(" [") > rows
    with open(os.path.join(folder, "x.svg"), "w", encoding="utf-8") as svg:
        flameprof.render(pstats.Stats(path).stats, svg)
    with open(os.path.join(folder, "x.svg"), encoding="utf-8") as svg:
        assert svg.read().count('class="func_g"') > 1
out = io.StringIO()
CalltreeConverter(pstats.Stats(path)).output(out)
assert out.getvalue().count("\\nfn=") == rows
print(rows)
"""

OPTIONS = ((), ("gpu=off",), ("gpu=only",), ("frames=python",), ("frames=ops",), ("paths=on",), ("root=off",),
           ("references=off",), ("gpu=off", "root=off"), ("max-depth=5",), ("step=2",))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start_driver(files, *args):
    # Binding was only a look: what snakeviz finds taken, it steps over itself.
    return subprocess.Popen([PYTHON, DRIVER, "--allow-missing", "--port", str(free_port()), *args, *files],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def results(process):
    """By the base name of a file: {client: {"status", "reason", …}}."""
    text, _ = process.communicate(timeout=600)
    return {os.path.basename(path): result for path, result in json.loads(text)["files"].items()}


def failures(result):
    return {client: told["reason"] for client, told in result.items() if told["status"] == "FAIL"}


def failing_viewers(result):
    """The viewers that really fail, from the driver's checks."""
    failed = failures(result)
    # The driver is stricter than the programs in two places: nan is not nan + nan, and nan is no JSON in Python's strict
    # mode, but tuna's page takes it.
    if failed.get("pstats", "").startswith("add() of the file to itself"):
        del failed["pstats"]
    if "JSON compliant" in failed.get("tuna", ""):
        del failed["tuna"]
    # Where its page was tried, that decides.
    if "snakeviz_page" in result:
        failed.pop("snakeviz", None)
    return {client.replace("_page", "") for client in failed} & set(VIEWERS)


def check(path):
    return json.loads(rt.run_tracekiln("check", path, "--format", "json"))


class ProfTest(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.dir)

    def path(self, name):
        return os.path.join(self.dir, name)

    def convert(self, source, name, options=()):
        args = [arg for option in options for arg in ("--option", option)]
        rt.run_tracekiln("convert", source, "--quiet", "--to", "pstats", *args, "-o", self.path(name))
        return self.path(name)

    def assert_opens(self, files, *args):
        """Every client opens every file, and `check` says so."""
        half = (len(files) + 1) // 2
        processes = [start_driver(part, *args) for part in (files[:half], files[half:]) if part]
        found = {}
        for process in processes:
            found.update(results(process))
        self.assertEqual(len(found), len(files))
        for path in files:
            result = found[os.path.basename(path)]
            self.assertEqual(failures(result), {}, path)
            self.assertGreaterEqual(len(result), 1)
            self.assertEqual(check(path)["profile"]["failing_viewers"], [], path)


@unittest.skipUnless(HAS_CLIENTS, SKIP_CLIENTS)
class GeneratedRunTest(ProfTest):
    def assert_loads(self, path):
        """The number of rows."""
        result = subprocess.run([PYTHON, "-c", LOADERS, path], capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual(result.returncode, 0, result.stderr[-2000:])
        self.assertEqual(check(path)["profile"]["failing_viewers"], [])
        return int(result.stdout)

    def test_loaders_of_all_viewers_read_a_training_run(self):
        source = self.path("run.json")
        rt.generate(source, 2025, size="1MB")
        rows = {}
        for options in OPTIONS:
            with self.subTest(options):
                path = self.convert(source, "x.prof", options)
                rows[options] = self.assert_loads(path)
        self.assertGreater(rows[()], rows[("gpu=off",)])
        self.assertGreater(rows[("paths=on",)], rows[()])

    def test_loaders_of_all_viewers_read_each_action_and_thread(self):
        source = self.path("run.json")
        rt.generate(source, 2025, size="1MB")
        for option in ("per=action", "threads=split"):
            folder = self.path(option)
            rt.run_tracekiln("convert", source, "--quiet", "--to", "pstats", "--option", option, "-o", folder)
            files = [name for name in os.listdir(folder) if name.endswith(".prof")]
            self.assertGreater(len(files), 1)
            for name in files:
                with self.subTest(name):
                    self.assert_loads(os.path.join(folder, name))


@unittest.skipUnless(HAS_DRIVER, SKIP_DRIVER)
class RealTracesTest(ProfTest):
    def test_profiles_of_real_traces_open(self):
        files = []
        for number, trace in enumerate(rt.kineto_traces(SHARED)):
            files.append(self.convert(os.path.join(SHARED, trace), f"{number}.prof"))
        self.assertGreater(len(files), 20)
        self.assert_opens(files, "--no-browser", "--time-sum", "off")

    def test_times_of_the_host_add_up(self):
        files = []
        for number, trace in enumerate(rt.kineto_traces(SHARED)):
            files.append(self.convert(os.path.join(SHARED, trace), f"{number}.prof", ("gpu=off",)))
        # Own times of rows against the times of roots; slices that overlap without nesting stand beside each other.
        self.assert_opens(files, "--no-browser", "--only", "marshal", "--time-sum", "loose")

    @unittest.skipUnless(HAS_BROWSER, SKIP_BROWSER)
    def test_pages_show_profiles_of_real_traces(self):
        traces = rt.kineto_traces(SHARED)
        files = []
        for number in range(0, len(traces), max(1, len(traces) // 10)):
            files.append(self.convert(os.path.join(SHARED, traces[number]), f"{number}.prof"))
        found = results(start_driver(files, "--only", "snakeviz_page,tuna_page"))
        for path in files:
            self.assertEqual({told["status"] for told in found[os.path.basename(path)].values()}, {"OK"},
                             found[os.path.basename(path)])


ROOT, A, B = ("r.py", 1, "root"), ("a.py", 2, "a"), ("b.py", 3, "b")
EXEC = ("~", 0, "<built-in method builtins.exec>")


def rows_with(extra):
    """root (250 ms of its own) calls a (500 ms), which calls b (250 ms)."""
    rows = {ROOT: (1, 1, 0.25, 1.0, {}), A: (2, 2, 0.5, 0.75, {ROOT: (2, 2, 0.5, 0.75)}),
            B: (1, 1, 0.25, 0.25, {A: (1, 1, 0.25, 0.25)})}
    rows.update(extra)
    return rows


def named(text):
    return rows_with({("b.py", 4, text): (1, 1, 0.25, 0.25, {A: (1, 1, 0.25, 0.25)})})


def chain(length):
    rows = {}
    for i in range(length):
        cumulative = (length - i) * 0.1
        callers = {("f.py", i, f"f{i - 1}"): (1, 1, 0.1, cumulative)} if i else {}
        rows["f.py", i + 1, f"f{i}"] = (1, 1, 0.1, cumulative, callers)
    return rows


def layers(width, count):
    rows = {ROOT: (1, 1, 0.0, 1.0, {})}
    previous = [ROOT]
    for layer in range(count):
        own = 1.0 / width if layer + 1 == count else 0.0
        current = [("l.py", layer * 100 + i, f"l{layer}_{i}") for i in range(width)]
        n = len(previous)
        for key in current:
            rows[key] = (n, n, own, 1.0 / width, {p: (1, 1, own / n, 1.0 / width / n) for p in previous})
        previous = current
    return rows


def bad_files():
    """Name: rows."""
    nan = float("nan")
    return {
        "good": rows_with({}),
        "empty": {},
        "one_row": {ROOT: (1, 1, 0.1, 0.1, {})},
        "flat": {ROOT: (1, 1, 0.1, 0.1, {}), A: (1, 1, 0.1, 0.1, {})},
        "missing_caller": {A: (2, 2, 0.5, 0.75, {ROOT: (2, 2, 0.5, 0.75)})},
        "counts_only": {ROOT: (1, 1, 0.25, 1.0, {}), A: (2, 2, 0.5, 0.75, {ROOT: 2})},
        "cycle": {A: (1, 1, 0.5, 1.0, {B: (1, 1, 0.5, 1.0)}), B: (1, 1, 0.5, 0.9, {A: (1, 1, 0.5, 0.9)})},
        "exec_cycle": {EXEC: (1, 2, 0.5, 1.0, {A: (1, 1, 0.1, 0.2)}), A: (1, 1, 0.5, 0.9, {EXEC: (1, 1, 0.5, 0.9)})},
        "short": {ROOT: (1, 1, 1e-6, 5e-6, {}), A: (2, 2, 4e-6, 4e-6, {ROOT: (2, 2, 4e-6, 4e-6)})},
        "no_time": {ROOT: (1, 1, 0.0, 0.0, {}), A: (1, 1, 0.0, 0.0, {ROOT: (1, 1, 0.0, 0.0)})},
        "root_without_time": {ROOT: (1, 1, 0.0, 0.0, {}), A: (2, 2, 0.5, 0.75, {ROOT: (2, 2, 0.5, 0.75)})},
        "edge_without_time": rows_with({B: (1, 1, 0.25, 0.25, {A: (1, 1, 0.0, 0.0)})}),
        "negative": rows_with({B: (1, 1, -0.25, -0.25, {A: (1, 1, -0.25, -0.25)})}),
        "negative_root": rows_with({ROOT: (1, 1, -0.25, -1.0, {})}),
        "nan": {ROOT: (1, 1, nan, 1.0, {}), A: (1, 1, 0.9, 0.9, {ROOT: (1, 1, 0.9, 0.9)})},
        "huge_count": rows_with({ROOT: (1, 2**70, 0.25, 1.0, {})}),
        "no_calls": rows_with({("n.py", 5, "n"): (0, 0, 0.0, 0.0, {A: (0, 0, 0.0, 0.0)})}),
        "alone": rows_with({("x.py", 9, "x"): (1, 1, 0.25, 0.25, {})}),
        "nothing_large": {ROOT: (1, 1, 0.0, 1.0, {}),
                          **{("c.py", i, f"c{i}"): (1, 1, 1 / 1500, 1 / 1500, {ROOT: (1, 1, 1 / 1500, 1 / 1500)})
                             for i in range(1500)}},
        "same_text": rows_with({("b.py:3(x)", 1, "y"): (1, 1, 0.25, 0.25, {A: (1, 1, 0.25, 0.25)}),
                                ("b.py", 3, "x):1(y"): (1, 1, 0.25, 0.25, {A: (1, 1, 0.25, 0.25)})}),
        "nul": named("a\0b"),
        "escape": named("a\x1bb"),
        "line_breaks": named("a\nb\r\tc\x7fd\x85e"),
        "not_in_xml": named("a\uffffb"),
        "surrogate": named("a\udc80b"),
        "script_end": named("a</ScripT>b"),
        "comment": named("a<!--b"),
        "comment_and_script": named("a<!--<script>b"),
        "quotes": named("<a&b>\"q\"'\\ \U0001F600 \u2028 ${data} ]]>"),
        "chain_250": chain(250),
        "chain_600": chain(600),
        "chain_1100": chain(1100),
        "layers_4x8": layers(4, 8),
        "layers_8x8": layers(8, 8),
    }


@unittest.skipUnless(HAS_DRIVER, SKIP_DRIVER)
@unittest.skipUnless(HAS_BROWSER and HAS_DOT, SKIP_BROWSER + "; and graphviz")
class BadFilesTest(ProfTest):
    def test_check_names_the_viewers_that_fail_and_repair_helps(self):
        files = []
        for name, rows in bad_files().items():
            files.append(self.path(name + ".prof"))
            with open(files[-1], "wb") as file:
                marshal.dump(rows, file)
        samples = os.path.join(SHARED, "data/samples/generated/pstats")
        files += [os.path.join(samples, name) for name in sorted(os.listdir(samples)) if name.endswith(".prof")]
        self.assertGreater(len(files), 40)
        found = results(start_driver(files, "--timeout", "15", "--time-sum", "off"))
        repaired = []
        failing_count = 0
        for path in files:
            name = os.path.basename(path)
            failing = failing_viewers(found[name])
            failing_count += bool(failing)
            self.assertEqual(set(check(path)["profile"]["failing_viewers"]), failing, (name, failures(found[name])))
            repaired.append(self.path("repaired_" + name))
            rt.run_tracekiln("check", path, "--repair", "-o", repaired[-1], "--quiet")
            self.assertEqual(check(repaired[-1])["profile"]["failing_viewers"], [], name)
        self.assertGreater(failing_count, 25)

        found = results(start_driver(repaired, "--timeout", "15", "--only", ",".join((*VIEWERS, "snakeviz_page", "tuna_page"))))
        for path in repaired:
            self.assertEqual(failures(found[os.path.basename(path)]), {}, path)
            self.assertEqual(len(found[os.path.basename(path)]), 8)

    def test_real_lightning_profiles(self):
        folder = os.path.join(SHARED, "data/lightning")
        files = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".prof")]
        self.assertGreater(len(files), 20)
        found = results(start_driver(files, "--no-browser", "--only", ",".join(VIEWERS)))
        repaired = []
        for number, path in enumerate(files):
            failing = failing_viewers(found[os.path.basename(path)])
            told = check(path)["profile"]
            self.assertEqual(set(told["failing_viewers"]), failing, path)
            root = told["snakeviz_root"]
            self.assertEqual(f"{root['file']}:{root['line']}({root['name']})",
                             found[os.path.basename(path)]["snakeviz"]["detail"]["root"])
            warned = bool(found[os.path.basename(path)]["flameprof"]["detail"]["warning"])
            self.assertEqual("roots_unlike_sum" in {f["code"] for f in told["findings"]}, warned, path)
            repaired.append(self.path(f"{number}.prof"))
            rt.run_tracekiln("check", path, "--repair", "-o", repaired[-1], "--quiet")
        self.assert_opens(repaired, "--no-browser", "--only", ",".join(VIEWERS))


if __name__ == "__main__":
    for is_there, text in ((HAS_CLIENTS, SKIP_CLIENTS), (HAS_DRIVER, SKIP_DRIVER), (HAS_BROWSER, SKIP_BROWSER)):
        if not is_there:
            print(text, file=sys.stderr)
            break
    unittest.main()
