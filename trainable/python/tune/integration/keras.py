"""Keras: ``model.fit(..., callbacks=[TuneReportCheckpointCallback()])``."""

from __future__ import annotations

import os
from typing import Any

import keras

from tune import report
from tune.integration._metrics import Metrics, marked, selected


class TuneReportCheckpointCallback(keras.callbacks.Callback):  # type: ignore[misc,unused-ignore]
    """Reports at the end of each epoch, and saves the model with it.

    ``metrics``: a name, names or ``{ours: theirs}``; default all. ``report_metrics_on``,
    ``checkpoint_on``: ``"epoch_end"`` or ``"train_batch_end"``; without ``checkpoint_on`` it saves
    when the search wants it, and only then. ``filename``: of the model in a checkpoint.

    To go on: ``keras.models.load_model(os.path.join(checkpoint.path, "model.keras"))``, and set
    what the config says of the optimizer again: loading brings back what was saved.
    """

    def __init__(
        self,
        metrics: Metrics = None,
        checkpoint_on: str | None = "epoch_end",
        report_metrics_on: str = "epoch_end",
        filename: str = "model.keras",
    ) -> None:
        super().__init__()
        events = ("epoch_end", "train_batch_end")
        if report_metrics_on not in events or checkpoint_on not in (None, *events):
            raise ValueError(
                f"report_metrics_on is '{report_metrics_on}' and checkpoint_on '{checkpoint_on}': "
                "epoch_end or train_batch_end was expected"
            )
        self._metrics = metrics
        self._reports_on = report_metrics_on
        self._saves_on = checkpoint_on
        self._filename = filename

    def _heard(self, event: str, logs: dict[str, Any] | None) -> None:
        if event not in (self._reports_on, self._saves_on):
            return
        metrics = selected(self._metrics, logs or {})
        report(
            marked(metrics, event == self._saves_on),
            save=lambda directory: self.model.save(os.path.join(directory, self._filename)),
        )

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self._heard("epoch_end", logs)

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self._heard("train_batch_end", logs)


ReportCheckpointCallback = TuneReportCheckpointCallback
