"""Domains of hyperparameters, by Ray's names. Each is what docs/spec.md calls it, as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

Domain = dict[str, Any]


def uniform(lower: float, upper: float) -> Domain:
    """A number between `lower` and `upper`."""
    return {"uniform": [lower, upper]}


def quniform(lower: float, upper: float, q: float) -> Domain:
    """A multiple of `q` between `lower` and `upper`, both of which may be drawn."""
    return {"quniform": [lower, upper, q]}


def loguniform(lower: float, upper: float, base: float = 10) -> Domain:
    """A number between `lower` and `upper`, each magnitude as likely as the others.
    `base` changes nothing: the numbers are the same for each."""
    return {"loguniform": [lower, upper]}


def qloguniform(lower: float, upper: float, q: float, base: float = 10) -> Domain:
    """A multiple of `q`, each magnitude as likely as the others."""
    return {"qloguniform": [lower, upper, q]}


def randn(mean: float = 0.0, sd: float = 1.0) -> Domain:
    """A normally distributed number."""
    return {"randn": [mean, sd]}


def qrandn(mean: float, sd: float, q: float) -> Domain:
    """A normally distributed multiple of `q`."""
    return {"qrandn": [mean, sd, q]}


def randint(lower: int, upper: int) -> Domain:
    """A whole number, at least `lower` and less than `upper`."""
    return {"randint": [lower, upper]}


def qrandint(lower: int, upper: int, q: int = 1) -> Domain:
    """A multiple of `q` from `lower` to `upper`, both of which may be drawn."""
    return {"qrandint": [lower, upper, q]}


def lograndint(lower: int, upper: int, base: float = 10) -> Domain:
    """A whole number, each magnitude as likely as the others; less than `upper`."""
    return {"lograndint": [lower, upper]}


def qlograndint(lower: int, upper: int, q: int, base: float = 10) -> Domain:
    """A multiple of `q`, each magnitude as likely as the others."""
    return {"qlograndint": [lower, upper, q]}


def _listed(name: str, values: Any, others: tuple[Any, ...]) -> list[Any]:
    """TypeError: the values are not given as one list; a text would be the list of its letters."""
    if others or isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        shown = ", ".join(repr(each) for each in (values, *others))
        raise TypeError(f"{name} takes the values as one list: tune.{name}([{shown}])")
    return list(values)


def choice(categories: Iterable[Any], *others: NoReturn) -> Domain:
    """One of these. Dicts among them may hold domains of their own."""
    return {"choice": _listed("choice", categories, others)}


def grid_search(values: Iterable[Any], *others: NoReturn) -> Domain:
    """Each of these, in combination with all other grids."""
    return {"grid_search": _listed("grid_search", values, others)}


def expr(expression: str) -> Domain:
    """What an expression over other hyperparameters comes to: ``"2 * hidden // 3"``,
    ``"64 if layers > 2 else 128"``. What there is: docs/spec.md, "Expressions"."""
    return {"expr": expression}


def sample_from(function: object) -> NoReturn:
    """Not there: a search must be able to go on without the process that began it."""
    raise TypeError(
        "sample_from is not there, since a search goes on without this process: say it as an "
        "expression over other hyperparameters, tune.expr('64 if layers > 2 else 2 * hidden // 3')"
    )
