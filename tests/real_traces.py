"""Where the real traces lie, the programs under test, and a plain reader of Chrome JSON as an independent source."""

import gzip
import json
import os
import subprocess
from decimal import Decimal

# Tests run at the root of the runfiles, which a test may leave.
ROOT = os.getcwd()
TRACEKILN = os.path.join(ROOT, "tools", "tracekiln")
TRACEGEN = os.path.join(ROOT, "tools", "tracegen", "tracegen")

# Files of the data directory that are JSON, but of other programs.
NO_TRACES = {
    "data/traces/hta/execution_trace/benchmark_simple_add_et.json.gz",
    "data/traces/param/linear_et.json.gz",
    "data/traces/tracelens/rocprof/908_results.json.gz",
}


def shared_dir():
    """The directory of real traces and tools, or None."""
    path = os.environ.get("TRACEKILN_SHARED")
    if not path:
        # In the sources: tests/real_traces.py lies in the workspace, whatever link the runfiles are.
        path = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "..", "shared")
    path = os.path.abspath(path)
    return path if os.path.isdir(path) else None


def kineto_traces(shared):
    """Paths of all real Kineto traces, relative to `shared`, smaller files first."""
    found = []
    for top in ("data/traces", "data/torch_cpu"):
        for folder, _, names in os.walk(os.path.join(shared, top)):
            relative = os.path.relpath(folder, shared)
            if "xprof" in relative or (top.endswith("torch_cpu") and "pytorch_profile" not in relative):
                continue
            for name in names:
                path = os.path.join(relative, name)
                if name.endswith((".json", ".json.gz")) and path not in NO_TRACES:
                    found.append(path)
    return sorted(found, key=lambda path: (os.path.getsize(os.path.join(shared, path)), path))


def load(path):
    """The JSON document, its numbers with a point as decimals; bytes that are no UTF-8 become U+FFFD."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return json.loads(data.decode("utf-8", "replace"), strict=False, parse_float=Decimal)


def events_of(document):
    return document if isinstance(document, list) else document["traceEvents"]


def nanos(micros):
    """A time in the file, in whole nanoseconds."""
    value = Decimal(micros) * 1000
    assert value == value.to_integral_value(), micros
    return int(value)


def run_tracekiln(*args):
    """Runs the tool, which must succeed (status 0)."""
    result = subprocess.run([TRACEKILN, *args], capture_output=True, timeout=300, check=False)
    if result.returncode != 0:
        raise AssertionError(f"tracekiln {' '.join(args)}: status {result.returncode}\n{result.stderr.decode()}")
    return result.stdout


def generate(path, version, size="2MB", seed=1):
    subprocess.run([TRACEGEN, "--size", size, "--kineto-version", str(version), "--seed", str(seed), "-o", path],
                   check=True, capture_output=True, timeout=60)


DIALECTS = (2021, 2023, 2024, 2025, 2026)
