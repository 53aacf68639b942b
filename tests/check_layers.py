"""Compares every #include line of the project with the table of the house (docs/architecture.md).

    check_layers.py [ROOT]     prints each include that the table does not allow, exit status 1

Knows nothing of targets, and sees lines, not what the preprocessor makes of them.
"""
import pathlib
import re
import sys

VALUES = r"trainable/(values|json_levels)\.h"
CORE = r"tuner/core/"
MATH = r"tuner/math/"
SPACE = r"tuner/space/"
PLAIN = r"tuner/plain/"
SPEC = r"tuner/spec/"
FILES = r"tuner/files/"
WIRE = r"trainable/(values|json_levels|protocol)\.h"

# Which files of the project a file may include; the first row that fits its path counts.
ROOMS = [
    (r"trainable/", [r"trainable/"]),
    (r"tuner/core/metrics\.cpp", [CORE, VALUES, r"trainable/protocol\.h"]),  # its limit of depth
    (CORE, [CORE, VALUES]),
    (MATH, [MATH, CORE, VALUES]),
    (SPACE, [SPACE, MATH, CORE, VALUES]),
    (PLAIN, [PLAIN, CORE, VALUES]),
    (SPEC, [SPEC, PLAIN, SPACE, CORE, VALUES]),
    (FILES, [FILES, CORE]),
    (r"tuner/store/", [r"tuner/store/", FILES, CORE, VALUES]),
    (r"tuner/exec/", [r"tuner/exec/", PLAIN, r"tuner/store/(liveness|log_limit)\.h", FILES, CORE, WIRE]),
    (r"tuner/host/", [r"tuner/host/", SPACE, CORE, r"tuner/exec/side_program\.h", WIRE]),
    (r"tuner/remote/", [r"tuner/remote/", CORE, FILES, r"tuner/store/", r"tuner/exec/side_program\.h", VALUES]),
    (r"tuner/loop/", [r"tuner/loop/", SPEC, PLAIN, SPACE, CORE, r"tuner/store/",
                      r"tuner/exec/(doings|executor|interrupts)\.h", WIRE]),
    (r"tuner/check/", [r"tuner/check/", r"tuner/loop/(launch|take_in)\.h", SPEC, SPACE, CORE, r"tuner/store/",
                       r"tuner/exec/(adopted|executor|message_parser|process_wide|reserved_port|spawn)\.h", WIRE]),
    (r"tuner/simulation/", [r"tuner/", r"searchers/", r"callbacks/csv_text\.h", VALUES]),
    (r"tuner/plugin\.h", [CORE, SPACE]),
    (r"tuner/version\.(h|cpp)", [r"tuner/version\.h"]),
    (r"tuner/[^/]*$", [r"trainable/", r"tuner/(?!simulation/)", r"schedulers/", r"searchers/",
                       r"callbacks/"]),
    (r"schedulers/", [r"schedulers/", MATH, SPACE, CORE, VALUES]),
    (r"searchers/", [r"searchers/", MATH, SPACE, CORE, VALUES]),
    (r"callbacks/", [r"callbacks/", FILES, MATH, SPACE, CORE, VALUES]),
    (r"apps/examples/", [r"apps/examples/", r"trainable/trainable\.h", VALUES,
                         r"tuner/tuner\.h", r"[^/]*\.inc$"]),
    (r"apps/", [r""]),
    (r"tests/", [r""]),
]

# Who may include a library.
LIBRARIES = [
    (r"nlohmann/", r"trainable/values\.h"),
    (r"boost/random/sobol\.hpp", r"searchers/sobol\.cpp"),
    (r"boost/", r"tuner/exec/"),
    (r"(arpa|netinet)/", r"(tuner|tests)/(remote/http|exec/reserved_port)[^/]*\.cpp"),
    (r"CLI/", r"apps/.*/cli[^/]*\.cpp"),  # ten seconds of compile time each
    (r"simdjson\.h", r"tuner/(core|exec)/[^/]*\.cpp|tuner/core/(metrics_dom|json_fields)\.h"),
    (r"yaml-cpp/", r"apps/tune/sweep_file\.cpp"),
    (r"re2/", r"tuner/(core|plain)/[^/]*\.cpp"),
    (r"xxhash\.h", r"tuner/store/"),
    (r"ext/pb_ds/", r"schedulers/"),  # part of libstdc++
    (r"Eigen/", r"tuner/math/[^/]*\.cpp|searchers/cma_distribution\.cpp|apps/examples/"),
    (r"LBFGSB?\.h", r"tuner/math/minimize\.cpp"),
    (r"catch2/", r"tests/support/"),
    (r"valijson/", r"tests/"),
]

# Pure rooms see no file, process, thread, clock, or generator of another's: neither in the
# standard library nor in the system's headers, which end in .h. A path as a value is allowed.
PURE = r"tuner/(core|math|space)/|schedulers/|searchers/"
IMPURE = (r"(atomic|chrono|c?signal|condition_variable|ctime|filesystem|fstream|future|"
          r"iostream|mutex|random|thread)$|.*\.h$")
PATHS_AS_VALUES = r"tuner/core/callback\.h"

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def complaint(path, bracket, included):
    """Why the file at `path` may not have this include; None if it may."""
    if bracket == '"':
        allowed = next((allowed for room, allowed in ROOMS if re.match(room, path)), None)
        if allowed is None:
            return "is in no room of the table"
        if re.match(r"tuner/core/(metrics_dom|json_fields)\.h", included) and not re.match(
                r"tuner/(core|exec)/[^/]*\.cpp|tuner/core/json_fields\.h", path):
            return "is a header with a library in it"
        return None if any(re.match(a, included) for a in allowed) else "is another room's"
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
