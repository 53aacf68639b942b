"""The Python package in the cells of a notebook, with a real kernel. Skipped where EXAMPLES_VENV and `python3` have none."""
import glob
import json
import os
import subprocess
import sys
import time

from cli_support import LIMIT_S, TUNE, Case, main

PACKAGE = os.environ["PYTHON_PACKAGE"]
VENV = os.environ["EXAMPLES_VENV"]
RUNNER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "notebook_runner.py")
ENVIRONMENT = {**os.environ, "TUNE_BINARY": TUNE, "PYTHONPATH": PACKAGE, "PYTHONDONTWRITEBYTECODE": "1"}

HEAD = """
import os, time
import tune
GOAL = {"metric": "loss", "mode": "min", "resources_per_trial": {"cpu": 0.1}}
"""
#: Goes on from what it has saved; waits for the file `go` after `block_at` iterations.
TRAIN = HEAD + """
def train(config):
    done = 0
    if checkpoint := tune.get_checkpoint():
        done = int(open(os.path.join(checkpoint.path, "done")).read())

    def save(directory):
        with open(os.path.join(directory, "done"), "w") as file:
            file.write(str(done))

    while done < config["iterations"]:
        while done == config.get("block_at") and not os.path.exists(config["go"]):
            time.sleep(0.01)
        time.sleep(config.get("sleep", 0))
        done += 1
        tune.report({"loss": config["lr"] / done}, save=save)
"""
RESTORE = """
import tune
results = tune.Tuner.restore("results/first").fit()
"""


def python_with(*modules):
    """An interpreter that has them all, or None."""
    for python in (os.path.join(VENV, "bin", "python3"), sys.executable):
        try:
            done = subprocess.run([python, "-c", "import " + ", ".join(modules)], capture_output=True, check=False)
        except OSError:
            continue
        if done.returncode == 0:
            return python
    return None


def text_of(output):
    if output["output_type"] == "error":
        return f"{output['ename']}: {output['evalue']}"
    return output.get("text") or output["data"]["text/plain"]


