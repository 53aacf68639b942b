"""What reading the output of plain programs costs: prints four figures and their aims.

    plain.py TUNE      the program that was built; takes about a minute
"""
import json
import os
import subprocess
import sys
import tempfile
import time

LATENCY = r'''
import time
for i in range(200):
    time.sleep(0.05)
    print(f"epoch {i} loss: {1 / (i + 1)} told_at: {time.time():.6f}", flush=True)
'''
LINES = r'''
import sys, time
began, lines = time.time(), 0
while time.time() - began < 20:
    for _ in range(63):
        lines += 1
        sys.stdout.write(f"step {lines} of the training, batch time 0.{lines % 1000:03} s, data 0.001 s\n")
    if lines % 6300 == 0:
        print(f"epoch {lines // 6300} loss: {1 / lines:.6f}")
    sys.stdout.flush()
    time.sleep(max(0, began + lines / 625 - time.time()))
'''
BYTES = r'''
import sys
line = "x" * 99 + "\n"
for i in range(50):
    for _ in range(100):
        sys.stdout.write(line * 1000)
    print(f"epoch {i} loss: {1 / (i + 1)}", flush=True)
'''


def search(tune, folder, program, trials, at_once, **fields):
    """Runs a search over `program`; its time, and the driver's own processor time and peak memory."""
    command = [sys.executable, "-c", program] if "\n" in program else ["/bin/sh", "-c", program]
    with open(os.path.join(folder, "spec.json"), "w", encoding="utf-8") as file:
        json.dump({"name": "bench", "storage_path": folder, "metric": "loss", "mode": "min", "num_samples": trials,
                   "max_concurrent_trials": at_once, "resources_per_trial": {}, "searcher": "random",
                   "trainable": {"command": [*command, "${args_json}"], **fields},
                   "param_space": {"lr": {"uniform": [0, 1]}}}, file)
    began = time.monotonic()
    driver = subprocess.Popen([tune, "run", "spec.json", "--progress", "none"], cwd=folder,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ticks = 0
    peak = 0
    while driver.poll() is None:
        # What its children have used, who are reaped by it, is not in these.
        with open(f"/proc/{driver.pid}/stat", encoding="ascii") as file:
            fields_of_it = file.read().rsplit(")", 1)[1].split()
            ticks = max(ticks, int(fields_of_it[11]) + int(fields_of_it[12]))
        with open(f"/proc/{driver.pid}/status", encoding="ascii") as file:
            peak = max([peak] + [int(line.split()[1]) for line in file if line.startswith("VmHWM")])
        time.sleep(0.02)
    if driver.returncode != 0:
        sys.exit(f"the driver has ended with code {driver.returncode}")
    return time.monotonic() - began, ticks / os.sysconf("SC_CLK_TCK"), peak


def main():
    tune = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="tune-bench-") as base:
        def folder(name):
            os.mkdir(os.path.join(base, name))
            return os.path.join(base, name)

        place = folder("latency")
        search(tune, place, LATENCY, 1, 1, plain={"metrics": ["told_at"]})
        with open(os.path.join(place, "bench/trial_00000/result.json"), encoding="utf-8") as file:
            delays = sorted(row["timestamp"] - row["told_at"] for row in map(json.loads, file))
        print(f"line printed to result taken: p50 {1e3 * delays[len(delays) // 2]:.0f} ms, "
              f"p99 {1e3 * delays[int(0.99 * len(delays))]:.0f} ms (aim 50)")

        took_s, cpu_s, _ = search(tune, folder("lines"), LINES, 16, 16)
        print(f"10,000 lines/s from 16 programs: {100 * cpu_s / took_s:.1f} % of a core (aim 5)")

        _, _, peak = search(tune, folder("bytes"), BYTES, 1, 1)
        print(f"500 MB of log: at most {peak / 1024:.0f} MiB of memory")

        trials = 500
        took_s, _, _ = search(tune, folder("trials"), "echo loss: 0.5", trials, 1)
        began = time.monotonic()
        for _ in range(trials):
            subprocess.run(["/bin/sh", "-c", "echo loss: 0.5", "{}"], stdout=subprocess.DEVNULL, check=True)
        raw_s = time.monotonic() - began
        print(f"a plain trial: {1e3 * took_s / trials:.1f} ms, its program alone {1e3 * raw_s / trials:.1f} ms "
              f"(aim 5 ms more)")


if __name__ == "__main__":
    main()
