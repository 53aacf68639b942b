"""What a training function calls: report, get_checkpoint, get_context."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from types import GeneratorType
from typing import Any, NoReturn, Protocol

from tune._driver import Connection, TrialStopped, bad_command, plain_metrics, saved_answer
from tune.checkpoint import Checkpoint


class TrialContext:
    """Which trial this process works for; not to be changed."""

    def __init__(
        self,
        trial_id: str = "trial_00000",
        trial_dir: str = "",
        experiment_name: str = "",
        experiment_path: str = "",
        attempt: int = 1,
        resources: dict[str, float] | None = None,
        devices: tuple[str, ...] = (),
        rank: int = 0,
        world_size: int = 1,
        local_rank: int = 0,
    ) -> None:
        self.trial_id = trial_id
        self.trial_dir = trial_dir or os.getcwd()
        self.experiment_name = experiment_name
        self.experiment_path = experiment_path
        self.attempt = attempt  #: which start of this trial it is, from 1
        self.resources = resources or {}
        self.devices = devices  #: the GPUs allotted, as CUDA_VISIBLE_DEVICES names them
        self.rank = rank  #: which of `world_size` processes that train the trial together
        self.world_size = world_size
        self.local_rank = local_rank  #: which of those on this machine

    def get_trial_id(self) -> str:
        """``"trial_00003"``."""
        return self.trial_id

    get_trial_name = get_trial_id

    def get_trial_dir(self) -> str:
        """The trial's working directory, absolute."""
        return self.trial_dir

    def get_trial_resources(self) -> dict[str, float]:
        """What the trial may use: ``{"cpu": 2.0}``."""
        return dict(self.resources)

    def get_experiment_name(self) -> str:
        return self.experiment_name

    def get_world_rank(self) -> int:
        """Which of the processes that train the trial together (``num_workers``), from 0."""
        return self.rank

    def get_world_size(self) -> int:
        """How many there are; 1 without workers."""
        return self.world_size

    def get_local_rank(self) -> int:
        """Which of those on this machine, from 0."""
        return self.local_rank

    def get_local_world_size(self) -> int:
        """How many there are on this machine."""
        return self.world_size

    def get_node_rank(self) -> int:
        """Which of the machines that the trial has, from 0."""
        return 0

    @classmethod
    def of(cls, start: dict[str, Any]) -> TrialContext:
        return cls(
            trial_id=start["trial_id"],
            trial_dir=start["trial_dir"],
            experiment_name=os.environ.get("TUNE_EXPERIMENT", ""),
            experiment_path=os.environ.get("TUNE_EXPERIMENT_DIR", ""),
            attempt=start["attempt"],
            resources=start.get("resources") or {},
            devices=tuple(start.get("devices") or ()),
            rank=start.get("rank") or 0,
            world_size=start.get("world_size") or 1,
            local_rank=start.get("local_rank") or 0,
        )


class Session(Protocol):
    """Whom a function reports to."""

    context: TrialContext
    checkpoint: Checkpoint | None

    def report(
        self,
        metrics: dict[str, Any],
        save: Callable[[str], object] | None,
        checkpoint: Checkpoint | str | os.PathLike[str] | None,
    ) -> None: ...


