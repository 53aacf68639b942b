"""Callbacks: what is told of each event of a search, beside the driver and never in its way.

``python3 -m tune.callback FILE.py:NAME DIR`` tells one of the experiment in DIR, which somebody
else runs; ``Tuner(..., callbacks=[...])`` does so during ``fit()``.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from tune import _json
from tune._binary import find_binary
from tune._events import EventsReader, read_events, start_reader
from tune.checkpoint import Checkpoint
from tune.results import TuneError

#: At most so often the place in the events is written down. Saving it costs a rename.
_SAVE_PERIOD_S = 0.2


@dataclass
class Trial:
    """What is known of a trial at the event that is told."""

    trial_id: str  #: ``"trial_00003"``
    config: dict[str, Any]
    path: str  #: its directory, absolute
    status: str = "PENDING"  #: ``"RUNNING"``, ``"PAUSED"``, ``"TERMINATED"``, ``"ERROR"``
    attempt: int = 0  #: which start of it, from 1
    last_result: dict[str, Any] = field(default_factory=dict)
    checkpoint: Checkpoint | None = None  #: the latest
    error: str | None = None  #: of its last failure
    is_stopping: bool = False  #: it was told to end

    @property
    def local_path(self) -> str:
        return self.path

    @property
    def experiment_path(self) -> str:
        return os.path.dirname(self.path)

    def save(self) -> bool:
        """Has it saved at its next result. False: it is too late, as the trial has ended meanwhile,
        or its driver has left."""
        return self._ask("checkpoint")

    def stop(self) -> bool:
        """Ends it in good order. False: it is too late for that."""
        return self._ask("stop")

    def _ask(self, wish: str) -> bool:
        command = [find_binary(), wish, self.experiment_path, self.trial_id]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def __str__(self) -> str:
        return self.trial_id


class _Trials(Sequence[Trial]):
    """All so far, to look at only: a copy for each event would take longer the more there are."""

    def __init__(self, trials: list[Trial]) -> None:
        self._trials = trials

    def __getitem__(self, index: Any) -> Any:
        return self._trials[index]

    def __len__(self) -> int:
        return len(self._trials)

    def __iter__(self) -> Iterator[Trial]:
        return iter(self._trials)


class Callback:
    """Subclass it, and give an object of that to ``Tuner(callbacks=[...])``. Hooks have Ray's
    names, and are called with keywords: ``iteration``, the event's number; ``trials``, a list of
    all so far; ``trial``. It may be slow: nobody waits for it but the end of ``fit()``.

    Each event is told once. What must outlast this process is what `get_state` answers: it is
    written down together with the place in the events, so both are of one moment. That is done five
    times a second, and at the end. After a crash, events of the last fifth of a second may be
    told again, with the same `iteration`.
    """

    def setup(self, experiment_path: str) -> None:
        """Before everything else, and again when the search is taken up."""

    def on_trial_start(self, iteration: int, trials: Sequence[Trial], trial: Trial) -> None:
        """An attempt begins: the first, or one after a failure, a pause, an interruption."""

    def on_trial_result(
        self, iteration: int, trials: Sequence[Trial], trial: Trial, result: dict[str, Any]
    ) -> None:
        """`result`: the metrics as reported, and ``training_iteration``, ``time_total_s``,
        ``time_this_iter_s``, ``timestamp``, ``trial_id``, ``config``, ``done``."""

    def on_checkpoint(
        self, iteration: int, trials: Sequence[Trial], trial: Trial, checkpoint: Checkpoint
    ) -> None:
        """One was committed. It may be deleted later, as the search's retention has it."""

    def on_trial_complete(self, iteration: int, trials: Sequence[Trial], trial: Trial) -> None:
        """It has ended well, or was stopped."""

    def on_trial_error(self, iteration: int, trials: Sequence[Trial], trial: Trial) -> None:
        """It has failed for good; ``trial.error`` says why."""

    def on_experiment_end(self, trials: Sequence[Trial]) -> None:
        """The driver has left with nothing left to do; all files of trials are written."""

    def get_state(self) -> Any:
        """What to know again after a restart, as JSON has it."""
        return None

    def set_state(self, state: Any) -> None:
        """What `get_state` has answered, after `setup`."""


