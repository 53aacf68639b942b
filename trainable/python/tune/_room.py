"""A directory for an experiment, where one of its name is already."""

from __future__ import annotations

import os
import shutil

from tune.results import TuneError, ask


def make_room(directory: str, overwrite: bool) -> None:
    """Removes the experiment in `directory`, if it is to be overwritten or nothing has come of it.
    One that is driven is left to the driver to refuse, who says by whom.

    TuneError: it has results.
    """
    if not os.path.exists(os.path.join(directory, "CURRENT")):
        return
    if _is_driven(directory):
        return
    if not overwrite and not _is_empty(directory):
        raise TuneError(
            f"{directory} holds an experiment already: "
            f"tune.Tuner.restore({directory!r}).fit() goes on with it, "
            "tune.Tuner(..., overwrite=True) removes it; or choose another name"
        )
    # Out of the way in one step, so that nobody finds half of it; a driver that has begun in the
    # meantime has its directory back.
    aside = os.path.join(os.path.dirname(directory), f".removed-{os.urandom(4).hex()}")
    os.rename(directory, aside)
    if _is_driven(aside) or not (overwrite or _is_empty(aside)):
        os.rename(aside, directory)
        return
    shutil.rmtree(aside)


def _is_driven(directory: str) -> bool:
    return os.path.exists(os.path.join(directory, "LOCK")) and (
        ask("status", directory)["driver"] is not None
    )


def _is_empty(directory: str) -> bool:
    """No result, and no checkpoint: nothing is lost with it."""
    try:
        status = ask("status", directory)
    except TuneError:
        return False  # what cannot be read is somebody's still
    return bool(status["results"] == 0 and status["checkpoints"]["committed"] == 0)
