"""Experiments with several metrics: what is found, what is shown of it, and who refuses them."""
import json
import os
import sys

from cli_support import Case, LookingCase, main
from driver_support import KilledCase

TRAINABLE = [sys.executable, os.path.join(os.path.dirname(__file__), "two_metrics_trainable.py")]
SPACE = {"x": {"uniform": [0, 1]}, "y": {"uniform": [0, 1]},
         "kind": {"choice": ["good", "good", "good", "nan", "fails"]}}
TRIALS = 30


class ObjectivesCase(Case):
    def spec(self, **fields):
        spec = {"trainable": {"command": TRAINABLE}, "param_space": SPACE,
                "metric": ["loss", "speed"], "mode": ["min", "max"], "num_samples": TRIALS,
                "resources_per_trial": {}, "max_concurrent_trials": 2,
                "checkpoint_config": {"checkpoint_frequency": 1, "num_to_keep": 1}, **fields}
        self.write("spec.json", spec)
        return spec


def front_of(trials):
    """By trial loss and speed of those that no other dominates, and all that have both."""
    points = {trial["trial_id"]: (trial["metrics"]["loss"], trial["metrics"]["speed"])
              for trial in trials
              if trial["metrics"] and isinstance(trial["metrics"]["loss"], float)}

    def dominates(a, b):
        return a != b and a[0] <= b[0] and a[1] >= b[1]

    return {name: point for name, point in points.items()
            if not any(dominates(other, point) for other in points.values())}, points


class Search(ObjectivesCase, KilledCase):
    def check_front(self, directory):
        trials = self.json("ls", directory)
        self.assertEqual(len(trials), TRIALS)
        self.assertEqual({trial["state"] for trial in trials}, {"TERMINATED", "ERROR"})
        expected, points = front_of(trials)
        self.assertGreater(len(expected), 1)
        self.assertGreater(len(points), len(expected))
        best = self.json("best", directory)
        self.assertEqual({one["trial_id"]: (one["values"]["loss"], one["values"]["speed"])
                          for one in best}, expected)
        self.assertEqual([one["values"]["loss"] for one in best],
                         sorted(loss for loss, speed in expected.values()))
        by_id = {trial["trial_id"]: trial for trial in trials}
        for one in best:
            self.assertEqual(one["config"], by_id[one["trial_id"]]["config"])
            self.assertTrue(os.path.isdir(one["checkpoint"]))

        loss, speed = (max(p[0] for p in points.values()), min(p[1] for p in points.values()))
        volume, height = 0, speed
        for one in sorted(expected.values()):
            volume += (loss - one[0]) * (one[1] - height)
            height = one[1]
        front = self.json("status", directory)["front"]
        self.assertEqual(front["trials"], len(expected))
        self.assertEqual(front["reference"], {"loss": loss, "speed": speed})
        self.assertAlmostEqual(front["hypervolume"], volume)

    def test_the_front_is_right_after_kills_whatever_searches(self):
        for searcher in ({"type": "tpe", "n_startup_trials": 5}, {"type": "nsga2", "population": 5},
                         {"type": "gp", "n_startup_trials": 5}):
            with self.subTest(searcher["type"]):
                name = searcher["type"]
                self.spec(searcher=searcher, snapshot_period_s=1e6)
                for results in (5, 40):
                    self.session_that_is_killed(name, results)
                self.tune("resume", f"results/{name}", "--strict", "--progress", "none", expect=1)
                self.assertEqual(self.json("status", f"results/{name}")["sessions"], 3)
                self.check_front(f"results/{name}")


class Shown(ObjectivesCase, LookingCase):
    def make(self):
        self.spec(num_samples=12)
        self.output = self.tune("run", "spec.json", "--progress", "lines", expect=1).out

    def front(self):
        return front_of(self.json("ls", "results/spec"))[0]

    def test_a_run_shows_all_metrics_and_the_front_and_no_best_trial(self):
        self.assertIn(", 12 trials, min loss, max speed\n", self.maker.output)
        self.assertRegex(self.maker.output, r"completed at iteration 4, loss \S+, speed \S+ \(done\)\n")
        self.assertRegex(self.maker.output, rf"\nfront +{len(self.front())} trials? that no other "
                                      r"dominates, hypervolume \S+ from loss \S+, speed \S+\n")
        self.assertNotIn("best trial", self.maker.output)
        self.assertNotIn("best loss", self.maker.output)
        self.assertIn(" that no other dominates, ", self.tune("status", "results/spec").out)

    def test_auto_is_gp_and_says_so(self):
        self.assertIn("the searcher is gp, because there are few trials", self.maker.output)

    def test_best_is_a_table_best_first_metric_first(self):
        lines = self.tune("best", "results/spec").out.splitlines()
        self.assertEqual(lines[0].split(), ["trial", "state", "loss", "speed", "config"])
        expected = sorted((point, name) for name, point in self.front().items())
        self.assertEqual([line.split()[0] for line in lines[1:]], [name for _, name in expected])
        self.assertIn("kind=", lines[1])

    def test_one_metric_can_be_asked_for(self):
        fastest = self.json("best", "results/spec", "--metric", "speed", "--scope", "last")
        self.assertEqual((fastest["metric"], fastest["mode"]), ("speed", "max"))
        self.assertEqual(fastest["value"], max(
            trial["metrics"]["speed"] for trial in self.json("ls", "results/spec")
            if trial["metrics"]))
        importance = self.json("importance", "results/spec", "--metric", "speed", "--top", "0.5",
                               "--method", "ped_anova")
        self.assertEqual(importance["mode"], "max")
        for command in ("importance", "best"):
            arguments = [command, "results/spec"] + (["--mode", "min"] if command == "best" else [])
            self.assertEqual(self.refused(*arguments), "tune: the experiment has several metrics: "
                                                       "say which one with --metric")

    def test_tables_have_all_metrics(self):
        title = self.tune("ls", "results/spec").out.splitlines()[0].split()
        self.assertEqual(title[3:5], ["loss", "speed"])
        self.assertIn("no trial of", self.tune("lineage", "results/spec").out)


