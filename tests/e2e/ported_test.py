"""Programs that were written for Ray Tune run with their import lines changed, and nothing else.

`ported/NAME.py` is the program as it runs with Ray, `ported/NAME.diff` the lines that change. They are tried where
EXAMPLES_VENV or `python3` has their libraries; else they are skipped. Ray itself is not needed.
"""
import ast
import os
import subprocess
import unittest

from cli_support import LIMIT_S, Case, main
from python_libraries_test import ENVIRONMENT, python_with

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ported")


def source(name):
    with open(os.path.join(PROGRAMS, name), encoding="utf-8") as file:
        return file.read()


def changes(name):
    """The lines of Ray's and those in their place, in pairs."""
    lines = source(f"{name}.diff").splitlines()
    old, new = ([line[1:] for line in lines if line[0] == sign] for sign in "-+")
    return list(zip(old, new))


def ported(name):
    lines = source(f"{name}.py").splitlines()
    for old, new in changes(name):
        lines[lines.index(old)] = new
    return "\n".join(lines) + "\n"


def without_imports(text):
    tree = ast.parse(text)
    tree.body = [each for each in tree.body if not isinstance(each, (ast.Import, ast.ImportFrom))]
    return ast.dump(tree)


class Ported(Case):
    def runs(self, name, *modules):
        """What it prints, without what the driver says."""
        python = python_with(*modules)
        if python is None:
            raise unittest.SkipTest(f"no Python here has {' and '.join(modules)}")
        self.write(f"{name}.py", ported(name))
        done = subprocess.run([python, f"{name}.py"], cwd=self.dir, capture_output=True, text=True, check=False,
                              timeout=LIMIT_S, env=ENVIRONMENT)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_nothing_but_imports_differs(self):
        names = {os.path.splitext(name)[0] for name in os.listdir(PROGRAMS) if name.endswith(".py")}
        self.assertGreaterEqual(len(names), 6)
        for name in names:
            theirs, ours = source(f"{name}.py"), ported(name)
            self.assertIn("ray", theirs)
            self.assertNotRegex(ours, r"import ray|from ray|\bray\.", name)
            self.assertEqual(without_imports(theirs), without_imports(ours), name)
            for old, new in changes(name):
                self.assertRegex(old, r"^from ray[. ]", name)
                self.assertRegex(new, r"^(import|from) tune\b", name)

    def test_a_function_whose_every_epoch_is_a_checkpoint_and_the_best_of_them_are_kept(self):
        out = self.runs("trained_function", "pandas")
        self.assertIn("6 trials, 0 errors\nepochs of the best: 8 saved: 8\nkept: 2 best: True\n"
                      "accuracy above 0.8: True with lr: True\nbest checkpoint: True\n", out)

    def test_a_class_under_pbt_that_is_cloned_and_reset(self):
        out = self.runs("class_trainable", "pandas")
        # A clone that gets its donor's last checkpoint trains for one iteration more (docs/schedulers.md).
        self.assertRegex(out, r"3 trials, 0 errors\niterations: \[8, [89], [89]\]\nsaved what was reported: True\n"
                              r"nested: True\nleast losses: True\n")
        self.assertTrue(os.path.exists(self.path("ray_results/slope/pbt_global.txt")), out)

    def test_resources_data_stop_rules_and_optuna(self):
        out = self.runs("idioms", "optuna", "cloudpickle")
        self.assertIn("grid: [4, 9]\nleast gap: {'step': 1}\noptuna: 4 best: 1.0 4\nplateau: True\nanswers: 6 6\n"
                      "can be restored: True False\nrestored: 2\n", out)

    def test_lightning_under_pbt(self):
        out = self.runs("lightning_module", "lightning", "cloudpickle")
        self.assertIn("3 trials, 0 errors\niterations: 6 epochs: 6\nloss below 2: True\n", out)

    def test_xgboost_whose_model_is_there_at_the_end(self):
        out = self.runs("boosted_trees", "xgboost", "pandas")
        self.assertIn("4 trials, 0 errors\ncolumns: True\nfinished: True rounds of a model: 10\n"
                      "best error below 0.3: True\n", out)

    def test_hugging_face_with_a_callback_of_ones_own(self):
        out = self.runs("hugging_face", "transformers", "torch", "accelerate")
        self.assertIn("2 trials, 0 errors\nloss below 1: True epoch: 4.0\nlabels of the model: 2\n", out)

    def test_hugging_face_with_rays_callback(self):
        out = self.runs("hugging_face_callback", "transformers", "torch", "accelerate")
        self.assertIn("2 trials, 0 errors\nloss below 1: True epoch: 4.0\nlabels of the model: 2\n", out)


if __name__ == "__main__":
    main()
