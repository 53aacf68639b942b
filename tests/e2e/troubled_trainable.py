"""A trainable that counts, and gets into the trouble that its config names."""
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

driver = None


def answer(kind, **fields):
    driver.sendall((json.dumps({"type": kind, **fields}) + "\n").encode())


def live_on():
    while True:
        signal.pause()


def await_record(text):
    """Until the driver has written a record with `text` in it."""
    while True:
        for journal in glob.glob(os.path.join(os.environ["TUNE_EXPERIMENT_DIR"], "journal-*")):
            try:
                with open(journal, encoding="utf-8") as lines:
                    if text in lines.read():
                        return
            except FileNotFoundError:
                pass  # a snapshot stands in its place
        time.sleep(0.01)


def kill_driver_once():
    """The first trial that gets here; a resumed one goes on."""
    try:
        marker = os.path.join(os.environ["TUNE_EXPERIMENT_DIR"], "driver-was-killed")
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(os.getppid(), signal.SIGKILL)
    live_on()


def look_at_experiment():
    """From inside: the driver runs for certain."""
    seen = {}
    for words in [["status", "--json"], ["ls", "--json"], ["best", "--json"], ["resume"]]:
        done = subprocess.run([os.environ["LOOKER"], *words, os.environ["TUNE_EXPERIMENT_DIR"]],
                              capture_output=True, check=False)
        seen[words[0]] = [done.returncode, done.stdout.decode(), done.stderr.decode()]
    with open("seen.json", "w", encoding="utf-8") as file:
        json.dump(seen, file)


def fill_disk():
    ballast = os.path.join(os.environ["TUNE_EXPERIMENT_DIR"], os.pardir, "ballast")
    with open(ballast, "wb", buffering=0) as file:
        for block in [1 << 16, 1 << 12, 1]:
            try:
                while True:
                    file.write(bytes(block))
            except OSError:
                pass


def save(directory, count):
    with open(os.path.join(directory, "count"), "w", encoding="ascii") as file:
        file.write(str(count))


METRICS = {
    "too_deep": '{"loss":1,"x":%s1%s}' % ('{"a":' * 63, "}" * 63),
    "too_wide": '{"loss":1,%s}' % ",".join(f'"m{i}":1' for i in range(20_000)),
    "names_twice": '{"count":1,"loss":1,"loss":2}',
}


def trouble(kind):
    if kind == "exit":
        print("about to give up", file=sys.stderr)
        sys.exit(7)
    elif kind == "loses_directory":
        # The driver may be writing there.
        directory = os.path.dirname(os.environ["TUNE_TRIAL_DIR"])
        while os.path.exists(directory):
            shutil.rmtree(directory, ignore_errors=True)
    elif kind == "loses_journal":
        if os.environ["TUNE_ATTEMPT"] != "1":
            return
        for journal in glob.glob(os.path.join(os.environ["TUNE_EXPERIMENT_DIR"], "journal-*")):
            os.rename(journal, journal + ".lost")
    elif kind == "loses_experiment":
        shutil.rmtree(os.environ["TUNE_EXPERIMENT_DIR"], ignore_errors=True)
    elif kind == "fills_disk" and os.environ["TUNE_ATTEMPT"] == "1":
        fill_disk()
    elif kind == "hangs_once":
        if os.environ["TUNE_ATTEMPT"] == "1":
            live_on()
    elif kind == "out_of_memory":
        raise MemoryError("no room for 7 GiB")
    elif kind == "out_of_memory_before":
        if os.environ["TUNE_ATTEMPT"] == "1":
            print("MemoryError", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGBUS)
        sys.exit(7)
    elif kind == "explains":
        answer("error", message="no room", trace="frame\n" * 10_000)
        sys.exit(1)
    elif kind == "signal":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif kind == "garbage":
        driver.sendall(b"\x00\xff this is no JSON\n")
        live_on()
    elif kind == "long_line":
        driver.sendall(b"x" * 100_000_000)
        live_on()
    elif kind in METRICS:
        driver.sendall(('{"type":"result","metrics":%s}\n' % METRICS[kind]).encode())
        live_on()
    elif kind == "spoils_file":
        # The driver has the results of before in it.
        while not os.path.exists("../result.json"):
            time.sleep(0.01)
        os.rename("../result.json", "../was_result.json")
        os.mkdir("../result.json")
    elif kind == "closes":
        os.close(driver.detach())
        live_on()
    elif kind == "interrupts":
        os.kill(os.getppid(), signal.SIGINT)
        time.sleep(1)  # the driver hears it on a thread of its own
    elif kind == "looks":
        look_at_experiment()
    elif kind == "exits_until_mended":
        mended = os.path.join(os.environ["TUNE_EXPERIMENT_DIR"], "mended")
        if not os.path.exists(mended):
            sys.exit(7)
        if os.path.getsize(mended) > 0:
            kill_driver_once()
    elif kind == "kills_driver":
        kill_driver_once()


def main():
    global driver
    driver = socket.socket(fileno=int(os.environ["TUNE_SOCKET_FD"]))
    commands = driver.makefile()
    if os.environ.get("SILENT_TRIAL") == os.environ["TUNE_TRIAL_ID"]:
        live_on()
    answer("hello", protocol=1, api="class")
    config, count = None, 0
    for command in map(json.loads, commands):
        if command["type"] == "start":
            config = command["config"]
            if command["checkpoint"]:
                with open(os.path.join(command["checkpoint"], "count"), encoding="ascii") as file:
                    count = int(file.read())
            if config.get("trouble") == "grandchild":
                child = subprocess.Popen(["sleep", "1000"])
                with open("grandchild", "w", encoding="ascii") as file:
                    file.write(str(child.pid))
        elif command["type"] == "step":
            count += 1
            time.sleep(config.get("case", {}).get("sleep_s", 0))
            if count == config.get("at", 2):
                await_record(config.get("awaits", ""))
                trouble(config.get("trouble"))
            losses = config.get("case", {}).get("losses", [0.0] * config.get("iterations", 3))
            answer("result", metrics={"count": count, "half": {"count": count / 2},
                                      "loss": losses[count - 1], "note": f"after {count}"},
                   done=count == len(losses))
        elif command["type"] == "save":
            try:
                save(command["directory"], count)
                answer("saved")
            except OSError as error:
                answer("saved", error=str(error))
        elif command["type"] == "stop":
            return


main()
