"""Whether a process that has trained one trial is as good as new, so that it may train another."""

from __future__ import annotations

import atexit
import builtins
import collections
import contextlib
import functools
import gc
import os
import random
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

from tune._given import Bound

#: A start, imports included, that takes less of a trial's time than this share is not worth
#: sparing.
_SHARE = 0.05
#: What may stay in memory beyond what there was after the first trial.
_GROWTH = 1.25
_GROWTH_BYTES = 64 << 20
#: So many values of the user's modules are looked at, and so deep.
_MOST_VALUES = 2000
_DEPTH = 3
#: The seed of a torch that nobody has seeded.
_TORCH_SEED = 67280421310721

#: What acts by itself when it comes, and the limits of a process, by name: named once, as each
#: trial's end looks at them.
_SIGNALS = {
    number: f"the handler of {number.name}"
    for number in (
        signal.SIGINT,
        signal.SIGTERM,
        signal.SIGHUP,
        signal.SIGUSR1,
        signal.SIGUSR2,
        signal.SIGALRM,
        signal.SIGCHLD,
        signal.SIGPIPE,
    )
}
_LIMITS = {
    getattr(resource, name): f"the limit {name}"
    for name in dir(resource)
    if name.startswith("RLIMIT_")
}
for _number in list(_LIMITS):
    try:
        resource.getrlimit(_number)
    except (OSError, ValueError):
        del _LIMITS[_number]  # not every kernel has it

_Restore = Callable[[], object]
#: The module's full name, and what is taken from it.
_Import = tuple[str, tuple[str, ...]]
#: Global name and what leads from it to a value.
_Path = tuple[Any, ...]


class Seeds:
    """Of the random generators that all of a process shares.

    Made before the user's file is loaded. What that has seeded begins each trial as it was then, as
    in a process of its own; any other has new random numbers in each. What the function imports
    seeds once alone: in later trials its import statement puts back what it did.
    """

    def __init__(self) -> None:
        self._start = _marks()
        self._fixed: dict[str, _Restore] = {}
        self._imports: dict[_Import, list[_Restore]] = {}
        self._due: set[_Import] = set()

    def on_loaded(self) -> None:
        """The user's file has been."""
        self._fixed = _seeded_since(self._start)

    def on_import(self, what: _Import, before: dict[str, Any] | None) -> None:
        """The function has imported it; `before`: the marks, None if it was there already."""
        if before is not None:
            seeded = list(_seeded_since(before).values())
            if seeded:
                self._imports[what] = seeded
        elif what in self._due:
            self._due.remove(what)
            for restore in self._imports[what]:
                restore()

    def renew(self) -> None:
        new: dict[str, Callable[[], object]] = {"random": random.seed}
        generator = _numpy_generator()
        if generator is not None:
            new["numpy"] = generator.seed
        if "torch" in sys.modules:
            new["torch"] = sys.modules["torch"].seed
        for name, seed in new.items():
            self._fixed.get(name, seed)()
        self._due = set(self._imports)


