"""The programs in apps/examples/plain are tuned by their specs.

XGBoost and LightGBM are tried where `python3` has them, or EXAMPLES_VENV, a directory that is made
if TUNE_INSTALL_EXAMPLES is 1: they take hundreds of megabytes. Else they are skipped.
"""
import json
import os
import shutil
import subprocess
import sys
import venv

from cli_support import Case, main
from docs_page import without_comments

PLAIN = os.path.join(os.environ["EXAMPLES"], "plain")
VENV = os.environ["EXAMPLES_VENV"]
LIBRARIES = ["xgboost", "lightgbm"]


def has(python, library):
    return subprocess.run([python, "-c", f"import {library}"], capture_output=True, check=False).returncode == 0


class PlainExamples(Case):
    def setUp(self):
        super().setUp()
        self.dir = self.path("plain")
        shutil.copytree(PLAIN, self.dir)

    def spec(self, name):
        return json.loads(without_comments(self.read(name)))

    def check(self, name, **environment):
        """Runs the spec; the search has found something, and what it has found is true."""
        spec = self.spec(f"{name}.json")
        done = self.tune("run", f"{name}.json", "--progress", "none", **environment)
        self.assertRegex(done.out, r"12 trials, \d+ completed(, \d+ pruned)?\n")
        trials = self.json("ls", f"results/{name}")
        metric, sign = spec["metric"], 1 if spec["mode"] == "min" else -1
        last = [sign * trial["metrics"][metric] for trial in trials]
        self.assertLess(min(last), max(last), "the hyperparameters make no difference")
        self.assertLess(max(trial["time_total_s"] for trial in trials), 60)
        # The same config, alone and once more, gives the same numbers.
        best = self.json("best", f"results/{name}")
        again = {**spec, "param_space": best["config"], "num_samples": 1, "scheduler": "fifo", "name": "again"}
        self.write("again.json", again)
        self.tune("run", "again.json", "--progress", "none", **environment)
        curve = self.curve(name, best["trial_id"], metric)
        self.assertEqual(self.curve("again", "trial_00000", metric)[:len(curve)], curve)

    def curve(self, name, trial, metric):
        lines = self.read("results", name, trial, "result.json").splitlines()
        return [json.loads(line)[metric] for line in lines]

    def test_plain_python(self):
        self.check("logistic")

    def test_a_shell_script(self):
        if shutil.which("awk") is None:
            self.skipTest("there is no awk")
        self.check("line_fit")

    def test_a_c_program(self):
        compiler = shutil.which("cc")
        if compiler is None:
            self.skipTest("there is no C compiler")
        subprocess.run([compiler, "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2", "-o", self.path("annealing"),
                        self.path("annealing.c"), "-lm"], check=True)
        self.check("annealing")
        text = self.tune("init", "--from", "annealing", "-").out
        for line in ['"temperature": {"uniform": [0.5, 2]}', '"cooling": {"uniform": [0, 1]}']:
            self.assertIn(line, text)

    def python_with(self, library):
        """What PATH must be for `python3` to have it."""
        ours = os.path.join(VENV, "bin")
        if os.environ.get("TUNE_INSTALL_EXAMPLES") == "1" and not has(os.path.join(ours, "python3"), library):
            venv.create(VENV, with_pip=True)
            subprocess.run([os.path.join(ours, "python3"), "-m", "pip", "install", "-q", *LIBRARIES], check=True)
        for path in [os.environ["PATH"], ours + os.pathsep + os.environ["PATH"]]:
            python = shutil.which("python3", path=path)
            if python is not None and has(python, library):
                return {"PATH": path}
        return self.skipTest(f"{library} is not installed; TUNE_INSTALL_EXAMPLES=1 installs it into {VENV}")

    def test_xgboost(self):
        self.check("xgboost", **self.python_with("xgboost"))

    def test_lightgbm(self):
        self.check("lightgbm", **self.python_with("lightgbm"))

    def test_a_spec_made_of_a_programs_help_is_valid(self):
        self.tune("init", "--from", "logistic.py", "mine.json", "--metric", "val_loss")
        self.assertEqual(self.tune("validate", "mine.json").out, "valid\n")
        self.assertEqual(list(self.spec("mine.json")["param_space"]), ["lr"])

    def test_plains_train_by_themselves(self):
        done = subprocess.run([sys.executable, "logistic.py", "--epochs", "2"], cwd=self.dir, check=True,
                              capture_output=True, text=True)
        self.assertIn("epoch 2/2 - loss: ", done.stdout)


if __name__ == "__main__":
    main()