class DrivenSession:
    """Under a driver: a report returns when the driver lets the function go on."""

    def __init__(self, connection: Connection, start: dict[str, Any]) -> None:
        self._connection = connection
        self._iteration = 0
        self._ended: TrialStopped | None = None
        self._save: Callable[[str], object] | None = None  # of the last report
        self._last_copy = 0
        #: Done once, while the driver is busy with the next message, if nothing can be saved then.
        self.meanwhile: Callable[[], None] | None = None
        #: Whether the process may wait for another trial, as the driver says it when this one stops
        self.may_stay: str | None = None
        self.context = TrialContext.of(start)
        path = start.get("checkpoint")
        self.checkpoint = Checkpoint(path) if path else None

    def await_step(self) -> None:
        """Returns at the next step. Until then, saves when told to."""
        while True:
            command = self._receive()
            kind = command["type"]
            if kind == "step":
                self._iteration = command["iteration"]
                return
            if kind == "save":
                answer = (
                    saved_answer(self._save, command["directory"])
                    if self._save is not None
                    else {"error": "report() was given no function that saves"}
                )
                self._send("saved", iteration=command["iteration"], **answer)
            elif kind == "stop":
                self.may_stay = command.get("may_stay")
                self._end(TrialStopped(0))
            else:
                bad_command(f"a function cannot take '{kind}' now")

    def report(
        self,
        metrics: dict[str, Any],
        save: Callable[[str], object] | None,
        checkpoint: Checkpoint | str | os.PathLike[str] | None,
    ) -> None:
        if self._ended is not None:
            raise self._ended
        fields: dict[str, Any] = {"iteration": self._iteration, "metrics": plain_metrics(metrics)}
        for name in ("done", "should_checkpoint"):
            if name in fields["metrics"]:
                fields[name] = bool(fields["metrics"].pop(name))
        self._save = save
        if checkpoint is not None:
            fields["checkpoint"] = self._name_in_trial_dir(checkpoint)
        self._send("result", can_save=save is not None, **fields)
        self.await_step()

    def finish(self) -> None:
        """The function has returned: says so, and waits for the end. What it has come to can be
        saved yet."""
        if self._ended is not None:
            raise self._ended
        if self._iteration == 1 and self.context.rank == 0:  # no report has led to another step
            raise TypeError(
                "the function has returned None and reported nothing: return a dict of metrics, "
                "as in return {'loss': loss}, or call tune.report"
            )
        self._send("result", iteration=self._iteration, done=True, can_save=self._save is not None)
        self.await_step()
        bad_command("a step came after the function had returned")

    def forget(self) -> None:
        """The trial is over: what its function has held is nobody's."""
        self._save = self._ended = None

    def _name_in_trial_dir(self, reported: Checkpoint | str | os.PathLike[str]) -> str:
        """What lies in the trial's directory is handed over by its name. What is elsewhere is the
        user's: it is copied, and stays."""
        path = reported.path if isinstance(reported, Checkpoint) else os.fspath(reported)
        if not os.path.isdir(path):
            raise ValueError(f"the reported checkpoint '{path}' is not a directory")
        own = os.path.realpath(self.context.trial_dir)
        source = os.path.realpath(path)
        if os.path.commonpath([source, own]) == source:
            raise ValueError(f"the reported checkpoint '{path}' holds the trial's own directory")
        parent, name = os.path.split(source)
        if parent == own and not os.path.islink(path.rstrip("/")):
            return name
        while True:
            self._last_copy += 1
            name = f".reported_checkpoint_{self._last_copy}"
            copy = os.path.join(own, name)
            try:
                os.mkdir(copy)  # another rank may look for a name just now
                break
            except FileExistsError:
                pass
        import shutil

        try:
            shutil.copytree(source, copy, symlinks=True, dirs_exist_ok=True)
        except (OSError, shutil.Error) as error:
            # A save that fails is no end of the training. The driver counts it: there is nothing.
            print(f"tune: the reported checkpoint cannot be copied: {error}", file=sys.stderr)
            shutil.rmtree(copy, ignore_errors=True)
        return name

    def _send(self, kind: str, **fields: Any) -> None:
        try:
            self._connection.send(kind, **fields)
        except TrialStopped as end:
            self._end(end)

    def _receive(self) -> dict[str, Any]:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None and self._save is None:
            meanwhile()
        try:
            return self._connection.receive()
        except TrialStopped as end:
            self._end(end)
            raise

    def _end(self, end: TrialStopped) -> None:
        """Remembered, since a function may swallow what is raised through it, and report again."""
        self._ended = end
        raise end


