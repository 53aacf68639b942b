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
    schemes = [sysconfig.get_path("scripts")]
    schemes.append(sysconfig.get_path("scripts", vars={"base": sys.base_prefix}))
    if "posix_user" in sysconfig.get_scheme_names():
        schemes.append(sysconfig.get_path("scripts", scheme="posix_user"))
    for directory in schemes:
        path = os.path.join(directory, "tune")
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    found = shutil.which("tune")
    if found:
        return found
    raise FileNotFoundError(
        "the program 'tune' is not found: neither beside this Python nor in PATH; "
        "TUNE_BINARY may name it"
    )
