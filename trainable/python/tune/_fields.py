"""Fields of a spec, of what only Python has: classes, functions, objects, numbers of NumPy."""

from __future__ import annotations

import os
from typing import Any

from tune import policy
from tune._target import Asides, asked, importable
from tune.callback import Callback
from tune.results import TuneError
from tune.stopper import Stopper


def json_default(value: Any) -> Any:
    item = getattr(value, "item", None)  # a number of NumPy
    if callable(item) and getattr(value, "size", 1) == 1:
        return item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(
        f"a value of type {type(value).__name__} cannot stand in a spec: {value!r}; name it by a "
        "text and look that up in the training function, or hand it over by tune.with_parameters"
    )


def directory(path: str | os.PathLike[str]) -> str:
    """An absolute path. ValueError for an address of somewhere else."""
    text = os.fspath(path)
    if "://" in text:
        raise ValueError(f"results lie in a directory of this machine, and '{text}' is an address")
    return os.path.abspath(os.path.expanduser(text))


def checkpoint_name(checkpoint: Any) -> str:
    """A path made absolute, or what names one of an experiment in ``storage_path``."""
    text: str = os.path.expanduser(os.fspath(getattr(checkpoint, "path", checkpoint)))
    experiment = text.rpartition(":")[0]
    is_here = not experiment or os.path.exists(text) or os.path.exists(experiment)
    return os.path.abspath(text) if is_here else text


def policy_value(value: Any) -> Any:
    """A class of `tune.policy`, an object of one, or what ``policy.with_options`` has made, as in a
    spec."""
    options: dict[str, Any] = {}
    if isinstance(value, policy.Policy):
        value = policy.with_options(type(value), **getattr(value, "options", {}))
    if isinstance(value, policy.WithOptions):
        value, options = value.kind, value.options
    if not (isinstance(value, type) and issubclass(value, policy.Policy)):
        return value
    target = importable(value)
    if target is None:
        name = value.__name__
        raise TuneError(f"{name} must stand at the top of a file, to be loaded from there")
    return asked(target, options)


def rules(stop: Any) -> list[Any]:
    """The rules of ``stop``, one by one."""
    if isinstance(stop, (list, tuple)):
        return [rule for each in stop for rule in rules(each)]
    if isinstance(stop, type) and issubclass(stop, Stopper):
        raise TypeError(f"stop is the class {stop.__name__}: give an object of it")
    return [policy_value(stop)]


def said_stop(stop: Any, asides: Asides) -> Any:
    """``stop`` as a spec has it: a function or an object of your own is a program that is asked."""
    asked_of = [
        asked(asides.target(each, "stopper"), {}) if callable(each) else each
        for each in rules(stop)
    ]
    return asked_of[0] if len(asked_of) == 1 else asked_of


def take_callbacks(said: dict[str, Any]) -> list[Callback]:
    """Takes out of the fields what is told here, and leaves what the driver has built in."""
    ours = [each for each in said.get("callbacks") or () if isinstance(each, Callback)]
    theirs = [each for each in said.get("callbacks") or () if not isinstance(each, Callback)]
    for each in theirs:
        if not isinstance(each, (str, dict)):
            raise TypeError(f"{each!r} is no object of a subclass of tune.Callback")
    said["callbacks"] = theirs or None
    return ours
