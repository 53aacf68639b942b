"""PyTorch: what loading a checkpoint brings back, and should not."""

from __future__ import annotations

from typing import Any


def set_hyperparameters(optimizer: Any, **values: float) -> None:
    """Gives all of the optimizer's parameter groups these values: ``lr=0.1``, ``momentum=0.9``.

    Call it after ``optimizer.load_state_dict``, which brings back the old ones: without it, a clone
    under ``pbt`` trains with its donor's. KeyError: the optimizer has no such value.
    """
    for group in optimizer.param_groups:
        for name, value in values.items():
            if name not in group:
                raise KeyError(f"{type(optimizer).__name__} has no '{name}'")
            group[name] = value
            if name == "lr" and "initial_lr" in group:
                group["initial_lr"] = value
