"""Event files as TensorBoard reads them: the real one where it can be installed, in both of its loaders,
and a reader of the bare format everywhere.
"""
import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import unittest

import event_records
from cli_support import LIMIT_S, TOY, TROUBLED, TUNE, Case, main

VERSION = "2.21.0"
INSTALL_LIMIT_S = 300


def install():
    """The Python that has TensorBoard, from a virtual environment that is kept; SkipTest with the reason if
    there is no way to get it."""
    place = pathlib.Path(os.environ["TENSORBOARD_VENV"])
    place.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{place}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run beside each other
        return install_at(place)


def install_at(place):
    python, done = place / "bin" / "python", place / f"has-{VERSION}"
    if done.exists():
        return python
    shutil.rmtree(place, ignore_errors=True)
    for command in ([sys.executable, "-m", "venv", place],
                    [python, "-m", "pip", "install", "--quiet", "--retries", "1", "--timeout", "10",
                     f"tensorboard=={VERSION}"],
                    # The data server is not built for every machine.
                    [python, "-c", "from tensorboard.data.server_ingester import get_server_binary;"
                     "get_server_binary()"]):
        try:
            made = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_LIMIT_S,
                                  check=False)
        except subprocess.TimeoutExpired:
            raise unittest.SkipTest(f"TensorBoard {VERSION} cannot be installed in time") from None
        if made.returncode != 0:
            said = (made.stderr.strip() or made.stdout.strip() or "no reason said").splitlines()[-1]
            raise unittest.SkipTest(f"TensorBoard {VERSION} cannot be installed: {said}")
    done.touch()
    return python


