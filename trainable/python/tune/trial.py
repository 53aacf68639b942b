"""``python3 -m tune.trial [--api class|function] TARGET [OPTIONS]``: one trial's process.

TARGET is ``FILE.py:NAME``, ``MODULE:NAME`` or ``FILE.pkl``. If ``--api`` says what that is, loading
it may take as long as it does: the hello is then said meanwhile.

Started by hand, without a driver, it trains once. ``--help`` behind TARGET names the OPTIONS.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
import threading
import time
from types import GeneratorType, ModuleType
from typing import Any

from tune import _again, _session, trainable
from tune._driver import Connection, TrialStopped, bad_command

#: So long the driver waits for a hello in any case.
_PATIENCE_S = 10.0

#: Set while a trial's program is loaded and runs: a search must not begin in it.
is_trial = False


def load(target: str) -> Any:
    """The function or class that `target` names. ImportError or AttributeError if there is none."""
    found: Any
    if target.endswith(".pkl"):
        import pickle

        moved = os.environ.get("TUNE_EXPERIMENT_DIR", "")  # where the file lies, if it was moved
        if not os.path.exists(target) and moved:
            target = os.path.join(moved, os.path.basename(target))
        with open(target, "rb") as file:
            found = pickle.load(file)
        return getattr(found, "__wrapped_trainable__", found)
    place, _, name = target.rpartition(":")
    if not place:
        raise ImportError(f"'{target}' is neither FILE.py:NAME nor MODULE:NAME")
    module = _load_file(place) if place.endswith(".py") else importlib.import_module(place)
    found = module
    for part in name.split("."):
        found = getattr(found, part)
    return getattr(found, "__wrapped_trainable__", found)


def _load_file(path: str) -> ModuleType:
    """Under the file's own name, not as ``__main__``: what it does for itself is not done here. A
    name that another module has, such as ``tune`` or ``json``, is left to that."""
    path = os.path.abspath(path)
    name = os.path.splitext(os.path.basename(path))[0]
    loaded = sys.modules.get(name)
    if loaded is not None:
        if getattr(loaded, "__file__", None) == path:
            return loaded
        name += "_of_trial"
    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _is_class(target: Any) -> bool:
    return isinstance(target, type) and issubclass(target, trainable.Trainable)


def _hello(connection: Connection, is_class: bool, can_save: bool) -> None:
    if is_class:
        # Only asking shows whether it can be reset: reset_config answers.
        connection.send(
            "hello", protocol=1, api="class", can_reset=True, can_save_at_start=can_save
        )
    else:
        connection.send(
            "hello", protocol=1, api="function", can_reset=False, can_save=True, can_stay=True
        )


def _load_and_greet(connection: Connection, api: str | None, target: str) -> Any:
    """What `target` names. The hello comes after it, so that the driver knows how long a start
    takes, or after a while."""
    lock = threading.Lock()
    greeted = False

    def greet(is_class: bool, can_save: bool = True) -> None:
        nonlocal greeted
        with lock:
            if not greeted:
                greeted = True
                _hello(connection, is_class, can_save)

    late = threading.Timer(_PATIENCE_S, greet, [api == "class"])
    late.daemon = True
    if api is not None:
        late.start()
    try:
        found = load(target)
    finally:
        late.cancel()
    can_save = _is_class(found) and (
        found.save_checkpoint is not trainable.Trainable.save_checkpoint
    )
    greet(_is_class(found) if api is None else api == "class", can_save)
    return found


def _run(connection: Connection, api: str | None, target: str) -> None:
    seeds = _again.Seeds()
    found = _load_and_greet(connection, api, target)
    seeds.on_loaded()
    is_class = _is_class(found)
    if api is not None and is_class != (api == "class"):
        raise TypeError(f"{target} is {'a class' if is_class else 'a function'}, and no {api}")
    if is_class:
        trainable.drive(connection, found)
        return
    if not callable(found):
        raise TypeError(f"{target} is a {type(found).__name__}, and no function")
    command = connection.receive()
    if command["type"] == "stop":
        raise TrialStopped(0)
    traces = _again.Traces(found, seeds)
    while True:
        began = time.monotonic()
        stay = _train_one(connection, found, command, traces, began)
        reason = traces.speak_against(stay == "if_possible", time.monotonic() - began)
        _again.flush()
        if reason is not None:
            connection.send("refused", reason=reason)
            raise TrialStopped(0)
        connection.send("result", done=True, stays=True)
        command = connection.receive()
        if command["type"] == "stop":
            raise TrialStopped(0)
        if command["type"] != "reset":
            bad_command(f"'{command['type']}' came where a reset was due")
        trainable.move_to(command)
        traces.clear()


def _train_one(
    connection: Connection,
    function: Any,
    start: dict[str, Any],
    traces: _again.Traces,
    began: float,
) -> str:
    """Returns only where the process may stay for another trial: on which condition."""
    session = _session.DrivenSession(connection, start)
    _session.set_session(session)
    try:
        session.await_step()
        last = function(start["config"])
        is_over = not isinstance(last, GeneratorType)
        if is_over:
            session.meanwhile = lambda: traces.look_ahead(time.monotonic() - began)
        _session.report_answer(session, last)
        session.finish()
    except TrialStopped as stopped:
        if session.may_stay is None or stopped.code:
            raise
        stopped.__traceback__ = None  # it would hold on to what the function had
        session.forget()
    assert session.may_stay is not None
    return session.may_stay


def main(arguments: list[str]) -> int:
    global is_trial
    api = None
    if len(arguments) == 3 and arguments[0] == "--api":
        api = arguments[1]
        arguments = arguments[2:]
    is_driven = "TUNE_SOCKET_FD" in os.environ
    has_target = bool(arguments) and not arguments[0].startswith("-")
    if (
        not has_target
        or (is_driven and len(arguments) > 1)
        or api not in (None, "class", "function")
    ):
        print(__doc__, file=sys.stderr)
        return 2
    is_trial = True
    if not is_driven:
        from tune import _standalone

        options = _standalone.parse(arguments[1:])
        found = load(arguments[0])
        if _is_class(found):
            _standalone.train_class(found, options)
        else:
            _standalone.train_function(found, options)
        return 0
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    connection = Connection.from_environment()
    own = os.environ.pop("TUNE_ARGV", None)  # not for what the trial starts
    if own is not None:
        sys.argv = json.loads(own)
    try:
        _run(connection, api, arguments[0])
    except TrialStopped:
        raise
    except BaseException as error:  # whatever ends the user's code is to be told
        if isinstance(error, SystemExit) and error.code in (None, 0):
            raise
        import traceback

        traceback.print_exc()
        message = "".join(traceback.format_exception_only(type(error), error)).strip()
        connection.send("error", message=message, trace=traceback.format_exc())
        return 1
    return 0


if __name__ == "__main__":
    # Under its own name, so that there is one copy of what is set here.
    from tune.trial import main as run

    sys.exit(run(sys.argv[1:]))
