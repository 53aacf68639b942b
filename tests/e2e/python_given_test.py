"""What searches in Python are given by other names: Ray Train's, resources, remotes, relative names."""
import json
import os
import re
import subprocess
import sys

from cli_support import main
from python_support import HEAD, PACKAGE, PythonCase

SAID = HEAD + """
def train(config):
    def save(directory):
        open(os.path.join(directory, "state"), "w").close()
    tune.report({"loss": 1}, save=save)

def search(what=train, space=None, **fields):
    return tune.Tuner(what, space or {}, metric="loss", mode="min", **fields).fit()

def said(*acts):
    for act in acts:
        try:
            act()
            yield ""
        except Exception as error:
            yield f"{type(error).__name__}: {error}"
"""

RESULT = HEAD + """
from tune.results import _best_row

class Rows:
    def __init__(self, rows):
        self.rows = rows

    def of(self, trial_id):
        return self.rows

def result(*rows):
    return tune.Result("trial_00000", {}, {}, ".", "TERMINATED", _histories=Rows(rows))
"""


class Given(PythonCase):
    def refuses(self, setup, expected):
        # Of each act its sentence, which the pattern beside it fits.
        acts = "".join(f"    lambda: {act},\n" for act, _ in expected)
        sentences = self.answer(f"{SAID}{setup}\nif __name__ == '__main__':\n"
                                f"    print(json.dumps(list(said(\n{acts}    ))))\n")
        for (act, pattern), sentence in zip(expected, sentences):
            with self.subTest(act):
                self.assertRegex(sentence, r"^\w+: .*" + pattern)
                self.assertNotIn("\n", sentence)

    def test_the_pages_have_all_hooks_with_what_they_are_given(self):
        tables = self.answer("""
import inspect, json
import tune
from tune import policy
from tune._hooks import hooks_of

found = {kind.__name__: [f"{name}({', '.join(given)})" for name, given in hooks_of(kind)]
         for kind in (policy.Searcher, policy.Scheduler, policy.Stopper, tune.Callback)}
print(json.dumps(found))
""")
        del tables["Stopper"][tables["Stopper"].index("on_trial_add(trial, config)")]  # it is not told
        pages = os.path.join(os.path.dirname(__file__), "..", "..", "docs")
        for kind, hooks in tables.items():
            name, head = ("python.md", "| hook | when |") if kind == "Callback" else ("policies.md", f"| of a `{kind}` |")
            with open(os.path.join(pages, name), encoding="utf-8") as page:
                table = page.read().split(head)[1].split("\n\n")[0]
            said = re.findall(r"^\| `(\w+\([^`]*\))` \|", table, re.M)
            self.assertEqual(sorted(each for each in said if not each.startswith("setup(")), sorted(hooks), kind)

    def test_a_hook_that_does_not_take_what_it_is_given_is_refused_before_anything_runs(self):
        self.refuses("""
from tune import policy

class Suggests(policy.Searcher):
    def suggest(self):
        return {}

class Silent(policy.Searcher):
    pass

class Misnamed(policy.Scheduler):
    def on_trial_result(self, trial, iteration, metrics):
        return "stop"

class OfRay(policy.Stopper):
    def should_stop(self, trial, iteration, metrics):
        return False
    def stop_all(self):
        return True

class Misspelt(tune.Callback):
    def on_trial_results(self, **info):
        pass

class Finds(policy.Searcher):
    def suggest(self, trial):
        return {}

class Watches(tune.Callback):
    def on_trial_result(self, trial, result):
        pass

class Takes(tune.Callback):
    def on_trial_result(self, result, **info):
        pass

if __name__ == "__main__":
    class Behind(policy.Stopper):
        def should_stop(self, trial, iteration, metrics):
            return True
""", [("search(stop=Behind)", "Behind must stand at the top of a file"),
      ("search(searcher=Suggests)", r"Suggests\.suggest .* It is called as suggest\(trial\)"),
      ("search(searcher=Silent)", r"Silent has no suggest\(trial\), which a Searcher must have"),
      ("search(scheduler=Misnamed)", r"Misnamed\.on_trial_result would never be called: .* did you mean on_result\?"),
      ("search(stop=OfRay)", r"OfRay\.stop_all would never be called: .* did you mean should_stop_all\?"),
      ("search(callbacks=[Misspelt()])", r"Misspelt\.on_trial_results would never .* did you mean on_trial_result\?"),
      ("search(scheduler=Finds)", r"scheduler is Finds, which is no tune\.policy\.Scheduler"),
      ("search(stop=Finds)", r"stop is Finds, which is no tune\.policy\.Stopper"),
      ("search(callbacks=[Watches()])", r"Watches\.on_trial_result .*\(iteration, trials, trial, result\), by name"),
      ("search(callbacks=[Takes(), 3])", "3 is no object of a subclass of tune.Callback")])

    def test_a_sampler_that_could_not_sample_is_refused_before_anything_runs(self):
        os.mkdir(self.path("optuna"))
        self.write("optuna/__init__.py", "from optuna import samplers\n")
        self.write("optuna/samplers.py", "class CmaEsSampler: pass\nclass TPESampler: pass\n")
        self.refuses("from tune.search.optuna import OptunaSearch\nimport importlib.util\n"
                     "import tune.integration.optuna as ours\nours.find_spec = lambda name: None", [
            ("OptunaSearch(sampler='CmaESSampler')", "no 'CmaESSampler': did you mean 'CmaEsSampler'"),
            ("OptunaSearch(sampler='CmaEsSampler')", "needs cmaes: pip install cmaes"),
            ("OptunaSearch(sampler=3)", "give its name")])

    def test_what_is_wrong_is_said_in_words_of_the_package(self):
        self.refuses("sys.modules['pandas'] = None", [
            ("list(tune.events('nowhere'))", "there is no experiment in .*nowhere$"),
            ("search(name='done') and tune.Tuner.restore('results/done', train, num_sample=4).fit()", "exit code 2: num_sample: unknown field 'num_sample', did you mean 'num_samples'"),
            ("tune.Result('trial_00000', {}, {}, '.', 'TERMINATED').metrics_dataframe", "pip install pandas; metrics_history")])

    def test_a_domain_takes_a_prior_which_a_librarys_sampler_refuses(self):
        self.refuses("from tune.integration._space import draw", [
            ("search(space={'x': tune.uniform(0, 1, prior=2)})", r"the prior's value must be one that .* can draw, got 2"),
            ("draw({'x': tune.uniform(0, 1, prior=0.25)}, None)", "'x' has a prior, which this library's searcher knows nothing of")])
        first = self.answer(f"""{SAID}
if __name__ == "__main__":
    space = {{"x": tune.uniform(0, 1, prior=0.25), "n": tune.lograndint(1, 65, prior=16),
             "kind": tune.choice(["a", "b"], prior={{"value": "b", "confidence": "high"}})}}
    print(json.dumps(search(space=space, name="believed")[0].config))
""")
        self.assertEqual(first, {"x": 0.25, "n": 16, "kind": "b"})

    def test_what_is_called_in_another_way_is_answered_with_the_right_one(self):
        self.refuses("class Kind(tune.Trainable): pass", [
            ("tune.choice(1, 2, 'x')", r"tune\.choice\(\[1, 2, 'x'\]\)"),
            ("tune.choice('abc')", r"tune\.choice\(\['abc'\]\)"),
            ("tune.grid_search(3)", r"tune\.grid_search\(\[3\]\)"),
            ("tune.report('acc', 0.5)", r"tune\.report\(\{'acc': 0\.5\}\)"),
            ("tune.Tuner(None, {})", "without being called"),
            ("tune.Tuner(Kind(), {})", r"give the class, Tuner\(Kind, \.\.\.\)")])

    def test_a_trials_best_row_is_found_by_truths_too_which_are_1_and_0(self):
        found = self.answer(RESULT + """
print(json.dumps([_best_row(result({"ok": False}, {"ok": True}, {"ok": 0.5}), "ok", mode)["ok"] for mode in ("max", "min")]))
""")
        self.assertEqual(found, [True, False])

    def test_a_table_has_all_digits_of_whole_numbers_beside_gaps(self):
        found = self.answer(RESULT + """
table = result({"n": 2**53 + 1, "a": {"n": 2**53 + 1}, "m": 1}, {"o": 0.5}).metrics_dataframe
print(json.dumps([table[name][0] == 2**53 + 1 for name in ("n", "a/n")] + [str(table["m"].dtype), int(table["n"].isna().sum())]))
""", python=self.python_with("pandas"))
        self.assertEqual(found, [True, True, "float64", 1])

    def test_ray_trains_names_say_what_stands_in_their_place(self):
        workers = r"write tune\.Tuner\(train, \.\.\., num_workers=2, resources_per_worker=\{'cpu': 1\}\); docs/workers"
        self.refuses("import tune as train_of_ray", [
            ("tune.ScalingConfig(num_workers=2)", workers), ("tune.TorchTrainer(train)", workers),
            ("tune.TorchTrainer.restore('x')", workers), ("tune.train.torch.TorchTrainer", workers),
            ("tune.air.ScalingConfig", workers), ("train_of_ray.torch.TorchTrainer(train)", workers),
            ("exec('from tune.train import ScalingConfig')", workers),
            ("exec('from tune.train.torch import TorchTrainer')", workers),
            ("exec('from tune.integration.torch import x')", workers),
            ("exec('import tune.air.config')", workers),
            ("tune.torch.prepare_model(1)", r"DistributedDataParallel\(model\)"),
            ("tune.torch.no_such_thing", "no attribute 'no_such_thing'"),
            ("tune.RunConfig(num_workers=2)", "RunConfig takes no num_workers: " + workers),
            ("tune.RunConfig(scaling_config={})", "RunConfig takes no scaling_config: " + workers),
            ("tune.TuneConfig(num_workers=2)", "TuneConfig takes no num_workers: " + workers),
            ("search(scaling_config={})", "Tuner takes no scaling_config: " + workers),
            ("search(placement_group={})", r"Tuner takes no placement_group: write resources_per_trial"),
            ("search(use_gpu=True)", r"Tuner takes no use_gpu: write resources_per_trial=\{'gpu': 1\}"),
            ("search(space={'scaling_config': {}})", "param_space takes no scaling_config: " + workers),
            ("search(space={'train_loop_config': {}})", "param_space takes no train_loop_config: .*param_space itself"),
            ("tune.Tuner.restore('results', use_gpu=True)", "Tuner takes no use_gpu"),
        ])

    def test_what_is_said_twice_and_differently_is_refused_with_both(self):
        self.refuses("pass", [
            ("search(tune_config=tune.TuneConfig(mode='max'))",
             r"mode is said twice: TuneConfig\(mode='max'\) and Tuner\(mode='min'\) contradict each other"),
            ("search(run_config=tune.RunConfig(stop={'a': 1}), stop={'a': 2})", "stop is said twice: RunConfig"),
            ("tune.Tuner.restore('results', run_config=tune.RunConfig())", "restore takes no run_config"),
            ("tune.Tuner.restore('results/nix')", "there is no such directory"),
        ])
        self.run_script(SAID + """
if __name__ == "__main__":
    search(tune_config=tune.TuneConfig(mode="min"), run_config=tune.RunConfig(stop={"a": 2}), stop={"a": 2})
""")

    def test_a_space_may_have_the_number_of_a_data_loaders_workers(self):
        found = self.answer(SAID + """
if __name__ == "__main__":
    print(json.dumps(search(space={"num_workers": 4})[0].config))
""")
        self.assertEqual(found, {"num_workers": 4})

    def test_resources_by_rays_names_are_taken_everywhere_and_a_strategy_where_there_are_workers(self):
        self.run_script(SAID + """
P = tune.PlacementGroupFactory
if __name__ == "__main__":
    search(name="trial", resources_per_trial={"CPU": 0.5})
    search(name="worker", num_workers=2, resources_per_worker={"CPU": 0.5}, resources={"CPU": 2, "GPU": 0})
    search(name="bundles", resources_per_trial=P([{"CPU": 0.25}, {"CPU": 0.5}], strategy="PACK"))
    search(tune.with_resources(train, P([{"CPU": 0.25}] * 2, strategy="SPREAD")), name="spread", num_workers=2)
""")

        def spec(name):
            return json.loads(self.read("results", name, "experiment.json"))

        self.assertEqual(spec("trial")["resources_per_trial"], {"cpu": 0.5})
        self.assertEqual(spec("worker")["resources_per_worker"], {"cpu": 0.5})
        self.assertEqual(spec("worker")["resources"]["cpu"], 2)
        self.assertEqual(spec("bundles")["resources_per_trial"], {"cpu": 0.75})
        self.assertEqual(spec("spread")["resources_per_trial"], {"cpu": 0.5})
        self.refuses("P = tune.PlacementGroupFactory", [
            ("P([{'CPU': 1}], strategy='STRICT_SPREAD')", "'STRICT_SPREAD' cannot be kept: all that a trial has"),
            ("search(resources_per_worker=3)", "are a dict, such as .* and no int"),
            ("search(resources_per_trial=lambda config: {})", "are a dict, such as .* and no function"),
        ])

    def test_an_address_is_a_remote_and_no_directory(self):
        self.refuses("", [
            *((f"search(storage_path={given!r})", rf"is an address: say remote=\{{'path': '{remote}'\}}")
              for given, remote in (("s3:bucket/x", "s3:bucket/x"), ("s3://bucket/x", "s3:bucket/x"),
                                    ("dav:sweeps", "dav:sweeps"))),
            *((f"tune.Tuner.{act}('s3://bucket/x')", "`tune resume --remote s3:bucket/x`.*`tune pull s3:bucket/x`")
              for act in ("restore", "can_restore")),
        ])

    def test_a_directory_may_have_a_colon_in_its_name(self):
        os.mkdir(self.path("runs:2024"))
        found = self.answer(SAID + """
if __name__ == "__main__":
    search(name="one", storage_path="runs:2024/all")
    search(name="one", storage_path="./other:2024")
    print(json.dumps([tune.Tuner.can_restore(each) for each in ("runs:2024/all/one", "./other:2024/one")]))
""")
        self.assertEqual(found, [True, True])

    def test_a_remote_may_be_a_text_and_stand_in_the_run_config(self):
        os.mkdir(self.path("store"))
        self.run_script(SAID + """
if __name__ == "__main__":
    search(name="text", remote=os.path.abspath("store"))
    search(name="config", run_config=tune.RunConfig(remote={"path": os.path.abspath("store")}))
""")
        for name in ("text", "config"):
            self.assertTrue(os.listdir(self.path("store", name)))

    def test_trials_start_from_a_result_a_checkpoint_a_path_or_a_name_in_the_storage_path(self):
        found = self.answer(SAID + """
import pathlib

def go_on(config):
    tune.report({"loss": os.path.exists(os.path.join(tune.get_checkpoint().path, "state"))})

if __name__ == "__main__":
    kept = search(name="old", storage_path="kept", checkpoint_config={"checkpoint_at_end": True})[0]
    given = (kept, kept.checkpoint, kept.checkpoint.path, os.path.relpath(kept.checkpoint.path),
             pathlib.Path(kept.checkpoint.path), "old:0", "old:best", "kept/old:0")
    print(json.dumps([search(go_on, name=f"from_{i}", storage_path="kept", resume_from_checkpoint=each)[0]
                      .metrics["loss"] for i, each in enumerate(given)]))
""")
        self.assertEqual(found, [True] * 8)
        self.refuses("", [
            ("search(resume_from_checkpoint=tune.ResultGrid('kept/old'))", "one checkpoint, and a ResultGrid has"),
            ("search(resume_from_checkpoint=tune.ResultGrid('kept/from_0')[0])", "trial_00000 in .* has no checkpoint"),
            ("search(resume_from_checkpoint=3)", "a Checkpoint, a Result, a path, or a name .* and no int"),
            ("search(resume_from_checkpoint='s3:bucket/x/checkpoint_000001')", "fetch the experiment by `tune pull`"),
            ("search(resume_from_checkpoint='lost:best')", "no experiment in " + self.path("results", "lost")),
        ])

    def test_relative_names_are_seen_from_where_the_search_begins(self):
        self.write("here.py", "import os\nprint(os.path.basename(os.getcwd()), 'loss: 1')\n")
        os.mkdir(self.path("sub"))
        found = self.answer(SAID + """
if __name__ == "__main__":
    command = [sys.executable, "here.py", "${args}"]
    print(json.dumps([open(os.path.join(search(command, {"x": 1}, name=name, **fields)[0].path, "stdout.log")).read()
                      for name, fields in (("implied", {}), ("plain", {"plain": {}}),
                                           ("sub", {"plain": {"working_directory": "sub"}}),
                                           ("trial", {"plain": {"working_directory": "trial"}}))]))
""")
        here = os.path.basename(self.path().rstrip("/"))
        warnings = self.answer(SAID + """
import warnings

if __name__ == "__main__":
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tune.Tuner.restore("results/implied", [sys.executable, "here.py", "${args}"])
    print(json.dumps([str(each.message) for each in caught]))
""")
        self.assertEqual(warnings, [])
        self.assertEqual(found, [f"{each} loss: 1\n" for each in (here, here, "sub", "work")])

    def test_a_policy_of_ones_own_and_a_schedule_are_files_seen_from_there(self):
        self.write("own.py", "from tune import policy\n\nclass Fixed(policy.Searcher):\n"
                             "    def suggest(self, trial):\n        return {'x': 7}\n")
        found = self.answer(SAID + """
if __name__ == "__main__":
    command = [sys.executable, "-m", "tune.policy", "own.py:Fixed"]
    searcher = {"type": "program", "command": command}
    print(json.dumps(search(space={"x": tune.uniform(0, 9)}, searcher=searcher)[0].config))
""")
        self.assertEqual(found, {"x": 7})

    def test_json_that_is_nested_too_deep_is_answered_with_a_sentence(self):
        os.makedirs(self.path("results/deep"))
        self.write("results/deep/experiment.json", '{"trainable": ' + "[" * 100_000)
        self.write("other", "#!/bin/sh\nhead -c 100000 /dev/zero | tr '\\0' '['\n")
        os.chmod(self.path("other"), 0o755)
        self.refuses("import tune._binary", [
            ("tune.Tuner.restore('results/deep', train)", "experiment.json .* cannot be read: it is nested too deep"),
            ("(os.environ.update(TUNE_BINARY=os.path.abspath('other')), search())", "is not the program 'tune'")])
        by_hand = subprocess.run([sys.executable, "-m", "tune.trial", "search.py:train", "--config", "[" * 100_000],
                                 cwd=self.dir, capture_output=True, text=True, check=False,
                                 env={**os.environ, "PYTHONPATH": PACKAGE})
        self.assertEqual(by_hand.returncode, 2)
        self.assertIn("the config is not JSON: it is nested too deep", by_hand.stderr)


if __name__ == "__main__":
    main()
