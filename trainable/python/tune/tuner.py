"""A search, run by the program `tune` as a process of its own."""

from __future__ import annotations

import ast
import contextlib
import datetime
import inspect
import json
import os
import re
import secrets
import signal
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
from tune.search import ConcurrencyLimiter
from tune.stopper import Stopper
from tune.trainable import Trainable

_INTERRUPTED = 130

#: Fields of a spec that stand beside the command.
_OF_PROGRAM = ("env", "merge_output", "plain", "preload")

TrainFunction = Callable[[dict[str, Any]], object]


class _Bound:
    """A function, or the setup of a class, with more arguments than its config; pickled as a
    whole."""

    def __init__(self, function: Callable[..., object], arguments: dict[str, Any]) -> None:
        self.function = function
        self.arguments = arguments
        self.__name__ = getattr(function, "__name__", "train")

    def __call__(self, config: dict[str, Any]) -> object:
        return self.function(config, **self.arguments)

    @property
    def __wrapped_trainable__(self) -> Any:
        """What a trial's process runs."""
        kind, arguments = self.function, self.arguments
        if not inspect.isclass(kind):
            return self

        def setup(trainable: Any, config: dict[str, Any]) -> None:
            kind.setup(trainable, config, **arguments)  # type: ignore[attr-defined]

        return type(kind.__name__, (kind,), {"setup": setup})


class _WithResources:
    """A trainable, and what each of its trials takes."""

    def __init__(self, trainable: Any, resources: dict[str, float]) -> None:
        self.trainable = trainable
        self.resources = resources


def with_parameters(trainable: Any, **arguments: Any) -> Any:
    """`trainable` with these arguments beside its config, such as data: a function gets them when
    it is called, a class in ``setup``. They are pickled."""
    if isinstance(trainable, _WithResources):
        return _WithResources(
            with_parameters(trainable.trainable, **arguments), trainable.resources
        )
    return _Bound(trainable, arguments)


def with_resources(trainable: Any, resources: dict[str, float]) -> Any:
    """`trainable`, each trial of which takes these: ``{"cpu": 2, "gpu": 0.5}``.

    TypeError: `resources` is no dict, as where they depend on the config.
    """
    if not isinstance(resources, dict):
        raise TypeError(
            "the resources of a trial are a dict, such as {'cpu': 2, 'gpu': 0.5}, the same for all "
            f"trials, and no {type(resources).__name__}"
        )
    names = {"CPU": "cpu", "GPU": "gpu"}
    return _WithResources(trainable, {names.get(name, name): n for name, n in resources.items()})


def PlacementGroupFactory(bundles: list[dict[str, float]], **_: Any) -> dict[str, float]:
    """What these bundles are together: all that a trial has is on one machine."""
    total: dict[str, float] = {}
    for bundle in bundles:
        for name, amount in bundle.items():
            total[name] = total.get(name, 0) + amount
    return total


def _refuse_within_trial() -> None:
    if trial.is_trial:
        raise TuneError(
            "a search was begun within a trial: the trial's program loads the file that begins "
            "the search, so that must stand behind: if __name__ == '__main__':"
        )


def _json_default(value: Any) -> Any:
    item = getattr(value, "item", None)  # a number of NumPy
    if callable(item) and getattr(value, "size", 1) == 1:
        return item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(
        f"a value of type {type(value).__name__} cannot stand in a spec: {value!r}; name it by a "
        "text and look that up in the training function, or hand it over by tune.with_parameters"
    )


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


def _is_unguarded() -> bool:
    """Whether the search is begun by what the program's file does whenever it is loaded, also by a
    trial."""
    main = sys.modules.get("__main__")
    frame = inspect.currentframe()
    while frame is not None and not (
        frame.f_code.co_name == "<module>" and frame.f_globals is vars(main)
    ):
        frame = frame.f_back
    file = getattr(main, "__file__", None)
    if frame is None or file is None:
        return False
    with open(file, encoding="utf-8") as source:
        statements = ast.parse(source.read()).body
    for each in statements:
        if each.lineno <= frame.f_lineno <= (each.end_lineno or each.lineno):
            guards = ast.walk(each.test) if isinstance(each, ast.If) else ()
            return not any(isinstance(name, ast.Name) and name.id == "__name__" for name in guards)
    return False


def _is_main(value: Any) -> bool:
    return getattr(value, "__module__", "") == "__main__"


def _directory(path: str | os.PathLike[str]) -> str:
    """An absolute path. ValueError for an address of somewhere else."""
    text = os.fspath(path)
    if "://" in text:
        raise ValueError(f"results lie in a directory of this machine, and '{text}' is an address")
    return os.path.abspath(os.path.expanduser(text))


