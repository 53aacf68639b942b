"""Directories of older and newer programs, as they lie in tests/golden (its README says how they
were made): the old ones are read and finished, the newer one is refused.
"""
import json
import os
import shutil
import socket

from cli_support import TROUBLED, Case, main

GOLDEN = os.environ["GOLDEN"]
PLUGIN = os.environ["TORTURE_PLUGIN"]


class Golden(Case):
    def copy(self, name):
        shutil.copytree(os.path.join(GOLDEN, name, "experiment"), self.path("golden"))

    def move_here(self):
        """The trainable lies elsewhere now, and the driver was killed on this host."""
        spec = json.loads(self.read("golden", "experiment.json"))
        spec["trainable"]["command"] = TROUBLED
        self.write("golden/experiment.json", spec)
        lock = json.loads(self.read("golden", "LOCK"))
        # No process started at tick 1: whoever has that pid now is another.
        lock.update(host=socket.gethostname(), start_ticks=1)
        self.write("golden/LOCK", lock)

    def assert_finished(self, states):
        """Each iteration is there once, and all that did not fail came to their end."""
        trials = self.json("ls", "golden")
        self.assertEqual([trial["state"] for trial in trials], states)
        for trial in trials:
            last = 3 if trial["state"] == "ERROR" else 10
            self.assertEqual(self.iterations_in_log("golden", trial["trial_id"]),
                             list(range(1, last + 1)))
        self.tune("checkpoints", "golden", "--verify")


class Format1(Golden):
    STATES = ["TERMINATED", "ERROR", "TERMINATED", "TERMINATED", "RUNNING", "TERMINATED"]

    def setUp(self):
        super().setUp()
        self.copy("format_1")

    def test_is_read_by_every_command_that_looks(self):
        status = self.json("status", "golden")
        self.assertEqual(status["states"]["RUNNING"], 1)
        self.assertEqual((status["sessions"], status["results"], status["events"]), (2, 49, 151))
        self.assertEqual(status["checkpoints"]["committed"], 26)
        self.assertEqual(status["driver"]["host"], "pine")
        trials = self.json("ls", "golden")
        self.assertEqual([trial["state"] for trial in trials], self.STATES)
        self.assertEqual([trial["training_iteration"] for trial in trials], [10, 3, 10, 10, 6, 10])
        self.assertEqual([trial["failures"] for trial in trials], [0, 2, 0, 0, 0, 0])
        self.assertEqual(trials[4]["config"]["trouble"], "kills_driver")
        best = self.json("best", "golden")
        self.assertEqual((best["trial_id"], best["value"]), ("trial_00000", 10))
        checkpoints = self.json("checkpoints", "golden", "--verify")
        self.assertEqual(len(checkpoints), 12)
        for checkpoint in checkpoints:
            self.assertTrue(os.path.isdir(checkpoint["path"]), checkpoint)

    def test_is_finished_by_a_resume(self):
        self.move_here()
        self.tune("resume", "golden", "--strict", "--plugin", PLUGIN, "--progress", "lines",
                  expect=1)  # one trial had failed for good
        self.assert_finished(
            ["TERMINATED" if state == "RUNNING" else state for state in self.STATES])
        self.assertEqual(self.json("status", "golden")["sessions"], 3)
        # Read once more, now that this program has written into it.
        self.tune("resume", "golden", "--strict", "--plugin", PLUGIN, expect=1)


class Format1Snapshot(Golden):
    """Killed between two snapshots, the second of which never came into force."""
    STATES = ["PAUSED", "PENDING", "TERMINATED", "RUNNING", "RUNNING", "TERMINATED"]

    def setUp(self):
        super().setUp()
        self.copy("format_1_snapshot")

    def test_is_read_by_every_command_that_looks(self):
        status = self.json("status", "golden")
        self.assertEqual((status["sessions"], status["results"], status["events"]), (2, 39, 111))
        self.assertEqual(status["checkpoints"]["committed"], 19)
        trials = self.json("ls", "golden")
        self.assertEqual([trial["state"] for trial in trials], self.STATES)
        self.assertEqual([trial["training_iteration"] for trial in trials], [4, 3, 10, 6, 6, 10])
        self.assertEqual([trial["failures"] for trial in trials], [0, 1, 0, 0, 0, 0])
        self.assertEqual(len(self.json("checkpoints", "golden", "--verify")), 12)

    def test_is_finished_by_a_resume(self):
        self.move_here()
        self.tune("resume", "golden", "--strict", "--plugin", PLUGIN, expect=1)
        self.assert_finished(["TERMINATED", "ERROR", *["TERMINATED"] * 4])

    def test_is_read_without_its_newest_snapshot_by_the_one_before(self):
        self.move_here()
        before = self.json("ls", "golden")
        self.assertEqual(self.json("status", "golden")["notices"], [])
        self.write("golden/snapshot-9.json", self.read("golden", "snapshot-9.json")[:-40])
        [notice] = self.json("status", "golden")["notices"]
        self.assertRegex(notice, "snapshot-9.json is damaged.*; generation 8 and the journals since")
        self.assertIn(notice, self.tune("status", "golden").out)
        # A snapshot of that time does not say where a trial ran; the journals do.
        after = [{**trial, "node": None} for trial in self.json("ls", "golden")]
        self.assertEqual(after, [{**trial, "node": None} for trial in before])


class Newer(Golden):
    def test_journal_is_refused_with_both_versions_and_left_as_it_is(self):
        self.assert_refused("newer")

    def test_snapshot_is_refused_with_both_versions_and_left_as_it_is(self):
        self.assert_refused("newer_snapshot")

    def assert_refused(self, name):
        self.copy(name)
        before = self.everything()
        for command in ["status", "ls", "best", "checkpoints", "resume"]:
            with self.subTest(command=command):
                options = ["--plugin", PLUGIN, "--", "true"] if command == "resume" else []
                error = self.tune(command, "golden", *options, expect=2).err
                self.assertRegex(error, r"format 99\b.* up to \d+\b")
                self.assertEqual(self.everything(), before)

    def everything(self):
        return {name: self.read("golden", name) for name in os.listdir(self.path("golden"))}


if __name__ == "__main__":
    main()
