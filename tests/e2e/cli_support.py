"""Runs the built `tune` in a directory of its own. Knows no command."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor

TUNE = os.environ["TUNE"]
TOY = os.environ["TOY_TRAINABLE"]
CLIENT = [sys.executable, os.environ["MINIMAL_CLIENT"]]
TROUBLED = [sys.executable, os.path.join(os.path.dirname(__file__), "troubled_trainable.py")]

#: Nothing here takes longer; a driver that hangs must not hang the tests.
LIMIT_S = 240


def commands_in(text: str) -> list[str]:
    """The commands that `tune --help` has listed in its groups."""
    listed = text.split("\n\n", 2)[2].split("\nExit codes")[0]
    return re.findall(r"^  ([a-z]+) ", listed, re.M)


class Case(unittest.TestCase):
    """A test in an empty working directory."""

    maxDiff = None

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="tune-e2e-")
        self.addCleanup(scratch.cleanup)
        self.dir = os.path.realpath(scratch.name)

    def path(self, *parts):
        return os.path.join(self.dir, *parts)

    def write(self, name, content):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return name

    def read(self, *parts):
        with open(self.path(*parts), encoding="utf-8") as file:
            return file.read()

    def tune(self, *arguments, expect=0, under=(), **environment):
        """The finished process; its exit code must be `expect` (None: any). `under`: the command that runs it."""
        done = subprocess.run([*under, TUNE, *arguments], cwd=self.dir, capture_output=True,
                              timeout=LIMIT_S, check=False, env={**os.environ, **environment})
        done.out, done.err = done.stdout.decode(), done.stderr.decode()
        if expect is not None:
            self.assertEqual(done.returncode, expect,
                             f"tune {' '.join(arguments)}\n{done.out}\n{done.err}")
        return done

    def json(self, *arguments, expect=0):
        return json.loads(self.tune(*arguments, "--json", expect=expect).out)

    def lines(self, *arguments, expect=0):
        """What it prints where that is a JSON value a line."""
        return [json.loads(line) for line in self.tune(*arguments, expect=expect).out.splitlines()]

    def refused(self, *arguments, expect=2):
        """The one sentence that is all that it says."""
        done = self.tune(*arguments, expect=expect)
        self.assertEqual(done.out, "")
        self.assertEqual(len(done.err.splitlines()), 1, done.err)
        return done.err.strip()

    def take_snapshot(self, directory):
        """Moves the journal of one that has ended to history.jsonl. While a search runs, how fast it and its disk are
        decides when that is done."""
        self.tune("resume", directory, "--set", "snapshot_period_s=12345", "--progress", "none")

    def quadratic(self, **fields):
        """A spec of trials that always end well."""
        spec = {
            "trainable": {"command": CLIENT},
            "param_space": {"lr": {"loguniform": [1e-3, 0.4]}, "iterations": 6},
            "metric": "loss", "mode": "min", "num_samples": 4,
            "checkpoint_config": {"checkpoint_frequency": 2, "num_to_keep": 2,
                                  "checkpoint_score_attribute": "loss",
                                  "checkpoint_score_order": "min"},
        }
        spec.update(fields)
        return spec

    def iterations_in_log(self, directory, trial):
        lines = self.read(directory, trial, "result.json").splitlines()
        return [json.loads(line)["training_iteration"] for line in lines]


class LookingCase(Case):
    """Tests that only look at what `make` has made, once for all of them."""

    @classmethod
    def setUpClass(cls):
        cls.maker = cls("make")
        cls.maker.setUp()
        cls.addClassCleanup(cls.maker.doCleanups)
        cls.maker.make()

    def setUp(self):
        super().setUp()
        if self is not self.maker:
            self.dir = self.maker.dir


def main(at_once=1):
    """Runs the tests of the program's file; for tests that mostly wait, so many at once, each in a process of
    its own. With arguments: those that they name."""
    if at_once == 1 or len(sys.argv) > 1:
        unittest.main(verbosity=2)
    suites = list(unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]))
    names = [test.id().removeprefix("__main__.") for suite in suites for test in suite]
    if not names:
        sys.exit("there are no tests")

    def run(name):
        done = subprocess.run([sys.executable, "-B", sys.argv[0], name], capture_output=True, text=True,
                              timeout=2 * LIMIT_S, check=False)
        print(done.stdout + done.stderr, file=sys.stderr, flush=True)
        return done.returncode == 0

    with ThreadPoolExecutor(at_once) as pool:
        well = list(pool.map(run, names))
    failed = [name for name, is_well in zip(names, well) if not is_well]
    print(f"{len(names)} tests, {len(failed)} failed: {' '.join(failed) or 'none'}", file=sys.stderr)
    sys.exit(1 if failed else 0)
