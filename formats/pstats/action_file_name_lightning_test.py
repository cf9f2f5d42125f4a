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


def names(actions, stage="fit", filename="run", rank="0"):
    text = "".join(action + "\n" for action in actions)
    run = subprocess.run([MAIN, stage, filename, rank], input=text.encode("utf-8"), stdout=subprocess.PIPE, check=True)
    lines = run.stdout.decode("utf-8").split("\n")
    assert lines.pop() == "" and len(lines) == len(actions)
    return lines


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

    def test_names_of_the_real_run(self):
        shared = os.environ.get("TRACEKILN_SHARED")
        folder = os.path.join(shared, "data/lightning") if shared else None
        if not folder or not os.path.isdir(folder):
            print("SKIPPED: no directory of real profiles; set TRACEKILN_SHARED")
            self.skipTest("no TRACEKILN_SHARED")
        with open(os.path.join(folder, "fit-perf.txt"), encoding="utf-8") as file:
            actions = re.findall(r"^Profile stats for: (.*)$", file.read(), re.M)
        self.assertGreater(len(actions), 60)
        files = [name for name in os.listdir(folder) if re.match(r"fit-perf-.*\.prof$", name)]
        self.assertEqual(sorted(names(actions, "fit", "perf", "")), sorted(files))


if __name__ == "__main__":
    unittest.main()
