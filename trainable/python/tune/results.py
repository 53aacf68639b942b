"""What came out of a search."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tune._binary import find_binary
from tune.checkpoint import Checkpoint


class TuneError(RuntimeError):
    """A search, or a question about one, has failed; the message says why."""


@dataclass(frozen=True)
class Result:
    """One trial's."""

    trial_id: str
    config: dict[str, Any]
    metrics: dict[str, Any]  #: of the last result; nested names have slashes; empty: there was none
    path: str  #: the trial's directory, absolute
    state: str  #: ``"TERMINATED"``, ``"ERROR"``, ``"PAUSED"``, ``"PENDING"``, ``"RUNNING"``
    checkpoint: Checkpoint | None = None  #: the latest
    error: str | None = None  #: the last failure, in a sentence
    #: Those that were kept, each with its score, best first; of the best result only.
    best_checkpoints: list[tuple[Checkpoint, float | None]] = field(default_factory=list)

    @property
    def metrics_history(self) -> list[dict[str, Any]]:
        """All results of the trial, in their order; empty if the callback ``json`` was off."""
        try:
            with open(os.path.join(self.path, "result.json"), encoding="utf-8") as file:
                return [named_numbers(json.loads(line)) for line in file]
        except FileNotFoundError:
            return []

    @property
    def metrics_dataframe(self) -> Any:
        """The same as a table of pandas, which must be installed."""
        import pandas  # type: ignore[import-untyped,unused-ignore]

        return pandas.json_normalize(self.metrics_history, sep="/")

    def _repr_html_(self) -> str:
        from tune import _notebook

        return _notebook.result_view(self).html()

    def get_best_checkpoint(self) -> Checkpoint | None:
        """The best that was kept, where that is known; else the latest."""
        return self.best_checkpoints[0][0] if self.best_checkpoints else self.checkpoint


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
    return json.loads(done.stdout)


_NUMBERS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


def named_numbers(found: dict[str, Any] | None) -> dict[str, Any]:
    """JSON has no word for what is no finite number, and these are their names there."""
    return {name: _number(value) for name, value in (found or {}).items()}


def _number(value: Any) -> Any:
    if isinstance(value, dict):
        return named_numbers(value)
    return _NUMBERS.get(value, value) if isinstance(value, str) else value


def _checkpoint(path: str | None) -> Checkpoint | None:
    return Checkpoint(path) if path else None


class ResultGrid:
    """All trials of a search, in the order in which they were made."""

    def __init__(self, experiment_path: str) -> None:
        self.experiment_path = os.path.abspath(experiment_path)
        self._results = [
            Result(
                trial_id=trial["trial_id"],
                config=trial["config"],
                metrics=named_numbers(trial["metrics"]),
                path=trial["path"],
                state=trial["state"],
                checkpoint=_checkpoint(trial["checkpoint"]),
                error=trial["error"] or None,
            )
            for trial in ask("ls", self.experiment_path)
        ]

    def __len__(self) -> int:
        return len(self._results)

    def __getitem__(self, index: int) -> Result:
        return self._results[index]

    def __iter__(self) -> Iterator[Result]:
        return iter(self._results)

    @property
    def errors(self) -> list[str]:
        """Why trials have failed for good."""
        return [each.error or "" for each in self._results if each.state == "ERROR"]

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
        """
        options = ["--scope", scope]
        if metric is not None:
            options += ["--metric", metric]
        if mode is not None:
            options += ["--mode", mode]
        best = ask("best", self.experiment_path, *options)
        if isinstance(best, list):
            best = best[0]
        return Result(
            trial_id=best["trial_id"],
            config=best["config"],
            metrics=named_numbers(best["metrics"]),
            path=best["path"],
            state=best["state"],
            checkpoint=_checkpoint(best["checkpoint"]),
            best_checkpoints=[
                (Checkpoint(each["path"]), each["score"]) for each in best["best_checkpoints"]
            ],
        )

    def get_dataframe(self) -> Any:
        """The last results and the configs (``config/lr``) as a table of pandas, which must be
        installed: a row a trial."""
        import pandas  # type: ignore[import-untyped,unused-ignore]

        rows = [
            {"trial_id": each.trial_id, "state": each.state, **each.metrics, "config": each.config}
            for each in self._results
        ]
        return pandas.json_normalize(rows, sep="/")

    def __repr__(self) -> str:
        return f"ResultGrid({self.experiment_path!r}, {len(self)} trials)"

    def _repr_html_(self) -> str:
        from tune import _notebook

        return _notebook.grid_view(self).html()
