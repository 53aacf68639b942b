"""Callbacks in Python: beside a search, over its crashes, and MLflow's and W&B's where they are installed."""
import fcntl
import glob
import http.server
import json
import os
import signal
import subprocess
import sys
import threading

from cli_support import LIMIT_S, TUNE, Case, main

PACKAGE = os.environ["PYTHON_PACKAGE"]
VENV = os.environ["EXAMPLES_VENV"]

SEARCH = """
import json, math, os, sys, time
import tune

class Told(tune.Callback):
    def __init__(self, name="told.jsonl"):
        self.name, self.count = name, 0
    def setup(self, experiment_path):
        self.experiment_path = experiment_path
    def say(self, *words):
        self.count += 1
        with open(self.name, "a") as file:
            file.write(json.dumps([self.count, *words]) + "\\n")
    def on_trial_start(self, iteration, trials, trial):
        self.say("start", iteration, trial.trial_id, trial.attempt)
    def on_trial_result(self, iteration, trials, trial, result):
        self.say("result", iteration, trial.trial_id, result["training_iteration"], result["loss"])
    def on_checkpoint(self, iteration, trials, trial, checkpoint):
        self.say("checkpoint", iteration, trial.trial_id, os.path.isdir(checkpoint.path))
    def on_trial_complete(self, iteration, trials, trial):
        self.say("complete", iteration, trial.trial_id, trial.status)
    def on_trial_error(self, iteration, trials, trial):
        self.say("error", iteration, trial.trial_id, trial.error)
    def on_experiment_end(self, trials):
        self.say("end", 0, len(trials))
    def get_state(self):
        return {"count": self.count}
    def set_state(self, state):
        self.count = state["count"]

def save(directory):
    open(os.path.join(directory, "x"), "w").close()

def train(config):
    for i in range(6):
        time.sleep(config.get("seconds", 0))
        if config["lr"] == 0.4 and i == 3:
            raise ValueError("too large")
        tune.report({"loss": config["lr"] / (i + 1), "val": {"acc": math.nan}}, save=save)

FIELDS = {"metric": "loss", "mode": "min", "checkpoint_config": {"checkpoint_frequency": 3},
          "max_concurrent_trials": 4, "resources_per_trial": {"cpu": 0},
          "run_config": tune.RunConfig(verbose=0)}
GRID = {"lr": tune.grid_search([0.1, 0.2, 0.4])}
"""


