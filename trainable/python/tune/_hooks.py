"""Whether what a user has written can be called as it will be: known before anything runs."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable, Iterator
from typing import Any

#: What is called otherwise: with options, or with a state that is the user's own.
_OTHERS = ("setup", "save", "load", "get_state", "set_state")

#: Hooks of Ray's whose names are far from ours, and what they are called here.
_MEANT = {
    "stop_all": "should_stop_all",
    "log_trial_result": "on_trial_result",
    "on_trial_complete": "on_trial_end",
}


def hooks_of(base: type) -> Iterator[tuple[str, list[str]]]:
    """The hooks that `base` has, with the names of what they are given."""
    for kind in reversed(base.__mro__):
        for name, function in vars(kind).items():
            if inspect.isfunction(function) and not name.startswith("_") and name not in _OTHERS:
                yield name, list(inspect.signature(function).parameters)[1:]


def check_hooks(kind: type, base: type, by_name: bool, required: str | None = None) -> None:
    """TypeError: a hook in `kind`, which is one of `base`, does not take what it is given, has a
    name that nobody calls, or is missing though it is `required`."""
    hooks = dict(hooks_of(base))
    _refuse_unknown(kind, base, hooks)
    if required and getattr(kind, required) is getattr(base, required):
        raise TypeError(
            f"{kind.__name__} has no {required}({', '.join(hooks[required])}), "
            f"which a {base.__name__} must have"
        )
    for name, given in hooks.items():
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


def _refuse_unknown(kind: type, base: type, hooks: dict[str, list[str]]) -> None:
    """TypeError: a method looks like a hook, and `base` has none of that name."""
    own: dict[str, Any] = {}
    of_others: set[str] = set()  # such as those of another library's callback
    for each in kind.__mro__:
        if issubclass(each, base):
            own.update(vars(each))
        else:
            of_others.update(vars(each))
    for name in sorted(own.keys() - hooks.keys() - of_others):
        if not inspect.isfunction(own[name]):
            continue
        meant = _MEANT.get(name)
        if meant not in hooks:
            meant = _nearest(name, hooks) if name.startswith("on_") else None
        if meant or name.startswith("on_"):
            which = f"did you mean {meant}?" if meant else f"but {', '.join(hooks)}"
            raise TypeError(
                f"{kind.__name__}.{name} would never be called: a {base.__name__} has no such "
                f"hook, {which} (a method of your own has another name)"
            )


def _nearest(name: str, hooks: Iterable[str]) -> str | None:
    """The hook that is meant by `name`: "on_result" by "on_trial_result", or the other way round,
    or one that is spelt much like it."""
    for hook in hooks:
        if name.endswith(hook.removeprefix("on")) or hook.endswith(name.removeprefix("on")):
            return hook
    return next(iter(difflib.get_close_matches(name, hooks, 1)), None)