class BoardCase(Case):
    def results_of(self, directory):
        """{trial: rows of its result.json}"""
        return {trial.name: [json.loads(line)
                             for line in (trial / "result.json").read_text().splitlines()]
                for trial in sorted(pathlib.Path(self.path(directory)).glob("trial_*"))}

    def points_of(self, directory, tag):
        """{trial: [(step, value)]} as the bare format has them."""
        return {trial.name: [(step, values[tag])
                             for step, values in event_records.scalars_of(trial)]
                for trial in sorted(pathlib.Path(self.path(directory)).glob("trial_*"))}

    def expected_points(self, directory, tag):
        return {trial: [(row["training_iteration"], event_records.as_float(row[tag]))
                        for row in rows]
                for trial, rows in self.results_of(directory).items()}

    def write_population(self, name):
        """A population that exploits every four iterations, as the example ships it."""
        spec = json.loads((pathlib.Path(os.environ["EXAMPLES"]) / "pbt_toy/pbt.json").read_text())
        spec.update(name=name, storage_path=self.dir, stop={"training_iteration": 80},
                    trainable={"command": [os.environ["PBT_TOY"]]})
        self.write(f"{name}.json", spec)

    def kill_at(self, words, name, exploits):
        """Starts a driver, and kills it as soon as the experiment has so many exploits."""
        driver = subprocess.Popen([TUNE, *words, "--progress", "none"], cwd=self.dir,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(driver.wait)
        self.addCleanup(driver.kill)
        journal = pathlib.Path(self.path(name, "journal-1.jsonl"))
        deadline = time.monotonic() + LIMIT_S
        while not journal.exists() or journal.read_text().count('"e":"exploit"') < exploits:
            self.assertIsNone(driver.poll(), "the driver ended too early")
            self.assertLess(time.monotonic(), deadline)
        driver.kill()
        driver.wait()

    def tear(self, name):
        """What a write leaves that was cut short by the machine."""
        for trial in pathlib.Path(self.path(name)).glob("trial_*"):
            for file in sorted(trial.glob("*tfevents*"))[-1:]:
                with open(file, "ab") as newest:
                    newest.write(file.read_bytes()[:17])

    def run_and_kill(self, between=lambda: None):
        """A population whose driver is killed four times; `between` is called while none runs."""
        self.write_population("killed")
        self.kill_at(["run", "killed.json"], "killed", 2)
        between()
        self.tear("killed")
        for exploits in (5, 9, 14):
            self.kill_at(["resume", "killed"], "killed", exploits)
            between()
        self.tune("resume", "killed", "--progress", "none")
        between()


class Files(BoardCase):
    def test_have_each_point_once_however_often_the_driver_is_killed(self):
        self.run_and_kill()
        for tag in ("q", "t0"):
            self.assertEqual(self.points_of("killed", tag), self.expected_points("killed", tag))

    def test_are_not_written_where_they_are_switched_off(self):
        for name, callbacks, there in (("on", [], True),
                                       ("off", [{"type": "tensorboard", "enabled": False}], False)):
            self.write(f"{name}.json", self.quadratic(callbacks=callbacks, num_samples=1))
            self.tune("run", f"{name}.json", "--progress", "none")
            found = list(pathlib.Path(self.path("results", name)).glob("*/*tfevents*"))
            self.assertEqual(bool(found), there)
            self.assertEqual(len(self.results_of(f"results/{name}")["trial_00000"]), 6)


class TensorBoard(BoardCase):
    @classmethod
    def setUpClass(cls):
        cls.python = install()

    def open_board(self, directory):
        """A reader that stays open. `look` asks it."""
        os.makedirs(self.path(directory), exist_ok=True)
        log = open(self.path("board.log"), "w", encoding="utf-8")
        self.addCleanup(log.close)
        self.board = subprocess.Popen(
            [self.python, os.path.join(os.path.dirname(__file__), "tensorboard_reader.py"),
             self.path(directory)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        self.addCleanup(self.board.stdout.close)
        self.addCleanup(self.board.wait)
        self.addCleanup(self.board.stdin.close)

    def look(self):
        """{"fresh python": what it sees, ...}"""
        self.board.stdin.write("\n")
        self.board.stdin.flush()
        answer = self.board.stdout.readline()
        if not answer:
            self.fail(self.read("board.log"))
        return {f"{state} {loader}": seen for state, loaders in json.loads(answer).items()
                for loader, seen in loaders.items()}

    def assert_shows_results(self, views, directory, tags):
        results = self.results_of(directory)
        for view, seen in views.items():
            for trial, rows in results.items():
                for tag in tags:
                    with self.subTest(view=view, trial=trial, tag=tag):
                        self.assertEqual(
                            seen["scalars"][trial][tag],
                            [[row["training_iteration"],
                              str(event_records.as_float(float(row[tag]))), row["timestamp"]]
                             for row in rows])

    def test_shows_each_trial_as_a_run_with_its_config(self):
        self.write("spec.json", self.quadratic(
            param_space={"lr": {"loguniform": [1e-3, 0.4]}, "iterations": 6,
                         "net": {"act": {"choice": ["relu", "tanh"]}, "bias": True, "off": None},
                         "widths": [8, 8]}))
        self.tune("run", "spec.json", "--progress", "none")
        self.open_board("results/spec")
        views = self.look()
        self.assert_shows_results(views, "results/spec", ("loss", "w"))
        for view, seen in views.items():
            self.assertEqual(len(seen["sessions"]), 4, view)
            for trial in self.json("ls", "results/spec"):
                config = trial["config"]
                self.assertEqual(seen["sessions"][trial["trial_id"]], {
                    "hparams": {"lr": config["lr"], "iterations": 6.0,
                                "net.act": config["net"]["act"], "net.bias": True,
                                "widths": "[8,8]"},
                    "status": "STATUS_SUCCESS", "metrics": ["loss", "w"]}, view)

    def test_shows_no_point_twice_however_often_the_driver_is_killed(self):
        views = []
        self.open_board("killed")
        self.run_and_kill(lambda: views.append(self.look()))
        for seen in views:
            for view in ("fresh python", "fresh server"):
                for run, tags in seen[view]["scalars"].items():
                    for tag, points in tags.items():
                        steps = [step for step, _, _ in points]
                        self.assertEqual(steps, sorted(set(steps)), (view, run, tag))
        self.assert_shows_results(views[-1], "killed", ("q", "t0"))
        for view in ("fresh python", "fresh server"):
            for trial in self.json("ls", "killed"):
                self.assertEqual(views[-1][view]["sessions"][trial["trial_id"]]["hparams"],
                                 trial["config"], view)

    def test_shows_numbers_that_are_none(self):
        self.write("spec.json", {
            "trainable": {"command": [TOY, "class"]}, "metric": "count", "mode": "max",
            "param_space": {"report_nan": True, "done_at": 3,
                            "report": {"a": {"b": 1.5}, "c/d": 1e300, "text": "x"}}})
        self.tune("run", "spec.json", "--progress", "none")
        self.open_board("results/spec")
        for view, seen in self.look().items():
            tags = seen["scalars"]["trial_00000"]
            self.assertEqual([[value for _, value, _ in tags[tag]]
                              for tag in ("loss", "nested/bound", "a/b", "c/d")],
                             [["nan"] * 3, ["-inf"] * 3, ["1.5"] * 3, ["inf"] * 3], view)
            self.assertNotIn("text", tags)
            self.assertIn("c/d", seen["sessions"]["trial_00000"]["metrics"])

    def test_shows_how_a_trial_has_ended_also_after_it_was_taken_up_again(self):
        self.write("spec.json", {
            "trainable": {"command": TROUBLED}, "metric": "count", "mode": "max",
            "checkpoint_config": {"checkpoint_frequency": 2},
            "param_space": {"trouble": {"grid_search": ["exits_until_mended", "none"]}, "at": 5,
                            "iterations": 6}})
        self.tune("run", "spec.json", "--progress", "none", expect=1)
        self.open_board("results/spec")
        for view, seen in self.look().items():
            self.assertEqual([seen["sessions"][trial]["status"]
                              for trial in ("trial_00000", "trial_00001")],
                             ["STATUS_FAILURE", "STATUS_SUCCESS"], view)
        self.write("results/spec/mended", "")
        self.tune("resume", "results/spec", "--errored", "--progress", "none")
        views = self.look()
        self.assert_shows_results(views, "results/spec", ("count",))
        for view in ("fresh python", "fresh server"):
            self.assertEqual(views[view]["sessions"]["trial_00000"]["status"], "STATUS_SUCCESS")


if __name__ == "__main__":
    main(at_once=3)
