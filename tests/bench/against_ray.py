"""The same searches by this driver, by Ray Tune and, for suggestions, by Optuna, in turns.

    python3 tests/bench/against_ray.py build/release/bin/tune --peers PYTHON [--quick] [--only WORD]

PYTHON is an interpreter that has `ray[tune]` and `optuna`, and runs the trials of all. The work is
sleep, so that what counts is what the driver adds to it; its files (result.json, progress.csv,
TensorBoard) are written by each as it comes. Rows:

    results    trials that report ten times a second; the ideal is the sleep alone
    starts     trials of a second on fewer slots than trials; the ideal is trials / slots
    suggest    TPE over five numbers, trials of nothing; ours starts a process for each trial and
               keeps a journal, Optuna's objective is a function, its storage memory or a journal
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "trainable" / "python"

OURS = """
import sys, time
import tune
def train(config):
    for _ in range({reports}):
        time.sleep({pause})
        tune.report({{"loss": 1.0}})
if __name__ == "__main__":
    begun = time.perf_counter()
    results = tune.Tuner(train, {{"x": tune.uniform(0, 1)}}, metric="loss", mode="min", num_samples={trials},
                         searcher="random", max_concurrent_trials={slots}, resources_per_trial={{"cpu": 0}},
                         {more}).fit()
    assert len(results) == {trials} and results.num_errors == 0
    print("SECONDS", time.perf_counter() - begun)
"""

RAY = """
import os, time
os.environ["RAY_AIR_NEW_OUTPUT"] = "0"
import ray
from ray import tune
def train(config):
    for _ in range({reports}):
        time.sleep({pause})
        tune.report({{"loss": 1.0}})
if __name__ == "__main__":
    ray.init(num_cpus={slots}, log_to_driver=False, include_dashboard=False)
    begun = time.perf_counter()
    results = tune.Tuner(tune.with_resources(train, {{"cpu": 1}}), param_space={{"x": tune.uniform(0, 1)}},
                         tune_config=tune.TuneConfig(metric="loss", mode="min", num_samples={trials},
                                                     reuse_actors={reuse}),
                         run_config=tune.RunConfig(storage_path=os.getcwd(), verbose=0)).fit()
    assert len(results) == {trials} and results.num_errors == 0
    print("SECONDS", time.perf_counter() - begun)
"""

OPTUNA = """
import time
import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
optuna.logging.set_verbosity(optuna.logging.WARNING)
def objective(trial):
    return sum(trial.suggest_float(name, 0, 1) for name in "abcde")
study = optuna.create_study(storage={storage}, sampler=optuna.samplers.TPESampler(seed=0))
begun = time.perf_counter()
study.optimize(objective, n_trials={trials})
print("SECONDS", time.perf_counter() - begun)
"""


def seconds(options, script):
    with tempfile.TemporaryDirectory(prefix="tune-bench-") as directory:
        path = os.path.join(directory, "search.py")
        with open(path, "w") as file:
            file.write(script)
        done = subprocess.run([options.peers, path], cwd=directory, capture_output=True, text=True,
                              env={**os.environ, "TUNE_BINARY": os.path.abspath(options.tune),
                                   "PYTHONPATH": str(PACKAGE)} if "import ray" not in script else os.environ)
    said = [line for line in done.stdout.splitlines() if line.startswith("SECONDS")]
    if done.returncode != 0 or not said:
        sys.exit(done.stdout + done.stderr)
    return float(said[-1].split()[1])


def our_suggestions(options, trials):
    with tempfile.TemporaryDirectory(prefix="tune-bench-") as directory:
        spec = {"name": "s", "storage_path": directory, "metric": "loss", "mode": "min", "num_samples": trials,
                "searcher": "tpe", "max_concurrent_trials": 1,
                "param_space": {name: {"uniform": [0, 1]} for name in "abcde"},
                # The sum is in no shell's arithmetic; which number is minimised does not matter here.
                "trainable": {"command": ["/bin/echo", "loss=${config.a}"], "plain": {}}}
        path = os.path.join(directory, "s.json")
        with open(path, "w") as file:
            json.dump(spec, file)
        begun = time.perf_counter()
        subprocess.run([options.tune, "run", path, "--progress", "none"], check=True, capture_output=True)
        return time.perf_counter() - begun


def show(name, times, ideal=None):
    middle = statistics.median(times)
    beside = f"  {middle / ideal:5.2f} times ideal" if ideal else ""
    print(f"  {name:44} {middle:8.2f} s{beside}  ({', '.join(f'{each:.2f}' for each in times)})", flush=True)


def in_turns(rounds, ways, ideal=None):
    times = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            times[name].append(way())
    for name, each in times.items():
        show(name, each, ideal)


def searches(options, reports, pause, trials, slots):
    fields = {"reports": reports, "pause": pause, "trials": trials, "slots": slots}
    return {
        "ours": lambda: seconds(options, OURS.format(more="", **fields)),
        "ours, preload": lambda: seconds(options, OURS.format(more='preload=["tune"]', **fields)),
        "Ray Tune": lambda: seconds(options, RAY.format(reuse=False, **fields)),
        "Ray Tune, reuse_actors": lambda: seconds(options, RAY.format(reuse=True, **fields)),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tune")
    parser.add_argument("--peers", required=True)
    parser.add_argument("--quick", action="store_true", help="one round of a tenth")
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rounds, part = (1, 10) if options.quick else (options.rounds, 1)
    versions = "import ray, optuna, sys; print('Ray', ray.__version__, 'Optuna', optuna.__version__, 'Python', sys.version.split()[0])"
    print(subprocess.run([options.peers, "-c", versions], check=True, capture_output=True, text=True).stdout.strip(),
          f"on {os.cpu_count()} processors")
    if options.only in "results":
        reports = 300 // part
        print(f"results: 16 trials, {reports} results of 0.1 s each, all at once; ideal {reports / 10:.0f} s")
        in_turns(rounds, searches(options, reports, 0.1, 16, 16), reports / 10)
    if options.only in "starts":
        trials = 80 // part
        print(f"starts: {trials} trials of 1 s on 4 slots; ideal {trials / 4:.0f} s")
        in_turns(rounds, searches(options, 1, 1.0, trials, 4), trials / 4)
    if options.only in "suggest":
        trials = 1000 // part
        storage = 'JournalStorage(JournalFileBackend("journal.log"))'
        print(f"suggest: {trials} trials of nothing, one after the other, by TPE")
        in_turns(rounds, {
            "ours, a process a trial": lambda: our_suggestions(options, trials),
            "Optuna in memory": lambda: seconds(options, OPTUNA.format(storage=None, trials=trials)),
            "Optuna with a journal": lambda: seconds(options, OPTUNA.format(storage=storage, trials=trials)),
        })


if __name__ == "__main__":
    main()
