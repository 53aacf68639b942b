"""Kills the driver with SIGKILL at random moments of real experiments, resumes it each time, and
holds what is left against records that the driver cannot have touched.

    crash_torture.py --runs 20 --seed 1 [--scheduler LIST] [--python] [--workers N]
        so many kills; the experiments follow from the seed, the moments only roughly; with --python
        the trainable is torture_trainable.py, forked from a process that has its modules; with
        --workers, which needs --python, each trial has so many processes
    environment: PYTHON_PACKAGE, TUNE, TORTURE_TRAINABLE, TORTURE_PLUGIN, SLOW_DISK name what was built

The trainable (torture_trainable.cpp) and a callback in the driver (torture_plugin.cpp) append facts
to one file a trial outside of the experiment. About half of the experiments have a disk that is
slow with its journal (slow_disk.cpp), so that a thread writes it while the loop goes on. The
schedulers take turns: pauses by the toss of a coin, pbt, hyperband, asha_promotion. In the order of
that file, when the last resume has finished:

1. A result is *acknowledged* when the trainable has got its next command (`told`). An attempt that
   starts from iteration K rewinds the trial: everything after K no longer counts, and K must not
   lie before any checkpoint that was told to callbacks (`committed`). What it loads is what was
   last reported at K, by its stamp; or it is a clone of one that was a clone of it. A clone starts from what its donor has reported once, and what
   the trial saved before it became one is nothing to go back to.
2. `result.json`, `progress.csv` and the event files of a trial hold the iterations 1, 2, ... n, each once, n being
   the iterations that the config asks for, or where the scheduler has stopped or left it. A clone
   lacks those between its last one and the donor's, and trains once if the donor's was its last. Each row is what was last reported at that
   iteration, and every acknowledged result is there.
3. Of all acknowledged results, rewound ones included, none is missing in the count of accepted ones
   that `tune status` shows. While the journal goes back to the first event, each is in it exactly
   once.
4. Every checkpoint that was told as committed is there and whole, or retention has dropped it: two
   better ones are there, and a later one. Of what a trial was before it became a clone, one later
   one is enough. What is on disk is what `tune checkpoints` lists, and
   no driver has found any of them damaged.
5. While a driver runs, what an earlier one has started is gone before the first new process runs;
   when it has finished, nothing runs. Trainables see no descriptor but their own, the driver's do
   not grow, and two processes never run one trial at one time.
"""
import argparse
import csv
import json
import math
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import event_records

TUNE, PLUGIN = os.environ["TUNE"], os.environ["TORTURE_PLUGIN"]
LIMIT_S = 240  # a driver that hangs must not hang the torture
KEEP = 2
MAX_CONCURRENT = 3
SCHEDULERS = ["coin_pauses", "pbt", "hyperband", "asha_promotion"]
#: Threads, pipes, journal, log files: far less than a leak of one a trial would come to.
MAX_DESCRIPTORS = 64


class Violation(Exception):
    """Something was lost, doubled or left behind."""


def require(holds, *what):
    if not holds:
        raise Violation(" ".join(str(part) for part in what))


