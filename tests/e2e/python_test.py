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

from cli_support import LIMIT_S, TUNE, main
from python_support import HEAD, PACKAGE, TRAIN, PythonCase


class Python(PythonCase):
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
from tune.results import _best_row
if __name__ == "__main__":
    results = tune.Tuner(train, {**LR, "sleep": 0.01}, num_samples=4, max_concurrent_trials=4,
                         resources_per_trial={"cpu": 0}, **GOAL,
                         scheduler=tune.schedulers.PopulationBasedTraining(
                             time_attr="training_iteration", perturbation_interval=3, synch=True,
                             hyperparam_mutations=LR)).fit()
    counted = [each.metrics_history for each in results]
    # Of a copy nothing of what it was before, and nothing at all if becoming one was the last that it did.
    assert any(not rows or rows[0]["training_iteration"] > 1 for rows in counted), counted
    assert [_best_row(each, "loss", "max") for each in results] == [rows[0] if rows else {} for rows in counted]
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

    def test_a_class_that_does_not_save_is_refused_a_checkpoint_at_the_start(self):
        done = self.run_script(HEAD + """
class Counts(tune.Trainable):
    def step(self):
        return {"loss": 1, "done": True}

if __name__ == "__main__":
    try:
        tune.Tuner(Counts, {}, metric="loss", mode="min", checkpoint_config={"checkpoint_at_start": True}).fit()
    except Exception as error:
        print(error)
""")
        self.assertIn("can_save_at_start", done)

    def test_a_class_may_answer_its_state_as_a_dict_and_is_given_data_in_setup(self):
        self.write("lib.py", HEAD + """
class Sums(tune.Trainable):
    def setup(self, config, data):
        self.x = sum(data)
        self.loaded = None
    def step(self):
        if self.training_iteration == 3 and self.context.attempt == 1:
            raise ValueError("once")
        self.x += 1
        return {"loss": self.x, "loaded": self.loaded, "done": self.training_iteration >= 4}
    def save_checkpoint(self, directory):
        return {"x": self.x}
    def load_checkpoint(self, state):
        self.x = state["x"]
        self.loaded = state["x"]
""")
        found = self.answer(HEAD + """
import lib

if __name__ == "__main__":
    results = tune.Tuner(tune.with_parameters(lib.Sums, data=[1, 2]), {}, metric="loss", mode="min",
                         checkpoint_config={"checkpoint_frequency": 2}, failure_config={"max_failures": 1}).fit()
    print(json.dumps([[row["loss"] for row in results[0].metrics_history], results[0].metrics["loaded"]]))
""")
        self.assertEqual(found, [[4, 5, 6, 7, 8], 5])

    def test_a_stopper_of_ones_own_and_a_function_end_trials_and_the_search(self):
        found = self.answer(HEAD + """
from tune import stopper

def train(config):
    while True:
        tune.report({"d": {"x": config["x"]}, "loss": 1})

class Counts(tune.Stopper):
    def __init__(self, most, all_after):
        self.most, self.all_after, self.seen = most, all_after, {}
    def __call__(self, trial_id, result):
        assert result["d"]["x"] in range(1, 9) and result["trial_id"] == trial_id
        assert result["time_total_s"] > 0
        self.seen[trial_id] = result["training_iteration"]
        return self.seen[trial_id] >= self.most
    def stop_all(self):
        return len(self.seen) >= self.all_after

def third(trial_id, result):
    return result["training_iteration"] >= 3

def iterations(stop, name, **more):
    results = tune.Tuner(train, {"x": tune.randint(1, 9)}, metric="loss", mode="min", num_samples=3,
                         max_concurrent_trials=1, stop=stop, name=name, **more).fit()
    return [each.metrics.get("training_iteration") for each in results]

if __name__ == "__main__":
    print(json.dumps([iterations(Counts(5, 9), "five"), iterations(third, "three"), iterations(Counts(99, 1), "all"),
                      iterations(stopper.CombinedStopper({"training_iteration": 4}, Counts(5, 9)), "four"),
                      iterations(stopper.MaximumIterationStopper(2), "maximum")]))
""", python=self.python_with("cloudpickle"))
        self.assertLess(found.pop(2)[0], 99)
        self.assertEqual(found, [[5, 5, 5], [3, 3, 3], [4, 4, 4], [2, 2, 2]])

    def test_a_function_may_answer_a_number_or_yield(self):
        found = self.answer(HEAD + """
def one(config):
    return 3

def three(config):
    for i in range(3):
        yield {"twice": 2 * i}

if __name__ == "__main__":
    rows = [tune.Tuner(each, {}).fit()[0].metrics_history for each in (one, three)]
    print(json.dumps([[row.get("_metric", row.get("twice")) for row in each] for each in rows]))
""")
        self.assertEqual(found, [[3], [0, 2, 4]])

    def test_kept_checkpoints_come_with_their_metrics_and_another_measure_may_choose(self):
        found = self.answer(HEAD + """
def train(config):
    for i in range(4):
        tune.report({"loss": (i - 1) ** 2, "d": {"up": i}},
                    save=lambda directory: open(os.path.join(directory, "i"), "w").write(str(i)))

if __name__ == "__main__":
    results = tune.Tuner(train, {}, metric="loss", mode="min",
                         checkpoint_config=tune.CheckpointConfig(checkpoint_frequency=1)).fit()
    def kept(checkpoint):
        return open(os.path.join(checkpoint.path, "i")).read()
    best = results.get_best_result(scope="all")
    print(json.dumps([[(kept(each), metrics["d"]["up"], metrics["training_iteration"]) for each, metrics in best.best_checkpoints],
                      kept(best.get_best_checkpoint()), kept(best.get_best_checkpoint("d/up", "max")),
                      best.get_best_checkpoint("unknown", "max"), results[0].best_checkpoints == best.best_checkpoints]))
""")
        self.assertEqual(found[0][0][0], "1")
        self.assertEqual(sorted(found[0]), [[str(i), i, i + 1] for i in range(4)])
        self.assertEqual(found[1:], ["1", "3", None, True])

    def test_a_search_that_lies_somewhere_can_be_restored_and_looked_at(self):
        found = self.answer(TRAIN + """
if __name__ == "__main__":
    tuner = tune.Tuner(train, {"lr": 0.1}, name="there", **GOAL)
    try:
        tuner.get_results()
    except tune.TuneError as error:
        before = str(error)
    tuner.fit()
    try:
        tune.Tuner.restore("results").get_results()
    except tune.TuneError as error:
        assert str(error).endswith("name one of them, " + os.path.abspath("results/there")), error
    print(json.dumps([before, tune.Tuner.can_restore("results/there"), tune.Tuner.can_restore("results/nowhere"),
                      len(tuner.get_results()), len(tune.Tuner.restore("results/there").get_results())]))
""")
        self.assertEqual(found, ["there are no results: fit() has not run yet", True, False, 1, 1])

    def test_what_ray_has_and_this_has_not_says_what_to_do_instead(self):
        said = self.answer(TRAIN + """
from tune import CLIReporter, Experiment, schedulers
from tune.search import Repeater

class Own(tune.Trainable):
    @classmethod
    def default_resource_request(cls, config):
        return {"cpu": 2}

def subclass():
    class Mine(Experiment):
        pass

ACTS = [lambda: tune.run(train), CLIReporter, subclass, lambda: tune.is_session_enabled(),
        lambda: tune.wait_for_gpu(), lambda: tune.TuneConfig(trial_name_creator=str),
        lambda: tune.TuneConfig(chdir_to_trial_dir=False), lambda: tune.Tuner(train, {}, callbacks=[object()]),
        lambda: tune.RunConfig(progress_reporter=1), lambda: tune.RunConfig(log_to_file="out"),
        lambda: tune.Tuner(Own, {}), lambda: tune.with_resources(train, lambda config: {}),
        lambda: schedulers.PopulationBasedTraining(hyperparam_mutations={"a": {"lr": lambda: 1}}),
        lambda: schedulers.PopulationBasedTraining(custom_explore_fn=str),
        lambda: tune.Tuner(train, {"x": tune.choice([object, int])}, name="no", **GOAL).fit(),
        lambda: tune.Tuner(train, {"x": 1}, storage_path="s3://bucket/runs", **GOAL).fit(),
        lambda: tune.Tuner(train, {}, stop=tune.Stopper), lambda: Repeater(train, 3),
        lambda: tune.Tuner.restore("results", resume_unfinished=False), lambda: tune.no_such_thing]

if __name__ == "__main__":
    said = []
    for act in ACTS:
        try:
            act()
            said.append("")
        except Exception as error:
            said.append(f"{type(error).__name__}: {error}")
    print(json.dumps(said))
""")
        for text, expected in zip(said, (
                r"there is no tune\.run: write tune\.Tuner\(", "RunConfig\\(verbose=0\\)", r"write tune\.Tuner\(",
                "is_session_enabled: leave it out", "wait_for_gpu: leave it out", "takes no trial_name_creator: ",
                "absolute paths", "no object of a subclass of tune.Callback", "takes no progress_reporter: ", "stdout.log",
                "tune.with_resources", "are a dict", "hyperparam_mutations/a/lr is a function.*tune.uniform",
                "takes no custom_explore_fn: ", "name it by a text", "'s3://bucket/runs' is an address",
                "give an object of it", "for the driver's own searchers", "get_results", "no attribute 'no_such_thing'")):
            self.assertRegex(text, r"^\w+: .*" + expected)
            self.assertNotIn("\n", text)

    def test_modules_of_rays_that_are_not_here_say_what_to_do_instead(self):
        said = self.answer(HEAD + """
said = []
for line in ("import tune.logger", "from tune import logger", "from tune.logger.aim import AimLoggerCallback",
             "tune.logger", "from tune.utils.util import wait_for_gpu",
             "from tune.search.hyperopt import HyperOptSearch", "from tune.search.bayesopt import BayesOptSearch",
             "from tune.integration.torch import x", "from tune.schedulers.pb2 import PB2",
             "from tune.stopper.timeout import x", "from tune.trainable.util import x",
             "from tune.search import Searcher; Searcher()", "from tune.schedulers import TrialScheduler as T; T()",
             "import tune.no_such_thing", "from tune.schedulers import no_such_thing"):
    try:
        exec(line)
        said.append("")
    except Exception as error:
        said.append(f"{type(error).__name__}: {error}")
print(json.dumps(said))
""")
        for text, expected in zip(said, (
                "TensorBoard's files are written anyway", "TensorBoard's", "TensorBoard's", "AttributeError: .*TensorB",
                "there is no tune.utils.*stands in tune itself", "search_alg='tpe'", "search_alg='gp'", "num_workers=2",
                "write from tune.schedulers import", "write from tune.stopper import", "write tune.Trainable",
                "tune.policy", "tune.policy", "No module named 'tune.no_such_thing'", "cannot import name")):
            self.assertRegex(text, expected)
            self.assertNotIn("\n", text)

    def test_what_a_function_reports_or_returns_wrongly_is_its_trials_error_in_a_sentence(self):
        errors = self.answer(HEAD + """
def train(config):
    tune.report({"loss": 1})
    how = config["how"]
    if how == "keyword":
        tune.report(loss=1, accuracy=2)
    if how == "nothing":
        tune.report()
    if how == "other":
        tune.report({"loss": 1}, checkpoint_dir_name="x")
    return {"text": "x", "flag": True, "list": [1], "number": 3}.get(how)

if __name__ == "__main__":
    space = {"how": tune.grid_search(["keyword", "nothing", "other", "text", "flag", "list", "number", "none"])}
    print(json.dumps([each.error for each in tune.Tuner(train, space, metric="loss", mode="min").fit()]))
""")
        for text, expected in zip(errors, (
                r"write tune\.report\(\{'loss': loss, 'accuracy': accuracy\}\)", r"write tune\.report\(\{'loss': loss\}\)",
                "takes no checkpoint_dir_name", "has returned a str: a dict of metrics", "has returned a bool",
                "has returned a list", "lacks the metric 'loss'; it has: _metric")):
            self.assertRegex(text.split("; see ")[0], expected)
        self.assertIsNone(errors[-1])

    def test_what_cannot_be_searched_or_judged_says_why_in_a_sentence(self):
        said = self.answer(HEAD + """
import threading

def train(config):
    tune.report({"loss": float("nan")})

def search(what=train, **fields):
    return tune.Tuner(what, {}, run_config=tune.RunConfig(verbose=0), **fields).fit()

GOAL = {"metric": "loss", "mode": "min"}
ACTS = [lambda: search(name="a/b", **GOAL), lambda: search(name="nan", **GOAL).get_best_result(),
        lambda: search(tune.with_parameters(train, size=1, lock=threading.Lock()), name="lock", **GOAL),
        lambda: search(name="none").get_best_result(), lambda: search(name="one").get_best_result("loss"),
        lambda: search(name="two", **GOAL).get_best_result("training_iteration")]

if __name__ == "__main__":
    said = []
    for act in ACTS:
        try:
            act()
            said.append("")
        except Exception as error:
            said.append(f"{type(error).__name__}: {error}")
    print(json.dumps(said))
""")
        for text, expected in zip(said, (
                "ValueError: .*say storage_path='results/a', name='b'", "TuneError: .*1 of 1 trials came to NaN",
                "TuneError: the argument 'lock', a lock, cannot be pickled .*make it in the training function",
                r"TuneError: .*say get_best_result\(metric='loss', mode='min'\)", r"TuneError: .*mode='min'", "TuneError: give mode= too")):
            self.assertRegex(text, expected)
            self.assertNotIn("\n", text)

    def test_a_file_that_is_called_as_a_module_takes_nothings_place(self):
        for name in ("tune", "json"):
            self.write(f"{name}.py", HEAD + "def train(config):\n    tune.report({'loss': 1})\n"
                                            "    print(tune.__name__, bool(tune.Tuner), bool(json.dumps))\n")
            done = subprocess.run([sys.executable, "-m", "tune.trial", self.path(f"{name}.py:train")], check=False,
                                  capture_output=True, text=True, env={**os.environ, "PYTHONPATH": PACKAGE}, cwd="/")
            self.assertEqual(done.stdout.splitlines()[-1:], ["tune True True"], done.stderr)

    def test_another_program_called_tune_is_not_taken_for_this_one(self):
        os.mkdir(self.path("bin"))
        shutil.copy("/bin/echo", self.path("bin/tune"))  # a program, and no script
        script = HEAD + """
from tune._binary import find_binary
try:
    print(json.dumps(find_binary()))
except FileNotFoundError as error:
    print(json.dumps(str(error)))
"""
        found = {key: self.answer(script, **{"TUNE_BINARY": "", "PATH": self.path("bin"), **environment})
                 for key, environment in {"none": {}, "named": {"TUNE_BINARY": self.path("bin/tune")},
                                          "there": {"PATH": self.path("bin") + ":" + os.path.dirname(TUNE)}}.items()}
        self.assertIn("the program 'tune' is not found", found["none"])
        self.assertIn("that is not the program 'tune'", found["named"])
        self.assertEqual(found["there"], TUNE)

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

    def interrupted(self, interrupt):
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
            interrupt(search.pid, signal.SIGINT)
            out = search.communicate(timeout=LIMIT_S)[0]
        self.assertEqual(out.splitlines()[-1], "interrupted")
        last = self.iterations(self.path("results/left/trial_00000"))[-1]
        self.assertIn(f"saves {last}\n", self.read("results/left/trial_00000/stdout.log"))

    def test_ctrl_c_saves_what_runs_and_is_a_keyboard_interrupt(self):
        self.interrupted(os.killpg)

    def test_so_does_a_signal_that_only_the_search_gets(self):
        self.interrupted(os.kill)

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
        self.assertIn("the metric 'loss' is a object, and no number", errors[2])

    def test_a_search_that_gives_up_raises_with_what_its_first_trial_has_raised(self):
        said, errors, status = self.answer(HEAD + """
def read(path):
    raise ValueError(f"no such dataset: {path}")

def train(config):
    read("digits")

if __name__ == "__main__":
    tuner = tune.Tuner(train, {"x": tune.uniform(0, 1)}, num_samples=8, metric="loss", mode="min",
                       run_config=tune.RunConfig(verbose=0, name="hopeless"))
    try:
        tuner.fit()
    except tune.TuneError as error:
        said = str(error)
    import subprocess
    shown = subprocess.run([os.environ["TUNE_BINARY"], "status", "results/hopeless"], capture_output=True, text=True)
    print(json.dumps([said, tuner.get_results().errors, shown.stdout]))
""")
        self.assertRegex(said, "^the search has given up: the first 5 trials .* there is no result yet\n"
                               "trial_00000 failed: ValueError: no such dataset: digits")
        self.assertRegex(said, r'File ".*search\.py", line \d+, in read\n')
        self.assertGreaterEqual(len(errors), 5)
        self.assertRegex(status, r"(?m)^given up +the first 5 trials")

    def test_a_search_too_short_to_give_up_raises_too_if_all_its_trials_have_failed(self):
        said, errors = self.answer(HEAD + """
def train(config):
    raise ValueError("no such dataset")

if __name__ == "__main__":
    tuner = tune.Tuner(train, {"x": tune.uniform(0, 1)}, num_samples=2, metric="loss", mode="min",
                       run_config=tune.RunConfig(verbose=0))
    try:
        tuner.fit()
    except tune.TuneError as error:
        print(json.dumps([str(error), tuner.get_results().errors]))
""")
        self.assertRegex(said, "^no trial has come to a result, and 2 of 2 have failed\n"
                               "trial_00000 failed: ValueError: no such dataset")
        self.assertEqual(len(errors), 2)

    def test_a_metric_by_another_name_ends_the_search_with_its_first_result(self):
        said, trials = self.answer(HEAD + """
def train(config):
    tune.report({"los": 1})

if __name__ == "__main__":
    tuner = tune.Tuner(train, {"x": tune.uniform(0, 1)}, num_samples=20, max_concurrent_trials=1, metric="loss",
                       mode="min", run_config=tune.RunConfig(verbose=0))
    try:
        tuner.fit()
    except tune.TuneError as error:
        print(json.dumps([str(error), len(tuner.get_results())]))
""")
        self.assertRegex(said, "given up: .* lacks the metric 'loss'; it has: los")
        self.assertEqual(trials, 1)

    def test_there_are_as_many_trials_as_were_asked_for_also_of_one_config(self):
        found = self.answer(HEAD + """
def train(config):
    for i in range(4):
        tune.report({"loss": config["lr"]}, save=lambda directory: open(os.path.join(directory, "x"), "w").close())

if __name__ == "__main__":
    def search(space, **fields):
        return len(tune.Tuner(train, space, num_samples=5, metric="loss", mode="min", resources_per_trial={"cpu": 0},
                              max_concurrent_trials=5, run_config=tune.RunConfig(verbose=0), **fields).fit())
    population = tune.schedulers.PopulationBasedTraining(
        time_attr="training_iteration", perturbation_interval=2, synch=True,
        hyperparam_mutations={"lr": tune.uniform(0, 1)})
    print(json.dumps([search({"lr": 0.1}), search({"lr": tune.choice([0.1, 0.2])}),
                      search({"lr": 0.1}, scheduler=population),
                      search({"lr": 0.1}, searcher={"type": "sobol", "skip_duplicates": True})]))
""")
        self.assertEqual(found, [5, 5, 5, 1])

    def test_searches_without_a_name_may_begin_in_the_same_second(self):
        found = self.answer(HEAD + """
def train(config):
    return {"loss": 1}

if __name__ == "__main__":
    tuners = [tune.Tuner(train, {}, metric="loss", mode="min", run_config=tune.RunConfig(verbose=0)) for _ in range(3)]
    print(json.dumps(len({tuner.fit().experiment_path for tuner in tuners})))
""")
        self.assertEqual(found, 3)

    def test_a_name_is_given_away_where_nothing_came_of_it_or_it_is_to_be_overwritten(self):
        found = self.answer(HEAD + """
def fails(config):
    raise ValueError("not yet")

def train(config):
    return {"loss": config["x"]}

if __name__ == "__main__":
    def search(train, x, **fields):
        try:
            results = tune.Tuner(train, {"x": x}, metric="loss", mode="min", name="mine",
                                 run_config=tune.RunConfig(verbose=0), **fields).fit()
            return [each.metrics.get("loss") for each in results]
        except tune.TuneError as error:
            return str(error)
    print(json.dumps([search(fails, 1), search(train, 2), search(train, 3), search(train, 4, overwrite=True),
                      os.listdir("results")]))
""")
        self.assertIn("ValueError: not yet", found[0])
        self.assertEqual([found[1], found[3], found[4]], [[2], [4], ["mine"]])
        self.assertIn("overwrite=True", found[2])

    def test_what_stands_behind_the_guard_goes_along_or_is_named(self):
        script = HEAD + """
import argparse, threading

def train(config):
    tune.report({"loss": args.lr * config["x"]})

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.5)
    args = parser.parse_args()
    lock = threading.Lock()

    def here(config):
        return {"loss": config["x"]}

    def locked(config):
        with lock:
            return {"loss": 1}

    %s
    found = []
    for each in (train, here, locked):
        try:
            found.append(tune.Tuner(each, {"x": 4}, metric="loss", mode="min", name=each.__name__, overwrite=True,
                                    run_config=tune.RunConfig(verbose=0)).fit()[0].metrics["loss"])
        except tune.TuneError as error:
            found.append(str(error))
    print(json.dumps(found))
"""
        found = self.answer(script % "", python=self.python_with("cloudpickle"))
        self.assertEqual(found[:2], [2, 4])
        self.assertRegex(found[2], "uses the global 'lock', a lock, which cannot be pickled")
        found = self.answer(script % "import importlib.util; importlib.util.find_spec = lambda name: None")
        for said, named in zip(found, ("the 'args' that the trainable uses: set", "the trainable 'here': define",
                                       "the trainable 'locked': define")):
            self.assertRegex(said, f"without {named} it before that, .*or install cloudpickle")

    def test_what_a_file_parses_at_its_top_is_the_same_in_its_trials(self):
        self.write("parses.py", """
import argparse, json
import tune

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=3)
args = parser.parse_args()

def train(config):
    for _ in range(args.epochs):
        tune.report({"loss": 1.0})

if __name__ == "__main__":
    results = tune.Tuner(train, {"x": tune.uniform(0, 1)}, metric="loss", mode="min", verbose=0).fit()
    print(json.dumps(results.get_best_result().metrics["training_iteration"]))
""")
        done = subprocess.run([sys.executable, "parses.py", "--epochs", "5"], cwd=self.dir, capture_output=True,
                              text=True, timeout=LIMIT_S, check=False,
                              env={**os.environ, "TUNE_BINARY": TUNE, "PYTHONPATH": PACKAGE})
        self.assertEqual((done.returncode, done.stdout), (0, "5\n"), done.stderr)

    def test_a_search_may_stand_in_a_module_of_a_package(self):
        os.makedirs(self.path("package"))
        self.write("package/__init__.py", "")
        self.write("package/parts.py", "def loss(x):\n    return x / 2\n")
        self.write("package/search.py", """
import json
import tune
from .parts import loss

def train(config):
    tune.report({"loss": loss(config["x"])})

if __name__ == "__main__":
    results = tune.Tuner(train, {"x": 1}, metric="loss", mode="min", run_config=tune.RunConfig(verbose=0)).fit()
    print(json.dumps(results[0].metrics["loss"]))
""")
        done = subprocess.run([sys.executable, "-m", "package.search"], cwd=self.dir, capture_output=True, text=True,
                              timeout=LIMIT_S, check=False,
                              env={**os.environ, "TUNE_BINARY": TUNE, "PYTHONPATH": PACKAGE})
        self.assertEqual((done.returncode, done.stdout), (0, "0.5\n"), done.stderr)

    def test_values_that_are_no_numbers_say_how_they_may_be_reported(self):
        errors = self.answer(HEAD + """
import datetime, decimal, enum, pathlib

class Color(enum.Enum):
    RED = 1

class Array:
    size = 2
    def item(self):
        raise ValueError("can only convert an array of size 1")
    def tolist(self):
        return [1, 2]

VALUES = {"date": datetime.date(2024, 1, 1), "path": pathlib.Path("/x"), "enum": Color.RED, "array": Array(),
          "decimal": decimal.Decimal("0.1"), "large": 2**70 + 1, "exact": 2**70, "whole": 2**63, "list": Array().tolist(), "text": str(pathlib.Path("/x"))}

def train(config):
    tune.report({"loss": 1, "value": VALUES[config["of"]]})

if __name__ == "__main__":
    results = tune.Tuner(train, {"of": tune.grid_search(list(VALUES))}, metric="loss", mode="min",
                         run_config=tune.RunConfig(verbose=0), failure_config={"max_failures_in_a_row": -1}).fit()
    print(json.dumps([each.error and each.error.split("; see ")[0] for each in results]))
""")
        for said, expected in zip(errors, (
                r"is a date, and no number: .* str\(\) of it", r"is a PosixPath, and no number: .* str\(\)",
                r"is a Color, and no number: report its \.value", r"no single number .* report its \.tolist\(\)",
                r"is a Decimal, and no number: report float\(value\)",
                r"is 1180591620717411303425, which no 64 bits hold: report float\(value\)")):
            self.assertRegex(said, expected)
        self.assertEqual(errors[6:], [None] * 4)

    def test_a_function_that_forgets_to_return_its_metrics_is_told_so(self):
        said = self.answer(HEAD + """
def train(config):
    {"loss": config["x"]}

if __name__ == "__main__":
    try:
        tune.Tuner(train, {"x": 1}, metric="loss", mode="min", run_config=tune.RunConfig(verbose=0)).fit()
    except tune.TuneError as error:
        print(json.dumps(str(error)))
""")
        self.assertIn("the function has returned None and reported nothing: return a dict of metrics", said)

    def test_searchers_and_points_are_taken_wherever_they_are_given(self):
        found = self.answer(HEAD + """
def train(config):
    return {"loss": config["x"]}

if __name__ == "__main__":
    def search(config=None, **fields):
        try:
            return tune.Tuner(train, {"x": tune.uniform(0, 1)}, metric="loss", mode="min", tune_config=config,
                              run_config=tune.RunConfig(verbose=0), **fields).fit()[0].config["x"]
        except TypeError as error:
            return str(error)
    points = [{"x": 0.25}]
    print(json.dumps([search(search_alg="random", points_to_evaluate=points),
                      search(tune.TuneConfig(searcher="tpe", points_to_evaluate=points)),
                      search(points_to_evaluate=points),
                      search(searcher="tpe", search_alg="random"),
                      search(searcher={"type": "tpe", "points_to_evaluate": points}, points_to_evaluate=points)]))
""")
        self.assertEqual(found[:3], [0.25] * 3)
        self.assertIn("two names of one thing", found[3])
        self.assertIn("given twice", found[4])

    def test_what_is_shown_is_what_was_asked_for_also_after_a_restore(self):
        script = HEAD + """
def train(config):
    print("in the trial")
    return {"loss": 1}

if __name__ == "__main__":
    for verbose in range(4):
        print("verbose", verbose, flush=True)
        results = tune.Tuner(train, {}, metric="loss", mode="min", name=str(verbose),
                             run_config=tune.RunConfig(verbose=verbose)).fit()
    print("restored", flush=True)
    tune.Tuner.restore("results/0", num_samples=2).fit()
    print("and said", flush=True)
    tune.Tuner.restore("results/0", num_samples=3, verbose=2).fit()
    print("shown on", flush=True)
    tune.Tuner.restore("results/3", num_samples=2).fit()
"""
        parts = re.split(r"^(?:verbose \d|restored|and said|shown on)\n", self.run_script(script), flags=re.M)[1:]
        said = ["finished" in part for part in parts]
        self.assertEqual(said, [False, True, True, True, False, True, True])
        self.assertEqual([re.findall(r"^\((.*)\) in the trial", part, re.M) for part in parts],
                         [[]] * 3 + [["trial_00000"]] + [[]] * 2 + [["trial_00001"]])

    def test_in_a_terminal_1_draws_a_table_and_2_writes_lines(self):
        self.write("search.py", HEAD + """
def train(config):
    time.sleep(0.3)
    return {"loss": 1}

if __name__ == "__main__":
    tune.Tuner(train, {}, metric="loss", mode="min", name=sys.argv[1], verbose=int(sys.argv[1])).fit()
""")
        shown = {}
        for verbose in ("0", "1", "2"):
            ours, theirs = os.openpty()
            search = subprocess.Popen([sys.executable, "search.py", verbose], cwd=self.dir, stdout=theirs, stderr=theirs,
                                      env={**os.environ, "TUNE_BINARY": TUNE, "PYTHONPATH": PACKAGE, "TERM": "xterm"})
            os.close(theirs)
            text = b""
            try:
                while block := os.read(ours, 65536):
                    text += block
            except OSError:  # nobody has the other end any more
                pass
            os.close(ours)
            self.assertEqual(search.wait(LIMIT_S), 0, text)
            shown[verbose] = text.decode()
        self.assertEqual(shown["0"], "")
        self.assertIn("\x1b[", shown["1"])
        self.assertNotIn("\x1b[", shown["2"])
        for verbose in ("1", "2"):
            self.assertRegex(shown[verbose], "trials +1 trial, 1 completed")

    def test_a_search_that_lives_is_not_restored_and_the_exception_says_whose_it_is(self):
        said = self.answer(HEAD + """
import subprocess, threading

def train(config):
    tune.report({"loss": 1})
    while not os.path.exists(config["go"]):
        time.sleep(0.01)

if __name__ == "__main__":
    go = os.path.abspath("go")
    fit = tune.Tuner(train, {"go": go}, metric="loss", mode="min", name="living", run_config=tune.RunConfig(verbose=0)).fit
    thread = threading.Thread(target=fit)
    thread.start()
    while not os.path.exists("results/living/trial_00000/result.json"):
        time.sleep(0.01)
    said = []
    for verbose in (0, 1):
        try:
            tune.Tuner.restore("results/living", verbose=verbose).fit()
        except tune.TuneError as error:
            said.append(str(error))
    open("go", "w").close()
    thread.join()
    print(json.dumps(said))
""")
        self.assertEqual(len(said), 2)
        for each in said:
            self.assertRegex(each, r"^the search ended with exit code 2: tune: .*pid \d+")

    def test_a_search_without_a_guard_says_what_is_wrong_before_anything_runs(self):
        out = self.run_script("import importlib.util\nimportlib.util.find_spec = lambda name: None" + TRAIN
                              + "tune.Tuner(train, {'lr': 0.1}, **GOAL).fit()\n", expect=1)
        self.assertRegex(out.splitlines()[-1], r"TuneError: .*if __name__ == '__main__':, or install cloudpickle")
        self.assertFalse(os.path.exists(self.path("results")))

    def test_with_cloudpickle_a_search_needs_no_guard_and_what_follows_it_is_done_once(self):
        python = self.python_with("cloudpickle")
        out = self.run_script(TRAIN + """
def begin():
    return tune.Tuner(train, {"lr": 0.1}, name="unguarded", **GOAL).fit()

results = begin()
with open("after", "a") as file:
    file.write("once")
print(results[0].metrics["epoch"])
""", python=python)
        self.assertEqual(out.splitlines()[-1], "12")
        self.assertEqual(self.read("after"), "once")

    def test_what_is_no_spec_or_no_trainable_is_refused_before_anything_runs(self):
        said = self.answer(TRAIN + """
if __name__ == "__main__":
    said = []
    import importlib.util
    importlib.util.find_spec = lambda name: None  # cloudpickle may be installed
    for act in (lambda: tune.Tuner(train, {"lr": {"uniform": [2, 1]}}, **GOAL).fit(),
                lambda: tune.Tuner(train, {"lr": 1}, metrik="loss").fit(),
                lambda: tune.Tuner(3),
                lambda: tune.Tuner({"lr": 1}, train),
                lambda: tune.Tuner(train, [1]),
                lambda: tune.sample_from(lambda spec: 1),
                lambda: tune.Tuner(lambda config: 1, {}, **GOAL).fit(),
                lambda: tune.Tuner(train, {"lr": 1}, tune_config=GOAL),
                lambda: tune.Tuner(train, {"lr": 1}, run_config={"name": "a"}),
                lambda: tune.Tuner(train, {"lr": 1}, tune_config=tune.TuneConfig, **GOAL),
                lambda: tune.Tuner(train, {"lr": 1}, scheduler=tune.schedulers.ASHAScheduler, **GOAL),
                lambda: tune.Tuner(train, {"lr": 1}, searcher=tune.search.ConcurrencyLimiter, **GOAL),
                lambda: tune.Tuner(train, {"lr": 1}, stop=[tune.stopper.TimeoutStopper], **GOAL),
                lambda: tune.Tuner(train, {"lr": tune.uniform}, **GOAL).fit(),
                lambda: tune.Tuner(train, {"lr": 1}, callbacks=tune.Callback(), **GOAL),
                lambda: tune.Tuner(train, {"lr": 1}, env=["A=1"], **GOAL),
                lambda: tune.Tuner(train, {"lr": 1}, storage_path=3, **GOAL),
                lambda: tune.Tuner.restore(3)):
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
        self.assertEqual(texts[3], "TypeError: Tuner(param_space, trainable): what trains comes first, then the space")
        self.assertIn("a dict of names and domains was expected", texts[4])
        self.assertIn("tune.expr", texts[5])
        self.assertRegex(texts[6], "TuneError: the trainable .*cloudpickle")
        for text, sentence in zip(texts[7:], [
                "tune_config is {.*}: tune.TuneConfig(...) was expected", "run_config is {'name': 'a'}: tune.RunConfig(...) was expected",
                "tune_config is TuneConfig itself, and not what it makes: write TuneConfig(...)", "scheduler is ASHAScheduler itself, .*",
                "searcher is ConcurrencyLimiter itself, .*", "stop is TimeoutStopper itself, .*", "a value is uniform itself, .*", "callbacks is .*: a list was expected",
                r"env is \['A=1'\]: a dict of names and texts was expected", "storage_path is 3: a path was expected", "path is 3: the path of an experiment was expected"], strict=True):
            self.assertRegex(text, f"^TypeError: {sentence.replace('(...)', '[(]...[)]')}$")

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

    def test_the_histories_of_all_trials_are_read_by_one_process(self):
        self.write("tune.sh", f"""#!/bin/sh
echo "$1" >> {self.path("asked")}
exec {TUNE} "$@"
""")
        os.chmod(self.path("tune.sh"), 0o755)
        found = self.answer(TRAIN + """
if __name__ == "__main__":
    path = tune.Tuner(train, {**LR, "epochs": 3}, num_samples=4, **GOAL, name="grid",
                      run_config=tune.RunConfig(verbose=0)).fit().experiment_path
    apart = [tune.ResultGrid(path)[i].metrics_history for i in range(4)]
    os.environ["TUNE_BINARY"] = os.path.abspath("tune.sh")
    results = tune.ResultGrid(path)
    for _ in range(3):
        assert [each.metrics_history for each in results] == apart
    results[1].metrics_history[0]["loss"] = "changed by whoever has asked"
    assert results[1].metrics_history == apart[1]
    print(json.dumps([len(rows) for rows in apart]))
""")
        self.assertEqual(found, [3] * 4)
        # The trials themselves; the first history alone; all.
        self.assertEqual([line for line in self.read("asked").split() if line != "--version"], ["ls", "show", "ls"])

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

    def test_what_is_wrong_with_a_run_by_hand_is_said(self):
        self.write("search.py", TRAIN)
        self.write("never.py", HEAD + "def train(config):\n    tune.report({'loss': 1})\n")
        cases = ((["search.py:train", "--config", "[1"], 2, "the config is not JSON"),
                 (["search.py:train", "--config", "[1]"], 2, "the config must be a JSON object"),
                 (["search.py:train", "--config-file", "no.json"], 2, "no.json"),
                 (["search.py:train", "--iterations", "0"], 2, "it must be 1 or more, and is 0"),
                 (["search.py:train", "--checkpoint", "no"], 2, "'no' is not a directory"),
                 (["search.py:train", "--save-to", "."], 2, "'.' is neither a new nor an empty directory"),
                 ([], 2, "Started by hand"),
                 (["never.py:train", "--save-to", "new"], 1, "the function has reported no checkpoint to save"))
        for words, code, sentence in cases:
            with self.subTest(words):
                done = subprocess.run([sys.executable, "-m", "tune.trial", *words], cwd=self.dir, check=False,
                                      capture_output=True, text=True, env={**os.environ, "PYTHONPATH": PACKAGE})
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(sentence, done.stderr)

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
        own = subprocess.run([python, "-c", "import tune; print('tune', tune.__version__)"], check=True, capture_output=True,
                             text=True)
        self.assertEqual(own.stdout, version.stdout)
        os.symlink(self.path("venv/bin/tune"), self.path("linked"))
        for name in ("venv/bin/tune", "linked"):
            said = subprocess.run([self.path(name), "--version"], check=True, capture_output=True, text=True)
            self.assertEqual(said.stdout, version.stdout)
        linked = subprocess.run(["ldd", self.path("venv/bin/tune-driver")], check=True, capture_output=True, text=True).stdout
        with open(self.path("venv/bin/tune"), "w", encoding="ascii") as theirs:  # as pip lets Ray do
            theirs.write("#!/bin/sh\nexit 9\n")
        again = subprocess.run([python, "-m", "tune", "--version"], check=True, capture_output=True, text=True)
        self.assertEqual(again.stdout, version.stdout)
        self.assertRegex(linked, rf"libre2.* => {self.path('venv')}/bin/\.\./lib/tune-driver/")
        # What every Linux has, and nothing else, is the system's.
        others = {name.split(".so")[0] for name, path in re.findall(r"(\S+) => (\S+)", linked)
                  if "tune-driver" not in path}
        self.assertLessEqual(others, {"libc", "libm", "libgcc_s", "libstdc++", "libdl", "libpthread", "librt",
                                      "libasan", "libubsan", "libtsan"})


if __name__ == "__main__":
    main()
