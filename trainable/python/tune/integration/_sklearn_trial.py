"""What a trial of a search over a scikit-learn estimator does: trains and scores each fold."""

from __future__ import annotations

import math
import os
import pickle
import sys
import time
import traceback
import warnings
from dataclasses import dataclass
from typing import Any

import joblib
import numpy
from sklearn.base import clone, is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import _check_method_params

from tune import get_checkpoint, get_context, report
from tune.integration._sklearn_space import Space

#: The variable that names the file with the task and the data, in the experiment's directory.
FILE_VARIABLE = "TUNE_SKLEARN_FILE"

_STATE = "state.joblib"
_TREES = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)


@dataclass
class Task:
    """What a trial does, but for the data."""

    estimator: Any
    space: Space
    scorer: Any
    objective: str | None  #: by which of several metrics the search goes; None: the only one
    error_score: Any
    epochs: int  #: 0: estimators learn at once
    return_train_score: bool


@dataclass
class Data:
    """What is written once, and mapped into the memory of each trial."""

    task: bytes  #: a pickled `Task`
    X: Any
    y: Any
    splits: list[tuple[Any, Any]]
    fit_params: dict[str, Any]
    score_params: dict[str, Any]


def _last(estimator: Any) -> Any:
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def grows_by(estimator: Any) -> str | None:
    """How it learns step by step: ``"partial_fit"``, or the parameter that says how much, with
    ``warm_start``; None: it does not."""
    last = _last(estimator)
    if hasattr(last, "partial_fit"):
        return "partial_fit"
    there = last.get_params(deep=False) if hasattr(last, "get_params") else {}
    names = [name for name in ("n_estimators", "max_iter") if name in there]
    return names[0] if names and "warm_start" in there else None


class Learner:
    """An estimator with these params, which learns from these rows (None: all): at once, or in
    `task.epochs` steps. Of a pipeline, the last step does so; the others learn before."""

    def __init__(self, task: Task, params: dict[str, Any], data: Data, rows: Any = None) -> None:
        self.estimator = clone(task.estimator).set_params(**clone(params, safe=False))
        self._params = data.fit_params
        self._X, self._y = data.X, data.y
        if rows is not None:
            self._X, self._y = _safe_split(self.estimator, data.X, data.y, rows)
            self._params = _check_method_params(data.X, data.fit_params, indices=rows)
        self._epochs = task.epochs
        self._by = grows_by(self.estimator) if task.epochs else None
        self._own = _last(self.estimator).get_params(deep=False) if self._by else {}
        self._labels = {}
        if self._by == "partial_fit" and is_classifier(self.estimator):
            self._labels = {"classes": unique_labels(data.y)}  # a fold may lack one

    def go_on_from(self, trained: Any, changed: dict[str, Any]) -> None:
        """Takes an estimator that has learnt, and what it is to do otherwise from now on."""
        self.estimator = trained.set_params(**changed)
        self._run_head(fitted=True)

    def step(self, epoch: int) -> None:
        """`epoch` counts from 1."""
        if epoch == 1:
            self._run_head(fitted=False)
        last = _last(self.estimator)
        if self._by is None:
            self.estimator.fit(*self._rows(), **self._params)
        elif self._by == "partial_fit":
            last.partial_fit(*self._rows(), **(self._labels if epoch == 1 else {}), **self._params)
        else:
            self._grow(last, self._by, epoch)

    def _rows(self) -> tuple[Any, ...]:
        return (self._X,) if self._y is None else (self._X, self._y)

    def _run_head(self, fitted: bool) -> None:
        pipeline = self.estimator
        if self._by is None or not isinstance(pipeline, Pipeline):
            return
        prefix = f"{pipeline.steps[-1][0]}__"
        self._params = {name.removeprefix(prefix): each for name, each in self._params.items()}
        if len(pipeline.steps) > 1:
            head = pipeline[:-1]
            self._X = head.transform(self._X) if fitted else head.fit_transform(self._X, self._y)
            pipeline.steps = [*head.steps, pipeline.steps[-1]]

    def _grow(self, last: Any, by: str, epoch: int) -> None:
        before, after = (
            math.ceil(self._own[by] * each / self._epochs) for each in (epoch - 1, epoch)
        )
        if after == before:
            return
        # Trees are counted in all; iterations of others anew with each call.
        counts_anew = by == "max_iter" and not isinstance(last, _TREES)
        last.set_params(**{"warm_start": True, by: after - before if counts_anew else after})
        with warnings.catch_warnings():
            if counts_anew:
                warnings.simplefilter("ignore", ConvergenceWarning)
            last.fit(*self._rows(), **self._params)
        last.set_params(**{"warm_start": self._own["warm_start"], by: after})


