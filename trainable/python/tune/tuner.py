"""A search, run by the program `tune` as a process of its own."""

from __future__ import annotations

import contextlib
import datetime
import inspect
import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tune import _notebook, _pickled, policy, trial
from tune._binary import find_binary
from tune.callback import Callback, Teller
from tune.config import RunConfig, TuneConfig, spec_value
from tune.results import ResultGrid, TuneError
from tune.trainable import Trainable

_INTERRUPTED = 130

#: Fields of a spec that stand beside the command.
_OF_PROGRAM = ("env", "merge_output", "plain", "preload")

TrainFunction = Callable[[dict[str, Any]], object]


class _Bound:
    """A function with more arguments than its config; pickled as a whole."""

    def __init__(self, function: Callable[..., object], arguments: dict[str, Any]) -> None:
        self.function = function
        self.arguments = arguments
        self.__name__ = getattr(function, "__name__", "train")

    def __call__(self, config: dict[str, Any]) -> object:
        return self.function(config, **self.arguments)


class _WithResources:
    """A trainable, and what each of its trials takes."""

    def __init__(self, trainable: Any, resources: dict[str, float]) -> None:
        self.trainable = trainable
        self.resources = resources


def with_parameters(trainable: Callable[..., object], **arguments: Any) -> Any:
    """`trainable` with these arguments beside its config, such as data. They are pickled."""
    return _Bound(trainable, arguments)


def with_resources(trainable: Any, resources: dict[str, float]) -> Any:
    """`trainable`, each trial of which takes these: ``{"cpu": 2, "gpu": 0.5}``."""
    return _WithResources(trainable, resources)


def _refuse_within_trial() -> None:
    if trial.is_trial:
        raise TuneError(
            "a search was begun within a trial: the trial's program loads the file that begins "
            "the search, so that must stand behind: if __name__ == '__main__':"
        )


def _json_default(value: Any) -> Any:
    item = getattr(value, "item", None)  # a number of NumPy
    if callable(item):
        return item()
    raise TypeError(f"a value of type {type(value).__name__} cannot stand in a spec: {value!r}")


def _importable(trainable: Any) -> str | None:
    """How a trial's process finds `trainable` by file or module and name; None: it does not."""
    if isinstance(trainable, _Bound):
        return None
    name = getattr(trainable, "__qualname__", "")
    module = sys.modules.get(getattr(trainable, "__module__", ""))
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is trainable and module is not None:
        if module.__name__ != "__main__":
            return f"{module.__name__}:{name}"
        file = getattr(module, "__file__", None)
        if file and str(file).endswith(".py"):
            return f"{os.path.abspath(file)}:{name}"
    return None


def _search_path() -> str:
    """The same imports as here, wherever what is started runs."""
    return os.pathsep.join(os.path.abspath(each or ".") for each in sys.path)


def _policy_value(value: Any) -> Any:
    """A class of `tune.policy`, or what ``policy.with_options`` has made of one, as in a spec."""
    options: dict[str, Any] = {}
    if isinstance(value, policy.WithOptions):
        value, options = value.kind, value.options
    if not (isinstance(value, type) and issubclass(value, policy.Policy)):
        return value
    target = _importable(value)
    if target is None:
        name = value.__name__
        raise TuneError(f"{name} must stand at the top of a file, to be loaded from there")
    here = f"PYTHONPATH={_search_path()}"
    command = ["/usr/bin/env", here, sys.executable, "-m", "tune.policy", target]
    return {"type": "program", "command": command, "options": options}


