"""Writes files of named tensors. The module `tune.blobs` is the way in."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from tune._blob_format import BY_NAME, DTYPES, BlobError, lay_out, numpy_or_none, quoted

_count = itertools.count(1)


class Writer:
    """Writes one file, without having all of it in memory.

    All tensors are declared first: ``{"weight": ("F32", (2, 3))}``. Then their bytes come, whole or
    in pieces, in any order between tensors. Everything goes to a file beside `path` that `finish`
    renames: under `path` there is a whole file or what was there before. Nothing is synced to disk:
    in a checkpoint the driver does that. As a context manager it finishes, or removes what was
    written if there was an error.

    BlobError if sizes or names cannot be written in the format, OSError if the file cannot.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        tensors: Mapping[str, tuple[str, Sequence[int]]],
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        self.path = os.fspath(path)
        self._fd = -1
        try:
            head, places = lay_out(tensors, metadata or {})
        except BlobError as error:
            raise self._error(f"cannot be written: {error}") from None
        self._places = {name: list(place) for name, place in places.items()}
        # Hidden, so that no reader takes it for one of the directory's files.
        folder, base = os.path.split(self.path)
        self._temporary = os.path.join(folder, f".{base}.tmp-{os.getpid()}-py{next(_count)}")
        self._fd = os.open(
            self._temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666
        )
        try:
            self._write_at(0, memoryview(head))
        except BaseException:
            self.close()
            raise

    def write(self, name: str, data: Any) -> None:
        """The next bytes of the tensor `name`: of an array (NumPy, PyTorch), or any buffer.

        BlobError if there is no such tensor, for more bytes than it has, and if an array has
        another type than was said.
        """
        if self._fd < 0:
            raise self._error("is finished already")
        if name not in self._places:
            raise self._error(f"was not said to have a tensor {quoted(name)}")
        view = _bytes_in(data)
        place = self._places[name]
        if len(view) > place[1] - place[0]:
            raise self._error(
                f"takes {place[1] - place[0]} more bytes of {quoted(name)}, got {len(view)}"
            )
        self._write_at(place[0], view)
        place[0] += len(view)

    def finish(self) -> None:
        """Puts the file in its place. BlobError if a tensor lacks bytes."""
        if self._fd < 0:
            raise self._error("is finished already")
        for name, (begin, end) in self._places.items():
            if begin != end:
                raise self._error(f"lacks the last {end - begin} bytes of {quoted(name)}")
        fd, self._fd = self._fd, -1
        try:
            # Some file systems say only now that there was no room.
            os.close(fd)
            os.replace(self._temporary, self.path)
        except OSError:
            _unlink(self._temporary)
            raise

    def close(self) -> None:
        """Removes what was written, unless it is finished."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            _unlink(self._temporary)

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self.finish()
        finally:
            self.close()

    def _write_at(self, offset: int, view: memoryview) -> None:
        while view:
            written = os.pwrite(self._fd, view, offset)
            view = view[written:]
            offset += written

    def _error(self, what: str) -> BlobError:
        return BlobError(f"{self.path} {what}")


def _unlink(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _is_torch(data: Any) -> bool:
    return str(getattr(data, "dtype", "")).startswith("torch.")


def _bytes_in(data: Any) -> memoryview:
    if _is_torch(data):
        import torch  # type: ignore[import-not-found,unused-ignore]

        flat = data.detach().cpu().contiguous().reshape(-1)
        data = flat.view(torch.uint8).numpy() if flat.numel() else b""
    elif hasattr(data, "dtype") and (numpy := numpy_or_none()) is not None:
        little = numpy.asarray(data)
        if little.dtype.byteorder == ">":
            little = little.astype(little.dtype.newbyteorder("<"))
        data = numpy.ascontiguousarray(little).reshape(-1).view(numpy.uint8)
    view = memoryview(data)
    return view.cast("B") if view.nbytes else memoryview(b"")


def _declared(name: str, data: Any) -> tuple[str, Sequence[int]]:
    if hasattr(data, "dtype") and hasattr(data, "shape"):
        kind = str(data.dtype).removeprefix("torch.") if _is_torch(data) else data.dtype.name
        if kind in BY_NAME:
            return BY_NAME[kind], tuple(data.shape)
        raise BlobError(f"tensor {quoted(name)} is of the type {kind}, which the format lacks")
    try:
        view = memoryview(data)
    except TypeError:
        what = type(data).__name__
        raise BlobError(f"tensor {quoted(name)} is a {what}, and no array or buffer") from None
    for dtype, (_, _, code) in DTYPES.items():
        if code and view.format == code:
            return dtype, view.shape or ()
    raise BlobError(f"tensor {quoted(name)} is a buffer of '{view.format}', which the format lacks")


def save(
    path: str | os.PathLike[str],
    tensors: Mapping[str, Any],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Writes arrays (NumPy, PyTorch) or buffers under their names; see `Writer`.

    In ``save_checkpoint(self, checkpoint_dir)``:
    ``tune.blobs.save(os.path.join(checkpoint_dir, "model.safetensors"), model.state_dict())``.
    """
    declared = {name: _declared(name, data) for name, data in tensors.items()}
    with Writer(path, declared, metadata) as writer:
        for name, data in tensors.items():
            writer.write(name, data)
