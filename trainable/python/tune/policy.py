"""Searchers, schedulers and stoppers of one's own: ``"searcher": {"type": "program", "command":
["python3", "-m", "tune.policy", "mine.py:Mine"]}``, or ``tune.Tuner(..., searcher=Mine)``.

Such a program is a process of its own, which the driver starts, asks, and starts again if it dies.
It must answer by what it was told and by ``self.seed`` alone: then a search that goes on after a
crash goes on as if there had been none. It may print.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

from tune import trial as _trial
from tune._driver import Connection, TrialStopped
from tune._hooks import check_hooks

Config = dict[str, Any]


class NothingNow:
    """What a searcher answers that has nothing before a result or an end has come."""


NOTHING_NOW = NothingNow()


class Policy:
    """What all three have: the search, as it was described, in attributes."""

    metric: list[str]  #: names, of one metric or of several
    mode: list[str]  #: for each of them, ``"min"`` or ``"max"``
    seed: int  #: for random numbers
    num_samples: int  #: trials in all; -1: without end
    param_space: dict[str, Any]  #: as in a spec

    def __init__(self, **options: Any) -> None:
        """`options`: what ``setup`` gets, where an object of the class is given to a Tuner. The
        search is run by other objects, in a process of its own."""
        self.options = options

    def setup(self, *_: Any, **options: Any) -> None:
        """Called once, before anything else, with the ``"options"`` beside the command."""

    def on_trial_add(self, trial: int, config: Config) -> None:
        """The trial of this number has this config; a scheduler may give it another one later."""

    def save(self) -> Any:
        """The state, as JSON has it. Without this method of one's own, all that was said is kept,
        and said again: then the state grows with the search."""
        raise NotImplementedError

    def load(self, state: Any) -> None:
        """Goes on from what ``save`` answered."""
        raise NotImplementedError


class Searcher(Policy):
    """Says which config is tried next."""

    def suggest(self, trial: int) -> Config | NothingNow | None:
        """The config of this trial; what it leaves out of the param space is drawn at random.
        ``NOTHING_NOW``: ask again after the next result; None: there will never be another."""
        raise NotImplementedError

    def on_refused(self, trial: int, constraint: str) -> None:
        """What was suggested breaks this constraint; another one is asked for."""

    def on_result(self, trial: int, iteration: int, metrics: dict[str, float | None]) -> None:
        """A result that does not end the trial. `metrics`: those of ``metric``, None for NaN."""

    def on_trial_pause(self, trial: int, iteration: int, metrics: dict[str, float | None]) -> None:
        """A scheduler has paused it, perhaps for good, after this result."""

    def on_trial_end(
        self, trial: int, iteration: int, metrics: dict[str, float | None], how: str
    ) -> None:
        """It has ended with this result (`iteration` 0: without any). `how`: ``"complete"``,
        ``"stopped"`` before its time, ``"failed"``, or ``"lost"``: failed by a fault of the
        machine, which says nothing about its config."""


class Decision:
    """What follows from a result.

    `action`: ``"continue"``, ``"pause"``, ``"stop"``, or ``"exploit"``: then the trial goes on from
    the newest checkpoint of the trial `donor`, with `config`. `checkpoint`: it is saved now.
    `stop`: other trials that are to end, by number. `at_max`, of a ``"stop"``: no trial trains
    longer, so this one is completed; else it counts as pruned.
    """

    def __init__(
        self,
        action: str = "continue",
        *,
        donor: int | None = None,
        config: Config | None = None,
        checkpoint: bool = False,
        stop: list[int] | None = None,
        at_max: bool = False,
    ) -> None:
        self.action = action
        self.donor = donor
        self.config = config
        self.checkpoint = checkpoint
        self.stop = stop or []
        self.at_max = at_max


class Scheduler(Policy):
    """Says which trials go on. It is asked for each result, and all trials wait for the answer."""

    #: While it is asked: the trial has reported this iteration before, and repeats it because it
    #: was restored from a checkpoint.
    again: bool = False

    def on_trial_start(self, trial: int, iteration: int) -> None:
        """It runs, after `iteration` iterations."""

    def on_trial_wait(self, trial: int, state: str) -> None:
        """It does not run, and has not ended: ``"PAUSED"`` or ``"PENDING"``."""

    def on_result(
        self, trial: int, iteration: int, metrics: dict[str, Any]
    ) -> Decision | str | None:
        """What follows: a Decision, its action alone, or None to go on."""
        raise NotImplementedError

    def on_trial_end(self, trial: int, state: str) -> None:
        """``"TERMINATED"`` or ``"ERROR"``."""


class Stopper(Policy):
    """Ends trials, or the whole search."""

    def should_stop(self, trial: int, iteration: int, metrics: dict[str, Any]) -> bool:
        """Whether the trial ends with this result. Asked once for each iteration of a trial: not
        for one that it repeats because it was restored from a checkpoint."""
        raise NotImplementedError

    def should_stop_all(self) -> str | None:
        """Why the search ends; None: it goes on. Asked after each result."""
        return None

    def on_trial_end(self, trial: int, state: str) -> None:
        """``"TERMINATED"`` or ``"ERROR"``."""


class WithOptions:
    """See `with_options`."""

    def __init__(self, kind: type[Policy], options: dict[str, Any]) -> None:
        self.kind = kind
        self.options = options


def with_options(kind: type[Policy], **options: Any) -> WithOptions:
    """`kind`, whose ``setup`` gets these, for a Tuner: ``searcher=with_options(Mine, width=3)``."""
    return WithOptions(kind, options)


#: What each kind is asked, and must answer.
_REQUIRED: dict[type[Policy], str] = {
    Searcher: "suggest",
    Scheduler: "on_result",
    Stopper: "should_stop",
}


def check_policy(kind: type[Policy]) -> None:
    """TypeError: a hook of it does not take what it will be given, is missing, or is none."""
    for base, required in _REQUIRED.items():
        if issubclass(kind, base):
            check_hooks(kind, base, by_name=False, required=required)


def _answer_of(decision: Decision | str | None) -> dict[str, Any]:
    if decision is None:
        return {}
    if isinstance(decision, str):
        return {"action": decision}
    answer: dict[str, Any] = {"action": decision.action}
    if decision.donor is not None:
        answer.update(donor=decision.donor, config=decision.config)
    if decision.checkpoint:
        answer["checkpoint"] = True
    if decision.at_max:
        answer["at_max"] = True
    if decision.stop:
        answer["stop"] = [{"trial": each} for each in decision.stop]
    return answer


class _Host:
    """Takes the driver's messages to a policy, and its answers back."""

    def __init__(self, make: Callable[[], Policy]) -> None:
        self._make = make
        self._saves = False
        self._hello: dict[str, Any] = {}
        self._said: list[dict[str, Any]] = []
        self._policy: Any = None

    def hear(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """The answer; None: it needs none."""
        kind = message["type"]
        if kind == "hello":
            self._hello = message
            self._begin()
            return {}
        if kind == "save":
            return {"state": self._policy.save() if self._saves else self._said}
        if kind == "load":
            self._begin()
            if self._saves:
                self._policy.load(message["state"])
            else:
                for each in message["state"]:
                    self._hear(each)
            return {}
        return self._hear(message)

    def _begin(self) -> None:
        self._said = []
        self._policy = self._make()
        self._saves = type(self._policy).save is not Policy.save
        for name in ("metric", "mode", "seed", "num_samples", "param_space"):
            setattr(self._policy, name, self._hello[name])
        self._policy.setup(**self._hello["options"])

    def _hear(self, message: dict[str, Any]) -> dict[str, Any] | None:
        if not self._saves:
            self._said.append(message)
        kind, trial = message["type"], message["trial"]
        if kind == "add":
            self._policy.on_trial_add(trial, message["config"])
        elif isinstance(self._policy, Searcher):
            return self._searcher(self._policy, kind, trial, message)
        elif kind == "result":
            seen = (trial, message["iteration"], message["metrics"])
            self._policy.again = message.get("again", False)
            if isinstance(self._policy, Stopper):
                metrics = {"time_total_s": message["time_total_s"], **message["metrics"]}
                stop = bool(self._policy.should_stop(trial, message["iteration"], metrics))
                return {"stop": stop, "stop_all": self._policy.should_stop_all()}
            return _answer_of(self._policy.on_result(*seen))
        elif kind == "end":
            self._policy.on_trial_end(trial, message["state"])
        elif kind == "start":
            self._policy.on_trial_start(trial, message["iteration"])
        elif kind == "wait":
            self._policy.on_trial_wait(trial, message["state"])
        return None

    @staticmethod
    def _searcher(
        searcher: Searcher, kind: str, trial: int, message: dict[str, Any]
    ) -> dict[str, Any] | None:
        if kind == "suggest":
            if "refused" in message:
                searcher.on_refused(trial, message["refused"])
            config = searcher.suggest(trial)
            if config is None:
                return {"exhausted": True}
            return {"nothing_now": True} if isinstance(config, NothingNow) else {"config": config}
        seen = (trial, message["iteration"], message["metrics"])
        if kind == "result":
            searcher.on_result(*seen)
        elif kind == "pause":
            searcher.on_trial_pause(*seen)
        elif kind == "end":
            searcher.on_trial_end(*seen, message["how"])
        return None


def _json_default(value: Any) -> Any:
    item = getattr(value, "item", None)  # a number of NumPy
    if callable(item):
        return item()
    raise TypeError(f"a {type(value).__name__} is no JSON: {value!r}")


#: Made once: an encoder with options takes longer to make than to use.
_encode = json.JSONEncoder(default=_json_default).encode


def _maker(found: Any, target: str) -> Callable[[], Policy]:
    """What makes a policy of what `target` names: a class of this module, or what a stop rule of
    ``tune.stopper`` may be."""
    if isinstance(found, type) and issubclass(found, Policy):
        check_policy(found)
        return found
    if isinstance(found, type) or not callable(found):
        raise TypeError(f"{target} is no tune.policy.Searcher, Scheduler or Stopper")
    from tune.stopper import Asked

    return lambda: Asked(found)


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    if "TUNE_SOCKET_FD" not in os.environ:
        print("tune: nobody asks: this program is started by the driver", file=sys.stderr)
        return 2
    connection = Connection.from_environment()
    try:
        # The file that the policy stands in may begin a search, too.
        _trial.is_trial = True
        host = _Host(_maker(_trial.load(arguments[0]), arguments[0]))
        while True:
            asked = connection.receive()
            # Not the policy's business, and so not in what is kept of all that was said.
            number = asked.pop("question", None)
            answer = host.hear(asked)
            if answer is not None:
                numbered = {} if number is None else {"question": number}
                connection.say(_encode({**answer, **numbered}))
    except TrialStopped:
        raise
    except Exception as error:  # noqa: BLE001 (whatever ends the user's code is to be told)
        import traceback

        message = "".join(traceback.format_exception_only(type(error), error)).strip()
        calls = traceback.extract_tb(error.__traceback__)
        own = [call for call in calls if call.filename != __file__] or calls
        where = "".join(traceback.format_list(own[-6:]))
        connection.say(json.dumps({"error": f"{message}\n{where.rstrip()}"}))
        return 1


if __name__ == "__main__":
    # Under its own name, so that there is one copy of its classes.
    from tune.policy import main as run

    sys.exit(run(sys.argv[1:]))
