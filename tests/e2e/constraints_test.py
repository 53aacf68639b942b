"""Experiments with constraints: what is tried, what counts as the best, and what is refused."""
import itertools
import json
import math
import os
import sys

from cli_support import Case, main
from driver_support import KilledCase

TRAINABLE = [sys.executable, os.path.join(os.path.dirname(__file__), "two_metrics_trainable.py")]
SPACE = {"x": {"uniform": [0, 1]}, "y": {"uniform": [0, 1]}, "kind": "good"}
TRIALS = 24
#: In the order of `excesses`; the last one is about configs alone.
CONSTRAINTS = ["speed >= 4", {"constraint": "loss - 0.1*x >= 0.6"}, "x + y <= 1.5"]


def excesses(trial):
    metrics = trial["metrics"]
    return {"speed >= 4": 4 - metrics["speed"],
            "loss - 0.1*x >= 0.6": 0.6 - (metrics["loss"] - 0.1 * trial["config"]["x"])}


def is_feasible(trial):
    return all(excess <= 0 for excess in excesses(trial).values())


class ConstraintsCase(Case):
    def spec(self, **fields):
        spec = {"trainable": {"command": TRAINABLE}, "param_space": SPACE, "metric": "loss",
                "mode": "min", "constraints": CONSTRAINTS, "num_samples": TRIALS,
                "resources_per_trial": {}, "max_concurrent_trials": 2, **fields}
        self.write("spec.json", spec)
        return spec


class Search(ConstraintsCase, KilledCase):
    def check_best(self, directory):
        trials = self.json("ls", directory)
        self.assertEqual(len(trials), TRIALS)
        good = [trial for trial in trials if is_feasible(trial)]
        expected = min(good, key=lambda trial: trial["metrics"]["loss"])
        best_of_all = min(trials, key=lambda trial: trial["metrics"]["loss"])
        self.assertNotEqual(expected["trial_id"], best_of_all["trial_id"])
        for trial in trials:
            self.assertLessEqual(trial["config"]["x"] + trial["config"]["y"], 1.5)
        for scope in ("last", "all"):
            best = self.json("best", directory, "--scope", scope)
            self.assertEqual(best["trial_id"], expected["trial_id"])
            self.assertEqual(best["constraints"].keys(), excesses(expected).keys())
            for text, excess in excesses(expected).items():
                self.assertAlmostEqual(best["constraints"][text], excess)
        self.assertEqual(self.json("status", directory)["best"]["trial_id"], expected["trial_id"])
        return expected

    def test_the_best_is_the_best_that_fulfils_them_after_kills_too(self):
        # One at a time, so that no order of results depends on who is quicker.
        self.spec(searcher={"type": "tpe", "n_startup_trials": 8}, snapshot_period_s=1e6,
                  max_concurrent_trials=1)
        self.tune("run", "spec.json", "--name", "whole", "--progress", "none")
        expected = self.check_best("results/whole")
        for results in (30, 60):
            self.session_that_is_killed("killed", results)
        out = self.tune("resume", "results/killed", "--strict", "--progress", "lines").out
        self.assertEqual(self.json("status", "results/killed")["sessions"], 3)
        self.assertEqual(self.check_best("results/killed")["config"], expected["config"])
        self.assertRegex(out, rf"best loss \S+ by {expected['trial_id']} ")
        self.assertRegex(out, rf"\nbest trial +{expected['trial_id']}\n")
        self.assertRegex(self.tune("best", "results/killed").out,
                         r"\nconstraint +speed >= 4: -\S+\n")

    def test_a_front_has_only_trials_that_fulfil_them(self):
        constraints = ["speed >= 4.2"]
        self.spec(metric=["loss", "speed"], mode=["min", "max"], constraints=constraints,
                  searcher={"type": "nsga2", "population": 6})
        self.tune("run", "spec.json", "--progress", "none")
        points = {trial["trial_id"]: (trial["metrics"]["loss"], trial["metrics"]["speed"])
                  for trial in self.json("ls", "results/spec")}
        good = {name: point for name, point in points.items() if point[1] >= 4.2}
        self.assertLess(len(good), len(points))
        front = {name for name, (loss, speed) in good.items()
                 if not any((a, b) != (loss, speed) and a <= loss and b >= speed
                            for a, b in good.values())}
        best = self.json("best", "results/spec")
        self.assertEqual({one["trial_id"] for one in best}, front)
        for one in best:
            self.assertAlmostEqual(one["constraints"]["speed >= 4.2"],
                                   4.2 - good[one["trial_id"]][1])
        status = self.json("status", "results/spec")["front"]
        self.assertEqual(status["reference"]["speed"], min(speed for _, speed in points.values()))
        self.assertEqual(self.tune("best", "results/spec").out.splitlines()[0].split()[:4],
                         ["trial", "state", "loss", "speed"])


