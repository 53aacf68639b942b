"""The Python package, against the built program: functions, classes, searches, the wheel."""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from cli_support import LIMIT_S, TUNE, Case, main

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


class Python(Case):
    def start(self, script, python=sys.executable, path=PACKAGE, name="search.py"):
        self.write(name, script)
        environment = {**os.environ, "TUNE_BINARY": TUNE, "PYTHONDONTWRITEBYTECODE": "1"}
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

    def iterations(self, directory):
        with open(os.path.join(directory, "result.json"), encoding="utf-8") as file:
            return [json.loads(line)["training_iteration"] for line in file]

    def test_a_function_is_searched_over_and_the_best_result_is_known(self):
        found = self.answer(TRAIN + """
if __name__ == "__main__":
    results = tune.Tuner(train, LR, num_samples=4, scheduler="asha", **GOAL).fit()
    best = results.get_best_result()
    print(json.dumps([len(results), results.num_errors, best.config, best.metrics["loss"],
                      min(each.metrics["loss"] for each in results), len(best.metrics_history)]))
""")
        self.assertEqual(found[:2], [4, 0])
        self.assertEqual(found[3], found[4])
        self.assertEqual(found[5], 12)

    def test_the_driver_decides_when_a_loop_that_stays_the_users_is_saved(self):
        path = self.answer(TRAIN + """
if __name__ == "__main__":
    results = tune.Tuner(train, {"lr": 0.1}, name="saved",
                         checkpoint_config={"checkpoint_frequency": 5}, **GOAL).fit()
    print(json.dumps(results[0].path))
""")
        self.assertEqual(self.read(path, "stdout.log").split("\n")[:2], ["saves 5", "saves 10"])
        self.assertEqual(len(glob.glob(os.path.join(path, "checkpoint_*"))), 2)

    def test_pbt_clones_it_and_each_iteration_is_there_once(self):
        paths = self.answer(TRAIN + """
if __name__ == "__main__":
    results = tune.Tuner(train, {**LR, "sleep": 0.01}, num_samples=4, max_concurrent_trials=4,
                         resources_per_trial={"cpu": 0}, **GOAL,
                         scheduler=tune.schedulers.PopulationBasedTraining(
                             time_attr="training_iteration", perturbation_interval=3, synch=True,
                             hyperparam_mutations=LR)).fit()
    print(json.dumps([each.path for each in results]))
""")
        for path in paths:
            iterations = self.iterations(path)  # a clone goes on after its donor's
            self.assertEqual(iterations, sorted(set(iterations)))
            self.assertEqual(iterations[-1], 12)
        self.assertTrue(any("goes on after" in self.read(path, "stdout.log") for path in paths))

    def test_a_checkpoint_from_elsewhere_is_copied_and_one_of_the_trial_handed_over(self):
        path = self.answer(HEAD + """
def train(config):
    os.makedirs("mine")
    for place in ("mine", config["elsewhere"]):
        open(os.path.join(place, "state"), "w").write(place)
        tune.report({"loss": 1}, checkpoint=tune.Checkpoint.from_directory(place))
    assert not os.path.exists("mine")

if __name__ == "__main__":
    os.makedirs("elsewhere")
    results = tune.Tuner(train, {"elsewhere": os.path.abspath("elsewhere")}, metric="loss", mode="min").fit()
    copy = results[0].checkpoint.to_directory("copy")
    print(json.dumps(results[0].path))
""")
        self.assertEqual(self.read(path, "checkpoint_000001", "state"), "mine")
        self.assertEqual(self.read("elsewhere", "state"), self.path("elsewhere"))
        self.assertEqual(os.listdir(self.path("copy")), ["state"])

    def test_a_class_is_saved_restored_and_reset(self):
        found = self.answer(HEAD + """
class Counts(tune.Trainable):
    def setup(self, config):
        self.x = 0.0
    def step(self):
        self.x += self.config["lr"]
        return {"loss": 1 - self.x, "pid": os.getpid(), "done": self.training_iteration >= 4}
    def save_checkpoint(self, directory):
        open(os.path.join(directory, "x"), "w").write(str(self.x))
    def load_checkpoint(self, directory):
        self.x = float(open(os.path.join(directory, "x")).read())
    def reset_config(self, new_config):
        self.x = 0.0
        return True

if __name__ == "__main__":
    results = tune.Tuner(
        Counts, {"lr": tune.grid_search([0.1, 0.2, 0.3])},
        tune_config=tune.TuneConfig(metric="loss", mode="min", max_concurrent_trials=1, reuse_actors=True),
        run_config=tune.RunConfig(verbose=0, checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=True)),
    ).fit()
    print(json.dumps([[each.metrics["loss"] for each in results], len({each.metrics["pid"] for each in results}),
                      [each.checkpoint is not None for each in results]]))
""")
        self.assertEqual([round(loss, 6) for loss in found[0]], [0.5, 0.0, -0.5])
        self.assertEqual(found[1:], [1, [True] * 3])

    def test_a_killed_driver_is_gone_on_with(self):
        with self.start(TRAIN + """
if __name__ == "__main__":
    tune.Tuner(train, {**LR, "sleep": 0.05, "epochs": 30}, num_samples=2, name="killed", max_concurrent_trials=2,
               resources_per_trial={"cpu": 0}, checkpoint_config={"checkpoint_frequency": 3}, **GOAL).fit()
""") as search:
            until = time.monotonic() + LIMIT_S
            while not glob.glob(self.path("results/killed/trial_00000/checkpoint_00000[2-9]")):
                self.assertLess(time.monotonic(), until)
                time.sleep(0.05)
            os.killpg(search.pid, signal.SIGKILL)
            search.communicate(timeout=LIMIT_S)
        paths = self.answer(HEAD + """
if __name__ == "__main__":
    results = tune.Tuner.restore("results/killed").fit()
    print(json.dumps([each.path for each in results]))
""", name="restore.py")
        for path in paths:
            self.assertEqual(self.iterations(path), list(range(1, 31)))
            self.assertIn("goes on after", self.read(path, "stdout.log"))

    def test_ctrl_c_saves_what_runs_and_is_a_keyboard_interrupt(self):
        with self.start(TRAIN + """
if __name__ == "__main__":
    try:
        tune.Tuner(train, {"lr": 0.1, "sleep": 0.1, "epochs": 100}, name="left", **GOAL).fit()
    except KeyboardInterrupt:
        print("interrupted")
""") as search:
            until = time.monotonic() + LIMIT_S
            while not (os.path.exists(self.path("results/left/trial_00000/result.json"))
                       and len(self.iterations(self.path("results/left/trial_00000"))) > 2):
                self.assertLess(time.monotonic(), until)
                time.sleep(0.05)
            os.killpg(search.pid, signal.SIGINT)
            out = search.communicate(timeout=LIMIT_S)[0]
        self.assertEqual(out.splitlines()[-1], "interrupted")
        last = self.iterations(self.path("results/left/trial_00000"))[-1]
        self.assertIn(f"saves {last}\n", self.read("results/left/trial_00000/stdout.log"))

    def test_what_a_function_raises_is_its_trials_error(self):
        errors = self.answer(HEAD + """
def train(config):
    if config["bad"] == "raise":
        raise ValueError("no such dataset")
    if config["bad"] == "exit":
        sys.exit(3)
    tune.report({"loss": object() if config["bad"] == "object" else 1.0})

if __name__ == "__main__":
    results = tune.Tuner(train, {"bad": tune.grid_search(["raise", "exit", "object", "no"])},
                         metric="loss", mode="min").fit()
    print(json.dumps(results.errors))
""")
        self.assertEqual(len(errors), 3)
        self.assertIn("ValueError: no such dataset", errors[0])
        self.assertIn("SystemExit: 3", errors[1])
        self.assertIn("the metric 'loss' is a object: a number was expected", errors[2])

    def test_a_search_without_a_guard_says_what_is_wrong(self):
        out = self.run_script(TRAIN + "tune.Tuner(train, {'lr': 0.1}, **GOAL).fit()\n")
        self.assertIn("if __name__ == '__main__'", out)

    def test_what_is_no_spec_or_no_trainable_is_refused_before_anything_runs(self):
        said = self.answer(TRAIN + """
if __name__ == "__main__":
    said = []
    import importlib.util
    importlib.util.find_spec = lambda name: None  # cloudpickle may be installed
    for act in (lambda: tune.Tuner(train, {"lr": {"uniform": [2, 1]}}, **GOAL).fit(),
                lambda: tune.Tuner(train, {"lr": 1}, metrik="loss").fit(),
                lambda: tune.Tuner(3),
                lambda: tune.sample_from(lambda spec: 1),
                lambda: tune.Tuner(lambda config: 1, {}, **GOAL).fit()):
        try:
            act()
            said.append("")
        except Exception as error:
            said.append(f"{type(error).__name__}: {error}")
    print(json.dumps([said, os.path.exists("results")]))
""")
        texts, exists = said
        self.assertFalse(exists)
        self.assertIn("ValueError", texts[0])
        self.assertIn("metric", texts[1])
        self.assertIn("neither a function", texts[2])
        self.assertIn("tune.expr", texts[3])
        self.assertRegex(texts[4], "TuneError: the trainable .*cloudpickle")

    def test_arguments_beside_the_config_and_resources_reach_the_trial(self):
        self.write("lib.py", HEAD + """
def train(config, data):
    tune.report({"loss": sum(data), "cpu": tune.get_context().get_trial_resources()["cpu"]})
""")
        found = self.answer(HEAD + """
import lib

if __name__ == "__main__":
    bound = tune.with_resources(tune.with_parameters(lib.train, data=[1, 2]), {"cpu": 0.5})
    results = tune.Tuner(bound, {}, metric="loss", mode="min").fit()
    print(json.dumps([results[0].metrics["loss"], results[0].metrics["cpu"]]))
""")
        self.assertEqual(found, [3, 0.5])

    def test_numbers_that_json_has_no_word_for_and_trials_without_any_are_what_they_are(self):
        found = self.answer(HEAD + """
def train(config):
    if config["x"] == 2:
        raise ValueError("no")
    tune.report({"loss": float(config["x"]), "d": {"a": 1}})
    return {"loss": 3}

if __name__ == "__main__":
    results = tune.Tuner(train, {"x": tune.grid_search(["nan", "-inf", 2])}, metric="loss", mode="min",
                         run_config=tune.RunConfig(verbose=0, name="odd")).fit()
    rows = [repr(row["loss"]) for each in results for row in each.metrics_history]
    print(json.dumps([rows, results[2].metrics, results[0].metrics["d/a"] if "d/a" in results[0].metrics else None]))
""")
        self.assertEqual(found[:2], [["nan", "3", "-inf", "3"], {}])

    def test_what_is_pickled_lies_with_the_experiment_and_one_that_is_refused_leaves_nothing(self):
        self.write("lib.py", HEAD + """
def train(config, data):
    tune.report({"loss": sum(data)})
""")
        found = self.answer(HEAD + """
import glob, lib

def search(data):
    return tune.Tuner(tune.with_parameters(lib.train, data=data), {}, metric="loss", mode="min",
                      run_config=tune.RunConfig(verbose=0, name="bound"))

if __name__ == "__main__":
    search([1]).fit()
    first = os.listdir("results"), glob.glob("results/bound/.trainable-*.pkl")
    try:
        search([2]).fit()
    except tune.TuneError as error:
        again = str(error)
    print(json.dumps([first, again, glob.glob("results/bound/.trainable-*.pkl")]))
""")
        self.assertEqual(found[0][0], ["bound"])
        self.assertEqual(len(found[0][1]), 1)
        self.assertIn("holds an experiment already", found[1])
        self.assertEqual(found[2], found[0][1])

    def test_a_command_is_searched_over_too_and_a_name_that_is_taken_says_so(self):
        said = self.answer(HEAD + """
if __name__ == "__main__":
    quiet = tune.RunConfig(verbose=0, name="command")
    search = dict(metric="loss", mode="min", run_config=quiet, plain={}, env={"HALF": "0.5"})
    results = tune.Tuner(["/bin/sh", "-c", "echo loss=$HALF", "${args}"], {"x": 1}, **search).fit()
    try:
        tune.Tuner(["/bin/true"], {"x": 1}, **search).fit()
    except tune.TuneError as error:
        print(json.dumps([results[0].metrics["loss"], str(error)]))
""")
        self.assertEqual(said[0], 0.5)
        self.assertIn("holds an experiment already", said[1])

    def test_without_a_driver_a_function_runs_as_it_is(self):
        out = self.run_script(TRAIN + "train({'lr': 0.5, 'epochs': 2})\n")
        self.assertEqual(json.loads(out.splitlines()[1]), {"training_iteration": 2, "loss": 0.25, "epoch": 2})

    def test_pip_installs_a_wheel_that_needs_nothing_else(self):
        sources = self.path("sources")
        shutil.copytree(PACKAGE, sources, ignore=shutil.ignore_patterns("__pycache__"))
        made = subprocess.run([sys.executable, "-m", "venv", self.path("venv")], check=False, capture_output=True)
        if made.returncode != 0:
            self.skipTest("this Python cannot make a virtual environment")
        python = self.path("venv/bin/python3")
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-index", sources], check=True,
                       env={**os.environ, "TUNE_BINARY": TUNE}, timeout=LIMIT_S)
        found = self.answer(TRAIN + """
if __name__ == "__main__":
    results = tune.Tuner(train, {"lr": 0.5}, **GOAL).fit()
    print(json.dumps(results[0].metrics["epoch"]))
""", python=python, path=None)
        self.assertEqual(found, 12)
        version = subprocess.run([python, "-m", "tune", "--version"], check=True, capture_output=True, text=True)
        self.assertEqual(version.stdout, self.tune("--version").out)
        linked = subprocess.run(["ldd", self.path("venv/bin/tune")], check=True, capture_output=True, text=True).stdout
        self.assertRegex(linked, rf"libre2.* => {self.path('venv')}/bin/\.\./lib/tune-driver/")
        # What every Linux has, and nothing else, is the system's.
        others = {name.split(".so")[0] for name, path in re.findall(r"(\S+) => (\S+)", linked)
                  if "tune-driver" not in path}
        self.assertLessEqual(others, {"libc", "libm", "libgcc_s", "libstdc++", "libdl", "libpthread", "librt",
                                      "libasan", "libubsan", "libtsan"})


if __name__ == "__main__":
    main()
