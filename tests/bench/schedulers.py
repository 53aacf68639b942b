"""Compares schedulers on known learning curves, as a table for people (Markdown).

    schedulers.py TUNE DIR [--task ID ...] [--scheduler LIST] [--searcher NAME ...] [--workers LIST]
                           [--seeds K] [--first-seed N] [--trainings N] [--samples N] [--metric NAME --mode MODE]
                           [--param-space FILE] [--rows FILE] [--epochs N] [--launch-s S] [--save-s S]
                           [--prior good|bad]

TUNE is the program. DIR has for each task `<task>.curves.csv.gz`: a curve file
(docs/file_formats.md), or LCBench's tables, which are `<task>.configs.csv.gz` (config_id,
hyperparameters) and curves of config_id, epoch, val_accuracy, time. The target is within 1 % of the
best value of all configs and epochs. With `random`, configs come in a random order. With
--trainings, what is best after so many mean full trainings of a worker.
--samples is how many configs are tried at most: before each of 2,000 gp thinks for tens of ms.
With --epochs, each epoch takes a second and a search has N of them in all, on however many workers. Printed
is the regret after a tenth, a quarter, a half and all of them: (best of the table - best found) / (best of
the table - median of the first epoch's values), at most 1, and its mean over twenty such moments (AUC); then means
over the tasks, with standard errors over these.
--launch-s and --save-s are what each start of a trial and each save costs; with --epochs, in epochs.
With --prior, each hyperparameter has a prior: good: that of the best config of the table, moved by a tenth of its range
(one standard deviation); bad: that of the config whose best value is the worst.
--rows appends all rows to a CSV file, in full precision and with the best value of the table, for
regret.py.
"""
import argparse
import csv
import gzip
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

# What LCBench drew its configs from.
SPACE = {"batch_size": {"lograndint": [16, 513]}, "learning_rate": {"loguniform": [1e-4, 1e-1]},
         "momentum": {"uniform": [0.1, 0.99]}, "weight_decay": {"uniform": [1e-5, 1e-1]},
         "num_layers": {"randint": [1, 6]}, "max_units": {"lograndint": [64, 1025]},
         "max_dropout": {"uniform": [0, 1]}}


MOMENTS = 20


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


def with_priors(space, curves, options):
    """The space with a prior beside each of its domains, which are of numbers."""
    sign = 1 if options.mode == "max" else -1
    best = {}
    with open(curves, encoding="utf-8") as file:
        for row in csv.DictReader(file):
            value = sign * float(row[options.metric])
            if math.isnan(value):
                value = -math.inf
            if row["trial_id"] not in best or value > best[row["trial_id"]][0]:
                best[row["trial_id"]] = (value, row)
    chosen = (max if options.prior == "good" else min)(best.values(), key=lambda each: each[0])[1]
    rng = random.Random(curves.stem)
    result = {}
    for name, domain in space.items():
        ((kind, (lower, upper)),) = domain.items()
        value = float(chosen["config/" + name])
        last = upper - 1 if "int" in kind else upper
        if options.prior == "good":
            scale, back = (math.log, math.exp) if "log" in kind else (float, float)
            value = back(scale(value) + 0.1 * (scale(upper) - scale(lower)) * rng.gauss(0, 1))
        value = min(max(round(value) if "int" in kind else value, lower), last)
        result[name] = {**domain, "prior": value}
    return result


def simulate(options, curves, searcher, workers=None, more=()):
    more = [*more, "--launch-s", str(options.launch_s), "--save-s", str(options.save_s)]
    if searcher != "random" or "freeze_thaw" in options.scheduler or options.prior:
        space = options.param_space
        if not space:
            space = curves.with_suffix(".space.json")
            space.write_text(json.dumps(SPACE))
        if options.prior:
            believed = with_priors(json.loads(space.read_text()), curves, options)
            space = curves.with_suffix(".space.json")
            space.write_text(json.dumps(believed))
        more += ["--param-space", space]
    if searcher != "random":
        more += ["--searcher", searcher]
    if options.samples:
        more += ["--num-samples", str(options.samples)]
    if options.trainings:
        more += ["--time-budget-s", str(options.trainings * mean_training_s(curves))]
    done = subprocess.run(
        [options.tune, "simulate", "--curves", curves, "--metric", options.metric,
         "--mode", options.mode, "--scheduler", options.scheduler, "--workers", str(workers or options.workers),
         "--seeds", str(options.seeds), "--seed", str(options.first_seed), "--csv", *more],
        stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)
    return list(csv.DictReader(done.stdout.splitlines()))


