"""Compares population-based training with random search on the digits example, as a table for
people (Markdown).

    pbt_digits.py TUNE DIGITS [--seeds K] [--population N] [--epochs E]

For each seed, both train the same N configs (learning rate and momentum, drawn at random) for E
epochs each, so both train N * E epochs: random search as they are, the population with changes on
the way. What counts is the validation loss, which both choose by. With `synch` the population gives
the same numbers each time, on any number of processors.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

SPACE = {"learning_rate": {"loguniform": [1e-3, 1.0]}, "momentum": {"uniform": [0, 0.99]}}
SCHEDULERS = {
    "random search": "fifo",
    "pbt": {"type": "pbt", "time_attr": "training_iteration", "perturbation_interval": 5,
            "synch": True, "hyperparam_mutations": SPACE},
}


def run(options, name, seed, scratch):
    """(loss, accuracy) of all results, by trial and epoch."""
    spec = {"name": "search", "storage_path": str(scratch), "seed": seed,
            "trainable": {"command": [str(pathlib.Path(options.digits).resolve())]},
            "param_space": {**SPACE, "seed": {"randint": [0, 1000000]}},
            "metric": "val_loss", "mode": "min", "num_samples": options.population,
            "scheduler": SCHEDULERS[name], "reuse_processes": True,
            "stop": {"training_iteration": options.epochs},
            "checkpoint_config": {"num_to_keep": 1}}
    file = scratch / "spec.json"
    file.write_text(json.dumps(spec))
    done = subprocess.run([options.tune, "run", str(file), "--progress", "none"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)
    status = json.loads(subprocess.run([options.tune, "status", str(scratch / "search"), "--json"],
                                       stdout=subprocess.PIPE, check=True).stdout)
    trained, wanted = status["results"], options.population * options.epochs
    if trained != wanted or status["states"]["TERMINATED"] != options.population:
        sys.exit(f"pbt_digits.py: {name} trained {trained} epochs instead of {wanted}")
    found = []
    for log in (scratch / "search").glob("trial_*/result.json"):
        found.append([(value(line["val_loss"], math.inf), value(line["val_accuracy"], 0))
                      for line in map(json.loads, log.read_text().splitlines())])
    return found


def value(number, worst):
    return number if isinstance(number, (int, float)) and math.isfinite(number) else worst


def figures(trials):
    """What the search has found: at the end, and at any epoch."""
    at_the_end = min(trial[-1] for trial in trials)
    return {"loss at the end": at_the_end[0],
            "least loss": min(loss for trial in trials for loss, _ in trial),
            "accuracy at the end": 100 * at_the_end[1],
            "best accuracy": 100 * max(accuracy for trial in trials for _, accuracy in trial)}


def show(values, digits):
    mean = statistics.mean(values)
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tune")
    parser.add_argument("digits")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--population", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=100)
    options = parser.parse_args()
    table = {name: [] for name in SCHEDULERS}
    columns = None
    for seed in range(1, options.seeds + 1):
        for name, rows in table.items():
            with tempfile.TemporaryDirectory(prefix="tune-pbt-digits-") as scratch:
                rows.append(figures(run(options, name, seed, pathlib.Path(scratch).resolve())))
            if columns is None:
                columns = list(rows[0])
                print("| Seed | Search | " + " | ".join(columns) + " |")
                print("| --- " * (len(columns) + 2) + "|")
            print(f"| {seed} | {name} | " + " | ".join(
                f"{number:.{4 if 'loss' in column else 2}f}" for column, number in rows[-1].items())
                  + " |", flush=True)
    for name, rows in table.items():
        print(f"| mean | {name} | " + " | ".join(
            show([row[column] for row in rows], 4 if "loss" in column else 2)
            for column in columns) + " |")
    differences = [pbt["least loss"] - random["least loss"]
                   for pbt, random in zip(table["pbt"], table["random search"])]
    print(f"\nleast loss, pbt less random search: {show(differences, 4)}")


if __name__ == "__main__":
    main()
