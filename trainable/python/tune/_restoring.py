"""What a search that goes on has otherwise than before."""

from __future__ import annotations

import os
import shlex
from typing import Any

from tune import _json
from tune._target import Asides, code_of, program_of, target_of
from tune.results import TuneError

#: The driver keeps what trials have in their environment, and has no field for this.
_VERBOSE = "TUNE_VERBOSE"


def recorded_spec(directory: str) -> dict[str, Any]:
    """That of the experiment in `directory`, as it is by now. TuneError: none is there."""
    try:
        with open(os.path.join(directory, "experiment.json"), encoding="utf-8") as file:
            spec: dict[str, Any] = _json.loads(file.read())
    except FileNotFoundError:
        raise TuneError(f"there is no experiment in {directory}") from None
    except ValueError as error:
        raise TuneError(f"the experiment.json of {directory} cannot be read: {error}") from None
    return spec


def with_verbosity(program: dict[str, Any], verbose: int | None) -> dict[str, Any]:
    """The ``trainable`` of a spec that remembers what is to be shown of the search."""
    if verbose is None:
        return program
    return {**program, "env": {_VERBOSE: str(verbose), **(program.get("env") or {})}}


def recorded_verbosity(spec: dict[str, Any]) -> int | None:
    """None: it was not said."""
    said = (spec["trainable"].get("env") or {}).get(_VERBOSE)
    return int(said) if said in ("0", "1", "2", "3") else None


def moved_along(recorded: dict[str, Any], directory: str) -> dict[str, Any]:
    """The fields of the spec that name files which have moved with their `directory`."""

    def here(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: here(each) for name, each in value.items()}
        if isinstance(value, list):
            return [here(each) for each in value]
        if isinstance(value, str) and value.endswith(".pkl") and not os.path.exists(value):
            moved = os.path.join(directory, os.path.basename(value))
            return moved if os.path.exists(moved) else value
        return value

    fields = {"trainable/command": recorded["trainable"]["command"], "stop": recorded["stop"]}
    return {name: here(each) for name, each in fields.items() if here(each) != each}


def check_is_there(program: dict[str, Any]) -> None:
    """TuneError: trials run a file that is there no more."""
    place = (target_of(program) or "").rpartition(":")[0]
    if place.endswith(".py") and not os.path.exists(place):
        raise TuneError(
            f"trials of this search run {target_of(program)}, and there is no such file: "
            "Tuner.restore(path, trainable) has them run another one"
        )


def take_up(
    recorded: dict[str, Any], trainable: Any, given: dict[str, Any], asides: Asides
) -> tuple[dict[str, Any], str]:
    """The fields of the spec that change where trials now run `trainable`; and what is to be said
    of it, in a sentence: empty, if it is what they ran before."""
    program = program_of(trainable, given, asides)
    was, now = target_of(recorded), target_of(program)
    same_code = bool(code_of(program)) and code_of(program) == code_of(recorded)
    if now is not None and was is not None and now.endswith(".pkl") and was.endswith(".pkl"):
        if same_code and os.path.exists(was):
            asides.forget(now)
            program["command"][-1] = now = was
        else:
            asides.replace(was)
    sentence = ""
    if now is None or was is None:
        if program["command"] != recorded["command"]:
            old, new = (shlex.join(each["command"]) for each in (recorded, program))
            sentence = f"trials ran {old} so far, and run {new} from now on"
    elif was != now and not (now.endswith(".pkl") and same_code):
        same = ", whose code is the same" if same_code else ""
        sentence = f"trials ran {was} so far, and run {now} from now on{same}"
    elif not same_code and code_of(recorded) and code_of(program):
        sentence = f"the code of {now} has changed since trials ran it"
    if "env" in program:
        program["env"] = {**(recorded.get("env") or {}), **program["env"]}
    changes = {
        f"trainable/{name}": each for name, each in program.items() if recorded.get(name) != each
    }
    return changes, sentence
