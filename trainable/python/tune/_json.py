"""JSON that somebody else wrote."""

from __future__ import annotations

import json
from typing import Any


def loads(text: str | bytes, **hooks: Any) -> Any:
    """As ``json.loads``; a text that is nested deeper than the interpreter can follow is a
    ValueError, too, since whoever reads has to answer one."""
    try:
        return json.loads(text, **hooks)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