def flat_numbers(result: dict[str, Any]) -> dict[str, float]:
    """The numbers of a result, under names with slashes where they are nested. Without its config
    and what else is no number; booleans are 0 and 1."""
    flat: dict[str, float] = {}
    for name, value in result.items():
        if isinstance(value, dict) and name != "config":
            flat.update({f"{name}/{below}": each for below, each in flat_numbers(value).items()})
        elif isinstance(value, (bool, int, float)):
            flat[name] = float(value)
    return flat


class _Place:
    """How far one callback has been told, in a file of the experiment's directory."""

    def __init__(self, callback: Callback, experiment_path: str, number: int) -> None:
        self._callback = callback
        self.event = 0
        suffix = "" if number == 0 else f"_{number + 1}"
        self._name = f"callback_{type(callback).__name__}{suffix}"
        self._file = os.path.join(experiment_path, f"{self._name}.json")
        self._lock: IO[str] | None = None
        self._saved_at = 0.0
        self._saved_event = 0
        self.failed = False

    def load(self) -> None:
        """RuntimeError: another process tells a callback of this name already."""
        if self._lock is None:
            self._lock = open(f"{self._file}.lock", "w")  # held until this process ends
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise RuntimeError(
                    f"another process tells {self._name} of this experiment already"
                ) from None
        try:
            with open(self._file, encoding="utf-8") as file:
                found = _json.loads(file.read())
        except FileNotFoundError:
            return
        self.event = self._saved_event = int(found["event"])
        if found["state"] is not None:
            self._callback.set_state(found["state"])

    def save(self, always: bool) -> None:
        now = time.monotonic()
        if self.event == self._saved_event or (
            not always and now - self._saved_at < _SAVE_PERIOD_S
        ):
            return
        text = json.dumps({"event": self.event, "state": self._callback.get_state()})
        aside = f"{self._file}.new"
        with open(aside, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(aside, self._file)
        self._saved_at, self._saved_event = now, self.event


class Teller:
    """Tells callbacks what happens in the experiment at `path`, from where each has got to."""

    def __init__(self, callbacks: Iterable[Callback], path: str | os.PathLike[str]) -> None:
        self._path = os.path.abspath(path)
        self._trials: list[Trial] = []
        self._all = _Trials(self._trials)
        self._lock = threading.Lock()
        self._reader: EventsReader | None = None
        self._is_stopped = False
        self._is_set_up = False
        self._next = 1
        self._told: list[tuple[Callback, _Place]] = []
        numbers: dict[str, int] = {}
        for callback in callbacks:
            kind = type(callback).__name__
            number = numbers.get(kind, 0)
            numbers[kind] = number + 1
            self._told.append((callback, _Place(callback, self._path, number)))

    def run(self, follow: bool) -> None:
        """Tells what is new. With `follow`, waits for the experiment, and tells until that is
        finished, its driver leaves or `stop_following` is called. A callback that raises is told
        nothing any more, and the trace is printed. TuneError: the events cannot be read."""
        with self._lock:
            if follow and self._is_stopped:
                return
            self._reader = start_reader(self._path, self._next, follow)
        end: dict[str, Any] | None = None
        with self._reader as reader:
            for event in read_events(reader.process):
                if not self._is_set_up:  # now the experiment's directory is there
                    self._is_set_up = True
                    for callback, place in self._told:
                        self._guard(callback, place, self._set_up, callback, place)
                if end is not None:
                    self._tell(end)
                # Told once the driver is gone, and with it what it still had to write.
                end = event if event["e"] == "session_end" else None
                if end is None:
                    self._tell(event)
        if end is not None:
            self._tell(end)
        for callback, place in self._told:
            self._guard(callback, place, place.save, always=True)
        if not (follow and self._is_stopped):
            reader.check()

    def stop_following(self) -> None:
        """`run` returns soon, perhaps before it has told all. From any thread."""
        with self._lock:
            self._is_stopped = True
            if self._reader is not None:
                self._reader.process.terminate()

    def _tell(self, event: dict[str, Any]) -> None:
        self._next = event["n"] + 1
        calls = self._take(event)
        process = os.getpid()
        for callback, place in self._told:
            if event["n"] <= place.event:
                continue
            for name, given in calls:
                self._guard(callback, place, getattr(callback, name), **given)
                if os.getpid() != process:  # a hook has forked, and this is its child: told nothing
                    os._exit(0)
            if place.failed:
                continue
            place.event = event["n"]
            self._guard(callback, place, place.save, always=False)

    def _set_up(self, callback: Callback, place: _Place) -> None:
        callback.setup(experiment_path=self._path)
        place.load()

    def _guard(
        self, callback: Callback, place: _Place, call: Any, *given: Any, **named: Any
    ) -> None:
        if place.failed:
            return
        try:
            call(*given, **named)
        except (Exception, SystemExit):  # noqa: BLE001 (the user's code)
            place.failed = True
            import traceback

            traceback.print_exc()
            print(
                f"tune: the callback {type(callback).__name__} has failed and is told nothing any "
                "more; the search goes on",
                file=sys.stderr,
            )

    def _take(self, event: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        """Takes in what has happened. Answers which hooks to call, and with what."""
        kind = event["e"]
        about: dict[str, Any] = {"iteration": event["n"], "trials": self._all}
        if kind == "session_end":
            # The sentence said it before there was the word.
            ended = event.get("how", event["reason"]) == "finished"
            return [("on_experiment_end", {"trials": self._all})] if ended else []
        if kind == "trial":
            path = os.path.join(self._path, event["trial_id"])
            self._trials.append(Trial(event["trial_id"], event["config"], path))
        if "trial" not in event or kind == "ask":
            return []
        trial = about["trial"] = self._trials[event["trial"]]
        if kind == "attempt":
            trial.status, trial.attempt, trial.is_stopping = "RUNNING", event["attempt"], False
            return [("on_trial_start", about)]
        if kind == "result":
            trial.last_result = self._result(event, trial)
            trial.is_stopping = trial.is_stopping or event.get("action") == "stop"
            told = ("on_trial_result", {**about, "result": trial.last_result})
            if "config" in event:  # it is a clone from now on
                trial.config = event["config"]
            return [told]
        if kind == "exploit":
            trial.config = event["config"]
        if kind == "checkpoint":
            name = f"checkpoint_{event['index']:06d}"
            trial.checkpoint = Checkpoint(os.path.join(trial.path, name))
            return [("on_checkpoint", {**about, "checkpoint": trial.checkpoint})]
        if kind == "requeued":
            trial.status, trial.is_stopping = "PENDING", False
        if kind == "hold" and trial.status in ("PENDING", "PAUSED"):
            trial.status = "PENDING" if event.get("released") else "PAUSED"
        if kind == "trial_stop":
            if trial.status == "RUNNING":
                trial.is_stopping = True
                return []
            return self._end(trial, "TERMINATED", about)
        if kind == "end":
            return self._end_of_attempt(event, trial, about)
        return []

    def _result(self, event: dict[str, Any], trial: Trial) -> dict[str, Any]:
        return {
            **event["metrics"],
            "training_iteration": event["iteration"],
            "time_this_iter_s": event.get("this_s", 0.0),
            "time_total_s": event.get("total_s", 0.0),
            "timestamp": event["t"],
            "trial_id": trial.trial_id,
            "config": trial.config,
            "done": event.get("done", False),
        }

    def _end_of_attempt(
        self, event: dict[str, Any], trial: Trial, about: dict[str, Any]
    ) -> list[tuple[str, dict[str, Any]]]:
        outcome = event["outcome"]
        if outcome == "completed" or (outcome == "interrupted" and trial.is_stopping):
            return self._end(trial, "TERMINATED", about)
        if outcome == "failed":
            trial.error = event["reason"]
            if not event.get("retry"):
                return self._end(trial, "ERROR", about)
        trial.status = "PAUSED" if outcome == "paused" else "PENDING"
        return []

    @staticmethod
    def _end(trial: Trial, status: str, about: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        trial.status = status
        return [("on_trial_error" if status == "ERROR" else "on_trial_complete", about)]


def main(arguments: list[str]) -> int:
    from tune.trial import load

    if len(arguments) != 2 or arguments[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    kind = load(arguments[0])
    if not (isinstance(kind, type) and issubclass(kind, Callback)):
        print(f"tune: {arguments[0]} is no subclass of tune.Callback", file=sys.stderr)
        return 2
    teller = Teller([kind()], arguments[1])
    try:
        teller.run(follow=True)
    except TuneError as error:
        print(f"tune: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    # Under its own name, so that there is one class Callback.
    from tune.callback import main as run

    sys.exit(run(sys.argv[1:]))
