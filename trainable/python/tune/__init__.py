"""Hyperparameter search: many trials of a training, steered, saved and resumable.

Under a driver or not, a training function calls `report`, `get_checkpoint` and `get_context`;
a search is a `Tuner`. docs/python.md is the tutorial.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tune._driver import TrialStopped
from tune._ray import INSTEAD, MODULES, Finder, Missing
from tune._session import TrialContext, get_checkpoint, get_context, report
from tune.checkpoint import Checkpoint
from tune.space import (
    choice,
    expr,
    grid_search,
    lograndint,
    loguniform,
    qlograndint,
    qloguniform,
    qrandint,
    qrandn,
    quniform,
    randint,
    randn,
    sample_from,
    uniform,
)
from tune.trainable import Trainable

if TYPE_CHECKING:
    from tune._events import events
    from tune.callback import Callback, Trial
    from tune.config import CheckpointConfig, FailureConfig, RunConfig, TuneConfig
    from tune.results import Result, ResultGrid, TuneError
    from tune.stopper import Stopper
    from tune.tuner import PlacementGroupFactory, Tuner, with_parameters, with_resources

Finder.install()

__version__ = "0.1.0"

#: Loaded when they are asked for: a trial needs none of them, and starts sooner.
_LATER = {
    "Callback": "tune.callback",
    "CheckpointConfig": "tune.config",
    "FailureConfig": "tune.config",
    "PlacementGroupFactory": "tune.tuner",
    "Result": "tune.results",
    "ResultGrid": "tune.results",
    "RunConfig": "tune.config",
    "Stopper": "tune.stopper",
    "TuneConfig": "tune.config",
    "Trial": "tune.callback",
    "TuneError": "tune.results",
    "Tuner": "tune.tuner",
    "blobs": "",
    "schedulers": "",
    "events": "tune._events",
    "search": "",
    "stopper": "",
    "torch": "",
    "with_parameters": "tune.tuner",
    "with_resources": "tune.tuner",
}

__all__ = [
    "Callback",
    "Checkpoint",
    "CheckpointConfig",
    "FailureConfig",
    "PlacementGroupFactory",
    "Result",
    "ResultGrid",
    "RunConfig",
    "Stopper",
    "Trainable",
    "Trial",
    "TrialContext",
    "TrialStopped",
    "TuneConfig",
    "TuneError",
    "Tuner",
    "choice",
    "events",
    "expr",
    "get_checkpoint",
    "get_context",
    "grid_search",
    "lograndint",
    "loguniform",
    "qlograndint",
    "qloguniform",
    "qrandint",
    "qrandn",
    "quniform",
    "randint",
    "randn",
    "report",
    "sample_from",
    "uniform",
    "with_parameters",
    "with_resources",
]


def __getattr__(name: str) -> Any:
    if name in INSTEAD:
        return Missing(name)
    if name in MODULES:
        raise AttributeError(f"there is no tune.{name}: {MODULES[name]}")
    if name not in _LATER:
        raise AttributeError(f"module 'tune' has no attribute '{name}'")
    module = _LATER[name]
    if not module:
        return importlib.import_module(f"tune.{name}")
    return getattr(importlib.import_module(module), name)
