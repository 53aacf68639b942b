"""MLflow: a run for each trial, with its config, its metrics and how it ended."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mlflow.tracking import MlflowClient

from tune.callback import Callback, Trial, flat_numbers


class MLflowLoggerCallback(Callback):
    """Logs each trial as a run of `experiment_name`, to the server or file that `tracking_uri`
    names. With `save_artifact`, each trial's directory becomes its run's artifacts at the end of
    the search. A search that is taken up goes on in the runs it has begun."""

    def __init__(
        self,
        tracking_uri: str | None = None,
        *,
        registry_uri: str | None = None,
        experiment_name: str = "tune",
        tags: dict[str, str] | None = None,
        save_artifact: bool = False,
    ) -> None:
        self._client = MlflowClient(tracking_uri, registry_uri)
        self._save_artifact = save_artifact
        self._experiment_name = experiment_name
        self._tags = tags or {}
        self._runs: dict[str, str] = {}

    def setup(self, experiment_path: str) -> None:
        found = self._client.get_experiment_by_name(self._experiment_name)
        self._experiment_id = (
            found.experiment_id
            if found is not None
            else self._client.create_experiment(self._experiment_name)
        )

    def on_trial_start(self, iteration: int, trials: Sequence[Trial], trial: Trial) -> None:
        if trial.trial_id in self._runs:
            return
        run = self._client.create_run(self._experiment_id, tags=self._tags, run_name=trial.trial_id)
        self._runs[trial.trial_id] = run.info.run_id
        for name, value in trial.config.items():
            self._client.log_param(run.info.run_id, name, value)

    def on_trial_result(
        self, iteration: int, trials: Sequence[Trial], trial: Trial, result: dict[str, Any]
    ) -> None:
        for name, value in flat_numbers(result).items():
            if not math.isfinite(value):
                continue
            self._client.log_metric(
                self._runs[trial.trial_id],
                name,
                value,
                timestamp=int(result["timestamp"] * 1000),
                step=result["training_iteration"],
            )

    def on_trial_complete(self, iteration: int, trials: Sequence[Trial], trial: Trial) -> None:
        self._end(trial, "FINISHED")

    def on_trial_error(self, iteration: int, trials: Sequence[Trial], trial: Trial) -> None:
        self._end(trial, "FAILED")

    def _end(self, trial: Trial, status: str) -> None:
        if trial.trial_id in self._runs:  # one that never began has none
            self._client.set_terminated(self._runs[trial.trial_id], status)

    def on_experiment_end(self, trials: Sequence[Trial]) -> None:
        for trial in trials if self._save_artifact else ():
            if trial.trial_id in self._runs:
                self._client.log_artifacts(self._runs[trial.trial_id], trial.path)

    def get_state(self) -> Any:
        return self._runs

    def set_state(self, state: Any) -> None:
        self._runs = state
