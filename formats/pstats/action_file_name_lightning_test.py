"""Names of `.prof` files against Lightning's own rule (2.6.1), which is written down here once more."""

import os
import random
import re
import subprocess
import unittest

MAIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "action_file_name_main")

HOOKS = ("setup", "on_fit_start", "on_train_batch_end", "optimizer_step", "on_validation_epoch_end", "teardown")
ACTIONS = [
    "run_training_epoch", "run_training_batch", "save_checkpoint", "[_TrainingEpochLoop].train_dataloader_next",
    "[_EvaluationLoop].val_next", "[Strategy]DDPStrategy.backward", "[LightningDataModule]my-data.prepare_data",
    "ProfilerStep#3", "load training data", "\u8bad\u7ec3",
]
for hook in HOOKS:
    ACTIONS += ["[LightningModule]Net." + hook, "[Callback]TQDMProgressBar." + hook, "[Callback]ModelCheckpoint" + repr({
        "monitor": "val_loss", "mode": "min", "every_n_train_steps": 0, "every_n_epochs": 1, "train_time_interval": None,
    }) + "." + hook, "[Callback]EarlyStopping" + repr({"monitor": "val_loss", "mode": "min"}) + "." + hook]


def lightning(action):
    """The part of the file name that Lightning makes of an action."""
    name = re.sub(r'[\\/:*?"<>|\n\r\t]', "_", action)
    return re.sub(r"_+", "_", name).strip() or "profile"


def run(args, lines):
    """What the program prints for the lines, a line each."""
    text = "".join(line + "\n" for line in lines)
    output = subprocess.run([MAIN, *args], input=text.encode("utf-8"), stdout=subprocess.PIPE, check=True).stdout
    answers = output.decode("utf-8").split("\n")
    assert answers.pop() == "" and len(answers) == len(lines)
    return answers


def names(actions, stage="fit", filename="run", rank="0"):
    return run([stage, filename, rank], actions)


def parts(paths):
    """Stage, filename, rank, action and hash of each file of one directory."""
    return [tuple(line.split("\t")) for line in run(["--parse"], paths)]


def shared(folder):
    root = os.environ.get("TRACEKILN_SHARED")
    path = os.path.join(root, folder) if root else None
    if not path or not os.path.isdir(path):
        print("SKIPPED: no %s; set TRACEKILN_SHARED" % folder)
        raise unittest.SkipTest("no TRACEKILN_SHARED")
    return path


class LightningTest(unittest.TestCase):
    def test_ordinary_actions_have_the_names_that_lightning_gives_them(self):
        self.assertEqual(names(ACTIONS), ["fit-run-0-%s.prof" % lightning(action) for action in ACTIONS])
        self.assertEqual(names(ACTIONS, "validate", "", ""), ["validate-%s.prof" % lightning(action) for action in ACTIONS])

    def test_all_others_have_lightnings_name_and_a_hash(self):
        rng = random.Random(4)
        pieces = ["a", "b", "C", "_", "__", "/", ":", "*", "?", '"', "<", "|", "\\", "\t", " ", "-", "'", "{", "': ", "[x]"]
        actions = sorted({"".join(rng.choices(pieces, k=rng.randrange(8))) for _ in range(20000)})
        got = names(actions)
        kept = 0
        for action, name in zip(actions, got):
            exact = "fit-run-0-%s.prof" % lightning(action)
            if name == exact:
                kept += 1
            else:
                self.assertRegex(name, "^%s~[0-9a-f]{12}[.]prof$" % re.escape(exact[:-5]))
            if lightning(action) == action and "'_ " not in action:
                # No other action has this name; only one that differs in case may have come first.
                self.assertTrue(name == exact or exact.lower() in [n.lower() for n in got[: actions.index(action)]], name)
        self.assertGreater(kept, 300)
        self.assertEqual(len(set(name.lower() for name in got)), len(actions))

    def test_names_are_read_as_they_were_given(self):
        for filename, rank in (("run", "0"), ("my-run", "12"), ("perf", ""), ("", "3"), ("", "")):
            got = parts(names(ACTIONS, "fit", filename, rank))
            self.assertEqual(got, [("fit", filename, rank, action, "") for action in ACTIONS])

    def test_names_of_the_real_run(self):
        folder = shared("data/lightning")
        with open(os.path.join(folder, "fit-perf.txt"), encoding="utf-8") as file:
            actions = re.findall(r"^Profile stats for: (.*)$", file.read(), re.M)
        self.assertGreater(len(actions), 60)
        files = sorted(name for name in os.listdir(folder) if re.match(r"fit-perf-.*\.prof$", name))
        self.assertEqual(sorted(names(actions, "fit", "perf", "")), files)
        self.assertEqual(sorted(parts(files)), sorted(("fit", "perf", "", action, "") for action in actions))

    def test_names_of_the_cases(self):
        got = {}
        for case in ("078-lightning-action-with-slash", "079-lightning-brackets-braces-quotes",
                     "080-lightning-action-name-of-249-bytes", "081-lightning-empty-profiles"):
            folder = shared("cases/%s/input.d" % case)
            paths = sorted(os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names)
            got[case[:3]] = parts(paths)
        state = "[Callback]ModelCheckpoint{'monitor': 'val/f1', 'mode': 'max', 'every_n_epochs': 2}.on_fit_end"
        self.assertEqual(got["078"], [
            ("fit", "perf_logs", "", state, ""),
            ("fit", "perf_logs", "", "[Strategy]SingleDeviceStrategy.on_train_end", ""),
        ])
        self.assertEqual(got["079"], [
            ("fit", "run", "0", "[Callback]EarlyStopping{'monitor': 'val_loss', 'mode': 'min'}.on_fit_end", ""),
            ("fit", "run", "0", "[LightningDataModule]my-data.setup", ""),
            ("fit", "run", "0", "run_training_epoch", ""),
            ("fit", "run", "1", "[Callback]TQDMProgressBar.on_fit_end", ""),
            ("validate", "run", "0", "[Strategy]DDPStrategy.validation_step", ""),
        ])
        long_actions = [action for _, _, _, action, _ in got["080"]]
        self.assertEqual([part[:3] for part in got["080"]], [("fit", "run", "0")] * 2)
        self.assertEqual(len(set(names(long_actions))), 2)
        self.assertLessEqual(max(len(name) for name in names(long_actions, "validate", "a-longer-name", "1000")), 255)
        self.assertEqual(len(set(names(long_actions, "validate", "a-longer-name", "1000"))), 2)
        self.assertEqual(got["081"], [("fit", "run", "", action, "") for action in "abc"])


if __name__ == "__main__":
    unittest.main()
