"""JAX: pytrees of arrays in a checkpoint, by NumPy alone.

``tune.report({"loss": loss}, save=lambda directory: save_pytree(directory, state))``, and to go
on: ``state = load_pytree(checkpoint.path, state)``.

Trials that share a GPU each take most of its memory, unless the variable
``XLA_PYTHON_CLIENT_PREALLOCATE`` is ``false`` before jax is loaded: give the Tuner
``env={"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}``.
"""

from __future__ import annotations

import json
import os
from typing import Any

import jax
import numpy

from tune import _json

_FILE = "pytree.npz"
_LEAVES = "__leaves__"


def _named(tree: Any) -> tuple[list[tuple[str, Any]], Any]:
    leaves, structure = jax.tree_util.tree_flatten_with_path(tree)
    return [(jax.tree_util.keystr(path) or ".", leaf) for path, leaf in leaves], structure


def _is_key(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _description(leaf: Any) -> dict[str, Any]:
    """What two leaves have in common that can take each other's place."""
    if _is_key(leaf):
        return {"key": str(jax.random.key_impl(leaf)), "shape": list(leaf.shape)}
    array = leaf if isinstance(leaf, jax.Array) else numpy.asarray(leaf)
    return {"dtype": str(array.dtype), "shape": list(array.shape)}


def save_pytree(directory: str | os.PathLike[str], tree: Any) -> None:
    """Writes `tree` into `directory`, whole or not at all.

    Its leaves are arrays, numbers and keys of ``jax.random``. TypeError that names the path of a
    leaf that is none of them.
    """
    arrays: dict[str, Any] = {}
    described: dict[str, Any] = {}
    for index, (path, leaf) in enumerate(_named(tree)[0]):
        array = numpy.asarray(jax.random.key_data(leaf) if _is_key(leaf) else leaf)
        if array.dtype.kind in "OUSM":
            raise TypeError(f"the leaf {path} is a {type(leaf).__name__}: an array was expected")
        described[path] = {**_description(leaf), "at": index, "stored": str(array.dtype)}
        # NumPy has no name for bfloat16 and its kin in a file: bytes say all.
        arrays[str(index)] = numpy.frombuffer(array.tobytes(), dtype=numpy.uint8)
        described[path]["stored_shape"] = list(array.shape)
    text = json.dumps(described).encode()
    arrays[_LEAVES] = numpy.frombuffer(text, dtype=numpy.uint8)
    target = os.path.join(directory, _FILE)
    part = f"{target}.part"
    with open(part, "wb") as file:
        numpy.savez(file, **arrays)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, target)


def load_pytree(directory: str | os.PathLike[str], like: Any) -> Any:
    """What ``save_pytree`` wrote, in the structure of `like`: whose arrays of JAX give the places
    of those that are read, and whose numbers come back as numbers.

    ValueError that names the path of the first leaf that is missing, more, or of another dtype or
    shape.
    """
    leaves, structure = _named(like)
    found: list[Any] = []
    with numpy.load(os.path.join(directory, _FILE), allow_pickle=False) as file:
        described = _json.loads(file[_LEAVES].tobytes())
        expected = {path for path, _ in leaves}
        for path in described:
            if path not in expected:
                raise ValueError(f"the checkpoint has a leaf {path}, which is not expected")
        for path, leaf in leaves:
            if path not in described:
                raise ValueError(f"the checkpoint has no leaf {path}")
            there, here = described[path], _description(leaf)
            for name, value in here.items():
                if there.get(name) != value:
                    raise ValueError(
                        f"the leaf {path} has {name} {there.get(name)} in the checkpoint, and "
                        f"{value} was expected"
                    )
            content = file[str(there["at"])].tobytes()
            # jax.numpy.dtype knows bfloat16 by its name.
            array = numpy.frombuffer(content, dtype=jax.numpy.dtype(there["stored"]))
            array = array.reshape(there["stored_shape"]).copy()
            if _is_key(leaf):
                key = jax.random.wrap_key_data(
                    jax.numpy.asarray(array), impl=jax.random.key_impl(leaf)
                )
                found.append(jax.device_put(key, leaf.sharding))
            elif isinstance(leaf, jax.Array):
                found.append(jax.device_put(array, leaf.sharding))
            elif isinstance(leaf, (bool, int, float, complex)):
                found.append(array.item())
            else:
                found.append(array)
    return jax.tree_util.tree_unflatten(structure, found)
