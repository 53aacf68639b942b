"""What "preload" saves: trials that import a package, forked and started cold.

    python3 tests/bench/preload.py build/release/bin/tune [--python PYTHON] [--module torch]

PYTHON is an interpreter that has the package. Rows: one trial that imports it and reports once, cold
and forked, in turns, without the load of the server; the pages that are a forked trial's own;
100 trials of 0.1 s of work on all processors, against the time that the work alone takes; and whole
runs of trials of several ranks, whose module takes two seconds, against the same without an import.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

SCRIPT = """
import sys, time
begun = time.perf_counter()
import {module}
loaded = time.perf_counter() - begun
until = time.perf_counter() + {work}
while time.perf_counter() < until:
    pass
own = 0
if {pages}:  # which takes as long as a fork
    own = sum(int(line.split()[1]) for line in open("/proc/self/smaps_rollup")
              if line.startswith(("Private_Dirty", "Private_Clean", "Private_Hugetlb")))
print("loss=1 own=%d" % own, flush=True)
"""


def search(options, directory, forked, trials, work, slots, pages=False):
    """Seconds from the first trial's start to the last one's end, of each trial, and own KiB."""
    with open(os.path.join(directory, "train.py"), "w") as file:
        file.write(SCRIPT.format(module=options.module, work=work, pages=pages))
    name = f"{'forked' if forked else 'cold'}-{time.monotonic_ns()}"
    spec = {"name": name, "storage_path": directory, "metric": "loss", "mode": "min",
            "num_samples": trials, "param_space": {"x": {"uniform": [0, 1]}}, "searcher": "random",
            "max_concurrent_trials": slots, "resources_per_trial": {"cpu": 0},
            "trainable": {"command": [options.python, "train.py", "${args}"],
                          "plain": {"metrics": ["own"]},
                          "env": {"OMP_NUM_THREADS": "1"},
                          **({"preload": [options.module]} if forked else {})}}
    path = os.path.join(directory, name + ".json")
    with open(path, "w") as file:
        json.dump(spec, file)
    done = subprocess.run([options.tune, "run", path, "--progress", "none"], capture_output=True, text=True)
    if done.returncode != 0 or "without \"preload\"" in done.stderr:
        sys.exit(done.stderr)
    times, own = [], []
    for number in range(trials):
        with open(os.path.join(directory, name, f"trial_{number:05}", "result.json")) as file:
            result = json.loads(file.readline())
        times.append((result["timestamp"], result["time_total_s"]))
        own.append(result["own"])
    return times, own


def one_by_one(options, directory, forked, trials):
    """Seconds from one trial's result to the next one's: an end, a start, and the import."""
    times, _ = search(options, directory, forked, trials, 0, 1)
    moments = sorted(moment for moment, _ in times)
    _, own = search(options, directory, forked, 2, 0, 1, pages=True)
    return [after - before for before, after in zip(moments, moments[1:])], own


IMPORT_S = 2.0


def ranks(options, directory, how, trials=4, workers=2):
    """Seconds of a whole run. `how`: "none" imports nothing, "cold" and "forked" a slow module."""
    with open(os.path.join(directory, "slow_import.py"), "w") as file:
        file.write(f"import time\ntime.sleep({IMPORT_S})\n")
    with open(os.path.join(directory, "ranks.py"), "w") as file:
        file.write(("" if how == "none" else "import slow_import\n") + "print('loss=1', flush=True)\n")
    name = f"ranks-{how}-{time.monotonic_ns()}"
    spec = {"name": name, "storage_path": directory, "metric": "loss", "mode": "min",
            "num_samples": trials, "param_space": {"x": {"uniform": [0, 1]}}, "searcher": "random",
            "num_workers": workers, "resources": {"cpu": trials * workers},
            "resources_per_worker": {"cpu": 1},
            "trainable": {"command": [options.python, "ranks.py", "${args}"], "plain": {},
                          "env": {"PYTHONPATH": directory},
                          **({"preload": ["slow_import"]} if how == "forked" else {})}}
    path = os.path.join(directory, name + ".json")
    with open(path, "w") as file:
        json.dump(spec, file)
    begun = time.perf_counter()
    done = subprocess.run([options.tune, "run", path, "--progress", "none"], capture_output=True, text=True)
    took = time.perf_counter() - begun
    if done.returncode != 0 or "without \"preload\"" in done.stderr:
        sys.exit(done.stderr)
    return took


def print_ranks(options, directory):
    took = {how: [] for how in ("none", "cold", "forked")}
    for _ in range(options.rounds):
        for how, seconds in took.items():
            seconds.append(ranks(options, directory, how))
    none, cold, forked = (statistics.median(each) for each in took.values())
    print(f"4 trials of 2 ranks      {none:8.2f} s without an import, {cold:.2f} cold with one of {IMPORT_S:.0f} s, "
          f"{forked:.2f} forked")
    print(f"  less the one import    {(forked - IMPORT_S) / none:8.2f} times the run without an import (1.2 was the aim)")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tune")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--module", default="torch")
    parser.add_argument("--trials", type=int, default=12)
    parser.add_argument("--many", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5, help="of runs with ranks")
    parser.add_argument("--ranks-only", action="store_true")
    options = parser.parse_args()
    options.tune = os.path.abspath(options.tune)
    with tempfile.TemporaryDirectory(prefix="tune-bench-") as directory:
        print_ranks(options, directory)
        if options.ranks_only:
            return
        cold, forked, own, cold_own = [], [], [], []
        for _ in range(3):
            each, pages = one_by_one(options, directory, False, max(3, options.trials // 3))
            cold += each
            cold_own += pages
            each, pages = one_by_one(options, directory, True, options.trials)
            forked += each
            own += pages
        cold_s, forked_s = statistics.median(cold), statistics.median(forked)
        print(f"one trial, cold          {1000 * cold_s:8.1f} ms median, {1000 * min(cold):.1f} least")
        print(f"one trial, forked        {1000 * forked_s:8.1f} ms median, {1000 * min(forked):.1f} least"
              f"  ({cold_s / forked_s:.0f} times sooner)")
        print(f"own pages of a trial     {max(own) / 1024:8.1f} MiB at most; cold {max(cold_own) / 1024:.1f}")
        slots = os.cpu_count()
        times, _ = search(options, directory, True, options.many, 0.1, slots)
        moments = sorted(moment for moment, _ in times)
        took = moments[-1] - moments[0]
        ideal = 0.1 * (options.many - 1) / slots
        print(f"{options.many} trials of 0.1 s       {took:8.2f} s on {slots} slots, {took / ideal:.2f} times the work")


if __name__ == "__main__":
    main()
