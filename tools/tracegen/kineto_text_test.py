"""The files of tracegen, seen by an independent reader: Python's json, and the layouts of real traces."""

import collections
import decimal
import glob
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

VERSIONS = ("2021", "2023", "2024", "2025", "2026")

# Real traces of about the same writer, and the categories whose whole text, args included, must look like theirs. Of
# other events the text up to the args is compared.
REAL = {
    "2021": ("traces/kineto_tb_plugin/samples/*/*.gz", ("Operator", "Runtime", "Kernel", "Memcpy", "Memset", "async")),
    "2023": (
        "traces/hta/df_index_resolver/*.gz",
        ("cuda_runtime", "kernel", "gpu_memcpy", "gpu_memset", "ac2g", "cpu_instant_event", "user_annotation"),
    ),
    "2024": (
        "traces/hta/ns_resolution_trace/*.gz",
        ("cuda_runtime", "kernel", "gpu_memcpy", "gpu_memset", "ac2g", "fwdbwd", "gpu_user_annotation"),
    ),
    "2025": (
        "traces/hta/nccl_parser_config/*.gz",
        ("cuda_runtime", "kernel", "gpu_memcpy", "gpu_memset", "ac2g", "fwdbwd", "gpu_user_annotation", "user_annotation"),
    ),
    "2026": ("torch_cpu/ddp/pytorch_profile/rank-1.json.gz", ("fwdbwd", "cpu_op", "user_annotation")),
}
# Args that differ by what ran, not by who wrote.
OPTIONAL = re.compile(
    r', "Collective name": .*?"Process Group Ranks": "[^"]*"(?:, "Global rank start": \d+, "Global rank stride": \d+)?'
    r'|,      "graph id": \d+,      "graph node id": \d+'
)
NESTED = r'"(Input Dims|Input type|Input Strides|Concrete Inputs|grid|block)": \[.*?\](?=, "|,? *\n|,      ")'


def binary():
    for folder in (os.getcwd(), os.path.dirname(os.path.abspath(__file__))):
        path = os.path.join(folder, "tools/tracegen/tracegen")
        if os.path.exists(path):
            return path
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "tracegen")


