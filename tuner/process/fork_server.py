"""Loads modules once, then becomes one trial after another by forking.

The driver runs this as `python -c`, with a stream socket as descriptor 3 and the modules as
arguments. It speaks of nothing but launches: fork_servers.cpp has the other half. Each trial is
forked twice, so that the driver, which takes in orphans, is its real parent; whoever forks by
clone(CLONE_PARENT) skips the handlers by which numeric libraries survive a fork.
"""

import atexit
import ctypes
import gc
import importlib
import importlib.machinery
import io
import os
import signal
import socket
import struct
import sys
import time
import types
import weakref

CONTROL = 3
TRIAL_SOCKET = 3
PR_SET_PDEATHSIG = 1
SYS_PIDFD_OPEN = 434
CUDA_NOT_INITIALIZED = 3
PATIENCE_S = 10.0
LEAVING_S = 1.0
LAUNCH_VARIABLE = b"TUNE_LAUNCH="


def threads():
    """Those that a fork harms. jemalloc, which comes with pyarrow, sees to its own."""
    count = 0
    for thread in os.listdir("/proc/self/task"):
        try:
            with open("/proc/self/task/%s/comm" % thread, "rb") as name:
                count += name.read() != b"jemalloc_bg_thd\n"
        except OSError:
            pass  # it has just ended
    return count


def cuda_is_in_use():
    with open("/proc/self/maps", "rb") as maps:
        libraries = {line.split(None, 5)[5].strip() for line in maps if b"/libcuda.so" in line}
    for path in libraries:
        status = ctypes.CDLL(os.fsdecode(path)).cuDeviceGetCount(ctypes.byref(ctypes.c_int()))
        if status != CUDA_NOT_INITIALIZED:
            return True
    return False


def leave_import(error, returned):
    """In what a module has forked while it was loaded: it ends here, as it must not serve, too."""
    code = 0
    if error is None:
        returned.send(b"r")
    elif isinstance(error, SystemExit):
        code = code_of(error)
    else:
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def left_by_import(ours):
    """What the other end, which forks inherit and programs do not, tells of the forks of an import.
    Nothing if all of them have ended, or run other programs."""
    ours.settimeout(LEAVING_S)
    try:
        if ours.recv(1):
            return "%s forks while it is imported, and goes on in both processes"
        return None
    except socket.timeout:
        return "%s has forked a process that lives on, and would be no child of the trials"


def preload(names):
    """Why these modules cannot be loaded here; nothing if they are."""
    for name in names:
        ours, theirs = socket.socketpair()
        fault = None
        try:
            importlib.import_module(name)
        except BaseException as error:
            fault = error
        if os.getpid() != SERVER:
            leave_import(fault, theirs)
        theirs.close()
        if fault is not None:
            text = str(fault) or "no reason given"
            return "%s cannot be imported (%s: %s)" % (name, type(fault).__name__, text)
        left = left_by_import(ours)
        ours.close()
        if left is not None:
            return left % name
        # A library that knows of forks ends its threads at the first one.
        empty = os.fork()
        if empty == 0:
            os._exit(0)
        os.waitpid(empty, 0)
        if threads() > 1:
            return "%s has started threads, which a fork does not copy" % name
        if cuda_is_in_use():
            return "%s has begun to use a GPU, which does not survive a fork" % name
    return None