class StandaloneSession:
    """Nobody drives: reports are printed, so that a training function can be tried as it is."""

    def __init__(self) -> None:
        self.context = TrialContext()
        self.checkpoint: Checkpoint | None = None
        self._iteration = 0

    def report(
        self,
        metrics: dict[str, Any],
        save: Callable[[str], object] | None,
        checkpoint: Checkpoint | str | os.PathLike[str] | None,
    ) -> None:
        self._iteration += 1
        print(json.dumps({"training_iteration": self._iteration, **plain_metrics(metrics)}))


#: What a number is called that a function answers, or yields.
_ONLY_METRIC = "_metric"


def _metrics_of(answer: Any, how: str) -> dict[str, Any]:
    if isinstance(answer, dict):
        return answer
    item = getattr(answer, "item", None)  # a number of NumPy
    if callable(item) and getattr(answer, "size", 1) == 1:
        answer = item()
    if isinstance(answer, (int, float)) and not isinstance(answer, bool):
        return {_ONLY_METRIC: answer}
    raise TypeError(
        f"the function {how} a {type(answer).__name__}: a dict of metrics, a number or nothing was "
        "expected; what else it makes belongs into a file of its checkpoint"
    )


def report_answer(session: Session, answer: Any) -> None:
    """What a function has answered, or yields, is a report: metrics, or a number. TypeError: it is
    neither, and not None."""
    if isinstance(answer, GeneratorType):
        for each in answer:
            session.report(_metrics_of(each, "yields"), None, None)
    elif answer is not None:
        session.report(_metrics_of(answer, "has returned"), None, None)


_session: Session | None = None


def set_session(session: Session) -> None:
    """Of this process."""
    global _session
    _session = session


def _current() -> Session:
    if _session is None:
        set_session(StandaloneSession())
    assert _session is not None
    return _session


def _how_to_report(metrics: Any, values: tuple[Any, ...], others: list[str]) -> str:
    if values:
        name = metrics if isinstance(metrics, str) else "loss"
        return (
            f"tune.report takes metrics in one dict: write tune.report({{{name!r}: {values[0]!r}}})"
        )
    if metrics is not None:
        return (
            f"tune.report takes no {others[0]}: it takes metrics, in one dict, save=, a function "
            "that writes a checkpoint, or checkpoint=, a directory that was written"
        )
    shown = ", ".join(f"{name!r}: {name}" for name in others) or "'loss': loss"
    return f"tune.report takes metrics in one dict: write tune.report({{{shown}}})"


def report(
    metrics: dict[str, Any] | None = None,
    *values: NoReturn,
    save: Callable[[str], object] | None = None,
    checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    **others: NoReturn,
) -> None:
    """One iteration is over. Returns when the trial is to go on, and never if it is not: then
    ``SystemExit`` is raised, which runs ``finally`` blocks and ends the process with code 0.

    ``metrics``
        Names and numbers, nested as you like; what has ``item()`` is a number, too. The metric
        that the search goes by must be among them.
    ``save``
        Is called with an empty directory if the driver wants a checkpoint now: before a pause, for
        a clone, every ``checkpoint_frequency`` iterations. It writes whatever files are needed to
        go on from here.
    ``checkpoint``
        A directory that has just been written, which is a checkpoint whether anybody wants one or
        not. One in the trial's working directory is handed over, and moved away; another is copied.

    TypeError: a metric is no number; ValueError: the checkpoint is no directory. Without a driver
    it prints the metrics.
    """
    if values or others or metrics is None:
        raise TypeError(_how_to_report(metrics, values, list(others)))
    _current().report(metrics, save, checkpoint)


def get_checkpoint() -> Checkpoint | None:
    """What the trial is to go on from; None if it begins anew. Read only."""
    return _current().checkpoint


def get_context() -> TrialContext:
    """Which trial this is."""
    return _current().context
