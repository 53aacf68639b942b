"""What a trainable names, hands over or leaves behind: nothing of the user's is moved or deleted."""
import json
import os
import shutil
import subprocess
import sys

from cli_support import LIMIT_S, TUNE, Case, main

TRAINABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "handing_trainable.py")


class Handover(Case):
    def spec(self, kind, **fields):
        self.write("spec.json", {
            "name": "exp", "storage_path": "results",
            "trainable": {"command": [sys.executable, TRAINABLE, kind]},
            "param_space": {"x": {"uniform": [0, 1]}},
            "metric": "loss", "mode": "min", "num_samples": 1, **fields})

    def run_kind(self, kind, expect=0, environment=None, **fields):
        self.spec(kind, **fields)
        return self.tune("run", "spec.json", "--progress", "lines", expect=expect,
                         **(environment or {}))

    def checkpoints(self):
        found = self.json("checkpoints", "results/exp", "--verify")
        self.assertEqual({c["verified"] for c in found}, {"ok"} if found else set())
        return [c["index"] for c in found]

    def mine(self, name):
        os.makedirs(self.path(name))
        self.write(f"{name}/train.bin", "20 GB")
        return name

    def test_a_relative_name_is_the_trials_and_not_the_drivers(self):
        self.mine("ckpt")
        self.run_kind("relative")
        self.assertEqual(self.read("ckpt/train.bin"), "20 GB")
        self.assertEqual(self.checkpoints(), [1, 2, 3])
        self.assertEqual([self.read(f"results/exp/trial_00000/checkpoint_00000{n}/state")
                          for n in (1, 2, 3)], ["1", "2", "3"])

    def test_what_is_not_the_name_of_a_directory_of_the_trial_is_refused_and_left_alone(self):
        run = self.run_kind("elsewhere", environment={"ELSEWHERE": self.path("model")})
        for name in (self.path("model"), "../work/ckpt", ".."):
            self.assertIn(f"training goes on: '{name}' cannot be handed over: a checkpoint is reported "
                          "by the name of a directory in the trial's working directory", run.out)
        self.assertEqual(self.checkpoints(), [])
        self.assertEqual(self.read("model/state"), "3")

    def test_links_that_stay_in_a_handed_over_directory_are_kept(self):
        self.run_kind("linked")
        self.assertEqual(self.checkpoints(), [1, 2, 3])
        kept = self.path("results/exp/trial_00000/checkpoint_000002")
        self.assertEqual(self.read(kept, "state"), "2")
        self.assertEqual(os.readlink(kept + "/last"), "state")
        self.assertEqual(os.readlink(kept + "/best"), "state")

    def test_a_directory_with_a_link_out_of_it_is_refused_and_left_where_it_was(self):
        run = self.run_kind("leaks", environment={"ITERATIONS": "1"})
        self.assertRegex(run.out, "checkpoint 1 of trial_00000 could not be saved, training goes on: "
                                  "not a checkpoint: the link .*/work/ckpt/link leads to "
                                  "/etc/hostname, out of the directory")
        self.assertEqual(self.read("results/exp/trial_00000/work/ckpt/state"), "precious")
        self.assertEqual(self.checkpoints(), [])

    def test_a_committed_checkpoint_that_is_reported_again_stays_as_it_is(self):
        run = self.run_kind("again", failure_config={"max_failures": 3})
        self.assertIn("/checkpoint_000001' cannot be handed over", run.out)
        self.assertIn("started, attempt 3, from iteration 1", run.out)
        self.assertNotIn("cannot be trusted", run.out)
        self.assertEqual(self.checkpoints(), [1])
        self.assertEqual(self.read("results/exp/trial_00000/checkpoint_000001/state"), "precious")

    def test_an_exploit_discards_nothing_of_the_users(self):
        self.mine("data")
        self.run_kind(
            "exploited", environment={"ITERATIONS": "8"}, num_samples=4, resources={"cpu": 4},
            resources_per_trial={"cpu": 1},
            scheduler={"type": "pbt", "time_attr": "training_iteration",
                       "perturbation_interval": 2,
                       "hyperparam_mutations": {"x": {"uniform": [0, 1]}}})
        self.assertIn('"e":"result"', self.journal())
        self.assertIn('"exploit"', self.journal())
        self.assertEqual(self.read("data/train.bin"), "20 GB")
        self.checkpoints()

    def journal(self):
        return "".join(self.read("results/exp", name) for name in os.listdir(
            self.path("results/exp")) if name.startswith("journal-"))

    def test_a_trainable_that_uses_the_drivers_names_spoils_nothing(self):
        self.run_kind("same_names", environment={"ITERATIONS": "6"},
                      checkpoint_config={"checkpoint_at_end": True})
        self.assertEqual(self.iterations_in_log("results/exp", "trial_00000"), list(range(1, 7)))
        self.assertEqual(self.checkpoints(), [1])
        self.assertEqual(self.read("results/exp/trial_00000/work/result.json"), "my own\n")
        self.tune("resume", "results/exp", "--progress", "none")
        self.assertTrue(os.path.isdir(self.path("results/exp/trial_00000/work/checkpoint_000001")))

    def test_a_trial_that_an_older_driver_has_started_goes_on_where_it_was(self):
        self.run_kind("relative", environment={"ITERATIONS": "9"}, stop={"training_iteration": 2})
        os.rmdir(self.path("results/exp/trial_00000/work"))
        self.tune("resume", "results/exp", "--stop", '{"training_iteration": 4}', "--finished",
                  "--progress", "none", ITERATIONS="9")
        self.assertEqual(self.checkpoints(), [1, 2, 3, 4])
        self.assertFalse(os.path.exists(self.path("results/exp/trial_00000/work")))

    def test_saves_of_one_trial_are_committed_in_their_order(self):
        self.run_kind("uneven", environment={"ITERATIONS": "4"},
                      checkpoint_config={"checkpoint_frequency": 1})
        saved = [event["index"] for event in self.lines("events", "results/exp")
                 if event["e"] == "checkpoint"]
        self.assertEqual(saved, [1, 2, 3, 4])
        self.assertEqual(self.checkpoints(), [1, 2, 3, 4])

    def test_read_only_directories_are_removed_all_the_same(self):
        # Permissions mean nothing to root: then it is somebody else.
        somebody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        program = TUNE
        self.spec("read_only", checkpoint_config={
            "checkpoint_frequency": 1, "num_to_keep": 2,
            "checkpoint_score_attribute": "training_iteration"})
        if somebody:
            python = shutil.which("python3", path="/usr/bin:/bin")
            if python is None:
                self.skipTest("root has a Python that nobody else may run")
            # Nor what lies in root's home.
            program = shutil.copy(TUNE, self.path("tune"))
            shutil.copy(TRAINABLE, self.path("trainable.py"))
            spec = json.loads(self.read("spec.json"))
            spec["trainable"]["command"][:2] = [python, self.path("trainable.py")]
            self.write("spec.json", spec)
            os.chown(self.dir, 65534, 65534)
            os.chmod(self.path("spec.json"), 0o644)
        for words in (["run", "spec.json"], ["resume", "results/exp"]):
            done = subprocess.run([program, *words, "--progress", "lines"], cwd=self.dir,
                                  capture_output=True, timeout=LIMIT_S, check=False,
                                  env={**os.environ, "ITERATIONS": "6", "HOME": self.dir},
                                  **somebody)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertNotIn(b"cannot remove", done.stdout + done.stderr)
        self.assertEqual(sorted(name for name in os.listdir(self.path("results/exp/trial_00000"))
                                if name.startswith("checkpoint_")),
                         ["checkpoint_000005", "checkpoint_000006"])


main()
