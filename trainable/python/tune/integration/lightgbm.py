"""LightGBM: ``lightgbm.train(..., callbacks=[TuneReportCheckpointCallback()])``."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import lightgbm

from tune import Checkpoint, report
from tune.integration._metrics import Metrics, marked, selected


class TuneReportCheckpointCallback:
    """Reports each round, and saves the model when it is wanted.

    ``metrics``: as they are called here (``"valid_0-binary_logloss"``); default all. ``filename``:
    of the model in a checkpoint. ``frequency``: asks for a checkpoint every so many rounds, beside
    those that the search wants; ``checkpoint_at_end``: of the last one. What stops early has none.
    ``results_postprocessing_fn``: makes one number a metric of several, by ``lightgbm.cv``.

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
        results_postprocessing_fn: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    ) -> None:
        self._metrics = metrics
        self._filename = filename
        self._frequency = frequency
        self._at_end = checkpoint_at_end
        self._process = results_postprocessing_fn

    @classmethod
    def get_model(cls, checkpoint: Checkpoint, filename: str = CHECKPOINT_NAME) -> lightgbm.Booster:
        """The model in a checkpoint."""
        return lightgbm.Booster(model_file=os.path.join(checkpoint.path, filename))

    def __call__(self, env: Any) -> None:
        there: dict[str, Any] = {}
        for entry in env.evaluation_result_list:
            name = f"{entry[0]}-{entry[1]}"
            if len(entry) > 4:  # of cv
                there.update({f"{name}-mean": entry[2], f"{name}-stdv": entry[4]})
            else:
                there[name] = entry[2]
        metrics = selected(self._metrics, self._process(there) if self._process else there)
        regular = self._frequency > 0 and (env.iteration + 1) % self._frequency == 0
        is_last = env.iteration == env.end_iteration - 1
        report(
            marked(metrics, regular or (is_last and self._at_end)),
            save=lambda directory: env.model.save_model(os.path.join(directory, self._filename)),
        )


TuneReportCallback = TuneReportCheckpointCallback
