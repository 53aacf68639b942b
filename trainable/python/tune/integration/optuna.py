"""Optuna's samplers: ``Tuner(..., searcher=OptunaSearch())``, or with another sampler
``searcher=OptunaSearch(sampler="CmaEsSampler")``."""

from __future__ import annotations

import difflib
from importlib.util import find_spec
from typing import Any

import optuna

from tune import policy
from tune.integration._space import draw, drawn

#: What a sampler imports once it samples, some trials after the start.
_NEEDED = {
    "CmaEsSampler": ("cmaes",),
    "GPSampler": ("torch", "scipy"),
    "QMCSampler": ("scipy",),
}


def _sampler_named(name: str) -> Any:
    """The class. TypeError: Optuna has none of that name. ModuleNotFoundError: it would fail."""
    kind = getattr(optuna.samplers, name, None)
    if kind is None:
        names = [each for each in dir(optuna.samplers) if each.endswith("Sampler")]
        near = difflib.get_close_matches(name, names, 1)
        meant = f": did you mean {near[0]!r}?" if near else f", but {', '.join(names)}"
        raise TypeError(f"optuna.samplers has no {name!r}{meant}")
    missing = [each for each in _NEEDED.get(name, ()) if find_spec(each) is None]
    if missing:
        raise ModuleNotFoundError(
            f"Optuna's {name} needs {' and '.join(missing)}: pip install {' '.join(missing)}"
        )
    return kind


class _Suggests:
    def __init__(self, trial: Any) -> None:
        self._trial = trial

    def real(self, name: str, lower: float, upper: float, step: float | None, log: bool) -> float:
        number: float = self._trial.suggest_float(name, lower, upper, step=step, log=log)
        return number

    def whole(self, name: str, lower: int, upper: int, step: int, log: bool) -> int:
        number: int = self._trial.suggest_int(name, lower, upper, step=step, log=log)
        return number

    def index(self, name: str, count: int) -> int:
        index: int = self._trial.suggest_categorical(name, list(range(count)))
        return index


class OptunaSearch(policy.Searcher):
    """A study whose trials are the search's.

    Options: `sampler`, the name of a class in ``optuna.samplers``; `points_to_evaluate`, configs or
    parts of them that are tried first; others are the sampler's arguments. It is seeded by the
    search, so the study is made again from what was said: no storage is needed. `metric` and
    `mode`: the search's, where it has no others.

    TypeError: the sampler is no name of one; there is a space of its own. ModuleNotFoundError: the
    sampler needs a module that is not installed.
    """

    def __init__(
        self,
        space: None = None,
        metric: str | list[str] | None = None,
        mode: str | list[str] | None = None,
        points_to_evaluate: list[dict[str, Any]] | None = None,
        **options: Any,
    ) -> None:
        if space is not None:
            raise TypeError("OptunaSearch takes no space: the Tuner's param_space is searched")
        for name in ("study_name", "storage", "evaluated_rewards"):
            if options.pop(name, None) is not None:
                raise TypeError(f"OptunaSearch takes no {name}: the driver keeps the study")
        sampler = options.get("sampler")
        if sampler is not None and not isinstance(sampler, str):
            raise TypeError(
                "the sampler is made in another process: give its name and its arguments, "
                f"OptunaSearch(sampler='{type(sampler).__name__}', ...)"
            )
        if sampler is not None:
            _sampler_named(sampler)  # here, and not first in the search
        if points_to_evaluate:
            options["points_to_evaluate"] = points_to_evaluate
        super().__init__(**{name: each for name, each in options.items() if each is not None})
        if metric is not None:
            self.metric, self.mode = metric, mode  # type: ignore[assignment]

    def setup(
        self,
        sampler: str = "TPESampler",
        points_to_evaluate: list[dict[str, Any]] | None = None,
        **arguments: Any,
    ) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        kind = _sampler_named(sampler)
        direction = optuna.study.StudyDirection
        directions = [
            direction.MINIMIZE if mode == "min" else direction.MAXIMIZE for mode in self.mode
        ]
        self._study = optuna.create_study(
            sampler=kind(**{"seed": self.seed % 2**32, **arguments}), directions=directions
        )
        self._trials: dict[int, Any] = {}
        for point in points_to_evaluate or ():
            self._study.enqueue_trial(drawn(self.param_space, point))

    def suggest(self, trial: int) -> dict[str, Any]:
        self._trials[trial] = self._study.ask()
        return draw(self.param_space, _Suggests(self._trials[trial]))

    def on_refused(self, trial: int, constraint: str) -> None:
        self._study.tell(self._trials.pop(trial), state=optuna.trial.TrialState.FAIL)

    def on_trial_end(
        self, trial: int, iteration: int, metrics: dict[str, float | None], how: str
    ) -> None:
        asked = self._trials.pop(trial, None)
        if asked is None:
            return  # added by hand
        found = (metrics.get(name) for name in self.metric)
        values = [value for value in found if value is not None]
        if how in ("failed", "lost") or len(values) < len(self.metric):
            self._study.tell(asked, state=optuna.trial.TrialState.FAIL)
        else:
            self._study.tell(asked, values)
