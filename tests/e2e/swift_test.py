"""A search with its remote on a real S3 server, OpenStack Swift, which is killed, hung and filled, before its
driver is killed, too. Knows nothing of what is on a remote."""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import unittest

from driver_support import DriverCase
from swift_server import Swift, missing

CURVE = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "curve_trainable.py")]
TRIALS, ITERATIONS = 4, 600


class OnSwift(DriverCase):
    def setUp(self):
        super().setUp()
        # A file system of its own, which can be filled.
        lab = self.path("lab")
        os.mkdir(lab)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", lab], check=True)
        self.addCleanup(subprocess.run, ["umount", "--lazy", lab], check=True)
        self.swift = Swift(lab)
        self.swift.__enter__()
        self.addCleanup(self.swift.__exit__)
        for name, value in self.swift.environment.items():
            os.environ[name] = value

    def status(self):
        """What `tune status` shows, without a process each time."""
        try:
            return json.loads(self.read("results/disturbed/remote/status.json"))
        except FileNotFoundError:
            return {}

    def results(self):
        files = glob.glob(self.path("results/disturbed/trial_*/result.json"))
        return sum(self.read(file).count("\n") for file in files)

    def wait_until_said(self, words):
        """The remote is not well, for a reason with these words; training goes on."""
        self.wait_until(lambda: self.status().get("unreachable_since") and
                        words in self.status()["last_error"], f"'{words}' in {self.status()}")
        self.wait_until_trained()

    def wait_until_trained(self):
        before = self.results()
        self.wait_until(lambda: self.results() >= before + 4 * TRIALS, "results")

    def wait_until_well(self):
        uploaded = self.status().get("uploaded", 0)
        self.wait_until(lambda: self.status().get("unreachable_since", 0) is None and
                        self.status()["uploaded"] > uploaded, f"an upload: {self.status()}")

    def disturb(self):
        """What was said of each fault is waited for, so that it was met."""
        self.wait_until_trained()
        self.wait_until_well()
        self.swift.kill("object")
        self.wait_until_said("status code: 503")
        self.swift.start_again("object")
        self.wait_until_well()

        self.swift.stop("proxy")
        self.wait_until_trained()
        self.swift.go_on("proxy")
        self.wait_until_well()

        self.swift.stop("proxy")
        self.wait_until_trained()
        self.swift.kill("proxy")
        self.wait_until_said("connection refused")
        self.swift.start_again("proxy")
        self.wait_until_well()

        self.swift.fill()
        self.wait_until_said("status code: 503")  # that is what Swift says when it is full
        self.swift.make_room()
        self.wait_until_well()
        self.wait_until_trained()  # what is in status.json is said by the driver's loop, a moment later

    def without_times(self, directory):
        rows = {}
        for trial in range(TRIALS):
            text = self.read(directory, f"trial_{trial:05}", "result.json")
            rows[trial] = [(row["training_iteration"], row["accuracy"])
                           for row in map(json.loads, text.splitlines())]
        return rows

    def best(self, directory):
        best = self.json("best", directory)
        return {key: best[key] for key in ("trial_id", "config", "metric", "training_iteration") if key in best}

    def test_a_search_whose_store_and_machine_are_lost_finds_what_one_finds_that_is_left_alone(self):
        spec = {"trainable": {"command": CURVE},
                "param_space": {"lr": {"loguniform": [1e-4, 1.0]}, "iterations": ITERATIONS, "step_s": 0.15},
                "metric": "accuracy", "mode": "max", "num_samples": TRIALS, "seed": 7,
                "resources_per_trial": {"cpu": 0.1}, "max_concurrent_trials": TRIALS,
                "checkpoint_config": {"checkpoint_frequency": 10, "num_to_keep": 2,
                                      "checkpoint_score_attribute": "accuracy",
                                      "checkpoint_score_order": "max"}}
        self.write("spec.json", spec)
        driver = self.start("run", "spec.json", "--progress", "none", "--name", "disturbed",
                            "--remote", "swift:bucket/sweeps", "--lease-s", "5")
        self.disturb()
        driver.send_signal(signal.SIGKILL)
        said = driver.communicate()[0].decode()
        self.assertEqual(said.count("training goes on, and what is to be on the remote waits"),
                         said.count("the remote is well again after"), said)
        os.rename(self.path("results"), self.path("lost"))

        with open(self.go, "w", encoding="ascii"):
            pass
        self.tune("resume", "--remote", "swift:bucket/sweeps/disturbed", "elsewhere", "--progress", "none",
                  "--lease-s", "5")
        check = self.json("remote", "verify", "swift:bucket/sweeps/disturbed", "--read")
        self.assertEqual((check["damage"], check["without_marker"]), ([], []))
        self.assertEqual(check["checkpoints"], self.json("status", "elsewhere")["checkpoints"]["kept"])

        self.tune("run", "spec.json", "--progress", "none", "--name", "calm")
        self.assertEqual(self.without_times("elsewhere"), self.without_times("results/calm"))
        self.assertEqual(self.best("elsewhere"), self.best("results/calm"))


#: With this in the environment, the program is alone with its processes and mounts.
ALONE = "SWIFT_TEST_DIRECTORY"


def main():
    """All that it starts ends with it, and what it mounts is seen by nobody else, whatever happens to it."""
    if ALONE in os.environ:
        place = os.environ[ALONE]
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512m", "tmpfs", place], check=True)
        os.environ["TMPDIR"] = place
        unittest.main(verbosity=2)
    namespaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    empty = [place for place in ("/mnt", "/srv", "/media") if os.path.isdir(place) and not os.listdir(place)]
    why = ""
    if os.geteuid() != 0:
        why = "only root can mount"
    elif missing():
        why = "there is no " + ", no ".join(missing())
    elif not empty:
        why = "there is no empty directory to mount on"
    elif shutil.which("unshare") is None or subprocess.run([*namespaces, "true"], check=False,
                                                           capture_output=True).returncode != 0:
        why = "no namespace of its own can be made"
    if why:
        print("skipped: " + why)
        return
    os.environ[ALONE] = empty[0]
    os.execvp(namespaces[0], [*namespaces, sys.executable, "-B", *sys.argv])


if __name__ == "__main__":
    main()
