"""XGBoost: ``xgboost.train(..., callbacks=[TuneReportCheckpointCallback()])``."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import xgboost

from tune import Checkpoint, report
from tune.integration._metrics import Metrics, marked, selected


class TuneReportCheckpointCallback(xgboost.callback.TrainingCallback):  # type: ignore[misc,unused-ignore]
    """Reports each round, and saves the model when it is wanted.

    ``metrics``: as they are called here (``"eval-logloss"``); default all. ``filename``: of the
    model in a checkpoint. ``frequency``: asks for a checkpoint every so many rounds, beside those
    that the search wants. ``checkpoint_at_end``: the last round is saved, and reported once more
    if nobody has wanted that. ``results_postprocessing_fn``: makes one number a metric of several,
    by ``xgboost.cv``.

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
        self._at_end = checkpoint_at_end
        self._process = results_postprocessing_fn
        self._last: dict[str, Any] = {}
        self._is_saved = False

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
        self._last = selected(self._metrics, self._process(there) if self._process else there)
        self._is_saved = False
        self._report(model, self._frequency > 0 and (epoch + 1) % self._frequency == 0)
        return False

    def after_training(self, model: Any) -> Any:
        # Which round is the last one is not known before; what cv trains is no model.
        if self._at_end and self._last and not self._is_saved and hasattr(model, "save_model"):
            self._report(model, True)
        return model

    def _report(self, model: Any, checkpoint: bool) -> None:
        def save(directory: str) -> None:
            model.save_model(os.path.join(directory, self._filename))
            self._is_saved = True

        report(marked(self._last, checkpoint), save=save)


TuneReportCallback = TuneReportCheckpointCallback