class Traces:
    """What a function leaves behind, compared with how things were before its first call.

    What it does to the insides of libraries and of arrays is not seen.
    """

    def __init__(self, function: Any, seeds: Seeds) -> None:
        self._seeds = seeds
        self._start_s = _age_s()
        self._imported_s = 0.0  # by this trial
        self._resident: int | None = None
        self._set: list[str] = []
        self._is_clean = False  # it was just looked, and nothing was found
        self._watch()
        self._time_imports()
        self._freeze()
        self._own = _own_names(function)
        self._modules = {str(names.get("__name__")) for names in self._own}
        self._globals = self._look_at_globals()
        self._threads = set(threading.enumerate())
        files = _descriptors(set())
        self._files = set(files)
        self._has_device = any(_is_device(path) for path in files.values())
        self._acting = _acting()
        self._settings = _settings()

    def speak_against(self, anyway: bool, trained_s: float) -> str | None:
        """Why the process must not be given another trial; empty: it is not worth it; None: it may
        be. `anyway`: what merely stays as the function has set it is meant to."""
        self._start_s += self._imported_s
        trained_s -= self._imported_s
        self._imported_s = 0.0
        if not anyway and self._start_s < _SHARE * trained_s:
            return ""
        if self._is_clean:
            return None
        return self._look(anyway)

    def look_ahead(self, trained_s: float) -> None:
        """The function has returned, and nothing of it is called any more: so what is asked soon
        can be found out while the driver is busy. What is found may be gone by then, and is looked
        for again; where nothing is left, nothing can come."""
        trained_s -= self._imported_s
        if self._start_s + self._imported_s >= _SHARE * trained_s:
            self._is_clean = self._look(anyway=False) is None

    def _look(self, anyway: bool) -> str | None:
        gc.collect()  # what nobody holds is closed
        if len(sys.modules) != self._loaded:
            self._freeze()
        files = _descriptors(self._files)
        reasons = self._what_goes_on(files)
        if not anyway:
            reasons += self._what_is_left(files)
        return reasons[0] if reasons else self._growth()

    def clear(self) -> None:
        """Before the next trial."""
        self._seeds.renew()
        self._set.clear()
        self._is_clean = False

    def _what_goes_on(self, files: dict[int, str]) -> list[str]:
        """What would act in the next trial."""
        threads = [each for each in threading.enumerate() if each not in self._threads]
        reasons = [f"a thread is left running ({each.name})" for each in threads]
        reasons += [f"a process is left running ({pid})" for pid in _children()]
        for number, path in files.items():
            if _is_written(number, path):
                reasons.append(f"a file is left open ({path})")
        return reasons + _changes(self._acting, _acting())

    def _what_is_left(self, files: dict[int, str]) -> list[str]:
        """What the next trial would find otherwise than in a process of its own."""
        reasons = list(self._set)
        if self._has_device or any(_is_device(path) for path in files.values()):
            reasons.append("it holds memory of a GPU")
        reasons += _changes(self._settings, _settings())
        before, after = self._globals, self._look_at_globals()
        changed = [path for path in before if path not in after]
        changed += [p for p in after if p not in before or not _is_same(before[p], after[p])]
        return reasons + [f"it has changed the global '{path[0]}'" for path in changed[:1]]

    def _growth(self) -> str | None:
        if self._resident is None:
            self._resident = _resident_bytes()
        most = _GROWTH * self._resident + _GROWTH_BYTES
        if _most_resident_bytes() <= most:
            return None  # nor is it now
        resident = _resident_bytes()
        if resident <= most:
            return None
        was, now = (each >> 20 for each in (self._resident, resident))
        return f"its memory has grown from {was} to {now} MiB"

    def _look_at_globals(self) -> dict[_Path, Any]:
        found: dict[_Path, Any] = {}
        for number, names in enumerate(self._own):
            for name, value in list(names.items()):
                if not name.startswith("__") and not isinstance(value, ModuleType):
                    _reach((name, number), value, _DEPTH, self._modules, found)
        return found

    def _freeze(self) -> None:
        """Else each look goes through all that was imported."""
        gc.freeze()
        self._loaded = len(sys.modules)

    def _time_imports(self) -> None:
        """What the function imports is loaded for the next trial, so it is a part of the start."""
        changed: Any = builtins
        real = builtins.__import__

        def timed(*arguments: Any, **others: Any) -> Any:
            began = time.monotonic()
            what = _import_of(*arguments, **others)
            before = None if _is_loaded(*what) else _marks()
            changed.__import__ = real  # what is imported imports, too, and is a part of this
            try:
                return real(*arguments, **others)
            finally:
                self._imported_s += time.monotonic() - began
                if builtins.__import__ is real:
                    changed.__import__ = timed
                self._seeds.on_import(what, before)

        changed.__import__ = timed

    def _watch(self) -> None:
        """Notes what the function sets. What an import sets is none of its doing."""

        def noting(real: Callable[..., Any], what: str) -> Callable[..., Any]:
            def note(*arguments: Any, **others: Any) -> Any:
                if not _is_importing():
                    self._set.append(
                        what.format(os.fsdecode(arguments[0])) if "{" in what else what
                    )
                return real(*arguments, **others)

            return note

        changed: Any = os
        changed.putenv = noting(os.putenv, "it has set the environment variable {}")
        changed.unsetenv = noting(os.unsetenv, "it has removed the environment variable {}")
        changed = atexit
        changed.register = noting(atexit.register, "it has left something to the process's end")


