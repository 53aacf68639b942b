"""Weights & Biases: a run for each trial, with its config and its metrics."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import wandb

from tune.callback import Callback, Trial, flat_numbers


class WandbLoggerCallback(Callback):
    """Logs each trial as a run of `project`, in the group `group` (the experiment's name if none is
    given). ``WANDB_MODE=offline`` keeps all on this machine. `api_key`, or a file that holds it:
    in place of ``WANDB_API_KEY``. `excludes`: metrics that are left out. `options` go to
    ``wandb.init``. A search that is taken up goes on in the runs it has begun."""

    def __init__(
        self,
        project: str,
        group: str | None = None,
        api_key_file: str | None = None,
        api_key: str | None = None,
        excludes: Sequence[str] = (),
        **options: Any,
    ) -> None:
        if api_key_file is not None:
            with open(os.path.expanduser(api_key_file), encoding="utf-8") as file:
                api_key = file.read().strip()
        if api_key is not None:
            os.environ["WANDB_API_KEY"] = api_key
        self._project = project
        self._group = group
        self._excludes = frozenset(excludes)
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
        numbers = flat_numbers(result)
        kept = {name: each for name, each in numbers.items() if name not in self._excludes}
        self._run(trial).log(kept, step=result["training_iteration"])

    def on_trial_complete(self, iteration: int, trials: Sequence[Trial], trial: Trial) -> None:
        self._run(trial).finish()

    def on_trial_error(self, iteration: int, trials: Sequence[Trial], trial: Trial) -> None:
        self._run(trial).finish(exit_code=1)
