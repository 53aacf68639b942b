"""The protocol, for trainables of the tests that know no trouble. Knows no model."""
import json
import os
import socket


def serve(trial):
    """`trial` has `start(config)`, `step()`, which answers a result's fields, and a number, `state`,
    which is all that a checkpoint holds, but for what its `save(directory)` adds, if it has one.
    Returns when it is told to stop."""
    driver = socket.socket(fileno=int(os.environ["TUNE_SOCKET_FD"]))
    driver.set_inheritable(False)

    def answer(kind, **fields):
        driver.sendall((json.dumps({"type": kind, **fields}) + "\n").encode())

    answer("hello", protocol=1, api="class")
    for command in map(json.loads, driver.makefile()):
        if command["type"] == "start":
            trial.start(command["config"])
            if command["checkpoint"]:
                with open(os.path.join(command["checkpoint"], "state"), encoding="ascii") as file:
                    trial.state = type(trial.state)(file.read())
        elif command["type"] == "step":
            answer("result", **trial.step())
        elif command["type"] == "save":
            with open(os.path.join(command["directory"], "state"), "w", encoding="ascii") as file:
                file.write(repr(trial.state))
            if hasattr(trial, "save"):
                trial.save(command["directory"])
            answer("saved")
        elif command["type"] == "stop":
            return
