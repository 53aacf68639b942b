"""The same searches as fronts.cpp, by Optuna's samplers.

    python3 -m venv optuna && optuna/bin/pip install optuna==5.0.0 scipy torch
    optuna/bin/python fronts_peer.py BENCH_FRONTS [--samplers tpe,nsga2,gp] [--tasks NAME,...] [--budgets N,...]
                                     [--seeds N] [--concurrency N,...]

BENCH_FRONTS says what a config comes to, and how much of a front was found, so both sides have the same functions.
"""
import argparse
import collections
import json
import os
import statistics
import subprocess
import sys
import time
import warnings

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # as Optuna advises for its Gaussian process

import optuna

warnings.filterwarnings("ignore")
optuna.logging.set_verbosity(optuna.logging.ERROR)

SAMPLERS = {"random": optuna.samplers.RandomSampler, "tpe": optuna.samplers.TPESampler,
            "nsga2": optuna.samplers.NSGAIISampler, "gp": optuna.samplers.GPSampler}


class Functions:
    def __init__(self, program):
        self.process = subprocess.Popen([program, "--outcomes"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, **order):
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def suggest(trial, space):
    config = {}
    for name, domain in space.items():
        [(kind, values)] = domain.items()
        if kind == "choice":
            config[name] = trial.suggest_categorical(name, values)
        elif kind in ("randint", "lograndint"):
            config[name] = trial.suggest_int(name, values[0], values[1] - 1, log=kind == "lograndint")
        else:
            config[name] = trial.suggest_float(name, values[0], values[1], log=kind == "loguniform")
    return config


def search(functions, sampler, task, budgets, at_once, seed):
    options = {"constraints_func": lambda trial: trial.user_attrs["constraints"]} if task["constraints"] else {}
    if sampler == "random":
        options = {}
    study = optuna.create_study(directions=["minimize"] * task["objectives"],
                                sampler=SAMPLERS[sampler](seed=seed, **options))
    running = collections.deque()
    outcomes, covered, spent, asked = [], [], 0.0, 0
    while len(outcomes) < max(budgets):
        while len(running) < at_once and asked < max(budgets):
            start = time.perf_counter()
            trial = study.ask()
            config = suggest(trial, task["space"])
            spent += time.perf_counter() - start
            running.append((trial, functions(task=task["name"], config=config)))
            asked += 1
        trial, outcome = running.popleft()
        trial.set_user_attr("constraints", outcome["constraints"])
        study.tell(trial, outcome["losses"])
        outcomes.append(outcome)
        if len(outcomes) in budgets:
            covered.append(functions(task=task["name"], outcomes=outcomes))
    return covered, spent


def numbers(text):
    return [int(part) for part in text.split(",")]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bench_fronts")
    parser.add_argument("--samplers", default="tpe,nsga2,gp")
    parser.add_argument("--tasks", default="")
    parser.add_argument("--budgets", type=numbers, default=[50, 100])
    parser.add_argument("--concurrency", type=numbers, default=[1, 4])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    arguments = parser.parse_args()
    functions = Functions(arguments.bench_fronts)
    wanted = arguments.tasks.split(",") if arguments.tasks else None
    tasks = [task for task in functions(tasks=True) if wanted is None or task["name"] in wanted]
    for at_once in arguments.concurrency:
        for task in tasks:
            for sampler in arguments.samplers.split(","):
                runs = [search(functions, sampler, task, arguments.budgets, at_once, arguments.first_seed + seed)
                        for seed in range(arguments.seeds)]
                line = f"{at_once} at once  {task['name']:16} optuna {sampler:23}"
                for i in range(len(arguments.budgets)):
                    values = [covered[i] for covered, _ in runs]
                    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0
                    line += f"  {statistics.mean(values):.3f} ±{error:.3f}"
                print(f"{line}  {statistics.mean(spent for _, spent in runs):.2f} s")
                sys.stdout.flush()


main()
