"""A trainable that looks at the machine as it finds it, and does to it what its config names."""
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time


def zombies():
    count = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
                count += stat.read().rpartition(")")[2].split()[0] == "Z"
        except OSError:
            pass
    return count


def start_workers(driver):
    """As a data loader has them: forked, and left alone at the end."""
    for _ in range(4):
        if os.fork() == 0:
            driver.close()
            time.sleep(1000)
            os._exit(0)


def start_daemon():
    """Twice forked, with a session of its own; its number is in the file that HERE names."""
    script = f"setsid sleep 1000 & echo $! > {os.environ['HERE']}/daemon"
    subprocess.run(["sh", "-c", script], check=True)


def daemon_lives():
    try:
        with open(os.path.join(os.environ["HERE"], "daemon"), encoding="ascii") as file:
            os.kill(int(file.read()), 0)
        return True
    except (OSError, ValueError):
        return False


def main():
    driver = socket.socket(fileno=int(os.environ["TUNE_SOCKET_FD"]))
    commands = driver.makefile()
    deed, found = None, {}

    def say(kind, **fields):
        driver.sendall((json.dumps({"type": kind, **fields}) + "\n").encode())

    say("hello", protocol=1, api="class")
    for command in map(json.loads, commands):
        if command["type"] == "start":
            deed = command["config"].get("deed")
            found = {"loss": 0, "zombies": zombies(), "daemon_lives": daemon_lives(),
                     "descriptor_limit": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
                     "descriptors": sorted(map(int, os.listdir("/proc/self/fd")))[:4]}
        elif command["type"] == "step":
            if deed == "workers":
                start_workers(driver)
            elif deed == "daemon":
                start_daemon()
            elif deed == "fifo" and os.environ["TUNE_ATTEMPT"] == "1":
                log = os.readlink("/proc/self/fd/1")
                os.remove(log)
                os.mkfifo(log)
                os._exit(1)
            elif deed == "escapes":
                say("error", message="\x1b]0;OWNED\x07\x1b[2J\x1b[31mharmless \u009b31m")
                sys.exit(1)
            say("result", metrics=found, done=True)
        elif command["type"] == "save":
            inside = os.path.join(command["directory"], "data")
            os.mkdir(inside)
            if deed == "mounts":
                subprocess.run(["mount", "--bind", os.environ["HERE"] + "/mine", inside],
                               check=True)
            say("saved")
        elif command["type"] == "stop":
            signal.alarm(0)
            os._exit(0)


main()
