"""When trials end, by Ray's names: for ``stop``. docs/spec.md has the rules as JSON."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tune import policy
from tune.config import seconds

if TYPE_CHECKING:
    import datetime

Rule = dict[str, Any]

__path__: list[str] = []  # so that what Ray has below it is looked for, and its absence explained


class Stopper:
    """One of your own. It is pickled, and asked in a process beside the driver: so it answers by
    what it has been given alone, in the order of the results."""

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        """Whether the trial ends with this result: its metrics, as they were reported, and
        ``trial_id``, ``training_iteration``, ``time_total_s``. The config is not among them."""
        raise NotImplementedError

    def stop_all(self) -> bool:
        """Whether the whole search ends. Asked after each result."""
        return False


def _rule(kind: str, **options: Any) -> Rule:
    return {"type": kind, **{name: each for name, each in options.items() if each is not None}}


def MaximumIterationStopper(max_iter: int) -> Rule:
    """Ends a trial after so many iterations."""
    return _rule("max_iteration", iterations=max_iter)


def TrialPlateauStopper(
    metric: str | None = None,
    std: float = 0.01,
    num_results: int = 4,
    grace_period: int = 4,
    metric_threshold: float | None = None,
    mode: str | None = None,
) -> Rule:
    """Ends a trial whose last `num_results` values of `metric` have a standard deviation of at most
    `std`."""
    return _rule(
        "trial_plateau",
        metric=metric,
        std=std,
        num_results=num_results,
        grace_period=grace_period,
        metric_threshold=metric_threshold,
        mode=mode,
    )


def ExperimentPlateauStopper(
    metric: str | None = None,
    std: float = 0.001,
    top: int = 10,
    mode: str | None = None,
    patience: int = 0,
) -> Rule:
    """Ends the search once the `top` best trials have had much the same value."""
    return _rule(
        "experiment_plateau", metric=metric, std=std, top=top, mode=mode, patience=patience
    )


def TimeoutStopper(timeout: float | datetime.timedelta) -> Rule:
    """Ends the search after so many seconds."""
    return _rule("time_budget", seconds=seconds(timeout))


def NoopStopper() -> list[Any]:
    """Ends nothing."""
    return []


def CombinedStopper(*stoppers: Any) -> list[Any]:
    """Ends what one of these ends."""
    return list(stoppers)


def FunctionStopper(
    function: Callable[[str, dict[str, Any]], bool],
) -> Callable[[str, dict[str, Any]], bool]:
    """Ends a trial when ``function(trial_id, result)`` says so."""
    return function


class Asked(policy.Stopper):
    """A Stopper, or a function, as the driver's programs are."""

    def __init__(self, asked: Any) -> None:
        super().__init__()
        # A driver that goes on says everything again to one that has heard nothing.
        self._asked = copy.deepcopy(asked)

    def should_stop(self, trial: int, iteration: int, metrics: dict[str, Any]) -> bool:
        result = {
            **metrics,
            "training_iteration": iteration,
            "trial_id": f"trial_{trial:05d}",
        }
        return bool(self._asked(result["trial_id"], result))

    def should_stop_all(self) -> str | None:
        stops = getattr(self._asked, "stop_all", None)
        if stops is not None and stops():
            return f"{type(self._asked).__name__} has stopped the search"
        return None