class Asked(ObjectivesCase):
    def test_suggestions_are_told_all_metrics_and_start_others(self):
        space = {"x": {"uniform": [0, 1]}}
        self.write("ask.json", {"param_space": space, "metric": ["loss", "speed"],
                                "mode": ["min", "max"],
                                "searcher": {"type": "nsga2", "population": 2}})
        for trial in self.lines("suggest", "mine", "--spec", "ask.json", "-n", "3"):
            x = trial["config"]["x"]
            self.tune("tell", "mine", trial["trial_id"], "--metrics",
                      json.dumps({"loss": x, "speed": x}))
        self.assertEqual(len(self.json("best", "mine")), 3)
        one, = self.lines("suggest", "mine")
        self.assertEqual(
            self.refused("tell", "mine", one["trial_id"], "--value", "1"),
            "tune: the experiment has several metrics, and a value is for one: give all with "
            "--metrics")
        self.assertIn("lacks the metric 'speed'",
                      self.refused("tell", "mine", one["trial_id"], "--metrics", '{"loss": 1}'))
        self.tune("suggest", "more", "--spec", "ask.json", "--warm-start", "mine")
        with open(self.path("more", "experiment.json"), encoding="utf-8") as file:
            searcher = json.load(file)["searcher"]
        self.assertEqual(searcher["evaluated_rewards"],
                         [[point["x"]] * 2 for point in searcher["points_to_evaluate"]])


class Specs(ObjectivesCase):
    def test_options_say_several_metrics_too(self):
        spec = self.spec(num_samples=3)
        del spec["metric"], spec["mode"]
        self.write("spec.json", spec)
        self.tune("run", "spec.json", "--metric", "loss,speed", "--mode", "min,max", "--set",
                  "param_space/kind=good", "--progress", "none")
        with open(self.path("results", "spec", "experiment.json"), encoding="utf-8") as file:
            kept = json.load(file)
        self.assertEqual((kept["metric"], kept["mode"]), (["loss", "speed"], ["min", "max"]))

    def test_a_result_without_one_of_the_metrics_is_a_failure(self):
        self.spec(num_samples=1)
        self.tune("run", "spec.json", "--set", "param_space/kind=lacks", "--progress", "none",
                  expect=1)
        self.assertIn("lacks the metric 'speed'; it has: ",
                      self.json("ls", "results/spec")[0]["error"])
        self.assertEqual(
            self.refused("best", "results/spec"),
            f"tune: no trial in {self.path('results', 'spec')} has reported numbers for all metrics")

    def test_who_knows_one_metric_refuses_several(self):
        self.spec()
        for options, sentence in (
                (["--mode", "min"], "--mode: mode must be a list with \"min\" or \"max\" for each "
                                    "metric, got 1 for 2"),
                (["--metric", "loss,loss"], "--metric: /1: metrics must differ, got 'loss' twice"),
                (["--searcher", "bohb"], "--searcher: the searcher 'bohb' knows one metric, and the "
                                       "experiment has several: use 'tpe', 'nsga2', 'sobol', "
                                       "'latin_hypercube', 'random' or 'grid'"),
                (["--scheduler", "asha"], "--scheduler: the scheduler 'asha' compares trials by one "
                                          "metric, and the experiment has several: name one as its "
                                          "'metric', or use 'fifo'"),
                (["--callback", "checkpoint_best"], "--callback: checkpoint_best knows one metric, "
                                                    "and the experiment has several: use "
                                                    "'checkpoint_frequency' or 'checkpoint_at_end'"),
                (["--searcher", '{"type": "tpe", "points_to_evaluate": [{"x": 0.5, "y": 0, "kind": '
                                '"good"}], "evaluated_rewards": [1]}'],
                 "--searcher: /evaluated_rewards/0: a point needs one reward for each metric, 2 in "
                 "all, got 1")):
            with self.subTest(options[1]):
                self.assertEqual(self.refused("validate", "spec.json", *options), sentence)
        self.tune("validate", "spec.json", "--scheduler", '{"type": "asha", "metric": "speed"}')
        self.write("curves.csv", "curve,iteration,loss,speed\n0,1,1,1\n")
        self.assertEqual(self.refused("simulate", "spec.json", "--curves", "curves.csv"),
                         "tune: the spec has several metrics: give one --metric and --mode to compare by")


if __name__ == "__main__":
    main()