def flush() -> None:
    """What was printed goes to where it was meant for, also what C libraries hold back."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # closed, or replaced
            stream.flush()
    if "ctypes" in sys.modules:
        sys.modules["ctypes"].CDLL(None).fflush(None)


def _marks() -> dict[str, Any]:
    """By generator what tells one seed from another; None, or not there: nobody has seeded it."""
    marks: dict[str, Any] = {"random": _key_of(random.getstate())}
    generator = _numpy_generator()
    # Seeded by a number it has no sequence of entropy.
    if generator is not None and generator._bit_generator.seed_seq is None:
        marks["numpy"] = generator.get_state()[1].tobytes()
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "initial_seed") and torch.initial_seed() != _TORCH_SEED:
        marks["torch"] = torch.initial_seed()
    return marks


def _seeded_since(before: dict[str, Any]) -> dict[str, _Restore]:
    """What has been seeded, and how each is put back to where it is now."""
    found: dict[str, _Restore] = {}
    for name, mark in _marks().items():
        if mark == before.get(name):
            continue
        if name == "random":
            found[name] = functools.partial(random.setstate, random.getstate())
        elif name == "numpy":
            generator = _numpy_generator()
            found[name] = functools.partial(generator.set_state, generator.get_state())
        else:
            torch = sys.modules["torch"]
            found[name] = functools.partial(torch.set_rng_state, torch.get_rng_state())
    return found


def _import_of(
    name: str,
    globals: Any = None,
    locals: Any = None,
    fromlist: Any = (),
    level: int = 0,
) -> _Import:
    """With the arguments of ``__import__``, under its own names for them."""
    if level > 0:
        package = str((globals or {}).get("__package__") or "")
        package = ".".join(package.split(".")[: package.count(".") + 2 - level])
        name = f"{package}.{name}" if name else package
    return name, tuple(fromlist or ())


def _is_loaded(name: str, parts: tuple[str, ...]) -> bool:
    module = sys.modules.get(name)
    return module is not None and all(hasattr(module, each) for each in parts)


def _key_of(state: tuple[Any, ...]) -> tuple[Any, ...]:
    """Without the place in it, which each number that is drawn moves on."""
    return tuple(state[1][:-1])


def _numpy_generator() -> Any:
    """That of ``numpy.random.rand`` and the others; None: numpy is not loaded."""
    mtrand = sys.modules.get("numpy.random.mtrand")
    return None if mtrand is None else mtrand._rand


def _age_s() -> float:
    """Of this process."""
    with open("/proc/self/stat", "rb") as file:
        ticks = int(file.read().rpartition(b")")[2].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")


def _resident_bytes() -> int:
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def _most_resident_bytes() -> int:
    """At any time so far: told without a look at files."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _is_importing() -> bool:
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _own_names(function: Any) -> list[dict[str, Any]]:
    """The globals of its module, and of others that are neither of Python nor installed."""
    function = function.function if isinstance(function, Bound) else function
    standard = (os.path.dirname(os.__file__), os.path.dirname(__file__))
    found = []
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None) or ""
        is_installed = not file or file.startswith(standard) or "-packages/" in file
        if isinstance(module, ModuleType) and not is_installed:
            found.append(vars(module))
    names = getattr(function, "__globals__", None)
    if names is not None and not any(each is names for each in found):
        found.append(names)  # what was pickled stands in no module
    return found


