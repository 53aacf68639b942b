"""Schedulers, by Ray's names. Each is what docs/schedulers.md calls it, as JSON."""

from __future__ import annotations

import os
from typing import Any

from tune._ray import INSTEAD_IN, Missing

Scheduler = dict[str, Any]

__path__: list[str] = []  # so that what Ray has below it is looked for, and its absence explained

#: Ray's options that change nothing here: pbt's files are always written, and a result that lacks
#: an attribute changes nothing.
_NOTHING = ("log_config", "require_attrs")

#: Ray's options that are functions of this process: what to do instead.
_INSTEAD = {
    "custom_explore_fn": "domains in hyperparam_mutations keep a value within bounds",
    "resources_allocation_function": "leave it out, and what is free is divided evenly",
}


def _refuse_functions(kind: str, place: str, value: Any) -> None:
    if isinstance(value, dict):
        for name, each in value.items():
            _refuse_functions(kind, f"{place}/{name}", each)
    elif callable(value):
        raise TypeError(
            f"{kind}: {place} is a function, and the search goes on without this process: give a "
            "list or a domain, such as tune.uniform(0, 1)"
        )


def _of(kind: str, options: dict[str, Any]) -> Scheduler:
    scheduler: Scheduler = {"type": kind}
    for name, value in options.items():
        if value is None or name in _NOTHING:
            continue
        if name in _INSTEAD:
            raise TypeError(f"{kind} takes no {name}: {_INSTEAD[name]}")
        _refuse_functions(kind, name, value)
        scheduler[name] = value
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
    ``perturbation_interval`` (a list has a sub-population for each), ``time_attr``,
    ``quantile_fraction``. TypeError: a mutation is a function."""
    return _of("pbt", options)


def PB2(**options: Any) -> Scheduler:
    """The same, with hyperparameters from a model: ``hyperparam_bounds``."""
    return _of("pb2", options)


def PopulationBasedTrainingReplay(policy_file: str | os.PathLike[str]) -> Scheduler:
    """Follows the schedule that a trial of pbt has found, from ``pbt_policy_<trial>.txt``."""
    return {"type": "pbt_replay", "policy_file": os.path.abspath(policy_file)}


def ResourceChangingScheduler(**options: Any) -> Scheduler:
    """Gives trials more when few are left: ``base_scheduler``, ``increase_by``."""
    return _of("resource_changing", options)


def __getattr__(name: str) -> Any:
    if name in INSTEAD_IN["schedulers"]:
        return Missing(name, "schedulers")
    raise AttributeError(f"module 'tune.schedulers' has no attribute '{name}'")
