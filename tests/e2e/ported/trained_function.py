"""A perceptron in plain Python, stopped early by ASHA; each epoch is a checkpoint."""
import json
import os
import random
import tempfile

from ray import tune
from ray.tune.schedulers import ASHAScheduler


def make_data(seed):
    numbers = random.Random(seed)
    points = [[numbers.uniform(-1, 1), numbers.uniform(-1, 1)] for _ in range(200)]
    return [(x, 1 if 2 * x[0] - x[1] + 0.3 > 0 else -1) for x in points]


def train_perceptron(config):
    weights, epoch = [0.0, 0.0, 0.0], 0
    checkpoint = tune.get_checkpoint()
    if checkpoint:
        with checkpoint.as_directory() as directory:
            with open(os.path.join(directory, "state.json")) as file:
                state = json.load(file)
        weights, epoch = state["weights"], state["epoch"]

    train, valid = make_data(1), make_data(2)
    while epoch < config["epochs"]:
        for x, y in train:
            score = weights[0] * x[0] + weights[1] * x[1] + weights[2]
            if y * score <= config["margin"]:
                for i, value in enumerate([*x, 1.0]):
                    weights[i] += config["lr"] * y * value
        epoch += 1
        right = sum(y * (weights[0] * x[0] + weights[1] * x[1] + weights[2]) > 0 for x, y in valid)
        with tempfile.TemporaryDirectory() as directory:
            with open(os.path.join(directory, "state.json"), "w") as file:
                json.dump({"weights": weights, "epoch": epoch}, file)
            tune.report(
                {"accuracy": right / len(valid), "epoch": epoch},
                checkpoint=tune.Checkpoint.from_directory(directory),
            )


def main():
    tuner = tune.Tuner(
        tune.with_resources(train_perceptron, {"cpu": 1}),
        param_space={
            "lr": tune.loguniform(1e-3, 1e-1),
            "margin": tune.choice([0.0, 0.1, 0.5]),
            "epochs": 8,
        },
        tune_config=tune.TuneConfig(
            metric="accuracy",
            mode="max",
            num_samples=6,
            scheduler=ASHAScheduler(max_t=8, grace_period=2, reduction_factor=2),
        ),
        run_config=tune.RunConfig(
            name="perceptron",
            storage_path=os.path.abspath("ray_results"),
            checkpoint_config=tune.CheckpointConfig(
                num_to_keep=2,
                checkpoint_score_attribute="accuracy",
                checkpoint_score_order="max",
            ),
            failure_config=tune.FailureConfig(max_failures=1),
        ),
    )
    results = tuner.fit()

    for result in results:
        if result.error:
            print("failed:", result.error)
    best = results.get_best_result()
    with best.checkpoint.as_directory() as directory:
        with open(os.path.join(directory, "state.json")) as file:
            state = json.load(file)
    best_checkpoint = best.get_best_checkpoint(metric="accuracy", mode="max")
    kept = [metrics["accuracy"] for _, metrics in best.best_checkpoints]
    print(len(results), "trials,", results.num_errors, "errors")
    print("epochs of the best:", best.metrics["training_iteration"], "saved:", state["epoch"])
    print("kept:", len(kept), "best:", max(kept) == best.metrics_dataframe["accuracy"].max())
    print("accuracy above 0.8:", best.metrics["accuracy"] > 0.8, "with lr:", 0.001 <= best.config["lr"] <= 0.1)
    print("best checkpoint:", os.path.exists(os.path.join(best_checkpoint.path, "state.json")))


if __name__ == "__main__":
    main()
