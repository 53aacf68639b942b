"""A search in a notebook: a table that is redrawn in its cell, and the stop button.

Also how results look there. Knows no spec and no trainable; IPython is only used where it runs.
"""

from __future__ import annotations

import html
import importlib
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tune import _json
from tune._running import INTERRUPTED, Ended, Interrupts, Messages
from tune.results import TuneError, ask

if TYPE_CHECKING:
    from tune.results import Result, ResultGrid

#: Exit codes of a driver that had the experiment until the end.
_RAN = (0, 1, 4, INTERRUPTED)

#: A redraw a second, or as seldom as keeps asking below this share of the time: that takes longer
#: the more trials there are.
_PERIOD_S = 1.0
_SHARE = 0.05
#: So soon an interrupt and the end of the driver are seen.
_SLICE_S = 0.1

_MOST_ROWS = 10
_MOST_FAILURES = 3
_LONGEST_TEXT = 100


def follow(
    command: list[str],
    directory: str,
    quiet: bool,
    interrupts: Interrupts,
    descriptors: tuple[int, ...],
) -> Ended:
    """Runs the driver `command`, which has the experiment in `directory`, to its end. Shows how it
    is doing and what it says on standard error, unless `quiet`."""
    with tempfile.TemporaryFile() as said, interrupts:
        # In a session of its own: the stop button signals the kernel alone or its whole group,
        # whoever made the kernel, and a restart kills that group.
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,
            pass_fds=descriptors,
        ) as driver:
            interrupts.pass_on_to(driver)
            messages = Messages(said)
            table = _Table(directory)
            while True:
                heard = interrupts.count
                if not quiet:
                    messages.show()
                    table.redraw(driver.pid, heard)
                until = time.monotonic() + table.period_s
                while driver.poll() is None and interrupts.count == heard:
                    left = until - time.monotonic()
                    if left <= 0:
                        break
                    time.sleep(min(left, _SLICE_S))
                if driver.poll() is not None:
                    break
        code = driver.returncode
        if not quiet:
            if code in (0, 1, INTERRUPTED):
                messages.show(is_last=True)
            table.finish(code)
        return Ended(code, messages.last_words(), interrupts.count > 0)


@dataclass
class View:
    """What is shown of something: a title, named facts, a table and what stands beneath it."""

    title: str
    facts: list[tuple[str, str]]
    columns: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    more: str = ""

    def text(self) -> str:
        lines = [_clean(self.title)]
        width = max((len(name) for name, _ in self.facts), default=0)
        lines += [f"{name:{width}}  {_clean(value)}" for name, value in self.facts]
        if self.rows:
            table = [[_clean(cell) for cell in row] for row in [self.columns, *self.rows]]
            widths = [max(map(len, column)) for column in zip(*table)]
            lines.append("")
            for row in table:
                cells = (f"{cell:{width}}" for cell, width in zip(row, widths))
                lines.append("  ".join(cells).rstrip())
        if self.more:
            lines.append(_clean(self.more))
        return "\n".join(lines)

    def html(self) -> str:
        """With the colours of whatever it stands in. Names and texts are strangers': they are no
        markup, and their dollars no formulas."""
        parts = [f"<div><b>{_escape(self.title)}</b></div>"]
        parts.append(_html_table([], [list(fact) for fact in self.facts]))
        if self.rows:
            parts.append(_html_table(self.columns, self.rows))
        if self.more:
            parts.append(f"<div>{_escape(self.more)}</div>")
        return f'<div class="tex2jax_ignore mathjax_ignore">{"".join(parts)}</div>'


def _html_table(columns: list[str], rows: list[list[str]]) -> str:
    left = ' style="text-align:left"'
    head = "".join(f"<th{left}>{_escape(column)}</th>" for column in columns)
    body = "".join(
        f"<tr>{''.join(f'<td{left}>{_escape(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return (
        f"<table>{f'<thead><tr>{head}</tr></thead>' if head else ''}<tbody>{body}</tbody></table>"
    )


