"""What "keep_paused" saves: searches that pause or clone trials, with a program that takes long to
start.

    python3 tests/bench/keep_paused.py build/release/bin/tune [--start-s 5] [--only SCHEDULER]

The program imports a module that takes START_S; an iteration takes 0.1 s. Each scheduler runs the
same search four times: each process started anew (cold), forked from one that has imported the
module (forked), handed from trial to trial by a reset (reused), kept waiting for its own trial
(warm). Seconds, and how many processes began.
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
import slow_start
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
SCHEDULERS = {
    "asha_promotion": ({"type": "asha_promotion", "max_t": 27, "grace_period": 1,
                        "reduction_factor": 3}, 18),
    "hyperband": ({"type": "hyperband", "max_t": 9, "reduction_factor": 3}, 9),
    "pbt": ({"type": "pbt", "perturbation_interval": 5,
             "hyperparam_mutations": {"x": {"uniform": [0, 1]}}}, 8),
}
WAYS = {
    "cold": {"keep_paused": 0},
    "forked": {"keep_paused": 0, "preload": ["slow_start"]},
    "reused": {"keep_paused": 0, "reuse_processes": True},
    "warm": {},
}


def search(options, directory, scheduler, trials, way):
    """Seconds of one search, and how many processes it has started."""
    fields = dict(WAYS[way])
    name = f"{scheduler['type']}-{way}"
    starts = os.path.join(directory, name + ".starts")
    package = os.path.join(os.path.dirname(__file__), "..", "..", "trainable", "python")
    preload = {"preload": fields.pop("preload")} if "preload" in fields else {}
    spec = {"name": name, "storage_path": directory, "metric": "loss", "mode": "min", "seed": 1,
            "num_samples": trials, "param_space": {"x": {"uniform": [0, 1]}}, "searcher": "random",
            "stop": {"training_iteration": 27}, "scheduler": scheduler,
            "max_concurrent_trials": 4, "resources_per_trial": {"cpu": 0},
            "checkpoint_config": {"num_to_keep": 1},
            "trainable": {"command": [sys.executable, "-m", "tune.trial",
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
        return took, len(file.readlines())


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tune")
    parser.add_argument("--start-s", type=float, default=5)
    parser.add_argument("--only", default="", choices=["", *SCHEDULERS])
    options = parser.parse_args()
    options.tune = os.path.abspath(options.tune)
    with tempfile.TemporaryDirectory() as directory:
        with open(os.path.join(directory, "slow_start.py"), "w") as file:
            file.write(SLOW_START.format(start_s=options.start_s))
        with open(os.path.join(directory, "train.py"), "w") as file:
            file.write(TRAIN)
        for name, (scheduler, trials) in SCHEDULERS.items():
            if options.only not in ("", name):
                continue
            for way in WAYS:
                took, starts = search(options, directory, scheduler, trials, way)
                print(f"{name:16} {way:8} {took:7.1f} s  {starts:4} processes", flush=True)


if __name__ == "__main__":
    main()
