"""A search, run by the program `tune` as a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tune import _restoring, _running, trial
from tune._binary import find_binary
from tune._fields import (
    check_shapes,
    json_default,
    policy_value,
    rules,
    said_stop,
    settle,
    storage,
    take_callbacks,
)
from tune._fields import directory as absolute
from tune._given import Bound, PlacementGroupFactory, WithResources, with_parameters, with_resources
from tune._here import seen_from_here
from tune._room import make_room
from tune._target import Asides, program_of
from tune.callback import Teller
from tune.config import RunConfig, TuneConfig, refuse_in_space, spec_value
from tune.results import ResultGrid, TuneError, ask, why_in_vain
from tune.search import ConcurrencyLimiter
from tune.trainable import Trainable

__all__ = ["PlacementGroupFactory", "Tuner", "with_parameters", "with_resources"]

#: Fields of a spec that stand beside the command.
_OF_PROGRAM = ("env", "merge_output", "plain", "preload")

TrainFunction = Callable[[dict[str, Any]], object]


def _refuse_within_trial() -> None:
    if trial.is_trial:
        raise TuneError(
            "a search was begun within a trial: the trial's program loads the file that begins "
            "the search, so that must stand behind: if __name__ == '__main__':"
        )


def _refuse_swapped(trainable: Any, param_space: Any) -> None:
    """TypeError: what is tried and what it is tried with stand in each other's place."""
    if isinstance(trainable, Mapping) and param_space is not None:
        raise TypeError("Tuner(param_space, trainable): what trains comes first, then the space")


def _check_trainable(trainable: Any) -> None:
    if isinstance(trainable, Trainable):
        name = type(trainable).__name__
        raise TypeError(f"an object of {name} was given: give the class, Tuner({name}, ...)")
    if not isinstance(trainable, (list, tuple)) and not callable(trainable):
        raise TypeError(
            f"{trainable!r} is neither a function, a Trainable nor a command; a function is given "
            "itself, without being called: Tuner(train, ...), not Tuner(train(...), ...)"
        )
    kind = trainable.function if isinstance(trainable, Bound) else trainable
    if isinstance(kind, type) and not issubclass(kind, Trainable):
        raise TypeError(f"{kind.__name__} is a class, and no tune.Trainable")
    if hasattr(kind, "default_resource_request"):
        raise TypeError(
            f"{kind.__name__}.default_resource_request is not asked: give the Tuner "
            "tune.with_resources(...) of it"
        )


def _verbosity(said: Any) -> int | None:
    if said is not None and (not isinstance(said, int) or not 0 <= said <= 3):
        raise ValueError(f"verbose is {said!r}: 0, 1, 2 or 3 was expected")
    return None if said is None else int(said)


def _path_of(descriptor: int) -> str:
    """Its name in a process that was given it."""
    return f"/dev/fd/{descriptor}"


def _is_same(one: Any, other: Any) -> bool:
    try:
        return one is other or bool(spec_value(one) == spec_value(other))
    except ValueError:  # arrays of NumPy have no one answer
        return False


def _refuse_contradiction(configs: dict[str, Any], fields: dict[str, Any]) -> None:
    """ValueError: one of Ray's configs says something else than a keyword, and nobody can know
    which was meant."""
    for name, value in fields.items():
        other = configs.get(name)
        if value is None or other is None or _is_same(value, other):
            continue
        config = "TuneConfig" if name in vars(TuneConfig()) else "RunConfig"
        raise ValueError(
            f"{name} is said twice: {config}({name}={other!r}) and Tuner({name}={value!r}) "
            "contradict each other; leave one out"
        )


