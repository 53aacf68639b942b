"""A deterministic trainable in which nothing that is lost stays hidden: each step of the logistic
map takes the whole state of the one before, and the smallest difference grows at every step.
"""
import json
import os
import socket
import time


def main():
    driver = socket.socket(fileno=int(os.environ["TUNE_SOCKET_FD"]))

    def answer(kind, **fields):
        driver.sendall((json.dumps({"type": kind, **fields}) + "\n").encode())

    answer("hello", protocol=1, pid=os.getpid(), api="class")
    rate, state = 0.0, 0.0
    for command in map(json.loads, driver.makefile()):
        if command["type"] == "start":
            rate, state = command["config"]["rate"], command["config"]["start"]
            if command["checkpoint"]:
                with open(os.path.join(command["checkpoint"], "state"), encoding="ascii") as file:
                    state = float(file.read())
        elif command["type"] == "step":
            time.sleep(0.002)
            state = rate * state * (1 - state)
            answer("result", metrics={"x": state, "none": float("nan")},
                   should_checkpoint=state < 0.2)
        elif command["type"] == "save":
            with open(os.path.join(command["directory"], "state"), "w", encoding="ascii") as file:
                file.write(repr(state))
            answer("saved")
        elif command["type"] == "stop":
            return


main()