class Callback(Case):
    def start(self, script, name="search.py", python=sys.executable, **environment):
        self.write(name, script)
        environment = {**os.environ, "TUNE_BINARY": TUNE, "PYTHONPATH": PACKAGE, **environment}
        return subprocess.Popen([python, name], cwd=self.dir, env=environment, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, start_new_session=True)

    def run_script(self, script, expect=0, **options):
        with self.start(script, **options) as search:
            out = search.communicate(timeout=LIMIT_S)[0]
        self.assertEqual(search.returncode, expect, out)
        return out

    def told(self, name="told.jsonl"):
        return [json.loads(line) for line in self.read(name).splitlines()]

    def test_is_told_what_happens_in_its_order(self):
        self.run_script(SEARCH + """
if __name__ == "__main__":
    tune.Tuner(train, GRID, name="a", callbacks=[Told(), {"type": "csv", "flush_period_s": 1}], **FIELDS).fit()
""")
        told = self.told()
        numbers = [each[2] for each in told[:-1]]
        self.assertEqual(numbers, sorted(numbers))
        for trial, results in (("trial_00000", 6), ("trial_00001", 6), ("trial_00002", 3)):
            own = [each[1] for each in told if each[3] == trial]
            self.assertEqual(own[0], "start")
            self.assertEqual(own.count("result"), results)
            self.assertEqual(own.count("checkpoint"), results // 3)
            self.assertEqual(own[-1], "error" if results == 3 else "complete")
        self.assertIn("ValueError: too large", [each for each in told if each[1] == "error"][0][4])
        self.assertEqual(told[-1][1:], ["end", 0, 3])

    def test_two_of_one_kind_are_two(self):
        self.run_script(SEARCH + """
if __name__ == "__main__":
    tune.Tuner(train, GRID, name="a", callbacks=[Told(), Told("second.jsonl")], **FIELDS).fit()
""")
        self.assertEqual(self.told(), self.told("second.jsonl"))
        self.assertEqual(len(glob.glob(self.path("results/a/callback_Told*.json"))), 2)

    def test_one_that_fails_costs_the_search_and_the_others_nothing(self):
        out = self.run_script(SEARCH + """
class Bad(tune.Callback):
    def on_checkpoint(self, **info):
        raise RuntimeError("no disk")
if __name__ == "__main__":
    results = tune.Tuner(train, GRID, name="a", callbacks=[Bad(), Told()], **FIELDS).fit()
    print(results.num_terminated)
""")
        self.assertEqual(out.splitlines()[-1], "2")
        self.assertEqual(out.count("RuntimeError: no disk"), 1)
        self.assertIn("the callback Bad has failed and is told nothing any more; the search goes on", out)
        self.assertEqual(self.told()[-1][1], "end")

    def test_goes_on_where_it_was_when_the_search_is_killed_and_restored(self):
        script = SEARCH + """
if __name__ == "__main__":
    space = {"lr": tune.uniform(0.1, 0.3), "seconds": 0.02}
    tune.Tuner(train, space, name="a", num_samples=30, callbacks=[Told()], **FIELDS).fit()
"""
        environment = {"TUNE_GLOBAL_CHECKPOINT_S": "0.05"}
        search = self.start(script, **environment)
        while not os.path.exists(self.path("told.jsonl")) or len(self.told()) < 40:
            self.assertIsNone(search.poll())
        os.killpg(search.pid, signal.SIGKILL)
        search.communicate()
        killed_at = len(self.told())
        again = """
from search import Told
import tune
if __name__ == "__main__":
    tune.Tuner.restore("results/a", callbacks=[Told()]).fit()
"""
        self.run_script(again, name="again.py", **environment)
        told = self.told()
        self.assertEqual(told[-1][1:], ["end", 0, 30])
        # What was told in the last fifth of a second before the kill may be told again, with its number.
        seen = {}
        for each in told[:-1]:
            self.assertEqual(seen.setdefault(each[2], each), each)
        results = [each for each in seen.values() if each[1] == "result"]
        events = self.lines("events", "results/a")
        self.assertEqual(sorted(each[2] for each in results), [each["n"] for each in events if each["e"] == "result"])
        self.assertLess(len(told) - 1 - len(seen), killed_at)

    def test_one_that_leaves_has_failed_too(self):
        out = self.run_script(SEARCH + """
class Leaves(tune.Callback):
    def on_trial_result(self, **info):
        sys.exit(3)
if __name__ == "__main__":
    tune.Tuner(train, GRID, name="a", callbacks=[Leaves()], **FIELDS).fit()
""")
        self.assertIn("the callback Leaves has failed and is told nothing any more", out)

    def test_two_processes_never_tell_one_callback(self):
        self.write("search.py", SEARCH)
        self.write("spec.json", self.quadratic())
        self.tune("run", "spec.json", "--name", "b", "--progress", "none")
        environment = {**os.environ, "TUNE_BINARY": TUNE, "PYTHONPATH": PACKAGE}
        command = [sys.executable, "-m", "tune.callback", "search.py:Told", "results/b"]
        holder = open(self.path("results/b/callback_Told.json.lock"), "w")
        self.addCleanup(holder.close)
        fcntl.flock(holder, fcntl.LOCK_EX)
        done = subprocess.run(command, cwd=self.dir, env=environment, capture_output=True, text=True, check=False)
        self.assertIn("another process tells callback_Told of this experiment already", done.stderr)
        self.assertFalse(os.path.exists(self.path("told.jsonl")))
        holder.close()
        subprocess.run(command, cwd=self.dir, env=environment, check=True)
        self.assertEqual(self.told()[-1][1], "end")

    def test_what_a_hook_forks_ends_with_the_hook(self):
        self.run_script(SEARCH + """
class Forks(Told):
    def on_trial_result(self, iteration, trials, trial, result):
        os.fork()
        super().on_trial_result(iteration, trials, trial, result)
if __name__ == "__main__":
    tune.Tuner(train, {"lr": 0.1}, name="a", callbacks=[Forks()], **FIELDS).fit()
""")
        told = self.told()
        self.assertEqual(len([each for each in told if each[1] == "result"]), 12)  # 6, each said by two
        self.assertEqual(len([each for each in told if each[1] == "end"]), 1)

    def test_follows_a_search_that_somebody_else_runs_and_ends_with_it(self):
        self.write("search.py", SEARCH)
        self.write("spec.json", self.quadratic())
        environment = {**os.environ, "TUNE_BINARY": TUNE, "PYTHONPATH": PACKAGE}
        follower = subprocess.Popen([sys.executable, "-m", "tune.callback", "search.py:Told", "results/b"],
                                    cwd=self.dir, env=environment)
        self.addCleanup(follower.kill)
        self.tune("run", "spec.json", "--name", "b", "--progress", "none")
        self.assertEqual(follower.wait(timeout=LIMIT_S), 0)
        self.assertEqual(self.told()[-1][1:], ["end", 0, 4])

    def test_can_have_a_trial_saved_and_stopped(self):
        self.run_script(SEARCH + """
class Meddles(tune.Callback):
    def on_trial_result(self, iteration, trials, trial, result):
        if result["training_iteration"] == 2:
            trial.save()
        if result["training_iteration"] == 10:
            trial.stop()
def endless(config):
    while True:
        time.sleep(0.02)
        tune.report({"loss": 1.0}, save=save)
if __name__ == "__main__":
    results = tune.Tuner(endless, {}, metric="loss", mode="min", name="a", callbacks=[Meddles()],
                         run_config=tune.RunConfig(verbose=0)).fit()
    assert results.num_terminated == 1
    assert results[0].checkpoint is not None
""")

    def test_what_is_no_callback_is_refused(self):
        out = self.run_script(SEARCH + """
if __name__ == "__main__":
    tune.Tuner(train, GRID, name="a", callbacks=[Told], **FIELDS)
""", expect=1)
        self.assertIn("is no object of a subclass of tune.Callback", out)

    def test_events_are_an_iterator_of_dicts(self):
        self.write("spec.json", self.quadratic())
        self.tune("run", "spec.json", "--name", "c", "--progress", "none")
        out = self.run_script("""
import tune
all = list(tune.events("results/c"))
assert [each["n"] for each in all] == list(range(1, len(all) + 1))
assert all == list(tune.events("results/c", follow=True))
for each in tune.events("results/c", start=5):
    assert each["n"] == 5
    break
assert isinstance(next(each for each in all if each["e"] == "trial")["config"], dict)
try:
    list(tune.events("results/none"))
except tune.TuneError as error:
    print("refused")
""")
        self.assertEqual(out.splitlines()[-1], "refused")

    def test_the_end_of_an_experiment_is_known_by_its_word_not_by_its_sentence(self):
        self.write("tune.sh", f"""#!/bin/sh
if [ "$1" = --version ]; then exec {TUNE} "$@"; fi
echo "$EVENT"
""")
        os.chmod(self.path("tune.sh"), 0o755)
        self.write("search.py", SEARCH)
        watch = "import tune.callback, search; tune.callback.Teller([search.Told()], '.').run(follow=False)"
        for said, is_end in ((r'"reason":"all is done","how":"finished"', True), (r'"reason":"finished","how":"stopped"', False),
                             (r'"reason":"finished"', True)):  # as before there was the word
            with self.subTest(said):
                self.write("told.jsonl", "")
                subprocess.run([sys.executable, "-c", watch], cwd=self.dir, check=True, timeout=LIMIT_S,
                               env={**os.environ, "TUNE_BINARY": self.path("tune.sh"), "PYTHONPATH": PACKAGE,
                                    "EVENT": '{"n":1,"t":1,"e":"session_end",' + said + "}"})
                for state in glob.glob(self.path("callback_Told*.json")):
                    os.remove(state)
                self.assertEqual([each[1] for each in self.told()], ["end"] * is_end)

    def test_a_webhook_gets_words_on_what_matters_and_one_that_is_not_there_costs_nothing(self):
        posts = []

        class Hook(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                posts.append(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["text"])
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.run_script(SEARCH + f"""
from tune.integration.webhook import WebhookCallback
if __name__ == "__main__":
    url = "http://127.0.0.1:{server.server_port}/"
    FIELDS["max_concurrent_trials"] = 1
    tune.Tuner(train, GRID, name="a", callbacks=[WebhookCallback(url, metric="loss")], **FIELDS).fit()
""")
        self.assertEqual([" ".join(each.split()[:3]) for each in posts],
                         ["trial_00000 is the", "trial_00002 has failed:", "The search is"])
        out = self.run_script(SEARCH + """
from tune.integration.webhook import WebhookCallback
if __name__ == "__main__":
    gone = WebhookCallback("http://127.0.0.1:1/", metric="loss")
    tune.Tuner(train, GRID, name="b", callbacks=[gone, Told()], **FIELDS).fit()
""")
        self.assertIn("nothing was posted to the webhook", out)
        self.assertEqual(self.told()[-1][1], "end")

    def with_library(self, name):
        python = os.path.join(VENV, "bin", "python")
        if not os.path.exists(python) or subprocess.run([python, "-c", f"import {name}"], check=False,
                                                        capture_output=True).returncode != 0:
            self.skipTest(f"{name} is not installed in {VENV}")
        return python

    def test_mlflow_has_a_run_a_trial(self):
        out = self.run_script(SEARCH + """
import mlflow
from tune.integration.mlflow import MLflowLoggerCallback
if __name__ == "__main__":
    uri = "file://" + os.path.abspath("mlruns")
    tune.Tuner(train, GRID, name="a", callbacks=[MLflowLoggerCallback(uri, experiment_name="mine", save_artifact=True)], **FIELDS).fit()
    client = mlflow.tracking.MlflowClient(uri)
    runs = client.search_runs([client.get_experiment_by_name("mine").experiment_id])
    print(mlflow.__version__)
    print(json.dumps(sorted([run.data.tags["mlflow.runName"], run.data.params["lr"], run.info.status,
                             len(client.get_metric_history(run.info.run_id, "loss")),
                             "result.json" in [each.path for each in client.list_artifacts(run.info.run_id)]]
                            for run in runs)))
""", python=self.with_library("mlflow"), MLFLOW_ALLOW_FILE_STORE="true")
        print("mlflow", out.splitlines()[-2])
        self.assertEqual(json.loads(out.splitlines()[-1]),
                         [["trial_00000", "0.1", "FINISHED", 6, True], ["trial_00001", "0.2", "FINISHED", 6, True],
                          ["trial_00002", "0.4", "FAILED", 3, True]])

    def test_wandb_has_a_run_a_trial(self):
        out = self.run_script(SEARCH + """
import wandb
from tune.integration.wandb import WandbLoggerCallback
if __name__ == "__main__":
    tune.Tuner(train, GRID, name="a", callbacks=[WandbLoggerCallback("mine", api_key="k" * 40, excludes=["val/acc"])], **FIELDS).fit()
    print(wandb.__version__)
""", python=self.with_library("wandb"), WANDB_MODE="offline", WANDB_SILENT="true")
        print("wandb", out.splitlines()[-1])
        files = glob.glob(self.path("results/a/trial_*/wandb/offline-run-*/run-a-trial_*.wandb"))
        self.assertEqual(len(files), 3, files)


if __name__ == "__main__":
    main()
