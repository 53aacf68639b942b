#!/usr/bin/env python3
"""Gradient descent on (w - 3)^2 under tune: a client written from docs/protocol.md alone."""
import json
import os
import socket
import sys
import traceback


class Quadratic:
    def setup(self, config):
        self.config, self.w, self.steps = config, 0.0, 0

    def step(self):
        self.w -= self.config["lr"] * 2.0 * (self.w - 3.0)
        self.steps += 1
        metrics = {"loss": (self.w - 3.0) ** 2, "w": self.w}
        return metrics, self.steps >= self.config.get("iterations", float("inf"))

    def save(self, directory):
        with open(os.path.join(directory, "state.json"), "w") as file:
            json.dump({"w": self.w, "steps": self.steps}, file)

    def load(self, directory):
        with open(os.path.join(directory, "state.json")) as file:
            self.__dict__.update(json.load(file))


def main():
    driver = socket.socket(fileno=int(os.environ["TUNE_SOCKET_FD"]))

    def answer(kind, **fields):
        driver.sendall((json.dumps({"type": kind, **fields}) + "\n").encode())

    model = Quadratic()
    answer("hello", protocol=1, api="class")
    try:
        for command in map(json.loads, driver.makefile()):
            if command["type"] == "start":
                model.setup(command["config"])
                if command["checkpoint"]:
                    model.load(command["checkpoint"])
            elif command["type"] == "step":
                metrics, done = model.step()
                answer("result", iteration=command["iteration"], metrics=metrics, done=done)
            elif command["type"] == "save":
                try:
                    model.save(command["directory"])
                    answer("saved", iteration=command["iteration"])
                except OSError as error:
                    answer("saved", error=str(error))
            elif command["type"] == "stop":
                return 0
    except Exception as error:
        answer("error", message=repr(error), trace=traceback.format_exc())
    return 1


sys.exit(main())
