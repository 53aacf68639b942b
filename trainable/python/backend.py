"""Builds the wheel: the package and the program `tune`, without a network.

The program is ``TUNE_BINARY``; in a checkout the release build, in an installation the installed
one. What it is linked to and not every Linux has comes along, in ``lib/tune-driver`` beside its
``bin``, where it looks first (apps/tune/CMakeLists.txt). The wheel's tag says how new a Linux must
be.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
import zipfile
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_NAME = "tune_driver"
_VERSION = "0.1.0"
#: What all Linuxes of a policy have (PEP 600), and what is the sanitizers'.
_EVERYWHERE = re.compile(
    r"(libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+|ld-linux.*|lib[a-z]*san)\.so\..*"
)
#: Of each policy the newest symbols: of the C library, and of C++'s, both with their minor number.
_POLICIES = [(17, 19), (24, 22), (28, 24), (31, 28), (34, 29), (35, 30), (39, 33)]
#: The program by the name that people type. Ray has a script of that name, and pip lets whatever is
#: installed, or removed, last have its way: so the program itself has another one.
_SHORT_NAME = b"""#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/tune-driver" "$@"
"""
_EXECUTABLE = 0o755
_REGULAR = 0o644


def _binary_path() -> Path:
    named = os.environ.get("TUNE_BINARY")
    is_installed = _HERE.match("share/tune/python")
    own = _HERE.parents[2] / "bin" if is_installed else _HERE.parents[1] / "build/release/bin"
    path = Path(named) if named else own / "tune"
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no program at {path}: build it (cmake --preset release && "
            "cmake --build --preset release --target tune), or let TUNE_BINARY name it"
        )
    return path


def _binary() -> bytes:
    path = _binary_path()
    strip = shutil.which("strip")
    if strip is None:
        return path.read_bytes()
    with tempfile.TemporaryDirectory() as scratch:
        stripped = Path(scratch) / "tune"
        subprocess.run([strip, "-o", stripped, path], check=True)
        return stripped.read_bytes()


def _libraries() -> dict[str, bytes]:
    """By name, what the program is linked to and brings along."""
    said = subprocess.run(["ldd", _binary_path()], check=True, capture_output=True, text=True)
    found = re.findall(r"^\s*(\S+) => (/\S+) \(", said.stdout, re.MULTILINE)
    return {name: Path(path).read_bytes() for name, path in found if not _EVERYWHERE.match(name)}


def _newest(symbols: bytes, contents: list[bytes]) -> int:
    """The minor number of the newest version of that name among what they need."""
    pattern = re.compile(rb"\0" + symbols + rb"\.(\d+)(?=\0)")
    found = [int(each) for content in contents for each in pattern.findall(content)]
    return max(found, default=0)


def _tag() -> str:
    machine = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    contents = [_binary_path().read_bytes(), *_libraries().values()]
    c, cpp = _newest(rb"GLIBC_2", contents), _newest(rb"GLIBCXX_3\.4", contents)
    for policy, newest_cpp in _POLICIES:
        if machine.startswith("linux_") and c <= policy and cpp <= newest_cpp:
            return f"py3-none-manylinux_2_{policy}_{machine[len('linux_') :]}"
    return "py3-none-" + machine


def _metadata() -> str:
    readme = (_HERE / "README.md").read_text(encoding="utf-8")
    return (
        f"Metadata-Version: 2.1\nName: tune-driver\nVersion: {_VERSION}\n"
        "Summary: Hyperparameter search: many trials of a training, steered, saved and resumable\n"
        "Requires-Python: >=3.9\nDescription-Content-Type: text/markdown\n\n" + readme
    )


def _wheel_file() -> str:
    return f"Wheel-Version: 1.0\nGenerator: tune\nRoot-Is-Purelib: false\nTag: {_tag()}\n"


def _write(directory: str, modules: dict[str, bytes]) -> str:
    """Writes the wheel of `modules`, the program and what says of both; answers its name."""
    name = f"{_NAME}-{_VERSION}-{_tag()}.whl"
    info = f"{_NAME}-{_VERSION}.dist-info"
    files = [(each, content, _REGULAR) for each, content in sorted(modules.items())]
    scripts = f"{_NAME}-{_VERSION}.data/scripts"
    files.append((f"{scripts}/tune-driver", _binary(), _EXECUTABLE))
    files.append((f"{scripts}/tune", _SHORT_NAME, _EXECUTABLE))
    for library, content in _libraries().items():
        place = f"{_NAME}-{_VERSION}.data/data/lib/tune-driver/{library}"
        files.append((place, content, _EXECUTABLE))
    files.append((f"{info}/METADATA", _metadata().encode(), _REGULAR))
    files.append((f"{info}/WHEEL", _wheel_file().encode(), _REGULAR))
    record = ""
    with zipfile.ZipFile(Path(directory) / name, "w") as wheel:
        for each, content, mode in files:
            entry = zipfile.ZipInfo(each, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100000 | mode) << 16
            wheel.writestr(entry, content, zipfile.ZIP_DEFLATED, compresslevel=9)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            record += f"{each},sha256={digest.decode()},{len(content)}\n"
        wheel.writestr(f"{info}/RECORD", record + f"{info}/RECORD,,\n")
    return name


def build_wheel(
    wheel_directory: str, config_settings: object = None, metadata_directory: object = None
) -> str:
    """PEP 517."""
    modules = {
        str(path.relative_to(_HERE)): path.read_bytes()
        for path in (_HERE / "tune").rglob("*")
        if path.suffix == ".py" or path.name == "py.typed"
    }
    return _write(wheel_directory, modules)


def build_editable(
    wheel_directory: str, config_settings: object = None, metadata_directory: object = None
) -> str:
    """PEP 660: the modules stay here, the program is installed."""
    return _write(wheel_directory, {f"{_NAME}.pth": f"{_HERE}\n".encode()})
