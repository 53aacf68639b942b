"""Where Ray has it; written in `tune.integration.optuna`."""

from tune.integration.optuna import OptunaSearch

__all__ = ["OptunaSearch"]
