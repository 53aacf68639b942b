"""A driver that is to leave while something hangs, or takes very long, or fails on another thread."""
import fcntl
import json
import os
import select
import signal
import time

from cli_support import CLIENT, main
from driver_support import DriverCase

PLUGIN = os.environ["PLUGIN"]

#: So long no disk and no processor takes for a checkpoint of 400 GiB.
SOON_S = 25
#: What comes sooner than 1.5 s after the first interrupt is no second one.
LATER_S = 1.7
F_SETPIPE_SZ = 1031


class Leaving(DriverCase):
    def spec_of_large_saves(self, **fields):
        try:
            with open(self.path("large"), "wb") as file:
                file.truncate(400 << 30)
            os.remove(self.path("large"))
        except OSError as error:
            self.skipTest(f"no file of 400 GiB here, not even a sparse one: {error}")
        self.spec({"iterations": 12, "sparse_gib": 400}, **fields)

    def insist(self, driver):
        """Interrupts a second time, and gives what the driver says until its end."""
        time.sleep(LATER_S)
        driver.send_signal(signal.SIGTERM)
        start = time.monotonic()
        out = self.finish(driver, expect=130)
        self.assertLess(time.monotonic() - start, SOON_S)
        self.assertIn("tune: left by force", out)
        self.assertIn(f"tune resume {self.path('results/spec')}", out)
        self.assertIsNone(self.json("status", "results/spec")["driver"])
        return out

    def processes(self):
        """The trials' processes, as descriptors that are readable once they have ended."""
        found = []
        with open(self.path("results/spec/journal-1.jsonl"), encoding="utf-8") as journal:
            for line in journal:
                event = json.loads(line[17:])
                if event.get("e") == "process":
                    found.append(os.pidfd_open(event["pid"]))
                    self.addCleanup(os.close, found[-1])
        return found

    def test_a_second_interrupt_does_not_wait_for_a_checkpoint_of_400_gib(self):
        self.spec_of_large_saves(num_samples=1)
        driver = self.start("run", "spec.json", "--progress", "lines", "--grace", "10000")
        self.wait_for_iteration(3, trials=[0])  # the one of iteration 2 is being committed
        driver.send_signal(signal.SIGTERM)
        out = self.insist(driver)
        self.assertIn("a checkpoint is being kept, for ", out)
        with open(self.go, "w", encoding="ascii"):
            pass
        self.tune("resume", "results/spec", "--progress", "none")
        self.assertEqual(self.states(), ["TERMINATED"])
        self.assertEqual(self.iterations(0), list(range(1, 13)))

    def test_a_second_interrupt_does_not_wait_for_a_policy_that_hangs(self):
        self.spec({"iterations": 50}, scheduler={"type": "rogue", "fault": "hangs"})
        driver = self.start("run", "spec.json", "--plugin", PLUGIN, "--progress", "lines")
        self.wait_until(lambda: os.path.exists(self.path("it_hangs")), "it hangs")
        processes = self.processes()
        self.assertEqual(len(processes), 2)
        driver.send_signal(signal.SIGINT)
        self.assertIn("the driver's own thread is busy", self.insist(driver))
        # They are killed; how soon the kernel has them gone is a matter of its load.
        self.wait_until(lambda: len(select.select(processes, [], [], 0)[0]) == 2, "their end")

    def test_a_first_interrupt_waits_for_a_commit_and_a_window_that_closes_is_no_second_one(self):
        self.spec_of_large_saves(num_samples=1)
        driver = self.start("run", "spec.json", "--progress", "lines", "--grace", "0.1")
        self.wait_for_iteration(3, trials=[0])
        driver.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        driver.send_signal(signal.SIGHUP)  # a window that closes is no second wish
        time.sleep(7)
        self.assertIsNone(driver.poll(), "it waits for the commit")
        self.insist(driver)

    def test_a_large_save_holds_up_no_other_trial(self):
        self.spec_of_large_saves(
            num_samples=1, max_concurrent_trials=3, resources={"cpu": 3}, checkpoint_config={},
            param_space={"checkpoint_at": {"grid_search": [1, 1, 0, 0]}, "sparse_gib": 400,
                         "step_s": 0.2, "iterations": 4})
        driver = self.start("run", "spec.json", "--progress", "lines")
        # The fourth is launched while what the first two have saved is being committed.
        self.wait_until(lambda: os.path.exists(self.path("results/spec/CURRENT")) and
                        self.states()[2:] == ["TERMINATED"] * 2, "the small trials have ended")
        for trial in (0, 1):
            self.assertEqual([c for c in self.json("checkpoints", "results/spec")
                              if c["trial_id"] == f"trial_{trial:05}"], [])
        driver.send_signal(signal.SIGTERM)
        self.insist(driver)

    def test_a_reader_of_stdout_that_sleeps_keeps_no_driver(self):
        self.write("spec.json", self.quadratic(num_samples=60, max_concurrent_trials=8,
                                               resources={"cpu": 8}))
        read_end, write_end = os.pipe()
        fcntl.fcntl(write_end, F_SETPIPE_SZ, 4096)
        for name, words, expect in (("ends", (), 0), ("fails", ("--plugin", PLUGIN), 3)):
            with self.subTest(name=name):
                if words:
                    self.write("spec.json", {
                        **self.quadratic(num_samples=60), "param_space": {"lr": 0.1},
                        "searcher": {"type": "failing", "slow": True}})
                driver = self.start("run", "spec.json", "--name", name, "--progress", "lines",
                                    *words, stdout=write_end, stderr=write_end)
                self.assertEqual(driver.wait(timeout=120), expect)
                self.assertFalse(os.path.exists(self.path("results", name, "LOCK")))
        self.assertEqual(self.json("status", "results/ends")["states"]["TERMINATED"], 60)
        os.close(write_end)
        with open(read_end, "rb") as said:
            self.assertLessEqual(len(said.read()), 8192)

    def test_a_searcher_that_throws_on_its_thread_ends_the_run_as_one_does_that_is_quick(self):
        for is_slow in (False, True):
            with self.subTest(slow=is_slow):
                name = f"slow_{is_slow}"
                self.write("spec.json", {"trainable": {"command": CLIENT}, "name": name,
                                         "param_space": {"lr": 0.1}, "num_samples": 9,
                                         "metric": "loss", "mode": "min",
                                         "searcher": {"type": "failing", "slow": is_slow}})
                error = self.tune("run", "spec.json", "--plugin", PLUGIN, "--progress", "none",
                                  expect=3).err
                self.assertIn("tune: the searcher failed: the model does not converge", error)
                status = self.json("status", f"results/{name}")
                self.assertIsNone(status["driver"])
                self.assertGreaterEqual(status["results"], 6)


main(at_once=3)
