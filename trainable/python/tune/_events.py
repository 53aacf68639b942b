"""What has happened in an experiment, and what happens, as ``tune events`` tells it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

from tune import _json
from tune._binary import find_binary
from tune.results import TuneError, named_numbers


def events(
    path: str | os.PathLike[str], start: int = 1, follow: bool = False
) -> Iterator[dict[str, Any]]:
    """Everything that has happened in the experiment in the directory `path`, in order: dicts as
    docs/file_formats.md has the journal's records. ``"n"`` is the event's number, 1, 2, 3 ...;
    ``"e"`` says what it is: ``"result"``, ``"checkpoint"``, ``"end"`` ...; ``"t"`` is Unix time,
    ``"trial"`` a number, ``"trial_id"`` its name. Configs and metrics are dicts.

    ``start``
        Number of the first event that is wanted: one more than the last that was seen. So each
        comes exactly once, over crashes of who reads and of the driver.
    ``follow``
        Whether to go on as more happens, until the experiment is finished or its driver leaves.
        Waits for an experiment, and for a driver, where there is none.

    TuneError: there is no experiment, or it is damaged. ValueError: `start` is no number above 0.
    """
    if isinstance(start, bool) or not isinstance(start, int) or start < 1:
        raise ValueError(f"start is the number of an event, 1 or more, and not {start!r}")
    with start_reader(path, start, follow) as reader:
        try:
            yield from read_events(reader.process)
        except GeneratorExit:
            reader.process.terminate()
            raise
    reader.check()


class EventsReader:
    """A process that prints events, and ends by itself once nobody reads them. Its notices are
    passed on as they come."""

    def __init__(self, command: list[str]) -> None:
        # Ctrl-C is not for it: what a driver does on its way out is to be told, too.
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        )
        self._reasons: list[str] = []
        self._listener = threading.Thread(target=self._listen, name="tune events", daemon=True)
        self._listener.start()

    def __enter__(self) -> EventsReader:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.process.wait()
        self._listener.join()

    def check(self) -> None:
        """Once it has ended. TuneError in its own words: it has failed."""
        if self.process.returncode != 0:
            code = self.process.returncode
            said = "\n".join(self._reasons).removeprefix("tune: ")
            raise TuneError(said or f"tune events ended with exit code {code}")

    def _listen(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr:
            for line in self.process.stderr:
                if line.startswith("tune: notice:"):
                    print(line, end="", file=sys.stderr, flush=True)
                else:
                    self._reasons.append(line.rstrip())


def start_reader(path: str | os.PathLike[str], start: int, follow: bool) -> EventsReader:
    """Of events from number `start` on."""
    command = [find_binary(), "events", os.fspath(path), "--from", str(start)]
    return EventsReader([*command, "--follow"] if follow else command)


def read_events(reader: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    assert reader.stdout is not None
    for line in reader.stdout:
        if not line.endswith("\n"):  # it was ended while it wrote
            return
        yield _decoded(_json.loads(line))


def _decoded(event: dict[str, Any]) -> dict[str, Any]:
    if isinstance(event.get("config"), str):  # a clone's
        event["config"] = _json.loads(event["config"])
    if "metrics" in event:
        event["metrics"] = named_numbers(event["metrics"])
    if "trial" in event:
        event["trial_id"] = f"trial_{event['trial']:05d}"
    return event
