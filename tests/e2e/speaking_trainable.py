"""Speaks the protocol as some programs do, each in its way, named by argv, and notes what it hears in the file $HEARD."""
import json
import os
import signal
import socket
import sys
import threading
import time

driver = socket.socket(fileno=int(os.environ["TUNE_SOCKET_FD"]))
kind = sys.argv[1]


def say(type_, **fields):
    driver.sendall((json.dumps({"type": type_, **fields}) + "\n").encode())


def note(line):
    with open(os.environ["HEARD"], "a", encoding="utf-8") as file:
        file.write(line.rstrip("\n") + "\n")


def commands():
    for line in driver.makefile():
        note(line)
        yield json.loads(line)


def answer(command, **fields):
    say("result", iteration=command["iteration"], **fields)


def plain():
    """Two iterations, with a save after each if it is told to."""
    for command in commands():
        if command["type"] == "step":
            answer(command, metrics={"loss": command["iteration"]}, done=command["iteration"] == 2)
        elif command["type"] == "save":
            with open(os.path.join(command["directory"], "state"), "w", encoding="ascii") as file:
                file.write("x")
            say("saved", iteration=command["iteration"])
        elif command["type"] == "stop":
            return


def null():
    """Whatever it does not say is null."""
    for command in commands():
        if command["type"] == "step":
            say("result", iteration=None, metrics={"loss": 1}, done=command["iteration"] == 2 or None,
                should_checkpoint=None, checkpoint=None)
        elif command["type"] == "stop":
            return


def twice():
    for command in commands():
        if command["type"] == "step":
            answer(command, metrics={"loss": 1})
            answer(command, metrics={"loss": 2})


def refuses():
    """To become another trial; its pid tells processes apart."""
    for command in commands():
        if command["type"] == "reset":
            say("refused")
            for more in commands():
                if more["type"] == "stop":
                    return
        if command["type"] == "step":
            answer(command, metrics={"loss": 1, "pid": os.getpid()}, done=True)
        elif command["type"] == "stop":
            return


def becomes():
    """Another trial, after a while that a launch would not have."""
    for command in commands():
        if command["type"] == "reset":
            time.sleep(1.5)
        if command["type"] == "step":
            answer(command, metrics={"loss": 1, "pid": os.getpid()}, done=True)
        elif command["type"] == "stop":
            return


def dies_idle():
    """Right behind its last result; the process that comes after it does so, too."""
    for command in commands():
        if command["type"] == "step":
            answer(command, metrics={"loss": 1, "pid": os.getpid()}, done=True)
            os._exit(0)


def talks_idle():
    """Says something while it waits for another trial."""
    for command in commands():
        if command["type"] == "step":
            answer(command, metrics={"loss": 1, "pid": os.getpid()}, done=True)
            say("result", metrics={"loss": 77})
        elif command["type"] == "stop":
            return


def fails_reset():
    for command in commands():
        if command["type"] == "reset":
            say("error", message="I cannot")
            sys.exit(1)
        if command["type"] == "step":
            answer(command, metrics={"loss": 1, "pid": os.getpid()}, done=True)
        elif command["type"] == "stop":
            return


def breaks_as_another():
    """Has become another trial, prints into that one's logs, and runs out of memory after a result."""
    is_another = False
    for command in commands():
        if command["type"] == "reset":
            is_another = True
            os.dup2(os.open(command["stderr"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), 2)
        elif command["type"] == "step" and is_another and command["iteration"] == 2:
            print("MemoryError", file=sys.stderr, flush=True)
            os._exit(1)
        elif command["type"] == "step":
            answer(command, metrics={"loss": 1}, done=not is_another)
        elif command["type"] == "stop":
            return


def late():
    """Refuses when it has trained already."""
    for command in commands():
        if command["type"] == "step":
            answer(command, metrics={"loss": 1}, done=command["iteration"] == 2)
            if command["iteration"] == 1:
                say("refused")
        elif command["type"] == "stop":
            return


def nothing():
    for command in commands():
        if command["type"] == "step":
            answer(command, done=True)
        elif command["type"] == "stop":
            return


def ends_later():
    for command in commands():
        if command["type"] == "step":
            if command["iteration"] == 3:
                answer(command, done=True)
            else:
                answer(command, metrics={"loss": 1})
        elif command["type"] == "stop":
            return


def named():
    """Metrics that are called like the driver's own columns."""
    for command in commands():
        if command["type"] == "step":
            answer(command, done=command["iteration"] == 2,
                   metrics={"loss": 1, "time_total_s": -7, "trial_id": "mine", "timestamp": 5})
        elif command["type"] == "stop":
            return


def threads():
    for command in commands():
        if command["type"] == "step":
            answer(command, done=True, metrics={"loss": int(os.environ.get("OMP_NUM_THREADS", "0"))})
        elif command["type"] == "stop":
            return


def deaf():
    """Trains for ever, and listens while it does."""
    def listen():
        for _ in commands():
            pass
        note("gone")

    def terminated(*_):
        time.sleep(0.3)  # what was said before can be heard
        note("SIGTERM")
        os._exit(1)

    signal.signal(signal.SIGTERM, terminated)
    threading.Thread(target=listen, daemon=True).start()
    while True:
        time.sleep(0.05)


say("hello", protocol=1, **({"api": None, "can_reset": None} if kind == "null" else
                            {"can_reset": kind in ("refuses", "becomes", "late", "dies_idle",
                                                   "talks_idle", "fails_reset", "breaks_as_another")}))
globals()[kind]()
