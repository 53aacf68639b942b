"""Writes the runs of Optuna that tests/policies/tpe_test.cpp repeats, into this directory.

    python3 -m venv optuna && optuna/bin/pip install optuna==5.0.0
    optuna/bin/python make_runs.py

A line is a trial: what Optuna suggested ("p"), its loss ("v", null for NaN), how it ended, and at which step
("i"; 0: it reported nothing). "x" are values of constraints.
"""
import functools
import json
import math
import pathlib
import warnings

import numpy
import optuna

warnings.filterwarnings("ignore")
optuna.logging.set_verbosity(optuna.logging.ERROR)
# Otherwise the order of equal numbers depends on the processor, and the run with it.
numpy.argsort = functools.partial(numpy.argsort, kind="stable")


def suggest(trial, conditional):
    p = {"a": trial.suggest_float("a", -5, 10),
         "b": trial.suggest_float("b", 1e-5, 1, log=True),
         "c": trial.suggest_categorical("c", ["x", "y", "z"])}
    if conditional and p["c"] == "x":
        p["c_x"] = trial.suggest_float("c_x", 0, 1)
    if conditional and p["c"] == "y":
        p["c_y"] = trial.suggest_int("c_y", 1, 500, log=True)
    p["d"] = trial.suggest_int("d", 3, 40)
    p["e"] = trial.suggest_float("e", -1, 1, step=0.125)
    return p


def loss(p):
    value = (p["a"] - 2) ** 2 / 10 + (math.log10(p["b"]) + 3) ** 2 + {"x": 0, "y": 0.5, "z": 2}[p["c"]]
    value += abs(p["d"] - 17) / 10 + (p["e"] - 0.5) ** 2
    value += p.get("c_x", 0) + abs(math.log(p.get("c_y", 20) / 20))
    return round(value, 6)


def excesses(p):
    return [round(p["a"] - 1, 6), round(math.log10(p["b"]) + 2.5, 6), 20 - p["d"]]


def run(trials, conditional, troubled, constrained=False, **options):
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=7, **options))
    rows = []
    for k in range(trials):
        trial = study.ask()
        p = suggest(trial, conditional)
        row = {"p": p, "v": loss(p), "how": "complete"}
        if constrained:
            row["x"] = excesses(p)
            for key, value in enumerate(row["x"]):
                trial.set_constraint(str(key), value)
        if troubled and k % 7 == 5:
            row["how"] = "running"
        elif troubled and k % 4 == 3:
            row |= {"how": "stopped", "i": k % 3 + 1}
            trial.report(row["v"], row["i"])
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
        elif troubled and k % 9 == 8:
            row["how"] = "failed"
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(trial, row["v"])
        rows.append(row)
    return rows


def run_of_stopped(trials):
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=7))
    rows = []
    for k in range(trials):
        trial = study.ask()
        p = suggest(trial, False)
        row = {"p": p, "v": None if k % 5 == 2 else loss(p), "how": "stopped", "i": k % 4}
        if row["i"] > 0:
            trial.report(math.nan if row["v"] is None else row["v"], row["i"])
        study.tell(trial, state=optuna.trial.TrialState.PRUNED)
        rows.append(row)
    return rows


runs = {
    "multivariate": run(36, False, True),
    "univariate": run(30, False, True, multivariate=False, constant_liar=False, consider_endpoints=True,
                      prior_weight=0.5),
    "conditional": run(40, True, False),
    "stopped": run_of_stopped(30),
    "constrained": run(60, False, True, constrained=True),
    "grouped": run(40, True, False, group=True, consider_magic_clip=False),
}
for name, rows in runs.items():
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (pathlib.Path(__file__).parent / f"{name}.jsonl").write_text(text)
