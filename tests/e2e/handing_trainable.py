"""Trainables of both kinds that treat files as real programs do, each in its way, named by argv."""
import json
import os
import socket
import sys
import time

driver = socket.socket(fileno=int(os.environ["TUNE_SOCKET_FD"]))
commands = driver.makefile("r")
kind = sys.argv[1]
number = int(os.environ["TUNE_TRIAL_ID"][-5:])
attempt = int(os.environ["TUNE_ATTEMPT"])
iterations = int(os.environ.get("ITERATIONS", "3"))


def say(type_, **fields):
    driver.sendall((json.dumps({"type": type_, **fields}) + "\n").encode())


def made(directory, text):
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "state"), "w", encoding="ascii") as file:
        file.write(text)
    return directory


def relative(n, start):
    """The same name each time, as if it were its own."""
    return made("ckpt", f"{n}")


def linked(n, start):
    """With links to the newest, as frameworks make."""
    directory = made(os.path.abspath(f"model_{n}"), f"{n}")
    os.symlink("state", directory + "/last")
    os.symlink(directory + "/state", directory + "/best")
    return f"model_{n}"


def elsewhere(n, start):
    """What is not the trial's to give."""
    made(os.environ["ELSEWHERE"], f"{n}")
    return [os.environ["ELSEWHERE"], "../work/ckpt", ".."][n - 1]


def leaks(n, start):
    os.symlink("/etc/hostname", made("ckpt", "precious") + "/link")
    return "ckpt"


def again(n, start):
    """What it was restored from: nothing is better since."""
    if start["checkpoint"]:
        return start["checkpoint"] if n == 2 else None
    return made(".reported_checkpoint_1", "precious") if n == 1 else None


def exploited(n, start):
    """Trial 0 is good; the others hand over a name that the user has, too."""
    if number == 0:
        return made(f".reported_checkpoint_{n}", f"{n}")
    return made("data", f"{n}")


def function():
    hand_over = {"relative": relative, "linked": linked, "elsewhere": elsewhere, "leaks": leaks, "again": again,
                 "exploited": exploited}[kind]
    start = n = None
    for line in commands:
        command = json.loads(line)
        if command["type"] == "start":
            start, n = command, command["iteration"]
        elif command["type"] == "step":
            n += 1
            if kind == "again" and n == 2 + (attempt > 1) and attempt < 3:
                # Once its checkpoint, or the refusal of one, is recorded.
                time.sleep(0.3)
                sys.exit(1)
            if kind == "exploited":
                time.sleep(0.1)
            directory = hand_over(n, start)
            say("result", metrics={"loss": 1 if number == 0 else 100}, done=n >= iterations,
                **({"checkpoint": directory} if directory else {}))
        elif command["type"] == "stop":
            return


def save(directory):
    if kind == "read_only":
        cache = made(os.path.join(directory, "cache"), "x")
        os.chmod(cache, 0o555)
    made(directory, "x" * int(os.environ.get("BYTES", "1")) if kind == "uneven" else "x")


def klass():
    n = 0
    for line in commands:
        command = json.loads(line)
        if command["type"] == "start":
            n = command["iteration"]
        elif command["type"] == "step":
            n += 1
            if kind == "same_names" and n == 2:
                for name in ("result.json", "progress.csv", "params.json"):
                    with open(name, "w", encoding="ascii") as file:
                        file.write("my own\n")
                os.mkdir("checkpoint_000001")
            say("result", metrics={"loss": n}, done=n >= iterations)
        elif command["type"] == "save":
            if kind == "uneven":
                # The first is large, so that the second would overtake it.
                os.environ["BYTES"] = "200000000" if n == 1 else "1"
            save(command["directory"])
            say("saved")
        elif command["type"] == "stop":
            return


IS_FUNCTION = kind in ("relative", "linked", "elsewhere", "leaks", "again", "exploited")
say("hello", protocol=1, api="function" if IS_FUNCTION else "class")
(function if IS_FUNCTION else klass)()
