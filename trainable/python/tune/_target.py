"""How another process finds what stands in this one: by its name in a file, else pickled."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from typing import Any

from tune import _main_file, _pickled
from tune._given import Bound
from tune._here import command_from_here
from tune.results import TuneError

#: Tells later sessions whether trials ran other code.
_CODE_VARIABLE = "TUNE_CODE"
_TRIAL = ["-m", "tune.trial"]
#: The arguments of the search's own file, as JSON: trials load the file, and what it parses at its
#: top (``parser.parse_args()``) is to come to the same there.
_ARGUMENTS_VARIABLE = "TUNE_ARGV"


def importable(trainable: Any) -> str | None:
    """How a trial's process finds `trainable` by file or module and name; None: it does not."""
    if isinstance(trainable, Bound):
        return None
    name = getattr(trainable, "__qualname__", "")
    module = sys.modules.get(getattr(trainable, "__module__", ""))
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is trainable and module is not None:
        if module.__name__ != "__main__":
            return f"{module.__name__}:{name}"
        of_package = _main_file.module_name()
        if of_package is not None:
            return f"{of_package}:{name}"
        file = getattr(module, "__file__", None)
        if file and str(file).endswith(".py"):
            return f"{os.path.abspath(file)}:{name}"
    return None


def _lacks(value: Any, name: str, what: str) -> str:
    if name == getattr(value, "__name__", None):
        return f"the {what} '{name}': define it before that"
    return f"the '{name}' that the {what} uses: set it before that, hand it over as an argument"


def is_main(value: Any) -> bool:
    return getattr(value, "__module__", "") == "__main__"


def search_path() -> str:
    """The same imports as here, wherever what is started runs."""
    return os.pathsep.join(os.path.abspath(each or ".") for each in sys.path)


def asked(target: str, options: dict[str, Any]) -> dict[str, Any]:
    """What `target` names, as a policy's program in a spec."""
    here = f"PYTHONPATH={search_path()}"
    command = ["/usr/bin/env", here, sys.executable, "-m", "tune.policy", target]
    return {"type": "program", "command": command, "options": options}


class Asides:
    """Files in the experiment's `directory`, for what has no name in a file.

    They are written once the search is sure to begin: another one of its name, which is refused,
    must not take the place of the first.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._contents: dict[str, bytes] = {}
        self._replaced: list[str] = []

    def target(self, value: Any, what: str) -> str:
        """How another process loads it: by its name in a file, else from a file aside."""
        name = importable(value)
        in_main = name is not None and is_main(value)
        unguarded = in_main and _main_file.is_unguarded()
        missing = _main_file.names_of_its_own(value) if in_main else []
        if name is not None and not unguarded and not missing:
            return name
        if unguarded and not _pickled.can_by_value():
            raise TuneError(
                "each trial loads the file that begins this search, and would begin it, too: put "
                "that behind if __name__ == '__main__':, or install cloudpickle: "
                f"{_pickled.how_to_install()}"
            )
        if missing and not _pickled.can_by_value():
            raise TuneError(
                "a trial loads the file that begins this search, without what is done there behind "
                f"if __name__ == '__main__':, and so without {_lacks(value, missing[0], what)}, or "
                f"install cloudpickle: {_pickled.how_to_install()}"
            )
        aside = os.path.join(self._directory, f".{what}-{os.urandom(4).hex()}.pkl")
        arguments = value.arguments if isinstance(value, Bound) else {}
        self._contents[aside] = _pickled.dumps(
            value, f"the {what}", arguments, _main_file.names_of_its_own(value)
        )
        return aside

    def code(self, target: str) -> str:
        """Something that is another when the code of `target` is; empty: there is no telling."""
        content = self._contents.get(target)
        if content is None:
            place = target.rpartition(":")[0]
            name = "__main__" if place == _main_file.module_name() else place
            file = place if place.endswith(".py") else getattr(sys.modules[name], "__file__", None)
            if not file or not os.path.isfile(file):
                return ""
            with open(file, "rb") as source:
                content = source.read()
        return hashlib.sha256(content).hexdigest()[:16]

    def forget(self, aside: str) -> None:
        """It is not needed."""
        self._contents.pop(aside, None)

    def replace(self, aside: str) -> None:
        """A file of before, which goes once the experiment loads another one."""
        self._replaced.append(aside)

    def write(self) -> None:
        for aside, content in self._contents.items():
            os.makedirs(self._directory, exist_ok=True)
            with open(aside, "wb") as to:
                to.write(content)

    def sweep(self) -> None:
        """Removes those that the experiment which lies in the directory, if one does, does not
        load."""
        try:
            with open(os.path.join(self._directory, "experiment.json"), encoding="utf-8") as file:
                spec = file.read()
        except OSError:
            spec = ""
        for aside in [*self._contents, *self._replaced]:
            if os.path.basename(aside) not in spec:
                with contextlib.suppress(OSError):
                    os.remove(aside)


def program_of(trainable: Any, given: dict[str, Any], asides: Asides) -> dict[str, Any]:
    """The ``trainable`` of a spec: what runs, and beside it what is `given`."""
    if isinstance(trainable, (list, tuple)):
        return {**given, "command": command_from_here(trainable)}
    kind = trainable.function if isinstance(trainable, Bound) else trainable
    target = asides.target(trainable, "trainable")
    api = "class" if isinstance(kind, type) else "function"
    command = [sys.executable, *_TRIAL, "--api", api, target]
    environment = {"PYTHONPATH": search_path(), _CODE_VARIABLE: asides.code(target)}
    if is_main(kind) and len(sys.argv) > 1:
        environment[_ARGUMENTS_VARIABLE] = json.dumps(sys.argv)
    return {**given, "command": command, "env": {**environment, **given.get("env", {})}}


def target_of(program: dict[str, Any]) -> str | None:
    """What trials load in `program`, which `program_of` has made; None: it is another command."""
    command = program["command"]
    return str(command[-1]) if len(command) == 6 and command[1:3] == _TRIAL else None


def code_of(program: dict[str, Any]) -> str:
    """What `Asides.code` has said of it; empty: nothing."""
    return str((program.get("env") or {}).get(_CODE_VARIABLE, ""))
