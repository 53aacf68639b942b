"""`TuneSearchCV`, with the real scikit-learn: what it finds is what scikit-learn itself comes to.

It is tried where EXAMPLES_VENV or `python3` has scikit-learn; else it is skipped.
"""
import glob
import json
import os
import signal
import subprocess
import sys
import time
import unittest

from cli_support import LIMIT_S, TUNE, Case, main

ENVIRONMENT = {**os.environ, "TUNE_BINARY": TUNE, "PYTHONPATH": os.environ["PYTHON_PACKAGE"]}
VENV = os.environ["EXAMPLES_VENV"]

HEAD = """
import json, os, sys, warnings
import numpy
import sklearn
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import KFold, RandomizedSearchCV, cross_validate
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
import tune
from tune.integration.sklearn import TuneSearchCV

X, y = load_iris(return_X_y=True)

def same(a, b):
    return bool(numpy.array_equal(a, b, equal_nan=True))

def say(*values):
    print(json.dumps(values, default=lambda value: value.tolist()))

def raises(act):
    try:
        act()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
"""


def python_with_sklearn():
    for python in (os.path.join(VENV, "bin", "python3"), sys.executable):
        command = [python, "-c", "import sklearn, cloudpickle; print(sklearn.__version__)"]
        try:
            found = subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT)
        except OSError:
            continue
        if found.returncode == 0:
            print(f"scikit-learn {found.stdout.strip()}", file=sys.stderr)
            return python
    return None


