"""What driver and trainable say to each other, as a program of any language hears it."""
import json
import os
import signal
import subprocess
import sys
import time

from cli_support import LIMIT_S, TUNE, Case, main

TRAINABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "speaking_trainable.py")


class Protocol(Case):
    def spec(self, kind, **fields):
        self.write("spec.json", {
            "name": "exp", "storage_path": "results",
            "trainable": {"command": [sys.executable, TRAINABLE, kind]},
            "param_space": {"x": {"uniform": [0, 1]}}, "searcher": "random",
            "metric": "loss", "mode": "min", "num_samples": 1, **fields})

    def run_kind(self, kind, expect=0, **fields):
        self.spec(kind, **fields)
        return self.tune("run", "spec.json", "--progress", "lines", expect=expect,
                         HEARD=self.path("heard"))

    def heard(self):
        return self.read("heard").splitlines()

    def commands(self):
        return [json.loads(line) for line in self.heard()]

    def trials(self):
        return self.json("ls", "results/exp")

    def test_start_tells_all_of_a_trial_and_commands_are_numbered(self):
        self.run_kind("plain", resources_per_trial={"cpu": 1},
                      checkpoint_config={"checkpoint_at_end": True})
        start, *rest = self.commands()
        trial = self.path("results/exp/trial_00000")
        config = start.pop("config")
        self.assertEqual(list(config), ["x"])
        self.assertEqual(start, {
            "type": "start", "trial_id": "trial_00000", "trial_dir": trial + "/work",
            "checkpoint": None, "iteration": 0, "attempt": 1, "resources": {"cpu": 1.0},
            "devices": [], "stdout": trial + "/stdout.log", "stderr": trial + "/stderr.log",
            "rank": 0, "world_size": 1, "local_rank": 0})
        self.assertEqual([(c["type"], c.get("iteration")) for c in rest],
                         [("step", 1), ("step", 2), ("save", 2), ("stop", None)])

    def test_a_shell_can_tell_the_drivers_lines_by_their_beginning(self):
        self.run_kind("plain", checkpoint_config={"checkpoint_at_end": True})
        start, *rest = self.heard()
        self.assertRegex(start, r'^\{"type":"start","trial_id":"trial_00000","trial_dir":"')
        self.assertEqual(rest[:2], ['{"type":"step","iteration":1}', '{"type":"step","iteration":2}'])
        self.assertRegex(rest[2], r'^\{"type":"save","directory":"[^"]*","iteration":2\}$')
        self.assertEqual(rest[3], '{"type":"stop"}')

    def test_devices_are_told_as_they_are_named(self):
        self.run_kind("plain", resources={"cpu": 1, "gpu": 2}, resources_per_trial={"gpu": 1})
        # Without gpus on the machine they have no names.
        self.assertEqual(self.commands()[0]["resources"], {"gpu": 1.0})

    def test_null_is_a_field_that_is_not_there(self):
        self.run_kind("null")
        self.assertEqual(self.trials()[0]["state"], "TERMINATED")
        self.assertEqual(self.trials()[0]["training_iteration"], 2)

    def test_an_answer_too_many_is_found_by_its_number(self):
        run = self.run_kind("twice", expect=1)
        self.assertIn("it answered iteration 1, and was asked for iteration 2: does it answer twice?",
                      run.out)
        self.assertEqual(self.trials()[0]["training_iteration"], 1)

    def test_a_refused_reset_costs_a_launch_and_no_failure(self):
        self.run_kind("refuses", num_samples=3, reuse_processes=True, resources={"cpu": 1})
        self.assertEqual([(t["state"], t["failures"]) for t in self.trials()],
                         [("TERMINATED", 0)] * 3)
        self.assertEqual([c["type"] for c in self.commands()].count("reset"), 2)
        self.assertEqual(len(self.pids()), 3)

    def test_whatever_goes_wrong_with_a_used_process_is_no_fault_of_the_next_trial(self):
        for kind in ("dies_idle", "fails_reset", "talks_idle"):
            with self.subTest(kind=kind):
                self.run_kind(kind, name=kind, num_samples=8, reuse_processes=True,
                              resources={"cpu": 1}, stop_grace_s=1)
                trials = self.json("ls", f"results/{kind}")
                self.assertEqual([t["failures"] for t in trials], [0] * 8)
                self.assertEqual({t["metrics"]["loss"] for t in trials}, {1})

    def pids(self):
        return {json.loads(self.read("results/exp", t["trial_id"], "result.json"))["pid"]
                for t in self.trials()}

    def test_a_reset_takes_as_long_as_it_likes_as_a_start_does(self):
        self.run_kind("becomes", num_samples=2, reuse_processes=True, resources={"cpu": 1},
                      launch_timeout_s=1)
        self.assertEqual([t["failures"] for t in self.trials()], [0, 0])
        self.assertEqual(len(self.pids()), 1)
        reset = next(c for c in self.commands() if c["type"] == "reset")
        self.assertEqual(reset["stderr"], self.path("results/exp/trial_00001/stderr.log"))
        self.assertEqual(reset["attempt"], 1)

    def test_who_has_trained_cannot_refuse(self):
        run = self.run_kind("late", expect=1, reuse_processes=True)
        self.assertIn("it refused a reset that it was not asked for", run.out)

    def test_done_before_any_result_is_a_failure(self):
        run = self.run_kind("nothing", expect=1)
        self.assertIn("it ended before its first result", run.out)

    def test_a_trial_that_says_done_without_a_last_result_has_ended_itself(self):
        self.run_kind("ends_later")
        self.assertEqual((self.trials()[0]["ended_by"], self.trials()[0]["training_iteration"]),
                         ("done", 2))

    def test_the_drivers_columns_are_its_own(self):
        run = self.run_kind("named", stop={"time_total_s": 1e-9})
        self.assertIn("the metric 'timestamp' has the name of a column of the driver's", run.out)
        row = json.loads(self.read("results/exp/trial_00000/result.json"))
        self.assertEqual(row["trial_id"], "trial_00000")
        self.assertGreater(row["time_total_s"], 0)
        header, first = self.read("results/exp/trial_00000/progress.csv").splitlines()
        self.assertEqual(header.split(",")[-3:], ["trial_id", "done", "loss"])
        shown = self.json("show", "results/exp", "0")
        self.assertEqual(list(shown["metrics"]), ["loss"])
        trial, = self.trials()
        self.assertGreater(trial["metrics"]["time_total_s"], 0)
        self.assertNotIn("trial_id", trial["metrics"])
        self.assertNotIn("timestamp", self.tune("ls", "results/exp", "--csv").out)
        self.assertIn(",trial_00000,", first)

    def test_a_trial_takes_as_many_threads_as_it_has_cpus_unless_somebody_says_how_many(self):
        for cpus, env, around, threads in [(2.5, {}, {}, 2), (0.5, {}, {}, 1),
                                           (2, {"OMP_NUM_THREADS": "7"}, {}, 7),
                                           (2, {}, {"OMP_NUM_THREADS": "3"}, 3)]:
            with self.subTest(cpus=cpus, env=env, around=around):
                self.spec("threads", resources={"cpu": 4}, resources_per_trial={"cpu": cpus},
                          name=f"cpu{cpus}{len(env)}{len(around)}")
                spec = json.loads(self.read("spec.json"))
                spec["trainable"]["env"] = env
                self.write("spec.json", spec)
                os.environ.pop("OMP_NUM_THREADS", None)
                self.tune("run", "spec.json", "--progress", "none", HEARD=self.path("heard"), **around)
                trial, = self.json("ls", "results/" + spec["name"])
                self.assertEqual(trial["metrics"]["loss"], threads)

    def test_a_step_that_never_ends_is_told_to_stop_before_it_is_signalled(self):
        self.run_kind("deaf", expect=1, trial_timeout_s=0.5)
        self.assertEqual([line for line in self.heard()][-2:], ['{"type":"stop"}', "SIGTERM"])

    def test_so_is_one_whose_time_to_save_is_over(self):
        self.spec("deaf")
        run = subprocess.Popen([TUNE, "run", "spec.json", "--progress", "none", "--grace", "1"],
                               cwd=self.dir, env={**os.environ, "HEARD": self.path("heard")})
        self.addCleanup(run.kill)
        while not (os.path.exists(self.path("heard")) and '"step"' in self.read("heard")):
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(LIMIT_S), 130)
        self.assertEqual(self.heard()[-2:], ['{"type":"stop"}', "SIGTERM"])


main()
