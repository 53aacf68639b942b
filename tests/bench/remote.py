"""What a remote costs a run: results a second and the longest pause between two records, with no remote,
a directory, a store that is slow and one that hangs.

    remote.py [--iterations 3000] [--rounds 3]
    environment: TUNE, MINIMAL_CLIENT name what was built
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from hostile_store import Store  # noqa: E402

CLIENT = [sys.executable, os.environ["MINIMAL_CLIENT"]]


def measure(remote, iterations, environment):
    """Results a second, and the longest time between two records of results in seconds."""
    with tempfile.TemporaryDirectory(prefix="tune-bench-remote-") as work:
        spec = {"trainable": {"command": CLIENT}, "param_space": {"lr": 0.1, "iterations": iterations},
                "num_samples": 2, "max_concurrent_trials": 2, "snapshot_period_s": 1000,
                "checkpoint_config": {"checkpoint_frequency": iterations // 20, "num_to_keep": 2}}
        if remote:
            spec["remote"] = {"path": remote.replace("WORK", work) + os.path.basename(work), "flush_s": 0.1}
        with open(os.path.join(work, "spec.json"), "w", encoding="utf-8") as file:
            json.dump(spec, file)
        subprocess.run([os.environ["TUNE"], "run", "spec.json", "--progress", "none"], cwd=work, check=False,
                       capture_output=True, env={**os.environ, **environment})
        out = subprocess.run([os.environ["TUNE"], "events", "results/spec"], cwd=work, check=True,
                             capture_output=True).stdout
        times = [event["t"] for event in map(json.loads, out.splitlines()) if event["e"] == "result"]
        pauses = [after - before for before, after in zip(times, times[1:])]
        return len(times) / (times[-1] - times[0]), max(pauses)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--iterations", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    os.environ.setdefault("RCLONE_CONFIG", "/dev/null")
    with Store() as store:
        cases = {"no remote": ("", ""), "a directory": ("WORK/", ""), "a slow store": ("hostile:bucket/", "slow"),
                 "a store that hangs": ("hostile:bucket/", "hanging")}
        found = {name: [] for name in cases}
        for _ in range(options.rounds):
            for name, (remote, fault) in cases.items():
                store.fault = fault
                found[name].append(measure(remote, options.iterations, store.environment))
        for name, runs in found.items():
            print(f"{name:20} {statistics.median(r for r, _ in runs):8.0f} results/s   "
                  f"longest pause {1000 * statistics.median(p for _, p in runs):6.1f} ms")


if __name__ == "__main__":
    main()
