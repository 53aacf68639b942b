"""Kills driver and programs at random moments of searches over plain programs that save by themselves, and holds what
is left against what the programs have seen.

    plain_torture.py --runs 20 --seed 1 [--scheduler LIST]
    environment: TUNE names the program

The program saves in three ways: a file that is renamed, one that is written in its place with a rest in the middle, and
a directory that a last file completes. What it saves ends with a checksum. It appends to a file outside of the
experiment what it has found at each start: `torn` must never be among it. Afterwards

1. `result.json` of a trial has each iteration once, in order, and without a gap but where it has become a clone.
2. What each committed checkpoint holds is whole, and has come at least as far as the iteration that it is said to have.
3. Nothing that was started still runs.
"""
import argparse
import json
import math
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TUNE = os.environ["TUNE"]
LIMIT_S = 240
SCHEDULERS = ["pbt", "asha_promotion", "hyperband", "fifo"]
WAYS = ["rename", "in_place", "directory"]

PROGRAM = r'''
import argparse, hashlib, json, os, random, sys, time
parser = argparse.ArgumentParser()
for name in ("way", "out", "record", "resume"):
    parser.add_argument("--" + name)
for name in ("draw", "pause"):
    parser.add_argument("--" + name, type=float)
parser.add_argument("--epochs", type=int)
a = parser.parse_args()

def record(line):
    with open(a.record, "a") as file:
        file.write(line + "\n")

def text_of(state):
    body = json.dumps(state) + " " * 20000
    return body + "\n" + hashlib.sha256(body.encode()).hexdigest()

def read(file):
    body, _, digest = open(file).read().rpartition("\n")
    if hashlib.sha256(body.encode()).hexdigest() != digest:
        record(f"torn {file}")
        sys.exit(3)
    return json.loads(body)

def place(epoch):
    return a.out + ("/last" if a.way != "directory" else f"/c-{epoch}")

state = {"epoch": 0, "loss": 1.0}
if a.resume:
    state = read(a.resume + ("/state" if a.way == "directory" else ""))
left = [name for name in os.listdir(a.out) if a.out + "/" + name != a.resume and not name.endswith(".new")]
record(f"start {state['epoch']} {len(left)}")
while state["epoch"] < a.epochs:
    time.sleep(a.pause * random.uniform(0.5, 1.5))
    state = {"epoch": state["epoch"] + 1, "loss": state["loss"] * (1 - a.draw / 10)}
    print(f"epoch={state['epoch']} loss={state['loss']:.9f}")
    if random.random() < 0.02:
        os.kill(os.getpid(), 9)
    text = text_of(state)
    half = len(text) // 2
    to = place(state["epoch"])
    if a.way == "rename":
        with open(to + ".new", "w") as file:
            file.write(text)
        os.rename(to + ".new", to)
    elif a.way == "in_place":
        if state["epoch"] % 3 == 0:
            with open(to, "w") as file:
                file.write(text[:half])
                file.flush()
                time.sleep(a.pause)
                file.write(text[half:])
            time.sleep(1.3)
    else:
        os.makedirs(to, exist_ok=True)
        with open(to + "/state", "w") as file:
            file.write(text[:half])
            file.flush()
            time.sleep(a.pause / 3)
            file.write(text[half:])
        open(to + "/complete", "w").close()
'''


class Violation(Exception):
    """Something was lost, doubled, torn or left behind."""


def require(holds, *what):
    if not holds:
        raise Violation(" ".join(str(part) for part in what))


