"""`tune events`: everything that has happened, each event once, over crashes of whoever writes and reads."""
import json
import os
import signal
import subprocess
import sys

from cli_support import LIMIT_S, TUNE, Case, main

#: A snapshot after almost each result: what was written is moved to the history all the time.
SLOW = [sys.executable, os.path.join(os.path.dirname(__file__), "slow_trainable.py")]
OFTEN = {"TUNE_GLOBAL_CHECKPOINT_S": "0.05"}


class Events(Case):
    def numbers(self, text):
        return [json.loads(line)["n"] for line in text.splitlines()]

    def start(self, *arguments, **options):
        process = subprocess.Popen([TUNE, *arguments], cwd=self.dir, text=True, env={**os.environ, **OFTEN},
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def slow(self):
        return self.quadratic(trainable={"command": SLOW}, num_samples=12, metric="count", resources_per_trial={"cpu": 0},
                              param_space={"iterations": 30, "x": {"uniform": [0, 1]}}, max_concurrent_trials=4)

    def test_each_is_there_once_and_results_are_those_of_the_result_files(self):
        self.write("spec.json", self.quadratic())
        self.tune("run", "spec.json", "--name", "all", "--progress", "none", TUNE_GLOBAL_CHECKPOINT_S="0.001")
        self.take_snapshot("results/all")
        events = self.lines("events", "results/all")
        self.assertTrue(os.path.exists(self.path("results/all/history.jsonl")))
        self.assertEqual([each["n"] for each in events], list(range(1, len(events) + 1)))
        for trial in range(4):
            told = [each["iteration"] for each in events if each["e"] == "result" and each["trial"] == trial]
            self.assertEqual(told, self.iterations_in_log("results/all", f"trial_{trial:05}"))
        self.assertEqual(self.numbers(self.tune("events", "results/all", "--from", "7").out),
                         list(range(7, len(events) + 1)))

    def test_a_reader_that_is_killed_again_and_again_and_a_driver_that_dies_cost_no_event(self):
        self.write("spec.json", self.slow())
        found, errors = [], []

        def read_some():
            reader = self.start("events", "results/torn", "--from", str(len(found) + 1), "--follow")
            for line in reader.stdout:
                if line.endswith("\n"):
                    found.append(json.loads(line)["n"])
                if len(found) % 97 == 0:
                    reader.kill()
            errors.append(reader.stderr.read())
            return reader.wait(timeout=LIMIT_S) == -signal.SIGKILL

        driver = self.start("run", "spec.json", "--name", "torn", "--progress", "none")
        while len(found) < 200:
            self.assertTrue(read_some(), errors)
        driver.kill()
        driver.communicate()
        while not all(each["state"] == "TERMINATED" for each in self.json("ls", "results/torn")):
            driver = self.start("resume", "results/torn", "--progress", "none")
            while read_some():
                pass
            driver.communicate(timeout=LIMIT_S)
        self.assertEqual(found, list(range(1, len(found) + 1)))
        self.assertEqual(found, self.numbers(self.tune("events", "results/torn").out))

    def test_who_follows_waits_for_the_experiment_and_ends_with_it(self):
        self.write("spec.json", self.quadratic())
        reader = self.start("events", "results/late", "--follow")
        self.tune("run", "spec.json", "--name", "late", "--progress", "none")
        out, err = reader.communicate(timeout=LIMIT_S)
        self.assertEqual((reader.returncode, err), (0, ""))
        self.assertEqual(out, self.tune("events", "results/late").out)

    def test_who_follows_is_told_that_the_driver_has_left_before_the_end(self):
        self.write("spec.json", self.slow())
        driver = self.start("run", "spec.json", "--name", "left", "--progress", "none")
        reader = self.start("events", "results/left", "--follow")
        while json.loads(line := reader.stdout.readline())["e"] != "result":
            pass
        driver.kill()
        rest, err = reader.stdout.read(), reader.stderr.read()
        last = json.loads((line + rest).splitlines()[-1])["n"]
        self.assertEqual(err, "tune: notice: the driver has left before the end; after a resume, "
                              f"--from {last + 1} goes on here\n")

    def test_who_has_seen_all_of_a_finished_experiment_waits_for_nothing(self):
        self.write("spec.json", self.quadratic())
        self.tune("run", "spec.json", "--name", "seen", "--progress", "none")
        count = len(self.lines("events", "results/seen"))
        done = self.tune("events", "results/seen", "--from", str(count + 1), "--follow")
        self.assertEqual((done.out, done.err), ("", ""))

    def test_what_is_before_damage_is_printed(self):
        self.write("spec.json", self.quadratic())
        self.tune("run", "spec.json", "--name", "bad", "--progress", "none")
        journal = self.path("results/bad/journal-1.jsonl")
        with open(journal, "r+b") as file:
            lines = file.readlines()
            file.seek(sum(map(len, lines[:10])) + 30)
            file.write(b"~")
        done = self.tune("events", "results/bad", expect=3)
        self.assertEqual(self.numbers(done.out), list(range(1, 10)))
        self.assertIn("is damaged after event 9", done.err)

    def test_who_follows_ends_when_nobody_reads(self):
        self.write("spec.json", self.slow())
        self.start("run", "spec.json", "--name", "read", "--progress", "none")
        reader = self.start("events", "results/read", "--follow")
        reader.stdout.readline()
        reader.stdout.close()
        self.assertEqual(reader.wait(timeout=LIMIT_S), 0)

    def test_what_is_no_longer_there_is_said(self):
        self.write("spec.json", self.quadratic())
        self.tune("run", "spec.json", "--name", "gone", "--progress", "none")
        self.take_snapshot("results/gone")
        os.remove(self.path("results/gone/history.jsonl"))
        done = self.tune("events", "results/gone")
        first = self.numbers(done.out)[0]
        self.assertGreater(first, 1)
        self.assertIn(f"{first - 1} events up to event", done.err)

    def test_what_makes_no_sense_is_refused(self):
        self.assertEqual(self.refused("events", "results/none"), f"tune: there is no experiment in {self.path('results/none')}")
        for number in ("0", "-1", "0x10", "18446744073709551616", "all"):
            error = self.tune("events", "results/none", f"--from={number}", expect=2).err
            self.assertIn(f"{number} is no whole number above 0", error)
        self.write("file", "")
        self.tune("events", "file", "--follow", expect=2)


if __name__ == "__main__":
    main()
