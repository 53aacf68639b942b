"""A class that is saved, cloned and reset under population-based training."""
import json
import os
import random

from ray import tune
from ray.tune.schedulers import PopulationBasedTraining


class Slope(tune.Trainable):
    """Gradient descent on a parabola, with noise that grows with the step."""

    def setup(self, config):
        self.random = random.Random(7)
        self.x = 5.0
        self.lr = config["lr"]
        self.momentum = config["optimizer"]["momentum"]
        self.velocity = 0.0

    def step(self):
        for _ in range(5):
            self.velocity = self.momentum * self.velocity - self.lr * 2 * self.x
            self.x += self.velocity + self.random.gauss(0, self.lr)
        return {"loss": self.x**2, "optimizer": {"lr": self.lr}}

    def save_checkpoint(self, checkpoint_dir):
        with open(os.path.join(checkpoint_dir, "state.json"), "w") as file:
            json.dump({"x": self.x, "velocity": self.velocity}, file)

    def load_checkpoint(self, checkpoint_dir):
        with open(os.path.join(checkpoint_dir, "state.json")) as file:
            state = json.load(file)
        self.x, self.velocity = state["x"], state["velocity"]

    def reset_config(self, new_config):
        self.setup(new_config)
        return True


if __name__ == "__main__":
    scheduler = PopulationBasedTraining(
        time_attr="training_iteration",
        metric="loss",
        mode="min",
        perturbation_interval=2,
        hyperparam_mutations={
            "lr": tune.uniform(0.001, 0.2),
            "optimizer": {"momentum": [0.0, 0.3, 0.6]},
        },
    )
    tuner = tune.Tuner(
        Slope,
        param_space={
            "lr": tune.grid_search([0.0005, 0.02, 0.1]),
            "optimizer": {"momentum": 0.3},
        },
        tune_config=tune.TuneConfig(scheduler=scheduler, reuse_actors=True),
        run_config=tune.RunConfig(
            name="slope",
            storage_path=os.path.abspath("ray_results"),
            stop={"training_iteration": 8},
            checkpoint_config=tune.CheckpointConfig(checkpoint_frequency=2, checkpoint_at_end=True),
            verbose=1,
        ),
    )
    results = tuner.fit()
    best = results.get_best_result(metric="loss", mode="min")
    frame = results.get_dataframe(filter_metric="loss", filter_mode="min")
    with open(os.path.join(best.checkpoint.to_directory("best"), "state.json")) as file:
        state = json.load(file)
    print(len(results), "trials,", results.num_errors, "errors")
    print("iterations:", sorted(each.metrics["training_iteration"] for each in results))
    print("saved what was reported:", abs(state["x"] ** 2 - best.metrics["loss"]) < 1e-9)
    print("nested:", best.metrics["optimizer"]["lr"] == best.config["lr"])
    print("least losses:", (frame["loss"] <= results.get_dataframe()["loss"]).all())