def marked(marker):
    """The pids of everything that has the marker in its environment."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                has_it = marker in file.read()
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                is_dead = file.read().rsplit(")", 1)[1].split()[0] in "ZX"
        except OSError:
            continue
        if has_it and not is_dead:
            found.append(int(name))
    return found


class Experiment:
    """One search, from its first start to the end of its last resume."""

    def __init__(self, base, chance, scheduler, way):
        self.base, self.chance, self.scheduler, self.way = base, chance, scheduler, way
        self.dir = base / "experiment"
        self.record = base / "record"
        self.record.mkdir(parents=True)
        (base / "program.py").write_text(PROGRAM)
        self.marker = f"{os.getpid()}-{time.time_ns()}"
        self.epochs = chance.randint(8, 25)
        self.trials = chance.randint(3, 6)
        plain = {"checkpoints": "c-*" if way == "directory" else "last", "resume": ["--resume", "${checkpoint}"]}
        if way == "directory":
            plain["complete"] = "complete"
        schedulers = {
            "pbt": {"time_attr": "training_iteration", "perturbation_interval": chance.randint(2, 5),
                    "quantile_fraction": chance.choice([0.25, 0.5]), "synch": chance.random() < 0.3,
                    "hyperparam_mutations": {"draw": {"uniform": [0, 1]}}},
            "hyperband": {"max_t": self.epochs}, "asha_promotion": {"max_t": self.epochs}, "fifo": {}}
        (base / "spec.json").write_text(json.dumps({
            "name": "experiment", "storage_path": str(base),
            "trainable": {"command": [sys.executable, "program.py", "${args}", "--out=${checkpoint_dir}",
                                      f"--record={self.record}/${{trial_id}}", f"--way={way}",
                                      f"--epochs={self.epochs}", f"--pause={chance.choice([0.01, 0.05, 0.15])}"],
                          "env": {"TORTURE_MARKER": self.marker}, "plain": plain},
            "param_space": {"draw": {"uniform": [0, 1]}}, "metric": "loss", "mode": "min",
            "num_samples": self.trials, "max_concurrent_trials": 3, "resources_per_trial": {}, "seed": chance.randint(1, 10**6),
            "scheduler": {"type": scheduler, **schedulers[scheduler]},
            "checkpoint_config": {"num_to_keep": 2}, "failure_config": {"max_failures": -1},
            "snapshot_period_s": chance.choice([0.1, 10])}))

    def session(self, kill_after_s):
        with open(self.base / "driver.log", "ab") as log:
            driver = subprocess.Popen([TUNE, "run", "spec.json", "--resume", "auto", "--progress", "lines"], cwd=self.base,
                                      stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        try:
            return driver.wait(LIMIT_S if kill_after_s is None else kill_after_s)
        except subprocess.TimeoutExpired:
            require(kill_after_s is not None, "the driver hangs")
            if self.chance.random() < 0.2:
                driver.send_signal(signal.SIGINT)
                time.sleep(self.chance.uniform(0, 0.5))
            return -signal.SIGKILL
        finally:
            driver.kill()
            driver.wait()

    def check(self):
        deadline = time.monotonic() + 10
        while marked(self.marker.encode()):
            require(time.monotonic() < deadline, "left behind:", marked(self.marker.encode()))
            time.sleep(0.05)
        listed = subprocess.run([TUNE, "checkpoints", str(self.dir), "--verify", "--json"], capture_output=True,
                                timeout=LIMIT_S, check=False)
        require(listed.returncode == 0, "tune checkpoints says", listed.stdout + listed.stderr)
        for trial in sorted(self.dir.glob("trial_*")):
            for line in (self.record / trial.name).read_text().splitlines():
                what, *rest = line.split()
                require(what == "start", trial.name, line)
                require(rest[1] == "0", trial.name, "has found", rest[1], "of what was not put back")
            rows = [json.loads(line) for line in (trial / "result.json").read_text().splitlines()]
            iterations = [row["training_iteration"] for row in rows]
            require(iterations == sorted(set(iterations)), trial.name, "has the iterations", iterations)
            has_gap = iterations != list(range(1, len(iterations) + 1))
            require(self.scheduler == "pbt" or not has_gap, trial.name, "has the iterations", iterations)
        checkpoints = json.loads(listed.stdout)
        for checkpoint in checkpoints:
            [file] = [file for file in pathlib.Path(checkpoint["path"]).rglob("*") if file.name in ("state", "last")]
            body = file.read_text().rpartition("\n")[0]
            epoch = json.loads(body)["epoch"]
            require(epoch >= checkpoint["training_iteration"], file, "has epoch", epoch, "and is said to have",
                    checkpoint["training_iteration"])
        return len(checkpoints)


def torture(base, runs, seed, schedulers):
    chance = random.Random(seed)
    kills = experiments = checkpoints = 0
    while kills < runs:
        scheduler = schedulers[experiments % len(schedulers)]
        way = WAYS[experiments % len(WAYS)]
        experiments += 1
        experiment = Experiment(base / f"{experiments:04}", random.Random(chance.getrandbits(48)), scheduler, way)
        last_kill = min(runs, kills + chance.choice([4, 6, 20]))
        code = None
        try:
            while code != 0 and kills < last_kill:
                code = experiment.session(math.exp(chance.uniform(math.log(0.02), math.log(4))))
                kills += code == -signal.SIGKILL
            if code != 0:
                code = experiment.session(None)
            require(code == 0, "the last resume has ended with code", code)
            checkpoints += experiment.check()
        except Violation as violation:
            raise Violation(f"after {kills} kills, experiment {experiments} ({scheduler}, {way}): {violation}\n"
                            f"see {experiment.base}") from None
        shutil.rmtree(experiment.base)
        print(f"{kills} kills, {experiments} experiments, {checkpoints} checkpoints; the last one with {scheduler}, {way}",
              flush=True)


def main():
    parser = argparse.ArgumentParser(description="kills drivers of plain programs and looks for what is lost")
    parser.add_argument("--runs", type=int, default=20, help="number of kills (20)")
    parser.add_argument("--seed", type=int, default=1, help="of experiments and delays (1)")
    parser.add_argument("--scheduler", default=",".join(SCHEDULERS), help="which of them take turns (all)")
    arguments = parser.parse_args()
    base = pathlib.Path(tempfile.mkdtemp(prefix="tune-plain-torture-"))
    try:
        torture(base, arguments.runs, arguments.seed, arguments.scheduler.split(","))
    except Violation as violation:
        print(f"VIOLATION {violation}")
        return 1
    shutil.rmtree(base)
    return 0


if __name__ == "__main__":
    sys.exit(main())
