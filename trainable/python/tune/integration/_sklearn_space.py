"""scikit-learn's ways to say what is searched, as a param space."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy


class Space:
    """`spec` is the param space. Values that JSON has no word for stand in it as texts."""

    def __init__(self, given: Any) -> None:
        """`given`: a mapping from names of parameters to lists, domains or frozen distributions
        of scipy.stats; or a list of such mappings, of which each trial has one. ValueError that
        names the parameter which is none of these."""
        self.objects: dict[str, Any] = {}
        several = [given] if isinstance(given, Mapping) else given
        if (
            not isinstance(several, Sequence)
            or not several
            or not all(isinstance(each, Mapping) for each in several)
        ):
            raise ValueError(f"{given!r} is searched: a dict was expected, or a list of dicts")
        spaces = [
            {name: self._domain(name, value) for name, value in each.items()} for each in several
        ]
        self.names = sorted({name for each in spaces for name in each})
        self.spec = spaces[0] if len(spaces) == 1 else {"params": {"choice": spaces}}
        self._nested = len(spaces) > 1

    def values(self, config: dict[str, Any]) -> dict[str, Any]:
        """What a trial's config says of each parameter, as JSON."""
        values: dict[str, Any] = config["params"] if self._nested else config
        return values

    def params(self, values: dict[str, Any]) -> dict[str, Any]:
        """The same as the estimator takes it."""
        return {
            name: self.objects.get(value, value) if isinstance(value, str) else value
            for name, value in values.items()
        }

    def _with_prior(self, name: str, given: dict[str, Any]) -> dict[str, Any]:
        ((kind, values),) = ((key, each) for key, each in given.items() if key != "prior")
        domain = self._domain(name, {kind: values})
        prior = given["prior"]
        listed = domain.get("choice")
        if listed is None:
            return {**domain, "prior": prior}
        is_long = isinstance(prior, dict) and "value" in prior and prior not in values
        value = prior["value"] if is_long else prior
        if value not in values:
            raise ValueError(f"the prior of '{name}' is none of its values: {value!r}")
        value = listed[list(values).index(value)]
        return {**domain, "prior": {**prior, "value": value} if is_long else value}

    def _domain(self, name: str, given: Any) -> dict[str, Any]:
        if isinstance(given, dict) and len(given) == 2 and "prior" in given:
            return self._with_prior(name, given)
        if isinstance(given, dict) and len(given) == 1 and isinstance(next(iter(given)), str):
            ((kind, values),) = given.items()
            if kind in ("choice", "grid_search") and isinstance(values, list):
                return {kind: [self._plain(each) for each in values]}
            return given
        if hasattr(given, "rvs"):
            return _of_scipy(name, given)
        if isinstance(given, (Sequence, numpy.ndarray)) and not isinstance(given, str):
            return {"choice": [self._plain(each) for each in given]}
        raise ValueError(
            f"'{name}' is {given!r}: a list of values was expected, a domain such as "
            "tune.uniform(0, 1), or a frozen distribution of scipy.stats"
        )

    def _plain(self, value: Any) -> Any:
        if isinstance(value, numpy.generic):
            value = value.item()
        if value is None or isinstance(value, (str, int)):
            return value
        if isinstance(value, float) and math.isfinite(value):
            return value
        text = f"{len(self.objects)}: {' '.join(repr(value).split())[:60]}"
        self.objects[text] = value
        return text


def _of_scipy(name: str, frozen: Any) -> dict[str, Any]:
    kind = getattr(getattr(frozen, "dist", None), "name", type(frozen).__name__)
    if kind == "norm":
        return {"randn": [float(frozen.mean()), float(frozen.std())]}
    if kind in ("uniform", "randint", "loguniform", "reciprocal"):
        lower, upper = (numpy.asarray(each).item() for each in frozen.support())
        if kind == "randint":
            return {"randint": [int(lower), int(upper) + 1]}
        if kind == "uniform":
            return {"uniform": [lower, upper]}
        if math.isclose(frozen.median(), math.sqrt(lower * upper)):  # else it was moved by loc
            return {"loguniform": [lower, upper]}
    raise ValueError(
        f"'{name}' has the distribution '{kind}', for which there is no domain: give "
        "tune.uniform, tune.loguniform, tune.randint or tune.randn, or a list of values drawn "
        "from it: list(distribution.rvs(1000))"
    )
