"""What has no place in a file: pickled for the trials, which load it again."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from typing import Any

from tune.results import TuneError


def can_by_value() -> bool:
    """Whether a function that another process does not find by its name can be pickled."""
    return importlib.util.find_spec("cloudpickle") is not None


def how_to_install() -> str:
    return f"{sys.executable} -m pip install cloudpickle"


def dumps(
    value: Any, what: str, arguments: dict[str, Any] | None = None, names: Sequence[str] = ()
) -> bytes:
    """`value`, for another process: by cloudpickle, where that is installed, else by pickle.

    TuneError if that cannot be, which calls it `what`, or names which of the `arguments` in it, or
    of the global `names` that it uses, is the reason.
    """
    import pickle

    module: Any = pickle
    if can_by_value():
        import cloudpickle  # type: ignore[import-not-found,import-untyped,unused-ignore]

        module = cloudpickle
    try:
        content: bytes = module.dumps(value)
    except Exception as error:  # noqa: BLE001 (whatever its parts raise)
        for name, each in (arguments or {}).items():
            if not _can(module, each):
                raise TuneError(
                    f"the argument '{name}', a {type(each).__name__}, cannot be pickled for the "
                    f"trials ({error}): make it in the training function, which each trial calls"
                ) from None
        for name in names:
            each = getattr(sys.modules.get("__main__"), name, None)
            if each is not value and not _can(module, each):
                raise TuneError(
                    f"{what} uses the global '{name}', a {type(each).__name__}, which cannot be "
                    f"pickled for the trials ({error}): make it in the training function, or at "
                    "the top of the file, which each trial loads then"
                ) from None
        more = "" if module is not pickle else f"; cloudpickle can do more: {how_to_install()}"
        raise TuneError(f"{what} cannot be pickled for the trials: {error}{more}") from None
    # A trial's __main__ is another one.
    if module is pickle and b"__main__" in content:
        raise TuneError(
            f"{what} is not found by its name in a file, and without cloudpickle a trial cannot "
            f"load it: define it at the top of a module, or install cloudpickle: "
            f"{how_to_install()}"
        )
    return content


def _can(module: Any, value: Any) -> bool:
    try:
        module.dumps(value)
    except Exception:  # noqa: BLE001 (whatever its parts raise)
        return False
    return True