def receive(control):
    """The next launch: its fields and descriptors. Ends the process once there is nobody."""
    size = socket.CMSG_SPACE(4 * struct.calcsize("i"))
    head, ancillary, _, _ = control.recvmsg(4, size)
    descriptors = []
    for _, _, data in ancillary:
        descriptors += struct.unpack("%di" % (len(data) // 4), data[: len(data) // 4 * 4])
    rest = b""
    length = None
    while length is None or len(rest) < length:
        block = control.recv(65536) if head else b""
        if not block:
            os._exit(0)
        rest += block
        if length is None:
            missing = 4 - len(head)
            head, rest = head + rest[:missing], rest[missing:]
            length = struct.unpack("=I", head)[0] if len(head) == 4 else None
    return rest.split(b"\0"), descriptors


def retitle(libc, argv, marks):
    """What /proc says of this process: its own arguments, and whose it is. A driver that looks
    for what a trial has left behind reads the latter."""
    with open("/proc/self/stat", "rb") as stat:
        fields = stat.read().rpartition(b")")[2].split()
    with open("/proc/self/environ", "rb") as environ:
        variables = environ.read()
    begin, end, environment = int(fields[45]), int(fields[46]), int(fields[47])
    text = b"\0".join(argv)[: end - begin - 1]
    ctypes.memmove(begin, text + bytes(end - begin - len(text)), end - begin)
    at = variables.find(LAUNCH_VARIABLE)
    if at < 0:
        return
    room = variables.index(b"\0", at) - at
    text = b"\0".join(marks)[: room - 1]
    ctypes.memmove(environment + at, text + bytes(room - len(text)), room)


def reseed():
    """Whatever seeds itself from the system as it is loaded has done so once for all trials."""
    random = sys.modules.get("numpy.random")
    if random is not None:
        random.seed()
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.seed()


def spare_preloaded():
    """What was preloaded is not taken apart as a trial's process ends, which takes longer than to
    fork, and copies its pages. C libraries: whatever is registered after this still runs."""
    for finalizer in list(weakref.finalize._registry):
        finalizer.atexit = False
    libc = ctypes.CDLL(None)
    libc.on_exit(libc._exit, None)
    libc.__cxa_atexit(libc.fflush, None, None)


def flush_files():
    """All that are open, whoever holds them, and whether or not anybody ever lets them go."""
    for kind in (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom):
        for file in gc.get_objects():
            if issubclass(type(file), kind):  # asks nothing of the object
                try:
                    file.flush()
                except Exception:
                    pass  # it is closed, or there is no room


def empty(members, spares):
    """As the interpreter empties a module, private names first."""
    for is_private in (True, False):
        for name in list(members):
            if (name[:1] == "_" and name[1:2] != "_") == is_private:
                if name != "__builtins__" and not issubclass(type(members[name]), spares):
                    members[name] = None


def take_apart():
    """What the trial has made, in an order in which destructors have what they use: first what its
    program holds, then what nobody holds any more, then the rest."""
    code = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type)
    empty(sys.modules["__main__"].__dict__, code)
    for name in ("last_exc", "last_type", "last_value", "last_traceback"):
        if hasattr(sys, name):
            setattr(sys, name, None)
    gc.collect()
    own = []
    for name in list(sys.modules):
        if name not in PRELOADED and isinstance(sys.modules[name], types.ModuleType):
            own.append(weakref.ref(sys.modules[name]))
            del sys.modules[name]
    gc.collect()
    for reference in reversed(own):
        module = reference()
        if module is not None:
            empty(module.__dict__, ())
    gc.collect()


def leave(code):
    """Ends a trial's process as the interpreter does, but takes apart only what the trial has made:
    waits for its threads, runs what it has registered, destroys its objects."""
    if "threading" in sys.modules:
        threading = sys.modules["threading"]
        try:
            threading._shutdown()
        except BaseException:
            sys.excepthook(*sys.exc_info())
        threading.excepthook = lambda _: None  # of daemons, which find their modules empty
    try:
        atexit._run_exitfuncs()
    except BaseException:
        pass  # it has said so itself
    sys.setswitchinterval(1000.0)
    flush_files()
    take_apart()
    flush_files()
    # Without the interpreter's lock, since a library may wait here for a thread that wants it.
    ctypes.CDLL(None).exit(code)


def mark_tuples():
    """Before 3.12 the interpreter prints a tuple that `sys.exit` was given, if nobody has caught
    the exception. To catch it here makes arguments of the tuple: so it is remembered beside."""
    of_interpreter = sys.exit

    def exit(status=None, /):
        try:
            of_interpreter(status)
        except SystemExit as end:
            if isinstance(status, tuple):
                end.given_tuple = status
            raise

    sys.exit = exit


def code_of(end):
    """The exit code of a SystemExit, which may say why instead."""
    given = getattr(end, "given_tuple", None)
    if isinstance(given, tuple):
        print(given, file=sys.stderr)
        return 1
    if end.code is None:
        return 0
    if isinstance(end.code, int):
        return end.code & 0xFF if -(2**63) <= end.code < 2**63 else 255
    print(end.code, file=sys.stderr)
    return 1


def become(control, fields, descriptors):
    """In the grandchild: the trial's process up to its first instruction. Returns its words behind
    the interpreter's."""
    libc = ctypes.CDLL(None)
    gate = socket.socket(fileno=descriptors[0])
    driver, directory, interpreter_words, count = fields[:4]
    argv, variables = fields[4 : 4 + int(count)], fields[4 + int(count) :]
    driver = int(driver)
    until = time.monotonic() + PATIENCE_S
    while os.getppid() != driver:
        if time.monotonic() > until:
            os._exit(127)
        time.sleep(0.0001)
    try:
        os.chdir(directory)
        first = [each for each in variables if each.startswith(LAUNCH_VARIABLE)]
        retitle(
            libc, argv, first + [each for each in variables if each.startswith(b"TUNE_TRIAL_ID=")]
        )
        os.setpgid(0, 0)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        pidfd = (
            os.pidfd_open(os.getpid())
            if hasattr(os, "pidfd_open")
            else libc.syscall(SYS_PIDFD_OPEN, os.getpid(), 0)
        )
        # A driver that has died meanwhile sends no signal.
        if os.getppid() != driver:
            os._exit(127)
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", pidfd))]
        gate.sendmsg([b"pid %d" % os.getpid()], rights)
        # A driver that has waited for too long has started the trial in another way.
        if gate.recv(1) == b"":
            os._exit(127)
    except OSError as error:
        gate.send(b"error " + str(error).encode())
        os._exit(127)
    control.detach()
    for place, descriptor in zip((TRIAL_SOCKET, 1, 2), descriptors[1:]):
        os.dup2(descriptor, place)
        os.close(descriptor)
    gate.close()
    os.close(pidfd)
    os.environb.clear()
    for variable in variables:
        name, _, value = variable.partition(b"=")
        os.environb[name] = value
    reseed()
    gc.enable()
    return [os.fsdecode(word) for word in argv[int(interpreter_words) :]]


def serve(control):
    """Returns in each trial, never in the server."""
    while True:
        fields, descriptors = receive(control)
        gate = socket.socket(fileno=os.dup(descriptors[0]))
        if threads() > 1:
            gate.send(b"refused what was preloaded has started threads, which a fork does not copy")
            os._exit(0)
        try:
            child = os.fork()
            if child == 0:
                if os.fork() != 0:
                    os._exit(0)
                gate.close()
                return become(control, fields, descriptors)
            if os.waitpid(child, 0)[1] != 0:
                gate.send(b"error it cannot fork")
        except OSError as error:
            if os.getpid() != SERVER:
                os._exit(1)
            gate.send(b"error " + str(error).encode())
        gate.close()
        for descriptor in descriptors:
            os.close(descriptor)


def run(words, takes_place):
    """As the interpreter does with these words."""
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = sys.modules["builtins"]
    sys.modules["__main__"] = main
    place = ""
    if words[0] == "-m":
        place = os.getcwd()
        sys.argv = ["-m"] + words[2:]
    elif words[0] == "-c":
        sys.argv = ["-c"] + words[2:]
    else:
        place = os.path.dirname(os.path.realpath(words[0]))
        sys.argv = words
    if takes_place:
        sys.path.insert(0, place)
    if hasattr(sys, "orig_argv"):
        sys.orig_argv = sys.orig_argv[:1] + words
    if words[0] == "-m":
        import runpy

        runpy._run_module_as_main(words[1])
    elif words[0] == "-c":
        exec(compile(words[1], "<string>", "exec", dont_inherit=True), main.__dict__)
    elif os.path.isfile(words[0]) and not words[0].endswith((".zip", ".pyz", ".pyc")):
        path = os.path.abspath(words[0])
        loader = importlib.machinery.SourceFileLoader("__main__", path)
        main.__dict__.update(__file__=path, __loader__=loader, __cached__=None)
        with open(path, "rb") as file:
            source = file.read()
        exec(compile(source, path, "exec", dont_inherit=True), main.__dict__)
    else:
        import runpy

        if takes_place:
            del sys.path[0]
        runpy.run_path(words[0], run_name="__main__")


SERVER = os.getpid()
TAKES_PLACE = sys.path[:1] == [""]
if TAKES_PLACE:
    del sys.path[0]
CONTROL_SOCKET = socket.socket(fileno=CONTROL)
os.set_inheritable(CONTROL, False)
gc.disable()
REASON = preload(sys.argv[1:])
sys.stdout.flush()
sys.stderr.flush()
ctypes.CDLL(None).fflush(None)
if REASON is not None:
    CONTROL_SOCKET.send(b"refused " + REASON.encode("utf-8", "replace"))
    os._exit(1)
if hasattr(gc, "freeze"):
    gc.freeze()
PRELOADED = set(sys.modules) - {"__main__"}
spare_preloaded()
CONTROL_SOCKET.send(b"ready")
WORDS = serve(CONTROL_SOCKET)
if sys.version_info < (3, 12):
    mark_tuples()
CODE = 0
try:
    run(WORDS, TAKES_PLACE)
except SystemExit as end:
    CODE = code_of(end)
except BaseException as error:
    # Without the frames of this file.
    error.__traceback__ = error.__traceback__.tb_next.tb_next
    sys.excepthook(type(error), error, error.__traceback__)
    if isinstance(error, KeyboardInterrupt):
        sys.stdout.flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    CODE = 1
leave(CODE)
