"""scikit-learn, 1.5 or newer: `TuneSearchCV`, which is used as ``RandomizedSearchCV`` is.

Trials do not load the file that begins the search. An estimator or a scorer that is defined there
reaches them by cloudpickle, which must be installed then.
"""

from __future__ import annotations

import datetime
import os
import re
import secrets
import time
import warnings
from contextlib import suppress
from dataclasses import replace
from typing import Any, NoReturn

import joblib
import numpy
from sklearn.base import clone, is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import check_cv
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import check_random_state, indexable
from sklearn.utils.validation import _check_method_params

from tune import _pickled
from tune.config import RunConfig
from tune.integration._sklearn_space import Space
from tune.integration._sklearn_trial import FILE_VARIABLE, Data, Learner, Task, grows_by, train
from tune.results import Result, ResultGrid, TuneError
from tune.tuner import Tuner

_SPLIT = re.compile(r"split\d+_test_(.*)")
_BY_RUNGS = ("asha", "asha_promotion", "hyperband", "bohb")
_UNMOVED = ("expr", "grid_search", "value")
_DEFAULT_TRIALS = 10

#: Arguments of tune-sklearn's and scikit-learn's searches: the values that change nothing here, and
#: what to do instead of others.
_INSTEAD: dict[str, tuple[tuple[Any, ...], str]] = {
    "loggers": ((None,), "result.json, progress.csv and TensorBoard's files are written anyway"),
    "mode": ((None, "max"), "a score is better when it is greater: scoring='neg_log_loss', say"),
    "param_grid": ((), "give param_distributions tune.grid_search([...]), and n_trials=1"),
    "pipeline_auto_early_stop": ((True,), "the last step of a pipeline is what stops early"),
    "search_kwargs": ((None,), "give options in search_optimization={'type': 'tpe', ...}"),
    "stopper": ((None,), "say early_stopping=, time_budget_s= or max_iters="),
    "use_gpu": ((None, False), "estimators of scikit-learn that use a GPU find it by themselves"),
}


def _refuse(others: dict[str, Any]) -> None:
    """TypeError: they mean something that is not there. Data are written once for all trials, so
    pre_dispatch has nothing to spare."""
    for name, value in others.items():
        if name == "pre_dispatch":
            continue
        if name not in _INSTEAD:
            raise TypeError(
                f"TuneSearchCV takes no {name}; options of a searcher stand beside its name: "
                "search_optimization={'type': 'tpe', 'gamma': 0.2}"
            )
        harmless, instead = _INSTEAD[name]
        if not any(value is each or value == each for each in harmless):
            raise TypeError(f"TuneSearchCV takes no {name}: {instead}")


def TuneGridSearchCV(*_: Any, **__: Any) -> NoReturn:
    """TypeError that says what to write."""
    raise TypeError(
        "there is no TuneGridSearchCV: write TuneSearchCV(estimator, {name: "
        "tune.grid_search([...])}, n_trials=1)"
    )


