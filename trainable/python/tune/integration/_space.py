"""A param space, walked by who draws the numbers in it. Knows no library."""

from __future__ import annotations

from typing import Any, Protocol

#: By domain: whether it draws whole numbers, and on a logarithmic scale.
_NUMBERS = {
    "uniform": (False, False),
    "quniform": (False, False),
    "loguniform": (False, True),
    "randint": (True, False),
    "qrandint": (True, False),
    "lograndint": (True, True),
}

#: What is left to the driver.
_OTHERS = (
    "grid_search",
    "expr",
    "value",
    "randn",
    "qrandn",
    "randseed",
    "qloguniform",
    "qlograndint",
)


class Draws(Protocol):
    """A library's way to draw one hyperparameter, by its name: its path in the space."""

    def real(self, name: str, lower: float, upper: float, step: float | None, log: bool) -> float:
        """A number from `lower` to `upper`."""

    def whole(self, name: str, lower: int, upper: int, step: int, log: bool) -> int:
        """An integer from `lower` to `upper`, both included."""

    def index(self, name: str, count: int) -> int:
        """Which of so many values."""


class _LeftOut(Exception):
    """Here is something that is left to the driver."""


def _bounds(arguments: Any, names: tuple[str, ...]) -> list[Any]:
    return [arguments[name] for name in names] if isinstance(arguments, dict) else list(arguments)


def _number(kind: str, arguments: Any, name: str, draws: Draws) -> float | int:
    whole, log = _NUMBERS[kind]
    names = ("lower", "upper", "q") if kind.startswith("q") else ("lower", "upper")
    lower, upper, *q = _bounds(arguments, names)
    if not whole:
        return draws.real(name, lower, upper, q[0] if q else None, log)
    last = upper if q and q[0] > 1 else upper - 1
    return draws.whole(name, lower, last, q[0] if q else 1, log)


def _kind(space: dict[str, Any], name: str) -> str:
    """The only key. ValueError: there is a prior beside it."""
    if len(space) == 2 and "prior" in space:
        kind = next(key for key in space if key != "prior")
        if kind in _NUMBERS or kind in _OTHERS or kind == "choice":
            raise ValueError(
                f"'{name}' has a prior, which this library's searcher knows nothing of: leave it "
                "out, or take one of tune's searchers"
            )
    return next(iter(space), "") if len(space) == 1 else ""


def _draw(space: Any, name: str, draws: Draws) -> Any:
    if isinstance(space, list):
        return [_draw(each, f"{name}/{index}", draws) for index, each in enumerate(space)]
    if not isinstance(space, dict):
        return space
    kind = _kind(space, name)
    if kind in _NUMBERS:
        return _number(kind, space[kind], name, draws)
    if kind == "choice":
        values = space[kind]
        if isinstance(values, dict):
            values = values["values"]
        index = draws.index(name, len(values))
        return _draw(values[index], f"{name}/{index}", draws)
    if kind in _OTHERS:
        raise _LeftOut
    return {key: _draw(each, f"{name}/{key}", draws) for key, each in space.items()}


def draw(space: dict[str, Any], draws: Draws) -> dict[str, Any]:
    """A config of `space`, without what the driver is to draw: bells, grids, expressions, seeds,
    and what holds one of these in a choice or a list."""
    config = {}
    for name, each in space.items():
        try:
            config[name] = _draw(each, name, draws)
        except _LeftOut:
            continue
    return config


def drawn(space: Any, config: Any, name: str = "") -> dict[str, Any]:
    """By name, what must be drawn for `config`, or a part of one, to come out: of a choice the
    index. What `config` lacks is left out. ValueError: a value is none of a choice's."""
    kind = _kind(space, name) if isinstance(space, dict) else ""
    if kind in _NUMBERS:
        return {name: config}
    if kind == "choice":
        values = space[kind]
        if isinstance(values, dict):
            values = values["values"]
        if config not in values:
            raise ValueError(f"{config!r} is none of the values of '{name}'")
        return {name: values.index(config)}
    if not isinstance(space, dict) or not isinstance(config, dict):
        return {}
    found: dict[str, Any] = {}
    for key, each in config.items():
        if key in space:
            found.update(drawn(space[key], each, f"{name}/{key}" if name else key))
    return found
