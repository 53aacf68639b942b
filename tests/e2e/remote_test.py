"""An experiment with a copy on a remote store: what goes up, what comes back, and what is said when it
cannot. Real rclone; stores are a directory and a server that misbehaves."""
import filecmp
import json
import os
import shutil
import signal
import subprocess
import unittest

from cli_support import TUNE, main
from driver_support import DriverCase
from hostile_store import Store

RCLONE = shutil.which("rclone")


@unittest.skipUnless(RCLONE, "there is no rclone here")
class RemoteCase(DriverCase):
    def setUp(self):
        super().setUp()
        self.far = self.path("far")
        os.mkdir(self.far)
        self.environ("RCLONE_CONFIG", "/dev/null")

    def environ(self, name, value):
        before = os.environ.get(name)
        os.environ[name] = value
        self.addCleanup(lambda: os.environ.pop(name) if before is None
                        else os.environ.__setitem__(name, before))

    def objects(self, *parts):
        found = []
        for folder, _, files in os.walk(os.path.join(self.far, *parts)):
            found += [os.path.relpath(os.path.join(folder, file), self.far) for file in files]
        return sorted(found)

    def verified(self, remote=None, read=True):
        words = ["remote", "verify", remote or self.far + "/spec", "--json"] + ["--read"] * read
        return json.loads(self.tune(*words).out)

    def status(self, directory="results/spec"):
        return self.json("status", directory)["remote"]

    def last_iterations(self, directory, trials):
        return [self.iterations(trial, directory)[-1:] for trial in range(trials)]


class Mirrored(RemoteCase):
    def test_what_an_experiment_has_is_on_the_remote_when_it_has_ended(self):
        self.write("spec.json", self.quadratic(remote={"path": self.far}))
        self.tune("run", "spec.json", "--progress", "none")
        check = self.verified()
        self.assertEqual(check["damage"], [])
        self.assertEqual(check["without_marker"], [])
        kept = self.json("status", "results/spec")["checkpoints"]["kept"]
        self.assertEqual(check["checkpoints"], kept)
        self.assertTrue(self.status()["all_up"])
        for trial in range(4):
            for file in ("result.json", "params.json", "stdout.log"):
                self.assertTrue(filecmp.cmp(f"{self.far}/spec/trial_0000{trial}/{file}",
                                            self.path(f"results/spec/trial_0000{trial}/{file}"), False))

    def test_a_pulled_copy_says_what_the_experiment_says(self):
        self.write("spec.json", self.quadratic(remote={"path": self.far}))
        self.tune("run", "spec.json", "--progress", "none")
        self.tune("pull", self.far + "/spec", "copy")
        self.assertEqual(self.json("ls", "copy"), self.json("ls", "results/spec"))
        self.assertEqual([c["checkpoint"] if "checkpoint" in c else c["index"]
                          for c in self.json("checkpoints", "copy", "--verify")],
                         [c["checkpoint"] if "checkpoint" in c else c["index"]
                          for c in self.json("checkpoints", "results/spec", "--verify")])
        self.assertEqual(self.lines("events", "copy"), self.lines("events", "results/spec"))

    def test_what_retention_has_dropped_goes_from_the_remote_too(self):
        self.write("spec.json", self.quadratic(remote={"path": self.far}, num_samples=1,
                                               param_space={"lr": 0.1, "iterations": 40}))
        self.tune("run", "spec.json", "--progress", "none")
        here = {c["index"] for c in self.json("checkpoints", "results/spec")}
        there = {int(name.split("checkpoint_")[1][:6]) for name in self.objects("spec")
                 if name.endswith(".COMMIT.json")}
        self.assertEqual(there, here)

    def test_a_driver_that_was_killed_is_gone_on_with_on_an_empty_machine(self):
        self.spec({"iterations": 40, "step_s": 0.05}, remote={"path": self.far})
        driver = self.start("run", "spec.json", "--progress", "none", "--lease-s", "5")
        self.wait_until(lambda: any(".COMMIT.json" in name for name in self.objects("spec")) and
                        any("state/COMMIT" in name for name in self.objects("spec")), "a checkpoint")
        driver.send_signal(signal.SIGKILL)
        driver.wait()
        os.rename(self.path("results"), self.path("gone"))
        out = self.tune("resume", "--remote", self.far + "/spec", "--progress", "none", "--lease-s", "5")
        self.assertIn("drives the experiment", out.err)
        self.assertEqual(self.states(), ["TERMINATED"] * 2)
        for trial in (0, 1):
            self.assertEqual(self.iterations(trial), list(range(1, 41)))
        self.assertEqual(self.verified()["damage"], [])


if __name__ == "__main__":
    main()
