"""Scripts that search with the Python package, run as users run them. Knows no test."""
import json
import os
import subprocess
import sys
import time

from cli_support import LIMIT_S, TUNE, Case
from python_libraries_test import python_with

PACKAGE = os.environ["PYTHON_PACKAGE"]

HEAD = """
import json, os, sys, time
import tune
"""
TRAIN = HEAD + """
def train(config):
    state = {"epoch": 0, "loss": 1.0}
    if checkpoint := tune.get_checkpoint():
        with open(os.path.join(checkpoint.path, "state.json")) as file:
            state = json.load(file)
        print("goes on after", state["epoch"])

    def save(directory):
        print("saves", state["epoch"])
        with open(os.path.join(directory, "state.json"), "w") as file:
            json.dump(state, file)

    while state["epoch"] < config.get("epochs", 12):
        time.sleep(config.get("sleep", 0))
        state = {"epoch": state["epoch"] + 1, "loss": state["loss"] * (1 - config["lr"])}
        tune.report({"loss": state["loss"], "epoch": state["epoch"]}, save=save)

LR = {"lr": tune.uniform(0.1, 0.5)}
GOAL = {"metric": "loss", "mode": "min"}
"""


class PythonCase(Case):
    """A test with scripts that search."""

    def start(self, script, python=sys.executable, path=PACKAGE, name="search.py", **environment):
        self.write(name, script)
        environment = {**os.environ, "TUNE_BINARY": TUNE, "PYTHONDONTWRITEBYTECODE": "1", **environment}
        if path is None:
            del environment["TUNE_BINARY"]
        else:
            environment["PYTHONPATH"] = path
        return subprocess.Popen([python, name], cwd=self.dir, env=environment, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, start_new_session=True)

    def run_script(self, script, expect=0, **options):
        with self.start(script, **options) as search:
            out = search.communicate(timeout=LIMIT_S)[0]
        self.assertEqual(search.returncode, expect, out)
        return out

    def answer(self, script, **options):
        """What it prints last, as JSON."""
        return json.loads(self.run_script(script, **options).splitlines()[-1])

    def python_with(self, module):
        return python_with(module) or self.skipTest(f"no Python here has {module}")

    def iterations(self, directory):
        with open(os.path.join(directory, "result.json"), encoding="utf-8") as file:
            return [json.loads(line)["training_iteration"] for line in file]

    def wait_until(self, holds, what):
        until = time.monotonic() + LIMIT_S
        while not holds():
            self.assertLess(time.monotonic(), until, what)
            time.sleep(0.05)
