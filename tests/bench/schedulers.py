"""Compares schedulers on LCBench's learning curves, as a table for people (Markdown).

    schedulers.py TUNE DIR [--task ID ...] [--scheduler LIST] [--searcher NAME] [--workers LIST] [--seeds K]

TUNE is the program, DIR has `<task>.configs.csv.gz` (config_id, hyperparameters) and
`<task>.curves.csv.gz` (config_id, epoch, val_accuracy, time) for each task. The target is the best
accuracy of all configs and epochs, less 1 %. Without a searcher, configs come in a random order.
"""
import argparse
import csv
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

# What LCBench drew its configs from.
SPACE = {"batch_size": {"lograndint": [16, 513]}, "learning_rate": {"loguniform": [1e-4, 1e-1]},
         "momentum": {"uniform": [0.1, 0.99]}, "weight_decay": {"uniform": [1e-5, 1e-1]},
         "num_layers": {"randint": [1, 6]}, "max_units": {"lograndint": [64, 1025]},
         "max_dropout": {"uniform": [0, 1]}}


def join(configs, curves, joined):
    """One file as `tune simulate` wants it, of the two that a task has."""
    with gzip.open(configs, "rt") as file:
        by_id = {row.pop("config_id"): row for row in csv.DictReader(file)}
    with gzip.open(curves, "rt") as file, open(joined, "w", encoding="utf-8") as out:
        writer = None
        for row in csv.DictReader(file):
            config = by_id[row["config_id"]]
            line = {"trial_id": row["config_id"],
                    **{"config/" + name: value for name, value in config.items()},
                    "training_iteration": row["epoch"], "val_accuracy": row["val_accuracy"],
                    "time_total_s": row["time"]}
            if writer is None:
                writer = csv.DictWriter(out, line)
                writer.writeheader()
            writer.writerow(line)


def simulate(options, curves):
    search = []
    if options.searcher:
        space = curves.with_suffix(".space.json")
        space.write_text(json.dumps(SPACE))
        search = ["--searcher", options.searcher, "--param-space", space]
    done = subprocess.run(
        [options.tune, "simulate", "--curves", curves, "--metric", "val_accuracy", "--mode", "max",
         "--scheduler", options.scheduler, "--workers", options.workers,
         "--seeds", str(options.seeds), "--csv", *search], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)
    return list(csv.DictReader(done.stdout.splitlines()))


def cell(line, name):
    mean, error = line[f"{name}_mean"], line[f"{name}_error"]
    if not mean:
        return "-"
    return f"{float(mean):,.0f}" + (f" ± {float(error):,.0f}" if error else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tune")
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("--task", action="append")
    parser.add_argument("--scheduler", default="fifo,asha")
    parser.add_argument("--searcher")
    parser.add_argument("--workers", default="1,4,16,64")
    parser.add_argument("--seeds", type=int, default=30)
    options = parser.parse_args()
    tasks = options.task or sorted(file.name.split(".")[0]
                                   for file in options.dir.glob("*.curves.csv.gz"))
    if not tasks:
        sys.exit(f"schedulers.py: there is no *.curves.csv.gz in {options.dir}")
    print("| Task | Scheduler | Workers | s to target | Reached | Best accuracy | Iterations |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory(prefix="tune-schedulers-") as scratch:
        for task in tasks:
            joined = pathlib.Path(scratch) / f"{task}.csv"
            join(options.dir / f"{task}.configs.csv.gz", options.dir / f"{task}.curves.csv.gz",
                 joined)
            for line in simulate(options, joined):
                print(f"| {task} | {line['scheduler']} | {line['workers']} | {cell(line, 'target_s')} "
                      f"| {line['target_reached']}/{line['seeds']} "
                      f"| {float(line['best_mean']):.2f} | {float(line['iterations']):,.0f} |",
                      flush=True)


if __name__ == "__main__":
    main()