class _Fold:
    """A learner that is scored on the rows that it does not learn from."""

    def __init__(self, task: Task, params: dict[str, Any], data: Data, index: int) -> None:
        self._task, self._data = task, data
        self._train, self._test = data.splits[index]
        self.learner = Learner(task, params, data, self._train)
        self.fit_time = 0.0
        self.failed = False

    def state(self) -> tuple[Any, float, bool]:
        return self.learner.estimator, self.fit_time, self.failed

    def go_on_from(self, state: tuple[Any, float, bool], changed: dict[str, Any]) -> None:
        trained, self.fit_time, self.failed = state
        if not self.failed:
            self.learner.go_on_from(trained, changed)

    def step(self, epoch: int) -> dict[str, float]:
        """Times and scores. What fails has no score, and is not trained any more."""
        found: dict[str, float] = {}
        begin = time.perf_counter()
        if not self.failed:
            try:
                self.learner.step(epoch)
                self.fit_time += time.perf_counter() - begin
                begin = time.perf_counter()
                found = self._scores("test", self._test)
                found["score_time"] = time.perf_counter() - begin
                if self._task.return_train_score:
                    found.update(self._scores("train", self._train))
            except Exception:
                if self._task.error_score == "raise":
                    raise
                traceback.print_exc()
                self.failed = True
        return {"fit_time": self.fit_time, **found}

    def _scores(self, of: str, rows: Any) -> dict[str, float]:
        data, estimator = self._data, self.learner.estimator
        X, y = _safe_split(estimator, data.X, data.y, rows, self._train)
        params = _check_method_params(data.X, data.score_params, indices=rows)
        scores = self._task.scorer(estimator, *((X,) if y is None else (X, y)), **params)
        found = {}
        for name, score in (scores if isinstance(scores, dict) else {"score": scores}).items():
            if isinstance(score, str):  # why one of several has failed
                print(score, file=sys.stderr)
            else:
                found[f"{of}_{name}"] = float(score)
        return found


def _objective(task: Task, found: dict[str, float]) -> float:
    there = [name for name in found if name.startswith("test_")]
    name = f"test_{task.objective}" if task.objective is not None else next(iter(there), "")
    return found[name] if name in found else float(task.error_score)


def load(directory: str) -> tuple[Task, Data]:
    """What is searched in the experiment's directory. Arrays are mapped, to read only."""
    data: Data = joblib.load(os.path.join(directory, os.environ[FILE_VARIABLE]), mmap_mode="r")
    return pickle.loads(data.task), data


def train(config: dict[str, Any]) -> None:
    """The trial. Reports after each epoch ``score``, and for each fold ``split0_test_score`` ..."""
    task, data = load(get_context().experiment_path)
    values = task.space.values(config)
    folds = [
        _Fold(task, task.space.params(values), data, index) for index in range(len(data.splits))
    ]
    epoch = 0
    if checkpoint := get_checkpoint():
        epoch, before, states = joblib.load(os.path.join(checkpoint.path, _STATE))
        # Set anew, a step of a pipeline that is itself a value would forget what it has learnt.
        changed = {name: value for name, value in values.items() if before.get(name) != value}
        for fold, state in zip(folds, states):
            fold.go_on_from(state, task.space.params(changed))

    def save(directory: str) -> None:
        states = [fold.state() for fold in folds]
        joblib.dump((epoch, values, states), os.path.join(directory, _STATE))

    while epoch < max(task.epochs, 1):
        epoch += 1
        found = [fold.step(epoch) for fold in folds]
        metrics = {
            f"split{i}_{name}": x for i, each in enumerate(found) for name, x in each.items()
        }
        score = numpy.mean([_objective(task, each) for each in found])
        report({"score": score, **metrics}, save=save if task.epochs else None)
        if all(fold.failed for fold in folds):
            return