class NoBest(ConstraintsCase):
    def test_if_none_fulfils_them_the_nearest_one_is_named(self):
        for metric, mode in (("loss", "min"), (["loss", "speed"], ["min", "max"])):
            with self.subTest(metric):
                name = "one" if metric == "loss" else "two"
                self.spec(name=name, metric=metric, mode=mode, num_samples=6, searcher="random",
                          constraints=["speed >= 9", "loss <= 0"])
                out = self.tune("run", "spec.json", "--progress", "lines").out
                directory = self.path("results", name)
                violations = {trial["trial_id"]: (9 - trial["metrics"]["speed"]
                                                  + max(0, trial["metrics"]["loss"]))
                              for trial in self.json("ls", directory)}
                nearest = min(violations, key=violations.get)
                sentence = f"no trial in {directory} fulfils all constraints; {nearest} comes " \
                           "nearest, with a violation of "
                said = self.refused("best", directory)
                self.assertIn(sentence, said)
                self.assertAlmostEqual(float(said.split()[-1]), violations[nearest])
                self.assertIn(sentence, out)
                self.assertNotIn("best loss", out)
                self.assertIn(sentence, self.tune("status", directory).out)

    def test_a_result_without_a_metric_that_one_needs_is_a_failure(self):
        self.spec(num_samples=1, constraints=["sped >= 4"])
        self.tune("run", "spec.json", "--progress", "none", expect=1)
        self.assertIn("the result of iteration 1 lacks the metric 'sped' of the constraint "
                      "'sped >= 4'; it has: loss, speed",
                      self.json("ls", "results/spec")[0]["error"])

    def test_of_a_search_that_was_given_up_it_is_said_where_its_failed_trials_are(self):
        self.spec(num_samples=3, constraints=["sped >= 4"])
        self.tune("run", "spec.json", "--progress", "none", expect=1)
        self.assertIn("failed and will be tried again (PENDING)", self.tune("ls", "results/spec", "--state", "ERROR").err)
        self.assertEqual(self.tune("ls", "results/spec").err, "")

    def test_a_metric_that_is_no_number_fulfils_nothing(self):
        self.spec(num_samples=2, metric="speed", mode="max", constraints=["loss <= 1e9"],
                  param_space=dict(SPACE, kind="nan"))
        self.tune("run", "spec.json", "--progress", "none")
        self.assertIn("comes nearest, without a number for each of them",
                      self.refused("best", "results/spec"))


class Grid(ConstraintsCase):
    def test_points_that_break_one_are_no_trials(self):
        space = {"x": {"grid_search": [0, 0.5, 1]}, "y": {"grid_search": [0, 0.5, 1]},
                 "kind": "good"}
        drawn = {**space, "z": {"uniform": [0, 1]}}
        self.spec(param_space=drawn, num_samples=1, searcher="grid", constraints=["x + y <= 1"])
        self.assertIn("as many as can be tried", self.tune("preview", "spec.json").out)
        self.assertIsNone(self.json("preview", "spec.json")["trials"])
        self.spec(param_space=space, num_samples=1, searcher="grid", constraints=["x + y <= 1"])
        self.assertEqual(self.json("preview", "spec.json")["trials"], 6)
        self.tune("run", "spec.json", "--progress", "none")
        self.assertEqual([(trial["config"]["y"], trial["config"]["x"])
                          for trial in self.json("ls", "results/spec")],
                         [(y, x) for y, x in itertools.product([0, 0.5, 1], repeat=2) if x + y <= 1])
        self.spec(param_space=space, name="none", searcher="grid", constraints=["x + y <= -1"])
        self.assertIn("no config with 'x + y <= -1' was found in the grid: the constraints leave "
                      "too little of the param space",
                      self.tune("run", "spec.json", "--progress", "none", expect=2).err)

    def test_points_in_which_an_expression_has_no_value_are_no_trials(self):
        space = {"x": {"grid_search": [0, 0.5, 1]}, "y": {"expr": "1 / x"}, "kind": "good"}
        self.spec(param_space=space, num_samples=2, searcher="grid", constraints=[])
        sentence = ("1 of 3 configs of the grid are left out, since an expression has no value: "
                    "cannot evaluate /y = '1 / x': the result is not a finite number")
        self.assertIn(sentence, self.tune("run", "spec.json", "--progress", "none").err)
        self.assertEqual([trial["config"]["x"] for trial in self.json("ls", "results/spec")],
                         [0.5, 1, 0.5, 1])


