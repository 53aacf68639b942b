"""What the disk does to an experiment, and what the next driver makes of it."""
import json
import os
import signal

from cli_support import TROUBLED, Case, main


class DamagedCheckpoints(Case):
    def driver_dies_after_three_checkpoints(self):
        self.write("spec.json", {"trainable": {"command": TROUBLED},
                                 "param_space": {"trouble": "kills_driver", "at": 4,
                                                 "iterations": 6,
                                                 "awaits": '"e":"checkpoint","trial":0,"index":3'},
                                 "checkpoint_config": {"checkpoint_frequency": 1}})
        self.tune("run", "spec.json", "--progress", "none", expect=-signal.SIGKILL)

    def flip_a_byte(self, index):
        file = self.path("results/spec/trial_00000", f"checkpoint_{index:06}", "count")
        with open(file, "r+b") as content:
            first = content.read(1)[0]
            content.seek(0)
            content.write(bytes([first ^ 1]))

    def resumed(self):
        """The notices of a resume that ends well, and how far the trial was thrown back."""
        err = self.tune("resume", "results/spec", "--progress", "none").err
        rows = [json.loads(line)
                for line in self.read("results/spec/trial_00000/result.json").splitlines()]
        self.assertEqual([row["training_iteration"] for row in rows], list(range(1, 7)))
        self.tune("checkpoints", "results/spec", "--verify")
        return err, rows[-1]["iterations_since_restore"]

    def test_a_flipped_byte_costs_one_checkpoint_and_is_said(self):
        self.driver_dies_after_three_checkpoints()
        self.flip_a_byte(3)
        self.tune("checkpoints", "results/spec", "--verify", expect=3)
        err, trained_again = self.resumed()
        self.assertIn("checkpoint 3 of trial_00000 cannot be trusted", err)
        self.assertIn("checkpoint 2 of iteration 2 is used instead", err)
        self.assertIn("the file count has changed", err)
        self.assertEqual(trained_again, 4)
        self.assertTrue(os.path.exists(
            self.path("results/spec/trial_00000/checkpoint_000003.corrupt/count")))

    def test_without_any_whole_checkpoint_the_trial_starts_over_and_says_so_loudly(self):
        self.driver_dies_after_three_checkpoints()
        for index in [1, 2, 3]:
            self.flip_a_byte(index)
        err, trained_again = self.resumed()
        self.assertIn("checkpoint 1 of trial_00000 cannot be trusted", err)
        self.assertIn("NO OTHER IS LEFT, it starts from scratch", err)
        self.assertEqual(trained_again, 6)


class Locks(Case):
    def test_the_lock_of_a_killed_driver_is_taken_over_and_said(self):
        self.write("spec.json", {"trainable": {"command": TROUBLED},
                                 "param_space": {"trouble": "kills_driver"}})
        self.tune("run", "spec.json", "--progress", "none", expect=-signal.SIGKILL)
        pid = json.loads(self.read("results/spec/LOCK"))["pid"]
        err = self.tune("resume", "results/spec", "--progress", "none").err
        self.assertIn(f"took over the lock of pid {pid}", err)


if __name__ == "__main__":
    main()
