#!/usr/bin/env python3
"""Cheap trials of a Python function, two at a time: seconds from `python search.py` to its end, beside Optuna with two threads.

    tests/bench/python_cheap.py TUNE [--python PYTHON] [--rounds 3]

PYTHON needs optuna, and numpy, pandas and scikit-learn, which a file of the second row imports. Medians.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../trainable/python")
LIBRARIES = "import numpy, pandas, sklearn.linear_model\n"
TUNE = """import time
import tune
{imports}
def train(config):
    time.sleep({seconds})
    return {{"loss": (config["x"] - 1) ** 2}}

if __name__ == "__main__":
    tune.Tuner(train, {{"x": tune.uniform(0, 3)}}, metric="loss", mode="min", num_samples={trials}, searcher="{searcher}",
               resources={{"cpu": 2}}, run_config=tune.RunConfig(verbose=0), {fields}).fit().get_best_result()
"""
OPTUNA = """import time
import optuna
{imports}
optuna.logging.set_verbosity(optuna.logging.WARNING)

def objective(trial):
    time.sleep({seconds})
    return (trial.suggest_float("x", 0, 3) - 1) ** 2

study = optuna.create_study(sampler=optuna.samplers.{sampler}())
study.optimize(objective, n_trials={trials}, n_jobs=2)
"""
#: What it is, its ideal, and what is written into the scripts.
ROWS = (
    ("100 trials of nothing", 0, {"trials": 100, "seconds": 0, "searcher": "random", "sampler": "RandomSampler", "imports": ""}),
    ("100 of nothing, numpy, pandas, sklearn", 0,
     {"trials": 100, "seconds": 0, "searcher": "random", "sampler": "RandomSampler", "imports": LIBRARIES}),
    ("1,000 trials of 10 ms, tpe", 5, {"trials": 1000, "seconds": 0.01, "searcher": "tpe", "sampler": "TPESampler", "imports": ""}),
)


def seconds_of(python, script, environment):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "search.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(script)
        began = time.perf_counter()
        subprocess.run([python, path], cwd=directory, env=environment, check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tune")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    environment = {**os.environ, "TUNE_BINARY": os.path.abspath(given.tune), "PYTHONPATH": PACKAGE}
    has_peer = subprocess.run([given.python, "-c", "import optuna"], capture_output=True, check=False).returncode == 0
    has_libraries = subprocess.run([given.python, "-c", LIBRARIES], capture_output=True, check=False).returncode == 0
    print("| Work | Ideal | one process for several | a process each | Optuna |\n| --- | --- | --- | --- | --- |")
    for name, ideal, parts in ROWS:
        if parts["imports"] and not has_libraries:
            continue
        taken = {"shared": [], "own": [], "peer": []}
        for _ in range(given.rounds):
            for how, fields in (("shared", ""), ("own", "reuse_processes=False")):
                taken[how].append(seconds_of(given.python, TUNE.format(fields=fields, **parts), environment))
            if has_peer:
                taken["peer"].append(seconds_of(given.python, OPTUNA.format(**parts), environment))
        cells = [f"{statistics.median(each):.2f} s" if each else "" for each in taken.values()]
        print(f"| {name} | {ideal} s | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
