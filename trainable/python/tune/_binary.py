"""Where the program `tune` is."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig


def find_binary() -> str:
    """``TUNE_BINARY``; else what was installed with this package; else ``PATH``. FileNotFoundError
    if there is none."""
    named = os.environ.get("TUNE_BINARY")
    if named:
        return named
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    schemes = [os.path.join(own, "bin")]  # where pip --target puts it
    schemes += [sysconfig.get_path("scripts")]
    schemes.append(sysconfig.get_path("scripts", vars={"base": sys.base_prefix}))
    if "posix_user" in sysconfig.get_scheme_names():
        schemes.append(sysconfig.get_path("scripts", scheme="posix_user"))
    for directory in schemes:
        path = os.path.join(directory, "tune")
        if _is_ours(path):
            return path
    found = shutil.which("tune")
    if found and _is_ours(found):
        return found
    raise FileNotFoundError(
        "the program 'tune' is not found: neither beside this Python nor in PATH. Ray Tune has one "
        "of that name: if it was installed or removed meanwhile, install tune-driver anew. "
        "TUNE_BINARY may name the program"
    )


def _is_ours(path: str) -> bool:
    """Other packages have scripts of that name."""
    if not (os.path.isfile(path) and os.access(path, os.X_OK)):
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"