class _Table:
    """How the experiment in `directory` is doing, in a place of its own in the cell's output."""

    def __init__(self, directory: str) -> None:
        self.period_s = _SLICE_S  # until the experiment is there
        self._directory = directory
        self._display: Any = None
        self._mark: object = None
        self._asked_at = 0.0
        self._status: dict[str, Any] = {}
        self._trials: list[dict[str, Any]] = []
        self._metrics: list[str] = []

    def redraw(self, pid: int, interrupts: int) -> None:
        """If the driver `pid` has the experiment by now: another one is not this search."""
        self._ask()
        driver = self._status.get("driver")
        if driver is None or driver["pid"] != pid:
            self._mark = None
            return
        how = "running"
        if interrupts > 0:
            how = "interrupted: what runs is being saved; another interrupt ends it at once"
        elif self._status["stop_reason"]:
            how = f"ending: {self._status['stop_reason']}"
        self._show(how, time.time() - self._asked_at)

    def finish(self, code: int) -> None:
        """The driver has left with `code`."""
        if code not in _RAN and self._display is None:
            return
        self._mark = None
        self._ask()
        if not self._status:
            return
        left = sum(self._status["states"][each] for each in ("PENDING", "RUNNING"))
        again = f"tune.Tuner.restore({self._directory!r}).fit()"
        if self._status["given_up"]:
            how = f"given up: {_first_line(self._status['given_up'])}; {again} tries again"
        elif code in (0, 1):
            how = "ended" if not left else f"ended; {again} goes on with what is left"
        elif code == INTERRUPTED:
            how = f"interrupted; {again} goes on"
        else:
            how = f"ended with exit code {code}; {again} goes on"
        self._show(how, 0)

    def _ask(self) -> None:
        """Brings up to date what is known, if anything has been recorded since."""
        begun = time.monotonic()
        try:
            mark = _mark_of(self._directory)
            if mark == self._mark:
                return
            self._status = ask("status", self._directory)
            self._asked_at = time.time()
            # One question for both: each reads the whole state.
            which = 'state == "RUNNING" || failures > 0'
            self._trials = ask(
                "ls", self._directory, "--filter", which, "--sort", "ended", "--desc"
            )
            if not self._metrics:
                self._metrics = _metrics_of(self._directory)
            self._mark = mark
        except (TuneError, OSError, ValueError):
            return  # it is not there yet, or no longer: what was known stays
        self.period_s = max(_PERIOD_S, (time.monotonic() - begun) / _SHARE)

    def _show(self, how: str, since_asked_s: float) -> None:
        view = self._view(how, since_asked_s)
        content = {"text/plain": view.text(), "text/html": view.html()}
        if self._display is None:
            # By name, as it may have no types, or not be there: a kernel has it.
            front_end: Any = importlib.import_module("IPython.display")
            self._display = front_end.display(content, raw=True, display_id=True)
        else:
            self._display.update(content, raw=True)

    def _view(self, how: str, since_asked_s: float) -> View:
        status = self._status
        facts = [
            ("trials", _states(_counts(status), status["total_trials"], status["trials"])),
            ("time", _duration(status["running_s"] + since_asked_s)),
            ("best", _best(status)),
        ]
        failed = [each for each in self._trials if each["failures"] > 0]
        for each in failed[:_MOST_FAILURES]:
            facts.append(("failed", f"{each['trial_id']}: {_short(_first_line(each['error']))}"))
        facts.append(("path", status["directory"]))
        running = sorted(
            (each for each in self._trials if each["state"] == "RUNNING"),
            key=lambda each: str(each["trial_id"]),
        )
        hidden = len(running) - _MOST_ROWS
        return View(
            f"{status['name']}: {how}",
            facts,
            ["running", "iteration", *self._metrics, "config"],
            [
                [
                    each["trial_id"],
                    str(each["training_iteration"]),
                    *_values(each["metrics"] or {}, self._metrics),
                    _short(_config(each["config"])),
                ]
                for each in running[:_MOST_ROWS]
            ],
            f"and {hidden} more that run" if hidden > 0 else "",
        )