def _take_callbacks(said: dict[str, Any]) -> list[Callback]:
    """Takes out of the fields what is told here, and leaves what the driver has built in."""
    ours = [each for each in said.get("callbacks") or () if isinstance(each, Callback)]
    theirs = [each for each in said.get("callbacks") or () if not isinstance(each, Callback)]
    for each in theirs:
        if not isinstance(each, dict):
            raise TypeError(f"{each!r} is no object of a subclass of tune.Callback")
    said["callbacks"] = theirs or None
    return ours


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
        classes of `tune.policy`, ``callbacks`` objects of subclasses of `tune.Callback`.

    TypeError, ValueError: what was given cannot be a spec.
    """

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
        if isinstance(trainable, _WithResources):
            said["resources_per_trial"] = trainable.resources
            trainable = trainable.trainable
        for config in (tune_config, run_config):
            if config is not None:
                said.update(config.fields())
        said.update(fields)
        for name in ("searcher", "scheduler", "stop"):
            if name in said:
                said[name] = _policy_value(said[name])
        program = {name: said.pop(name) for name in _OF_PROGRAM if name in said}
        self._trainable = trainable
        self._quiet = run_config is not None and run_config.verbose == 0
        self._callbacks = _take_callbacks(said)
        self._spec = {name: spec_value(value) for name, value in said.items() if value is not None}
        self._spec["param_space"] = param_space or {}
        self._program_fields = program
        self._restores: list[str] | None = None
        if not isinstance(trainable, (list, tuple)) and not callable(trainable):
            raise TypeError(f"{trainable!r} is neither a function, a Trainable nor a command")
        if inspect.isclass(trainable) and not issubclass(trainable, Trainable):
            raise TypeError(f"{trainable.__name__} is a class, and no tune.Trainable")

    @classmethod
    def restore(
        cls,
        path: str | os.PathLike[str],
        trainable: Any = None,
        *,
        resume_errored: bool = False,
        restart_errored: bool = False,
        callbacks: Sequence[Callback] = (),
    ) -> Tuner:
        """The search in the directory `path`, to go on with ``fit()``: after it was interrupted, or
        its driver or machine has died. `trainable` is not needed, and not looked at: trials run
        what they ran before.

        `resume_errored`: trials that have failed go on from their latest checkpoints;
        `restart_errored`: they start from scratch. `callbacks`: as before; each goes on where it
        was.
        """
        tuner = cls.__new__(cls)
        tuner._trainable = trainable
        tuner._quiet = False
        tuner._spec = {}
        tuner._callbacks = _take_callbacks({"callbacks": callbacks})
        tuner._program_fields = {}
        tuner._restores = [os.path.abspath(path)]
        if resume_errored:
            tuner._restores.append("--errored")
        if restart_errored:
            tuner._restores.append("--restart-errored")
        return tuner

    def fit(self) -> ResultGrid:
        """Runs the search to its end, and answers what came out.

        The search is a process of its own: if this one dies, `restore` goes on with it. It prints
        how it is doing. KeyboardInterrupt after Ctrl-C, once all trials are saved; ValueError for a
        spec with errors, which names each; TuneError if the search could not be run.
        """
        _refuse_within_trial()
        if self._restores is not None:
            with self._telling(self._restores[0]):
                self._run(["resume", *self._restores], self._restores[0])
            return ResultGrid(self._restores[0])
        with tempfile.TemporaryDirectory(prefix="tune-") as scratch:
            name = self._spec.setdefault("name", self._new_name())
            storage = os.path.abspath(self._spec.setdefault("storage_path", "results"))
            self._spec["storage_path"] = storage
            directory = os.path.join(storage, name)
            # Another search of this name, which is refused, must not take the place of the first.
            aside = os.path.join(directory, f".trainable-{secrets.token_hex(4)}.pkl")
            pickled = self._say_program(aside)
            file = os.path.join(scratch, f"{name}.json")
            with open(file, "w", encoding="utf-8") as spec:
                json.dump(self._spec, spec, default=_json_default)
            self._validate(file)
            if pickled is not None:
                os.makedirs(directory, exist_ok=True)
                with open(aside, "xb") as to:
                    to.write(pickled)
            try:
                # What lies there already is another search, which this one is not to be told of.
                is_new = not os.path.exists(os.path.join(directory, "CURRENT"))
                with self._telling(directory if is_new else None):
                    self._run(["run", file], directory)
            except TuneError:
                if pickled is not None and not self._is_of_experiment(directory, aside):
                    os.remove(aside)
                raise
        return ResultGrid(directory)

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

    @staticmethod
    def _is_of_experiment(directory: str, aside: str) -> bool:
        """Whether the experiment that lies in `directory`, if one does, loads `aside`."""
        try:
            with open(os.path.join(directory, "experiment.json"), encoding="utf-8") as spec:
                return os.path.basename(aside) in spec.read()
        except OSError:
            return False

    def _new_name(self) -> str:
        trainable = self._trainable
        name = getattr(trainable, "__name__", "")
        if isinstance(trainable, (list, tuple)):
            name = os.path.basename(str(trainable[-1]))
        stem = re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_") or "search"
        now = datetime.datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
        return f"{stem[:60]}_{now}"

    def _say_program(self, aside: str) -> bytes | None:
        """Says in the spec what runs. Answers what is to stand in the file `aside`, if anything."""
        given = self._program_fields
        if isinstance(self._trainable, (list, tuple)):
            self._spec["trainable"] = {**given, "command": [str(each) for each in self._trainable]}
            return None
        api = "class" if inspect.isclass(self._trainable) else "function"
        target = _importable(self._trainable)
        pickled = None if target else _pickled.dumps(self._trainable, "the trainable")
        command = [sys.executable, "-m", "tune.trial", "--api", api, target or aside]
        environment = {"PYTHONPATH": _search_path(), **given.get("env", {})}
        self._spec["trainable"] = {**given, "command": command, "env": environment}
        return pickled

    @staticmethod
    def _validate(file: str) -> None:
        done = subprocess.run(
            [find_binary(), "validate", file], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise ValueError((done.stderr or done.stdout).strip().replace(file, "spec"))

    def _run(self, arguments: list[str], directory: str) -> None:
        command = [find_binary(), *arguments]
        if _notebook.is_here():
            command += ["--progress", "none"]
            code, why, interrupted = _notebook.follow(command, directory, self._quiet)
        else:
            code, why, interrupted = self._follow(command)
        if interrupted or code == _INTERRUPTED:
            raise KeyboardInterrupt
        if code not in (0, 1):
            why = why or "what it printed says why"
            raise TuneError(f"the search ended with exit code {code}; {why}")

    def _follow(self, command: list[str]) -> tuple[int, str, bool]:
        """The driver's exit code, what it has said and nobody has seen, and whether Ctrl-C came."""
        options = ["--progress", "none"] if self._quiet else []
        output = subprocess.DEVNULL if self._quiet else None
        interrupted = False
        with (
            tempfile.TemporaryFile("w+") as said,
            subprocess.Popen(
                [*command, *options], stdout=output, stderr=said if self._quiet else None
            ) as driver,
        ):
            while True:
                try:
                    code = driver.wait()
                    break
                except KeyboardInterrupt:
                    # The driver has heard of it, too, and saves what runs; a second one hurries it.
                    interrupted = True
            said.seek(0)
            return code, said.read().strip(), interrupted
