"""Relative names in a spec that stands in no directory: they are seen from where this process is.

What the driver does from the directory of a spec's file is done here, by the same rules.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

#: Words by which a command is one of a plain program: the driver's `brings_config`.
_OF_CONFIG = re.compile(r"(?<!\$)\$\{(args|config\.)")


def seen_from_here(spec: dict[str, Any]) -> dict[str, Any]:
    """`spec` with absolute names in place of relative ones."""
    program = dict(spec["trainable"])
    command = command_from_here(program["command"])
    texts = [*command, *map(str, (program.get("env") or {}).values())]
    if program.get("plain") is not None or any(map(_OF_CONFIG.search, texts)):
        plain = {"working_directory": "spec", **(program.get("plain") or {})}
        place = plain["working_directory"]
        if isinstance(place, (str, os.PathLike)) and place != "trial":
            plain["working_directory"] = os.getcwd() if place == "spec" else absolute(place)
        program["plain"] = plain
    program["command"] = command
    seen = {**spec, "trainable": program}
    if isinstance(spec.get("plugins"), (list, tuple)):
        seen["plugins"] = [absolute(each) for each in spec["plugins"]]
    for name in ("searcher", "scheduler", "stop"):
        if name in spec:
            seen[name] = _policy(spec[name])
    return seen


def absolute(path: str | os.PathLike[str]) -> str:
    return os.path.abspath(os.path.expanduser(path))


def command_from_here(words: Sequence[Any]) -> list[str]:
    """Absolute are of the program a name with a slash, of its arguments those that are files."""
    command = [str(each) for each in words]
    is_path = [
        "/" in word if i == 0 else os.path.isfile(os.path.expanduser(word))
        for i, word in enumerate(command)
    ]
    return [absolute(word) if named else word for word, named in zip(command, is_path)]


def _policy(policy: Any) -> Any:
    if isinstance(policy, (list, tuple)):
        return [_policy(each) for each in policy]
    if not isinstance(policy, dict):
        return policy
    seen = dict(policy)
    if isinstance(seen.get("policy_file"), (str, os.PathLike)):
        seen["policy_file"] = absolute(seen["policy_file"])
    if seen.get("type") == "program" and isinstance(seen.get("command"), (list, tuple)):
        first, *others = map(str, seen["command"])
        seen["command"] = [*command_from_here([first]), *map(_of_file, others)]
    return seen


def _of_file(word: str) -> str:
    """A file, or a name in one, ``own.py:Searcher``."""
    file, colon, name = word.rpartition(":")
    if os.path.isfile(word):
        return absolute(word)
    return absolute(file) + colon + name if os.path.isfile(file) else word
