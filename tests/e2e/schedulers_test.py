"""Schedulers that stop, pause and resume real trials, and a driver that is killed meanwhile."""
import json
import os
from collections import Counter

from cli_support import main
from driver_support import DriverCase


class Schedulers(DriverCase):
    #: Of gradient descent; larger ones are better at every iteration.
    rates = [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09]

    def write_spec(self, scheduler, rates, workers):
        spec = self.quadratic(
            param_space={"lr": {"grid_search": rates}}, num_samples=1,
            max_concurrent_trials=workers, resources={"cpu": workers}, scheduler=scheduler,
            checkpoint_config={"num_to_keep": 1})
        self.write("spec.json", spec)

    def kept_searcher(self):
        with open(self.path("results/spec/experiment.json"), encoding="utf-8") as file:
            return json.load(file)["searcher"]["type"]

    def trials(self):
        return self.json("ls", "results/spec")

    def assert_each_iteration_stands_once(self):
        for trial in self.trials():
            logged = self.iterations_in_log("results/spec", trial["trial_id"])
            self.assertEqual(logged, list(range(1, trial["training_iteration"] + 1)))

    def test_asha_stops_those_that_are_worse_at_the_first_rung(self):
        scheduler = {"type": "asha", "max_t": 16}
        self.write_spec(scheduler, self.rates[::-1], workers=1)
        self.tune("run", "spec.json", "--progress", "none")
        self.assertEqual([t["training_iteration"] for t in self.trials()], [16] + [1] * 8)
        self.assertEqual({t["state"] for t in self.trials()}, {"TERMINATED"})
        self.assertEqual([t["end"] for t in self.trials()], ["completed"] + ["pruned"] * 8)
        self.assertEqual(self.json("status", "results/spec")["ends"],
                         {"completed": 1, "pruned": 8, "stopped": 0, "failed": 0})
        self.assertRegex(self.tune("status", "results/spec").out, r"trials +1 completed, 8 pruned\n")
        # There is nothing left to train, whatever the stop rule says.
        refused = self.tune("resume", "results/spec", "--trial", "0", expect=2).err
        self.assertIn("it has reached max_t of its scheduler, at iteration 16", refused)
        self.assertEqual(self.trials()[0]["training_iteration"], 16)

    def test_freeze_thaw_brings_its_searcher_and_leaves_what_it_does_not_want_paused(self):
        spec = self.quadratic(param_space={"lr": {"uniform": [0.001, 0.1]}}, num_samples=8,
                              max_concurrent_trials=2, resources={"cpu": 2},
                              scheduler={"type": "freeze_thaw", "max_t": 9})
        for wrong, why in [({"searcher": "tpe"}, "leave 'searcher' out"),
                           ({"searcher": "freeze_thaw", "scheduler": "asha"}, "needs the scheduler 'freeze_thaw'")]:
            self.write("spec.json", {**spec, **wrong})
            self.assertIn(why, self.tune("run", "spec.json", expect=2).err)
        self.write("spec.json", spec)
        done = self.tune("run", "spec.json", "--progress", "none")
        self.assertIn("results/spec is finished", done.out + self.tune("run", "spec.json", "--resume", "auto").out)
        self.assertNotIn("the searcher waits for results", done.out + done.err)
        self.assertEqual(self.kept_searcher(), "freeze_thaw")
        trials = self.trials()
        self.assertEqual(len(trials), 8)
        self.assertGreaterEqual(sum(t["training_iteration"] == 9 for t in trials), 1)
        self.assertEqual({t["state"] for t in trials if t["training_iteration"] < 9}, {"PAUSED"})
        self.assertIn("came to each decision epoch", self.tune("plot", "results/spec", "rungs", expect=2).err)
        self.assert_each_iteration_stands_once()

    def test_freeze_thaw_says_when_max_total_t_is_used_up(self):
        self.write("spec.json", self.quadratic(param_space={"lr": {"uniform": [0.001, 0.1]}}, num_samples=6,
                                               scheduler={"type": "freeze_thaw", "max_t": 9, "max_total_t": 6}))
        done = self.tune("run", "spec.json", "--progress", "none")
        for text in (done.out, done.err, self.tune("status", "results/spec").out):
            self.assertIn("the 6 iterations of max_total_t", text)
            self.assertNotIn("--num-samples", text)
        self.assertNotIn("--num-samples", self.tune("run", "spec.json", expect=2).err)
        self.assertIn("reached", self.tune("status", "results/spec").out)
        refused = self.tune("suggest", "other", "--spec", "spec.json", "--searcher", "freeze_thaw", expect=2).err
        self.assertIn("only tune run pauses some", refused)

    def test_bohb_brings_its_searcher(self):
        self.write("spec.json", self.quadratic(param_space={"lr": {"uniform": [0.001, 0.1]}}, num_samples=11,
                                               scheduler={"type": "bohb", "max_t": 3}))
        self.tune("run", "spec.json", "--progress", "none")
        self.assertEqual(self.kept_searcher(), "bohb")

    def test_asha_promotion_resumes_the_promoted_and_leaves_the_others_paused(self):
        scheduler = {"type": "asha_promotion", "max_t": 9, "reduction_factor": 3}
        self.write_spec(scheduler, self.rates, workers=2)
        done = self.tune("run", "spec.json", "--progress", "none")
        trials = self.trials()
        self.assertIn("PAUSED", done.out)
        self.assertEqual((done.out + done.err).count(
            "are left waiting: the scheduler would go on only after results of new trials"), 1)
        # That is how it is meant: a resume alone would change nothing.
        advice = "tune resume " + self.path("results/spec") + " --num-samples N"
        for out in (done.out, self.tune("status", "results/spec").out):
            self.assertIn(advice, out)
            self.assertNotIn("go on:", out)
            self.assertNotIn("go on  ", out)
        self.assertIn("results/spec is finished: ",
                      self.tune("run", "spec.json", "--resume", "auto").out)
        finished = [t for t in trials if t["training_iteration"] == 9]
        self.assertGreaterEqual(len(finished), 1)
        self.assertEqual({t["state"] for t in finished}, {"TERMINATED"})
        self.assertEqual({t["state"] for t in trials if t not in finished}, {"PAUSED"})
        self.assertGreaterEqual(sum(t["training_iteration"] > 1 for t in trials), 3)
        # The last one is the best, and among the best third of all.
        self.assertGreater(trials[8]["training_iteration"], 1)
        importances = self.json("importance", "results/spec", "--top", "0.5",
                                "--method", "ped_anova")["importances"]
        self.assertEqual([one["trials"] for one in importances], [len(trials)])
        self.assert_each_iteration_stands_once()

    def test_hyperband_comes_to_the_same_end_however_often_the_driver_is_killed(self):
        scheduler = {"type": "hyperband", "max_t": 9}
        # By the table of docs/schedulers.md for 9: a bracket of 9 trials.
        self.write_spec(scheduler, self.rates, workers=2)
        log = "results/spec/trial_{:05}/result.json"
        driver = self.start("run", "spec.json", "--progress", "none")
        for trial in (1, 4, 7):
            self.wait_until(lambda t=trial: os.path.exists(self.path(log.format(t))),
                            f"a result of trial {trial}")
            driver.kill()
            driver.wait()
            driver = self.start("resume", "results/spec", "--progress", "none")
        self.finish(driver, expect=0)
        trials = self.trials()
        self.assertEqual({t["state"] for t in trials}, {"TERMINATED"})
        self.assertEqual(Counter(t["training_iteration"] for t in trials), {1: 6, 3: 2, 9: 1})
        self.assertEqual([t["training_iteration"] for t in trials[6:]], [3, 3, 9])
        self.assert_each_iteration_stands_once()

    def test_a_population_exploits_however_often_the_driver_is_killed(self):
        scheduler = {"type": "pbt", "time_attr": "training_iteration", "perturbation_interval": 2,
                     "hyperparam_mutations": {"lr": {"uniform": [0.01, 0.1]}}}
        for synch in (False, True):
            with self.subTest(synch=synch):
                self.write_spec({**scheduler, "synch": synch}, self.rates[::2], workers=2)
                spec = json.loads(self.read("spec.json"))
                self.write("spec.json", {**spec, "name": f"pbt_{synch}",
                                         "stop": {"training_iteration": 20}})
                directory = f"results/pbt_{synch}"
                driver = self.start("run", "spec.json", "--progress", "none")
                for trial in (1, 3, 4):
                    log = self.path(f"{directory}/trial_{trial:05}/result.json")
                    self.wait_until(lambda log=log: os.path.exists(log), f"a result of {trial}")
                    driver.kill()
                    driver.wait()
                    driver = self.start("resume", directory, "--progress", "none", "--strict")
                self.finish(driver, expect=0)
                trials = self.json("ls", directory)
                self.assertEqual({t["state"] for t in trials}, {"TERMINATED"})
                self.assertEqual({t["training_iteration"] for t in trials}, {20})
                for trial in trials:
                    logged = self.iterations_in_log(directory, trial["trial_id"])
                    self.assertEqual(logged, sorted(set(logged)))
                # The worst has long become a copy of a better one.
                rates = {t["trial_id"]: t["config"]["lr"] for t in trials}
                self.assertNotEqual(rates["trial_00000"], self.rates[0])
                self.tune("checkpoints", directory, "--verify")

    def test_a_scheduler_that_compares_needs_a_metric(self):
        self.write("spec.json", {"trainable": {"command": ["true"]}, "scheduler": "hyperband"})
        error = self.tune("run", "spec.json", expect=2).err
        self.assertIn("/scheduler: this scheduler compares trials: name 'metric' and 'mode'", error)


main()
