"""Fields of a spec, of what only Python has: classes, functions, objects, numbers of NumPy."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Mapping
from typing import Any

from tune import policy
from tune._given import take_resources
from tune._hooks import check_hooks
from tune._main_file import names_of_its_own
from tune._target import Asides, asked, importable, is_main
from tune.callback import Callback
from tune.checkpoint import Checkpoint
from tune.config import RunConfig, TuneConfig, refuse
from tune.results import Result, ResultGrid, TuneError
from tune.search import ConcurrencyLimiter
from tune.stopper import Stopper

#: What is checked here, as it is used in this process. All else is checked with the spec.
_SHAPES: dict[str, tuple[type | tuple[type, ...], str]] = {
    "tune_config": (TuneConfig, "tune.TuneConfig(...)"),
    "run_config": (RunConfig, "tune.RunConfig(...)"),
    "param_space": (Mapping, "a dict of names and domains"),
    "env": (Mapping, "a dict of names and texts"),
    "plain": (Mapping, "a dict"),
    "callbacks": ((list, tuple), "a list"),
    "storage_path": ((str, os.PathLike), "a path"),
    "path": ((str, os.PathLike), "the path of an experiment"),
}


def check_shapes(said: Mapping[str, Any]) -> None:
    """TypeError: a field is of another kind than it must be, or what makes it stands there in place
    of it."""
    for name, value in said.items():
        _refuse_uncalled(name, value)
        kinds, expected = _SHAPES.get(name, (object, ""))
        if value is not None and not isinstance(value, kinds):
            text = repr(value)
            shown = text if len(text) < 100 else f"a {type(value).__name__}"
            raise TypeError(f"{name} is {shown}: {expected} was expected")


def _refuse_uncalled(name: str, value: Any) -> None:
    """TypeError: it is a class or function of this package, which makes what is meant."""
    is_maker = inspect.isfunction(value) or inspect.isclass(value)
    if not is_maker or str(value.__module__).partition(".")[0] != "tune":
        return
    if not (inspect.isclass(value) and issubclass(value, (policy.Policy, Stopper))):
        made = value.__name__
        raise TypeError(f"{name} is {made} itself, and not what it makes: write {made}(...)")


def json_default(value: Any) -> Any:
    _refuse_uncalled("a value", value)
    item = getattr(value, "item", None)  # a number of NumPy
    if callable(item) and getattr(value, "size", 1) == 1:
        return item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(
        f"a value of type {type(value).__name__} cannot stand in a spec: {value!r}; name it by a "
        "text and look that up in the training function, or hand it over by tune.with_parameters"
    )


def _address(path: str | os.PathLike[str]) -> str | None:
    """The path of a remote, as rclone writes it, if `path` is one: of ``s3://bucket/runs`` and
    ``s3:bucket/runs``. None: it is one of this machine. Such a directory that is there is meant."""
    text = os.fspath(path)
    named = re.match(r"([A-Za-z0-9_.+@-]+):(//)?", text)
    if named is None or os.path.exists(text.partition("/")[0]):
        return None
    return f"{named[1]}:{text[named.end() :]}"


def _here(path: str | os.PathLike[str], otherwise: str) -> str:
    """An absolute path. ValueError, `otherwise` with the remote in it, for an address of somewhere
    else."""
    remote = _address(path)
    if remote is not None:
        raise ValueError(otherwise.format(path=os.fspath(path), remote=remote))
    return os.path.abspath(os.path.expanduser(path))


def storage(path: str | os.PathLike[str]) -> str:
    """An absolute path of ``storage_path``. ValueError for an address of somewhere else."""
    return _here(
        path,
        "storage_path is a directory of this machine, and '{path}' is an address: say "
        "remote={{'path': '{remote}'}}, which has a copy there; docs/remote.md",
    )


def directory(path: str | os.PathLike[str]) -> str:
    """An absolute path of an experiment. ValueError for an address of somewhere else."""
    return _here(
        path,
        "a search goes on in a directory of this machine, and '{path}' is an address: "
        "`tune resume --remote {remote}` goes on with what is there, `tune pull {remote}` "
        "fetches it",
    )


def checkpoint_name(checkpoint: Any, storage_path: str) -> str:
    """A path made absolute, or what names one of an experiment there or in ``storage_path``.

    TypeError, ValueError: nothing names a checkpoint so.
    """
    if isinstance(checkpoint, ResultGrid):
        raise TypeError(
            "resume_from_checkpoint is one checkpoint, and a ResultGrid has those of many trials: "
            "give one of its results, such as results.get_best_result()"
        )
    if isinstance(checkpoint, Result):
        if checkpoint.checkpoint is None:
            raise ValueError(f"{checkpoint.trial_id} in {checkpoint.path} has no checkpoint")
        checkpoint = checkpoint.checkpoint
    if isinstance(checkpoint, Checkpoint):
        checkpoint = checkpoint.path
    if not isinstance(checkpoint, (str, os.PathLike)):
        raise TypeError(
            "resume_from_checkpoint is a Checkpoint, a Result, a path, or a name such as "
            f"'digits:best', and no {type(checkpoint).__name__}"
        )
    text: str = os.path.expanduser(os.fspath(checkpoint))
    experiment, _, trial = text.rpartition(":")
    if not experiment or os.path.exists(text) or os.path.exists(experiment):
        return os.path.abspath(text)
    if "/" in trial:
        raise ValueError(
            f"a checkpoint is a directory of this machine, and there is no '{text}': if that is an "
            "address, fetch the experiment by `tune pull` first"
        )
    return os.path.join(storage(storage_path), text)


def settle(said: dict[str, Any]) -> None:
    """Puts fields of a spec in place of what may be written otherwise in Python.

    TypeError, ValueError: it cannot be one.
    """
    refuse("Tuner", said)
    check_shapes(said)
    take_resources(said)
    _take_search_alg(said)
    if isinstance(said.get("remote"), (str, os.PathLike)):
        said["remote"] = {"path": os.fspath(said["remote"])}
    if said.get("resume_from_checkpoint") is not None:
        said["resume_from_checkpoint"] = checkpoint_name(
            said["resume_from_checkpoint"], said.get("storage_path") or "results"
        )


def _take_search_alg(said: dict[str, Any]) -> None:
    """``search_alg`` is Ray's name of ``searcher``, whose option ``points_to_evaluate`` is."""
    named = said.pop("search_alg", None)
    if named is not None:
        if said.get("searcher") is not None:
            raise TypeError("search_alg and searcher are two names of one thing: give one of them")
        said["searcher"] = named
    points = said.pop("points_to_evaluate", None)
    if points is None:
        return
    searcher = said.get("searcher") or {"type": "auto"}
    limit = searcher if isinstance(searcher, ConcurrencyLimiter) else None
    options = limit.searcher if limit is not None else searcher
    options = {"type": options} if isinstance(options, str) else options
    if not isinstance(options, dict):
        raise TypeError(
            "points_to_evaluate are for the driver's own searchers, such as 'tpe': a searcher of "
            "your own suggests them itself"
        )
    if options.get("points_to_evaluate") is not None:
        raise TypeError("points_to_evaluate is given twice, once within the searcher")
    options = {**options, "points_to_evaluate": points}
    said["searcher"] = (
        options if limit is None else ConcurrencyLimiter(options, limit.max_concurrent)
    )


