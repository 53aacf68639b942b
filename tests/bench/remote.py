"""What a remote costs a run of 1,000 results a second and checkpoints of 100 MB a minute: with no remote,
and with a store that is up, slow, and hangs.

    python3 tests/bench/remote.py build/release/bin/tune [--seconds 24] [--rounds 3]

10 trials report 100 results a second each, by a clock. Each saves 1 MB after every 600 results. A slow
store takes 50 kB/s an object. The rounds are interleaved. Printed are medians of the rounds, with the
lowest and the highest: results a second; the longest time that a trial waited from a result until it
was told to go on, or to save; the same of 1 in 1,000; the longest time between two results of one
trial; how much of checkpoints went up.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
from hostile_store import Store  # noqa: E402

TRIALS, RATE, SAVED_BYTES, RESULTS_A_SAVE = 10, 100, 1_000_000, 600
#: How a trial hears of what it is to do, and how long it waited for that.
TRIAL = """
import json, os, socket, time

driver = socket.socket(fileno=int(os.environ["TUNE_SOCKET_FD"]))
weights = os.urandom({saved_bytes})
begin, steps, waits, pauses, said, before = None, 0, [], [], None, None


def answer(kind, **fields):
    driver.sendall((json.dumps({{"type": kind, **fields}}) + "\\n").encode())


answer("hello", protocol=1, api="class")
for command in map(json.loads, driver.makefile()):
    now = time.monotonic()
    if said is not None:
        waits.append(now - said)
        said = None
    if command["type"] == "step":
        begin = begin or now
        steps += 1
        time.sleep(max(0, begin + steps / {rate} - time.monotonic()))
        said = time.monotonic()
        if before is not None:
            pauses.append(said - before)
        before = said
        answer("result", metrics={{"loss": 1 / steps}}, done=steps == {steps})
    elif command["type"] == "save":
        with open(os.path.join(command["directory"], "weights"), "wb") as file:
            file.write(weights)
        answer("saved")
    elif command["type"] == "stop":
        break
with open("waits.json", "w") as file:
    json.dump([sorted(waits)[-len(waits) // 1000 - 1:], max(pauses)], file)
"""


def measure(tune, remote, seconds, environment):
    """Results/s; in ms the longest wait, that of 1 in 1,000, and the longest pause; MB up in a minute."""
    with tempfile.TemporaryDirectory(prefix="tune-bench-remote-") as work:
        with open(os.path.join(work, "trial.py"), "w", encoding="utf-8") as file:
            file.write(TRIAL.format(saved_bytes=SAVED_BYTES, rate=RATE, steps=seconds * RATE))
        spec = {"trainable": {"command": [sys.executable, os.path.join(work, "trial.py")]},
                "num_samples": TRIALS, "max_concurrent_trials": TRIALS, "resources_per_trial": {"cpu": 0.1},
                "checkpoint_config": {"checkpoint_frequency": RESULTS_A_SAVE, "num_to_keep": 2}}
        if remote:
            spec["remote"] = {"path": remote + os.path.basename(work), "flush_s": 0.1}
        with open(os.path.join(work, "spec.json"), "w", encoding="utf-8") as file:
            json.dump(spec, file)
        done = subprocess.run([tune, "run", "spec.json", "--progress", "none"], cwd=work, check=False,
                              capture_output=True, env={**os.environ, **environment})
        if done.returncode not in (0, 7):  # 7: not everything was up at the end
            sys.exit(done.stderr.decode())
        out = subprocess.run([tune, "events", "results/spec"], cwd=work, check=True,
                             capture_output=True).stdout
        times = [event["t"] for event in map(json.loads, out.splitlines()) if event["e"] == "result"]
        assert len(times) == TRIALS * seconds * RATE, len(times)
        status = json.loads(subprocess.run([tune, "status", "results/spec", "--json"], cwd=work, check=True,
                                           capture_output=True).stdout)
        waits, pauses = [], []
        for trial in range(TRIALS):
            path = os.path.join(work, f"results/spec/trial_{trial:05}/work/waits.json")
            with open(path, encoding="utf-8") as file:
                longest, pause = json.load(file)
            waits += longest
            pauses.append(pause)
        uploaded = status["remote"]["uploaded"] if remote else 0
        return (len(times) / (times[-1] - times[0]), 1000 * max(waits),
                1000 * sorted(waits)[-len(times) // 1000], 1000 * max(pauses),
                uploaded * SAVED_BYTES / 1e6 * 60 / (times[-1] - times[0]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tune")
    parser.add_argument("--seconds", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    tune = os.path.abspath(options.tune)
    with Store() as store:
        cases = {"no remote": None, "a store that is up": "", "a slow store": "slow",
                 "a store that hangs": "hanging"}
        found = {name: [] for name in cases}
        for _ in range(options.rounds):
            for name, fault in cases.items():
                store.fault = fault or ""
                remote = "" if fault is None else "hostile:bucket/"
                found[name].append(measure(tune, remote, options.seconds, store.environment))
                store.objects.clear()
        print(f"{'':18} | results/s | longest wait, ms | 1 in 1,000, ms | longest pause, ms | MB/min up")
        for name, runs in found.items():
            cells = [f"{statistics.median(column):.{digits}f} ({min(column):.{digits}f} .. {max(column):.{digits}f})"
                     for column, digits in zip(zip(*runs), (1, 1, 2, 1, 0))]
            print(f"{name:18} | " + " | ".join(cells), flush=True)
    print("load average", "%.1f %.1f %.1f" % os.getloadavg())


if __name__ == "__main__":
    main()
