"""What agents cost: trials and results a second, a result's way, the start, and the way back after a lost node, each
beside the same run on one machine without agents, in turns.

    cluster.py [--agents 4] [--trials 400] [--steps 3000] [--rounds 3]
    environment: TUNE, BENCH_TRAINABLE name what was built
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any, Self

Spec = dict[str, Any]
CPUS = 16


def spec_of(trials: int, steps: int, agents: int, **config: Any) -> Spec:
    """`trials` of `steps` results each, 16 at one time; with agents on as many nodes."""
    cluster = {"hosts": [f"node{i}" for i in range(agents)], "launcher": ["env"], "bind": "127.0.0.1"}
    return {
        "name": "bench",
        "trainable": {"command": [os.environ["BENCH_TRAINABLE"]]},
        "param_space": {"steps": steps, "period_s": 0, "duration_s": 0, "measure": False, "cpu": -1, **config},
        "metric": "loss",
        "mode": "min",
        "searcher": "random",
        "num_samples": trials,
        "max_concurrent_trials": 16,
        "snapshot_period_s": 1000,
        "resources": {"cpu": CPUS // agents if agents else CPUS},
        **({"cluster": cluster} if agents else {}),
    }


class Run:
    """A run in a folder of its own, which goes with it."""

    def __init__(self, spec: Spec) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="tune-bench-cluster-")
        self.path = pathlib.Path(self.folder.name)
        (self.path / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
        self.started = time.time()
        self.driver = subprocess.Popen(
            [os.environ["TUNE"], "run", "spec.json", "--progress", "none"],
            cwd=self.path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.driver.kill()
        self.driver.wait()
        self.folder.cleanup()

    def wait(self) -> None:
        said = self.driver.communicate()[1]
        if self.driver.returncode != 0:
            sys.exit(said)

    def events(self) -> list[dict[str, Any]]:
        out = subprocess.run(
            [os.environ["TUNE"], "events", "results/bench"], cwd=self.path, check=False, capture_output=True
        ).stdout
        return [json.loads(line) for line in out.splitlines()]

    def times(self, kind: str) -> list[float]:
        return [event["t"] for event in self.events() if event["e"] == kind]

    def agent(self, node: str) -> int:
        """The process id of the agent that is called so."""
        for process in pathlib.Path("/proc").iterdir():
            try:
                words = (process / "cmdline").read_text(encoding="utf-8").split("\0")
                is_watchdog = (process / "comm").read_text(encoding="utf-8") == "tune watchdog\n"
            except (OSError, ValueError):
                continue
            is_agent = words[1:2] == ["agent"] and not is_watchdog
            if is_agent and node in words and any(str(self.path) in word for word in words):
                return int(process.name)
        sys.exit(f"there is no agent {node}")


def trials_a_second(trials: int, agents: int) -> tuple[float, float]:
    """And the seconds from the command to the first trial's start."""
    with Run(spec_of(trials, 1, agents)) as run:
        run.wait()
        starts = run.times("attempt")
        return len(starts) / (max(run.times("end")) - min(starts)), min(starts) - run.started


def results_a_second(steps: int, agents: int) -> float:
    with Run(spec_of(16, steps, agents)) as run:
        run.wait()
        times = run.times("result")
        return len(times) / (max(times) - min(times))


def microseconds_to_a_decision(steps: int, agents: int) -> float:
    """Of one trial, the median from a result to the next command."""
    with Run(spec_of(1, steps, agents, measure=True)) as run:
        run.wait()
        file = next(run.path.rglob("latencies.txt"))
        return statistics.median(int(line) for line in file.read_text(encoding="utf-8").split()) / 1000


def seconds_to_another_node() -> float:
    """From an agent's kill -9 to the last start of what ran on its node."""
    spec = spec_of(4, 0, 2, period_s=0.05, duration_s=3)
    with Run(spec) as run:
        while len(run.times("result")) < 40:
            time.sleep(0.05)
        killed = time.time()
        os.kill(run.agent("node1"), signal.SIGKILL)
        run.wait()
        again = [at for at in run.times("attempt") if at > killed]
        return max(again) - killed if again else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description="what agents cost")
    parser.add_argument("--agents", type=int, default=4)
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    seen: dict[str, list[float]] = {}
    for _ in range(arguments.rounds):
        for where, agents in (("local", 0), ("agents", arguments.agents)):
            trials, ready = trials_a_second(arguments.trials, agents)
            seen.setdefault(f"trials {where}", []).append(trials)
            seen.setdefault(f"ready {where}", []).append(ready)
            seen.setdefault(f"results {where}", []).append(results_a_second(arguments.steps, agents))
            latency = microseconds_to_a_decision(arguments.steps, agents)
            seen.setdefault(f"latency {where}", []).append(latency)
        seen.setdefault("lost", []).append(seconds_to_another_node())
    of = {name: statistics.median(values) for name, values in seen.items()}
    print(f"{'':34}{'local':>10}{f'{arguments.agents} agents':>12}")
    for name, title, digits in (
        ("ready", "s from the command to a start", 2),
        ("trials", "trials a second, 16 at once", 0),
        ("results", "results a second, 16 trials", 0),
        ("latency", "us from a result to a command", 0),
    ):
        local, agents = of[f"{name} local"], of[f"{name} agents"]
        print(f"{title:34}{local:10.{digits}f}{agents:12.{digits}f}   {agents / local:.2f} times")
    print(f"an agent killed: what it ran has started elsewhere after {of['lost']:.2f} s")


if __name__ == "__main__":
    main()
