"""Builds the wheel: the package and the program `tune`, from a checkout, without a network.

The program is ``TUNE_BINARY``, or the release build beside this folder. It is linked to libraries
of this system, so the wheel is for this system.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import sysconfig
import tempfile
import zipfile
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_NAME = "tune_driver"
_VERSION = "0.1.0"
_EXECUTABLE = 0o755
_REGULAR = 0o644


def _binary() -> bytes:
    named = os.environ.get("TUNE_BINARY")
    path = Path(named) if named else _HERE.parents[1] / "build/release/bin/tune"
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no program at {path}: build it (cmake --preset release && "
            "cmake --build --preset release --target tune), or let TUNE_BINARY name it"
        )
    strip = shutil.which("strip")
    if strip is None:
        return path.read_bytes()
    with tempfile.TemporaryDirectory() as scratch:
        stripped = Path(scratch) / "tune"
        subprocess.run([strip, "-o", stripped, path], check=True)
        return stripped.read_bytes()


def _tag() -> str:
    return "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")


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
    files.append((f"{_NAME}-{_VERSION}.data/scripts/tune", _binary(), _EXECUTABLE))
    files.append((f"{info}/METADATA", _metadata().encode(), _REGULAR))
    files.append((f"{info}/WHEEL", _wheel_file().encode(), _REGULAR))
    record = ""
    with zipfile.ZipFile(Path(directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for each, content, mode in files:
            entry = zipfile.ZipInfo(each, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100000 | mode) << 16
            wheel.writestr(entry, content)
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
