"""Named tensors in files of the safetensors format: written piece by piece, read lazily, one or
some of many. docs/blobs.md is the guide.

Tensors are NumPy arrays where NumPy is installed and has their type, memoryviews elsewhere.
"""

from __future__ import annotations

import mmap
import os
import re
import stat
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any

from tune._blob_format import (
    DTYPES,
    MAX_HEADER_BYTES,
    Blob,
    BlobError,
    joined,
    numpy_or_none,
    parse_header,
    quoted,
)
from tune._blob_writer import Writer, save

__all__ = ["Blob", "BlobError", "Blobs", "Loaded", "Writer", "load", "save"]


class Loaded(dict[str, Any]):
    """Tensors by name, and what was asked for and is not there, or the other way round."""

    missing: list[str]  #: names that no tensor has; patterns that fit none
    unexpected: list[str]  #: tensors that were not asked for by `names`


class _File:
    """An open file, whose header was checked; mapped once somebody wants a view."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.map: mmap.mmap | None = None
        try:
            # A FIFO is not waited for.
            self.fd = os.open(
                path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
            )
        except OSError as error:
            if os.path.islink(path):
                raise BlobError(f"{path} is a symbolic link and no file") from None
            raise BlobError(f"{path} cannot be opened: {error.strerror}") from None
        try:
            self.blobs, self.metadata = self._read_header()
        except BaseException:
            os.close(self.fd)
            raise

    def close(self) -> None:
        """The map stays as long as there are views of it."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def _read_header(self) -> tuple[list[Blob], dict[str, str]]:
        status = os.fstat(self.fd)
        if not stat.S_ISREG(status.st_mode):
            raise BlobError(f"{self.path} is no regular file")
        size = status.st_size
        if size < 8:
            raise BlobError(f"{self.path} is no safetensors file: it has only {size} bytes")
        (length,) = struct.unpack("<Q", self.read(0, 8))
        if length > size - 8:
            raise BlobError(
                f"{self.path} is no safetensors file, or cut off: its header is said to have "
                f"{length} bytes, and the file has {size}"
            )
        if length > MAX_HEADER_BYTES:
            raise BlobError(
                f"{self.path} has a header of {length} bytes, more than {MAX_HEADER_BYTES}"
            )
        try:
            return parse_header(self.path, bytes(self.read(8, length)), size)
        except BlobError as error:
            raise BlobError(f"{self.path} is no sound safetensors file: {error}") from None

    def read(self, offset: int, length: int) -> bytearray:
        if self.fd < 0:
            raise BlobError(f"{self.path} is closed")
        buffer = bytearray(length)
        rest = memoryview(buffer)
        while rest:
            try:
                got = os.preadv(self.fd, [rest], offset)
            except OSError as error:
                raise BlobError(f"{self.path} cannot be read: {error.strerror}") from None
            if got == 0:
                raise BlobError(f"{self.path} has become shorter since it was opened")
            rest = rest[got:]
            offset += got
        return buffer

    def view(self, blob: Blob) -> memoryview:
        if self.map is None:
            if self.fd < 0:
                raise BlobError(f"{self.path} is closed")
            self.map = mmap.mmap(self.fd, 0, access=mmap.ACCESS_READ)
        view = memoryview(self.map)[blob.offset : blob.offset + blob.nbytes]
        if len(view) < blob.nbytes:
            raise BlobError(f"{self.path} has become shorter since it was opened")
        return view


def _array(blob: Blob, buffer: Any) -> Any:
    """`buffer` as what `blob` is: an array, or a view."""
    _, name, code = DTYPES[blob.dtype]
    numpy = numpy_or_none()
    if numpy is not None and name:
        try:
            # Those that NumPy has not of itself are known once ml_dtypes is imported.
            dtype = numpy.dtype(name)
        except TypeError:
            return memoryview(buffer)
        if blob.nbytes == 0:
            return numpy.zeros(blob.shape, dtype)
        return numpy.frombuffer(buffer, dtype).reshape(blob.shape)
    view: Any = memoryview(buffer)
    return view.cast(code, blob.shape) if code and blob.nbytes else view


