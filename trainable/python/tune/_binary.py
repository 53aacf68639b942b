"""Where the program `tune` is."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import sysconfig

from tune import _json

#: What was installed with this package: a name that no other package has. Ray's scripts have the
#: name `tune`, too, and pip puts whatever is installed last in the place of the other.
_INSTALLED = "tune-driver"
_PATIENCE_S = 60


def find_binary() -> str:
    """``TUNE_BINARY``; else what was installed with this package, or what this package was
    installed with (PREFIX/share/tune/python); else `tune` of ``PATH``. FileNotFoundError if there
    is none, or another program is named so."""
    named = os.environ.get("TUNE_BINARY")
    if named:
        named = shutil.which(named) or named
        if not _is_ours(named, may_be_script=True):
            raise FileNotFoundError(
                f"TUNE_BINARY is {named!r}, and that is not the program 'tune' of this project"
            )
        return named
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    schemes = [os.path.join(own, "bin")]  # where pip --target puts it
    schemes += [sysconfig.get_path("scripts")]
    schemes.append(sysconfig.get_path("scripts", vars={"base": sys.base_prefix}))
    if "posix_user" in sysconfig.get_scheme_names():
        schemes.append(sysconfig.get_path("scripts", scheme="posix_user"))
    for directory in schemes:
        path = os.path.join(directory, _INSTALLED)
        if os.access(path, os.X_OK):
            return path
    places = [os.path.normpath(os.path.join(own, "..", "..", "..", "bin")), *os.get_exec_path()]
    for directory in places:
        for name in (_INSTALLED, "tune"):
            path = os.path.join(directory, name)
            if os.path.isabs(path) and _is_ours(path):
                return path
    raise FileNotFoundError(
        "the program 'tune' is not found, neither beside this Python nor in PATH: install "
        "tune-driver anew, or let TUNE_BINARY name it"
    )


@functools.cache
def _is_ours(path: str, may_be_script: bool = False) -> bool:
    """Others have programs of that name: it is asked. Scripts are not, which may take seconds to
    start, unless the user has named one."""
    try:
        with open(path, "rb") as file:
            if file.read(4) != b"\x7fELF" and not may_be_script:
                return False
        said = subprocess.run(
            [path, "--version", "--json"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE_S,
            check=False,
        ).stdout
        answer = _json.loads(said)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return False
    return isinstance(answer, dict) and answer.get("name") == "tune" and "compiler" in answer
