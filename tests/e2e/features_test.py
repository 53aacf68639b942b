"""What a class and a function can do in C++ and in Python: the same scenarios with each, and the table
of docs/trainables.md has a row for each scenario, and a "yes" for whoever plays it."""
import contextlib
import json
import math
import os
import re
import signal
import subprocess
import sys
import unittest

from cli_support import Case, main
from driver_support import DriverCase

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, os.pardir, os.pardir, "docs", "trainables.md")
PACKAGE = os.environ["PYTHON_PACKAGE"]
CPP = os.environ["FEATURED_TRAINABLE"]
PYTHON = [sys.executable, "-B", "-m", "tune.trial", os.path.join(HERE, "featured_trainable.py")]

COMMANDS = {
    "C++ class": [CPP, "class"],
    "C++ function": [CPP, "function"],
    "Python class": [*PYTHON[:-1], PYTHON[-1] + ":Featured"],
    "Python function": [*PYTHON[:-1], PYTHON[-1] + ":train"],
}
ALL = tuple(COMMANDS)
CLASSES = ("C++ class", "Python class")
FUNCTIONS = ("C++ function", "Python function")
IN_PYTHON = ("Python class", "Python function")

#: Of each row of the table, who says "yes" there.
ROWS = {}


def row(name, who=ALL):
    """A test that is played by each of `who`, and shows that row of the table."""
    ROWS[name] = who

    def decorate(play):
        def test(self):
            for self.who in who:
                with self.subTest(self.who):
                    play(self)

        test.__name__ = play.__name__
        return test

    return decorate


