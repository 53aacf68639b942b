"""Hugging Face Transformers: ``trainer = prepare_trainer(trainer)`` before ``trainer.train()``."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import Any

import transformers

from tune import report
from tune.integration._metrics import Metrics, selected


def _saved(args: Any, state: Any) -> str | None:
    path = os.path.abspath(os.path.join(args.output_dir, f"checkpoint-{state.global_step}"))
    return path if os.path.isdir(path) else None


class ReportCallback(transformers.TrainerCallback):  # type: ignore[misc,unused-ignore]
    """Reports each evaluation; with the Trainer's checkpoint, where one is saved after it.

    So give ``eval_strategy`` and ``save_strategy`` the same value. To go on:
    ``trainer.train(resume_from_checkpoint=checkpoint.path)``. The Trainer restores the optimizer,
    and with it the learning rate that was saved: under ``pbt``, call
    ``tune.torch.set_hyperparameters`` in ``on_train_begin``.
    """

    def __init__(self, metrics: Metrics = None) -> None:
        self._metrics = metrics
        self._waiting: dict[str, Any] | None = None

    def on_evaluate(
        self, args: Any, state: Any, control: Any, metrics: dict[str, Any], **more: Any
    ) -> None:
        found = selected(self._metrics, {**metrics, "step": state.global_step})
        if control.should_save:
            self._waiting = found
        else:
            report(found)

    def on_save(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        if self._waiting is None:
            return
        found, self._waiting = self._waiting, None
        report(found, checkpoint=_saved(args, state))


class RayTrainReportCallback(transformers.TrainerCallback):  # type: ignore[misc,unused-ignore]
    """Reports each save, with all that the Trainer has logged last, as Ray's callback of this name
    does. The Trainer's checkpoint is the directory ``CHECKPOINT_NAME`` of what is reported:
    ``trainer.train(resume_from_checkpoint=os.path.join(checkpoint.path, "checkpoint"))``.
    """

    CHECKPOINT_NAME = "checkpoint"

    def on_save(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        metrics: dict[str, Any] = {}
        for row in state.log_history:
            metrics.update(row)
        saved = _saved(args, state)
        if saved is None:
            report(metrics)
            return
        # In the trial's directory, from where it is moved and not copied again.
        handed_over = tempfile.mkdtemp(prefix="reported-", dir=os.getcwd())
        shutil.copytree(saved, os.path.join(handed_over, self.CHECKPOINT_NAME))
        report(metrics, checkpoint=handed_over)


def prepare_trainer(trainer: Any) -> Any:
    """`trainer`, which reports from now on, by `ReportCallback` if it has neither callback yet."""
    callbacks = trainer.callback_handler.callbacks
    if not any(isinstance(each, (ReportCallback, RayTrainReportCallback)) for each in callbacks):
        trainer.add_callback(ReportCallback())
    return trainer
