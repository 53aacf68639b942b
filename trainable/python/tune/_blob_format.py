"""The safetensors format: its types, and the header of a file, there and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tune import _json

#: The types of the format: bits of an element, the name in NumPy and others, the code of `struct`.
DTYPES: dict[str, tuple[int, str, str]] = {
    "BOOL": (8, "bool", "?"),
    "F4": (4, "", ""),
    "F6_E2M3": (6, "", ""),
    "F6_E3M2": (6, "", ""),
    "U8": (8, "uint8", "B"),
    "I8": (8, "int8", "b"),
    "F8_E5M2": (8, "float8_e5m2", ""),
    "F8_E4M3": (8, "float8_e4m3fn", ""),
    "F8_E8M0": (8, "float8_e8m0fnu", ""),
    "F8_E4M3FNUZ": (8, "float8_e4m3fnuz", ""),
    "F8_E5M2FNUZ": (8, "float8_e5m2fnuz", ""),
    "I16": (16, "int16", "h"),
    "U16": (16, "uint16", "H"),
    "F16": (16, "float16", ""),
    "BF16": (16, "bfloat16", ""),
    "I32": (32, "int32", "i"),
    "U32": (32, "uint32", "I"),
    "F32": (32, "float32", "f"),
    "F64": (64, "float64", "d"),
    "I64": (64, "int64", "q"),
    "U64": (64, "uint64", "Q"),
    "C64": (64, "complex64", ""),
}
BY_NAME = {name: dtype for dtype, (_, name, _) in DTYPES.items() if name}
_METADATA = "__metadata__"
MAX_HEADER_BYTES = 100_000_000  # as in the reference implementation
_MAX_DIMENSIONS = 64
_FIELDS = {"dtype", "shape", "data_offsets"}


class BlobError(ValueError):
    """What is wrong with a file, a name or a request, in a sentence that names the file."""


@dataclass(frozen=True)
class Blob:
    """What a file's header says of one tensor."""

    name: str
    dtype: str  #: as the format calls it: ``"F32"``, ``"BF16"`` ...
    shape: tuple[int, ...]
    nbytes: int
    file: str  #: the path of the file that it is in
    offset: int  #: of its first byte there


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise BlobError(f"its header cannot be read: it has {quoted(name)} twice")
            seen.add(name)
    return found


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


