"""The driver as a process of this one: what it is told by signals, and how it ends.

Knows no spec and no trainable.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import IO, Any, NamedTuple

INTERRUPTED = 130
#: What the driver takes for an interrupt, and what ends a program of Python's by default.
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: What the driver says is shown so much later at most.
_LOOK_S = 0.1
#: So much of what it has said is kept for an exception.
_LAST_WORDS = 4000


def is_notebook() -> bool:
    """Whether this is the kernel of a notebook, and not a script or a terminal."""
    ipython = sys.modules.get("IPython")
    get_ipython = getattr(ipython, "get_ipython", None)
    return get_ipython is not None and getattr(get_ipython(), "kernel", None) is not None


class Ended(NamedTuple):
    """How a driver has ended."""

    code: int
    said: str  #: the end of what it has said on its standard error
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


class Messages:
    """What the driver writes to `file`, as it comes, in whole lines."""

    def __init__(self, file: IO[bytes]) -> None:
        self._descriptor = file.fileno()
        self._offset = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._line = ""
        self._last = ""

    def show(self, is_last: bool = False) -> None:
        text = self._read()
        end = len(text) if is_last else text.rfind("\n") + 1
        self._line = text[end:]
        if end > 0:
            self._last = (self._last + text[:end])[-_LAST_WORDS:]
            print(text[:end], end="", file=sys.stderr, flush=True)

    def last_words(self) -> str:
        """The end of it, shown or not."""
        return (self._last + self._read())[-_LAST_WORDS:].strip()

    def _read(self) -> str:
        text = self._line
        # The driver writes where this file stands, so reading must not move it.
        while content := os.pread(self._descriptor, 1 << 16, self._offset):
            self._offset += len(content)
            text += self._decoder.decode(content)
        return text


class Output:
    """What trials print from now on into their logs below `directory`, as it comes, with whose it
    is."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._read: dict[str, int] = {}
        for path, _ in self._logs():  # of a search that goes on
            with contextlib.suppress(OSError):
                self._read[path] = os.stat(path).st_size

    def show(self, is_last: bool = False) -> None:
        for path, trial in self._logs():
            self._show(path, trial, is_last)

    def _logs(self) -> Iterator[tuple[str, str]]:
        """And whose each is."""
        try:
            names = sorted(os.listdir(self._directory))
        except OSError:
            return
        for name in names:
            if name.startswith("trial_"):
                for log in ("stdout.log", "stderr.log"):
                    yield os.path.join(self._directory, name, log), name

    def _show(self, path: str, trial: str, is_last: bool) -> None:
        begin = self._read.get(path, 0)
        try:
            if os.stat(path).st_size <= begin:
                return
            with open(path, "rb") as file:
                file.seek(begin)
                content = file.read(1 << 20)
        except OSError:
            return
        end = len(content) if is_last else content.rfind(b"\n") + 1
        self._read[path] = begin + end
        for line in content[:end].decode("utf-8", "replace").splitlines():
            print(f"({trial}) {line}", flush=True)


def follow(
    command: list[str],
    verbose: int,
    directory: str,
    interrupts: Interrupts,
    descriptors: tuple[int, ...],
) -> Ended:
    """Runs the driver `command`, which has the experiment in `directory`, to its end, on this
    process's output. It is given these descriptors. `verbose`: 0 shows nothing, 1 how the search is
    doing, 2 that in lines, 3 what trials print besides."""
    options = {0: ["--progress", "none"], 1: []}.get(verbose, ["--progress", "lines"])
    output = Output(directory) if verbose > 2 else None
    # On a terminal the driver hears of Ctrl-C itself, and takes what is passed on for the same.
    with (
        tempfile.TemporaryFile() as said,
        interrupts,
        subprocess.Popen(
            [*command, *options],
            stdout=subprocess.DEVNULL if verbose == 0 else None,
            # No pipe: it goes on if this process is gone.
            stderr=said,
            pass_fds=descriptors,
        ) as driver,
    ):
        interrupts.pass_on_to(driver)
        messages = Messages(said)
        ended = _Ended(driver.pid)
        while driver.poll() is None:
            ended.wait(_LOOK_S)
            if verbose > 0:
                messages.show()
            if output is not None:
                output.show()
        ended.close()
        if output is not None:
            output.show(is_last=True)
        if verbose > 0:
            messages.show(is_last=True)
        return Ended(driver.returncode, messages.last_words(), interrupts.count > 0)


class _Ended:
    """The end of a process that nobody has waited for."""

    def __init__(self, pid: int) -> None:
        self._descriptor = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None

    def wait(self, seconds: float) -> None:
        """For so long at most."""
        if self._descriptor is None:
            time.sleep(seconds)
            return
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        poll.poll(1000 * seconds)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
