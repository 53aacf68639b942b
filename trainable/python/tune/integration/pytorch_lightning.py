"""Lightning, whichever of its two packages is loaded: ``Trainer(callbacks=[...])``."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

from tune import report
from tune.integration._metrics import Metrics, selected

_EVENTS = ("validation_end", "train_epoch_end", "train_batch_end", "fit_end")


def _bases() -> tuple[type, ...]:
    """The class Callback of each Lightning that is loaded: a Trainer takes only its own."""
    names = [name for name in ("lightning.pytorch", "pytorch_lightning") if name in sys.modules]
    for name in names or ("lightning.pytorch", "pytorch_lightning"):
        try:
            importlib.import_module(name)
        except ImportError:
            continue
        if name not in names:
            names.append(name)
            break
    if not names:
        raise ImportError("neither lightning nor pytorch_lightning is installed")
    bases: list[type] = []
    for name in names:
        base: type = sys.modules[name].Callback
        if base not in bases:
            bases.append(base)
    return tuple(bases)


def _make() -> type:
    class TuneReportCheckpointCallback(*_bases()):  # type: ignore[misc]
        """Reports at the end of each validation, and saves when it is wanted.

        ``metrics``: a name, names or ``{ours: theirs}`` of ``trainer.callback_metrics``; default
        all. ``on``: ``"validation_end"``, ``"train_epoch_end"``, ``"train_batch_end"``,
        ``"fit_end"``. ``filename``: of the checkpoint in its directory.

        To go on: ``trainer.fit(model, ckpt_path=os.path.join(checkpoint.path, "checkpoint"))``.
        """

        def __init__(
            self,
            metrics: Metrics = None,
            filename: str = "checkpoint",
            save_checkpoints: bool = True,
            on: str | list[str] = "validation_end",
        ) -> None:
            super().__init__()
            self._metrics = metrics
            self._filename = filename
            self._saves = save_checkpoints
            self._on = [on] if isinstance(on, str) else list(on)
            wrong = [each for each in self._on if each not in _EVENTS]
            if wrong:
                raise ValueError(f"on is '{wrong[0]}', expected one of {', '.join(_EVENTS)}")

        def _report(self, event: str, trainer: Any) -> None:
            # Before the first epoch, Lightning tries whether validation works.
            if event not in self._on or trainer.sanity_checking:
                return
            there = {str(name): value for name, value in trainer.callback_metrics.items()}

            def save(directory: str) -> None:
                trainer.save_checkpoint(os.path.join(directory, self._filename))

            report(selected(self._metrics, there), save=save if self._saves else None)

        def on_validation_end(self, trainer: Any, *more: Any, **names: Any) -> None:
            self._report("validation_end", trainer)

        def on_train_epoch_end(self, trainer: Any, *more: Any, **names: Any) -> None:
            self._report("train_epoch_end", trainer)

        def on_train_batch_end(self, trainer: Any, *more: Any, **names: Any) -> None:
            self._report("train_batch_end", trainer)

        def on_fit_end(self, trainer: Any, *more: Any, **names: Any) -> None:
            self._report("fit_end", trainer)

    return TuneReportCheckpointCallback


TuneReportCheckpointCallback: Any = _make()
TuneReportCallback: Any = TuneReportCheckpointCallback
