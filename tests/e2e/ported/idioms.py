"""Resources, data beside the config, a grid, stop rules, Optuna, and a search that is gone on with."""
import os

from ray import tune
from ray.tune.search import ConcurrencyLimiter
from ray.tune.search.optuna import OptunaSearch
from ray.tune.stopper import CombinedStopper, MaximumIterationStopper, Stopper, TrialPlateauStopper


class Total(tune.Trainable):
    def setup(self, config, data=None):
        self.step_size = config["step"]
        self.total = float(sum(data))

    def step(self):
        self.total += self.step_size
        return {"total": self.total, "gap": abs(10 - self.total)}

    def save_checkpoint(self, checkpoint_dir):
        return {"total": self.total}

    def load_checkpoint(self, checkpoint):
        self.total = checkpoint["total"]


class TooFar(Stopper):
    """Ends a trial whose gap has grown twice."""

    def __init__(self, patience):
        self.patience = patience
        self.least, self.worse = {}, {}

    def __call__(self, trial_id, result):
        if result["gap"] < self.least.get(trial_id, float("inf")):
            self.least[trial_id] = result["gap"]
        else:
            self.worse[trial_id] = self.worse.get(trial_id, 0) + 1
        return self.worse.get(trial_id, 0) >= self.patience

    def stop_all(self):
        return False


def objective(config):
    for step in range(20):
        tune.report({"loss": (config["x"] - 1) ** 2 + 1 / (step + 1)})


def answers_a_number(config):
    return config["x"] * 2


def yields(config):
    for i in range(3):
        yield {"twice": config["x"] * i}


def is_slow(trial_id, result):
    return result["training_iteration"] >= 4 and result["loss"] > 0.1


def storage(name, **more):
    return tune.RunConfig(name=name, storage_path=os.path.abspath("ray_results"), verbose=0, **more)


if __name__ == "__main__":
    results = tune.Tuner(
        tune.with_resources(
            tune.with_parameters(Total, data=[1, 2]), tune.PlacementGroupFactory([{"CPU": 1}])
        ),
        param_space={"step": tune.grid_search([1, 3])},
        tune_config=tune.TuneConfig(metric="gap", mode="min"),
        run_config=storage(
            "grid",
            stop=CombinedStopper(MaximumIterationStopper(max_iter=9), TooFar(patience=2)),
            checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=True),
        ),
    ).fit()
    print("grid:", sorted(each.metrics["training_iteration"] for each in results))
    print("least gap:", results.get_best_result(scope="all").config)

    results = tune.Tuner(
        objective,
        param_space={"x": tune.uniform(-2, 2)},
        tune_config=tune.TuneConfig(
            metric="loss",
            mode="min",
            num_samples=4,
            search_alg=ConcurrencyLimiter(
                OptunaSearch(points_to_evaluate=[{"x": 1.0}], seed=3), max_concurrent=2
            ),
        ),
        run_config=storage("optuna", stop=is_slow),
    ).fit()
    best = results.get_best_result()
    print("optuna:", len(results), "best:", best.config["x"], best.metrics["training_iteration"])

    results = tune.Tuner(
        objective,
        param_space={"x": 1.0},
        tune_config=tune.TuneConfig(metric="loss", mode="min"),
        run_config=storage("plateau", stop=TrialPlateauStopper("loss", std=0.05, num_results=3)),
    ).fit()
    print("plateau:", results[0].metrics["training_iteration"] < 20)

    doubled = tune.Tuner(answers_a_number, param_space={"x": 3}, run_config=storage("one")).fit()
    yielded = tune.Tuner(yields, param_space={"x": 3}, run_config=storage("three")).fit()
    print("answers:", doubled[0].metrics["_metric"], yielded[0].metrics["twice"])

    path = os.path.abspath("ray_results/grid")
    print("can be restored:", tune.Tuner.can_restore(path), tune.Tuner.can_restore(path + "s"))
    restored = tune.Tuner.restore(path, trainable=tune.with_parameters(Total, data=[1, 2]))
    print("restored:", len(restored.get_results()))