def generate(*flags):
    """The text and the totals that the generator claims."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rank-0.json")
        done = subprocess.run(
            [binary(), "-o", path, "--totals", *flags], check=True, stderr=subprocess.PIPE, universal_newlines=True
        )
        with open(path, encoding="utf-8") as file:
            text = file.read()
    totals = {}
    for line in done.stderr.splitlines()[1:]:
        phase, category, count, dur_ns = line.split("\t")
        totals[phase, category] = (int(count), int(dur_ns))
    return text, totals


def recount(document):
    totals = collections.defaultdict(lambda: (0, 0))
    for event in document["traceEvents"]:
        key = event["ph"], event.get("cat", "")
        dur_ns = int(decimal.Decimal(event.get("dur", 0)) * 1000)
        count, total_ns = totals[key]
        totals[key] = count + 1, total_ns + dur_ns
    return dict(totals)


def skeletons(text, whole):
    """Texts of events with the values taken out, by phase and category."""
    found = collections.defaultdict(set)
    body = text[text.index('"traceEvents"') :]
    for event in re.split(r"(?<=\n  \}),(?=\n)", body)[1:-2]:
        match = re.search(r'"cat": "(\w*)"', event)
        category = match.group(1) if match else "none"
        phase = re.search(r'"ph": "(.)"', event).group(1)
        event = OPTIONAL.sub("", event)
        if category not in whole:
            event = event.split('"args"')[0]
        event = re.sub(NESTED, r'"\1": V', event)
        event = re.sub(r'(?<=": )("(?:[^"\\]|\\.)*"|null|-?[0-9.e+-]+)', "V", event)
        found[phase, category].add(event)
    return found


def shared():
    here = os.path.dirname(os.path.realpath(__file__))
    for folder in (os.environ.get("TRACEKILN_SHARED"), os.path.join(here, "../../../shared")):
        if folder and os.path.isdir(os.path.join(folder, "data/traces")):
            return os.path.join(folder, "data")
    return None


class KinetoTextTest(unittest.TestCase):
    def test_json_holds_what_the_totals_say(self):
        for version in VERSIONS:
            with self.subTest(version):
                text, totals = generate("--kineto-version", version, "--layers", "2", "--slow-rank", "0")
                document = json.loads(text, parse_float=decimal.Decimal)
                self.assertEqual(recount(document), totals)
                self.assertGreater(len(document["traceEvents"]), 3000)

    def test_times_have_three_decimals_or_none(self):
        for version in VERSIONS:
            with self.subTest(version):
                text, _ = generate("--kineto-version", version, "--layers", "1")
                times = re.findall(r'"(?:ts|dur)": ([^,\n]*)', text)
                want = r"\d+" if version < "2024" else r"\d+\.\d{3}"
                self.assertEqual([time for time in times if not re.fullmatch(want, time)], [])

    def test_the_same_moments_in_all_dialects(self):
        starts = {}
        for version in VERSIONS:
            document = json.loads(generate("--kineto-version", version, "--layers", "1")[0], parse_float=decimal.Decimal)
            base_ns = document.get("baseTimeNanoseconds", 0)
            starts[version] = [
                (event["args"]["correlation"], int(event["ts"] * 1000) + base_ns)
                for event in document["traceEvents"]
                if event.get("cat", "").lower() == "kernel"
            ]
        whole = {version: [(id_, ns // 1000) for id_, ns in starts[version]] for version in VERSIONS}
        for version in VERSIONS:
            self.assertEqual(whole[version], whole["2025"], version)
        self.assertEqual(starts["2024"], starts["2025"])
        self.assertEqual(starts["2026"], starts["2025"])

    def test_top_level_names_the_rank(self):
        for version in VERSIONS:
            with self.subTest(version), tempfile.TemporaryDirectory() as folder:
                subprocess.run(
                    [binary(), "-o", folder, "--ranks", "3", "--layers", "1", "--steps", "1", "--kineto-version", version],
                    check=True,
                    stderr=subprocess.DEVNULL,
                )
                for rank in range(3):
                    with open(os.path.join(folder, "rank-%d.json" % rank), encoding="utf-8") as file:
                        document = json.load(file)
                    info = document["distributedInfo"]
                    self.assertEqual((info["backend"], info["rank"], info["world_size"]), ("nccl", rank, 3))
                    self.assertEqual(document["schemaVersion"], 1)
                    self.assertEqual(len(document["deviceProperties"]), 8)
                    if version >= "2024":
                        groups = [(g["pg_desc"], g["ranks"]) for g in info["pg_config"]]
                        pair = [("mesh_cp", [0, 1])] if rank < 2 else []
                        self.assertEqual(groups, [("default_pg", [0, 1, 2]), ("mesh_fsdp", [0, 1, 2])] + pair)

    def test_gzip_holds_the_same_text(self):
        with tempfile.TemporaryDirectory() as folder:
            for flags in ([], ["--gzip"]):
                subprocess.run(
                    [binary(), "-o", folder, "--ranks", "2", "--layers", "1", *flags], check=True, stderr=subprocess.DEVNULL
                )
            self.assertEqual(
                sorted(os.listdir(folder)), ["rank-0.json", "rank-0.json.gz", "rank-1.json", "rank-1.json.gz"]
            )
            for rank in range(2):
                path = os.path.join(folder, "rank-%d.json" % rank)
                with open(path, "rb") as plain, gzip.open(path + ".gz") as packed:
                    self.assertEqual(plain.read(), packed.read())

    def test_bad_command_lines_are_refused(self):
        for flags in (
            [],
            ["-o", "x.json", "--ranks", "2"],
            ["-o", "x.json", "--size", "many"],
            ["-o", "x.json", "--size", "1MB", "--steps", "1"],
            ["-o", "x.json", "--slow-rank", "1"],
            ["-o", "x.json", "--kineto-version", "1999"],
            ["-o", "x.json", "--damage", "all"],
            ["-o", "x.json", "extra"],
        ):
            with self.subTest(flags):
                done = subprocess.run([binary(), *flags], stderr=subprocess.PIPE)
                self.assertEqual(done.returncode, 2)
                self.assertTrue(done.stderr.startswith(b"tracegen: "))
                self.assertFalse(os.path.exists("x.json"))

    def test_layout_is_that_of_real_traces(self):
        data = shared()
        if data is None:
            print("\n*** SKIPPED: no real traces (TRACEKILN_SHARED); the layouts were not compared ***", file=sys.stderr)
            self.skipTest("no real traces")
        for version, (pattern, whole) in REAL.items():
            path = glob.glob(os.path.join(data, pattern))[0]
            with gzip.open(path) as file:
                real = skeletons(file.read().decode("utf-8", "replace"), whole)
            ours = skeletons(generate("--kineto-version", version, "--layers", "2")[0], whole)
            compared = 0
            for key, texts in ours.items():
                if key not in real:
                    continue
                with self.subTest(version=version, key=key):
                    self.assertEqual(sorted(texts - real[key]), [])
                    compared += 1
            self.assertGreaterEqual(compared, len(whole), version)


if __name__ == "__main__":
    unittest.main()
