"""Domains of hyperparameters, by Ray's names. Each is what docs/spec.md calls it, as JSON.

``prior=1e-3`` says which value is likely good, ``prior={"value": 1e-3, "confidence": "high"}`` how
sure that is ("low", "medium" or "high"); docs/searchers.md, "Priors", says what comes of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

Domain = dict[str, Any]


def _believed(domain: Domain, prior: Any) -> Domain:
    return domain if prior is None else {**domain, "prior": prior}


def uniform(lower: float, upper: float, *, prior: Any = None) -> Domain:
    """A number between `lower` and `upper`."""
    return _believed({"uniform": [lower, upper]}, prior)


def quniform(lower: float, upper: float, q: float, *, prior: Any = None) -> Domain:
    """A multiple of `q` between `lower` and `upper`, both of which may be drawn."""
    return _believed({"quniform": [lower, upper, q]}, prior)


def loguniform(lower: float, upper: float, base: float = 10, *, prior: Any = None) -> Domain:
    """A number between `lower` and `upper`, each magnitude as likely as the others.
    `base` changes nothing: the numbers are the same for each."""
    return _believed({"loguniform": [lower, upper]}, prior)


def qloguniform(
    lower: float, upper: float, q: float, base: float = 10, *, prior: Any = None
) -> Domain:
    """A multiple of `q`, each magnitude as likely as the others."""
    return _believed({"qloguniform": [lower, upper, q]}, prior)


def randn(mean: float = 0.0, sd: float = 1.0, *, prior: Any = None) -> Domain:
    """A normally distributed number."""
    return _believed({"randn": [mean, sd]}, prior)


def qrandn(mean: float, sd: float, q: float, *, prior: Any = None) -> Domain:
    """A normally distributed multiple of `q`."""
    return _believed({"qrandn": [mean, sd, q]}, prior)


def randint(lower: int, upper: int, *, prior: Any = None) -> Domain:
    """A whole number, at least `lower` and less than `upper`."""
    return _believed({"randint": [lower, upper]}, prior)


def qrandint(lower: int, upper: int, q: int = 1, *, prior: Any = None) -> Domain:
    """A multiple of `q` from `lower` to `upper`, both of which may be drawn."""
    return _believed({"qrandint": [lower, upper, q]}, prior)


def lograndint(lower: int, upper: int, base: float = 10, *, prior: Any = None) -> Domain:
    """A whole number, each magnitude as likely as the others; less than `upper`."""
    return _believed({"lograndint": [lower, upper]}, prior)


def qlograndint(lower: int, upper: int, q: int, base: float = 10, *, prior: Any = None) -> Domain:
    """A multiple of `q`, each magnitude as likely as the others."""
    return _believed({"qlograndint": [lower, upper, q]}, prior)


def _listed(name: str, values: Any, others: tuple[Any, ...]) -> list[Any]:
    """TypeError: the values are not given as one list; a text would be the list of its letters."""
    if others or isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        shown = ", ".join(repr(each) for each in (values, *others))
        raise TypeError(f"{name} takes the values as one list: tune.{name}([{shown}])")
    return list(values)


def choice(categories: Iterable[Any], *others: NoReturn, prior: Any = None) -> Domain:
    """One of these. Dicts among them may hold domains of their own. A prior that is None is
    ``{"value": None}``."""
    return _believed({"choice": _listed("choice", categories, others)}, prior)


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
