"""Nevergrad's optimizers: ``searcher=NevergradSearch(optimizer="TwoPointsDE")``."""

from __future__ import annotations

from typing import Any

import nevergrad

from tune import policy
from tune.integration._space import draw


class _Describes:
    """Collects what there is to draw; conditional parts by their first values."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}

    def real(self, name: str, lower: float, upper: float, step: float | None, log: bool) -> float:
        made = nevergrad.p.Log if log else nevergrad.p.Scalar
        self.found[name] = made(lower=lower, upper=upper)
        return lower

    def whole(self, name: str, lower: int, upper: int, step: int, log: bool) -> int:
        made = nevergrad.p.Log if log else nevergrad.p.Scalar
        self.found[name] = made(lower=lower, upper=upper).set_integer_casting()
        return lower

    def index(self, name: str, count: int) -> int:
        self.found[name] = nevergrad.p.Choice(list(range(count)))
        return 0


class _Takes:
    """Takes what was asked for, and the lowest of what was not known of."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def real(self, name: str, lower: float, upper: float, step: float | None, log: bool) -> float:
        value = float(self._values.get(name, lower))
        if step is not None:
            value = round(value / step) * step
        return min(upper, max(lower, value))

    def whole(self, name: str, lower: int, upper: int, step: int, log: bool) -> int:
        value = round(int(self._values.get(name, lower)) / step) * step
        return min(upper, max(lower, value))

    def index(self, name: str, count: int) -> int:
        return int(self._values.get(name, 0))


class NevergradSearch(policy.Searcher):
    """An optimizer whose candidates are the search's trials, for one metric.

    Options: `optimizer`, a name in ``nevergrad.optimizers.registry``; `budget`, how many trials it
    plans for, by default the search's.
    """

    def setup(self, optimizer: str = "NGOpt", budget: int | None = None) -> None:
        describes = _Describes()
        draw(self.param_space, describes)
        space = nevergrad.p.Dict(**describes.found)
        space.random_state.seed(self.seed % 2**32)
        if budget is None and self.num_samples > 0:
            budget = self.num_samples
        made = nevergrad.optimizers.registry[optimizer]
        self._optimizer = made(parametrization=space, budget=budget)
        self._asked: dict[int, Any] = {}

    def suggest(self, trial: int) -> dict[str, Any]:
        self._asked[trial] = self._optimizer.ask()
        return draw(self.param_space, _Takes(self._asked[trial].value))

    def on_trial_end(
        self, trial: int, iteration: int, metrics: dict[str, float | None], how: str
    ) -> None:
        asked = self._asked.pop(trial, None)
        value = metrics.get(self.metric[0])
        if asked is None or value is None or how in ("failed", "lost"):
            return
        self._optimizer.tell(asked, value if self.mode[0] == "min" else -value)
