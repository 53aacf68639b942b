"""Keras: ``model.fit(..., callbacks=[TuneReportCheckpointCallback()])``."""

from __future__ import annotations

import os
from typing import Any

import keras

from tune import report
from tune.integration._metrics import Metrics, selected


class TuneReportCheckpointCallback(keras.callbacks.Callback):  # type: ignore[misc,unused-ignore]
    """Reports at the end of each epoch, and saves the model when it is wanted.

    ``metrics``: a name, names or ``{ours: theirs}``; default all. ``report_metrics_on``:
    ``"epoch_end"`` or ``"train_batch_end"``. ``filename``: of the model in a checkpoint.

    To go on: ``keras.models.load_model(os.path.join(checkpoint.path, "model.keras"))``, and set
    what the config says of the optimizer again: loading brings back what was saved.
    """

    def __init__(
        self,
        metrics: Metrics = None,
        checkpoint_on: str = "epoch_end",
        report_metrics_on: str = "epoch_end",
        filename: str = "model.keras",
    ) -> None:
        super().__init__()
        if report_metrics_on not in ("epoch_end", "train_batch_end"):
            raise ValueError(
                f"report_metrics_on is '{report_metrics_on}': epoch_end, or train_batch_end"
            )
        self._metrics = metrics
        self._on = report_metrics_on
        self._filename = filename

    def _report(self, logs: dict[str, Any] | None) -> None:
        report(
            selected(self._metrics, logs or {}),
            save=lambda directory: self.model.save(os.path.join(directory, self._filename)),
        )

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        if self._on == "epoch_end":
            self._report(logs)

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        if self._on == "train_batch_end":
            self._report(logs)


ReportCheckpointCallback = TuneReportCheckpointCallback
