"""What came out of a search."""

from __future__ import annotations

import math
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tune import _json
from tune._binary import find_binary
from tune.checkpoint import Checkpoint

if TYPE_CHECKING:
    from tune._report import Report


class TuneError(RuntimeError):
    """A search, or a question about one, has failed; the message says why."""


class _Histories:
    """The results of all trials of an experiment, each as it was when it was first wanted."""

    def __init__(self, experiment_path: str) -> None:
        self._path = experiment_path
        self._read: dict[str, list[dict[str, Any]]] = {}

    def of(self, trial_id: str) -> list[dict[str, Any]]:
        """Of one alone a process is asked, which reads the whole journal. Who wants a second one
        mostly wants all."""
        if self._read and trial_id not in self._read:
            self.read_all()
        if trial_id not in self._read:
            self._read[trial_id] = ask("show", self._path, trial_id, "--results")["results"]
        return [named_numbers(row) for row in self._read[trial_id]]

    def read_all(self) -> None:
        for trial in ask("ls", self._path, "--results"):
            self._read.setdefault(trial["trial_id"], trial["results"])


@dataclass(frozen=True)
class Result:
    """One trial's."""

    trial_id: str
    config: dict[str, Any]
    metrics: dict[str, Any]  #: of the last result, as they were reported; empty: there was none
    path: str  #: the trial's directory, absolute
    state: str  #: ``"TERMINATED"``, ``"ERROR"``, ``"PAUSED"``, ``"PENDING"``, ``"RUNNING"``
    #: The latest, not that of the best result: that is `get_best_checkpoint`. None, too, of a copy
    #: of another trial that has saved nothing since.
    checkpoint: Checkpoint | None = None
    error: str | None = None  #: the last failure, in a sentence
    #: ``"completed"``, ``"pruned"`` by the scheduler, ``"stopped"`` by somebody or with the search,
    #: ``"failed"``; None: it has not ended.
    end: str | None = None
    #: Of what `ResultGrid.get_best_result` answers: the metrics of the trial's best result, all of
    #: one iteration, and which that is; empty, None: not asked for, or ``json`` was off.
    best_metrics: dict[str, Any] = field(default_factory=dict, compare=False)
    best_iteration: int | None = field(default=None, compare=False)
    _histories: _Histories | None = field(default=None, compare=False, repr=False)

    @property
    def metrics_history(self) -> list[dict[str, Any]]:
        """All results of the trial that count, in their order: since it last became a copy of
        another one, if it did. Read once: of a search that runs, ``Tuner.get_results()`` has newer
        ones."""
        histories = self._histories or _Histories(os.path.dirname(self.path))
        return histories.of(self.trial_id)

    @property
    def metrics_dataframe(self) -> Any:
        """The same as a table of pandas, which must be installed."""
        return _table(_pandas(), self.metrics_history)

    def _repr_html_(self) -> str:
        from tune import _notebook

        return _notebook.result_view(self).html()

    @property
    def best_checkpoints(self) -> list[tuple[Checkpoint, dict[str, Any]]]:
        """Those that were kept, best first, each with the metrics that were reported with it, and
        its ``training_iteration``, if that is certain. Of a trial that has become a copy of another
        one, those since then."""
        listed = ask("checkpoints", os.path.dirname(self.path), self.trial_id)
        rows = [row for row in listed if row["rank"] is not None]
        found = []
        for row in sorted(rows, key=lambda row: row["rank"]):
            metrics = named_numbers(_manifest(row["path"])["metrics"])
            if not row["is_guess"]:
                metrics.setdefault("training_iteration", row["training_iteration"])
            found.append((Checkpoint(row["path"]), metrics))
        return found

    def get_best_checkpoint(
        self, metric: str | None = None, mode: str | None = None
    ) -> Checkpoint | None:
        """The best that was kept, by the search's own measure or by another `metric` and its
        `mode`, ``"min"`` or ``"max"``; None: no checkpoint has a number for it."""
        if metric is None:
            best = self.best_checkpoints
            return best[0][0] if best else None
        if mode not in ("min", "max"):
            raise ValueError(f"which values of '{metric}' are better: mode is 'min' or 'max'")
        scored = [
            (score, checkpoint)
            for checkpoint, metrics in self.best_checkpoints
            if (score := _metric(metrics, metric)) is not None
        ]
        if not scored:
            return None
        return (min if mode == "min" else max)(scored, key=lambda each: each[0])[1]


def _pandas() -> Any:
    try:
        import pandas  # type: ignore[import-untyped,unused-ignore]
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "a table needs pandas: pip install pandas; metrics_history has the same as a list"
        ) from None
    return pandas