def _checkpoint_name(checkpoint: Any) -> str:
    """A path made absolute, or what names one of an experiment in ``storage_path``."""
    text: str = os.path.expanduser(os.fspath(getattr(checkpoint, "path", checkpoint)))
    experiment = text.rpartition(":")[0]
    is_here = not experiment or os.path.exists(text) or os.path.exists(experiment)
    return os.path.abspath(text) if is_here else text


def _search_path() -> str:
    """The same imports as here, wherever what is started runs."""
    return os.pathsep.join(os.path.abspath(each or ".") for each in sys.path)


def _asked(target: str, options: dict[str, Any]) -> dict[str, Any]:
    """What `target` names, as a policy's program in a spec."""
    here = f"PYTHONPATH={_search_path()}"
    command = ["/usr/bin/env", here, sys.executable, "-m", "tune.policy", target]
    return {"type": "program", "command": command, "options": options}


def _policy_value(value: Any) -> Any:
    """A class of `tune.policy`, an object of one, or what ``policy.with_options`` has made, as in a
    spec."""
    options: dict[str, Any] = {}
    if isinstance(value, policy.Policy):
        value = policy.with_options(type(value), **getattr(value, "options", {}))
    if isinstance(value, policy.WithOptions):
        value, options = value.kind, value.options
    if not (isinstance(value, type) and issubclass(value, policy.Policy)):
        return value
    target = _importable(value)
    if target is None:
        name = value.__name__
        raise TuneError(f"{name} must stand at the top of a file, to be loaded from there")
    return _asked(target, options)


def _rules(stop: Any) -> list[Any]:
    """The rules of ``stop``, one by one."""
    if isinstance(stop, (list, tuple)):
        return [rule for each in stop for rule in _rules(each)]
    if isinstance(stop, type) and issubclass(stop, Stopper):
        raise TypeError(f"stop is the class {stop.__name__}: give an object of it")
    return [_policy_value(stop)]