class Notebook(Case):
    def setUp(self):
        super().setUp()
        self.python = python_with("ipykernel", "nbclient", "nbformat", "cloudpickle")
        if self.python is None:
            self.skipTest("no Python here has ipykernel, nbclient, nbformat and cloudpickle")

    def run_cells(self, *cells, when=None):
        asked = json.dumps({"cells": cells, "when": when})
        done = subprocess.run([self.python, RUNNER], cwd=self.dir, input=asked, capture_output=True, text=True,
                              check=False, timeout=2 * LIMIT_S, env=ENVIRONMENT)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def outputs(self, found, kind):
        """Of all cells, as texts: "error", "stdout", "stderr", "display_data", "execute_result"."""
        return [text_of(output) for cell in found["cells"] for output in cell
                if kind in (output["output_type"], output.get("name"))]

    def assert_each_iteration_once(self, trials, iterations):
        self.assertEqual(len(glob.glob(self.path("results/first/trial_*/"))), trials)
        for trial in self.json("ls", "results/first"):
            self.assertEqual(trial["state"], "TERMINATED", trial)
            self.assertEqual(self.iterations_in_log("results/first", trial["trial_id"]), list(range(1, iterations + 1)))

    def wait_until_no_driver(self):
        until = time.monotonic() + LIMIT_S
        while (status := self.json("status", "results/first"))["driver"] is not None:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)
        return status

    def test_one_table_is_redrawn_while_the_search_runs_and_tells_the_end(self):
        found = self.run_cells(TRAIN, """
results = tune.Tuner(train, {"lr": tune.uniform(0, 1), "iterations": 6, "sleep": 0.3}, num_samples=4,
                     max_concurrent_trials=2, name="first", **GOAL).fit()
""")
        self.assertEqual(self.outputs(found, "error"), [])
        self.assertGreater(len(found["shown"]), 1)
        self.assertRegex(found["shown"][0], r"first: running\ntrials +\d RUNNING.* of 4\n")
        self.assertTrue(any("\nrunning      iteration  loss" in each for each in found["shown"]), found["shown"])
        table, = self.outputs(found, "display_data")
        self.assertEqual(table, found["shown"][-1])
        best = self.json("status", "results/first")["best"]
        self.assertRegex(table, r"first: ended\ntrials  4 completed\ntime    0:00:\d\d\n"
                         rf"best    loss {best['value']:.6g} of {best['trial_id']} at iteration 6 ")
        self.assertIn(self.path("results/first"), table)
        self.assertEqual(self.outputs(found, "stdout"), [])
        self.assertIn("tune: notice: the searcher is sobol", "".join(self.outputs(found, "stderr")))
        self.assert_each_iteration_once(4, 6)

    def test_a_search_that_gives_up_says_why_in_its_cell(self):
        found = self.run_cells(HEAD, """
def fails(config):
    raise ValueError("no such data")
""", """
tune.Tuner(fails, {"lr": tune.uniform(0, 1)}, num_samples=20, name="first", **GOAL).fit()
""")
        self.assertRegex("".join(self.outputs(found, "error")), "TuneError: .*no such data")
        table, = self.outputs(found, "display_data")
        self.assertIn("given up", table)
        self.assertIn("no such data", table)

    def test_what_cells_define_reaches_the_trials(self):
        found = self.run_cells(HEAD + "import math as m\nSCALE = 10\ndef scaled(x): return SCALE * m.floor(x)\n", """
def outer(offset):
    def train(config):
        tune.report({"loss": scaled(config["x"]) + offset})
    return train
class Counts(tune.Trainable):
    def setup(self, config):
        self.x = scaled(config["x"])
    def step(self):
        return {"loss": self.x, "done": True}
def bound(config, data):
    return {"loss": scaled(config["x"]) + sum(data)}
print([tune.Tuner(each, {"x": 2.5}, run_config=tune.RunConfig(verbose=0), name=str(i), **GOAL).fit()[0].metrics["loss"]
       for i, each in enumerate([outer(1), Counts, tune.with_parameters(bound, data=[1, 2]),
                                 lambda config: {"loss": scaled(config["x"])}])])
""")
        self.assertEqual(self.outputs(found, "stdout"), ["[21, 20, 23, 20]\n"])
        self.assertEqual(found["shown"], [])  # verbose=0
        self.assertEqual(self.outputs(found, "stderr"), [])

    def test_without_cloudpickle_one_sentence_says_what_to_do(self):
        found = self.run_cells("import sys\nsys.modules['cloudpickle'] = None\n" + TRAIN +
                               "tune.Tuner(train, {'lr': 1, 'iterations': 1}, name='first', **GOAL).fit()")
        error, = self.outputs(found, "error")
        self.assertRegex(error, "^TuneError: the trainable .* install cloudpickle: .*python.* -m pip install cloudpickle$")
        self.assertFalse(os.path.exists(self.path("results")))

    def test_the_stop_button_saves_what_runs_and_restore_goes_on(self):
        self.check_interrupt("interrupt")

    def test_so_does_a_signal_that_only_the_kernel_gets(self):
        self.check_interrupt("signal")

    def check_interrupt(self, how):
        cell = TRAIN + """
tune.Tuner(train, {"lr": tune.uniform(0, 1), "iterations": 30, "sleep": 0.1}, num_samples=2, max_concurrent_trials=2,
           name="first", **GOAL).fit()
"""
        look = """
import json
trials = tune.results.ask("ls", "results/first")
print(json.dumps([[each["state"], each["training_iteration"], each["checkpoint"] is not None] for each in trials]))
"""
        found = self.run_cells(cell, look, RESTORE, when={"matches": "at iteration", "do": how})
        self.assertEqual(self.outputs(found, "error"), ["KeyboardInterrupt: "])
        for state, iteration, is_saved in json.loads(self.outputs(found, "stdout")[0]):
            self.assertEqual((state, is_saved), ("PENDING", True))
            self.assertLess(iteration, 30)
        first, last = self.outputs(found, "display_data")
        self.assertRegex(first, r"^first: interrupted; tune\.Tuner\.restore\('.*/results/first'\)\.fit\(\) goes on\n")
        self.assertRegex(last, r"^first: ended\ntrials  2 completed\n")
        self.assert_each_iteration_once(2, 30)

    def test_another_interrupt_ends_at_once_what_does_not_come_to_a_result(self):
        found = self.run_cells(TRAIN + """
tune.Tuner(train, {"lr": 1, "iterations": 4, "block_at": 2, "go": os.path.abspath("go")}, name="first",
           stop_grace_s=600, **GOAL).fit()
""", "open('go', 'w').close()\n" + RESTORE, when={"matches": "RUNNING.*at iteration 2", "do": "interrupt", "again": True})
        self.assertEqual(self.outputs(found, "error"), ["KeyboardInterrupt: "])
        self.assertTrue(any("what runs is being saved" in each for each in found["shown"]), found["shown"])
        self.assert_each_iteration_once(1, 4)
        # The driver would have waited 30 s for a last save.
        self.assertLess(self.json("status", "results/first")["running_s"], 30)

    def test_a_kernel_that_is_killed_leaves_the_search_running(self):
        search = TRAIN + """
tune.Tuner(train, {"lr": 1, "iterations": 20, "block_at": 3, "go": os.path.abspath("go")}, name="first", **GOAL).fit()
"""
        found = self.run_cells(search, when={"matches": "at iteration 3", "do": "kill"})
        driver = self.json("status", "results/first")["driver"]["pid"]
        self.assertNotEqual(os.getsid(driver), found["kernel"])
        again = self.run_cells(search, RESTORE)
        self.assertEqual(again["shown"], [], "it is another driver's")
        for error in self.outputs(again, "error"):
            self.assertRegex(error, f"TuneError: .*{driver}")
        self.assertEqual(len(self.outputs(again, "error")), 2)
        self.write("go", "")
        self.assertEqual(self.wait_until_no_driver()["sessions"], 1)
        self.assert_each_iteration_once(1, 20)

    def test_a_kernel_that_is_restarted_interrupts_the_search(self):
        self.run_cells(TRAIN + """
tune.Tuner(train, {"lr": 1, "iterations": 100, "sleep": 0.1}, name="first", **GOAL).fit()
""", when={"matches": "at iteration", "do": "restart"})
        self.assertEqual(self.wait_until_no_driver()["states"]["PENDING"], 1)
        found = self.run_cells(RESTORE)
        self.assertEqual(self.outputs(found, "error"), [])
        self.assert_each_iteration_once(1, 100)

    def test_a_name_that_is_taken_says_so_and_shows_no_other_search(self):
        search = "tune.Tuner(train, {'lr': 1, 'iterations': 1}, name='first', **GOAL).fit()"
        found = self.run_cells(TRAIN + search, search)
        self.assertEqual(len(found["cells"][1]), 1)
        self.assertIn("holds an experiment already", self.outputs(found, "error")[0])

    def test_names_and_texts_are_shown_as_they_are_and_no_markup(self):
        found = self.run_cells(HEAD + """
BAD = "<img src=x onerror=alert(1)>&$x$\\x1b[31m"
def train(config):
    tune.report({BAD: 1.0})
    while not os.path.exists(config["go"]):
        time.sleep(0.01)
    if config["x"] == "fails":
        raise ValueError(BAD)
results = tune.Tuner(train, {"x": tune.grid_search([BAD, "fails"]), BAD: BAD, "go": os.path.abspath("go")}, metric=BAD,
                     mode="min", name="first", resources_per_trial={"cpu": 0}, max_concurrent_trials=2).fit()
""", "results", "results[0]", "results[1]", when={"matches": "at iteration", "do": "go"})
        html = [output["data"]["text/html"] for cell in found["cells"] for output in cell if "data" in output]
        self.assertEqual(len(html), 4, found)
        for each in html:
            self.assertNotIn("<img", each)
            self.assertIn("&lt;img src=x onerror=alert(1)&gt;&amp;$x$", each)
            self.assertNotIn("\x1b", each)
            self.assertIn("mathjax_ignore", each)
        for each in found["shown"]:
            self.assertNotIn("\x1b", each)

    def test_outside_a_kernel_nothing_of_it_is_loaded(self):
        out = subprocess.run([self.python, "-c", "import sys, tune; print([each for each in ('IPython', 'tune._notebook', "
                              "'tune.tuner') if each in sys.modules])"], env=ENVIRONMENT, capture_output=True, text=True,
                             check=True).stdout
        self.assertEqual(out, "[]\n")


if __name__ == "__main__":
    main()