def _table(pandas: Any, rows: list[dict[str, Any]]) -> Any:
    """A column with whole numbers and gaps is one of doubles to pandas. Where these lack digits of
    a number, Python's numbers stand in the column, and None in the gaps."""
    frame = pandas.json_normalize(rows, sep="/")
    for name in frame.select_dtypes("float").columns:
        values = [_value(row, name) for row in rows]
        if any(isinstance(value, int) and value != float(value) for value in values):
            frame[name] = pandas.Series(values, index=frame.index, dtype=object)
    return frame


def _manifest(checkpoint: str) -> Any:
    """Also of one that is only on a remote."""
    try:
        with open(os.path.join(checkpoint, "manifest.json"), encoding="utf-8") as file:
            return _json.loads(file.read())
    except FileNotFoundError:
        with open(checkpoint + ".remote.json", encoding="utf-8") as file:
            return _json.loads(_json.loads(file.read().split(" ", 1)[1])["manifest"])


def ask(*arguments: str) -> Any:
    """What ``tune ARGUMENTS --json`` answers. TuneError with its own words."""
    done = subprocess.run(
        [find_binary(), *arguments, "--json"],
        capture_output=True,
        text=True,
        check=False,
        # A notebook asks while it is interrupted, which its whole process group hears.
        start_new_session=True,
    )
    if done.returncode != 0:
        raise TuneError(done.stderr.strip().removeprefix("tune: "))
    return _json.loads(done.stdout)


_NUMBERS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


def named_numbers(found: dict[str, Any] | None) -> dict[str, Any]:
    """JSON has no word for what is no finite number, and these are their names there."""
    return {name: _number(value) for name, value in (found or {}).items()}


def _number(value: Any) -> Any:
    if isinstance(value, dict):
        return named_numbers(value)
    return _NUMBERS.get(value, value) if isinstance(value, str) else value


def _value(metrics: Any, name: str) -> Any:
    value = metrics.get(name)
    if value is None:
        value = metrics
        for part in name.split("/"):
            value = value.get(part) if isinstance(value, dict) else None
    return value


def _metric(metrics: Any, name: str) -> float | None:
    """The metric called `name`, where nested ones have slashes; true and false are 1 and 0, as
    everywhere. None: it is no finite number, which is never the best."""
    value = _value(metrics, name)
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return value


def _best_row(result: Result, metric: str | None, mode: str | None) -> dict[str, Any]:
    if metric is None:
        return result.metrics
    if mode not in ("min", "max"):
        raise ValueError(f"which values of '{metric}' are better: filter_mode is 'min' or 'max'")
    scored = [
        (score, row)
        for row in result.metrics_history
        if (score := _metric(row, metric)) is not None
    ]
    if not scored:
        return {}
    return (min if mode == "min" else max)(scored, key=lambda each: each[0])[1]


def _trials_in(directory: str) -> Any:
    """TuneError if searches lie there, which the program would list."""
    listed = ask("ls", directory)
    if listed and "trial_id" not in listed[0]:
        raise TuneError(
            f"{directory} holds searches and is none: name one of them, {listed[0]['directory']}"
        )
    return listed


def _checkpoint(path: str | None) -> Checkpoint | None:
    return Checkpoint(path) if path else None


def why_in_vain(directory: str) -> str:
    """Why the search in `directory` has ended before its time or without any result, with what its
    first trial raised; empty: it has not."""
    reason = ask("status", directory)["given_up"]
    trials = ask("ls", directory)
    failed = [each for each in trials if each["error"]]
    text = f"the search has given up: {reason}"
    if not reason:
        if len(failed) < len(trials) or any(each["training_iteration"] for each in trials):
            return ""
        text = f"no trial has come to a result, and {len(failed)} of {len(trials)} have failed"
    if failed:
        first = failed[0]
        text += f"\n{first['trial_id']} failed: {first['error'].strip()}"
        for log in ("stderr.log", "stdout.log"):
            trace = _last_traceback(os.path.join(first["path"], log))
            if trace and trace not in text:
                return f"{text}\n{trace}"
    return text


def _last_traceback(log: str) -> str:
    """The end of what a program of Python's has left in `log`; empty if it has left none."""
    most_bytes, most_lines = 16384, 12
    try:
        with open(log, "rb") as file:
            file.seek(max(0, os.stat(log).st_size - most_bytes))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    begin = text.rfind("Traceback (most recent call last)")
    return "\n".join(text[begin:].rstrip().splitlines()[-most_lines:]) if begin >= 0 else ""


