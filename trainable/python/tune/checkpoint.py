"""A checkpoint, which is a directory."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator


class Checkpoint:
    """A directory with what a training needs to go on. ``path`` is absolute."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.path.abspath(path)

    @classmethod
    def from_directory(cls, path: str | os.PathLike[str]) -> Checkpoint:
        """The checkpoint that lies in this directory; nothing is copied."""
        return cls(path)

    @contextlib.contextmanager
    def as_directory(self) -> Iterator[str]:
        """The directory to read from, within a ``with``. What is only on the experiment's remote is
        fetched, to a temporary directory that goes at the end. RuntimeError if it cannot be."""
        if self._is_here():
            yield self.path
            return
        import tempfile

        with tempfile.TemporaryDirectory(prefix="checkpoint-") as directory:
            self._fetch(directory)
            yield directory

    def to_directory(self, path: str | os.PathLike[str] | None = None) -> str:
        """Copies it to `path`, or to a new temporary directory, and answers where it is. The file
        ``manifest.json``, which is the driver's, is left out. What is only on the experiment's
        remote is fetched; RuntimeError if it cannot be, or if `path` then holds something."""
        import shutil
        import tempfile

        to = os.fspath(path) if path is not None else tempfile.mkdtemp(prefix="checkpoint-")
        if not self._is_here():
            self._fetch(to)
            os.remove(os.path.join(to, "manifest.json"))
            return to
        shutil.copytree(
            self.path,
            to,
            symlinks=True,
            dirs_exist_ok=True,
            ignore=lambda directory, names: (
                ["manifest.json"] if directory == self.path and "manifest.json" in names else []
            ),
        )
        return to

    def _is_here(self) -> bool:
        return os.path.exists(self.path) or not os.path.exists(self.path + ".remote.json")

    def _fetch(self, directory: str) -> None:
        import subprocess

        from tune._binary import find_binary

        done = subprocess.run(
            [find_binary(), "fetch", self.path, "--to", directory],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())

    def __repr__(self) -> str:
        return f"Checkpoint({self.path!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Checkpoint) and other.path == self.path

    def __hash__(self) -> int:
        return hash(self.path)
