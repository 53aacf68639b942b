"""A driver that is killed, interrupted, or loses its terminal, and what is left then."""
import fcntl
import os
import pathlib
import select
import signal
import subprocess
import termios
import time

from cli_support import main
from driver_support import DriverCase


class Interrupts(DriverCase):
    def test_what_a_killed_driver_has_left_is_ended_before_a_resume_starts_anything(self):
        self.spec({"iterations": 40, "child": True})
        driver = self.start("run", "spec.json", "--progress", "none")
        self.wait_for_iteration(3)
        children = [os.pidfd_open(int(self.read("results/spec", f"trial_{t:05}", "work", "child")))
                    for t in (0, 1)]
        driver.kill()
        driver.wait()
        self.assertEqual(select.select(children, [], [], 0.2)[0], [], "they are stubborn")
        os.rename(self.path("results/spec"), self.path("moved"))

        done = self.tune("resume", "moved", "--progress", "lines")
        self.assertEqual(len(select.select(children, [], [], 0)[0]), 2)
        said = done.out.index("ended what an earlier driver had left behind: process ")
        self.assertLess(said, done.out.index("trial_00000 started"))
        for trial in (0, 1):
            self.assertEqual(self.iterations(trial, "moved"), list(range(1, 41)))

    def test_a_driver_under_another_host_name_is_one_of_this_machine_all_the_same(self):
        far = ["unshare", "--uts", "sh", "-c", 'hostname far-away && exec "$0" "$@"']
        if subprocess.run([*far, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no right to take another host name")
        self.spec({"iterations": 12, "block_at": 6})
        driver = self.start("run", "spec.json", "--progress", "none", prefix=far)
        self.wait_for_iteration(5)
        self.tune("checkpoint", "results/spec")
        self.assertIn(f"pid {driver.pid} on host far-away",
                      self.tune("resume", "results/spec", expect=2).err)
        driver.kill()
        driver.wait()
        with open(self.go, "w", encoding="ascii"):
            pass
        done = self.tune("resume", "results/spec", "--progress", "lines")
        self.assertIn(f"took over the lock of pid {driver.pid} on host far-away", done.out)
        self.assertEqual(self.states(), ["TERMINATED"] * 2)

    def test_every_signal_that_interrupts_saves_all_trials_and_says_how_to_go_on(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP):
            with self.subTest(signal=number.name):
                self.spec({"iterations": 30, "block_at": 10}, name=number.name)
                driver = self.start("run", "spec.json", "--progress", "lines")
                directory = f"results/{number.name}"
                self.wait_until(lambda: all(self.iterations(t, directory)[-1:] == [9]
                                            for t in (0, 1)), "iteration 9")
                driver.send_signal(number)
                while b"asked for a last save" not in (line := driver.stdout.readline()):
                    self.assertTrue(line)
                with open(self.go, "w", encoding="ascii"):
                    pass
                out = self.finish(driver, expect=130)
                self.assertIn(f"tune resume {self.path(directory)}", out)
                self.assertIn(f"interrupted: received {number.name}\n", out)
                for trial in self.json("ls", directory):
                    self.assertEqual(trial["state"], "PENDING")
                    self.assertEqual(trial["training_iteration"], 10)
                    self.assertIn("checkpoint_00000", trial["checkpoint"])
                latest = [c for c in self.json("checkpoints", directory, "--verify")
                          if c["is_latest"]]
                self.assertEqual([c["training_iteration"] for c in latest], [10, 10])
                self.tune("resume", directory, "--progress", "none")
                for trial in (0, 1):
                    self.assertEqual(self.iterations(trial, directory), list(range(1, 31)))
                os.remove(self.go)

    def test_a_trial_that_does_not_come_to_a_result_within_the_grace_is_resumed_from_before(self):
        self.spec({"iterations": 12, "block_at": 6})
        driver = self.start("run", "spec.json", "--progress", "lines", "--grace", "0.1")
        self.wait_for_iteration(5)
        driver.send_signal(signal.SIGTERM)
        self.assertIn("tune resume", self.finish(driver, expect=130))
        self.assertEqual(self.states(), ["PENDING"] * 2)
        latest = [c for c in self.json("checkpoints", "results/spec") if c["is_latest"]]
        self.assertEqual([c["training_iteration"] for c in latest], [4, 4])
        self.assert_finishes(12)

    def insist(self, driver, first_at):
        """One more interrupt, once it can be no echo of the first one."""
        self.wait_until(lambda: time.monotonic() > first_at + 2, "the time of echoes to be over")
        driver.send_signal(signal.SIGTERM)

    def test_a_second_interrupt_leaves_at_once_and_loses_nothing(self):
        self.spec({"iterations": 12, "block_at": 6})
        driver = self.start("run", "spec.json", "--progress", "lines", "--grace", "10000")
        self.wait_for_iteration(5)
        driver.send_signal(signal.SIGINT)
        while b"asked for a last save" not in (line := driver.stdout.readline()):
            self.assertTrue(line)
        self.insist(driver, time.monotonic())
        out = self.finish(driver, expect=130)
        self.assertIn("tune resume", out)
        self.assertEqual(self.states(), ["PENDING"] * 2)
        self.assertIsNone(self.json("status", "results/spec")["driver"])
        self.assert_finishes(12)

    def test_what_ends_a_whole_job_costs_no_trial(self):
        # As batch systems do it: the same signal for everybody, in no order.
        for name, driver_is_first in (("before", False), ("after", True)):
            with self.subTest(driver_is_first=driver_is_first):
                self.spec({"iterations": 12, "block_at": 6}, name=name)
                driver = self.start("run", "spec.json", "--progress", "lines")
                directory = f"results/{name}"
                self.wait_until(lambda: all(self.iterations(t, directory)[-1:] == [5]
                                            for t in (0, 1)), "iteration 5")
                trials = [int(pid) for task in os.listdir(f"/proc/{driver.pid}/task")
                          for pid in pathlib.Path(f"/proc/{driver.pid}/task/{task}/children")
                          .read_text(encoding="ascii").split()]
                self.assertEqual(len(trials), 2)
                if driver_is_first:
                    driver.terminate()
                for pid in trials:
                    os.kill(pid, signal.SIGTERM)
                if not driver_is_first:
                    self.wait_until(lambda: not any(os.path.exists(f"/proc/{pid}")
                                                    for pid in trials), "their end")
                    driver.terminate()
                out = self.finish(driver, expect=130)
                self.assertNotRegex(out, r"trial_\d+ failed")
                self.assertEqual(self.json("status", directory)["states"]["PENDING"], 2)
                with open(self.go, "w", encoding="ascii"):
                    pass
                self.tune("resume", directory, "--progress", "none")
                for trial in (0, 1):
                    self.assertEqual(self.iterations(trial, directory), list(range(1, 13)))
                os.remove(self.go)

    def test_a_terminal_that_goes_away_is_an_interrupt(self):
        self.spec({"iterations": 12, "block_at": 6})
        for style in ("lines", "table"):
            with self.subTest(style=style):
                master, slave = os.openpty()
                driver = self.start(
                    "run", "spec.json", "--progress", style, "--name", style, stdin=slave,
                    stdout=slave, stderr=slave, start_new_session=True,
                    preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
                    env={**os.environ, "TERM": "xterm"})
                os.close(slave)
                directory = f"results/{style}"
                self.wait_until(lambda: all(self.iterations(t, directory)[-1:] == [5]
                                            for t in (0, 1)), "iteration 5")
                os.close(master)
                with open(self.go, "w", encoding="ascii"):
                    pass
                self.assertEqual(driver.wait(timeout=100), 130)
                status = self.json("status", directory)
                self.assertEqual(status["states"]["PENDING"], 2)
                self.assertIsNone(status["driver"])
                self.tune("resume", directory, "--progress", "none")
                for trial in (0, 1):
                    self.assertEqual(self.iterations(trial, directory), list(range(1, 13)))
                os.remove(self.go)


main()
