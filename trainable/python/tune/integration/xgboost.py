"""XGBoost: ``xgboost.train(..., callbacks=[TuneReportCheckpointCallback()])``."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import xgboost

from tune import Checkpoint, report
from tune.integration._metrics import Metrics, selected


class TuneReportCheckpointCallback(xgboost.callback.TrainingCallback):  # type: ignore[misc,unused-ignore]
    """Reports each round, and saves the model when it is wanted.

    ``metrics``: as they are called here (``"eval-logloss"``); default all. ``filename``: of the
    model in a checkpoint. ``frequency``: asks for a checkpoint every so many rounds, beside those
    that the search wants. ``results_postprocessing_fn``: makes one number a metric of several, by
    ``xgboost.cv``.

    To go on: ``xgboost.train(..., xgb_model=TuneReportCheckpointCallback.get_model(checkpoint))``,
    with as many rounds less as the model has.
    """

    CHECKPOINT_NAME = "model.ubj"

    def __init__(
        self,
        metrics: Metrics = None,
        filename: str = CHECKPOINT_NAME,
        frequency: int = 0,
        checkpoint_at_end: bool = True,
        results_postprocessing_fn: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    ) -> None:
        super().__init__()
        self._metrics = metrics
        self._filename = filename
        self._frequency = frequency
        self._process = results_postprocessing_fn

    @classmethod
    def get_model(cls, checkpoint: Checkpoint, filename: str = CHECKPOINT_NAME) -> xgboost.Booster:
        """The model in a checkpoint."""
        booster = xgboost.Booster()
        booster.load_model(os.path.join(checkpoint.path, filename))
        return booster

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        there: dict[str, Any] = OrderedDict()
        for data, logs in evals_log.items():
            for name, values in logs.items():
                last = values[-1]
                there[f"{data}-{name}"] = last[0] if isinstance(last, tuple) else last
        metrics = selected(self._metrics, self._process(there) if self._process else there)
        if self._frequency > 0 and (epoch + 1) % self._frequency == 0:
            metrics["should_checkpoint"] = True
        report(
            metrics,
            save=lambda directory: model.save_model(os.path.join(directory, self._filename)),
        )
        return False


TuneReportCallback = TuneReportCheckpointCallback
