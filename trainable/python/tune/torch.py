"""PyTorch: what loading a checkpoint brings back, and should not."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from tune._blob_format import DTYPES, Blob, BlobError
from tune._ray import INSTEAD_IN, Missing
from tune.blobs import Blobs, Loaded


def set_hyperparameters(optimizer: Any, **values: float) -> None:
    """Gives all of the optimizer's parameter groups these values: ``lr=0.1``, ``momentum=0.9``.

    Call it after ``optimizer.load_state_dict``, which brings back the old ones: without it, a clone
    under ``pbt`` trains with its donor's. KeyError: the optimizer has no such value.
    """
    for group in optimizer.param_groups:
        for name, value in values.items():
            if name not in group:
                raise KeyError(f"{type(optimizer).__name__} has no '{name}'")
            group[name] = value
            if name == "lr" and "initial_lr" in group:
                group["initial_lr"] = value


def load_blobs(
    path: str | os.PathLike[str],
    patterns: Iterable[str] | None = None,
    names: Iterable[str] | None = None,
    strict: bool = True,
) -> Loaded:
    """`tune.blobs.load`, with tensors of PyTorch: all its types, BF16 and F8 too, on the CPU.

    ``model.load_state_dict(load_blobs(checkpoint.path, ["encoder.*"]), strict=False)``
    """
    with Blobs(path) as blobs:
        return blobs.load(patterns, names, strict, _tensor)


def _tensor(blob: Blob, buffer: bytearray) -> Any:
    import torch  # type: ignore[import-not-found,unused-ignore]

    dtype = getattr(torch, DTYPES[blob.dtype][1] or "none", None)
    if dtype is None:
        raise BlobError(f"tensor '{blob.name}' is {blob.dtype}, which PyTorch has not")
    if not blob.nbytes:
        return torch.empty(blob.shape, dtype=dtype)
    return torch.frombuffer(buffer, dtype=dtype).reshape(blob.shape)


def __getattr__(name: str) -> Any:
    if name in INSTEAD_IN["torch"]:
        return Missing(name, "torch")
    raise AttributeError(f"module 'tune.torch' has no attribute '{name}'")
