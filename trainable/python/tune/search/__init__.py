"""Searchers, by Ray's names. docs/searchers.md has the driver's own, by which a spec names them."""

from __future__ import annotations

from typing import Any

from tune._ray import INSTEAD_IN, Missing
from tune.space import grid_search

__all__ = ["BasicVariantGenerator", "ConcurrencyLimiter", "Repeater", "grid_search"]


def _as_dict(searcher: Any, what: str) -> dict[str, Any]:
    if isinstance(searcher, str):
        return {"type": searcher}
    if isinstance(searcher, dict):
        return dict(searcher)
    raise TypeError(
        f"{what} is for the driver's own searchers, such as 'tpe', and not for {searcher!r}"
    )


def BasicVariantGenerator(
    points_to_evaluate: list[dict[str, Any]] | None = None,
    max_concurrent: int = 0,
    constant_grid_search: bool = False,
    random_state: None = None,
) -> dict[str, Any]:
    """Draws at random, and goes through grids. TypeError: a `random_state` was given."""
    if random_state is not None:
        raise TypeError("random_state is the search's: give the Tuner seed=1")
    options = {
        "points_to_evaluate": points_to_evaluate,
        "max_concurrent": max_concurrent or None,
        "constant_grid_search": constant_grid_search or None,
    }
    return {"type": "random", **{name: each for name, each in options.items() if each is not None}}


class ConcurrencyLimiter:
    """`searcher`, while no more than `max_concurrent` trials have not ended."""

    def __init__(self, searcher: Any, max_concurrent: int, batch: bool = False) -> None:
        if batch:
            options = {"max_concurrent": max_concurrent, "batch": True}
            searcher = {**_as_dict(searcher, "batch=True"), **options}
        self.searcher = searcher
        self.max_concurrent = max_concurrent


def Repeater(searcher: Any, repeat: int = 1) -> dict[str, Any]:
    """Each config of `searcher` is tried so many times; it learns of the mean."""
    return {**_as_dict(searcher, "Repeater"), "repeat": repeat}


def __getattr__(name: str) -> Any:
    if name in INSTEAD_IN["search"]:
        return Missing(name, "search")
    raise AttributeError(f"module 'tune.search' has no attribute '{name}'")
