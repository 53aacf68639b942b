"""Schedulers, by Ray's names. Each is what docs/schedulers.md calls it, as JSON."""

from __future__ import annotations

from typing import Any

Scheduler = dict[str, Any]

#: Ray's names of options that are called otherwise in the spec; None: they mean nothing here.
_OTHER_NAMES: dict[str, str | None] = {
    "custom_explore_fn": None,
    "log_config": None,
    "require_attrs": None,
    "hyperparam_bounds": "hyperparam_bounds",
}


def _of(kind: str, options: dict[str, Any]) -> Scheduler:
    scheduler: Scheduler = {"type": kind}
    for name, value in options.items():
        if value is None:
            continue
        known = _OTHER_NAMES.get(name, name)
        if known is None:
            raise TypeError(f"{kind} has no option '{name}'")
        scheduler[known] = value
    return scheduler


def FIFOScheduler() -> Scheduler:
    """Each trial trains to its end."""
    return {"type": "fifo"}


def ASHAScheduler(**options: Any) -> Scheduler:
    """Stops trials that are not among the best at a rung: ``max_t``, ``grace_period``,
    ``reduction_factor``, ``brackets``, ``time_attr``."""
    return _of("asha", options)


AsyncHyperBandScheduler = ASHAScheduler


def HyperBandScheduler(**options: Any) -> Scheduler:
    """Pauses trials at milestones until their bracket is there: ``max_t``, ``reduction_factor``."""
    return _of("hyperband", options)


def HyperBandForBOHB(**options: Any) -> Scheduler:
    """The same for the searcher ``bohb``."""
    return _of("bohb", options)


def MedianStoppingRule(**options: Any) -> Scheduler:
    """Stops trials whose best is worse than the median of the others' averages."""
    return _of("median_stopping", options)


def PopulationBasedTraining(**options: Any) -> Scheduler:
    """Bad trials go on as copies of good ones: ``hyperparam_mutations``,
    ``perturbation_interval``, ``time_attr``, ``quantile_fraction``."""
    return _of("pbt", options)


def PB2(**options: Any) -> Scheduler:
    """The same, with hyperparameters from a model: ``hyperparam_bounds``."""
    return _of("pb2", options)