class Blobs(Mapping[str, Any]):
    """One file, or all files ``*.safetensors`` of a directory as one set of names.

    The headers are read and checked as a whole when it is made. ``blobs["layers.0.weight"]`` is a
    read-only view of the mapped file, from which bytes are read as they are used: whoever shortens
    the file meanwhile ends the process (SIGBUS), so use `read` for files that may change; committed
    checkpoints never do. A file that is deleted while it is open can still be read.

    BlobError if a file is not as the format demands, is a link or no regular file, if a name is in
    two files, and if a directory has no such file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._files: dict[str, _File] = {}
        self._blobs: dict[str, Blob] = {}
        self.metadata: dict[str, str] = {}  #: what ``__metadata__`` says, of all files together
        try:
            for file_path in _paths_at(self.path):
                file = self._files[file_path] = _File(file_path)
                self.metadata.update(file.metadata)
                for blob in file.blobs:
                    if blob.name in self._blobs:
                        names = [self._blobs[blob.name].file, blob.file]
                        first, second = map(os.path.basename, names)
                        raise BlobError(
                            f"{self.path} has the tensor {quoted(blob.name)} twice: "
                            f"in {first} and in {second}"
                        )
                    self._blobs[blob.name] = blob
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Closes the files. Views stay valid."""
        for file in self._files.values():
            file.close()

    def __enter__(self) -> Blobs:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def blobs(self) -> list[Blob]:
        """All tensors, file by file in the order of their bytes; none of them is read for it."""
        return list(self._blobs.values())

    def blob(self, name: str) -> Blob:
        """What the header says of it. BlobError: there is none."""
        try:
            return self._blobs[name]
        except KeyError:
            raise BlobError(f"{self.path} has no tensor {quoted(name)}") from None

    def read(self, name: str) -> Any:
        """A copy that may be written to. BlobError if it cannot be read, also because the file was
        shortened."""
        blob = self.blob(name)
        return _array(blob, self._files[blob.file].read(blob.offset, blob.nbytes))

    def load(
        self,
        patterns: Iterable[str] | None = None,
        names: Iterable[str] | None = None,
        strict: bool = True,
        make: Callable[[Blob, bytearray], Any] = _array,
    ) -> Loaded:
        """Copies of some tensors, see the function `load`; each as `make` says."""
        wanted, loaded = self._choose(patterns, names)
        if strict and (loaded.missing or loaded.unexpected):
            what = []
            if loaded.missing:
                fits = "that fits " if patterns is not None else ""
                what.append(f"has no tensor {fits}{joined(loaded.missing)}")
            if loaded.unexpected:
                what.append(f"has {joined(loaded.unexpected)}, which nobody has asked for")
            raise BlobError(f"{self.path} {', and '.join(what)}")
        for name in wanted:
            blob = self._blobs[name]
            loaded[name] = make(blob, self._files[blob.file].read(blob.offset, blob.nbytes))
        return loaded

    def _choose(
        self, patterns: Iterable[str] | None, names: Iterable[str] | None
    ) -> tuple[list[str], Loaded]:
        if patterns is not None and names is not None:
            raise TypeError("give patterns or names, not both")
        if isinstance(patterns, str) or isinstance(names, str):
            raise TypeError("patterns and names are lists of strings")
        loaded = Loaded()
        loaded.missing, loaded.unexpected = [], []
        if names is not None:
            asked = list(dict.fromkeys(names))
            loaded.missing = [name for name in asked if name not in self._blobs]
            loaded.unexpected = sorted(set(self._blobs) - set(asked))
            return [name for name in asked if name in self._blobs], loaded
        wanted: dict[str, None] = {}
        for pattern in ["*"] if patterns is None else patterns:
            fits = _pattern(pattern)
            found = [name for name in self._blobs if fits.fullmatch(name)]
            if not found and patterns is not None:
                loaded.missing.append(pattern)
            wanted.update(dict.fromkeys(found))
        return list(wanted), loaded

    def __getitem__(self, name: str) -> Any:
        blob = self._blobs[name]
        return _array(blob, self._files[blob.file].view(blob))

    def __iter__(self) -> Iterator[str]:
        return iter(self._blobs)

    def __len__(self) -> int:
        return len(self._blobs)

    def __repr__(self) -> str:
        return f"Blobs({self.path!r}, {len(self)} tensors)"


def _paths_at(path: str) -> list[str]:
    if not os.path.isdir(path):
        return [path]
    # Hidden ones are being written: see Writer.
    found = sorted(
        os.path.join(path, name)
        for name in os.listdir(path)
        if name.endswith(".safetensors") and not name.startswith(".")
    )
    if not found:
        raise BlobError(f"{path} has no file *.safetensors")
    return found


def _pattern(pattern: str) -> re.Pattern[str]:
    parts = {"*": ".*", "?": "."}
    return re.compile("".join(parts.get(c) or re.escape(c) for c in pattern), re.DOTALL)


def load(
    path: str | os.PathLike[str],
    patterns: Iterable[str] | None = None,
    names: Iterable[str] | None = None,
    strict: bool = True,
) -> Loaded:
    """Tensors of a checkpoint, by name: copies, which may be written to and outlive the file.

    path: a checkpoint's directory, of whichever trial, or one file.
    patterns: those whose names fit one of them; ``*`` stands for any characters, dots too, and
        ``?`` for any one: ``["layers.*"]``. None: all.
    names: in place of that, just these, as a model wants them.
    strict: a pattern that fits nothing, a name that is missing, or with `names` a tensor that was
        not asked for, is a BlobError that lists them. False: they are listed in the answer's
        ``missing`` and ``unexpected``.
    """
    with Blobs(path) as blobs:
        return blobs.load(patterns, names, strict)
