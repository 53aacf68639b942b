"""Writes trials and what Optuna says of their hyperparameters, for tests/policies/importance_test.cpp.

    python3 -m venv optuna && optuna/bin/pip install optuna==5.0.0
    optuna/bin/python make_importance.py

A line is a trial: its hyperparameters ("p") and its loss ("v"). The last line has Optuna's variances.
"""
import json
import math
import pathlib
import random

import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

SPACE = {"a": FloatDistribution(-5, 10), "b": FloatDistribution(1e-5, 1, log=True),
         "c": CategoricalDistribution(["x", "y", "z"]), "d": IntDistribution(3, 9),
         "e": FloatDistribution(-1, 1, step=0.125), "f": IntDistribution(1, 500, log=True),
         "g": FloatDistribution(0, 1), "h": IntDistribution(0, 200)}


def draw(rng):
    p = {"a": round(rng.uniform(-5, 10), 3), "b": float(f"{10 ** rng.uniform(-5, 0):.4g}"),
         "c": rng.choice("xyz"), "d": rng.randint(3, 9), "e": rng.randint(-8, 8) / 8,
         "f": int(round(math.exp(rng.uniform(0, math.log(500)))))}
    if p["c"] == "x":
        p["g"] = round(rng.random(), 3)
    if p["c"] == "y":
        p["h"] = rng.randint(0, 200)
    return p


def loss(p):
    value = (p["a"] - 2) ** 2 / 10 + (math.log10(p["b"]) + 3) ** 2 + {"x": 0, "y": 0.5, "z": 2}[p["c"]]
    return round(value + p.get("g", 0) * 3 + p.get("h", 0) / 50, 4)


def main():
    rng = random.Random(3)
    study = optuna.create_study(direction="minimize")
    lines = []
    for _ in range(60):
        p = draw(rng)
        lines.append({"p": p, "v": loss(p)})
        study.add_trial(optuna.trial.create_trial(
            params=p, distributions={name: SPACE[name] for name in p}, value=loss(p)))
    evaluator = optuna.importance.PedAnovaImportanceEvaluator(target_quantile=0.2)
    lines.append(evaluator.evaluate(study))
    file = pathlib.Path(__file__).with_name("importance.jsonl")
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


main()
