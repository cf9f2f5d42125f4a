"""The checked-in run is what the command in the README makes."""

import gzip
import os
import shlex
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TRACEGEN = os.path.join(HERE, "../tools/tracegen/tracegen")


def unpacked(folder):
    """The text of each file, by name."""
    texts = {}
    for name in sorted(os.listdir(folder)):
        with gzip.open(os.path.join(folder, name)) as file:
            texts[name] = file.read()
    return texts


class TrainingRunTest(unittest.TestCase):
    def test_command_of_the_readme_makes_the_same_files(self):
        with open(os.path.join(HERE, "README.md"), encoding="utf-8") as file:
            commands = [line for line in file if "//tools/tracegen -- " in line]
        self.assertEqual(len(commands), 1)
        args = shlex.split(commands[0].split(" -- ")[1])
        self.assertEqual(args[-2:], ["-o", "$PWD/examples/training_run"])
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([TRACEGEN, *args[:-1], folder], check=True, stderr=subprocess.DEVNULL)
            want = unpacked(folder)
        have = unpacked(os.path.join(HERE, "training_run"))
        self.assertEqual(sorted(have), ["rank-%d.json.gz" % rank for rank in range(4)])
        self.assertEqual(sorted(have), sorted(want))
        for name in have:
            self.assertTrue(have[name] == want[name], name + " differs: run the command of README.md")


if __name__ == "__main__":
    unittest.main()