class Asked(ConstraintsCase):
    def test_suggestions_fulfil_them_and_are_told_their_metrics(self):
        self.write("ask.json", {"param_space": {"x": {"uniform": [0, 1]}}, "metric": "loss",
                                "mode": "min", "searcher": {"type": "tpe", "n_startup_trials": 4},
                                "constraints": ["x <= 0.75", "val.ms >= 3*x"]})
        for trial in self.lines("suggest", "mine", "--spec", "ask.json", "-n", "12"):
            x = trial["config"]["x"]
            self.assertLessEqual(x, 0.75)
            self.tune("tell", "mine", trial["trial_id"], "--metrics",
                      json.dumps({"loss": x, "val": {"ms": 1}}))
        trials = self.json("ls", "mine")
        good = [trial["config"]["x"] for trial in trials if 3 * trial["config"]["x"] <= 1]
        self.assertTrue(0 < len(good) < 12)
        best = self.json("best", "mine")
        self.assertEqual(best["value"], min(good))
        self.assertAlmostEqual(best["constraints"]["val.ms >= 3*x"], 3 * min(good) - 1)

        one, = self.lines("suggest", "mine")
        for told in (["--value", "1"], ["--metrics", '{"loss": 1, "ms": 1}']):
            self.assertIn(f"the metrics of {one['trial_id']} cannot be taken: the result of "
                          "iteration 1 lacks the metric 'val/ms' of the constraint "
                          "'val.ms >= 3*x'",
                          self.refused("tell", "mine", one["trial_id"], *told))

        # Another experiment sees the same trials by its own constraints.
        done = self.tune("suggest", "more", "--spec", "ask.json", "--warm-start", "mine", "--set",
                         'constraints=["x <= 0.6", "val.ms >= 2*x", "loss >= 0"]')
        with open(self.path("more", "experiment.json"), encoding="utf-8") as file:
            searcher = json.load(file)["searcher"]
        points = [point["x"] for point in searcher["points_to_evaluate"]]
        self.assertEqual(points, [trial["config"]["x"] for trial in trials
                                  if trial["config"]["x"] <= 0.6])
        self.assertEqual(searcher["evaluated_constraints"], [[2 * x - 1, -x] for x in points])
        self.assertIn("left out: they break the constraint 'x <= 0.6'", done.err)
        self.lines("suggest", "more")
        err = self.tune("suggest", "none", "--spec", "ask.json", "--warm-start", "mine", "--set",
                        'constraints=["kb <= 1"]').err
        self.assertIn("12 trials left out: they have no number for 'kb' of the constraint "
                      "'kb <= 1'", err)

    def test_trials_with_other_values_of_expressions_teach_nothing(self):
        space = {"x": {"uniform": [0, 1]}, "y": {"expr": "2 * x"}}
        self.write("ask.json", {"param_space": space, "metric": "loss", "mode": "min"})
        one, = self.lines("suggest", "mine", "--spec", "ask.json")
        self.tune("tell", "mine", one["trial_id"], "--value", "1")
        for factor, is_left_out in ((2, False), (3, True)):
            done = self.tune("suggest", f"by{factor}", "--spec", "ask.json", "--warm-start", "mine",
                             "--set", f'param_space/y={{"expr": "{factor} * x"}}')
            self.assertEqual("1 trial left out: they have other values of expressions" in done.err,
                             is_left_out, done.err)


class Specs(ConstraintsCase):
    def test_what_is_wrong_is_said_with_its_place(self):
        self.spec()
        for options, sentence in (
                (["--set", "constraints=3"], "--set constraints: constraints must be a list of texts "
                                             "like \"latency <= 20\", got 3"),
                (["--set", 'constraints=["loss <= 1", "x < 1"]'],
                 "--set constraints: /1: 'x < 1' is not a constraint: it must have one '<=' or '>=' "
                 "between two expressions, got none"),
                (["--constraint", "kind <= 1"],
                 "--constraint: the constraint 'kind <= 1' uses 'kind', which is not a number"),
                (["--searcher", '{"type": "tpe", "points_to_evaluate": [{"x": 1, "y": 1}]}'],
                 "--searcher: /points_to_evaluate/0: the config breaks the constraint "
                 "'x + y <= 1.5'"),
                (["--searcher", '{"type": "tpe", "constraints": ["x"]}'],
                 "--searcher: /constraints: unknown option 'constraints'")):
            with self.subTest(options[1]):
                self.assertTrue(self.refused("validate", "spec.json", *options).startswith(sentence),
                                self.refused("validate", "spec.json", *options))
        self.write("curves.csv", "curve,iteration,loss\n0,1,1\n")
        self.assertIn("a simulation knows no constraints",
                      self.refused("simulate", "spec.json", "--curves", "curves.csv"))

    def test_they_can_be_given_one_by_one_and_stay_as_they_are(self):
        self.spec(num_samples=1, constraints=["x <= 0.9"])
        self.tune("run", "spec.json", "--constraint", "y <= 0.9", "--constraint", "loss <= 9",
                  "--progress", "none")
        with open(self.path("results", "spec", "experiment.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["constraints"], ["x <= 0.9", "y <= 0.9", "loss <= 9"])
        self.assertIn("the constraints of a started experiment cannot change",
                      self.refused("resume", "results/spec", "--constraint", "loss <= 3"))

    def test_a_directory_from_before_constraints_can_be_resumed(self):
        self.spec(num_samples=1, constraints=[])
        self.tune("run", "spec.json", "--progress", "none")
        path = self.path("results", "spec", "experiment.json")
        with open(path, encoding="utf-8") as file:
            kept = json.load(file)
        del kept["constraints"]
        os.remove(path)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(kept, file)
        self.tune("resume", "results/spec", "--num-samples", "2", "--progress", "none")
        self.assertTrue(math.isfinite(self.json("best", "results/spec")["value"]))


if __name__ == "__main__":
    main()
