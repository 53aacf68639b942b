"""A trainable started by hand: a config from the command line, results as lines of JSON."""

from __future__ import annotations

import argparse
import json
import os
import shutil
from collections.abc import Callable
from typing import Any

from tune import _json, _session, trainable
from tune._driver import TrialStopped, plain_metrics
from tune.checkpoint import Checkpoint

_ITERATIONS_OF_A_CLASS = 10


def _config(text: str) -> dict[str, Any]:
    try:
        config = _json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"the config is not JSON: {error}") from None
    if not isinstance(config, dict):
        raise argparse.ArgumentTypeError("the config must be a JSON object")
    return config


def _config_file(name: str) -> dict[str, Any]:
    try:
        with open(name, encoding="utf-8") as file:
            return _config(file.read())
    except OSError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"it must be 1 or more, and is {count}")
    return count


def _existing(name: str) -> str:
    if not os.path.isdir(name):
        raise argparse.ArgumentTypeError(f"'{name}' is not a directory")
    return os.path.abspath(name)


def _new_or_empty(name: str) -> str:
    if os.path.exists(name) and not (os.path.isdir(name) and not os.listdir(name)):
        raise argparse.ArgumentTypeError(f"'{name}' is neither a new nor an empty directory")
    return os.path.abspath(name)


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options of one training by hand. SystemExit with code 2: they are wrong."""
    parser = argparse.ArgumentParser(
        prog="python3 -m tune.trial TARGET",
        description="Trains once, without a driver, and prints the metrics of each iteration as a "
        "line of JSON.",
        allow_abbrev=False,
    )
    config = parser.add_mutually_exclusive_group()
    config.add_argument("--config", type=_config, metavar="JSON", default={})
    config.add_argument("--config-file", type=_config_file, metavar="FILE", dest="config")
    parser.add_argument(
        "--iterations",
        type=_count,
        metavar="N",
        help="stop after N iterations (default: 10 for a class; a function runs until it returns); "
        '"done" in the metrics stops earlier',
    )
    parser.add_argument(
        "--checkpoint", type=_existing, metavar="DIR", help="start from this checkpoint"
    )
    parser.add_argument(
        "--save-to",
        type=_new_or_empty,
        metavar="DIR",
        help="put a checkpoint there at the end; DIR is new or empty",
    )
    options = parser.parse_args(arguments)
    if options.save_to:
        os.makedirs(options.save_to, exist_ok=True)
    return options


def _start(options: argparse.Namespace) -> dict[str, Any]:
    """What a driver would have sent."""
    return {
        "trial_id": "standalone",
        "trial_dir": os.getcwd(),
        "attempt": 1,
        "config": options.config,
        "checkpoint": options.checkpoint,
    }


def _print(metrics: dict[str, Any], iteration: int) -> bool:
    """Whether the metrics say that this was the last iteration."""
    print(json.dumps({"training_iteration": iteration, **metrics}), flush=True)
    return bool(metrics.get("done"))


class _Session(_session.Session):
    """Whether a report is the last one only its function knows: each is saved."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.context = _session.TrialContext.of(_start(options))
        self.checkpoint = Checkpoint(options.checkpoint) if options.checkpoint else None
        self._iterations: int | None = options.iterations
        self._save_to: str | None = options.save_to
        self._iteration = 0
        self._is_over = False
        self.has_saved = False

    def report(
        self,
        metrics: dict[str, Any],
        save: Callable[[str], object] | None,
        checkpoint: Checkpoint | str | os.PathLike[str] | None,
    ) -> None:
        if not self._is_over:
            self._iteration += 1
            self._is_over = _print(plain_metrics(metrics), self._iteration)
            self._is_over = self._is_over or self._iteration == self._iterations
            if self._save_to is not None and (save is not None or checkpoint is not None):
                self._keep(self._save_to, save, checkpoint)
        if self._is_over:
            raise TrialStopped(0)

    def _keep(
        self,
        place: str,
        save: Callable[[str], object] | None,
        checkpoint: Checkpoint | str | os.PathLike[str] | None,
    ) -> None:
        new = place + ".new"
        shutil.rmtree(new, ignore_errors=True)  # of one that has failed
        if checkpoint is not None:
            path = checkpoint.path if isinstance(checkpoint, Checkpoint) else checkpoint
            shutil.copytree(path, new, symlinks=True)
        elif save is not None:
            os.mkdir(new)
            save(new)
        shutil.rmtree(place)
        os.rename(new, place)
        self.has_saved = True


def train_class(kind: type[trainable.Trainable], options: argparse.Namespace) -> None:
    """Trains to the end of it, or of its options."""
    made = kind()
    try:
        trainable.set_up(made, _start(options))
        is_over = False
        while not is_over:
            metrics = plain_metrics(made.step())
            made.iteration += 1
            is_over = _print(metrics, made.iteration)
            is_over = is_over or made.iteration == (options.iterations or _ITERATIONS_OF_A_CLASS)
        if options.save_to:
            trainable.save_to(made, options.save_to)
    finally:
        made.cleanup()


def train_function(
    function: Callable[[dict[str, Any]], object], options: argparse.Namespace
) -> None:
    """The same. RuntimeError: a checkpoint is wanted, and it has none."""
    session = _Session(options)
    _session.set_session(session)
    try:
        _session.report_answer(session, function(options.config))
    except TrialStopped:
        pass
    if options.save_to and not session.has_saved:
        raise RuntimeError("the function has reported no checkpoint to save")
