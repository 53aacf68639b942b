"""The driver as a process of this one: what it is told by signals, and how it ends.

Knows no spec and no trainable.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import tempfile
import threading
from types import FrameType
from typing import Any, NamedTuple

INTERRUPTED = 130
#: What the driver takes for an interrupt, and what ends a program of Python's by default.
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Ended(NamedTuple):
    """How a driver has ended."""

    code: int
    said: str  #: on its standard error, what has not been shown
    interrupted: bool  #: from here


class Interrupts:
    """While it is entered, what would end this process is passed on to the driver instead, which
    saves what runs. `deliver` does afterwards what the signal would have done.

    A signal that is ignored (nohup) stays so. In other threads than the main one there are no
    signals, and nothing is passed on.
    """

    def __init__(self) -> None:
        self.count = 0
        self._heard: list[int] = []
        self._owed: list[int] = []
        self._driver: subprocess.Popen[bytes] | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                # None: it is no handler of Python's, and could not be put back.
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    self._before[number] = signal.signal(number, self._hear)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def pass_on_to(self, driver: subprocess.Popen[bytes]) -> None:
        self._driver = driver
        self._pass_on(driver)

    def deliver(self) -> None:
        """What was heard ends this process, or calls the handler that it has for it. Of Ctrl-C a
        KeyboardInterrupt says so anyway."""
        for number in dict.fromkeys(self._heard):
            if self._before[number] is signal.default_int_handler:
                continue
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):  # closed, replaced, or its reader has gone
                    stream.flush()
            signal.raise_signal(number)
        self._heard.clear()

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        self._heard.append(number)
        self._owed.append(number)
        if self._driver is not None:
            self._pass_on(self._driver)

    def _pass_on(self, driver: subprocess.Popen[bytes]) -> None:
        while True:
            try:  # to take is one step, so that each is sent once, also if another comes meanwhile
                number = self._owed.pop()
            except IndexError:
                return
            driver.send_signal(number)


def follow(
    command: list[str], quiet: bool, interrupts: Interrupts, descriptors: tuple[int, ...]
) -> Ended:
    """Runs the driver `command` to its end, on this process's output, or in silence. It is given
    these descriptors."""
    options = ["--progress", "none"] if quiet else []
    # On a terminal the driver hears of Ctrl-C itself, and takes what is passed on for the same.
    with (
        tempfile.TemporaryFile("w+") as said,
        interrupts,
        subprocess.Popen(
            [*command, *options],
            stdout=subprocess.DEVNULL if quiet else None,
            stderr=said if quiet else None,
            pass_fds=descriptors,
        ) as driver,
    ):
        interrupts.pass_on_to(driver)
        code = driver.wait()
        said.seek(0)
        return Ended(code, said.read().strip(), interrupts.count > 0)
