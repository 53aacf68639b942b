"""Lightning, whichever of its two packages is loaded: ``Trainer(callbacks=[...])``."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

from tune import report
from tune.integration._metrics import Metrics, marked


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


def _hooks(bases: tuple[type, ...]) -> list[str]:
    return sorted({name for base in bases for name in dir(base) if name.startswith("on_")})


class _Reports:
    """What is reported, whatever the bases are."""

    _metrics: Metrics
    _filename: str
    _saves: bool
    _on: list[str]
    _left_out: set[str]

    def _selected(self, there: dict[str, Any]) -> dict[str, Any]:
        """Those that are there already: those of training come after the first validation."""
        if self._metrics is None:
            return there
        metrics = [self._metrics] if isinstance(self._metrics, str) else self._metrics
        names = metrics if isinstance(metrics, dict) else {name: name for name in metrics}
        for theirs in names.values():
            if theirs not in there and theirs not in self._left_out:
                self._left_out.add(theirs)
                known = ", ".join(sorted(there))
                print(f"tune: there is no metric '{theirs}' yet; there are: {known}", flush=True)
        return {ours: there[theirs] for ours, theirs in names.items() if theirs in there}

    def _report(self, hook: str, trainer: Any) -> None:
        # Before the first epoch, Lightning tries whether validation works.
        if hook not in self._on or trainer.sanity_checking:
            return
        metrics = self._selected({str(name): n for name, n in trainer.callback_metrics.items()})
        if not metrics:
            return

        def save(directory: str) -> None:
            trainer.save_checkpoint(os.path.join(directory, self._filename))

        report(marked(metrics, self._saves), save=save)


def _hook(name: str) -> Any:
    def hook(self: _Reports, trainer: Any, *_: Any, **__: Any) -> None:
        self._report(name, trainer)

    return hook


_BASES = _bases()
_HOOKS = _hooks(_BASES)
_Base: Any = type("_Base", (_Reports, *_BASES), {name: _hook(name) for name in _HOOKS})


class TuneReportCheckpointCallback(_Base):  # type: ignore[misc]
    """Reports at the end of each validation, and saves with it.

    ``metrics``: a name, names or ``{ours: theirs}`` of ``trainer.callback_metrics``; default all.
    ``filename``: of the checkpoint in its directory. ``save_checkpoints``: False: it saves when the
    search wants it, and only then. ``on``: one or several of Lightning's hooks, without ``on_``:
    ``"validation_end"``, ``"train_epoch_end"`` ...

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
        self._on = [f"on_{each}" for each in ([on] if isinstance(on, str) else on)]
        self._left_out: set[str] = set()
        wrong = [each[3:] for each in self._on if each not in _HOOKS]
        if wrong:
            known = ", ".join(name[3:] for name in _HOOKS)
            raise ValueError(f"on is '{wrong[0]}', expected one of {known}")


class TuneReportCallback(TuneReportCheckpointCallback):
    """The same, which saves when the search wants it, and only then."""

    def __init__(self, metrics: Metrics = None, on: str | list[str] = "validation_end") -> None:
        super().__init__(metrics, save_checkpoints=False, on=on)
