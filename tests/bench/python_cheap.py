"""Cheap trials of a Python function, two at a time: seconds from `python search.py` to its end, beside Optuna with two threads.

    tests/bench/python_cheap.py TUNE [--python PYTHON] [--rounds 3] [--trials 100 1000] [--ms 0 1 10 100] [--imports]
                                [--searcher random] [--longest 20] [--own] [--dir DIR]

All that stand in one row run in turns, in each round. A cell has the median of the seconds, and in brackets of the seconds of
processor time, its own and its children's, which other work on the machine changes less. Rows whose work alone takes longer
than `--longest` seconds are left out. `--imports` has each row again with a file that imports numpy, pandas and scikit-learn, with a
function that does, and with these in `preload` besides. PYTHON needs optuna, and these. The package is compiled beforehand, as pip does it. Nothing is removed before the end: ext4 without
a journal looks at each inode that was freed in the last minutes before it takes another one. `--dir` says where all is written.
"""
import argparse
import compileall
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../trainable/python/tune")
LIBRARIES = "import numpy, pandas, sklearn.linear_model"
PRELOAD = 'preload=["numpy", "pandas", "sklearn.linear_model"], '
#: What stands above the function, in it, and in the Tuner.
IMPORTS = {"": ("", "pass", ""), ", with libraries": (LIBRARIES, "pass", ""),
           ", with libraries in the function": ("", LIBRARIES, ""), ", and preloaded": ("", LIBRARIES, PRELOAD)}
PROCESSES = 2
TUNE = """import time
import tune
{above}
def train(config):
    {within}
    time.sleep({seconds})
    return {{"loss": (config["x"] - 1) ** 2}}

if __name__ == "__main__":
    tune.Tuner(train, {{"x": tune.uniform(0, 3)}}, metric="loss", mode="min", num_samples={trials}, searcher="{searcher}",
               resources={{"cpu": 2}}, run_config=tune.RunConfig(verbose=0), {preload}{fields}).fit().get_best_result()
"""
OPTUNA = """import time
import optuna
{above}
optuna.logging.set_verbosity(optuna.logging.WARNING)

def objective(trial):
    {within}
    time.sleep({seconds})
    return (trial.suggest_float("x", 0, 3) - 1) ** 2

if {journal}:
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend
    storage = JournalStorage(JournalFileBackend("journal.log"))
else:
    storage = None
study = optuna.create_study(sampler=optuna.samplers.{sampler}(), storage=storage)
study.optimize(objective, n_trials={trials}, n_jobs=2)
study.best_params
"""
SAMPLERS = {"random": "RandomSampler", "tpe": "TPESampler"}


def seconds_of(python, script, environment, scratch):
    """From the start of `script` to its end, and of the processor."""
    directory = tempfile.mkdtemp(dir=scratch)
    path = os.path.join(directory, "search.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(script)
    before, began = os.times(), time.perf_counter()
    subprocess.run([python, path], cwd=directory, env=environment, check=True, stdout=subprocess.DEVNULL)
    took, after = time.perf_counter() - began, os.times()
    return took, after.children_user + after.children_system - before.children_user - before.children_system


def scripts_of(parts, has_peer, with_own):
    found = {"one process for several": TUNE.format(fields="", **parts)}
    if with_own:
        found["a process each"] = TUNE.format(fields="reuse_processes=False", **parts)
    if has_peer:
        found["Optuna"] = OPTUNA.format(journal=False, **parts)
        found["Optuna with its journal"] = OPTUNA.format(journal=True, **parts)
    return found


def row(parts, given, environment, has_peer, scratch):
    scripts = scripts_of(parts, has_peer, given.own)
    taken = {how: [] for how in scripts}
    for _ in range(given.rounds):
        for how, script in scripts.items():
            taken[how].append(seconds_of(given.python, script, environment, scratch))
    cells = ["{:.2f} ({:.2f})".format(*map(statistics.median, zip(*each))) for each in taken.values()]
    ideal = parts["trials"] * parts["seconds"] / PROCESSES
    print(f"| {parts['trials']:,} of {1000 * parts['seconds']:g} ms, {parts['searcher']}{parts['imports']} | {ideal:g} | {' | '.join(cells)} |",
          flush=True)


def rows(given, has_libraries):
    for imports, (above, within, preload) in list(IMPORTS.items())[: None if given.imports and has_libraries else 1]:
        for trials in given.trials:
            for milliseconds in given.ms:
                if trials * milliseconds / 1000 / PROCESSES <= given.longest:
                    yield {"trials": trials, "seconds": milliseconds / 1000, "searcher": given.searcher,
                           "sampler": SAMPLERS[given.searcher],
                           "imports": imports, "above": above, "within": within, "preload": preload}


def can(python, what):
    return subprocess.run([python, "-c", what], capture_output=True, check=False).returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tune")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--trials", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--ms", type=float, nargs="+", default=[0, 1, 10, 100])
    parser.add_argument("--searcher", choices=SAMPLERS, default="random")
    parser.add_argument("--imports", action="store_true")
    parser.add_argument("--longest", type=float, default=20)
    parser.add_argument("--dir", help="the system's directory for temporary files if left out")
    parser.add_argument("--own", action="store_true", help="also with a process for each trial")
    given = parser.parse_args()
    has_peer = can(given.python, "import optuna")
    with tempfile.TemporaryDirectory(dir=given.dir) as scratch:
        package = os.path.join(scratch, "package")
        shutil.copytree(PACKAGE, os.path.join(package, "tune"))
        compileall.compile_dir(package, quiet=1)
        environment = {**os.environ, "TUNE_BINARY": os.path.abspath(given.tune), "PYTHONPATH": package}
        names = scripts_of({"above": "", "within": "", "preload": "", "seconds": 0, "trials": 1, "searcher": "", "sampler": ""}, has_peer, given.own)
        print(f"| work | ideal, s | {' | '.join(names)} |\n|{' --- |' * (2 + len(names))}")
        for parts in rows(given, can(given.python, LIBRARIES)):
            row(parts, given, environment, has_peer, scratch)
    print(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors", file=sys.stderr)


if __name__ == "__main__":
    main()
