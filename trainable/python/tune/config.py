"""Ray's config classes: where the fields of a spec stand there."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tune._ray import REMOTE, WORKERS

if TYPE_CHECKING:
    import datetime

#: Ray's fields that have no counterpart: what to do instead.
_INSTEAD = {
    "trial_name_creator": "trials are numbered; report what tells them apart, or look at config",
    "trial_dirname_creator": "a trial's directory is named by its number; Result.path says where",
    "storage_filesystem": REMOTE,
    "sync_config": REMOTE,
    "progress_reporter": "the driver shows how it is doing; verbose=0 silences it",
    "local_dir": "say storage_path",
    "placement_group": "write resources_per_trial={'cpu': 2}",
    "scaling_config": WORKERS,
    "train_loop_config": "write what is in it into param_space itself",
    "train_loop_per_worker": WORKERS,
    "use_gpu": "write resources_per_trial={'gpu': 1}, or resources_per_worker={'gpu': 1}",
}
#: What the Tuner takes, and a config class does not.
_OF_TUNER = {"num_workers": WORKERS, "resources_per_worker": WORKERS}


def refuse(who: str, said: Mapping[str, Any], instead: Mapping[str, str] = _INSTEAD) -> None:
    """TypeError, if something is said by a name of Ray's that has no counterpart."""
    for name, sentence in instead.items():
        if said.get(name) is not None:
            raise TypeError(f"{who} takes no {name}: {sentence}")


def refuse_in_space(param_space: Mapping[str, Any]) -> None:
    """TypeError: the space is one for a trainer of Ray Train, and would go unused."""
    names = ("scaling_config", "train_loop_config")
    refuse("param_space", param_space, {name: _INSTEAD[name] for name in names})


def _refuse(config: Any) -> None:
    refuse(type(config).__name__, vars(config), {**_INSTEAD, **_OF_TUNER})


def seconds(value: Any) -> Any:
    """Of a number of them, or a timedelta."""
    return value.total_seconds() if hasattr(value, "total_seconds") else value


@dataclass
class TuneConfig:
    """How to search. TypeError for what Ray has and this has not, with what to do instead."""

    metric: str | Sequence[str] | None = None
    mode: str | Sequence[str] | None = None
    search_alg: Any = None  #: the spec's ``searcher``; a class of ``tune.policy``
    searcher: Any = None  #: the same
    points_to_evaluate: Sequence[dict[str, Any]] | None = None  #: configs to try first
    scheduler: Any = None
    num_samples: int | None = None
    max_concurrent_trials: int | None = None  #: 0, too: as many as there is room for
    time_budget_s: float | datetime.timedelta | None = None
    reuse_actors: bool | None = None  #: the spec's ``reuse_processes``
    trial_name_creator: Any = None  #: refused
    trial_dirname_creator: Any = None  #: refused
    chdir_to_trial_dir: bool | None = None  #: always so; False is refused
    num_workers: Any = None  #: refused: it is the Tuner's
    resources_per_worker: Any = None  #: refused: it is the Tuner's
    scaling_config: Any = None  #: refused

    def __post_init__(self) -> None:
        _refuse(self)
        if self.chdir_to_trial_dir is False:
            raise TypeError(
                "a trial runs in its own directory: name files by absolute paths in place of "
                "chdir_to_trial_dir=False"
            )

    def fields(self) -> dict[str, Any]:
        return {
            "metric": self.metric,
            "mode": self.mode,
            "search_alg": self.search_alg,
            "searcher": self.searcher,
            "points_to_evaluate": self.points_to_evaluate,
            "scheduler": self.scheduler,
            "num_samples": self.num_samples,
            "max_concurrent_trials": self.max_concurrent_trials or None,
            "time_budget_s": seconds(self.time_budget_s),
            "reuse_processes": self.reuse_actors,
        }


@dataclass
class CheckpointConfig:
    """Which checkpoints are made and kept."""

    num_to_keep: int | None = None
    checkpoint_score_attribute: str | None = None
    checkpoint_score_order: str | None = None
    checkpoint_frequency: int | None = None
    checkpoint_at_end: bool | None = None
    checkpoint_at_start: bool | None = None  #: before the first step, as iteration 0


@dataclass
class FailureConfig:
    """What becomes of trials that fail."""

    max_failures: int | None = None
    fail_fast: bool | str | None = None


@dataclass
class RunConfig:
    """Where results go, and when trials end. TypeError for what Ray has and this has not, with
    what to do instead."""

    name: str | None = None
    storage_path: str | os.PathLike[str] | None = None
    storage_filesystem: Any = None  #: refused
    failure_config: FailureConfig | dict[str, Any] | None = None
    checkpoint_config: CheckpointConfig | dict[str, Any] | None = None
    sync_config: Any = None  #: refused
    verbose: int | None = None  #: 0: print nothing, 1, 2: in lines, 3: what trials print, too
    stop: Any = None  #: ``{"loss": 0.1}``, of ``tune.stopper``, or a function
    callbacks: Sequence[Any] | None = None  #: of `tune.Callback`, or the spec's
    progress_reporter: Any = None  #: refused
    log_to_file: bool | None = None  #: always so: ``stdout.log`` and ``stderr.log`` of a trial
    local_dir: Any = None  #: refused
    remote: dict[str, Any] | str | None = None  #: the spec's; a text is its ``path``
    num_workers: Any = None  #: refused: it is the Tuner's
    resources_per_worker: Any = None  #: refused: it is the Tuner's
    scaling_config: Any = None  #: refused

    def __post_init__(self) -> None:
        _refuse(self)
        if self.log_to_file not in (None, False, True):
            raise TypeError(
                f"log_to_file is {self.log_to_file!r}, but a trial's output is always in "
                "stdout.log and stderr.log of its directory"
            )

    def fields(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "storage_path": self.storage_path,
            "remote": self.remote,
            "failure_config": self.failure_config,
            "checkpoint_config": self.checkpoint_config,
            "stop": self.stop,
            "callbacks": self.callbacks,
            "verbose": self.verbose,
        }


def spec_value(value: Any) -> Any:
    """What a spec has in place of one of these classes: without what is not said."""
    if isinstance(value, (CheckpointConfig, FailureConfig)):
        return {name: each for name, each in vars(value).items() if each is not None}
    return value