def with_even_epochs(curves):
    """Each epoch takes a second."""
    with open(curves, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    with open(curves, "w", encoding="utf-8") as out:
        writer = csv.DictWriter(out, rows[0])
        writer.writeheader()
        writer.writerows({**row, "time_total_s": row["training_iteration"]} for row in rows)


def scale_of(curves, options):
    """From the best of all to the middle of the first epoch."""
    with open(curves, encoding="utf-8") as file:
        first = [float(row[options.metric]) for row in csv.DictReader(file)
                 if float(row["training_iteration"]) == 1]
    finite = [value for value in first if math.isfinite(value)]
    return abs(best_of(curves, options) - statistics.median(finite))


def regrets(options, curves, searcher, workers):
    """By scheduler, after each twentieth of the epochs."""
    budgets = [options.epochs / workers * (i + 1) / MOMENTS for i in range(MOMENTS)]
    lines = simulate(options, curves, searcher, workers, ["--time-budget-s", ",".join(map(str, budgets))])
    best, scale = best_of(curves, options), scale_of(curves, options)
    by_scheduler = {}
    for line in lines:
        found = float(line["best_mean"]) if line["best_mean"] else math.inf
        by_scheduler.setdefault(line["scheduler"], []).append(min(abs(best - found) / scale, 1))
    return by_scheduler


def print_regrets(options, tasks, tables, searcher):
    moments = [MOMENTS // 10 - 1, MOMENTS // 4 - 1, MOMENTS // 2 - 1, MOMENTS - 1]
    print(f"| Task | Searcher | Scheduler | Workers "
          f"| {' | '.join(str(round(options.epochs * (i + 1) / MOMENTS)) for i in moments)} | AUC |")
    print("| --- " * (5 + len(moments)) + "|")
    for workers in map(int, options.workers.split(",")):
        of_tasks = {}
        for task in tasks:
            for scheduler, curve in regrets(options, tables[task], searcher, workers).items():
                figures = [*(curve[i] for i in moments), sum(curve) / len(curve)]
                of_tasks.setdefault(scheduler, []).append(figures)
                if options.rows:
                    keep(options.rows, {"task": task, "searcher": searcher, "scheduler": scheduler,
                                        "workers": workers, "auc": figures[-1], "end": figures[-2]})
                cells = " | ".join(f"{value:.3f}" for value in figures)
                print(f"| {task} | {searcher} | {scheduler} | {workers} | {cells} |", flush=True)
        for scheduler, rows in of_tasks.items():
            cells = " | ".join(
                f"{statistics.mean(column):.3f}" +
                (f" ± {statistics.stdev(column) / math.sqrt(len(column)):.3f}" if len(column) > 1 else "")
                for column in zip(*rows))
            print(f"| **mean** | {searcher} | {scheduler} | {workers} | {cells} |", flush=True)


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
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--samples", type=int)
    parser.add_argument("--trainings", type=float)
    parser.add_argument("--metric", default="val_accuracy")
    parser.add_argument("--mode", default="max")
    parser.add_argument("--param-space", type=pathlib.Path)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--launch-s", type=float, default=0)
    parser.add_argument("--save-s", type=float, default=0)
    parser.add_argument("--prior", choices=["good", "bad"])
    parser.add_argument("--rows", type=pathlib.Path)
    options = parser.parse_args()
    tasks = options.task or sorted(file.name.split(".")[0]
                                   for file in options.dir.glob("*.curves.csv.gz"))
    if not tasks:
        sys.exit(f"schedulers.py: there is no *.curves.csv.gz in {options.dir}")
    with tempfile.TemporaryDirectory(prefix="tune-schedulers-") as scratch:
        tables = {}
        for task in tasks:
            joined = tables[task] = pathlib.Path(scratch) / f"{task}.csv"
            configs = options.dir / f"{task}.configs.csv.gz"
            curves = options.dir / f"{task}.curves.csv.gz"
            if configs.exists():
                join(configs, curves, joined)
            else:
                joined.write_bytes(gzip.decompress(curves.read_bytes()))
            if options.epochs:
                with_even_epochs(joined)
        if options.epochs:
            for searcher in options.searcher or ["random"]:
                print_regrets(options, tasks, tables, searcher)
            return
        print("| Task | Searcher | Scheduler | Workers | s to target | Reached | Best | Trials | Iterations |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
        for task, joined in tables.items():
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