def parse_header(path: str, text: bytes, size: int) -> tuple[list[Blob], dict[str, str]]:
    if not text.startswith(b"{"):
        raise BlobError("its header cannot be read: it does not begin with '{'")
    try:
        header = _json.loads(
            text.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_number
        )
    except UnicodeDecodeError:
        raise BlobError("its header cannot be read: it is not UTF-8") from None
    except BlobError:
        raise
    except ValueError as error:
        raise BlobError(f"its header cannot be read: {error}") from None
    metadata = header.pop(_METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise BlobError("its header cannot be read: __metadata__ has something that is no string")
    data = 8 + len(text)
    blobs = [_parse_blob(path, name, entry, data, size) for name, entry in header.items()]
    blobs.sort(key=lambda blob: (blob.offset, blob.nbytes))
    end = data
    for blob in blobs:
        if blob.offset < end:
            raise _wrong(blob.name, "begins within the one before it")
        if blob.offset > end:
            gap = blob.offset - end
            raise _wrong(blob.name, f"begins {gap} bytes behind the end of the one before it")
        end += blob.nbytes
    if end != size:
        raise BlobError(f"{size - end} bytes follow on its last tensor")
    return blobs, metadata


def _parse_blob(path: str, name: str, entry: Any, data: int, size: int) -> Blob:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        raise BlobError(
            "its header cannot be read: a string has half of a surrogate pair"
        ) from None
    if not isinstance(entry, dict) or set(entry) != _FIELDS:
        raise _wrong(name, "has not just dtype, shape and data_offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise _wrong(name, f"is of the type {quoted(str(dtype))}, which is not known")
    if not _are_sizes(shape) or not _are_sizes(offsets) or len(offsets) != 2:
        raise _wrong(
            name, "has something else where a whole number from 0 on and of 64 bits should stand"
        )
    if len(shape) > _MAX_DIMENSIONS:
        raise _wrong(name, f"has more than {_MAX_DIMENSIONS} dimensions")
    nbytes = bytes_of(dtype, shape)
    if nbytes is None:
        raise _wrong(name, f"is {type_text(dtype, shape)}, which is no number of bytes")
    begin, end = offsets
    if end < begin:
        raise _wrong(name, "ends before it begins")
    if end - begin != nbytes:
        what = type_text(dtype, shape)
        raise _wrong(name, f"is {what} of {nbytes} bytes, and has {end - begin}")
    if end > size - data:
        raise _wrong(name, f"ends at byte {end} of the data, which is {size - data} bytes long")
    return Blob(name, dtype, tuple(shape), nbytes, path, data + begin)


def _wrong(name: str, what: str) -> BlobError:
    return BlobError(f"its header is wrong: tensor {quoted(name)} {what}")


def quoted(name: str) -> str:
    return f"'{name}'" if len(name) <= 100 else f"'{name[:100]}...'"


def joined(names: Sequence[str]) -> str:
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return ", ".join(quoted(name) for name in names[:10]) + more


def type_text(dtype: str, shape: Sequence[int]) -> str:
    return f"{dtype} [{','.join(map(str, shape))}]"


def _are_sizes(values: Any) -> bool:
    return isinstance(values, list) and all(
        type(value) is int and 0 <= value < 1 << 64 for value in values
    )


def bytes_of(dtype: str, shape: Sequence[int]) -> int | None:
    """None: no number of 64 bits, or no whole one."""
    product = 1
    for dimension in shape:
        product *= dimension
        if product >= 1 << 64:
            return None
    product *= DTYPES[dtype][0]
    return product // 8 if product < 1 << 64 and product % 8 == 0 else None


def lay_out(
    tensors: Mapping[str, tuple[str, Sequence[int]]], metadata: Mapping[str, str]
) -> tuple[bytes, dict[str, tuple[int, int]]]:
    """The beginning of a file, and where in it each tensor begins and ends. BlobError, without the
    file's name, for what the format cannot say."""
    if not all(isinstance(text, str) for pair in metadata.items() for text in pair):
        raise BlobError("the metadata has something that is no string")
    header: dict[str, Any] = {_METADATA: dict(metadata)} if metadata else {}
    for name, (dtype, shape) in tensors.items():
        if dtype not in DTYPES:
            raise BlobError(f"there is no type {quoted(str(dtype))}")
        if name == _METADATA:
            raise BlobError("no tensor can be called __metadata__")
        if len(shape) > _MAX_DIMENSIONS:
            raise BlobError(f"tensor {quoted(name)} has more than {_MAX_DIMENSIONS} dimensions")
    end = 0
    # Wide types first: so each tensor is aligned.
    for name, (dtype, shape) in sorted(tensors.items(), key=lambda item: -DTYPES[item[1][0]][0]):
        dimensions = [int(dimension) for dimension in shape]
        nbytes = bytes_of(dtype, dimensions) if min(dimensions, default=0) >= 0 else None
        if nbytes is None or end + nbytes >= 1 << 64:
            what = type_text(dtype, dimensions)
            raise BlobError(f"tensor {quoted(name)} is {what}, which is no number of bytes")
        offsets = [end, end + nbytes]
        header[name] = {"dtype": dtype, "shape": dimensions, "data_offsets": offsets}
        end += nbytes
    try:
        text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    except UnicodeEncodeError:
        raise BlobError("a name or the metadata is not UTF-8") from None
    text += b" " * (-(8 + len(text)) % 8)
    if len(text) > MAX_HEADER_BYTES:
        raise BlobError(
            f"the header has {len(text)} bytes, more than the {MAX_HEADER_BYTES} that readers take"
        )
    data = 8 + len(text)
    places = {
        name: (data + entry["data_offsets"][0], data + entry["data_offsets"][1])
        for name, entry in header.items()
        if name != _METADATA
    }
    return len(text).to_bytes(8, "little") + text, places


def numpy_or_none() -> Any:
    try:
        import numpy
    except ImportError:
        return None
    return numpy
