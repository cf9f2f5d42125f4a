"""Execution traces, PyTorch's and Chakra's: every real one says what Python's json (or its own bytes) say of it; the
acceptance cases about them; and what is written to standard output is JSON lines, whatever the names hold."""

import gzip
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

import real_traces as rt

SHARED = rt.shared_dir()
SKIP = "SKIPPED: no ../shared beside the workspace (TRACEKILN_SHARED): nothing is tested on real execution traces"

FLAT_ATTRIBUTES = ("fw_parent", "seq_id", "scope", "tid", "fw_tid", "rf_id", "op_schema")
IO_KEYS = {"values": ("inputs", "outputs"), "shapes": ("input_shapes", "output_shapes"),
           "types": ("input_types", "output_types")}


def run(*args):
    return subprocess.run([rt.TRACEKILN, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, check=False)


def members(path):
    """(name, bytes) of a file, unpacked; of an archive, all its files."""
    if path.endswith((".tar.gz", ".tgz")):
        with tarfile.open(path) as archive:
            for member in archive.getmembers():
                if member.isfile() and not os.path.basename(member.name).startswith("._"):
                    yield member.name, archive.extractfile(member).read()
        return
    with open(path, "rb") as file:
        data = file.read()
    yield path, gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def files_below(*tops):
    for top in tops:
        for folder, _, names in sorted(os.walk(os.path.join(SHARED, top))):
            for name in sorted(names):
                yield os.path.join(folder, name)


def expected_node(node):
    """A node of PyTorch's JSON as `tracekiln cat` should print it: id, name, dependencies, inputs, outputs, attributes."""
    parent = node.get("ctrl_deps", node.get("parent"))
    deps = parent if isinstance(parent, list) else [] if parent is None else [parent]
    if isinstance(node.get("inputs"), dict):
        sides = (node["inputs"], node["outputs"])
        attributes = {a["name"]: a["value"] for a in node.get("attrs", [])}
    else:
        sides = tuple({key: node[names[i]] for key, names in IO_KEYS.items() if names[i] in node} for i in (0, 1))
        attributes = {key: node[key] for key in FLAT_ATTRIBUTES if key in node}
    return (node["id"], node["name"], deps, sides[0], sides[1], attributes)


@unittest.skipIf(SHARED is None, SKIP)
class RealTraces(unittest.TestCase):
    maxDiff = 3000

    def setUp(self):
        self.top = tempfile.mkdtemp(dir=os.environ["TEST_TMPDIR"])
        self.addCleanup(shutil.rmtree, self.top)

    def put(self, data, name="trace"):
        path = os.path.join(self.top, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def cat(self, path):
        result = run("cat", path)
        self.assertEqual(result.returncode, 0, result.stderr)
        return [json.loads(line) for line in result.stdout.splitlines()]

    def test_pytorch_traces_say_what_json_says(self):
        count = nodes = 0
        for path in files_below("data/chakra", "data/torch_cpu"):
            if "device" in path or "kineto" in path or "pytorch_profile" in path or path.endswith(".et"):
                continue
            for name, data in members(path):
                if b'"schema"' not in data[:200]:
                    continue
                try:
                    document = json.loads(data)
                except ValueError:
                    self.assertIn(b"unescaped_name", run("info", self.put(data)).stdout, name)
                    continue
                with self.subTest(name):
                    printed = self.cat(self.put(data))
                    self.assertEqual(len(printed), len(document["nodes"]))
                    for got, node in zip(printed, document["nodes"]):
                        attributes = {a["name"]: a["value"] for a in got["attributes"]}
                        self.assertEqual((got["id"], got["name"], got["control_deps"], got["inputs"], got["outputs"],
                                          attributes), expected_node(node))
                    count += 1
                    nodes += len(printed)
        self.assertGreaterEqual(count, 20)
        print("%d execution traces with %d nodes say what Python's json says" % (count, nodes))

    def test_chakra_traces_are_written_as_they_were(self):
        count = 0
        for path in files_below("golden/chakra", "data/chakra"):
            if not path.endswith((".et", ".et.gz", "feeder_tests_trace.tar.gz")):
                continue
            for name, data in members(path):
                with self.subTest(name):
                    source = self.put(data, "in.et")
                    out = os.path.join(self.top, "out.et")
                    result = run("convert", source, "--to", "chakra", "-o", out)
                    self.assertEqual(result.returncode, 0, result.stderr)
                    with open(out, "rb") as file:
                        written = file.read()
                    # The feeder's file is of an older protobuf: its dependencies are not packed everywhere.
                    if "feeder_tests" in path:
                        again = run("cat", self.put(written, "again.et"))
                        self.assertEqual(again.stdout, run("cat", source).stdout)
                    else:
                        self.assertEqual(written, data)
                    # And through our own format.
                    kiln = os.path.join(self.top, "x.kiln")
                    self.assertEqual(run("convert", source, "--to", "kiln", "-o", kiln).returncode, 0)
                    self.assertEqual(run("convert", kiln, "--to", "chakra", "-o", out).returncode, 0)
                    with open(out, "rb") as file:
                        self.assertEqual(file.read(), written)
                    count += 1
        self.assertGreaterEqual(count, 60)
        print("%d Chakra traces are written as they were" % count)


@unittest.skipIf(SHARED is None, SKIP)
class Cases(unittest.TestCase):
    maxDiff = 3000

    def path(self, number, name="input.json"):
        directory = os.path.join(SHARED, "cases")
        case = [d for d in os.listdir(directory) if d.startswith("%03d-" % number)]
        self.assertEqual(len(case), 1)
        return os.path.join(directory, case[0], name)

    def check(self, path, rc=0):
        result = run("check", "--format", "json", path)
        self.assertEqual(result.returncode, rc, result.stderr)
        return json.loads(result.stdout)

    def refused(self, path, says):
        """Every command that reads refuses it, in one line and in 128 MiB, and leaves nothing."""
        with tempfile.TemporaryDirectory(dir=os.environ["TEST_TMPDIR"]) as top:
            for command in (["info", path], ["check", path], ["cat", path],
                            ["convert", path, "--to", "kiln", "-o", os.path.join(top, "x.kiln")],
                            ["convert", path, "--to", "chakra", "-o", os.path.join(top, "x.et")]):
                limited = ["bash", "-c", "ulimit -v 1500000; exec \"$@\"", "bash", rt.TRACEKILN, *command]
                result = subprocess.run(limited, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=20, check=False)
                self.assertEqual(result.returncode, 1, result)
                self.assertEqual(result.stderr.count(b"\n"), 1, result.stderr)
                self.assertIn(says.encode(), result.stderr)
                self.assertIn(os.path.basename(path).encode(), result.stderr)
            self.assertEqual(os.listdir(top), [])

    def test_099_the_root_is_its_own_parent(self):
        found = self.check(self.path(99))
        self.assertEqual(found["warnings"], 0)
        graph = found["graph"]
        self.assertEqual((graph["nodes"], graph["roots"], graph["depth"], graph["operators"]), (4, 1, 4, 2))
        self.assertEqual(found["graph_faults"]["cycles"], [])

    def test_100_cycles_are_named(self):
        found = self.check(self.path(100))
        self.assertEqual(found["graph_faults"]["cycles"], [[5, 6], [7]])
        self.assertEqual((found["graph"]["nodes"], found["graph"]["detached"]), (6, 3))
        self.assertIn(b"5 -> 6 -> 5, 7 -> 7", run("check", self.path(100)).stdout)

    def test_101_a_missing_parent_is_reported_once(self):
        found = self.check(self.path(101))
        self.assertEqual(found["graph_faults"]["missing"], [{"id": 2, "needed_by": [3, 4, 5]}])
        self.assertEqual(found["graph"]["nodes"], 4)
        names = [json.loads(line)["name"] for line in run("cat", self.path(101)).stdout.splitlines()]
        self.assertEqual(names[:3], ["aten::mm", "aten::relu", "aten::mm"])

    def test_102_duplicate_ids_are_reported_with_their_names(self):
        found = self.check(self.path(102))
        self.assertEqual(found["graph_faults"]["duplicates"], [{"id": 7, "names": ["aten::conv2d", "aten::bias"]}])
        self.assertEqual(found["graph_faults"]["ambiguous"], [8])
        self.assertEqual(found["graph"]["nodes"], 5)

    def test_107_cut_records(self):
        node, prefix = self.path(107, "input.node.et"), self.path(107, "input.prefix.et")
        self.refused(node, ".et:41: expected a record of 55 bytes, got 12 and the end of the file (2 whole nodes precede)")
        self.refused(prefix, ".et:41: the file ends inside the size of a record (2 whole nodes precede)")
        for path in (node, prefix):
            result = run("check", "--salvage", "--format", "json", path)
            self.assertEqual(result.returncode, 3)
            self.assertEqual(json.loads(result.stdout)["graph"]["nodes"], 2)

    def test_108_empty_and_header_only(self):
        self.refused(self.path(108, "input.empty.et"), "empty")
        found = self.check(self.path(108, "input.header.et"))
        self.assertEqual((found["graph"]["version"], found["graph"]["nodes"]), ("0.0.4", 0))
        self.assertEqual([entry["reason"] for entry in found["report"]["entries"]], ["no_nodes"])

    def test_109_hostile_lengths(self):
        self.refused(self.path(109, "input.length.et"), ".et:23: a record may have")
        self.refused(self.path(109, "input.varint.et"), ".et:23: the size of a record is no varint")
        self.refused(self.path(109, "input.string.et"), ".et:11: malformed field")
        self.refused(self.path(109, "input.wiretype.et"), ".et:11: malformed field")

    def test_110_a_dependency_on_a_node_that_is_not_there(self):
        found = self.check(self.path(110, "input.et"))
        self.assertEqual(found["graph_faults"]["missing"], [{"id": 0, "needed_by": [1, 3]}])
        deps = {n["id"]: n["control_deps"] for n in map(json.loads, run("cat", self.path(110, "input.et")).stdout.splitlines())}
        data = {n["id"]: n["data_deps"] for n in map(json.loads, run("cat", self.path(110, "input.et")).stdout.splitlines())}
        self.assertEqual(len(deps), 3)
        self.assertIn(1, deps[2] + data[2])
        self.assertIn(2, deps[3] + data[3])

    def test_111_attributes_are_read_by_the_type_they_have(self):
        path = self.path(111, "input.et")
        self.assertEqual(self.check(path)["warnings"], 0)
        nodes = [json.loads(line) for line in run("cat", path).stdout.splitlines()]
        values = [{a["name"]: a["value"] for a in node["attributes"]} for node in nodes]
        self.assertEqual([v["comm_size"] for v in values], [1048576, 1048576, 18446744073709551615])
        self.assertEqual([v.get("is_cpu_op") for v in values], [False, 0, None])
        self.assertEqual([node["type"] for node in nodes], ["COMM_COLL"] * 3)

    def test_114_a_name_with_quotes(self):
        path = self.path(114)
        for flags in ([], ["--salvage"]):
            result = run("cat", *flags, path)
            self.assertEqual(result.returncode, 0, result.stderr)
            nodes = [json.loads(line) for line in result.stdout.splitlines()]
            self.assertEqual(len(nodes), 20)
            self.assertEqual([n["name"] for n in nodes if n["id"] == 3], ['load "train" split'])
        entry, = [e for e in self.check(path)["report"]["entries"] if e["reason"] == "unescaped_name"]
        self.assertEqual(entry["count"], 1)
        self.assertTrue(9203 <= entry["first_offsets"][0] <= 9240, entry)
        self.assertEqual(run("info", "--strict", path).returncode, 1)
        with tempfile.TemporaryDirectory(dir=os.environ["TEST_TMPDIR"]) as top:
            out = os.path.join(top, "x.et")
            self.assertEqual(run("convert", path, "--to", "chakra", "-o", out).returncode, 0)
            names = [json.loads(line)["name"] for line in run("cat", out).stdout.splitlines()]
            self.assertIn('load "train" split', names)


class Commands(unittest.TestCase):
    """On data of its own, so that it runs anywhere."""

    def setUp(self):
        self.top = tempfile.mkdtemp(dir=os.environ["TEST_TMPDIR"])
        self.addCleanup(shutil.rmtree, self.top)
        nodes = [{"id": 2, "name": "[pytorch|profiler|execution_trace|thread]", "ctrl_deps": 1},
                 {"id": 3, "name": "aten::mm \U0001f680 </script>", "ctrl_deps": 2},
                 {"id": 1, "name": "[pytorch|profiler|execution_trace|process]", "ctrl_deps": 1}]
        for node in nodes:
            node["inputs"] = {"values": [[4, 5, 0, 1, 4, "cpu"]], "shapes": [[1]], "types": ["Tensor(float)"], "strides": [[1]]}
            node["outputs"] = {"values": [], "shapes": [], "types": [], "strides": []}
            node["attrs"] = [{"name": "rf_id", "type": "uint64", "value": 3}]
        self.et = os.path.join(self.top, "et.json")
        with open(self.et, "w", encoding="utf-8") as file:
            json.dump({"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": nodes, "finish_ts": 2}, file)

    def convert(self, source, to, out):
        path = os.path.join(self.top, out)
        result = run("convert", source, "--to", to, "-o", path)
        return result, path

    def test_graphs_go_through_every_format(self):
        result, chakra = self.convert(self.et, "chakra", "x.et")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"strides", result.stderr)
        result, kiln = self.convert(self.et, "kiln", "x.kiln")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(run("cat", kiln).stdout, run("cat", self.et).stdout)
        _, again = self.convert(kiln, "chakra", "again.et")
        with open(chakra, "rb") as a, open(again, "rb") as b:
            self.assertEqual(a.read(), b.read())
        lines = [json.loads(line) for line in run("cat", "--name", "mm", kiln, self.et).stdout.splitlines()]
        self.assertEqual([(line["input"], line["id"]) for line in lines], [(kiln, 3), (self.et, 3)])

    def test_what_cant_hold_a_graph_says_so_and_writes_nothing(self):
        for to in ("chrome", "pstats"):
            result, path = self.convert(self.et, to, "x.out")
            self.assertEqual(result.returncode, 1)
            self.assertIn(b"holds a graph (operators, dependencies), no events", result.stderr)
            self.assertFalse(os.path.exists(path))
        trace = os.path.join(self.top, "trace.json")
        with open(trace, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 2, "pid": 1, "tid": 1}]}, file)
        result, path = self.convert(trace, "chakra", "x.et")
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"has no graph of operators", result.stderr)
        self.assertFalse(os.path.exists(path))
        batch = run("batch", self.top, "--to", "chakra", "-o", os.path.join(self.top, "out"))
        self.assertEqual(batch.returncode, 2)
        self.assertIn(b"holds graphs of operators only", batch.stderr)


if __name__ == "__main__":
    if SHARED is None:
        print(SKIP)
    unittest.main(argv=sys.argv[:1], verbosity=1)
