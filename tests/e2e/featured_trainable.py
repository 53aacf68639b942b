"""One training as a class and as a function, with what features_test.py asks of both in the config;
featured_trainable.cpp is the same in C++."""
import json
import math
import os
import signal
import sys
import time

import tune

#: Before anything here could have imported it.
preloaded_by = sys.modules["heavy"].PID if "heavy" in sys.modules else 0


class Training:
    """x grows by lr with each of n steps."""

    def __init__(self, config):
        self.config = config
        self.n = 0
        self.x = 0.0
        self.started_at = 0  # the n that was loaded; 0: nothing was

    def is_at(self, name):
        return self.config.get(name) == self.n

    def is_over(self):
        return self.n >= self.config.get("iterations", 3)

    def step(self, context):
        self.n += 1
        self.x += self.config.get("lr", 0.5)
        is_first = context.attempt == 1
        if self.is_at("raise_at") and is_first:
            raise RuntimeError("told to raise")
        if self.is_at("crash_at") and is_first:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.is_at("kill_driver_at") and is_first:
            os.kill(os.getppid(), signal.SIGKILL)
            while True:
                signal.pause()
        if self.is_at("wait_at"):
            self.wait()
        return self.metrics(context)

    def save(self, directory):
        if self.is_at("cannot_save_at"):
            raise RuntimeError("told not to save")
        with open(os.path.join(directory, "state.json"), "w", encoding="ascii") as file:
            json.dump({"n": self.n, "x": self.x}, file)

    def load(self, directory):
        with open(os.path.join(directory, "state.json"), encoding="ascii") as file:
            state = json.load(file)
        self.n = self.started_at = state["n"]
        self.x = state["x"]

    def wait(self):
        with open("waits", "w", encoding="ascii") as file:
            file.write(str(os.getpid()))
        while self.config.get("for_ever") or not os.path.exists(os.environ["GO"]):
            time.sleep(0.005)

    def metrics(self, context):
        found = {"x": self.x, "val": {"half": self.x / 2}}
        if self.config.get("who"):  # two runs are to come to the same but for these
            found["who"] = {
                "pid": os.getpid(), "started_at": self.started_at, "trial_id": context.trial_id,
                "trial_dir": context.trial_dir, "attempt": context.attempt, "resources": context.resources,
                "devices": list(context.devices), "preloaded_by": preloaded_by}
        if self.config.get("odd"):
            found["odd"] = {"nan": math.nan, "above": math.inf, "below": -math.inf}
        if "done_at" in self.config:
            found["done"] = self.is_at("done_at")
        if "ask_at" in self.config:
            found["should_checkpoint"] = self.is_at("ask_at")
        return found


def note_cleanup():
    with open("cleaned_up", "w", encoding="ascii") as file:
        file.write(str(os.getpid()))


class Featured(tune.Trainable):
    def setup(self, config):
        self.training = Training(config)

    def step(self):
        metrics = self.training.step(self.context)
        return {**metrics, "done": True} if self.training.is_over() else metrics

    def save_checkpoint(self, checkpoint_dir):
        self.training.save(checkpoint_dir)

    def load_checkpoint(self, checkpoint_dir):
        self.training.load(checkpoint_dir)

    def reset_config(self, new_config):
        self.training = Training(new_config)
        return True

    def cleanup(self):
        note_cleanup()


def train(config):
    training = Training(config)
    if checkpoint := tune.get_checkpoint():
        training.load(checkpoint.path)
    try:
        while not training.is_over():
            metrics = training.step(tune.get_context())
            if training.is_at("hand_over_at"):
                os.mkdir("handed_over")
                training.save("handed_over")
                tune.report(metrics, checkpoint="handed_over")
            elif config.get("never_saves"):
                tune.report(metrics)
            else:
                tune.report(metrics, save=training.save)
    finally:
        note_cleanup()
