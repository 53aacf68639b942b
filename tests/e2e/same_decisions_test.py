"""With one trial at a time and a deterministic trainable, an experiment whose driver was killed
again and again is the same as one that nobody has disturbed: configs, results, decisions.
"""
import os
import shutil
import sys

from cli_support import main
from driver_support import KilledCase

LOGISTIC = [sys.executable, os.path.join(os.path.dirname(__file__), "logistic_trainable.py")]
KILLS = 5
ITERATIONS = 15


class SameDecisions(KilledCase):
    def spec(self, **fields):
        self.write("spec.json", {
            "trainable": {"command": LOGISTIC}, "metric": "x", "mode": "max", "seed": 11,
            "max_concurrent_trials": 1, "resources_per_trial": {},
            "stop": [{"training_iteration": ITERATIONS}, {"metric": "x", ">=": 0.97}],
            "checkpoint_config": {"checkpoint_frequency": 4, "num_to_keep": 2,
                                  "checkpoint_at_end": True, "checkpoint_score_attribute": "x"},
            # One journal from the first event to the last, so that it can be compared.
            "snapshot_period_s": 1e6,
            **fields})

    def decisions(self, name):
        """Trials, and what followed from each result; without times, processes and attempts. What
        was reported again after a kill must have been the same as before."""
        trials, results = [], {}
        for event in self.events(name):
            if event["e"] == "trial":
                trials.append((event["trial"], event["config"], event["tag"]))
            elif event["e"] == "result":
                place = event["trial"], event["iteration"]
                what = {key: event.get(key) for key in ("metrics", "action", "save", "done")}
                self.assertEqual(results.setdefault(place, what), what, place)
        return trials, results

    def endings(self, name):
        # Of the earlier checkpoints some may lack: one that was being committed beside the training
        # when the driver was killed is not made again once there is a later one.
        checkpoints = self.json("checkpoints", f"results/{name}", "--verify")
        return ([(trial["trial_id"], trial["state"], trial["training_iteration"], trial["config"],
                  trial["metrics"]["x"]) for trial in self.json("ls", f"results/{name}")],
                [(c["trial_id"], c["training_iteration"], c["score"], c["triggers"])
                 for c in checkpoints if c["is_latest"]])

    def assert_kills_change_nothing(self):
        self.tune("run", "spec.json", "--name", "undisturbed", "--progress", "none")
        expected = self.decisions("undisturbed")
        places = list(expected[1])
        self.assertGreater(len(places), 3 * KILLS)
        for kill in range(1, KILLS + 1):
            # Some results are reported again after each kill, so the end is never reached here.
            self.session_that_is_killed("killed", kill * len(places) // (KILLS + 2))
        self.tune("resume", "results/killed", "--strict", "--progress", "none")
        trials, results = self.decisions("killed")
        self.assertEqual(trials, expected[0])
        self.assertEqual(list(results), places)  # in the same order
        self.assertEqual(results, expected[1])
        self.assertEqual(self.endings("killed"), self.endings("undisturbed"))
        # Both kinds of end are in it, and results that asked for checkpoints.
        lengths = {trial[2] for trial in self.endings("killed")[0]}
        self.assertIn(ITERATIONS, lengths)
        self.assertGreater(len(lengths), 1)
        self.assertEqual(self.json("status", "results/killed")["sessions"], KILLS + 1)

    def test_a_random_search_is_the_same_however_often_its_driver_was_killed(self):
        self.spec(num_samples=10, searcher="random", param_space={
            "rate": {"uniform": [3.6, 4.0]}, "start": {"uniform": [0.1, 0.9]},
            "kind": {"choice": [{"name": "a"}, {"name": "b", "depth": {"randint": [1, 9]}}]}})
        self.assert_kills_change_nothing()

    def test_a_grid_search_is_the_same_however_often_its_driver_was_killed(self):
        self.spec(num_samples=2, searcher="grid", param_space={
            "rate": {"grid_search": [3.62, 3.7, 3.9, 3.95, 3.99]}, "start": {"uniform": [0.1, 0.9]}})
        self.assert_kills_change_nothing()

    def test_a_model_suggests_the_same_however_often_its_driver_was_killed(self):
        for searcher in ({"type": "tpe", "n_startup_trials": 3}, {"type": "gp", "n_startup_trials": 3},
                         {"type": "bohb", "max_t": 5, "min_points_in_model": 1},
                         {"type": "nsga2", "population": 3}):
            with self.subTest(searcher["type"]):
                # With a lower range, no trial of nsga2's ends early.
                self.experiment_of(searcher, lowest=3.8 if searcher["type"] == "nsga2" else 3.6)
                asked = [event["trial"] for event in self.events("killed") if event["e"] == "ask"]
                self.assertEqual(sorted(set(asked)), list(range(11)))

    def test_what_answers_at_once_suggests_the_same_however_often_its_driver_was_killed(self):
        for searcher in ({"type": "cma_es"}, {"type": "sobol"}, {"type": "latin_hypercube"}):
            with self.subTest(searcher["type"]):
                # In the middle of a lower range, where cma_es begins, no trial ends early.
                self.experiment_of(searcher, lowest=3.8)

    def test_freeze_thaw_starts_and_thaws_the_same_however_often_its_driver_was_killed(self):
        self.spec(num_samples=8, scheduler={"type": "freeze_thaw", "max_t": ITERATIONS}, param_space={
            "rate": {"uniform": [3.6, 4.0]}, "start": {"uniform": [0.1, 0.9]}})
        self.assert_kills_change_nothing()
        # It was the searcher that had paused trials go on, and not all of them to the end.
        for name in ("undisturbed", "killed"):
            thawed = [event["trial"] for event in self.events(name)
                      if event["e"] == "attempt" and event.get("by_searcher")]
            self.assertGreater(len(thawed), 5)
        self.assertIn("PAUSED", {trial[1] for trial in self.endings("killed")[0]})

    def test_with_priors_a_model_suggests_the_same_however_often_its_driver_was_killed(self):
        for searcher in ({"type": "tpe", "n_startup_trials": 3}, {"type": "gp", "n_startup_trials": 3}):
            with self.subTest(searcher["type"]):
                self.experiment_of(searcher, rate={"prior": 3.7}, start={
                    "prior": {"value": 0.3, "confidence": "high"}})
                first = self.endings("undisturbed")[0][0][3]
                self.assertEqual([first["rate"], first["start"]], [3.7, 0.3])

    def experiment_of(self, searcher, lowest=3.6, rate=None, start=None):
        for name in ("undisturbed", "killed"):
            shutil.rmtree(self.path("results", name), ignore_errors=True)
        self.spec(num_samples=10, searcher=searcher, param_space={
            "rate": {"uniform": [lowest, 4.0], **(rate or {})},
            "start": {"uniform": [0.1, 0.9], **(start or {})},
            "kind": {"choice": [{"name": "a"}, {"name": "b", "depth": {"randint": [1, 9]}}]}})
        self.assert_kills_change_nothing()


if __name__ == "__main__":
    main()
