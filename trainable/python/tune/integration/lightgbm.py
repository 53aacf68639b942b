"""LightGBM: ``lightgbm.train(..., callbacks=[TuneReportCheckpointCallback()])``."""

from __future__ import annotations

import os
from typing import Any

import lightgbm

from tune import Checkpoint, report
from tune.integration._metrics import Metrics, selected


class TuneReportCheckpointCallback:
    """Reports each round, and saves the model when it is wanted.

    ``metrics``: as they are called here (``"valid_0-binary_logloss"``); default all. ``filename``:
    of the model in a checkpoint. ``frequency``: asks for a checkpoint every so many rounds.

    To go on: ``lightgbm.train(..., init_model=...)`` with ``get_model(checkpoint)``, and as many
    rounds less as it has.
    """

    CHECKPOINT_NAME = "model.txt"
    order = 20  #: before early stopping, which raises

    def __init__(
        self,
        metrics: Metrics = None,
        filename: str = CHECKPOINT_NAME,
        frequency: int = 0,
        checkpoint_at_end: bool = True,
    ) -> None:
        self._metrics = metrics
        self._filename = filename
        self._frequency = frequency

    @classmethod
    def get_model(cls, checkpoint: Checkpoint, filename: str = CHECKPOINT_NAME) -> lightgbm.Booster:
        """The model in a checkpoint."""
        return lightgbm.Booster(model_file=os.path.join(checkpoint.path, filename))

    def __call__(self, env: Any) -> None:
        there = {f"{entry[0]}-{entry[1]}": entry[2] for entry in env.evaluation_result_list}
        metrics = selected(self._metrics, there)
        if self._frequency > 0 and (env.iteration + 1) % self._frequency == 0:
            metrics["should_checkpoint"] = True
        report(
            metrics,
            save=lambda directory: env.model.save_model(os.path.join(directory, self._filename)),
        )


TuneReportCallback = TuneReportCheckpointCallback