class Features(DriverCase):
    def setUp(self):
        super().setUp()
        os.environ["PYTHONPATH"] = PACKAGE
        self.who = ""

    @property
    def experiment(self):
        return "results/" + re.sub(r"\W+", "_", self.who)

    def write_spec(self, config, **fields):
        program = {"command": COMMANDS[self.who], **fields.pop("trainable", {})}
        self.write("spec.json", {
            "name": os.path.basename(self.experiment), "trainable": program, "param_space": config,
            "metric": "x", "mode": "max", "searcher": "random",
            "callbacks": [{"type": "tensorboard", "enabled": False}], **fields})

    def run_spec(self, config, expect=0, **fields):
        self.write_spec({"who": True, **config}, **fields)
        return self.tune("run", "spec.json", "--progress", "none", expect=expect)

    def resume(self):
        return self.tune("resume", self.experiment, "--progress", "none")

    def trials(self):
        return self.json("ls", self.experiment)

    def results(self, trial=0):
        lines = self.read(self.experiment, f"trial_{trial:05}", "result.json").splitlines()
        return [json.loads(line) for line in lines]

    def saved(self, trial=0):
        """The iterations of the trial's checkpoints, all of which are whole."""
        found = [each for each in self.json("checkpoints", self.experiment, "--verify")
                 if each["trial_id"] == f"trial_{trial:05}"]
        self.assertEqual({each["verified"] for each in found} - {"ok"}, set())
        return [each["training_iteration"] for each in found]

    def work(self, *parts, trial=0):
        return self.path(self.experiment, f"trial_{trial:05}", "work", *parts)

    def assert_went_on_at(self, iteration, last):
        """As if nothing had happened: each iteration is there once, and x is what it would be."""
        results = self.results()
        self.assertEqual([each["training_iteration"] for each in results], list(range(1, last + 1)))
        self.assertEqual([each["x"] for each in results], [0.5 * n for n in range(1, last + 1)])
        starts = [each["who"]["started_at"] for each in results]
        self.assertEqual(starts, [0] * iteration + [iteration] * (last - iteration))

    @row("metrics: nested, NaN, infinities")
    def test_metrics_come_as_they_are(self):
        self.run_spec({"odd": True})
        last = self.results()[-1]
        self.assertEqual(last["val"], {"half": 0.75})
        found = {name: float(value) for name, value in last["odd"].items()}
        self.assertTrue(math.isnan(found["nan"]))
        self.assertEqual((found["above"], found["below"]), (math.inf, -math.inf))
        self.assertEqual(self.trials()[0]["metrics"]["val"], {"half": 0.75})

    @row("`done` ends the trial")
    def test_done_ends_the_trial(self):
        self.run_spec({"iterations": 1000, "done_at": 2})
        self.assertEqual(len(self.results()), 2)
        self.assertEqual(self.trials()[0]["state"], "TERMINATED")

    @row("`should_checkpoint` asks for a checkpoint")
    def test_a_checkpoint_that_is_asked_for_is_made(self):
        self.run_spec({"ask_at": 2})
        self.assertEqual(self.saved(), [2])

    @row("`checkpoint_frequency`")
    def test_checkpoints_are_made_every_so_many_iterations(self):
        done = self.run_spec({"iterations": 5}, checkpoint_config={"checkpoint_frequency": 2})
        self.assertEqual(self.saved(), [2, 4])
        self.assertNotIn("no effect", done.err)

    @row("`checkpoint_at_end`")
    def test_a_checkpoint_is_made_at_the_end(self):
        self.run_spec({"iterations": 1000, "done_at": 3}, checkpoint_config={"checkpoint_at_end": True})
        self.assertEqual(self.saved(), [3])

    @row("`checkpoint_at_start`", CLASSES)
    def test_a_checkpoint_is_made_at_the_start_and_gone_back_to(self):
        self.run_spec({"iterations": 3, "crash_at": 1}, checkpoint_config={"checkpoint_at_start": True},
                      failure_config={"max_failures": 1})
        self.assertEqual(self.saved(), [0])
        self.assertEqual(self.trials()[0]["attempt"], 2)
        self.assertEqual([each["x"] for each in self.results()], [0.5, 1.0, 1.5])

    def test_a_function_has_no_start_to_save(self):
        for self.who in FUNCTIONS:
            with self.subTest(self.who):
                done = self.run_spec({}, checkpoint_config={"checkpoint_at_start": True}, expect=2)
                self.assertIn("can_save_at_start", done.err)

    def test_a_function_that_has_returned_is_saved_at_the_end_or_told_how(self):
        for self.who, saved, notice in (("Python function", [3], False), ("C++ function", [], True)):
            with self.subTest(self.who):
                done = self.run_spec({"iterations": 3}, num_samples=2,
                                     checkpoint_config={"checkpoint_at_end": True})
                self.assertEqual((self.saved(0), self.saved(1)), (saved, saved))
                self.assertEqual(done.err.count('put "done": true into the metrics'), notice)

    @row("hands over a directory as a checkpoint", FUNCTIONS)
    def test_a_directory_is_handed_over(self):
        self.run_spec({"hand_over_at": 2})
        self.assertEqual(self.saved(), [2])
        self.assertEqual(os.listdir(self.work()), ["cleaned_up"])

    def test_a_function_that_never_saves_is_not_asked_to(self):
        for self.who in FUNCTIONS:
            with self.subTest(self.who):
                self.write_spec({"wait_at": 2, "never_saves": True})
                driver = self.start("run", "spec.json", "--progress", "none")
                self.wait_until(lambda: self.has_text(self.work("waits")), "iteration 2")
                self.assertIn("saves by itself", self.tune("checkpoint", self.experiment, expect=2).err)
                self.assertIn("pauses with the next checkpoint that it hands over",
                              self.tune("pause", self.experiment, "--trial", "0").out)
                self.let_go()
                self.finish(driver, expect=0)
                os.remove(self.go)
                self.assertEqual(len(self.results()), 3)

    @row("a failed save is counted, and training goes on")
    def test_a_failed_save_costs_that_checkpoint_alone(self):
        done = self.run_spec({"cannot_save_at": 2}, checkpoint_config={"checkpoint_frequency": 1})
        self.assertIn("told not to save", done.err)
        self.assertEqual(self.json("status", self.experiment)["checkpoints"]["failed"], 1)
        self.assertEqual((self.saved(), len(self.results())), ([1, 3], 3))

    @row("paused by hand, it goes on exactly where it was")
    def test_a_trial_that_is_paused_goes_on_exactly_where_it_was(self):
        self.write_spec({"who": True, "iterations": 6, "wait_at": 3})
        driver = self.start("run", "spec.json", "--progress", "none")
        self.wait_until(lambda: self.has_text(self.work("waits")), "iteration 3")
        self.tune("pause", self.experiment)
        self.let_go()
        self.finish(driver, expect=130)
        self.assertEqual(self.saved(), [3])
        self.resume()
        os.remove(self.go)
        self.assert_went_on_at(3, last=6)

    @row("crashed, it is retried from its last checkpoint")
    def test_a_crashed_trial_is_retried_from_its_last_checkpoint(self):
        self.run_spec({"iterations": 6, "crash_at": 4}, failure_config={"max_failures": 1},
                      checkpoint_config={"checkpoint_frequency": 3})
        self.assert_went_on_at(3, last=6)

    @row("its driver was killed, and it goes on from its last checkpoint")
    def test_a_trial_whose_driver_was_killed_goes_on_from_its_last_checkpoint(self):
        self.run_spec({"iterations": 6, "kill_driver_at": 6}, expect=-signal.SIGKILL,
                      checkpoint_config={"checkpoint_frequency": 2, "num_to_keep": 1})
        self.resume()
        # What the driver had no time to commit is trained again.
        at = self.results()[-1]["who"]["started_at"]
        self.assertIn(at, (2, 4))
        self.assert_went_on_at(at, last=6)

    @row("starts from a given checkpoint")
    def test_a_trial_starts_from_a_given_checkpoint(self):
        os.makedirs(self.path("given"), exist_ok=True)
        self.write("given/state.json", {"n": 1, "x": 7})
        self.run_spec({}, resume_from_checkpoint="given")
        self.assertEqual([each["x"] for each in self.results()], [7.5, 8])

    @row("`pbt` clones it: a donor's state, a new config")
    def test_a_clone_has_the_state_of_its_donor_and_its_own_config(self):
        self.run_spec({"iterations": 4, "lr": {"grid_search": [0.25, 0.5]}}, max_concurrent_trials=2,
                      resources_per_trial={"cpu": 0}, scheduler={
                          "type": "pbt", "time_attr": "training_iteration", "perturbation_interval": 2,
                          "synch": True, "quantile_fraction": 0.5, "resample_probability": 0,
                          "hyperparam_mutations": {"lr": {"uniform": [0, 1]}}})
        clone = self.trials()[0]
        self.assertNotIn(clone["config"]["lr"], (0.25, 0.5))
        last = [each for each in self.results() if each["who"]["started_at"]]
        self.assertEqual([each["training_iteration"] for each in last], [3, 4])
        self.assertEqual({each["who"]["started_at"] for each in last}, {2})
        self.assertAlmostEqual(last[0]["x"], 2 * 0.5 + clone["config"]["lr"])

    @row("paused by its scheduler, its process waits in memory (`keep_paused`)")
    def test_the_process_of_a_paused_trial_waits(self):
        self.run_spec({"iterations": 9, "lr": {"grid_search": [0.3, 0.2, 0.1]}},
                      max_concurrent_trials=1, keep_paused=8,
                      scheduler={"type": "asha_promotion", "max_t": 9, "reduction_factor": 3})
        promoted = self.results()
        self.assertGreater(promoted[1]["timestamp"], self.results(2)[0]["timestamp"])
        self.assertEqual([each["training_iteration"] for each in promoted], list(range(1, 10)))
        self.assertEqual(len({each["who"]["pid"] for each in promoted}), 1)
        self.assertEqual({each["who"]["started_at"] for each in promoted}, {0})

    @row("its process is used again (`reuse_processes`)", (*CLASSES, "Python function"))
    def test_a_process_is_used_again(self):
        self.run_spec({"lr": {"grid_search": [0.25, 0.5, 1]}}, max_concurrent_trials=1,
                      reuse_processes=True)
        last = [self.results(trial)[-1] for trial in range(3)]
        self.assertEqual([each["x"] for each in last], [0.75, 1.5, 3])
        self.assertEqual(len({each["who"]["pid"] for each in last}), 1)
        self.assertEqual([os.path.basename(os.path.dirname(each["who"]["trial_dir"])) for each in last],
                         ["trial_00000", "trial_00001", "trial_00002"])

    def test_a_function_of_cpp_is_not_used_again_and_a_notice_says_so(self):
        self.who = "C++ function"
        done = self.run_spec({}, num_samples=2, max_concurrent_trials=1, reuse_processes=True)
        self.assertIn("reuse_processes has no effect", done.err)
        self.assertNotEqual(*(self.results(trial)[0]["who"]["pid"] for trial in (0, 1)))

    @row("its error reaches you: the message and where it came from")
    def test_an_error_reaches_the_user(self):
        done = self.run_spec({"raise_at": 2}, expect=1)
        self.assertIn("told to raise", done.err)
        self.assertIn("told to raise", self.json("ls", self.experiment)[0]["error"])
        where = {"C++ class": "called last: step", "C++ function": "called last: the function"}.get(
            self.who, "featured_trainable.py\", line ")
        self.assertIn(where, self.read(self.experiment, "trial_00000", "error.txt"))
        self.assertIn(where, self.read(self.experiment, "trial_00000", "stderr.log"))

    @row("told to stop, it cleans up")
    def test_a_trial_that_is_told_to_stop_cleans_up(self):
        self.run_spec({"iterations": 1000}, stop={"training_iteration": 2})
        self.assertTrue(os.path.exists(self.work("cleaned_up")))
        self.assertEqual(self.trials()[0]["state"], "TERMINATED")
        self.assertEqual(len(self.results()), 2)

    @row("knows its id, directory, attempt, resources, devices")
    def test_a_trial_knows_who_it_is(self):
        self.run_spec({"raise_at": 1}, failure_config={"max_failures": 1},
                      resources={"cpu": 2, "gpu": 1}, resources_per_trial={"cpu": 0.5, "gpu": 1})
        who = self.results()[-1]["who"]
        found = [who[name] for name in ("trial_id", "trial_dir", "attempt", "resources", "devices")]
        self.assertEqual(found, ["trial_00000", self.work(), 2, {"cpu": 0.5, "gpu": 1}, ["0"]])

    @row("is forked from a process with its modules (`preload`)", IN_PYTHON)
    @unittest.skipIf(os.environ.get("SANITIZE"), "forks are not tested under the sanitizers")
    def test_a_trial_is_forked_from_a_process_that_has_its_modules(self):
        os.makedirs(self.path("lib"), exist_ok=True)
        self.write("lib/heavy.py", "import os\nPID = os.getpid()\n")
        self.run_spec({}, num_samples=2, max_concurrent_trials=1, reuse_processes=False, trainable={
            "preload": ["heavy"], "env": {"PYTHONPATH": self.path("lib") + os.pathsep + PACKAGE}})
        who = [self.results(trial)[-1]["who"] for trial in (0, 1)]
        self.assertEqual(who[0]["preloaded_by"], who[1]["preloaded_by"])
        self.assertEqual(len({0, who[0]["preloaded_by"], who[0]["pid"], who[1]["pid"]}), 4)

    @row("`tune check` finds nothing")
    def test_check_finds_nothing(self):
        self.write_spec({"lr": {"uniform": [0.1, 1]}, "iterations": 100})
        done = self.tune("check", "spec.json", "--json", "--iterations", "4", TMPDIR=self.dir)
        verdicts = {each["claim"]: each for each in map(json.loads, done.out.splitlines())}
        unsure = {claim for claim, each in verdicts.items() if each["verdict"] != "holds"}
        self.assertEqual(unsure, {"A process that is reset is as good as new"}
                         if self.who in FUNCTIONS else set(), verdicts)
        self.assertIn("It saves, and that changes nothing of the training", verdicts)

    @row("runs by hand, without a driver")
    def test_a_trainable_runs_by_hand(self):
        def by_hand(*options):
            done = subprocess.run([*COMMANDS[self.who], *options], cwd=self.dir, check=True,
                                  stdout=subprocess.PIPE)
            return [json.loads(line) for line in done.stdout.splitlines()]

        config = json.dumps({"iterations": 5})
        place = self.path(os.path.basename(self.experiment))
        first = by_hand("--config", config, "--iterations", "2", "--save-to", place)
        self.assertEqual([each["training_iteration"] for each in first], [1, 2])
        again = by_hand("--config", config, "--checkpoint", place)
        self.assertEqual([each["x"] for each in first + again], [0.5, 1, 1.5, 2, 2.5])

    ROWS["its driver is gone: it cleans up and ends, after 3 s if it is busy"] = ALL

    def test_a_trial_whose_driver_is_gone_ends(self):
        """All at once, as it takes its time. A shell is in between: what the driver has launched itself
        is killed with it."""
        drivers, trials = [], []
        for self.who in ALL:
            self.write_spec({"wait_at": 2, "for_ever": {"grid_search": [False, True]}},
                            max_concurrent_trials=2, resources_per_trial={"cpu": 0},
                            trainable={"command": ["/bin/sh", "-c", '"$@"; true', "sh", *COMMANDS[self.who]]})
            drivers.append(self.start("run", "spec.json", "--progress", "none"))
            waits = [self.work("waits", trial=trial) for trial in (0, 1)]
            self.wait_until(lambda waits=waits: all(map(self.has_text, waits)), waits)
            trials += [(self.who, path, int(self.read(path))) for path in waits]
        for driver in drivers:
            driver.kill()
            driver.wait()
        self.let_go()
        for who, path, pid in trials:
            with self.subTest(who):
                self.wait_until(lambda pid=pid: not self.is_alive(pid), f"the end of {path}")
                is_busy = "trial_00001" in path
                self.assertEqual(os.path.exists(path.replace("waits", "cleaned_up")), not is_busy)
                log = self.read(path.replace("work/waits", "stderr.log"))
                self.assertIn("and this program was busy" if is_busy else "the driver is gone", log)

    def let_go(self):
        with open(self.go, "w", encoding="ascii"):
            pass

    @staticmethod
    def has_text(path):
        return os.path.exists(path) and os.path.getsize(path) > 0

    @staticmethod
    def is_alive(pid):
        """And no zombie that nobody has waited for."""
        with contextlib.suppress(FileNotFoundError, ProcessLookupError), \
                open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
        return False


class Table(Case):
    def cells(self):
        with open(PAGE, encoding="utf-8") as file:
            section = file.read().partition("## What each can do\n")[2].partition("\n## ")[0]
        lines = [[cell.strip() for cell in line.strip("|").split(" | ")]
                 for line in section.splitlines() if line.startswith("|")]
        self.assertEqual([cell.strip() for cell in lines[0]], ["", *ALL])
        return {line[0]: dict(zip(ALL, line[1:], strict=True)) for line in lines[2:]}

    def test_each_row_of_the_page_is_tested_and_each_test_is_a_row(self):
        self.assertEqual(sorted(self.cells()), sorted(ROWS))

    def test_a_yes_is_tested_and_all_else_says_why(self):
        for name, cells in self.cells().items():
            for who, cell in cells.items():
                with self.subTest(name, who=who):
                    if who in ROWS[name]:
                        self.assertRegex(cell, r"^yes\b")
                    else:
                        self.assertRegex(cell, r"^(no|n/a): \w+")


if __name__ == "__main__":
    main()