class ResultGrid:
    """All trials of a search, in the order in which they were made."""

    def __init__(self, experiment_path: str) -> None:
        self.experiment_path = os.path.abspath(experiment_path)
        self._histories = _Histories(self.experiment_path)
        self._results = [
            Result(
                trial_id=trial["trial_id"],
                config=trial["config"],
                metrics=named_numbers(trial["metrics"]),
                path=trial["path"],
                state=trial["state"],
                checkpoint=_checkpoint(trial["checkpoint"]),
                error=trial["error"] or None,
                end=trial["end"] or None,
                _histories=self._histories,
            )
            for trial in _trials_in(self.experiment_path)
        ]
        waits = any(each.state == "PENDING" and each.error for each in self._results)
        self._has_given_up = waits and bool(ask("status", self.experiment_path)["given_up"])

    def __len__(self) -> int:
        return len(self._results)

    def __getitem__(self, index: int) -> Result:
        return self._results[index]

    def __iter__(self) -> Iterator[Result]:
        return iter(self._results)

    @property
    def errors(self) -> list[str]:
        """Why trials have failed: for good, or until a search that has given up is taken up."""
        failed = ("ERROR", "PENDING") if self._has_given_up else ("ERROR",)
        return [each.error for each in self._results if each.error and each.state in failed]

    @property
    def num_errors(self) -> int:
        return len(self.errors)

    @property
    def num_terminated(self) -> int:
        return sum(each.state == "TERMINATED" for each in self._results)

    def get_best_result(
        self, metric: str | None = None, mode: str | None = None, scope: str = "last"
    ) -> Result:
        """The trial that came out best. `metric` and `mode`: instead of the search's own.

        `scope`: over which of a trial's results: ``"last"``, ``"all"``, ``"avg"``,
        ``"last-5-avg"``, ``"last-10-avg"``. TuneError if no trial has a number for it.

        Its `metrics` are those of its last result, `best_metrics` those of its best one.
        """
        options = ["--scope", scope]
        if metric is not None:
            options += ["--metric", metric]
        if mode is not None:
            options += ["--mode", mode]
        try:
            best = ask("best", self.experiment_path, *options)
        except TuneError as error:
            raise TuneError(self._why_no_best(str(error), metric, mode)) from None
        if isinstance(best, list):
            best = best[0]
        found = next(each for each in self if each.trial_id == best["trial_id"])
        return replace(
            found,
            best_metrics=named_numbers(best.get("best_metrics")),
            best_iteration=best.get("best_iteration"),
        )

    def _why_no_best(self, said: str, metric: str | None, mode: str | None) -> str:
        """In words of this package."""
        said = said.replace("--metric", "metric=").replace("--mode", "mode=")
        try:
            with open(
                os.path.join(self.experiment_path, "experiment.json"), encoding="utf-8"
            ) as file:
                own = _json.loads(file.read())["metric"]
        except OSError:
            return said
        name = own if metric is None else metric
        if name is None or (own is None and mode is None):
            return (
                "the search was given no metric, by which a result is the best: say "
                f"get_best_result(metric={metric or 'loss'!r}, mode='min'), or 'max'; and "
                "tune.Tuner(..., metric=..., mode=...) another time"
            )
        ends = (
            [_value(each.metrics, name) for each in self._results] if isinstance(name, str) else []
        )
        nans = sum(isinstance(each, float) and not math.isfinite(each) for each in ends)
        if nans and not any(_metric(each.metrics, name) is not None for each in self._results):
            return (
                f"{said}: {nans} of {len(self)} trials came to NaN or infinity, "
                "which is never the best"
            )
        if self.errors and not any(each.metrics for each in self._results):
            return f"{said}; {len(self.errors)} trials have failed, the first: {self.errors[0]}"
        return said

    def get_dataframe(
        self, filter_metric: str | None = None, filter_mode: str | None = None
    ) -> Any:
        """The last results and the configs (``config/lr``) as a table of pandas, which must be
        installed: a row a trial. With `filter_metric` and `filter_mode`, ``"min"`` or ``"max"``,
        each trial's best result by these."""
        pandas = _pandas()
        if filter_metric is not None:
            self._histories.read_all()
        rows = [
            {
                "trial_id": each.trial_id,
                "state": each.state,
                "end": each.end,
                **_best_row(each, filter_metric, filter_mode),
                "config": each.config,
            }
            for each in self._results
        ]
        return _table(pandas, rows)

    def report(self) -> Report:
        """The report as a page, with all pictures: shown where it stands at the end of a notebook's
        cell, and written by its `save`. TuneError: the experiment cannot be read."""
        from tune._report import Report

        return Report(self.experiment_path)

    def __repr__(self) -> str:
        return f"ResultGrid({self.experiment_path!r}, {len(self)} trials)"

    def _repr_html_(self) -> str:
        from tune import _notebook

        return _notebook.grid_view(self).html()