def marked_processes(marker):
    """(pid, start ticks): parent's pid, of everything that has the marker in its environment."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if marker not in file.read():
                    continue
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if fields[0] not in "ZX":
            found[int(name), int(fields[19])] = int(fields[1])
    return found


class Record:
    """What the trainable and the callback wrote about one trial, in order (rule 1)."""

    def __init__(self, file):
        self.reported, self.told, self.committed = {}, {}, {}
        self.all_told, self.all_reported = [], []  # rewound ones included
        self.clones = []  # (donor, iteration, stamp)
        self.own_clones = []  # (iteration, stamp): of one that was a clone of it before, and still is
        self.cloned_at = None  # iteration of the last time
        self.saved_as_clone = None  # the checkpoints that are of what it is now; None: all
        for line in file.read_text().splitlines():
            what, *rest = line.split(" ")
            require(what != "wrong", file.name, line)
            if what == "crash":
                continue
            first, second = int(rest[0]), int(rest[1])
            if what == "saving" and self.saved_as_clone is not None:
                self.saved_as_clone.add(first)
            if what == "committed":
                require(first not in self.committed, file.name, line, "twice")
                self.committed[first] = second
            elif what == "reported":
                self.reported[first] = second
                self.all_reported.append((first, second))
            elif what == "told":
                self.told[first] = second
                self.all_told.append(second)
            elif what == "clone":
                self.saved_as_clone = set()
                self.clones.append((rest[2], first, second))
                self.cloned_at = first
                self.rewind(first)
            elif what == "start" and first > 0 and self.reported.get(first) != second and self.clones:
                self.saved_as_clone = set()
                self.own_clones.append((first, second))
                self.cloned_at = first
                self.rewind(first)
            elif what == "start":
                newest = max((iteration for index, iteration in self.committed.items()
                              if self.is_of_present(index)), default=0)
                require(first >= newest, file.name, f"started at iteration {first} although the "
                        f"checkpoint of iteration {newest} was told as committed")
                require(first == 0 or self.reported.get(first) == second, file.name, line,
                        "is not what was last reported at that iteration")
                self.rewind(first)

    def is_of_present(self, index):
        return self.saved_as_clone is None or index in self.saved_as_clone

    def rewind(self, iteration):
        for facts in self.reported, self.told:
            for later in [i for i in facts if i > iteration]:
                del facts[later]


class Experiment:
    """One experiment from its first start to the end of its last resume."""

    def __init__(self, directory, seed, scheduler, python, workers):
        self.random = random.Random(seed)
        self.base = directory
        self.dir = directory / "experiment"
        self.workers = workers or 0
        self.record = directory / "record"
        self.record.mkdir(parents=True)
        self.trials = self.random.randint(4, 10)
        self.iterations = self.random.randint(10, 40)
        self.marker = f"TORTURE_MARKER={os.getpid()}-{seed}-{time.time_ns()}".encode()
        name, value = self.marker.decode().split("=")
        env = {name: value, "TORTURE_RECORD": str(self.record)}
        self.scheduler = scheduler
        if self.scheduler in ("hyperband", "asha_promotion"):
            self.trials *= 2  # most end early
        reuse = self.random.random() < 0.3
        if reuse:
            env["TORTURE_REUSED"] = "1"
        spec = {
            "name": "experiment", "storage_path": str(directory),
            "trainable": self.python_trainable(env) if python else
                         {"command": [os.environ["TORTURE_TRAINABLE"]], "env": env},
            "param_space": {"iterations": self.iterations, "draw": {"uniform": [0, 1]}},
            "metric": "stamp", "mode": "max", "seed": seed % 2**32,
            "num_samples": self.trials, "max_concurrent_trials": MAX_CONCURRENT,
            "resources_per_trial": {}, "reuse_processes": reuse,
            "scheduler": self.scheduler_options(),
            "callbacks": [{"type": "checkpoint_recorder", "directory": str(self.record)}],
            "checkpoint_config": {"checkpoint_frequency": self.random.randint(1, 4),
                                  "checkpoint_at_end": True, "num_to_keep": KEEP,
                                  "checkpoint_score_attribute": "stamp"},
            "failure_config": {"max_failures": -1},
            # Kills are to hit snapshots too; without them, the journal is there from its beginning.
            "snapshot_period_s": self.random.choice([0.03, 0.3, 1e6]),
        }
        if workers:
            spec["num_workers"] = workers
        (directory / "spec.json").write_text(json.dumps(spec))
        self.driver_env = dict(os.environ)
        if self.random.random() < 0.5:
            self.driver_env["LD_PRELOAD"] = os.environ["SLOW_DISK"]
            self.driver_env["ASAN_OPTIONS"] = ":".join(
                filter(None, [os.environ.get("ASAN_OPTIONS"), "verify_asan_link_order=0"]))
        self.sessions = 0
        self.before = set()  # what ran when the last driver was killed

    def python_trainable(self, env):
        target = str(pathlib.Path(__file__).with_name("torture_trainable.py")) + ":Torture"
        return {"command": [sys.executable, "-m", "tune.trial", "--api", "class", target],
                "preload": ["random", "json", "tune"],
                "env": {**env, "PYTHONPATH": os.environ["PYTHON_PACKAGE"]}}

    def scheduler_options(self):
        factor = self.random.choice([2, 3])
        interval = self.random.randint(2, 5)
        quantile = self.random.choice([0.25, 0.5])
        # Sub-populations of three and more, in which somebody is between the best and the worst.
        has_several = quantile < 0.5 and self.trials >= 6 and self.random.random() < 0.5
        options = {
            "coin_pauses": {"interval": interval},
            "pbt": {"time_attr": "training_iteration",
                    "perturbation_interval": [1, interval] if has_several else interval,
                    "quantile_fraction": quantile,
                    "synch": self.random.random() < 0.4,
                    "hyperparam_mutations": {"draw": {"uniform": [0, 1]}}},
            "hyperband": {"max_t": self.iterations, "reduction_factor": factor},
            "asha_promotion": {"max_t": self.iterations, "reduction_factor": factor},
        }
        return {"type": self.scheduler, **options[self.scheduler]}

    def session(self, kill_after_s):
        """Starts or resumes; kills it after that time (None: to its end). Its exit code."""
        resuming = (self.dir / "CURRENT").exists()
        words = ["resume", "experiment", "--strict"] if resuming else ["run", "spec.json"]
        self.sessions += 1
        with open(self.base / "driver.log", "ab") as log:
            log.write(f"== session {self.sessions}: {words[0]}\n".encode())
            log.flush()
            driver = subprocess.Popen([TUNE, *words, "--plugin", PLUGIN, "--progress", "lines"],
                                      cwd=self.base, stdout=log, stderr=subprocess.STDOUT,
                                      stdin=subprocess.DEVNULL, env=self.driver_env)
        try:
            return self.watch(driver, kill_after_s)
        finally:
            driver.kill()
            driver.wait()

    def watch(self, driver, kill_after_s):
        started = time.monotonic()
        interrupt_first = kill_after_s is not None and self.random.random() < 0.15
        while driver.poll() is None:
            lasted = time.monotonic() - started
            require(lasted < LIMIT_S, "the driver hangs")
            if kill_after_s is not None and lasted >= kill_after_s:
                if interrupt_first:
                    driver.send_signal(signal.SIGINT)
                    time.sleep(self.random.uniform(0, 0.1))
                self.look_at_processes(driver)
                if self.random.random() < 0.5:
                    self.before = set(marked_processes(self.marker))
                driver.kill()
                break
            self.count_descriptors(driver)
            left = 0.05 if kill_after_s is None else min(0.05, kill_after_s - lasted)
            time.sleep(max(left, 0))
        code = driver.wait()
        # By the signal itself where it came before anybody listened.
        interrupted = interrupt_first and code in (130, -signal.SIGINT)
        require(code in (0, -signal.SIGKILL) or interrupted, "the driver ended with code", code)
        return code

    def count_descriptors(self, driver):
        try:
            count = len(os.listdir(f"/proc/{driver.pid}/fd"))
        except OSError:
            return
        # Each rank more has a socket, a descriptor of its process and one for its launch.
        most = MAX_DESCRIPTORS + 3 * MAX_CONCURRENT * self.workers
        require(count <= most, "the driver has", count, "open descriptors")

    def look_at_processes(self, driver):
        """Rule 5: nothing of an earlier driver beside what this one has started."""
        deadline = time.monotonic() + 10
        while True:
            running = marked_processes(self.marker)
            has_launched = driver.pid in running.values()
            # Killed, but perhaps not out of the table of processes yet.
            old = self.before & set(running)
            if not (has_launched and old):
                return
            require(time.monotonic() < deadline, "of an earlier driver still run:", old)
            time.sleep(0.05)

    def ask(self, *words):
        done = subprocess.run([TUNE, *words, str(self.dir), "--json"], capture_output=True,
                              timeout=LIMIT_S, check=False)
        require(done.returncode == 0, "tune", *words, "says", done.stdout + done.stderr)
        return json.loads(done.stdout)

    def check(self):
        """After the last resume has finished."""
        deadline = time.monotonic() + 10
        while marked_processes(self.marker):
            require(time.monotonic() < deadline, "left behind:", marked_processes(self.marker))
            time.sleep(0.05)
        status = self.ask("status")
        states = status["states"]
        # Those that are never promoted stay where they are; PENDING if the driver died before the
        # checkpoint of their pause was committed.
        left = states["PAUSED"] + states["PENDING"] if self.scheduler == "asha_promotion" else 0
        require(states["TERMINATED"] + left == self.trials == status["trials"], status)
        require(status["driver"] is None, status["driver"])
        allowed = r"experiment\.json|CURRENT|history\.jsonl|(journal|snapshot|trials)-\d+\.jsonl?|trial_\d+|\.LOCK\..*tmp-.*" \
                  r"|preload\.log|pbt_global\.txt|pbt_policy_trial_\d+\.txt"
        for name in os.listdir(self.dir):
            require(re.fullmatch(allowed, name), name, "is left in the experiment's directory")
        trials = [f"trial_{number:05}" for number in range(self.trials)]
        records = {trial: Record(self.record / trial) for trial in trials}
        for file in self.record.glob("*.rank_*"):
            require("wrong" not in file.read_text(), file, "says that something is wrong")
        log = (self.base / "driver.log").read_text(errors="replace")
        require("cannot be trusted" not in log, "a driver found a damaged checkpoint")
        reached = {t["trial_id"]: t["training_iteration"] for t in self.ask("ls")}
        for trial in trials:
            for what in records[trial].own_clones:
                # It was a clone of one that was to be a clone of it, and perhaps never began as one.
                is_own = tuple(what) in records[trial].all_reported
                has_clones = any(donor == trial for other in records.values() for donor, *_ in other.clones)
                require(is_own and has_clones, trial, "has gone back to", what, "which nobody was a copy of")
            for donor, *what in records[trial].clones:
                require(tuple(what) in records[donor].all_reported, trial, "was cloned from", what,
                        "which", donor, "has never been")
        listed = self.ask("checkpoints", "--verify")
        for trial in trials:
            self.check_results(trial, records[trial], reached[trial])
            self.check_checkpoints(trial, records[trial],
                                   [c for c in listed if c["trial_id"] == trial])
        self.check_journal(records)
        told = sum(len(record.all_told) for record in records.values())
        reported = sum(len(record.all_reported) for record in records.values())
        require(told <= status["results"] <= reported, told, "results were acknowledged and",
                reported, "reported, accepted are said to be", status["results"])
        return told

    def check_results(self, trial, record, reached):
        rows = [json.loads(line)
                for line in (self.dir / trial / "result.json").read_text().splitlines()]
        with open(self.dir / trial / "progress.csv", newline="", encoding="utf-8") as file:
            table = list(csv.DictReader(file))
        if self.scheduler in ("coin_pauses", "pbt"):
            # A clone may find its donor at the end already, and has to train once to see that; so may a clone of it.
            is_late = record.cloned_at is not None and record.cloned_at >= self.iterations
            end = record.cloned_at + 1 if is_late else self.iterations
            require(reached == end, trial, "has ended at iteration",
                    reached)
        expected = sorted(record.reported) if record.clones else list(range(1, reached + 1))
        require(expected[-1] == reached, trial, "has reported", expected, "and is said to have",
                "reached", reached)
        for name, found in ("result.json", rows), ("progress.csv", table):
            iterations = [int(row["training_iteration"]) for row in found]
            require(iterations == expected, trial, name, "has the iterations", iterations)
            for row in found:
                iteration, stamp = int(row["training_iteration"]), int(row["stamp"])
                require(record.reported.get(iteration) == stamp, trial, name, "iteration",
                        iteration, "has stamp", stamp, "reported was",
                        record.reported.get(iteration))
        points = event_records.scalars_of(self.dir / trial)
        require([step for step, _ in points] == expected, trial, "has events of",
                [step for step, _ in points])
        for step, values in points:
            require(values["stamp"] == event_records.as_float(record.reported[step]), trial,
                    "has an event with", values, "reported was", record.reported[step])
        require(set(record.told) <= set(expected), trial, "was told", record.told)

    def check_checkpoints(self, trial, record, listed):
        on_disk = {entry.name for entry in os.scandir(self.dir / trial)
                   if entry.is_dir(follow_symlinks=False) and entry.name != "work"}
        there = {os.path.basename(c["path"]): c for c in listed}
        require(on_disk == set(there), trial, "has", sorted(on_disk), "listed are", sorted(there))
        by_index = {int(name.split("_")[1]): c for name, c in there.items()}
        latest = max(by_index, default=0)
        require(len(by_index) <= KEEP + 1, trial, "keeps", sorted(by_index))
        for index, iteration in record.committed.items():
            if index in by_index:
                require(by_index[index]["training_iteration"] == iteration, trial, by_index[index])
                continue
            # It was dropped, so it can have been neither the latest nor among the best of what the trial is now.
            rivals = sum(record.is_of_present(other) for other in by_index)
            require(index < latest and (rivals >= KEEP or not record.is_of_present(index)), trial, "checkpoint", index,
                    "was told as committed and is gone; there are", sorted(by_index))

    def check_journal(self, records):
        events = []
        for file in sorted(self.dir.glob("journal-*.jsonl")):
            events += [json.loads(line[17:]) for line in file.read_text().splitlines()[1:]]
        if not events or events[0]["n"] != 1:
            return  # a snapshot stands for the beginning
        stamps = [event["metrics"]["stamp"] for event in events if event["e"] == "result"]
        require(len(stamps) == len(set(stamps)), "a result is twice in the journal")
        for trial, record in records.items():
            lost = set(record.all_told) - set(stamps)
            require(not lost, trial, "was told to go on after results that the journal lacks:",
                    lost)


def torture(base, runs, seed, schedulers, python, workers):
    """The number of experiments and of acknowledged results."""
    chance = random.Random(seed)
    kills = experiments = results = 0
    while kills < runs:
        experiments += 1
        experiment = Experiment(base / f"{experiments:04}", chance.getrandbits(48),
                                schedulers[experiments % len(schedulers)], python, workers)
        ended = False
        # So that a short form comes to all schedulers, and a long one to many kills of one experiment.
        last_kill = min(runs, kills + chance.choice([4, 6, 40]))
        try:
            while not ended and kills < last_kill:
                # Many at the very start and in a resume's first moments, some after seconds.
                delay_s = math.exp(chance.uniform(math.log(0.004), math.log(2.5)))
                code = experiment.session(delay_s)
                ended = code == 0
                kills += code == -signal.SIGKILL
            if not ended:
                require(experiment.session(None) == 0, "the last resume did not finish")
            results += experiment.check()
        except Violation as violation:
            raise Violation(f"after {kills} kills, experiment {experiments} ({experiment.scheduler}"
                            f"), session {experiment.sessions}: {violation}\nsee {experiment.base}") from None
        shutil.rmtree(experiment.base)
        print(f"{kills} kills, {experiments} experiments, {results} results acknowledged; "
              f"the last one with {experiment.scheduler}", flush=True)


def main():
    parser = argparse.ArgumentParser(description="kills drivers and looks for what is lost")
    parser.add_argument("--runs", type=int, default=20, help="number of kills (20)")
    parser.add_argument("--seed", type=int, default=1, help="of experiments and delays (1)")
    parser.add_argument("--scheduler", default=",".join(SCHEDULERS),
                        help="which of them take turns (all)")
    parser.add_argument("--python", action="store_true", help="trials in Python, forked")
    parser.add_argument("--workers", type=int, help="processes of each trial")
    arguments = parser.parse_args()
    base = pathlib.Path(tempfile.mkdtemp(prefix="tune-torture-"))
    try:
        torture(base, arguments.runs, arguments.seed, arguments.scheduler.split(","),
                arguments.python, arguments.workers)
    except Violation as violation:
        print(f"VIOLATION {violation}")
        return 1
    shutil.rmtree(base)
    return 0


if __name__ == "__main__":
    sys.exit(main())