_POLICIES: dict[str, type[policy.Policy]] = {
    "searcher": policy.Searcher,
    "scheduler": policy.Scheduler,
    "stop": policy.Stopper,
}


def policy_value(value: Any, field: str) -> Any:
    """A class of `tune.policy`, an object of one, or what ``policy.with_options`` has made, as the
    field of a spec has it. TypeError: it is none for this field."""
    options: dict[str, Any] = {}
    if isinstance(value, policy.Policy):
        value = policy.with_options(type(value), **getattr(value, "options", {}))
    if isinstance(value, policy.WithOptions):
        value, options = value.kind, value.options
    if not (isinstance(value, type) and issubclass(value, policy.Policy)):
        return value
    wanted = _POLICIES[field]
    if not issubclass(value, wanted):
        raise TypeError(f"{field} is {value.__name__}, which is no tune.policy.{wanted.__name__}")
    policy.check_policy(value)
    target = importable(value)
    name = value.__name__
    if target is None or (is_main(value) and name in names_of_its_own(value)):
        raise TuneError(
            f"{name} must stand at the top of a file, to be loaded from there: neither in a "
            "function nor behind if __name__ == '__main__'"
        )
    return asked(target, options)


def rules(stop: Any) -> list[Any]:
    """The rules of ``stop``, one by one."""
    if isinstance(stop, (list, tuple)):
        return [rule for each in stop for rule in rules(each)]
    _refuse_uncalled("stop", stop)
    if isinstance(stop, type) and issubclass(stop, Stopper):
        raise TypeError(f"stop is the class {stop.__name__}: give an object of it")
    return [policy_value(stop, "stop")]


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
    for each in ours:
        check_hooks(type(each), Callback, by_name=True)
    for each in theirs:
        _refuse_uncalled("a callback", each)
        if not isinstance(each, (str, dict)):
            raise TypeError(f"{each!r} is no object of a subclass of tune.Callback")
    said["callbacks"] = theirs or None
    return ours
