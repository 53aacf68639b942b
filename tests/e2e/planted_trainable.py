"""A small training with momentum and a random generator, right in everything; or, with a name as argument, wrong in one
thing, as real trainables are."""
import json
import math
import os
import random
import signal
import socket
import subprocess
import sys

fault = sys.argv[1] if len(sys.argv) > 1 else "none"
driver = socket.socket(fileno=int(os.environ["TUNE_SOCKET_FD"]))


WRONG_LOSS = {"reports_text": "0.3", "reports_nan": math.nan}


def say(kind, **fields):
    driver.sendall((json.dumps({"type": kind, **fields}) + "\n").encode())


class Model:
    def setup(self, config):
        self.config = config
        if fault != "reset_keeps_momentum" or not hasattr(self, "velocity"):
            self.velocity = 0.0
        self.w, self.steps = 0.0, 0
        self.random = random.Random(config["seed"])
        if fault == "not_seeded":
            self.random = random.Random()

    def step(self):
        gradient = 2 * (self.w - 3) + self.random.gauss(0, 0.1)
        self.velocity = 0.9 * self.velocity - self.config["lr"] * gradient
        self.w += self.velocity
        self.steps += 1
        if fault == "state_in_work":
            with open("steps", "w", encoding="ascii") as file:
                file.write(str(self.steps))
        return {"loss": (self.w - 3) ** 2}

    def state(self):
        state = {"w": self.w, "velocity": self.velocity, "steps": self.steps,
                 "random": self.random.getstate(), "config": self.config}
        left_out = {"momentum_left_out": "velocity", "generator_left_out": "random"}.get(fault)
        if left_out:
            state[left_out] = None
        return state

    def save(self, directory):
        if fault == "save_draws":
            self.random.random()
        if fault == "save_is_empty":
            return
        if fault == "save_links_out":
            os.symlink(os.path.abspath("state.json"), os.path.join(directory, "state.json"))
            directory = "."
        with open(os.path.join(directory, "state.json"), "w", encoding="ascii") as file:
            json.dump(self.state(), file)
        if fault == "remembers_path":
            self.saved_in = directory
            with open(os.path.join(directory, "where"), "w", encoding="ascii") as file:
                file.write(directory)

    def load(self, directory):
        if fault == "remembers_path":
            with open(os.path.join(directory, "where"), encoding="ascii") as file:
                directory = file.read()
        with open(os.path.join(directory, "state.json"), encoding="ascii") as file:
            state = json.load(file)
        if fault == "load_cleans_up":
            os.remove(os.path.join(directory, "state.json"))
        self.w = state["w"]
        self.velocity = state["velocity"] or 0.0
        self.steps = 0 if fault == "unseen_left_out" else state["steps"]
        if state["random"]:
            version, numbers, gauss = state["random"]
            self.random.setstate((version, tuple(numbers), gauss))
        if fault == "config_from_checkpoint":
            self.config = state["config"]
        if fault == "state_in_work":
            with open("steps", encoding="ascii") as file:
                self.steps = int(file.read())


def move_to(command):
    if fault != "stays_in_place":
        os.chdir(command["trial_dir"])
    for log, descriptor in (("stdout", 1), ("stderr", 2)):
        if fault != "prints_into_the_old_log":
            file = os.open(command[log], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            os.dup2(file, descriptor)
            os.close(file)


def main():
    if fault in ("deaf_to_stop", "lives_on"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if fault == "has_a_daemon":
        subprocess.Popen(["sleep", "7331"], start_new_session=True)
    model = Model()
    if fault == "blank_lines":
        while True:
            driver.sendall(b"\n" * 65536)
    say("hello", protocol=1, can_reset=True)
    for command in map(json.loads, driver.makefile()):
        if command["type"] in ("start", "reset"):
            if command["type"] == "reset":
                move_to(command)
            if fault == "counts_attempts":
                # Right: who comes to a trial again is in another attempt of it.
                if os.path.exists("attempt_1") and command["attempt"] < 2:
                    sys.exit("this trial has had its first attempt")
                with open("attempt_1", "w", encoding="ascii"):
                    pass
            model.setup(command["config"])
            if command["checkpoint"]:
                model.load(command["checkpoint"])
        elif command["type"] == "step":
            metrics = model.step()
            if fault == "counts_from_one":
                metrics["training_iteration"] = model.steps - (0 if model.steps < 3 else 2)
            if fault in WRONG_LOSS:
                metrics["loss"] = WRONG_LOSS[fault]
            say("result", iteration=command["iteration"], metrics=metrics)
            if fault == "some_blank_lines":
                driver.sendall(b" \n\r\n" * 100_000)
            if fault == "answers_twice":
                say("result", iteration=command["iteration"], metrics=metrics)
        elif command["type"] == "save":
            model.save(command["directory"])
            say("saved", iteration=command["iteration"])
        elif command["type"] == "stop" and fault != "deaf_to_stop":
            sys.exit(3 if fault == "exits_with_3" else 0)
    while fault == "lives_on":
        signal.pause()


main()
