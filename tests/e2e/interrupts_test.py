"""A driver that is killed, interrupted, or loses its terminal, and what is left then."""
import os
import select
import signal
import subprocess
import sys
import time

from cli_support import LIMIT_S, TUNE, Case, main

SLOW = [sys.executable, os.path.join(os.path.dirname(__file__), "slow_trainable.py")]


class Interrupts(Case):
    def spec(self, **fields):
        """Trials that go on until they are ended; a resume ends them with --set."""
        spec = {"trainable": {"command": SLOW}, "param_space": {"step_s": 0.02, "iterations": 0},
                "num_samples": 2, "max_concurrent_trials": 2,
                "checkpoint_config": {"checkpoint_frequency": 2, "num_to_keep": 2}}
        spec.update(fields)
        self.write("spec.json", spec)

    def start(self, *words, **options):
        driver = subprocess.Popen([TUNE, *words], cwd=self.dir, stdin=subprocess.DEVNULL,
                                  stdout=options.pop("stdout", subprocess.PIPE),
                                  stderr=options.pop("stderr", subprocess.STDOUT), **options)
        self.addCleanup(lambda: (driver.kill(), driver.wait(), driver.stdout and
                                 driver.stdout.close()))
        return driver

    def wait_until(self, condition, what):
        until = time.monotonic() + LIMIT_S
        while not condition():
            self.assertLess(time.monotonic(), until, what)
            time.sleep(0.01)

    def iterations(self, trial):
        try:
            return self.iterations_in_log("results/spec", f"trial_{trial:05}")
        except FileNotFoundError:
            return []

    def wait_for_iteration(self, iteration, trials=(0, 1)):
        self.wait_until(lambda: all(self.iterations(t)[-1:] >= [iteration] for t in trials),
                        f"iteration {iteration}")

    def test_what_a_killed_driver_has_left_is_ended_before_a_resume_starts_anything(self):
        self.spec(param_space={"step_s": 0.02, "iterations": 40, "child": True})
        driver = self.start("run", "spec.json", "--progress", "none")
        self.wait_for_iteration(3)
        children = [os.pidfd_open(int(self.read("results/spec", f"trial_{t:05}", "child")))
                    for t in (0, 1)]
        driver.kill()
        driver.wait()
        self.assertEqual(select.select(children, [], [], 0.2)[0], [], "they are stubborn")
        os.rename(self.path("results/spec"), self.path("moved"))

        done = self.tune("resume", "moved", "--progress", "lines")
        self.assertEqual(len(select.select(children, [], [], 0)[0]), 2)
        said = done.out.index("ended what an earlier driver had left behind: process ")
        self.assertLess(said, done.out.index("trial_00000 started"))
        for trial in ("trial_00000", "trial_00001"):
            self.assertEqual(self.iterations_in_log("moved", trial), list(range(1, 41)))


main()
