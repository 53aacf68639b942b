"""Compares schedulers on known learning curves, as a table for people (Markdown).

    schedulers.py TUNE DIR [--task ID ...] [--scheduler LIST] [--searcher NAME ...] [--workers LIST]
                           [--seeds K] [--trainings N] [--samples N] [--metric NAME --mode MODE]
                           [--param-space FILE] [--rows FILE]

TUNE is the program. DIR has for each task `<task>.curves.csv.gz`: a curve file
(docs/file_formats.md), or LCBench's tables, which are `<task>.configs.csv.gz` (config_id,
hyperparameters) and curves of config_id, epoch, val_accuracy, time. The target is within 1 % of the
best value of all configs and epochs. With `random`, configs come in a random order. With
--trainings, what is best after so many mean full trainings of a worker.
--samples is how many configs are tried at most: before each of 2,000 gp thinks for tens of ms.
--rows appends all rows to a CSV file, in full precision and with the best value of the table, for
regret.py.
"""
import argparse
import csv
import gzip
import json
import math
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


def mean_training_s(curves):
    """How long a config trains in all."""
    with open(curves, encoding="utf-8") as file:
        ends = {row["trial_id"]: float(row["time_total_s"]) for row in csv.DictReader(file)}
    return sum(ends.values()) / len(ends)


def best_of(curves, options):
    """Of all configs and epochs."""
    with open(curves, encoding="utf-8") as file:
        values = [float(row[options.metric]) for row in csv.DictReader(file)]
    return (max if options.mode == "max" else min)(v for v in values if not math.isnan(v))


def simulate(options, curves, searcher):
    more = []
    if searcher != "random":
        space = options.param_space
        if not space:
            space = curves.with_suffix(".space.json")
            space.write_text(json.dumps(SPACE))
        more = ["--searcher", searcher, "--param-space", space]
    if options.samples:
        more += ["--num-samples", str(options.samples)]
    if options.trainings:
        more += ["--time-budget-s", str(options.trainings * mean_training_s(curves))]
    done = subprocess.run(
        [options.tune, "simulate", "--curves", curves, "--metric", options.metric,
         "--mode", options.mode, "--scheduler", options.scheduler, "--workers", options.workers,
         "--seeds", str(options.seeds), "--csv", *more],
        stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)
    return list(csv.DictReader(done.stdout.splitlines()))


def keep(path, row):
    is_new = not path.exists()
    with open(path, "a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, row)
        if is_new:
            writer.writeheader()
        writer.writerow(row)


def cell(line, name, form):
    mean, error = line[f"{name}_mean"], line[f"{name}_error"]
    if not mean:
        return "-"
    return f"{float(mean):{form}}" + (f" ± {float(error):{form}}" if error else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tune")
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("--task", action="append")
    parser.add_argument("--scheduler", default="fifo,asha")
    parser.add_argument("--searcher", action="append")
    parser.add_argument("--workers", default="1,4,16,64")
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--samples", type=int)
    parser.add_argument("--trainings", type=float)
    parser.add_argument("--metric", default="val_accuracy")
    parser.add_argument("--mode", default="max")
    parser.add_argument("--param-space", type=pathlib.Path)
    parser.add_argument("--rows", type=pathlib.Path)
    options = parser.parse_args()
    tasks = options.task or sorted(file.name.split(".")[0]
                                   for file in options.dir.glob("*.curves.csv.gz"))
    if not tasks:
        sys.exit(f"schedulers.py: there is no *.curves.csv.gz in {options.dir}")
    print("| Task | Searcher | Scheduler | Workers | s to target | Reached | Best | Trials | Iterations |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory(prefix="tune-schedulers-") as scratch:
        for task in tasks:
            joined = pathlib.Path(scratch) / f"{task}.csv"
            configs = options.dir / f"{task}.configs.csv.gz"
            curves = options.dir / f"{task}.curves.csv.gz"
            if configs.exists():
                join(configs, curves, joined)
            else:
                joined.write_bytes(gzip.decompress(curves.read_bytes()))
            best = best_of(joined, options)
            for searcher in options.searcher or ["random"]:
                for line in simulate(options, joined, searcher):
                    if options.rows:
                        keep(options.rows, {"task": task, "searcher": searcher, "table_best": best, **line})
                    print(f"| {task} | {searcher} | {line['scheduler']} | {line['workers']} "
                          f"| {cell(line, 'target_s', ',.0f')} "
                          f"| {line['target_reached']}/{line['seeds']} | {cell(line, 'best', '.4g')} "
                          f"| {float(line['trials']):,.0f} | {float(line['iterations']):,.0f} |",
                          flush=True)


if __name__ == "__main__":
    main()
