"""`tune status` of running and of halving experiments, and an experiment that keeps no files of results."""
import collections
import glob
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time

from cli_support import LIMIT_S, TUNE, Case, main

HALVES = {"max_t": 6, "reduction_factor": 2}


class Rungs(Case):
    def judged(self):
        """By bracket and milestone, how many decisions the record has, and how many of them to go on."""
        reached, went_on = collections.Counter(), collections.Counter()
        for event in self.lines("events", "results/spec"):
            why = event.get("why", {}) if event["e"] == "result" else {}
            if "rung" not in why:
                continue
            place = (why.get("bracket", 0), why["rung"])
            reached[place] += 1
            went_on[place] += event.get("action", "continue") == "continue"
        return reached, went_on

    def test_are_as_the_record_has_them(self):
        self.write("spec.json", self.quadratic(scheduler={"type": "asha", **HALVES}, num_samples=8,
                                               checkpoint_config={}))
        self.tune("run", "spec.json", "--progress", "none", "--snapshot-period-s", "0.2")
        reached, went_on = self.judged()
        report = self.json("status", "results/spec")["rungs"]
        self.assertEqual((report["time_attr"], report["metric"]), ("training_iteration", "loss"))
        self.assertEqual([rung["milestone"] for rung in report["rungs"]], [1, 2, 4])
        for rung in report["rungs"]:
            place = (rung["bracket"], rung["milestone"])
            self.assertEqual((rung["reached"], rung["went_on"]), (reached[place], went_on[place]))
            self.assertIsInstance(rung["cutoff"], float)
        self.assertRegex(self.tune("status", "results/spec").out,
                         r"\nrungs +training_iteration  reached  went on  cutoff loss\n +1 +8 ")

    def test_are_none_of_a_scheduler_that_has_none(self):
        self.write("spec.json", self.quadratic(num_samples=1))
        self.tune("run", "spec.json", "--progress", "none")
        status = self.json("status", "results/spec")
        for field in ("rungs", "end_estimate", "time_budget_left_s"):
            self.assertIsNone(status[field])
        self.assertEqual(status["running"], [])


