"""Whether what a user has written can be called as it will be: known before anything runs."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

#: What is called otherwise: with options, or with a state that is the user's own.
_OTHERS = ("setup", "save", "load", "get_state", "set_state")


def hooks_of(base: type) -> Iterator[tuple[str, list[str]]]:
    """The hooks that `base` has, with the names of what they are given."""
    for kind in reversed(base.__mro__):
        for name, function in vars(kind).items():
            if inspect.isfunction(function) and not name.startswith("_") and name not in _OTHERS:
                yield name, list(inspect.signature(function).parameters)[1:]


def check_hooks(kind: type, base: type, by_name: bool) -> None:
    """TypeError: a hook in `kind`, which is one of `base`, does not take what it is given."""
    for name, given in hooks_of(base):
        hook = inspect.getattr_static(kind, name)
        if hook is inspect.getattr_static(base, name) or not inspect.isfunction(hook):
            continue
        values: dict[str, Any] = dict.fromkeys(given)
        try:
            if by_name:
                inspect.signature(hook).bind(None, **values)
            else:
                inspect.signature(hook).bind(None, *values)
        except TypeError as error:
            how = ", by name; **info takes what you do not need" if by_name else ""
            raise TypeError(
                f"{kind.__name__}.{name} does not take what it is given: {error}. "
                f"It is called as {name}({', '.join(given)}){how}"
            ) from None
