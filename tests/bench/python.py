#!/usr/bin/env python3
"""What the Python package costs: a report, the import, a trial.

    tests/bench/python.py TUNE

Prints medians; beside each the raw limit of the same run.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../trainable/python")
REPORTS = """
import json, statistics, sys, time
import tune
from tune import policy

class Continues(policy.Scheduler):
    def on_result(self, trial, iteration, metrics):
        return None

def train(config):
    taken = []
    for i in range(20000):
        began = time.perf_counter()
        tune.report({"loss": 1 / (i + 1)})
        taken.append(time.perf_counter() - began)
    taken = sorted(taken[1000:])
    print(json.dumps([taken[len(taken) // 2], taken[len(taken) * 99 // 100]]))

if __name__ == "__main__":
    scheduler = Continues if sys.argv[1:] else "fifo"
    results = tune.Tuner(train, {}, metric="loss", mode="min", name="reports" + "".join(sys.argv[1:]), scheduler=scheduler,
                         run_config=tune.RunConfig(verbose=0)).fit()
    with open(results[0].path + "/stdout.log") as log:
        print(log.read().strip())
"""
TRIALS = """
import tune

def train(config):
    tune.report({"loss": config["x"]})

if __name__ == "__main__":
    tune.Tuner(train, {"x": tune.uniform(0, 1)}, metric="loss", mode="min", name="trials", num_samples=100, searcher="random",
               max_concurrent_trials=1, run_config=tune.RunConfig(verbose=0)).fit()
"""


def run(script, directory, environment, *arguments):
    path = os.path.join(directory, "search.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(script)
    began = time.perf_counter()
    done = subprocess.run([sys.executable, path, *arguments], cwd=directory, env=environment, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return done.stdout, time.perf_counter() - began


def bare_round_trip():
    """Seconds of a line to another process and back."""
    program = "import sys\nfor line in sys.stdin.buffer:\n    sys.stdout.buffer.write(line); sys.stdout.buffer.flush()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          bufsize=0) as other:
        taken = []
        for _ in range(5000):
            began = time.perf_counter()
            other.stdin.write(b'{"type":"result"}\n')
            other.stdout.readline()
            taken.append(time.perf_counter() - began)
        other.stdin.close()
    return statistics.median(taken)


def start_s(*arguments, environment=None):
    taken = []
    for _ in range(15):
        began = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, env=environment)
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def main():
    environment = {**os.environ, "TUNE_BINARY": os.path.abspath(sys.argv[1]), "PYTHONPATH": PACKAGE}
    with tempfile.TemporaryDirectory(prefix="tune-bench-") as directory:
        p50, p99 = json.loads(run(REPORTS, directory, environment)[0])
        bare = bare_round_trip()
        asked, _ = json.loads(run(REPORTS, directory, environment, "asked")[0])
        print(f"report until it goes on   p50 {p50 * 1e6:.0f} us, p99 {p99 * 1e6:.0f} us; "
              f"a line to another Python and back {bare * 1e6:.0f} us")
        print(f"a scheduler in Python     {(asked - p50) * 1e6:.0f} us more a report, p50")
        python, package = start_s("-c", ""), start_s("-c", "import tune", environment=environment)
        print(f"import tune               {(package - python) * 1e3:.0f} ms above Python's own start, {python * 1e3:.0f} ms")
        whole = run(TRIALS, directory, environment)[1] / 100
        print(f"a trial of one report     {whole * 1e3:.0f} ms; its Python alone {package * 1e3:.0f} ms")


if __name__ == "__main__":
    main()
