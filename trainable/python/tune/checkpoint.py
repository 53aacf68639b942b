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
        """The directory to read from, within a ``with``. FileNotFoundError if it is only on a
        remote."""
        self._require_here()
        yield self.path

    def to_directory(self, path: str | os.PathLike[str] | None = None) -> str:
        """Copies it to `path`, or to a new temporary directory, and answers where it is. The file
        ``manifest.json``, which is the driver's, is left out."""
        self._require_here()
        import shutil
        import tempfile

        to = os.fspath(path) if path is not None else tempfile.mkdtemp(prefix="checkpoint-")
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

    def _require_here(self) -> None:
        if not os.path.exists(self.path) and os.path.exists(self.path + ".remote.json"):
            raise FileNotFoundError(
                f"{self.path} is only on the experiment's remote: "
                f"`tune fetch {self.path}` brings it back"
            )

    def __repr__(self) -> str:
        return f"Checkpoint({self.path!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Checkpoint) and other.path == self.path

    def __hash__(self) -> int:
        return hash(self.path)
