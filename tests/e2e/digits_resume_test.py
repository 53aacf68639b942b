"""Interrupts and kills the driver in the middle of training, resumes, and compares every number
with an uninterrupted run, as text. Real processes; named by the environment (library.cmake).
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest

ITERATIONS = 60
LIMIT_S = 240  # a driver that hangs must not hang the tests
SPEC = {
    "name": "digits",
    "storage_path": ".",
    "trainable": {"command": [os.environ["DIGITS"]]},
    # Passes 97 % early, and so asks for checkpoints itself.
    "param_space": {"learning_rate": 0.2, "momentum": 0.5, "hidden": 32, "batch_size": 16,
                    "seed": 7},
    "metric": "val_accuracy",
    "mode": "max",
    "stop": {"training_iteration": ITERATIONS},
    "checkpoint_config": {"checkpoint_frequency": 7, "checkpoint_at_end": True},
}
KEYS = ("train_loss", "val_loss", "val_accuracy")


class DigitsResume(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.trial = self.folder / "digits" / "trial_00000"
        (self.folder / "spec.json").write_text(json.dumps(SPEC))

    def tune(self, *arguments):
        done = subprocess.run([os.environ["TUNE"], *arguments], cwd=self.folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def accepted(self):
        """How many results are recorded by now; result.json is written a moment later."""
        journals = (self.folder / "digits").glob("journal-*.jsonl")
        return sum(journal.read_text().count('"e":"result"') for journal in journals)

    def run_and_send(self, number, after):
        """Starts a run and ends it by a signal once it has `after` results; its exit code."""
        driver = subprocess.Popen([os.environ["TUNE"], "run", "spec.json", "--progress", "none"],
                                  cwd=self.folder, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True)
        self.addCleanup(driver.kill)
        deadline = time.monotonic() + LIMIT_S
        while self.accepted() < after:
            self.assertIsNone(driver.poll(), "the driver ended too early")
            self.assertLess(time.monotonic(), deadline)
        driver.send_signal(number)
        driver.communicate(timeout=LIMIT_S)
        return driver.returncode

    def log(self):
        """The metrics of each iteration, as the very text of result.json."""
        found = []
        for line in (self.trial / "result.json").read_text().splitlines():
            numbers = [re.search(rf'"{key}":([^,}}]+)', line).group(1) for key in KEYS]
            found.append([json.loads(line)["training_iteration"], *numbers])
        return found

    def reasons(self):
        """Why each checkpoint was made, by its iteration."""
        listed = json.loads(self.tune("checkpoints", "digits", "--json"))
        return {checkpoint["training_iteration"]: set(checkpoint["triggers"].split(","))
                for checkpoint in listed}

    def uninterrupted(self):
        """The log of the same training in another directory, which nothing disturbs."""
        other = DigitsResume("setUp")
        other.setUp()
        self.addCleanup(other.doCleanups)
        other.tune("run", "spec.json", "--progress", "none")
        return other.log()

    def first_of_second_attempt(self):
        last = json.loads((self.trial / "result.json").read_text().splitlines()[-1])
        return last["training_iteration"] - last["iterations_since_restore"] + 1

    def assert_same_training(self):
        expected = self.uninterrupted()
        self.assertEqual([line[0] for line in expected], list(range(1, ITERATIONS + 1)))
        self.assertEqual(self.log(), expected)
        self.assertGreater(self.first_of_second_attempt(), 1)
        self.tune("checkpoints", "digits", "--verify")

    def test_an_interrupted_training_goes_on_to_the_same_numbers(self):
        self.assertEqual(self.run_and_send(signal.SIGINT, after=20), 130)
        stopped_at = self.log()[-1][0]
        self.assertLess(stopped_at, ITERATIONS)
        reasons = self.reasons()[stopped_at]  # that very iteration was saved, perhaps for two reasons
        self.assertTrue(reasons & {"interrupt", "frequency", "result"}, reasons)
        self.tune("resume", "digits", "--progress", "none")
        self.assert_same_training()
        self.assertEqual(self.first_of_second_attempt(), stopped_at + 1)

    def test_a_training_whose_driver_was_killed_goes_on_to_the_same_numbers(self):
        self.assertEqual(self.run_and_send(signal.SIGKILL, after=20), -signal.SIGKILL)
        self.tune("resume", "digits", "--progress", "none")
        self.assert_same_training()

    def test_each_trigger_makes_a_checkpoint_and_several_at_once_make_one(self):
        self.tune("run", "spec.json", "--progress", "none")
        reasons = self.reasons()
        log = self.log()
        self.assertEqual({i for i, why in reasons.items() if "frequency" in why},
                         set(range(7, ITERATIONS + 1, 7)))
        self.assertEqual({i for i, why in reasons.items() if "at_end" in why}, {ITERATIONS})
        best, asked = 0.97, set()
        for iteration, _, _, accuracy in log:
            if float(accuracy) > best:
                best = float(accuracy)
                asked.add(iteration)
        self.assertGreater(len(asked), 0)
        self.assertEqual({i for i, why in reasons.items() if "result" in why}, asked)
        directories = list(self.trial.glob("checkpoint_*"))
        self.assertEqual(len(directories), len(reasons))


if __name__ == "__main__":
    unittest.main()
