"""A training as a class, which trains, saves and loads when it is told to."""

from __future__ import annotations

import functools
import json
import os
import sys
import time
from typing import Any

from tune._driver import Connection, TrialStopped, bad_command, plain_metrics, saved_answer
from tune._session import TrialContext

__path__: list[str] = []  # so that what Ray has below it is looked for, and its absence explained

#: The file of a checkpoint that was answered as a dict.
_DICT = "checkpoint.pkl"


class Trainable:
    """Subclass it, and write ``setup``, ``step``, ``save_checkpoint`` and ``load_checkpoint``.

    The driver calls them, between results only: so a pause, an exploit or a restore needs nothing
    else. ``step`` may answer ``"done": True``, and ``"should_checkpoint": True``.
    """

    config: dict[str, Any]
    context: TrialContext
    iteration: int  #: of the last result; 0 before the first

    def setup(self, config: dict[str, Any]) -> None:
        """Makes everything that training needs. Called once, before all else."""

    def step(self) -> dict[str, Any]:
        """Trains one iteration and answers its metrics: names and numbers, nested as you like."""
        raise NotImplementedError(f"{type(self).__name__} has no step()")

    def save_checkpoint(self, checkpoint_dir: str) -> dict[str, Any] | str | None:
        """Writes what is needed to go on into an empty directory, and answers None or that
        directory; or answers it as a dict, which is pickled."""
        raise NotImplementedError(f"{type(self).__name__} has no save_checkpoint()")

    def load_checkpoint(self, checkpoint: Any) -> None:
        """Goes on from what ``save_checkpoint`` wrote or answered, a directory or a dict, perhaps
        with another config."""
        raise NotImplementedError(f"{type(self).__name__} has no load_checkpoint()")

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Becomes a trial with another config, as good as new; False: it cannot. Used with
        ``reuse_processes``. ``config``, ``trial_id`` and the others are the new trial's already."""
        return False

    def cleanup(self) -> None:
        """Releases what is to be released. Called at the end."""

    @property
    def trial_id(self) -> str:
        """``"trial_00003"``."""
        return self.context.trial_id

    trial_name = trial_id

    @property
    def training_iteration(self) -> int:
        return self.iteration

    @property
    def trial_resources(self) -> dict[str, float]:
        """What the trial may use: ``{"cpu": 2.0}``."""
        return self.context.get_trial_resources()

    @property
    def logdir(self) -> str:
        """The trial's working directory, absolute."""
        return self.context.trial_dir


def save_to(trainable: Trainable, directory: str) -> None:
    """Has it saved into `directory`, which is empty. ValueError: it has answered something else."""
    answer = trainable.save_checkpoint(directory)
    if isinstance(answer, dict):
        from tune import _pickled

        with open(os.path.join(directory, _DICT), "wb") as file:
            file.write(_pickled.dumps(answer, "the dict of save_checkpoint()"))
    elif answer is not None and os.path.realpath(answer) != os.path.realpath(directory):
        raise ValueError(
            f"save_checkpoint() has answered {answer!r}: None, its directory or a dict was expected"
        )


def load_from(trainable: Trainable, directory: str) -> None:
    """Has it go on from what `save_to` has saved there."""
    file = os.path.join(directory, _DICT)
    if not os.path.exists(file):
        trainable.load_checkpoint(directory)
        return
    with open(file, "rb") as content:
        import pickle

        trainable.load_checkpoint(pickle.load(content))


def move_to(start: dict[str, Any]) -> None:
    """The working directory, the log files and the environment of another trial."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.chdir(start["trial_dir"])
    os.environ["TUNE_TRIAL_ID"] = start["trial_id"]
    os.environ["TUNE_TRIAL_DIR"] = start["trial_dir"]
    os.environ["TUNE_ATTEMPT"] = str(start["attempt"])
    os.environ["TUNE_RESOURCES"] = json.dumps(start.get("resources") or {}, separators=(",", ":"))
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        log = start.get(name)
        if log:
            opened = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
            os.dup2(opened, descriptor)
            os.close(opened)


def _take_over(trainable: Trainable, start: dict[str, Any]) -> None:
    trainable.config = start["config"]
    trainable.context = TrialContext.of(start)
    trainable.iteration = start.get("iteration") or 0


def set_up(trainable: Trainable, start: dict[str, Any]) -> float | None:
    """Makes `trainable` the trial that `start` tells of. Answers the seconds that it took to load
    what it goes on from, if there is anything."""
    _take_over(trainable, start)
    trainable.setup(start["config"])
    return _load(trainable, start)


def _load(trainable: Trainable, start: dict[str, Any]) -> float | None:
    if not start.get("checkpoint"):
        return None
    began = time.monotonic()
    load_from(trainable, start["checkpoint"])
    return time.monotonic() - began


class _Driven:
    """A Trainable that does what the driver says."""

    def __init__(self, connection: Connection, trainable: type[Trainable]) -> None:
        self._connection = connection
        self._type = trainable
        self._trainable: Trainable | None = None
        self._load_s: float | None = None  # until the first result

    def obey(self) -> None:
        while True:
            command = self._connection.receive()
            kind = command["type"]
            if kind == "stop":
                raise TrialStopped(0)
            if kind == "start":
                self._trainable = self._type()
                self._load_s = set_up(self._trainable, command)
            elif kind == "reset":
                self._reset(command)
            elif self._trainable is None:
                bad_command(f"'{kind}' came before start")
            elif kind == "step":
                self._step(self._trainable, command)
            elif kind == "save":
                save = functools.partial(save_to, self._trainable)
                answer = saved_answer(save, command["directory"])
                self._connection.send("saved", iteration=command["iteration"], **answer)
            else:
                bad_command(f"unknown type '{kind}'")

    def cleanup(self) -> None:
        if self._trainable is not None:
            self._trainable.cleanup()

    def _reset(self, start: dict[str, Any]) -> None:
        trainable = self._trainable
        if trainable is None:
            bad_command("a reset came before start")
        assert trainable is not None
        move_to(start)
        _take_over(trainable, start)
        try:
            can = trainable.reset_config(start["config"])
        except Exception:  # noqa: BLE001 (a process of its own is to show whether it matters)
            import traceback

            traceback.print_exc()
            can = False
        if not can:
            self._connection.send("refused")
            while self._connection.receive()["type"] != "stop":
                pass
            raise TrialStopped(0)
        self._load_s = _load(trainable, start)

    def _step(self, trainable: Trainable, command: dict[str, Any]) -> None:
        metrics = plain_metrics(trainable.step())
        fields: dict[str, Any] = {}
        for name in ("done", "should_checkpoint"):
            if name in metrics:
                fields[name] = bool(metrics.pop(name))
        if self._load_s is not None:
            fields["load_s"], self._load_s = self._load_s, None
        trainable.iteration = command["iteration"]
        self._connection.send("result", iteration=command["iteration"], metrics=metrics, **fields)


def drive(connection: Connection, trainable: type[Trainable]) -> None:
    """Works for the driver until it ends this process. The hello has been said."""
    driven = _Driven(connection, trainable)
    try:
        driven.obey()
    finally:
        driven.cleanup()