class PythonSklearn(Case):
    @classmethod
    def setUpClass(cls):
        cls.python = python_with_sklearn()
        if cls.python is None:
            raise unittest.SkipTest("no Python here has scikit-learn and cloudpickle")

    def start(self, script):
        self.write("search.py", HEAD + script)
        return subprocess.Popen([self.python, "search.py"], cwd=self.dir, env=ENVIRONMENT, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, start_new_session=True)

    def answer(self, script):
        """What it prints last, as JSON."""
        with self.start(script) as search:
            out = search.communicate(timeout=LIMIT_S)[0]
        self.assertEqual(search.returncode, 0, out)
        return json.loads(out.splitlines()[-1])

    def test_scores_and_predictions_are_those_of_cross_validate_and_keys_those_of_randomized_search(self):
        found = self.answer("""
cv = KFold(4, shuffle=True, random_state=3)
space = {"C": tune.loguniform(1e-3, 1e2), "gamma": stats.loguniform(1e-3, 1), "kernel": ["rbf", "linear"],
         "class_weight": [None, {0: 1, 1: 2, 2: 1}], "max_iter": stats.randint(1000, 2000)}
search = TuneSearchCV(SVC(), space, n_trials=6, cv=cv, random_state=0, return_train_score=True,
                      scoring=["accuracy", "f1_macro"], refit="f1_macro")
assert search.fit(X, y) is search
results = search.cv_results_
equal = []
for i, params in enumerate(results["params"]):
    own = cross_validate(SVC(**params), X, y, cv=cv, scoring=["accuracy", "f1_macro"], return_train_score=True)
    for name in ("test_accuracy", "test_f1_macro", "train_accuracy", "train_f1_macro"):
        equal.append(same(own[name], [results[f"split{k}_{name}"][i] for k in range(4)]))
space = {**space, "C": stats.loguniform(1e-3, 1e2)}
other = RandomizedSearchCV(SVC(), space, n_iter=6, cv=cv, return_train_score=True,
                           scoring=["accuracy", "f1_macro"], refit="f1_macro").fit(X, y)
best = SVC(**search.best_params_).fit(X, y)
drawn = {type(value).__name__ for value in results["param_class_weight"].data}
say(all(equal), len(equal), sorted(set(results) ^ set(other.cv_results_)),
    sorted({name for name in {*vars(search)} ^ {*vars(other)} if name.endswith("_")}),
    search.best_score_ == results["mean_test_f1_macro"].max(),
    same(search.predict(X), best.predict(X)), search.score(X, y) > 0.9,
    hasattr(search, "transform"), search.n_features_in_, search.n_splits_, sorted(drawn))
""")
        self.assertEqual(found, [True, 24, [], ["results_"], True, True, True, False, 4, 4, ["NoneType", "dict"]])

    def test_early_stopping_stops_trials_and_what_learns_to_the_end_scores_as_if_it_had_at_once(self):
        found = self.answer("""
X, y = load_digits(return_X_y=True)
X = X[:600] / 16
y = y[:600]
space = {"alpha": tune.loguniform(1e-6, 100)}
search = TuneSearchCV(SGDClassifier(random_state=0), space, early_stopping=True, max_iters=8, n_trials=10,
                      random_state=1, cv=3, n_jobs=2).fit(X, y)
epochs = search.cv_results_["training_iteration"]
model = SGDClassifier(random_state=0, **search.best_params_)
for epoch in range(epochs[search.best_index_]):
    model.partial_fit(X, y, classes=range(10))
forest = TuneSearchCV(RandomForestClassifier(random_state=0, n_estimators=11), {"max_depth": tune.randint(2, 9)},
                      early_stopping="fifo", max_iters=4, n_trials=2, random_state=1, cv=3).fit(X, y)
whole = [cross_validate(clone(forest.estimator).set_params(**params), X, y, cv=3)["test_score"].mean()
         for params in forest.cv_results_["params"]]
say(min(epochs) < 8, max(epochs), same(model.coef_, search.best_estimator_.coef_),
    same(whole, forest.cv_results_["mean_test_score"]),
    forest.best_estimator_.get_params()["n_estimators"],
    forest.best_estimator_.get_params()["warm_start"])
""")
        self.assertEqual(found, [True, 8, True, True, 11, False])

    def test_a_pipeline_is_searched_with_its_steps_and_with_values_that_json_does_not_know(self):
        found = self.answer("""
from sklearn.model_selection import StratifiedKFold
pipeline = Pipeline([("scale", StandardScaler()), ("net", MLPClassifier(random_state=0))])
space = {"scale": [StandardScaler(), MinMaxScaler(), "passthrough"], "net__alpha": tune.loguniform(1e-6, 1),
         "net__hidden_layer_sizes": [(4,), (8, 4)], "net__max_fun": numpy.array([7, 8])}
search = TuneSearchCV(pipeline, space, early_stopping=tune.schedulers.HyperBandScheduler(reduction_factor=2),
                      max_iters=6, n_trials=8, random_state=1, cv=2, n_jobs=2).fit(X, y)
results = search.cv_results_
equal = []
for i, params in enumerate(results["params"]):
    for k, (train, test) in enumerate(StratifiedKFold(2).split(X, y)):
        own = clone(pipeline).set_params(**params)
        scaled = own[:-1].fit_transform(X[train], y[train])
        for epoch in range(results["training_iteration"][i]):
            own[-1].partial_fit(scaled, y[train], classes=[0, 1, 2])
        equal.append(own.score(X[test], y[test]) == results[f"split{k}_test_score"][i])
say(all(equal), len(equal), len(set(results["training_iteration"])) > 1,
    len({type(each).__name__ for each in results["param_scale"]}) > 1,
    type(search.best_params_["net__hidden_layer_sizes"]).__name__, search.predict(X).shape)
""")
        self.assertEqual(found, [True, 16, True, True, "tuple", [150]])

    def test_a_clone_goes_on_from_its_donors_models_and_takes_its_own_values(self):
        found = self.answer("""
net = Pipeline([("scale", StandardScaler()), ("net", MLPClassifier((4,), random_state=0))])
def search(estimator, space, **more):
    return TuneSearchCV(estimator, space, max_iters=9, random_state=1, cv=2, n_jobs=4, **more).fit(X, y)
def clones(search):
    return sum(open(os.path.join(search.results_.experiment_path, file)).read().count("\\n")
               for file in os.listdir(search.results_.experiment_path) if file == "pbt_global.txt")
alone = search(net, {"net__alpha": [1e-4]}, early_stopping="fifo", n_trials=1)
pbt = tune.schedulers.PopulationBasedTraining(synch=True, perturbation_interval=2)
# All are alike, and so are their clones.
space = {"scale": [StandardScaler()], "net__alpha": [1e-4], "net__tol": tune.uniform(1e-9, 1e-8)}
alike = search(net, space, n_trials=4, early_stopping=pbt)
slow = SGDClassifier(random_state=0, learning_rate="constant")
moved = search(slow, {"eta0": tune.loguniform(1e-9, 1)}, early_stopping=pbt, n_trials=4,
               scoring=lambda estimator, X, y: estimator.eta0)
say(set(alike.cv_results_["mean_test_score"]) == set(alone.cv_results_["mean_test_score"]),
    clones(alike) > 0, clones(moved) > 0,
    same(moved.cv_results_["mean_test_score"], moved.cv_results_["param_eta0"].astype(float)),
    set(moved.cv_results_["training_iteration"].tolist()) == {9})
""")
        self.assertEqual(found, [True] * 5)

    def test_a_config_that_fails_gets_the_error_score_and_ends_nothing(self):
        found = self.answer("""
class Picky(SVC):
    def fit(self, X, y):
        if self.C == 3 and type(self).dies:
            os.kill(os.getpid(), 9)
        if self.C == 2:
            raise RuntimeError("two is too much")
        return super().fit(X, y)
    dies = False

def search(values, **more):
    return TuneSearchCV(Picky(), {"C": tune.grid_search(values)}, n_trials=1, cv=3, **more)

Picky.dies = True
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    done = search([1, 2, 3, 4]).fit(X, y)
say([repr(float(each)) for each in numpy.isnan(done.cv_results_["mean_test_score"])],
    done.best_params_["C"] in (1, 4), done.cv_results_["rank_test_score"].tolist()[1:3],
    str(said[0].message), type(said[0].message).__name__,
    search([2, 4], error_score=0).fit(X, y).cv_results_["mean_test_score"][0],
    raises(lambda: search([2, 4], error_score="raise").fit(X, y)),
    raises(lambda: search([2]).fit(X, y)))
""")
        self.assertEqual(found[:3], [["0.0", "1.0", "1.0", "0.0"], True, [3, 3]])
        self.assertRegex(found[3], "^6 of 12 fits have failed .*trial_00001: RuntimeError: two is too much$")
        self.assertEqual(found[4:6], ["FitFailedWarning", 0])
        self.assertRegex(found[6], "^TuneError: a fit has failed, in trial_00000: RuntimeError: two is too much")
        self.assertRegex(found[7], "^ValueError: none of 1 trials .* a score: RuntimeError: two is too much$")

    def test_what_makes_no_sense_is_refused_in_a_sentence_before_anything_runs(self):
        found = self.answer("""
def said(estimator, space, **more):
    return raises(lambda: TuneSearchCV(estimator, space, **more).fit(X, y))
say(
    said(SVC(), {"c": [1]}), said(SVC(), {"C": 1}), said(SVC(), {"C": stats.expon()}),
    said(SVC(), {"C": stats.loguniform(1, 2, loc=3)}), said(SVC(), {"C": {"unifrom": [0, 1]}}),
    said(SVC(), {"C": [1]}, early_stopping=True, max_iters=3),
    said(SGDClassifier(), {"alpha": [1]}, early_stopping=True),
    said(SGDClassifier(), {"alpha": [1]}, early_stopping="ahsa", max_iters=3),
    said(SVC(), {"C": [1]}, scoring=["accuracy", "f1_macro"]), said(SVC(), 3),
    os.path.exists("results") and os.listdir("results"))
""")
        self.assertRegex(found[0], "^ValueError: Invalid parameter 'c' for estimator SVC")
        self.assertRegex(found[1], "^ValueError: 'C' is 1: a list of values was expected")
        self.assertRegex(found[2], "^ValueError: 'C' has the distribution 'expon'.*tune.uniform")
        self.assertRegex(found[3], "^ValueError: 'C' has the distribution")
        self.assertRegex(found[4], "^ValueError: .*did you mean 'uniform'")
        self.assertRegex(found[5], "^ValueError: early_stopping needs an estimator with partial_fit or warm_start")
        self.assertRegex(found[6], "^ValueError: early_stopping needs max_iters")
        self.assertRegex(found[7], "^ValueError: .*did you mean 'asha'")
        self.assertRegex(found[8], "^ValueError: For multi-metric scoring, the parameter refit")
        self.assertRegex(found[9], "^ValueError: 3 is searched: a dict was expected, or a list of dicts")
        self.assertIn(found[10], (False, []))

    def test_arguments_of_other_searches_are_taken_or_refused_in_a_sentence(self):
        found = self.answer("""
def said(**more):
    return raises(lambda: TuneSearchCV(SVC(), {"C": tune.uniform(0.1, 1)}, cv=2, random_state=0, **more).fit(X, y))
search = TuneSearchCV(SVC(), {"C": tune.uniform(0.1, 1)}, n_iter=3, cv=2, random_state=0, pre_dispatch="2*n_jobs",
                      use_gpu=False, loggers=None, mode="max", pipeline_auto_early_stop=True)
from tune.integration.sklearn import TuneGridSearchCV
say(len(search.fit(X, y).cv_results_["params"]), clone(search).n_iter, said(n_iter=2, n_trials=3), said(use_gpu=True),
    said(mode="min"), said(loggers=["csv"]), said(stopper=1), said(pipeline_auto_early_stop=False), said(gamma=0.2),
    raises(lambda: TuneGridSearchCV(SVC(), {})), said(max_iters=3), len(os.listdir("results")))
""")
        self.assertEqual(found[:2], [3, 3])
        for text, expected in zip(found[2:], (
                "^ValueError: n_iter and n_trials are the same, and 2 and 3 were given", "^TypeError: .*takes no use_gpu",
                "^TypeError: .*takes no mode: .*neg_log_loss", "^TypeError: .*takes no loggers", "^TypeError: .*no stopper",
                "^TypeError: .*takes no pipeline_auto", "^TypeError: TuneSearchCV takes no gamma; .*search_optimization=",
                "^TypeError: .*write TuneSearchCV", "^ValueError: .*max_iters needs early_stopping")):
            self.assertRegex(text, expected)
        self.assertEqual(found[-1], 1)

    def test_data_lie_once_in_the_experiment_and_are_mapped_by_trials(self):
        found = self.answer("""
def kind(estimator, rows, labels):
    from tune.integration._sklearn_trial import load
    data = load(tune.get_context().experiment_path)[1]
    assert isinstance(data.X, numpy.memmap) and not data.X.flags.writeable, type(data.X)
    return estimator.score(rows, labels)
search = TuneSearchCV(SVC(), {"C": [1.0, 2.0, 3.0]}, scoring=kind, n_trials=3, name="data", local_dir="here",
                      error_score="raise", random_state=0)
search.fit(numpy.repeat(X, 100, axis=0), numpy.repeat(y, 100))
sizes = {os.path.join(at, file): os.path.getsize(os.path.join(at, file))
         for at, _, files in os.walk("here/data") for file in files}
say(sorted(sizes.values())[-2:], sorted(search.cv_results_["param_C"].tolist()), os.listdir("."))
""" )
        self.assertGreater(found[0][1], 15000 * 5 * 8)
        self.assertLess(found[0][0], 100_000)
        self.assertEqual(found[1], [1, 2, 3])
        self.assertEqual(sorted(found[2]), ["here", "search.py"])

    def test_a_search_with_a_name_goes_on_after_it_was_killed_and_is_not_taken_for_another(self):
        script = """
class Slow(SGDClassifier):
    def partial_fit(self, X, y, classes=None):
        import time
        time.sleep(0.05)
        return super().partial_fit(X, y, classes)
def search(n_trials, rows=X):
    return TuneSearchCV(Slow(random_state=0), {"alpha": tune.loguniform(1e-6, 1)}, early_stopping="fifo",
                        max_iters=4, n_trials=n_trials, name="killed", cv=2).fit(rows, y)
"""
        with self.start(script + "search(8)") as search:
            until = time.monotonic() + LIMIT_S
            while not glob.glob(self.path("results/killed/trial_00002/result.json")):
                self.assertLess(time.monotonic(), until)
                self.assertIsNone(search.poll())
                time.sleep(0.05)
            os.killpg(search.pid, signal.SIGKILL)
            search.communicate(timeout=LIMIT_S)
        before = self.read("results/killed/trial_00000/result.json")
        found = self.answer(script + """
done = search(8)
again = search(8)
say(done.cv_results_["training_iteration"].tolist(), same(done.cv_results_["mean_test_score"],
    again.cv_results_["mean_test_score"]), raises(lambda: search(9)), raises(lambda: search(8, X + 1)))
""")
        self.assertEqual(found[:2], [[4] * 8, True])
        self.assertEqual(self.read("results/killed/trial_00000/result.json"), before)
        for said in found[2:]:
            self.assertRegex(said, "^TuneError: .*killed holds a search over other data, parameters or options")

    def test_it_is_an_estimator_as_scikit_learn_checks_them(self):
        found = self.answer("""
import pickle
import pandas
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.utils import estimator_checks as checks
search = TuneSearchCV(LogisticRegression(), {"C": tune.loguniform(0.1, 1)}, n_trials=2, cv=2, random_state=0)
for check in ("check_no_attributes_set_in_init", "check_get_params_invariance", "check_set_params",
              "check_estimators_unfitted", "check_dont_overwrite_parameters", "check_dict_unchanged",
              "check_n_features_in", "check_fit2d_1sample", "check_estimators_nan_inf"):
    getattr(checks, check)("TuneSearchCV", search)
copy = clone(search).set_params(estimator__fit_intercept=False, n_trials=1)
frame = pandas.DataFrame(X, columns=list("abcd"))
copy.fit(frame, pandas.Series(y))
pca = TuneSearchCV(PCA(), [{"n_components": [1, 2]}, {"n_components": [3], "whiten": [True]}], n_trials=-1,
                   random_state=0).fit(X)
say(copy.best_estimator_.fit_intercept, copy.feature_names_in_.tolist(), copy.classes_.tolist(),
    pickle.loads(pickle.dumps(copy)).predict_proba(frame).shape, pca.transform(X).shape[0],
    sorted([*each.values()] for each in pca.cv_results_["params"]))
""")
        self.assertEqual(found, [False, list("abcd"), [0, 1, 2], [150, 3], 150, [[1], [2], [3, True]]])


if __name__ == "__main__":
    main()
