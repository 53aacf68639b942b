"""Ray's config classes: where the fields of a spec stand there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass
class TuneConfig:
    """How to search."""

    metric: str | Sequence[str] | None = None
    mode: str | Sequence[str] | None = None
    search_alg: str | dict[str, Any] | None = None  #: the spec's ``searcher``
    scheduler: str | dict[str, Any] | None = None
    num_samples: int | None = None
    max_concurrent_trials: int | None = None
    time_budget_s: float | None = None
    reuse_actors: bool | None = None  #: the spec's ``reuse_processes``

    def fields(self) -> dict[str, Any]:
        names = {"search_alg": "searcher", "reuse_actors": "reuse_processes"}
        return {names.get(name, name): value for name, value in vars(self).items()}


@dataclass
class CheckpointConfig:
    """Which checkpoints are made and kept."""

    num_to_keep: int | None = None
    checkpoint_score_attribute: str | None = None
    checkpoint_score_order: str | None = None
    checkpoint_frequency: int | None = None
    checkpoint_at_end: bool | None = None


@dataclass
class FailureConfig:
    """What becomes of trials that fail."""

    max_failures: int | None = None
    fail_fast: bool | str | None = None


@dataclass
class RunConfig:
    """Where results go, and when trials end."""

    name: str | None = None
    storage_path: str | None = None
    stop: dict[str, float] | None = None
    checkpoint_config: CheckpointConfig | dict[str, Any] | None = None
    failure_config: FailureConfig | dict[str, Any] | None = None
    verbose: int | None = None  #: 0: print nothing
    callbacks: Sequence[Any] | None = None  #: of `tune.Callback`, or of the spec's

    def fields(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "verbose"}


def spec_value(value: Any) -> Any:
    """What a spec has in place of one of these classes: without what is not said."""
    if isinstance(value, (CheckpointConfig, FailureConfig)):
        return {name: each for name, each in vars(value).items() if each is not None}
    return value