def result_view(result: Result) -> View:
    facts = [("metrics", _config(result.metrics)), ("config", _config(result.config))]
    if result.error:
        facts.append(("failed", _first_line(result.error)))
    checkpoint = result.get_best_checkpoint()
    if checkpoint is not None:
        facts.append(("checkpoint", checkpoint.path))
    facts.append(("path", result.path))
    return View(f"{result.trial_id}: {result.state}", facts)


def grid_view(grid: ResultGrid) -> View:
    """The best trials by the last value of the search's metric; the first ones, if it has not
    exactly one."""
    trials = list(grid)
    metrics, mode = [], "min"
    try:
        metrics = _metrics_of(grid.experiment_path)
        mode = _spec_of(grid.experiment_path).get("mode", mode)
    except (OSError, ValueError):
        pass  # the directory is gone, and the results are here still
    if len(metrics) == 1:
        sign = -1 if mode == "max" else 1

        def rank(result: Result) -> tuple[bool, float]:
            value = result.metrics.get(metrics[0])
            if isinstance(value, (int, float)) and value == value:
                return (False, sign * value)
            return (True, 0)

        trials.sort(key=rank)
    counts: dict[str, int] = {}
    for each in trials:
        how = each.end or each.state
        counts[how] = counts.get(how, 0) + 1
    hidden = len(trials) - _MOST_ROWS
    return View(
        "ResultGrid",
        [("trials", _states(counts, len(trials), len(trials))), ("path", grid.experiment_path)],
        ["trial", "state", "iteration", *metrics, "config"],
        [
            [
                each.trial_id,
                each.end or each.state,
                str(each.metrics.get("training_iteration", 0)),
                *_values(each.metrics, metrics),
                _short(_config(each.config)),
            ]
            for each in trials[:_MOST_ROWS]
        ],
        f"and {hidden} more" if hidden > 0 else "",
    )


def _mark_of(directory: str) -> tuple[str, int]:
    """Something that is another whenever the driver has recorded something."""
    with open(os.path.join(directory, "CURRENT"), encoding="ascii") as file:
        generation = file.read().strip()
    return generation, os.stat(os.path.join(directory, f"journal-{generation}.jsonl")).st_size


def _spec_of(directory: str) -> dict[str, Any]:
    with open(os.path.join(directory, "experiment.json"), encoding="utf-8") as file:
        spec: dict[str, Any] = _json.loads(file.read())
    return spec


def _metrics_of(directory: str) -> list[str]:
    """The metrics that count in the experiment."""
    metric = _spec_of(directory).get("metric") or []
    return [metric] if isinstance(metric, str) else list(metric)


def _counts(status: dict[str, Any]) -> dict[str, int]:
    """How many trials have ended how, and how many are in another state."""
    others = {name: status["states"][name] for name in ("PENDING", "RUNNING", "PAUSED")}
    return {**status["ends"], **others}


def _states(counts: dict[str, int], total: int | None, made: int) -> str:
    text = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    return f"{text or 'none yet'}{f' of {total}' if total and total > made else ''}"


def _best(status: dict[str, Any]) -> str:
    best, front = status["best"], status["front"]
    if best is not None:
        iteration = best["best_iteration"]
        at = "" if iteration is None else f" at iteration {iteration}"
        tag = f" ({best['tag']})" if best["tag"] else ""
        return f"{best['metric']} {_number(best['value'])} of {best['trial_id']}{at}{_short(tag)}"
    if front is not None:
        return f"{front['trials']} trials that no other dominates"
    return "no result yet"


def _values(metrics: dict[str, Any], names: list[str]) -> list[str]:
    return [_number(metrics[name]) if name in metrics else "" for name in names]


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _config(config: dict[str, Any], prefix: str = "") -> str:
    parts = []
    for name, value in config.items():
        if isinstance(value, dict) and value:
            parts.append(_config(value, f"{prefix}{name}/"))
        else:
            parts.append(f"{prefix}{name}={_short(_number(value))}")
    return ", ".join(parts)


def _duration(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0]


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"


def _clean(text: str) -> str:
    """In one line, without what moves a cursor or cannot be sent: a lone half of a character."""
    spaced = (" " if each.isspace() else each for each in text)
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in spaced)


def _escape(text: str) -> str:
    return html.escape(_clean(text))
