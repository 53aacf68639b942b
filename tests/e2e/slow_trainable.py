"""A trainable that takes its time: for a step, for one at which it waits for a file, or because of a
stubborn child."""
import json
import os
import signal
import socket
import subprocess
import sys
import time

STUBBORN = """
import signal, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
print("ready", flush=True)
while True:
    time.sleep(1000)
"""


def have_child():
    child = subprocess.Popen([sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE)
    child.stdout.readline()
    with open("child.tmp", "w", encoding="ascii") as file:
        file.write(str(child.pid))
    os.rename("child.tmp", "child")


def main():
    driver = socket.socket(fileno=int(os.environ["TUNE_SOCKET_FD"]))
    driver.set_inheritable(False)

    def answer(kind, **fields):
        driver.sendall((json.dumps({"type": kind, **fields}) + "\n").encode())

    answer("hello", protocol=1, pid=os.getpid(), api="class")
    config, count = {}, 0
    for command in map(json.loads, driver.makefile()):
        if command["type"] == "start":
            config = command["config"]
            if command["checkpoint"]:
                with open(os.path.join(command["checkpoint"], "count"), encoding="ascii") as file:
                    count = int(file.read())
            # Once only, so that a resumed trial does without.
            if config.get("child") and not os.path.exists("child"):
                have_child()
        elif command["type"] == "step":
            count += 1
            time.sleep(config.get("step_s", 0.02))
            while count == config.get("block_at") and not os.path.exists(os.environ["GO"]):
                time.sleep(0.01)
            answer("result", metrics={"count": count}, done=count == config.get("iterations", 3))
        elif command["type"] == "save":
            with open(os.path.join(command["directory"], "count"), "w", encoding="ascii") as file:
                file.write(str(count))
            answer("saved")
        elif command["type"] == "stop":
            return


main()
