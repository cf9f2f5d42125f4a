"""The checked-in run is what the command in the README makes, and the commands of the root README work on it."""

import gzip
import json
import os
import shlex
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
TRACEGEN = os.path.join(ROOT, "tools/tracegen/tracegen")
TRACEKILN = os.path.join(ROOT, "tools/tracekiln")
RUN = os.path.join(HERE, "training_run", "torch_profile")


def unpacked(folder):
    """The text of each file, by name."""
    texts = {}
    for name in sorted(os.listdir(folder)):
        with gzip.open(os.path.join(folder, name)) as file:
            texts[name] = file.read()
    return texts


def quick_start():
    """The commands of the root README that are for this checkout, as lists of words."""
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        return [shlex.split(line, comments=True) for line in file if line.startswith("./tracekiln ")]


class TrainingRunTest(unittest.TestCase):
    def test_command_of_the_readme_makes_the_same_files(self):
        with open(os.path.join(HERE, "README.md"), encoding="utf-8") as file:
            commands = [line for line in file if "//tools/tracegen -- " in line]
        self.assertEqual(len(commands), 1)
        args = shlex.split(commands[0].split(" -- ")[1])
        self.assertEqual(args[-2:], ["-o", "$PWD/examples/training_run/torch_profile"])
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([TRACEGEN, *args[:-1], folder], check=True, stderr=subprocess.DEVNULL)
            want = unpacked(folder)
        have = unpacked(RUN)
        self.assertEqual(sorted(have), ["rank-%d.json.gz" % rank for rank in range(4)])
        self.assertEqual(sorted(have), sorted(want))
        for name in have:
            self.assertTrue(have[name] == want[name], name + " differs: run the command of README.md")

    def test_commands_of_the_quick_start_work(self):
        commands = quick_start()
        names = {command[1] for command in commands}
        self.assertGreaterEqual(names, {"convert", "check", "stats", "info", "batch", "clocks"})
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(HERE, os.path.join(folder, "examples"))
            for command in commands:
                ran = subprocess.run([TRACEKILN, *command[1:]], cwd=folder, capture_output=True, text=True, check=False)
                self.assertEqual(ran.returncode, 0, f"{shlex.join(command)}: {ran.stderr}")
                if command[1] in ("info", "clocks", "stats", "check"):
                    self.assertNotEqual(ran.stdout, "", shlex.join(command))
            out = os.path.join(folder, "run-out")
            for directory, end in (("pstats", ".prof"), ("chrome", ".json.gz"), ("kiln", ".kiln")):
                have = sorted(os.listdir(os.path.join(out, directory)))
                self.assertEqual(have, [f"rank-{rank}{end}" for rank in range(4)])
            with open(os.path.join(out, "manifest.json"), encoding="utf-8") as file:
                manifest = json.load(file)
            self.assertEqual(manifest["summary"], {"done": 4, "salvaged": 0, "failed": 0, "missing": 0})
            for entry in manifest["ranks"]:
                self.assertEqual(entry["report"]["seen"], entry["report"]["imported"] + entry["report"]["merged"])
            with gzip.open(os.path.join(folder, "all-ranks.json.gz")) as file:
                merged = json.load(file)
            pids = {event["pid"] // 10_000 - 1 for event in merged["traceEvents"] if event.get("cat") == "kernel"}
            self.assertEqual(pids, {0, 1, 2, 3})
            self.assertIn("tracekilnMerge", merged)


if __name__ == "__main__":
    unittest.main()
