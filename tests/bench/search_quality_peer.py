"""The peer's side of search_quality.cpp: Optuna's samplers, told on stdin what to do.

    python3 -m venv optuna && optuna/bin/pip install optuna==5.0.0 cmaes scipy torch

A line on stdin is an order: a sampler, the params, a seed, and either `trials` and `concurrency` or, to be timed,
`observations` and `suggestions`. For each config a line {"ask": values} goes out, and its loss comes back as a line,
null if the trial fails;
{"told": loss} says that a trial has ended. The last line of an order is {"done": true, ...}, or {"failed": reason}.
"""
import collections
import json
import math
import os
import sys
import time
import warnings

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # as Optuna advises for its Gaussian process

import optuna

warnings.filterwarnings("ignore")
optuna.logging.set_verbosity(optuna.logging.ERROR)

SAMPLERS = {
    "optuna-random": lambda seed: optuna.samplers.RandomSampler(seed=seed),
    "optuna-tpe": lambda seed: optuna.samplers.TPESampler(seed=seed),
    "optuna-tpe-univariate": lambda seed: optuna.samplers.TPESampler(seed=seed, multivariate=False),
    "optuna-gp": lambda seed: optuna.samplers.GPSampler(seed=seed),
    "optuna-cma": lambda seed: optuna.samplers.CmaEsSampler(seed=seed, with_margin=True),
}
LONGEST_S = 120  # a sampler that has thought for so long is timed no further


def answer(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def suggest(trial, params):
    values = []
    for param in params:
        if param["parent"] is not None and values[param["parent"]] != param["parent_value"]:
            values.append(None)
        elif param["kind"] == "choice":
            values.append(trial.suggest_categorical(param["name"], list(range(int(param["high"]) + 1))))
        elif param["kind"] == "whole":
            values.append(trial.suggest_int(param["name"], int(param["low"]), int(param["high"]), log=param["log"]))
        else:
            values.append(trial.suggest_float(param["name"], param["low"], param["high"], log=param["log"],
                                              step=param["step"] or None))
    return values


def loss_of(values):
    answer({"ask": values})
    loss = json.loads(sys.stdin.readline())
    return None if loss is None else float(loss)


def search(order):
    study = optuna.create_study(sampler=SAMPLERS[order["sampler"]](order["seed"]))
    running = collections.deque()
    asked, spent = 0, 0.0
    while asked < order["trials"] or running:
        start = time.perf_counter()
        while len(running) < order["concurrency"] and asked < order["trials"]:
            trial = study.ask()
            values = suggest(trial, order["params"])
            spent += time.perf_counter() - start
            running.append((trial, loss_of(values)))
            start = time.perf_counter()
            asked += 1
        trial, loss = running.popleft()
        if loss is None:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(trial, loss)
        spent += time.perf_counter() - start
        answer({"told": loss})
    answer({"done": True, "seconds": spent})


def timed(order):
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for _ in range(order["observations"]):
        trial = study.ask()
        study.tell(trial, loss_of(suggest(trial, order["params"])))
    study.sampler = SAMPLERS[order["sampler"]](order["seed"])
    times = []
    for _ in range(order["suggestions"]):
        start = time.perf_counter()
        trial = study.ask()
        values = suggest(trial, order["params"])
        spent = time.perf_counter() - start
        loss = loss_of(values)
        start = time.perf_counter()
        study.tell(trial, loss)
        times.append((spent + time.perf_counter() - start) * 1e6)
        if math.fsum(times) > LONGEST_S * 1e6:
            break
    answer({"done": True, "microseconds": times})


for line in sys.stdin:
    order = json.loads(line)
    try:
        (search if "trials" in order else timed)(order)
    except Exception as error:
        answer({"failed": f"{type(error).__name__}: {error}"})
