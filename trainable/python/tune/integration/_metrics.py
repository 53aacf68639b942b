"""Which of a library's metrics are reported, and under which names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Union

#: None: all; a name; names; or {ours: theirs}.
Metrics = Union[None, str, Sequence[str], Mapping[str, str]]


def selected(metrics: Metrics, there: Mapping[str, Any]) -> dict[str, Any]:
    """What of `there` is to be reported. KeyError that names what is there, if one is not."""
    if metrics is None:
        return dict(there)
    if isinstance(metrics, str):
        metrics = [metrics]
    names = metrics if isinstance(metrics, Mapping) else {name: name for name in metrics}
    missing = [theirs for theirs in names.values() if theirs not in there]
    if missing:
        raise KeyError(f"there is no metric '{missing[0]}'; there are: {', '.join(sorted(there))}")
    return {ours: there[theirs] for ours, theirs in names.items()}


def marked(metrics: dict[str, Any], checkpoint: bool) -> dict[str, Any]:
    """`metrics` as they are reported: with a checkpoint, if one is asked for."""
    return {**metrics, "should_checkpoint": True} if checkpoint else metrics
