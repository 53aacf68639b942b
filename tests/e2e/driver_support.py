"""A driver in the background, and trials that take their time. Knows no command's meaning."""
import glob
import json
import os
import signal
import subprocess
import sys
import time

from cli_support import LIMIT_S, TUNE, Case

SLOW = [sys.executable, os.path.join(os.path.dirname(__file__), "slow_trainable.py")]

#: Rank 0 hears of all others where they say who they are and where they run, and says so in its result.
MEETING = """
import os, socket, sys, time
e = os.environ
meeting, rank = (e["MASTER_ADDR"], int(e["MASTER_PORT"])), int(e["RANK"])
seat = ":".join(e[name] for name in ("RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK"))
if rank == 0:
    door = socket.create_server(meeting)
    seats = [seat] + [door.accept()[0].recv(100).decode() for _ in range(int(e["WORLD_SIZE"]) - 1)]
    print("seats", *sorted(seats), flush=True)
else:
    while True:
        try:
            socket.create_connection(meeting).sendall(seat.encode())
            break
        except OSError:
            time.sleep(0.02)
for epoch in range(int(sys.argv[1])):
    print(f"loss: {1 / (epoch + 1)}", flush=True)
    time.sleep(0.05)
"""


class DriverCase(Case):
    """A test with two trials of an experiment `results/spec` and a driver that can be disturbed."""

    def setUp(self):
        super().setUp()
        self.driver = None
        # Trials with "block_at" wait there for this file.
        self.go = self.path("go")
        os.environ["GO"] = self.go

    def spec(self, config, **fields):
        spec = {"trainable": {"command": SLOW}, "param_space": config,
                "num_samples": 2, "max_concurrent_trials": 2, "stop_grace_s": 60,
                "checkpoint_config": {"checkpoint_frequency": 2, "num_to_keep": 2}}
        spec.update(fields)
        self.write("spec.json", spec)

    def start(self, *words, prefix=(), **options):
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.STDOUT, **options}
        driver = subprocess.Popen([*prefix, TUNE, *words], cwd=self.dir, **options)
        self.driver = driver
        self.addCleanup(self.end, driver)
        return driver

    @staticmethod
    def end(driver):
        driver.kill()
        driver.wait()
        if driver.stdout:
            driver.stdout.close()

    def finish(self, driver, expect):
        """What the driver has printed until its end."""
        out = driver.communicate(timeout=LIMIT_S)[0].decode()
        self.assertEqual(driver.returncode, expect, out)
        return out

    def wait_until(self, condition, what):
        until = time.monotonic() + LIMIT_S
        while not condition():
            if time.monotonic() > until:
                self.fail(f"no {what} in {LIMIT_S} s; the driver says: {self.said()}")
            time.sleep(0.01)

    def said(self):
        """What the driver that was started last has printed; it is killed."""
        if self.driver is None or self.driver.stdout is None:
            return ""
        self.driver.kill()
        try:
            return self.driver.communicate(timeout=5)[0].decode()
        except subprocess.TimeoutExpired as late:  # its children hold the pipe
            return (late.output or b"").decode()

    def iterations(self, trial, directory="results/spec"):
        try:
            return self.iterations_in_log(directory, f"trial_{trial:05}")
        except FileNotFoundError:
            return []

    def wait_for_iteration(self, iteration, trials=(0, 1)):
        self.wait_until(lambda: all(self.iterations(t)[-1:] >= [iteration] for t in trials),
                        f"iteration {iteration}")

    def states(self):
        return [trial["state"] for trial in self.json("ls", "results/spec")]

    def assert_finishes(self, iterations):
        """A resume brings every trial to its end, with every iteration once."""
        with open(self.go, "w", encoding="ascii"):
            pass
        self.tune("resume", "results/spec", "--progress", "none")
        self.assertEqual(self.states(), ["TERMINATED"] * 2)
        for trial in (0, 1):
            self.assertEqual(self.iterations(trial), list(range(1, iterations + 1)))


class KilledCase(Case):
    """A test of experiments `results/NAME` of `spec.json` whose drivers are killed, and whose snapshots
    are so far apart that the journal goes back to the first event."""

    def events(self, name):
        """What is recorded by now; a line that is just being written does not count."""
        found = []
        for journal in sorted(glob.glob(self.path("results", name, "journal-*.jsonl"))):
            with open(journal, encoding="utf-8") as file:
                found += [json.loads(line[17:]) for line in file if line.endswith("\n")]
        return [event for event in found if "e" in event]

    def count_by_now(self, name, kind):
        try:
            return sum(event["e"] == kind for event in self.events(name))
        except ValueError:
            return 0  # the driver cut off a torn record between two reads of it

    def session_that_is_killed(self, name, results):
        """Starts or resumes and kills it when so many results are recorded, by this session or, on a
        slow machine, before it."""
        resuming = os.path.exists(self.path("results", name, "CURRENT"))
        words = ["resume", f"results/{name}", "--strict"] if resuming else [
            "run", "spec.json", "--name", name]
        sessions = self.count_by_now(name, "session")
        driver = subprocess.Popen([TUNE, *words, "--progress", "none"], cwd=self.dir,
                                  stdout=subprocess.DEVNULL)
        self.addCleanup(driver.kill)
        deadline = time.monotonic() + LIMIT_S
        while (self.count_by_now(name, "result") < results
               or self.count_by_now(name, "session") == sessions):
            self.assertIsNone(driver.poll(), "the driver ended too early")
            self.assertLess(time.monotonic(), deadline)
        driver.kill()
        self.assertEqual(driver.wait(LIMIT_S), -signal.SIGKILL)
