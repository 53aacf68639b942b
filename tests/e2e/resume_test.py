"""What `tune resume` can be asked to do, and that nothing is lost or told twice by it."""
import csv
import os

from cli_support import TROUBLED, Case, main


class ResumeCase(Case):
    def resume(self, *options, directory="results/spec", expect=0):
        return self.tune("resume", directory, "--strict", "--progress", "lines", *options,
                         expect=expect)

    def iterations_in_csv(self, directory, trial):
        with open(self.path(directory, trial, "progress.csv"), encoding="utf-8") as file:
            return [int(row["training_iteration"]) for row in csv.DictReader(file)]

    def assert_rows(self, trial, iterations, directory="results/spec"):
        """Every iteration stands once in both logs, in order."""
        expected = list(range(1, iterations + 1))
        self.assertEqual(self.iterations_in_log(directory, trial), expected)
        self.assertEqual(self.iterations_in_csv(directory, trial), expected)

    def states(self, directory="results/spec"):
        return {trial["trial_id"]: trial["state"] for trial in self.json("ls", directory)}

    def journal(self, directory="results/spec"):
        folder = self.path(directory)
        return "".join(self.read(directory, name) for name in sorted(os.listdir(folder))
                       if name.startswith("journal-"))


class ErroredTrials(ResumeCase):
    """Trial 0 fails at its fifth iteration until somebody mends it; trial 1 ends well."""

    def setUp(self):
        super().setUp()
        self.write("spec.json", {
            "trainable": {"command": TROUBLED}, "metric": "count", "mode": "max",
            "checkpoint_config": {"checkpoint_frequency": 2},
            "param_space": {"trouble": {"grid_search": ["exits_until_mended", "none"]}, "at": 5,
                            "iterations": 6},
        })
        self.tune("run", "spec.json", "--progress", "none", expect=1)
        self.assertEqual(self.states(), {"trial_00000": "ERROR", "trial_00001": "TERMINATED"})

    def mend(self):
        self.write("results/spec/mended", "")

    def trial(self):
        return self.json("ls", "results/spec")[0]

    def test_are_left_alone_unless_asked_for(self):
        self.mend()
        self.resume(expect=1)
        self.assertEqual(self.trial()["state"], "ERROR")
        self.assert_rows("trial_00000", 4)

    def test_go_on_from_their_latest_checkpoints(self):
        self.mend()
        out = self.resume("--errored").out
        self.assertIn("1 failed trial", out)
        trial = self.trial()
        self.assertEqual((trial["state"], trial["attempt"], trial["failures"]),
                         ("TERMINATED", 2, 0))
        last = self.read("results/spec/trial_00000/result.json").splitlines()[-1]
        self.assertIn('"iterations_since_restore":2', last)
        for name in ["trial_00000", "trial_00001"]:
            self.assert_rows(name, 6)

    def test_start_again_from_scratch(self):
        self.mend()
        self.resume("--restart-errored")
        self.assertEqual(self.trial()["state"], "TERMINATED")
        last = self.read("results/spec/trial_00000/result.json").splitlines()[-1]
        self.assertIn('"iterations_since_restore":6', last)
        self.assert_rows("trial_00000", 6)
        kept = [os.path.basename(checkpoint["path"])
                for checkpoint in self.json("checkpoints", "results/spec", "--trial", "0")]
        # The indices count on, and the two from before are gone from the disk too.
        self.assertEqual(kept, ["checkpoint_000003", "checkpoint_000004", "checkpoint_000005"])
        there = os.listdir(self.path("results/spec/trial_00000"))
        self.assertEqual(sorted(name for name in there if "checkpoint" in name), kept)

    def test_that_fail_again_have_failed_again(self):
        self.resume("--errored", expect=1)
        trial = self.trial()
        self.assertEqual((trial["state"], trial["attempt"], trial["failures"]), ("ERROR", 2, 1))
        self.assert_rows("trial_00000", 4)
        self.resume("--restart-errored", expect=1)
        self.assertEqual(self.trial()["attempt"], 3)
        self.assert_rows("trial_00000", 4)
        self.mend()
        self.resume("--errored", "--trial", "0")
        self.assert_rows("trial_00000", 6)

    def test_exclude_each_other_as_options(self):
        self.assertIn("--errored", self.resume("--errored", "--restart-errored", expect=2).err)


class NamedTrials(ResumeCase):
    def setUp(self):
        super().setUp()
        self.write("spec.json", {
            "trainable": {"command": TROUBLED}, "metric": "count", "mode": "max",
            "num_samples": 2, "max_concurrent_trials": 1,
            "checkpoint_config": {"checkpoint_frequency": 2},
            "param_space": {"trouble": {"grid_search": ["exits_until_mended", "interrupts"]},
                            "at": 3, "iterations": 8},
        })
        self.tune("run", "spec.json", "--progress", "none", expect=130)
        self.assertEqual(self.states(), {"trial_00000": "ERROR", "trial_00001": "PENDING"})
        self.write("results/spec/mended", "")

    def test_run_alone_in_this_session(self):
        out = self.resume("--trial", "trial_00000").out
        self.assertEqual(self.states(), {"trial_00000": "TERMINATED", "trial_00001": "PENDING"})
        self.assertIn("tune resume", out)
        self.assert_rows("trial_00000", 8)
        self.resume("--trial", "1")
        self.assertEqual(set(self.states().values()), {"TERMINATED"})
        self.assertEqual(len(self.states()), 2)

    def test_that_do_not_exist_or_cannot_go_on_are_refused_and_nothing_is_touched(self):
        self.resume("--trial", "0")
        before = self.journal()
        for word, sentence in [("7", "there is no trial_00007"), ("x", "--trial must be like 3"),
                               ("-1", "--trial")]:
            self.assertIn(sentence, self.resume("--trial", word, expect=2).err)
        self.assertEqual(self.journal(), before)


if __name__ == "__main__":
    main()
