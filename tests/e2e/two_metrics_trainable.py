"""A deterministic trainable with two metrics that want different things, and trouble in some places."""
import json
import os
import socket
import time


def main():
    driver = socket.socket(fileno=int(os.environ["TUNE_SOCKET_FD"]))

    def answer(kind, **fields):
        driver.sendall((json.dumps({"type": kind, **fields}) + "\n").encode())

    answer("hello", protocol=1, pid=os.getpid(), api="class")
    config, steps = {}, 0
    for command in map(json.loads, driver.makefile()):
        if command["type"] == "start":
            config = command["config"]
            if command["checkpoint"]:
                with open(os.path.join(command["checkpoint"], "steps"), encoding="ascii") as file:
                    steps = int(file.read())
        elif command["type"] == "step":
            time.sleep(0.002)
            steps += 1
            x, y = config["x"], config["y"]
            if config["kind"] == "fails" and steps == 2:
                raise SystemExit("this kind fails")
            loss = float("nan") if config["kind"] == "nan" else (x - 0.25) ** 2 + y + 1 / steps
            metrics = {"loss": loss, "speed": 5 - (x - 0.75) ** 2 - y - 0.1 * steps}
            if config["kind"] == "lacks":
                del metrics["speed"]
            answer("result", metrics=metrics, done=steps == 4)
        elif command["type"] == "save":
            with open(os.path.join(command["directory"], "steps"), "w", encoding="ascii") as file:
                file.write(str(steps))
            answer("saved")
        elif command["type"] == "stop":
            return


main()
