"""Hugging Face Transformers: ``trainer = prepare_trainer(trainer)`` before ``trainer.train()``."""

from __future__ import annotations

import os
from typing import Any

import transformers

from tune import report
from tune.integration._metrics import Metrics, selected


class RayTrainReportCallback(transformers.TrainerCallback):  # type: ignore[misc,unused-ignore]
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
        saved = os.path.join(args.output_dir, f"checkpoint-{state.global_step}")
        report(found, checkpoint=os.path.abspath(saved) if os.path.isdir(saved) else None)


ReportCallback = RayTrainReportCallback


def prepare_trainer(trainer: Any) -> Any:
    """`trainer`, which reports from now on."""
    callbacks = trainer.callback_handler.callbacks
    if not any(isinstance(each, RayTrainReportCallback) for each in callbacks):
        trainer.add_callback(RayTrainReportCallback())
    return trainer
