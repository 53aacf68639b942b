"""Weights & Biases: a run for each trial, with its config and its metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import wandb

from tune.callback import Callback, Trial, flat_numbers


class WandbLoggerCallback(Callback):
    """Logs each trial as a run of `project`, in the group `group` (the experiment's name if none is
    given). ``WANDB_MODE=offline`` keeps all on this machine. `options` go to ``wandb.init``. A
    search that is taken up goes on in the runs it has begun."""

    def __init__(self, project: str, group: str | None = None, **options: Any) -> None:
        self._project = project
        self._group = group
        self._options = options
        self._runs: dict[str, Any] = {}

    def on_trial_start(self, iteration: int, trials: Sequence[Trial], trial: Trial) -> None:
        self._run(trial)

    def _run(self, trial: Trial) -> Any:
        if trial.trial_id not in self._runs:
            name = trial.experiment_path.rsplit("/", 1)[-1]
            self._runs[trial.trial_id] = wandb.init(
                project=self._project,
                group=self._group or name,
                id=f"{name}-{trial.trial_id}",
                name=trial.trial_id,
                config=trial.config,
                resume="allow",
                reinit="create_new",
                dir=trial.path,
                **self._options,
            )
        return self._runs[trial.trial_id]

    def on_trial_result(
        self, iteration: int, trials: Sequence[Trial], trial: Trial, result: dict[str, Any]
    ) -> None:
        self._run(trial).log(flat_numbers(result), step=result["training_iteration"])

    def on_trial_complete(self, iteration: int, trials: Sequence[Trial], trial: Trial) -> None:
        self._run(trial).finish()

    def on_trial_error(self, iteration: int, trials: Sequence[Trial], trial: Trial) -> None:
        self._run(trial).finish(exit_code=1)
