"""Compares #include lines with what CMake cannot say of the house (docs/architecture.md).

    check_layers.py [ROOT]     prints each include that is not allowed, exit status 1

Which room sees which is said by its CMakeLists.txt: a wrong include does not compile. Here stands who may use a library
and the system, and which few headers of a room are for others. Sees lines, not what the preprocessor makes of them.
"""
import pathlib
import re
import sys

WIRE = r"trainable/(values|json_levels|protocol)\.h"

# Of a room that is linked, somebody sees less than all: who, of whom, what.
NARROWED = [
    # What a user's program links is large; the driver needs the values and the wire of it.
    (r"tuner/(?!view/)[^/]+/|schedulers/|searchers/|callbacks/", r"trainable/", WIRE),
    (r"apps/examples/", r"(tuner|callbacks|schedulers|searchers)/", r"tuner/tuner\.h"),
    (r"apps/examples/", r"trainable/", r"trainable/(trainable|values|json_levels)\.h"),
    (r"tuner/run/", r"tuner/process/", r"tuner/process/(activity_tracker|interrupts|process_spec)\.h"),
    (r"tuner/(host|remote)/", r"tuner/process/", r"tuner/process/(activity_tracker|helper_process|process_spec)\.h"),
    (r"tuner/plugin\.h", r"tuner/", r"tuner/(base|model|policy|space)/"),
    # It has a library in it, which takes seconds to compile.
    (r"(?!tuner/(model|execution)/[^/]*(/[^/]*)?\.cpp|tuner/model/json_fields\.h)", r"tuner/model/(metrics_dom|json_fields)\.h", r"$^"),
]

# Who may include a library.
LIBRARIES = [
    (r"nlohmann/", r"trainable/values\.h"),
    (r"boost/random/sobol\.hpp", r"searchers/sobol\.cpp"),
    (r"boost/process\.hpp", r"tests/bench/spawn\.cpp"),
    (r"boost/", r"tuner/(process|execution|control|cluster)/|tuner/remote/http\.cpp|apps/dashboard/server/http_server\.cpp"),
    (r"openssl/", r"tuner/(cluster/tls|remote/http)\.cpp"),
    (r"(arpa|netinet)/", r"(tests/remote/http|(tuner|tests)/(process|execution)/reserved_port)[^/]*\.cpp"),
    (r"CLI/", r"apps/.*/cli[^/]*\.cpp"),  # ten seconds of compile time each
    (r"simdjson\.h", r"tuner/(base|model|execution)/.*\.cpp|tuner/model/(metrics_dom|json_fields)\.h"),
    (r"yaml-cpp/", r"apps/tune/sweep_file\.cpp"),
    (r"re2/", r"tuner/(base|model|plain|init_from)/[^/]*\.cpp"),
    (r"xxhash\.h", r"tuner/disk/"),
    (r"ext/pb_ds/", r"schedulers/"),  # part of libstdc++
    (r"Eigen/", r"tuner/math/[^/]*\.cpp|searchers/cma_distribution\.cpp|apps/examples/"),
    (r"LBFGSB?\.h", r"tuner/math/minimize\.cpp"),
    (r"catch2/", r"tests/support/"),
    (r"valijson/", r"tests/"),
]

# Pure rooms see no file, process, thread, clock, or generator of another's: neither in the
# standard library nor in the system's headers, which end in .h. A path as a value is allowed.
PURE = r"tuner/(base|model|policy|math|space)/|schedulers/|searchers/"
IMPURE = (r"(atomic|chrono|c?signal|condition_variable|ctime|filesystem|fstream|future|"
          r"iostream|mutex|random|thread)$|.*\.h$")
PATHS_AS_VALUES = r"tuner/policy/callback\.h|tuner/model/paths\.h"

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def complaint(path, bracket, included):
    """Why the file at `path` may not have this include; None if it may."""
    if bracket == '"':
        if "/" not in included and not included.endswith(".inc") or ".." in included.split("/"):
            return "is not named from the top of the project"
        for who, of_whom, what in NARROWED:
            if re.match(who, path) and re.match(of_whom, included) and not re.match(what, included):
                return "is not for this room"
        return None
    for library, users in LIBRARIES:
        if re.match(library, included):
            return None if re.match(users, path) else f"is a library for {users} only"
    if "/" in included and not included.startswith(("sys/", "linux/")):
        return "is a library that the table does not know"
    if re.match(PURE, path) and re.match(IMPURE, included):
        if included == "filesystem" and re.match(PATHS_AS_VALUES, path):
            return None
        return "is nothing for a pure room"
    return None


def violations(root):
    """All of them below `root`, as lines of text, and how many files were read."""
    found = []
    files = sorted(path for folder in root.iterdir() if folder.name not in ("build", "results")
                   for path in folder.rglob("*") if path.suffix in (".h", ".cpp"))
    for file in files:
        path = file.relative_to(root).as_posix()
        for number, line in enumerate(file.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            why = complaint(path, *match.groups())
            if why:
                found.append(f"{path}:{number}: {match.group(2)} {why}")
    return found, len(files)


if __name__ == "__main__":
    here = pathlib.Path(__file__).resolve().parent.parent
    lines, count = violations(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here)
    print("\n".join(lines) or f"{count} files keep to the table")
    sys.exit(1 if lines or count == 0 else 0)