class Running(Case):
    def start(self, **fields):
        spec = {"trainable": {"command": ["sh", "-c", "echo loss=1; while [ ! -e " + self.path("go") +
                                          " ]; do sleep 0.05; done"], "plain": {}},
                "param_space": {"lr": 0.1}, "metric": "loss", "mode": "min", "num_samples": 2,
                "resources": {"cpu": 2, "gpu": 2}, "resources_per_trial": {"gpu": 1},
                "time_budget_s": 600, **fields}
        self.write("spec.json", spec)
        driver = subprocess.Popen([TUNE, "run", "spec.json", "--progress", "none"], cwd=self.dir,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(driver.wait, LIMIT_S)
        self.addCleanup(self.write, "go", "")
        return driver

    def wait_until_running(self, count):
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            if os.path.exists(self.path("results", "spec", "CURRENT")):
                status = self.json("status", "results/spec")
                if len(status["running"]) == count and all(one["last_result"] for one in status["running"]):
                    return status
            time.sleep(0.05)
        self.fail("nothing runs")

    def test_trials_are_shown_with_their_places_and_the_end_with_its_reason(self):
        self.start()
        status = self.wait_until_running(2)
        self.assertEqual(sorted(one["gpus"] for one in status["running"]), ["0", "1"])
        for one in status["running"]:
            os.kill(one["pid"], 0)
            self.assertEqual((one["training_iteration"], one["attempt"], one["node"]),
                             (1, 1, os.uname().nodename))
            self.assertGreaterEqual(one["running_s"], one["last_result_age_s"])
        self.assertTrue(status["end_estimate"]["is_upper_bound"])
        self.assertEqual(status["end_estimate"]["reason"],
                         "the time budget is over then; no trial has ended yet")
        self.assertGreater(status["time_budget_left_s"], 300)
        self.assertRegex(self.tune("status", "results/spec").out, r"\nends in +at most \d+ min: the time budget")

    def test_is_followed_until_the_driver_has_ended_with_the_runs_exit_code(self):
        driver = self.start(trainable={"command": ["sh", "-c", "echo loss=1; while [ ! -e " + self.path("go") +
                                                   " ]; do sleep 0.05; done; exit 3"], "plain": {}},
                            failure_config={"max_failures": 0})
        self.wait_until_running(2)
        follower = subprocess.Popen([TUNE, "status", "results/spec", "--follow"], cwd=self.dir,
                                    stdout=subprocess.PIPE, text=True)
        first = follower.stdout.readline()
        self.assertRegex(first, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d 2 RUNNING \| best .* \| ends in at most ")
        self.write("go", "")
        driver.wait(LIMIT_S)
        rest, _ = follower.communicate(timeout=LIMIT_S)
        self.assertIn("2 failed", rest.splitlines()[-1])
        self.assertEqual(follower.returncode, 1)
        self.assertEqual(self.tune("status", "results/spec", "--follow", expect=1).out.count("\n"), 1)

    def test_whose_driver_is_stopped_says_that_it_does_not_answer(self):
        driver = self.start()
        self.wait_until_running(2)
        self.assertIs(self.json("status", "results/spec")["driver"]["answers"], True)
        self.assertIs(self.json("show", "results/spec", "0")["driver_answers"], True)
        driver.send_signal(signal.SIGSTOP)
        self.addCleanup(driver.send_signal, signal.SIGCONT)
        sentence = f"the driver (pid {driver.pid}) is stopped and does not answer: kill -CONT {driver.pid}"
        status = self.json("status", "results/spec")
        self.assertIs(status["driver"]["answers"], False)
        self.assertIn(sentence, status["notices"][0])
        self.assertIs(self.json("show", "results/spec", "0")["driver_answers"], False)
        for command in (["status", "results/spec"], ["show", "results/spec", "0"]):
            self.assertRegex(self.tune(*command).out, r"\nno answer +" + re.escape(sentence))

    def test_a_step_that_hangs_is_a_line_in_a_pipe(self):
        self.start()
        self.wait_until_running(2)
        said = []  # that hangs
        place = self.path("results", "spec", "control.sock")
        os.unlink(place)
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(place)
        listener.listen()

        def answer():
            while True:
                try:
                    asker, _ = listener.accept()
                except OSError:
                    return
                with asker:
                    asker.recv(4096)
                    asker.sendall(json.dumps({"ok": True, "message": "", "trials": ["trial_00001"] if said else [],
                                              "notices": list(said)}).encode() + b"\n")

        threading.Thread(target=answer, daemon=True).start()
        follower = subprocess.Popen([TUNE, "status", "results/spec", "--follow"], cwd=self.dir,
                                    stdout=subprocess.PIPE, text=True)
        self.addCleanup(follower.stdout.close)
        self.addCleanup(follower.wait, LIMIT_S)
        self.addCleanup(follower.kill)
        self.assertNotIn("hangs", follower.stdout.readline())
        said.append("trial_00001 has been at iteration 2 for 75 s")
        self.assertIn(" | hangs: trial_00001 has been at iteration 2 for 75 s", follower.stdout.readline())

    def test_whose_run_was_interrupted_is_followed_with_that_exit_code(self):
        driver = self.start(trainable={"command": ["sh", "-c", "echo loss=1; sleep 60"], "plain": {}})
        self.wait_until_running(2)
        driver.send_signal(signal.SIGTERM)
        time.sleep(2)  # what comes earlier is an echo
        driver.send_signal(signal.SIGTERM)
        self.assertEqual(driver.wait(LIMIT_S), 130)
        self.tune("status", "results/spec", "--follow", expect=130)


class NoFiles(Case):
    def test_a_run_and_the_status_after_it_say_the_same_of_the_state(self):
        self.write("spec.json", self.quadratic())
        for command in (["run", "spec.json"], ["resume", "results/spec", "--num-samples", "6"]):
            said = re.search(r"state kept +(\d+ events), (.*)", self.tune(*command, "--progress", "none").out)
            shown = re.search(r"state +(\d+ events), .*\n  keeping it +(.*)", self.tune("status", "results/spec").out)
            self.assertEqual(said.groups(), shown.groups())

    def test_what_looks_goes_by_the_record(self):
        self.write("spec.json", self.quadratic(seed=3, num_samples=3))
        for name, callbacks in (("with", []), ("without", ["--callback", "none"])):
            self.tune("run", "spec.json", "--name", name, "--progress", "none", "--snapshot-period-s", "0.2",
                      "--max-concurrent-trials", "1", *callbacks)
        files = glob.glob(self.path("results", "without", "trial_*", "*"))
        for name in ("result.json", "progress.csv", "params.json"):
            self.assertNotIn(name, {os.path.basename(file) for file in files})
        self.assertFalse([file for file in files if "tfevents" in file])

        def seen(name):
            best = self.json("best", f"results/{name}")
            show = self.json("show", f"results/{name}", "1")
            curves = self.tune("export", f"results/{name}", "--curves", "-").out
            return {"best": (best["trial_id"], best["best_iteration"], best["value"]),
                    "curve": show["metrics"]["loss"],
                    "export": [re.sub(r",[0-9.e-]+,", ",TIME,", row, count=1) for row in
                               [",".join(line.split(",")[:3]) for line in curves.splitlines()]],
                    "ls": [row["metrics"]["loss"] for row in self.json("ls", f"results/{name}")]}

        self.assertEqual(seen("with"), seen("without"))


if __name__ == "__main__":
    main(at_once=4)