class Tuner:
    """A search over `param_space`.

    ``trainable``
        A function of one config, which calls ``tune.report``, or returns its only, or last,
        metrics as a dict; a subclass of ``tune.Trainable``; or
        a command, as a list of texts, of any program (docs/trainables.md, docs/plain.md).
    ``param_space``
        Domains (``tune.uniform`` ...) and values, nested as you like.
    ``fields``
        Those of a spec (docs/spec.md): ``metric``, ``mode``, ``num_samples``, ``scheduler``,
        ``searcher``, ``stop``, ``name``, ``storage_path`` ..., and of its ``trainable`` ``env``,
        ``merge_output``, ``plain``, ``preload``. Or Ray's ``tune_config`` and ``run_config``. A
        field that is None is one that is not said. ``searcher``, ``scheduler`` and ``stop`` may be
        classes of `tune.policy`; ``stop`` also one of `tune.stopper`, or a function of a trial's id
        and its result. ``callbacks``: objects of subclasses of `tune.Callback`. ``verbose``: 0
        shows nothing, 1 how the search is doing, 2 that in lines, 3 what trials print besides.
        ``overwrite``: an experiment of that name that is there already is removed.

    TypeError, ValueError: what was given cannot be a spec.
    """

    _asides: Asides  #: of a search that goes on

    def __init__(
        self,
        trainable: Any,
        param_space: dict[str, Any] | None = None,
        *,
        tune_config: TuneConfig | None = None,
        run_config: RunConfig | None = None,
        **fields: Any,
    ) -> None:
        said: dict[str, Any] = {}
        _refuse_swapped(trainable, param_space)
        given = {"param_space": param_space, "tune_config": tune_config, "run_config": run_config}
        check_shapes(given)
        if not isinstance(trainable, (list, tuple)):
            refuse_in_space(param_space or {})
        if isinstance(trainable, WithResources):
            said["resources_per_trial"] = trainable.resources
            trainable = trainable.trainable
        for config in (tune_config, run_config):
            if config is not None:
                said.update(config.fields())
        _refuse_contradiction(said, fields)
        said.update(fields)
        settle(said)
        limit = said.get("searcher")
        if isinstance(limit, ConcurrencyLimiter):
            said["searcher"] = limit.searcher
            said["max_concurrent_trials"] = limit.max_concurrent
        for name in ("metric", "mode"):  # where a searcher was given them alone
            if said.get(name) is None:
                said[name] = getattr(said.get("searcher"), name, None)
        for name in ("searcher", "scheduler"):
            if name in said:
                said[name] = policy_value(said[name], name)
        if said.get("stop") is not None:
            said["stop"] = rules(said["stop"])
        program = {name: said.pop(name) for name in _OF_PROGRAM if name in said}
        self._trainable = trainable
        self._verbose = _verbosity(said.pop("verbose", None))
        self._overwrite = bool(said.pop("overwrite", False))
        self._callbacks = take_callbacks(said)
        self._spec = {name: spec_value(value) for name, value in said.items() if value is not None}
        self._spec["param_space"] = param_space or {}
        self._program_fields = program
        self._options: list[str] | None = None
        self._path: str | None = None
        _check_trainable(trainable)

    @classmethod
    def can_restore(cls, path: str | os.PathLike[str]) -> bool:
        """Whether a search lies in the directory `path`."""
        return os.path.exists(os.path.join(absolute(path), "experiment.json"))

    @classmethod
    def restore(
        cls,
        path: str | os.PathLike[str],
        trainable: Any = None,
        *,
        resume_unfinished: bool = True,
        resume_errored: bool = False,
        restart_errored: bool = False,
        resume_finished: bool = False,
        callbacks: Sequence[Any] = (),
        verbose: int | None = None,
        **fields: Any,
    ) -> Tuner:
        """The search in the directory `path`, to go on with ``fit()``: after it was interrupted, or
        its driver or machine has died; or to be extended, after it has ended.

        ``trainable``
            What trials run from now on. It may have moved, or changed: a warning says so. None:
            what they ran before, which for what was pickled is what it was then.
        ``resume_errored``, ``restart_errored``
            Trials that have failed go on from their latest checkpoints, or start from scratch.
        ``resume_finished``
            With a longer ``stop``: trials that a shorter one has ended go on, too.
        ``callbacks``
            As before; each goes on where it was.
        ``verbose``
            What is shown now; None: as was said when the search began.
        ``fields``
            What is otherwise from now on, of what may change (docs/cli.md, "tune resume"):
            ``num_samples``, ``stop``, ``max_concurrent_trials``, ``time_budget_s``,
            ``resources_per_trial``, ``checkpoint_config``, ``failure_config``, ``env`` ...

        TypeError: `resume_unfinished` is false, or what was given cannot be what is said of it;
        TuneError: the trainable cannot be handed to trials. What may not change is refused by
        ``fit()``.
        """
        if not resume_unfinished:
            raise TypeError(
                "a search that goes on takes up its unfinished trials: without resume_unfinished, "
                "look at Tuner.restore(path).get_results()"
            )
        check_shapes({"path": path})
        for name in ("run_config", "tune_config"):
            if name in fields:
                raise TypeError(
                    f"Tuner.restore takes no {name}: say what is otherwise from now on by itself, "
                    "as num_samples=20, verbose=0; the rest is as it was"
                )
        said = {**fields, "callbacks": callbacks}
        if isinstance(trainable, WithResources):
            said = {"resources_per_trial": trainable.resources, **said}
            trainable = trainable.trainable
        settle(said)
        if not os.path.exists(absolute(path)):
            raise ValueError(f"no search lies in {absolute(path)}: there is no such directory")
        tuner = cls.__new__(cls)
        tuner._trainable = trainable
        tuner._verbose = _verbosity(verbose)
        tuner._overwrite = False
        tuner._callbacks = take_callbacks(said)
        tuner._path = absolute(path)
        tuner._options = [
            option
            for option, wanted in (
                ("--errored", resume_errored),
                ("--restart-errored", restart_errored),
                ("--finished", resume_finished),
            )
            if wanted
        ]
        tuner._program_fields = {
            name: said.pop(name) for name in _OF_PROGRAM if said.get(name) is not None
        }
        tuner._spec = {name: spec_value(each) for name, each in said.items() if each is not None}
        tuner._asides = Asides(tuner._path)
        if "stop" in tuner._spec:
            tuner._spec["stop"] = said_stop(tuner._spec["stop"], tuner._asides)
        if trainable is not None:
            _check_trainable(trainable)
        if cls.can_restore(path):
            tuner._compare()
        return tuner

    def _compare(self) -> None:
        """Takes over what the search in the directory has, where nothing else is given."""
        assert self._path is not None
        recorded = _restoring.recorded_spec(self._path)
        if self._verbose is None:
            self._verbose = _restoring.recorded_verbosity(recorded)
        moved = _restoring.moved_along(recorded, self._path)
        self._spec = {**moved, **self._spec}
        program = recorded["trainable"]
        program["command"] = moved.get("trainable/command", program["command"])
        if self._trainable is None:
            for name, each in self._program_fields.items():
                whole = {**(program.get(name) or {}), **each} if name == "env" else each
                self._spec[f"trainable/{name}"] = whole
            return
        changes, sentence = _restoring.take_up(
            program, self._trainable, self._program_fields, self._asides
        )
        self._spec.update(changes)
        if sentence:
            warnings.warn(f"{self._path}: {sentence}", stacklevel=3)

    def fit(self) -> ResultGrid:
        """Runs the search to its end, and answers what came out.

        The search is a process of its own: if this one dies, `restore` goes on with it. It prints
        how it is doing. KeyboardInterrupt after Ctrl-C, once all trials are saved; ValueError for a
        spec with errors, which names each; TuneError if the search could not be run, has given up
        as its first trials all failed, or has no result at all: with their reason. What else has
        failed is in ``errors`` of the results.

        SIGTERM and SIGHUP are passed on to it as Ctrl-C is; they end this process, or call the
        handler that it has for them, once all trials are saved.
        """
        _refuse_within_trial()
        interrupts = _running.Interrupts()
        try:
            if self._options is None:
                self._path = self._begin(interrupts)
            else:
                self._go_on(self._options, interrupts)
        finally:
            interrupts.deliver()
        if self._verbose == 0:  # else the driver says it
            self._warn_of_saves()
        return self.get_results()

    def _warn_of_saves(self) -> None:
        """What has no checkpoint since its saves fail looks like what has never saved."""
        assert self._path is not None
        saves = ask("status", self._path)["checkpoints"]
        if saves["failed"]:
            why = saves["last_failure"] and f"; {saves['last_failure']}"
            warnings.warn(
                f"{saves['failed']} of {saves['failed'] + saves['committed']} saves failed{why}",
                stacklevel=3,
            )

    def _begin(self, interrupts: _running.Interrupts) -> str:
        """Answers the experiment's directory."""
        name = str(self._spec.setdefault("name", self._new_name()))
        if os.sep in name:
            above, name = os.path.split(name.rstrip(os.sep))
            place = os.path.join(self._spec.get("storage_path", "results"), above)
            raise ValueError(
                f"name is a directory's in storage_path, and {self._spec['name']!r} has a slash: "
                f"say storage_path={place!r}, name={name!r}"
            )
        self._spec["storage_path"] = storage(self._spec.get("storage_path", "results"))
        directory = os.path.join(self._spec["storage_path"], name)
        make_room(directory, self._overwrite)
        asides = Asides(directory)
        spec = {
            **self._spec,
            "trainable": _restoring.with_verbosity(
                program_of(self._trainable, self._program_fields, asides), self._verbose
            ),
        }
        if "stop" in spec:
            spec["stop"] = said_stop(spec["stop"], asides)
        # Without a name: so nothing is left of it, however this process ends.
        with tempfile.TemporaryFile("w", encoding="utf-8") as file:
            json.dump(seen_from_here(spec), file, default=json_default)
            file.flush()
            self._validate(file.fileno())
            asides.write()
            try:
                # What lies there already is another search, which this one is not to be told of.
                is_new = not os.path.exists(os.path.join(directory, "CURRENT"))
                with self._telling(directory if is_new else None):
                    command = ["run", _path_of(file.fileno())]
                    self._run(command, directory, interrupts, (file.fileno(),))
            except TuneError:
                asides.sweep()
                raise
        return directory

    def _go_on(self, options: list[str], interrupts: _running.Interrupts) -> None:
        assert self._path is not None
        program = _restoring.recorded_spec(self._path)["trainable"]
        if "trainable/command" not in self._spec:
            _restoring.check_is_there(program)
        changes = [
            word
            for name, value in self._spec.items()
            for word in ("--set", f"{name}={json.dumps(value, default=json_default)}")
        ]
        self._asides.write()
        try:
            with self._telling(self._path):
                self._run(["resume", self._path, *options, *changes], self._path, interrupts)
        finally:
            self._asides.sweep()

    @contextlib.contextmanager
    def _telling(self, directory: str | None) -> Iterator[None]:
        """Meanwhile the callbacks are told, by a thread. Waits for it to be done."""
        if not self._callbacks or directory is None:
            yield
            return
        teller = Teller(self._callbacks, directory)
        over = threading.Event()

        def tell() -> None:
            while not over.is_set():
                teller.run(follow=True)
                over.wait(0.2)  # one that was finished is not driven anew yet
            if os.path.exists(os.path.join(directory, "CURRENT")):
                teller.run(follow=False)

        thread = threading.Thread(target=tell, name="tune callbacks", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            teller.stop_following()
            thread.join()

    def get_results(self) -> ResultGrid:
        """What has come out of the search so far: after ``fit()``, or of the one to be restored."""
        if self._path is None:
            raise TuneError("there are no results: fit() has not run yet")
        return ResultGrid(self._path)

    def _new_name(self) -> str:
        trainable = self._trainable
        name = getattr(trainable, "__name__", "")
        if isinstance(trainable, (list, tuple)):
            name = os.path.basename(str(trainable[-1]))
        stem = re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_") or "search"
        now = time.strftime("%Y-%m-%d_%H-%M-%S")
        # Searches that begin in the same second, perhaps in several processes, are several.
        return f"{stem[:60]}_{now}_{os.urandom(3).hex()}"

    @staticmethod
    def _validate(descriptor: int) -> None:
        file = _path_of(descriptor)
        done = subprocess.run(
            [find_binary(), "validate", file],
            capture_output=True,
            text=True,
            check=False,
            pass_fds=(descriptor,),
        )
        if done.returncode != 0:
            raise ValueError((done.stderr or done.stdout).strip().replace(file, "spec"))

    def _run(
        self,
        arguments: list[str],
        directory: str,
        interrupts: _running.Interrupts,
        descriptors: tuple[int, ...] = (),
    ) -> None:
        command = [find_binary(), *arguments]
        verbose = 1 if self._verbose is None else self._verbose
        if _running.is_notebook():
            from tune import _notebook

            command += ["--progress", "none"]
            end = _notebook.follow(command, directory, verbose == 0, interrupts, descriptors)
        else:
            end = _running.follow(command, verbose, directory, interrupts, descriptors)
        if end.interrupted or end.code == _running.INTERRUPTED:
            raise KeyboardInterrupt
        if end.code not in (0, 1):
            # Of a field that was given here it says so as of its own option.
            said = re.sub("^--set ", "", end.said, flags=re.M) or "no word"
            raise TuneError(f"the search ended with exit code {end.code}: {said}")
        if end.code == 1 and (why := why_in_vain(directory)):
            self._path = directory  # it is this search's, and can be looked at
            raise TuneError(why)
