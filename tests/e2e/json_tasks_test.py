"""What a program that tunes for somebody has to do, done with JSON and exit codes alone: no sentence is read, no file."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from typing import Any

from cli_support import LIMIT_S, TOY, TUNE, Case, LookingCase, main

SEARCH = "results/search"
#: An epoch of it takes 20 ms; it does not end by itself.
TRAINING = 'i=0; while :; do i=$((i + 1)); echo "epoch $i loss: 0.$i"; sleep 0.02; done\n'


class AfterASearch(LookingCase):
    end: Any

    def make(self) -> None:
        self.write("search.json", {
            "trainable": {"command": [TOY, "class"]}, "metric": "loss", "mode": "min", "stop": {"training_iteration": 2},
            "param_space": {"report": {"loss": {"uniform": [0, 1]}}, "fail_in": {"grid_search": [*"abcdefg", "step"]}},
            "checkpoint_config": {"checkpoint_frequency": 1}, "max_concurrent_trials": 2, "resources_per_trial": {"cpu": 0}})
        type(self).end = self.json("run", "search.json", expect=1)

    def test_a_search_is_started_and_says_how_it_has_ended(self) -> None:
        self.assertEqual((self.end["end"], self.end["exit_code"]), ("finished", 1))
        self.assertEqual(self.end["status"]["states"]["ERROR"], 1)
        # What is asked later is the same.
        self.assertEqual(self.json("status", self.end["status"]["directory"]), self.end["status"])

    def test_it_is_found_out_why_trial_7_has_failed(self) -> None:
        (failed,) = self.json("ls", SEARCH, "--state", "ERROR")
        self.assertEqual(failed["trial_id"], "trial_00007")
        trial = self.json("show", SEARCH, failed["trial_id"])
        self.assertIn("told to fail in step", trial["error"])
        self.assertEqual(trial["config"]["fail_in"], "step")

    def test_a_finished_search_goes_on_with_more_samples(self) -> None:
        shutil.copytree(self.path(SEARCH), self.path("more"))
        end = self.json("resume", "more", "--num-samples", "2", expect=1)
        self.assertEqual((end["end"], end["status"]["trials"]), ("finished", 16))

    def test_two_configs_are_compared(self) -> None:
        compared = self.json("compare", SEARCH, "1", "3")
        self.assertEqual(set(compared["differing"]), {"fail_in", "report/loss"})
        one, other = (trial["last"] for trial in compared["trials"])
        self.assertEqual(compared["ahead"]["name"], "trial_00001" if one < other else "trial_00003")

    def test_the_best_checkpoint_is_a_directory(self) -> None:
        best = self.json("best", SEARCH)
        values = [trial["metrics"]["loss"] for trial in self.json("ls", SEARCH) if trial["metrics"]]
        self.assertEqual(best["value"], min(values))
        self.assertTrue(os.path.isdir(best["best_checkpoints"][0]["path"]))

    def test_it_is_found_out_which_hyperparameter_mattered(self) -> None:
        importances = self.json("importance", SEARCH, "--top", "0.3")["importances"]
        self.assertEqual({one["name"] for one in importances}, {"report.loss", "fail_in"})
        self.assertEqual(importances, sorted(importances, key=lambda one: -one["importance"]))

    def test_curves_are_exported(self) -> None:
        written = self.json("export", SEARCH, "--curves", "curves.csv")
        self.assertEqual((written["curves"], written["iterations_max"]), (7, 2))
        self.assertTrue(os.path.isfile(written["file"]))


class WhileItRuns(Case):
    def setUp(self) -> None:
        super().setUp()
        self.write("train.sh", TRAINING)
        self.write("search.json", {
            "trainable": {"command": ["sh", "train.sh", "${args}"], "plain": {}}, "metric": "loss", "mode": "min",
            "param_space": {"lr": {"uniform": [0, 1]}}, "num_samples": 2, "resources_per_trial": {"cpu": 0},
            "max_concurrent_trials": 3})
        self.driver = subprocess.Popen([TUNE, "run", "search.json", "--json"], cwd=self.dir, stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL)
        self.addCleanup(self.driver.communicate)
        self.addCleanup(self.driver.kill)
        self.wait_until(lambda: os.path.exists(self.path(SEARCH, "control.sock")) and
                        all(trial["metrics"] for trial in self.trials(at_least=2)))

    def trials(self, at_least: int = 0) -> list[Any]:
        trials = self.json("ls", SEARCH)
        return trials if len(trials) >= at_least else [{"metrics": None}]

    def wait_until(self, condition: Any) -> None:
        until = time.monotonic() + LIMIT_S
        while not condition():
            self.assertIsNone(self.driver.poll())
            self.assertLess(time.monotonic(), until)

    def end(self) -> Any:
        return json.loads(self.driver.communicate(timeout=LIMIT_S)[0])

    def test_a_program_knows_when_it_is_done(self) -> None:
        self.assertEqual(self.json("status", SEARCH)["driver"]["pid"], self.driver.pid)
        self.json("stop", SEARCH, "--wait")
        status = self.json("status", SEARCH)
        self.assertIsNone(status["driver"])
        self.assertEqual(self.end()["end"], "stopped")

    def test_one_trial_is_stopped(self) -> None:
        self.assertEqual(self.json("stop", SEARCH, "1")["trials"], ["trial_00001"])
        self.wait_until(lambda: self.trials()[1]["state"] == "TERMINATED")
        stopped = self.trials()[1]
        self.assertEqual((stopped["ended_by"], self.trials()[0]["state"]), ("user", "RUNNING"))

    def test_a_search_is_paused_and_goes_on(self) -> None:
        self.json("pause", SEARCH, "--wait")
        end = self.end()
        self.assertEqual((end["end"], end["exit_code"], self.driver.returncode), ("interrupted", 130, 130))
        self.assertEqual(end["status"]["states"]["PENDING"], 2)
        end = self.json("resume", SEARCH, "--stop", "training_iteration=1")
        self.assertEqual((end["end"], end["status"]["states"]["TERMINATED"]), ("finished", 2))

    def test_a_config_is_added(self) -> None:
        (added,) = self.json("add", SEARCH, '{"lr": 0.25}')["trials"]
        self.wait_until(lambda: self.trials()[-1]["metrics"])
        trial = self.trials()[-1]
        self.assertEqual((trial["trial_id"], trial["config"]), (added, {"lr": 0.25}))


if __name__ == "__main__":
    main()
