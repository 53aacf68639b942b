"""Kills driver and programs at random moments of searches over plain programs that save by themselves, and holds what
is left against what the programs have printed and saved.

    plain_torture.py --runs 20 --seed 1 [--scheduler LIST] [--way LIST] [--keep-going]
    environment: TUNE names the program

A program prints, then saves, or the other way round; a file or a directory, renamed or in its place, each epoch or more
often, with rests or without any; or one file before its print, and others behind that, or in the middle of some epochs.
It names its iterations or does not, and is told when it saves or is not. Each result is one of its own, as chance has a part in it. What it saves ends with a checksum. It appends to a file outside of the
experiment what it has found at each start, and what it prints. Afterwards

1. `result.json` of a trial has each iteration once, in order, and of each the result that was printed for it. A gap lies
   only where it has become a clone, between what it had come to and the iteration of the donor's checkpoint.
2. Each committed checkpoint is whole, and has the very model whose iteration and score it is said to have; what the
   trial's row of that iteration says is the same, if both are of what the trial is since it has become a clone last.
3. The best checkpoint that `tune best` names has the value that it is named with.
4. Nothing that was started still runs.
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
SCHEDULERS = ["pbt", "asha_promotion", "asha", "hyperband", "fifo"]
# How a program saves, and what its spec says of that.
WAYS = {"rename": {"checkpoints": "last"}, "in_place": {"checkpoints": "last"},
        "complete": {"checkpoints": "c-*", "complete": "complete"}, "directory": {"checkpoints": "c-*"},
        "all": {}, "all_renamed": {}, "last_best": {"checkpoints": "model-*.pt"}, "middle": {"checkpoints": "model-*.pt"}}
# These save files of several kinds, which have no order in common that could be told.
SEVERAL_KINDS = ("last_best", "middle")

PROGRAM = r'''
import argparse, hashlib, json, os, random, sys, threading, time
parser = argparse.ArgumentParser()
for name in ("way", "order", "out", "record", "resume"):
    parser.add_argument("--" + name)
for name in ("draw", "pause"):
    parser.add_argument("--" + name, type=float)
for name in ("epochs", "rest_every", "saves"):
    parser.add_argument("--" + name, type=int)
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

def write(file, text):
    with open(file, "w") as opened:
        opened.write(text[:len(text) // 2])
        opened.flush()
        time.sleep(min(0.005, a.pause / 20))
        opened.write(text[len(text) // 2:])

def renamed(file, text):
    write(file + ".new", text)
    os.rename(file + ".new", file)

def save():
    text = text_of(state)
    if a.way in ("last_best", "middle"):
        renamed(a.out + "/model-last.pt", text)
    elif a.way in ("rename", "in_place"):
        (renamed if a.way == "rename" else write)(a.out + "/last", text)
    elif a.way in ("all", "all_renamed"):
        for name in ("weights", "state"):
            (write if a.way == "all" else renamed)(f"{a.out}/{name}", text)
    else:
        to = f"{a.out}/c-{state['epoch']}"
        os.makedirs(to, exist_ok=True)
        for name in ("weights", "state"):
            write(f"{to}/{name}", text)
        if a.way == "complete":
            open(to + "/complete", "w").close()

def say():
    record(f"print {state['epoch']} {state['loss']}")
    print(f"epoch={state['epoch']} loss={state['loss']}")

state = {"epoch": 0, "loss": 1.0}
found = a.resume
if a.way.startswith("all") and os.path.exists(a.out + "/state"):
    found = a.out
if found:
    state = read(found + ("/state" if os.path.isdir(found) else ""))
left = [name for name in os.listdir(a.out) if a.out + "/" + name != a.resume and not name.endswith(".new")]
record(f"start {state['epoch']} {0 if a.way.startswith('all') else len(left)}")
if random.random() < 0.25:
    death = threading.Timer(random.uniform(0, a.pause * a.epochs), os.kill, (os.getpid(), 9))
    death.daemon = True
    death.start()
while state["epoch"] < a.epochs:
    for i in range(a.saves):
        time.sleep(a.pause * random.uniform(0.6, 1.4) / a.saves)
        if i + 1 < a.saves and state["epoch"]:
            save()
    if a.way == "middle" and state["epoch"] % 3 == 2:
        renamed(f"{a.out}/model-middle-{state['epoch']}.pt", text_of(state))
        time.sleep(a.pause * random.uniform(0.6, 1.4))
    loss = state["loss"] * (1 - a.draw / 10) * random.uniform(0.999, 1)
    state = {"epoch": state["epoch"] + 1, "loss": float(f"{loss:.9f}")}
    if a.order == "before_result":
        save()
    say()
    if a.order == "after_result":
        save()
    if a.way == "last_best" and random.random() < 0.7:
        renamed(a.out + "/model-best.pt", text_of(state))
    if a.rest_every and state["epoch"] % a.rest_every == 0:
        time.sleep(1.3)
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
        epochs = chance.randint(8, 25)
        pause = chance.choice([0.15, 0.3] if way in SEVERAL_KINDS else [0.05, 0.15, 0.3])
        order = chance.choice(["after_result", "before_result"])
        saves = chance.choice([1, 1, 3]) if order == "after_result" else 1
        rest_every = 0 if epochs * pause > 5 else chance.choice([0, 3])
        # Epochs that are shorter are too short to be told apart.
        is_told = way not in SEVERAL_KINDS and (pause < 0.1 or chance.random() < 0.5)
        has_iterations = chance.random() < 0.5
        plain = {**WAYS[way], **({"saved": order} if is_told else {}),
                 **({"metrics": {"training_iteration": r"epoch=(\d+)"}} if has_iterations else {})}
        if way != "all":
            plain["resume"] = ["--resume", "${checkpoint}"]
        schedulers = {
            "pbt": {"time_attr": "training_iteration", "perturbation_interval": chance.randint(2, 5),
                    "quantile_fraction": chance.choice([0.25, 0.5]), "synch": chance.random() < 0.3,
                    "hyperparam_mutations": {"draw": {"uniform": [0, 1]}}},
            "hyperband": {"max_t": epochs}, "asha_promotion": {"max_t": epochs}, "asha": {"max_t": epochs}, "fifo": {}}
        self.what = (f"{scheduler}, {way}, {order}{' told' if is_told else ''}, {epochs} epochs of {pause} s, {saves} saves"
                     f"{', rests' if rest_every else ''}{', names iterations' if has_iterations else ''}")
        (base / "spec.json").write_text(json.dumps({
            "name": "experiment", "storage_path": str(base),
            "trainable": {"command": [sys.executable, "program.py", "${args}", "--out=${checkpoint_dir}",
                                      f"--record={self.record}/${{trial_id}}", f"--way={way}", f"--order={order}",
                                      f"--epochs={epochs}", f"--pause={pause}", f"--saves={saves}",
                                      f"--rest_every={rest_every}"],
                          "env": {"TORTURE_MARKER": self.marker}, "plain": plain},
            "param_space": {"draw": {"uniform": [0, 1]}}, "metric": "loss", "mode": "min",
            "num_samples": chance.randint(3, 6), "max_concurrent_trials": 3, "resources_per_trial": {},
            "seed": chance.randint(1, 10**6),
            "scheduler": {"type": scheduler, **schedulers[scheduler]},
            "checkpoint_config": {"num_to_keep": chance.choice([2, 5])}, "failure_config": {"max_failures": -1},
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

    def json(self, *words):
        done = subprocess.run([TUNE, *words, "--json"], capture_output=True, timeout=LIMIT_S, check=False)
        require(done.returncode == 0, "tune", *words, "says", done.stdout + done.stderr)
        return json.loads(done.stdout)

    def check(self):
        deadline = time.monotonic() + 10
        while marked(self.marker.encode()):
            require(time.monotonic() < deadline, "left behind:", marked(self.marker.encode()))
            time.sleep(0.05)
        lineage = self.json("lineage", str(self.dir))
        losses, since = {}, {}
        for trial in sorted(self.dir.glob("trial_*")):
            skipped = set()
            for cloning in lineage["clonings"]:
                if cloning["trial_id"] == trial.name and cloning["donor_iteration"] is not None:
                    skipped |= set(range(cloning["training_iteration"] + 1, cloning["donor_iteration"] + 1))
                    since[trial.name] = cloning
            losses[trial.name] = self.check_rows(trial, skipped)
        checkpoints = self.json("checkpoints", str(self.dir), "--verify")
        for checkpoint in checkpoints:
            name = checkpoint["trial_id"]
            self.check_checkpoint(checkpoint, losses[name], since.get(name))
        self.check_best()
        return len(checkpoints)

    def check_rows(self, trial, skipped):
        """Answers the losses of its iterations. `skipped`: those that it may lack, since it has become a clone."""
        printed = set()
        for line in (self.record / trial.name).read_text().splitlines():
            what, *rest = line.split()
            require(what in ("start", "print"), trial.name, line)
            require(what != "start" or rest[1] == "0", trial.name, "has found", rest[1], "of what was not put back")
            if what == "print":
                printed.add((int(rest[0]), float(rest[1])))
        rows = [json.loads(line) for line in (trial / "result.json").read_text().splitlines()]
        iterations = [row["training_iteration"] for row in rows]
        require(iterations == sorted(set(iterations)), trial.name, "has the iterations", iterations)
        lacks = set(range(1, max(iterations, default=0))) - set(iterations)
        require(lacks <= skipped, trial.name, "has the iterations", iterations, "and may lack", sorted(skipped))
        for row in rows:
            result = (row["training_iteration"], row["loss"])
            require(result in printed, trial.name, "never printed its result", result)
        return {row["training_iteration"]: row["loss"] for row in rows}

    def check_checkpoint(self, checkpoint, losses, cloning):
        """`cloning`: with which its trial has become what it is; none: it is no clone."""
        path, iteration = pathlib.Path(checkpoint["path"]), checkpoint["training_iteration"]
        state = state_in(path)
        manifest = json.loads((path / "manifest.json").read_text())
        if checkpoint["score"] is None:
            # What a launch saves before its first result is what it has begun with, and is given no score.
            require(state["epoch"] == iteration and manifest["metrics"] == {}, path, "has", state, "of iteration", iteration)
            return
        said = {"epoch": iteration, "loss": checkpoint["score"]}
        require(state == said, path, "has", state, "and is said to have", said)
        # A clone comes anew to iterations that its trial had saved before.
        # A save that was under way as that was decided is written a moment later, and is of before.
        is_of_before = checkpoint["rank"] is None
        if is_of_before:
            seconds = (path / "manifest.json").stat().st_mtime - cloning["time"]
            require(seconds < 1, path, "was saved", seconds, "s after its trial has become a clone, and has no rank")
        else:
            begin = cloning["donor_iteration"] if cloning else 0
            require(iteration > begin, path, "is of iteration", iteration, "and its trial began behind", begin)
            is_ahead = iteration > max(losses, default=0)
            require(is_ahead or losses.get(iteration) == state["loss"], path, "has", state, "and the row says",
                    losses.get(iteration))
        require(manifest["metrics"]["loss"] == state["loss"], path, "has", state, "and the manifest says", manifest["metrics"])
        ahead = [result["training_iteration"] for result in manifest.get("results", [])]
        require(ahead == list(range(iteration - len(ahead) + 1, iteration + 1)), path, "is ahead by", ahead)

    def check_best(self):
        best = self.json("best", str(self.dir))
        for checkpoint in best["best_checkpoints"][:1]:
            if checkpoint["training_iteration"] == best["best_iteration"]:
                state = state_in(pathlib.Path(checkpoint["path"]))
                require(state["loss"] == best["value"], checkpoint, "has", state, "and the best is", best["value"])


def state_in(path):
    """Of the save that is the last one in there."""
    files = [file for file in path.rglob("*") if file.name in ("state", "weights", "last") or file.suffix == ".pt"]
    states = [json.loads(file.read_text().rpartition("\n")[0]) for file in files]
    require(all(state == states[0] for state in states), path, "has parts of several saves", states)
    return states[0]


def torture(base, arguments):
    chance = random.Random(arguments.seed)
    schedulers, ways = arguments.scheduler.split(","), arguments.way.split(",")
    kills = experiments = checkpoints = violations = 0
    while kills < arguments.runs:
        scheduler = schedulers[experiments % len(schedulers)]
        way = ways[experiments % len(ways)]
        experiments += 1
        experiment = Experiment(base / f"{experiments:04}", random.Random(chance.getrandbits(48)), scheduler, way)
        last_kill = min(arguments.runs, kills + chance.choice([4, 6, 20]))
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
            violations += 1
            print(f"VIOLATION after {kills} kills, experiment {experiments} ({experiment.what}): {violation}\n"
                  f"see {experiment.base}", flush=True)
            if not arguments.keep_going:
                break
        else:
            shutil.rmtree(experiment.base)
        print(f"{kills} kills, {experiments} experiments, {checkpoints} checkpoints, {violations} violations; "
              f"the last one: {experiment.what}", flush=True)
    return violations


def main():
    parser = argparse.ArgumentParser(description="kills drivers of plain programs and looks for what is lost")
    parser.add_argument("--runs", type=int, default=20, help="number of kills (20)")
    parser.add_argument("--seed", type=int, default=1, help="of experiments and delays (1)")
    parser.add_argument("--scheduler", default=",".join(SCHEDULERS), help="which of them take turns (all)")
    parser.add_argument("--way", default=",".join(WAYS), help="which ways to save take turns (all)")
    parser.add_argument("--keep-going", action="store_true", help="beyond the first violation")
    base = pathlib.Path(tempfile.mkdtemp(prefix="tune-plain-torture-"))
    if torture(base, parser.parse_args()) > 0:
        return 1
    shutil.rmtree(base)
    return 0


if __name__ == "__main__":
    sys.exit(main())