def _take_callbacks(said: dict[str, Any]) -> list[Callback]:
    """Takes out of the fields what is told here, and leaves what the driver has built in."""
    ours = [each for each in said.get("callbacks") or () if isinstance(each, Callback)]
    theirs = [each for each in said.get("callbacks") or () if not isinstance(each, Callback)]
    for each in theirs:
        if not isinstance(each, (str, dict)):
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
        classes of `tune.policy`; ``stop`` also one of `tune.stopper`, or a function of a trial's id
        and its result. ``callbacks``: objects of subclasses of `tune.Callback`.

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
        if said.get("resume_from_checkpoint") is not None:
            said["resume_from_checkpoint"] = _checkpoint_name(said["resume_from_checkpoint"])
        limit = said.get("searcher")
        if isinstance(limit, ConcurrencyLimiter):
            said["searcher"] = limit.searcher
            said["max_concurrent_trials"] = limit.max_concurrent
        for name in ("metric", "mode"):  # where a searcher was given them alone
            if said.get(name) is None:
                said[name] = getattr(said.get("searcher"), name, None)
        for name in ("searcher", "scheduler"):
            if name in said:
                said[name] = _policy_value(said[name])
        if said.get("stop") is not None:
            rules = _rules(said["stop"])
            said["stop"] = rules[0] if len(rules) == 1 else rules
        program = {name: said.pop(name) for name in _OF_PROGRAM if name in said}
        self._trainable = trainable
        self._quiet = run_config is not None and run_config.verbose == 0
        self._callbacks = _take_callbacks(said)
        self._spec = {name: spec_value(value) for name, value in said.items() if value is not None}
        self._spec["param_space"] = param_space or {}
        self._program_fields = program
        self._restores: list[str] | None = None
        self._path: str | None = None
        if not isinstance(trainable, (list, tuple)) and not callable(trainable):
            raise TypeError(f"{trainable!r} is neither a function, a Trainable nor a command")
        kind = trainable.function if isinstance(trainable, _Bound) else trainable
        if inspect.isclass(kind) and not issubclass(kind, Trainable):
            raise TypeError(f"{kind.__name__} is a class, and no tune.Trainable")
        if hasattr(kind, "default_resource_request"):
            raise TypeError(
                f"{kind.__name__}.default_resource_request is not asked: give the Tuner "
                "tune.with_resources(...) of it"
            )

    @classmethod
    def can_restore(cls, path: str | os.PathLike[str]) -> bool:
        """Whether a search lies in the directory `path`."""
        return os.path.exists(os.path.join(_directory(path), "experiment.json"))

    @classmethod
    def restore(
        cls,
        path: str | os.PathLike[str],
        trainable: Any = None,
        *,
        resume_unfinished: bool = True,
        resume_errored: bool = False,
        restart_errored: bool = False,
        callbacks: Sequence[Callback] = (),
    ) -> Tuner:
        """The search in the directory `path`, to go on with ``fit()``: after it was interrupted, or
        its driver or machine has died. `trainable` is not needed, and not looked at: trials run
        what they ran before.

        `resume_errored`: trials that have failed go on from their latest checkpoints;
        `restart_errored`: they start from scratch. `callbacks`: as before; each goes on where it
        was. TypeError: `resume_unfinished` is false.
        """
        if not resume_unfinished:
            raise TypeError(
                "a search that goes on takes up its unfinished trials: without resume_unfinished, "
                "look at Tuner.restore(path).get_results()"
            )
        tuner = cls.__new__(cls)
        tuner._trainable = trainable
        tuner._quiet = False
        tuner._spec = {}
        tuner._callbacks = _take_callbacks({"callbacks": callbacks})
        tuner._program_fields = {}
        tuner._path = _directory(path)
        tuner._restores = [tuner._path]
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
            if not self.can_restore(self._restores[0]):
                raise TuneError(f"there is no experiment in {self._restores[0]}")
            with self._telling(self._restores[0]):
                self._run(["resume", *self._restores], self._restores[0])
            return ResultGrid(self._restores[0])
        with tempfile.TemporaryDirectory(prefix="tune-") as scratch:
            name = self._spec.setdefault("name", self._new_name())
            storage = _directory(self._spec.setdefault("storage_path", "results"))
            self._spec["storage_path"] = storage
            directory = os.path.join(storage, name)
            taken, driven = (
                os.path.exists(os.path.join(directory, each)) for each in ("CURRENT", "LOCK")
            )
            if taken and not driven:  # of one that is driven, the driver says by whom
                raise TuneError(
                    f"{directory} holds an experiment already: "
                    f"tune.Tuner.restore({directory!r}).fit() goes on with it; "
                    "or choose another name"
                )
            self._asides: dict[str, bytes] = {}
            self._say_program(directory)
            self._say_stop(directory)
            file = os.path.join(scratch, f"{name}.json")
            with open(file, "w", encoding="utf-8") as spec:
                json.dump(self._spec, spec, default=_json_default)
            self._validate(file)
            for aside, content in self._asides.items():
                os.makedirs(directory, exist_ok=True)
                with open(aside, "xb") as to:
                    to.write(content)
            try:
                # What lies there already is another search, which this one is not to be told of.
                is_new = not os.path.exists(os.path.join(directory, "CURRENT"))
                with self._telling(directory if is_new else None):
                    self._run(["run", file], directory)
            except TuneError:
                for aside in self._asides:
                    if not self._is_of_experiment(directory, aside):
                        os.remove(aside)
                raise
        self._path = directory
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

    def get_results(self) -> ResultGrid:
        """What has come out of the search so far: after ``fit()``, or of the one to be restored."""
        if self._path is None:
            raise TuneError("there are no results: fit() has not run yet")
        return ResultGrid(self._path)

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

    def _say_program(self, directory: str) -> None:
        """Says in the spec what runs."""
        given = self._program_fields
        if isinstance(self._trainable, (list, tuple)):
            self._spec["trainable"] = {**given, "command": [str(each) for each in self._trainable]}
            return
        kind = self._trainable
        if isinstance(kind, _Bound):
            kind = kind.function
        target = self._target(self._trainable, "trainable", directory)
        api = "class" if inspect.isclass(kind) else "function"
        command = [sys.executable, "-m", "tune.trial", "--api", api, target]
        environment = {"PYTHONPATH": _search_path(), **given.get("env", {})}
        self._spec["trainable"] = {**given, "command": command, "env": environment}

    def _say_stop(self, directory: str) -> None:
        """Says in the spec who is asked, where a rule is a function or an object of your own."""
        rules = self._spec.get("stop")
        asked = [
            _asked(self._target(each, "stopper", directory), {}) if callable(each) else each
            for each in (rules if isinstance(rules, list) else [rules])
        ]
        if rules is not None:
            self._spec["stop"] = asked if isinstance(rules, list) else asked[0]

    def _target(self, value: Any, what: str, directory: str) -> str:
        """How another process loads it: by its name in a file, else from a file aside."""
        name = _importable(value)
        unguarded = name is not None and _is_main(value) and _is_unguarded()
        if name is not None and not unguarded:
            return name
        if unguarded and not _pickled.can_by_value():
            raise TuneError(
                "each trial loads the file that begins this search, and would begin it, too: put "
                "that behind if __name__ == '__main__':, or install cloudpickle: "
                f"{_pickled.how_to_install()}"
            )
        # Another search of this name, which is refused, must not take the place of the first.
        aside = os.path.join(directory, f".{what}-{secrets.token_hex(4)}.pkl")
        self._asides[aside] = _pickled.dumps(value, f"the {what}")
        return aside

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
                    # The driver saves what runs; a second one hurries it. On a terminal it has
                    # heard of it already, and takes this for the same one.
                    interrupted = True
                    driver.send_signal(signal.SIGINT)
            said.seek(0)
            return code, said.read().strip(), interrupted
