"""The conversation with the driver, as docs/protocol.md has it. Knows no user's code."""

from __future__ import annotations

import enum
import json
import os
import select
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, NoReturn

from tune import _json

_EXIT_DRIVER_GONE = 3
_EXIT_BAD_COMMAND = 2
#: So long a program that is busy may go on once the driver is gone.
_HANGUP_GRACE_S = 3.0
_POLLRDHUP = 0x2000


class TrialStopped(SystemExit):
    """The driver has told this trial to stop: passes through ``except Exception``, and ends the
    process with code 0. ``finally`` blocks run."""


class Connection:
    """Lines of JSON over the socket that the driver has left in ``TUNE_SOCKET_FD``."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._socket.setblocking(True)
        os.set_inheritable(descriptor, False)
        self._reader = self._socket.makefile("rb")
        watch = threading.Thread(target=self._watch, args=(descriptor,), daemon=True)
        watch.start()

    @classmethod
    def from_environment(cls) -> Connection:
        # What this program starts is no trial of the driver's.
        return cls(int(os.environ.pop("TUNE_SOCKET_FD")))

    def send(self, kind: str, **fields: Any) -> None:
        self.say(json.dumps({"type": kind, **fields}, ensure_ascii=True))

    def say(self, line: str) -> None:
        """A line that is JSON already."""
        try:
            self._socket.sendall(line.encode() + b"\n")
        except OSError:
            _leave_alone()

    def receive(self) -> dict[str, Any]:
        try:
            line = self._reader.readline()
        except OSError:
            line = b""
        if not line.endswith(b"\n"):
            _leave_alone()
        try:
            command: dict[str, Any] = _json.loads(line)
            command["type"]
        except (ValueError, KeyError, TypeError) as error:
            bad_command(f"{error}: {line[:100]!r}")
        return command

    @staticmethod
    def _watch(descriptor: int) -> None:
        """Ends the process if the driver is gone and it does not find that out itself."""
        poll = select.poll()
        poll.register(descriptor, _POLLRDHUP)
        try:
            poll.poll()
        except OSError:
            return
        time.sleep(_HANGUP_GRACE_S)
        os.write(2, b"tune: the driver is gone, and this program was busy: it ends here\n")
        os._exit(_EXIT_DRIVER_GONE)


def _leave_alone() -> NoReturn:
    print("tune: the driver is gone", file=sys.stderr)
    raise TrialStopped(_EXIT_DRIVER_GONE)


def bad_command(what: str) -> NoReturn:
    """Ends the process: the driver has said what makes no sense here."""
    print(f"tune: bad command from the driver: {what}", file=sys.stderr)
    raise TrialStopped(_EXIT_BAD_COMMAND)


def saved_answer(save: Callable[[str], object], directory: str) -> dict[str, Any]:
    """What to answer a ``save``: an error is the save's, and training goes on."""
    before = _bytes_written()
    try:
        save(directory)
    except Exception as error:  # noqa: BLE001 (the user's code)
        return {"error": f"{type(error).__name__}: {error}"}
    after = _bytes_written()
    return {} if before is None or after is None else {"bytes": after - before}


def _bytes_written() -> int | None:
    """What this process has written so far, to whatever it was."""
    try:
        with open("/proc/self/io", "rb") as counters:
            for line in counters:
                if line.startswith(b"wchar:"):
                    return int(line.split()[1])
    except OSError:
        pass
    return None


def plain_metrics(metrics: Any) -> dict[str, Any]:
    """``metrics`` as JSON has them: what has ``item()``, as a number of NumPy or a tensor with one
    element, is taken by it. TypeError that names what cannot be sent."""
    if not isinstance(metrics, dict):
        raise TypeError(
            f"metrics must be a dict of names and numbers, not {type(metrics).__name__}"
        )
    return {_name(name): _plain(value, str(name)) for name, value in metrics.items()}


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(f"the name of a metric must be a text, not {name!r}")
    return name


def _plain(value: Any, name: str) -> Any:
    kind = type(value)
    if value is None or kind in (bool, float, str):
        return value
    if isinstance(value, enum.Enum):
        raise _no_number(value, name, "report its .value or its .name")
    if isinstance(value, int):
        # The driver has 64 bits for a whole number, and takes a larger one for a fraction.
        if not -(2**63) <= value < 2**64 and value != _as_float(value):
            raise TypeError(
                f"the metric '{name}' is {value}, which no 64 bits hold: report float({name}), "
                "which is near it, or a text"
            )
        return value
    if isinstance(value, (float, str)):
        return value
    if isinstance(value, dict):
        return {_name(key): _plain(each, f"{name}/{key}") for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each, name) for each in value]
    item = getattr(value, "item", None)
    if callable(item):
        try:
            one = item()
        except (ValueError, RuntimeError) as error:
            raise TypeError(
                f"the metric '{name}' is no single number ({error}): report its .tolist(), which "
                "is kept and not looked at, or a number made of it, such as its mean()"
            ) from None
        if type(one) is not kind:
            return _plain(one, name)
    hint = "report a number made of it, or str() of it, which is kept and not looked at"
    if hasattr(value, "__float__"):  # a Decimal, or a number that is wider than a float
        hint = f"report float({name}), which is near it, or str() of it"
    elif hasattr(value, "tolist"):
        hint = "report its .tolist(), which is kept and not looked at"
    raise _no_number(value, name, hint)


def _no_number(value: Any, name: str, hint: str) -> TypeError:
    kind = type(value).__name__
    return TypeError(f"the metric '{name}' is a {kind}, and no number: {hint}")


def _as_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")