def _reach(path: _Path, value: Any, depth: int, own: set[str], found: dict[_Path, Any]) -> None:
    """Puts into `found` what is reached from a global. What is compared later is held, so that no
    other object gets its place in memory."""
    if len(found) >= _MOST_VALUES:
        return
    found[path] = value
    parts: Iterator[tuple[Any, Any]] | None = None
    if isinstance(value, (dict, collections.OrderedDict)):
        parts = iter([((id(key), key), each) for key, each in list(value.items())])
    elif isinstance(value, (list, tuple, collections.deque)):
        parts = enumerate(list(value))
    elif isinstance(value, (set, bytearray)):
        found[(*path, "content")] = _Content(type(value)(value))
    elif isinstance(value, random.Random):
        found[(*path, "state")] = _Content(value.getstate())
    elif type(value).__module__.startswith("numpy.random"):
        generator = getattr(value, "bit_generator", None) or value._bit_generator
        found[(*path, "state")] = _Content(repr(generator.state))
    elif type(value).__module__ == "itertools":
        found[(*path, "state")] = _Content(repr(value))
    elif isinstance(value, FunctionType) or (
        getattr(value, "__module__", None) in own or type(value).__module__ in own
    ):
        parts = iter(list(getattr(value, "__dict__", {}).items()))
    if parts is not None and depth > 0:
        for name, each in parts:
            _reach((*path, name), each, depth - 1, own, found)


class _Content:
    """Of something that changes in its place."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _is_same(before: Any, after: Any) -> bool:
    if isinstance(before, _Content) and isinstance(after, _Content):
        return bool(before.value == after.value)
    return before is after or (type(before) is type(after) is int and before == after)


def _children() -> list[str]:
    """Processes of this one that run."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return []  # as nearly always, and told without a look at files
    found = []
    for task in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError):  # not every kernel tells
            with open(f"/proc/self/task/{task}/children", encoding="ascii") as file:
                found += file.read().split()
    return [pid for pid in found if not _is_dead(pid)]


def _is_dead(pid: str) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] == b"Z"
    except OSError:
        return True


def _descriptors(known: set[int]) -> dict[int, str]:
    """What is open beside these, by number."""
    found = {}
    for number in {int(name) for name in os.listdir("/proc/self/fd")} - known:
        with contextlib.suppress(OSError):
            found[number] = os.readlink(f"/proc/self/fd/{number}")
    return found


def _is_written(number: int, path: str) -> bool:
    import fcntl

    if not path.startswith("/") or path.startswith(("/dev/", "/proc/")) or " (deleted)" in path:
        return False
    try:
        return fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
    except OSError:
        return False


def _is_device(path: str) -> bool:
    """A GPU that is in use; the control device alone is none."""
    name = path.rpartition("/")[2]
    nvidia = name.startswith("nvidia") and name != "nvidiactl"
    return path.startswith("/dev/") and (nvidia or name == "kfd" or name.startswith("render"))


def _acting() -> dict[str, Any]:
    """What does something by itself."""
    found: dict[str, Any] = {what: signal.getsignal(number) for number, what in _SIGNALS.items()}
    found["a timer"] = signal.getitimer(signal.ITIMER_REAL)[0] > 0
    return found


def _settings() -> dict[str, Any]:
    umask = os.umask(0)
    os.umask(umask)
    found = {
        "sys.path": list(sys.path),
        "sys.stdout": sys.stdout,
        "sys.stderr": sys.stderr,
        "the umask": umask,
        "the priority": os.getpriority(os.PRIO_PROCESS, 0),
        "the processors": os.sched_getaffinity(0),
        "the collector": gc.isenabled(),
        "the limit of recursion": sys.getrecursionlimit(),
    }
    for number, what in _LIMITS.items():
        found[what] = resource.getrlimit(number)
    # Of a library that only the function loads, what it is without being told.
    torch = sys.modules.get("torch")
    found["torch's settings"] = (
        ("torch.float32", True, False)
        if torch is None
        else (
            str(torch.get_default_dtype()),
            torch.is_grad_enabled(),
            torch.are_deterministic_algorithms_enabled(),
        )
    )
    numpy = sys.modules.get("numpy")
    default = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}
    found["numpy's handling of errors"] = default if numpy is None else numpy.geterr()
    return found


def _changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return [f"it has changed {name}" for name in before if before[name] != after.get(name)]
