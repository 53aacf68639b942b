"""What "keep_paused" saves: searches that pause or clone trials, with a program that takes long to
start.

    python3 tests/bench/keep_paused.py build/release/bin/tune [--start-s 5] [--only SCHEDULER]
        [--module torch --python PYTHON] [--trials N]

The program imports a module that takes START_S, or the one that is named; an iteration takes 0.1 s.
Each scheduler runs the same search four times: each process started anew (cold), forked from one
that has imported the module (forked), handed from trial to trial by a reset (reused), kept waiting
for its own trial (warm). Seconds, how many processes began, and how many trials became clones.
`fifo` has the trials of `pbt`, without clones.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

SLOW_START = "import time\ntime.sleep({start_s})\n"
TRAIN = """
import os, time
import {module}
import tune

with open(os.environ["STARTS"], "a") as file:
    file.write("started\\n")


class Train(tune.Trainable):
    def setup(self, config):
        self.x, self.done = config["x"], 0

    def step(self):
        time.sleep(0.1)
        self.done += 1
        return {"loss": (self.x - 0.3) ** 2 + 1 / self.done}

    def save_checkpoint(self, directory):
        with open(os.path.join(directory, "done"), "w") as file:
            file.write(str(self.done))

    def load_checkpoint(self, directory):
        with open(os.path.join(directory, "done")) as file:
            self.done = int(file.read())

    def reset_config(self, config):
        self.x, self.done = config["x"], 0
        return True
"""
#: Options, how many trials, and how many of them at once: a population clones while all train.
SCHEDULERS = {
    "asha_promotion": ({"type": "asha_promotion", "max_t": 27, "grace_period": 1,
                        "reduction_factor": 3}, 18, 4),
    "hyperband": ({"type": "hyperband", "max_t": 9, "reduction_factor": 3}, 9, 4),
    "pbt": ({"type": "pbt", "time_attr": "training_iteration", "perturbation_interval": 5,
             "hyperparam_mutations": {"x": {"uniform": [0, 1]}}}, 8, 8),
    "fifo": ({"type": "fifo"}, 8, 8),
}
WAYS = {
    "cold": {"keep_paused": 0},
    "forked": {"keep_paused": 0, "preload": True},
    "reused": {"keep_paused": 0, "reuse_processes": True},
    "warm": {},
}


def search(options, directory, scheduler, trials, at_once, way):
    """Seconds of one search, how many processes it has started, and how many clones."""
    fields = dict(WAYS[way])
    name = f"{scheduler['type']}-{way}"
    starts = os.path.join(directory, name + ".starts")
    package = os.path.join(os.path.dirname(__file__), "..", "..", "trainable", "python")
    preload = {"preload": [options.module]} if fields.pop("preload", False) else {}
    spec = {"name": name, "storage_path": directory, "metric": "loss", "mode": "min", "seed": 1,
            "num_samples": trials, "param_space": {"x": {"uniform": [0, 1]}}, "searcher": "random",
            "stop": {"training_iteration": 27}, "scheduler": scheduler,
            "max_concurrent_trials": at_once, "resources_per_trial": {"cpu": 0},
            "checkpoint_config": {"num_to_keep": 1},
            "trainable": {"command": [options.python, "-m", "tune.trial",
                                      os.path.join(directory, "train.py") + ":Train"],
                          "env": {"STARTS": starts,
                                  "PYTHONPATH": os.path.abspath(package) + ":" + directory},
                          **preload},
            **fields}
    path = os.path.join(directory, name + ".json")
    with open(path, "w") as file:
        json.dump(spec, file)
    begun = time.monotonic()
    done = subprocess.run([options.tune, "run", path, "--progress", "none"], capture_output=True,
                          text=True)
    took = time.monotonic() - begun
    if done.returncode != 0 or "FAILED" in done.stdout:
        sys.exit(done.stdout + done.stderr)
    with open(starts) as file:
        started = len(file.readlines())
    clones = subprocess.run([options.tune, "events", os.path.join(directory, name)],
                            capture_output=True, text=True, check=True)
    return took, started, clones.stdout.count('"outcome":"exploiting"')


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tune")
    parser.add_argument("--start-s", type=float, default=5)
    parser.add_argument("--module", default="slow_start")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--trials", type=int, default=0, help="0: as many as each row has")
    parser.add_argument("--only", default="", choices=["", *SCHEDULERS])
    options = parser.parse_args()
    options.tune = os.path.abspath(options.tune)
    with tempfile.TemporaryDirectory() as directory:
        with open(os.path.join(directory, "slow_start.py"), "w") as file:
            file.write(SLOW_START.format(start_s=options.start_s))
        with open(os.path.join(directory, "train.py"), "w") as file:
            file.write(TRAIN.replace("{module}", options.module))
        for name, (scheduler, trials, at_once) in SCHEDULERS.items():
            if options.only not in ("", name):
                continue
            for way in WAYS:
                took, starts, clones = search(options, directory, scheduler,
                                               options.trials or trials, at_once, way)
                print(f"{name:16} {way:8} {took:7.1f} s  {starts:4} processes  {clones:3} clones",
                      flush=True)


if __name__ == "__main__":
    main()