class TuneSearchCV(BaseSearchCV):  # type: ignore[misc,unused-ignore]
    """Searches over an estimator's parameters by cross-validation, each config a trial.

    ``estimator``, ``scoring``, ``cv``, ``refit``, ``error_score``, ``return_train_score``
        As ``RandomizedSearchCV`` has them, and so are the attributes after ``fit``. Beside them is
        ``results_``, the search's `ResultGrid`.
    ``param_distributions``
        By the parameters' names (``"clf__alpha"`` in a pipeline): domains (``tune.loguniform``
        ...), lists of values of any kind, and of scipy.stats frozen ``uniform``, ``loguniform``,
        ``randint``, ``norm``. A list of such dicts: each trial has one of them.
    ``early_stopping``
        A scheduler: its name, True for ``"asha"``, or with its options (``tune.schedulers``). The
        estimator then learns in ``max_iters`` epochs, and each is an iteration of its trial: by
        ``partial_fit``, or with ``warm_start`` by a part of ``n_estimators`` or ``max_iter``. Of a
        pipeline the last step does so. ``cv_results_`` has as ``training_iteration`` how far each
        config came, and its last scores; what is refitted learns for as long as the best did.
    ``n_trials``, ``time_budget_s``, ``search_optimization``
        The spec's ``num_samples`` (-1: until the time in seconds is over) and ``searcher``.
        ``n_iter`` is another name of ``n_trials``.
    ``n_jobs``
        How many trials train at once. None and -1: as many as there are processors.
    ``random_state``
        An integer draws the same configs again.
    ``verbose``
        0: the search prints nothing.
    ``name``, ``local_dir``
        The experiment's directory is ``local_dir/name``, by default a new one in ``results``. It
        keeps the data until it is removed. With a name, ``fit`` of the same search goes on with
        what is there.

    A config that fails gets ``error_score``; where that is ``"raise"``, the first failure ends the
    search with a TuneError. ValueError: no trial came to a score, or what was given makes no sense.
    TypeError: an argument of tune-sklearn's or scikit-learn's has no counterpart here.
    """

    def __init__(
        self,
        estimator: Any,
        param_distributions: Any,
        *,
        early_stopping: Any = None,
        n_trials: int = _DEFAULT_TRIALS,
        max_iters: int = 1,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        error_score: Any = numpy.nan,
        return_train_score: bool = False,
        search_optimization: Any = "random",
        time_budget_s: float | None = None,
        name: str | None = None,
        local_dir: str | None = None,
        n_iter: int | None = None,
        **others: Any,
    ) -> None:
        _refuse(others)
        super().__init__(
            estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.param_distributions = param_distributions
        self.early_stopping = early_stopping
        self.n_trials = n_trials
        self.max_iters = max_iters
        self.random_state = random_state
        self.search_optimization = search_optimization
        self.time_budget_s = time_budget_s
        self.name = name
        self.local_dir = local_dir
        self.n_iter = n_iter

    def fit(self, X: Any, y: Any = None, **params: Any) -> TuneSearchCV:
        """Searches, and fits the best config to all of X and y. `params` are those of the
        estimator's ``fit``, and ``groups``; what is as long as X is split as X is."""
        self._validate_params()
        space = self._space()
        scorers, refit_metric = self._get_scorers()
        X, y = indexable(X, y)
        routed = self._get_routed_params_for_fit(_check_method_params(X, params))
        cv = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        several = getattr(scorers, "_scorers", None)
        named = isinstance(self.refit, str) and (several or callable(self.scoring))
        task = Task(
            estimator=clone(self.estimator),
            space=space,
            scorer=scorers,
            objective=self.refit if named else next(iter(several or ()), None),
            error_score=self.error_score,
            epochs=self.max_iters if self.early_stopping else 0,
            return_train_score=self.return_train_score,
        )
        data = Data(
            task=_pickled.dumps(task, "the estimator, or what belongs to it,"),
            X=X,
            y=y,
            splits=list(cv.split(X, y, **routed.splitter.split)),
            fit_params=routed.estimator.fit,
            score_params=routed.scorer.score,
        )
        self.n_splits_ = len(data.splits)
        self.results_ = self._search(task, data)
        trials = [each for each in self.results_ if each.metrics or each.state == "ERROR"]
        names = self._metric_names(trials, several)
        self.multimetric_ = several is not None or names != ["score"]
        self.scorer_ = several or scorers
        if self.multimetric_ and several is None:
            self._check_refit_for_multimetric(names)
            refit_metric = self.refit
        found = self.cv_results_ = self._format_results(
            [space.params(space.values(each.config)) for each in trials],
            self.n_splits_,
            self._rows(trials, names),
            {"training_iteration": [_epochs(each) for each in trials]} if task.epochs else None,
        )
        if self.refit or not self.multimetric_:
            self.best_index_ = self._select_best_index(self.refit, refit_metric, found)
            self.best_params_ = found["params"][self.best_index_]
            if not callable(self.refit):
                self.best_score_ = found[f"mean_test_{refit_metric}"][self.best_index_]
        if self.refit:
            begin = time.perf_counter()
            learner = Learner(task, self.best_params_, data)
            for epoch in range(1, 1 + (_epochs(trials[self.best_index_]) if task.epochs else 1)):
                learner.step(epoch)
            self.refit_time_ = time.perf_counter() - begin
            self.best_estimator_ = learner.estimator
            if hasattr(self.best_estimator_, "feature_names_in_"):
                self.feature_names_in_ = self.best_estimator_.feature_names_in_
        return self

    def _space(self) -> Space:
        """Checks what there is to check before anything runs."""
        if self.n_iter is not None and self.n_trials not in (_DEFAULT_TRIALS, self.n_iter):
            raise ValueError(
                f"n_iter and n_trials are the same, and {self.n_iter} and {self.n_trials} were "
                "given: leave one out"
            )
        if (self.max_iters > 1) != bool(self.early_stopping):
            raise ValueError(
                "early_stopping needs max_iters, in how many epochs an estimator learns, above 1; "
                "and max_iters needs early_stopping"
            )
        if self.early_stopping and grows_by(self.estimator) is None:
            raise ValueError(
                f"early_stopping needs an estimator with partial_fit or warm_start, or a Pipeline "
                f"that ends in one, and {self.estimator!r} has neither"
            )
        space = Space(self.param_distributions)
        for name in space.names:
            # What is searched over itself may bring parameters that are not there now.
            if not any(name.startswith(f"{other}__") for other in space.names):
                clone(self.estimator).set_params(**{name: None})
        return space

    def _search(self, task: Task, data: Data) -> ResultGrid:
        fields = {
            "num_samples": self.n_trials if self.n_iter is None else self.n_iter,
            "time_budget_s": self.time_budget_s,
            "scheduler": self._scheduler(task.space.spec),
            "searcher": self.search_optimization,
        }
        if isinstance(self.search_optimization, str):  # as RandomizedSearchCV
            fields["searcher"] = {"type": self.search_optimization, "skip_duplicates": True}
        now = datetime.datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
        unique = f"{now}_{secrets.token_hex(4)}"
        name = self.name or f"{type(self.estimator).__name__}_{unique}"
        # By a name, the same search is known again.
        key = _hash(task, data, [fields, self.random_state]) if self.name else unique
        file = f".search-{key}.joblib"
        storage = os.path.abspath(os.path.expanduser(self.local_dir or "results"))
        directory = os.path.join(storage, name)
        if (spec := _read(os.path.join(directory, "experiment.json"))) is not None:
            if file not in spec:
                raise TuneError(
                    f"{directory} holds a search over other data, parameters or options: give "
                    "another name, or remove it"
                )
            tuner = Tuner.restore(directory)
            tuner._verbose = min(self.verbose, 1)
            return tuner.fit()
        cores = joblib.cpu_count()
        jobs = joblib.effective_n_jobs(-1 if self.n_jobs is None else self.n_jobs)
        parts = [self.estimator, *self.estimator.get_params().values()]
        modules = {type(each).__module__ for each in parts}
        os.makedirs(directory, exist_ok=True)
        try:
            joblib.dump(data, os.path.join(directory, file))
            return Tuner(
                train,
                task.space.spec,
                metric="score",
                mode="max",
                seed=int(check_random_state(self.random_state).randint(2**31)),
                max_concurrent_trials=jobs,
                resources={"cpu": cores},
                resources_per_trial={"cpu": cores // jobs or cores / jobs},
                failure_config={"fail_fast": self.error_score == "raise"},
                checkpoint_config={"num_to_keep": 1},
                name=name,
                storage_path=storage,
                env={FILE_VARIABLE: file},
                preload=[train.__module__, *sorted(m for m in modules if m.startswith("sklearn."))],
                run_config=RunConfig(verbose=self.verbose),
                **fields,
            ).fit()
        except BaseException:
            if _read(os.path.join(directory, "experiment.json")) is None:
                with suppress(OSError):
                    os.remove(os.path.join(directory, file))
                    os.rmdir(directory)
            raise

    def _scheduler(self, space: dict[str, Any]) -> Any:
        """As in a spec, with options that follow from ``max_iters`` and the space."""
        given = "asha" if self.early_stopping is True else self.early_stopping
        if not given or not isinstance(given, (str, dict)):
            return given or None
        said = {"type": given} if isinstance(given, str) else given
        moved = {
            name: each for name, each in space.items() if not any(kind in each for kind in _UNMOVED)
        }
        kind = said.get("type")
        options: dict[str, Any] = {}
        if kind in _BY_RUNGS:
            options = {"max_t": self.max_iters}
        elif kind in ("pbt", "pb2"):
            of = "hyperparam_mutations" if kind == "pbt" else "hyperparam_bounds"
            options = {"perturbation_interval": max(1, self.max_iters // 10), of: moved}
        elif kind == "median_stopping":
            options = {"grace_period": 1}
        if options:
            options["time_attr"] = "training_iteration"
        return {**options, **said}

    def _metric_names(self, trials: list[Result], several: Any) -> list[str]:
        """Of all that trials came to. TuneError, ValueError: there is no score, or may be none."""
        failed = [each for each in trials if each.state == "ERROR"]
        if failed and self.error_score == "raise":
            raise TuneError(f"a fit has failed, in {failed[0].trial_id}: {_why(failed[0])}")
        found = [_SPLIT.fullmatch(name) for each in trials for name in _metrics(each)]
        names = sorted({match[1] for match in found if match})
        if not names:
            why = f": {_why(trials[0])}" if trials else " in the time that they had"
            raise ValueError(
                f"none of {len(self.results_)} trials in {self.results_.experiment_path} came to "
                f"a score{why}"
            )
        return list(several) if several else names

    def _rows(self, trials: list[Result], names: list[str]) -> list[dict[str, Any]]:
        """Times and scores of each fold of each trial, as cross-validation has them."""
        rows, failed = [], []
        for trial in trials:
            metrics = _metrics(trial)
            for index in range(self.n_splits_):
                row: dict[str, Any] = {
                    name: metrics.get(f"split{index}_{name}", 0.0)
                    for name in ("fit_time", "score_time")
                }
                for of in ("test", "train") if self.return_train_score else ("test",):
                    scores = {
                        name: metrics.get(f"split{index}_{of}_{name}", self.error_score)
                        for name in names
                    }
                    row[f"{of}_scores"] = scores if self.multimetric_ else scores["score"]
                if any(f"split{index}_test_{name}" not in metrics for name in names):
                    failed.append(trial)
                rows.append(row)
        if failed:
            warnings.warn(
                f"{len(failed)} of {len(rows)} fits have failed or came to no score, which is "
                f"{self.error_score} then. The first, in {failed[0].path}: {_why(failed[0])}",
                FitFailedWarning,
                stacklevel=3,
            )
        return rows


def _hash(task: Task, data: Data, more: Any) -> str:
    try:
        return str(joblib.hash((task, replace(data, task=b""), more)))
    except Exception:  # noqa: BLE001 (a lambda among it, say, which only cloudpickle takes)
        return str(joblib.hash((data, more)))


def _metrics(trial: Result) -> dict[str, Any]:
    """What counts of a trial: of one that has failed, nothing."""
    return {} if trial.state == "ERROR" else trial.metrics


def _why(trial: Result) -> str:
    """The last that it said of its failure."""
    said = trial.error or _read(os.path.join(trial.path, "stderr.log")) or "it does not say why"
    return said.strip().splitlines()[0 if trial.error else -1]


def _epochs(trial: Result) -> int:
    return int(_metrics(trial).get("training_iteration", 0))


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None
