"""`tune plot`: pictures by gnuplot, whose numbers are those of the report."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import unittest

from cli_support import TUNE, Case, main

#: Ends a text of gnuplot's, would run a program, is markup.
HOSTILE = "a'b`touch ran`$(touch ran)<b>&\"_^{x}@y"
METRIC = "it's`touch ran`"
PICTURES = ("curves", "best", "parallel", "importance", "rungs", "timeline")


def blocks_of(script: str) -> dict[str, list[list[float]]]:
    """The rows of each block of numbers."""
    return {name: [[float(cell) for cell in row.split()] for row in rows.splitlines() if row]
            for name, rows in re.findall(r"^\$(\w+) << EOD\n(.*?)^EOD$", script, re.M | re.S)}


class Plot(Case):
    def experiment(self) -> str:
        column = HOSTILE.replace('"', '""')
        rows = [f'trial_id,config/lr,"config/{column}",training_iteration,time_total_s,{METRIC}']
        for trial in range(12):
            for t in range(1, 10):
                rows.append(f"{trial},{10 ** -(1 + trial / 4)},{trial / 12},{t},{t},{1 / t + trial / 100}")
        self.write("curves.csv", "\n".join(rows) + "\n")
        self.write("spec.json", {"trainable": {"command": ["true"]}, "name": "sweep", "metric": METRIC, "mode": "min",
                                 "num_samples": 12, "searcher": "random",
                                 "param_space": {"lr": {"loguniform": [1e-4, 0.1]}, HOSTILE: {"uniform": [0, 1]}}})
        self.tune("simulate", "spec.json", "--curves", "curves.csv", "--scheduler", "asha", "--workers", "2", "--dir", "simulated")
        return "simulated/" + min(os.listdir(self.path("simulated")))

    def script(self, directory: str, picture: str) -> dict[str, list[list[float]]]:
        return blocks_of(self.tune("plot", directory, picture, "--gnuplot", "-").out)

    def test_its_numbers_are_those_of_the_other_commands(self) -> None:
        directory = self.experiment()
        best = self.json("status", directory)["best"]
        listed = self.json("ls", directory)
        curves = self.script(directory, "curves")
        self.assertEqual([row[0] for row in curves["front"]], list(range(1, len(curves["front"]) + 1)))
        self.assertEqual(min(row[1] for row in curves["front"]), best["value"])
        self.assertEqual(sorted(row[0] for row in curves["ends"]), sorted(trial["training_iteration"] for trial in listed))
        over_time = self.json("best", directory, "--over-time")["improvements"]
        self.assertEqual([row[1] for row in self.script(directory, "best")["steps"]][:-1], [each["value"] for each in over_time])
        importance = self.json("importance", directory)["importances"]
        for bar, each in zip(self.script(directory, "importance")["bars"], importance):
            self.assertAlmostEqual(bar[3], 100 * each["importance"])
        rungs = self.script(directory, "rungs")
        judged = sum(rung["reached"] for rung in self.json("status", directory)["rungs"]["rungs"])
        self.assertEqual(len(rungs.get("went_on", [])) + len(rungs.get("ended", [])), judged)
        self.assertEqual(len(self.script(directory, "timeline")["ended"]), len(listed))
        lines = self.script(directory, "parallel")["lines"]
        self.assertEqual(len(lines), 3 * len(listed))
        self.assertTrue(all(0 <= row[1] <= 1 for row in lines))

    def test_the_largest_values_have_a_finite_scale(self) -> None:
        rows = ["trial_id,config/x,training_iteration,time_total_s,loss", *(f"{trial},{trial},{t},{t},{(trial - 2) * 0.7e308}"
                                                                          for trial in range(5) for t in (1, 2, 3))]
        self.write("curves.csv", "\n".join(rows) + "\n")
        self.write("spec.json", {"trainable": {"command": ["true"]}, "name": "huge", "metric": "loss", "mode": "min", "num_samples": 5,
                                 "searcher": "random", "param_space": {"x": {"uniform": [0, 5]}}})
        self.tune("simulate", "spec.json", "--curves", "curves.csv", "--workers", "2", "--dir", "simulated")
        directory = "simulated/" + min(os.listdir(self.path("simulated")))
        script = self.tune("plot", directory, "curves", "--gnuplot", "-").out
        ((low, high),) = [map(float, each) for each in re.findall(r"^set yrange \[(.*):(.*)\]$", script, re.MULTILINE)]
        self.assertTrue(-float("inf") < low <= -1.4e308 and 1.4e308 <= high < float("inf"), (low, high))

    def test_what_cannot_be_drawn_is_said_and_nothing_is_written(self) -> None:
        directory = self.experiment()
        self.assertIn("there are: curves, best", self.tune("plot", directory, "curve", expect=2).err)
        self.assertIn("there is no experiment", self.tune("plot", "nowhere", "curves", expect=2).err)
        self.write("mine.png", "my own")
        self.assertIn("is not overwritten", self.tune("plot", directory, "best", "--png", "mine.png", expect=2).err)
        self.assertEqual(self.read("mine.png"), "my own")
        os.mkdir(self.path("empty"))
        gone = self.tune("plot", directory, "best", "--svg", "new.svg", expect=2, PATH=self.path("empty"))
        self.assertIn("install it", gone.err)
        self.assertFalse(os.path.exists(self.path("new.svg")))

    @unittest.skipUnless(shutil.which("gnuplot"), "gnuplot is not installed")
    def test_gnuplot_draws_each_and_obeys_no_word_of_a_trial(self) -> None:
        directory = self.experiment()
        for picture in PICTURES:
            with self.subTest(picture):
                for _ in range(2):  # a picture replaces one
                    self.assertIn("written to", self.tune("plot", directory, picture, "--svg", "p.svg").out)
                svg = self.read("p.svg")
                if picture != "timeline":  # which has no name of a trial's
                    self.assertIn("touch ran", svg)
                self.assertNotIn("<b>", svg)
                self.tune("plot", directory, picture, "--png", "p.png", "--width", "300", "--height", "200")
                with open(self.path("p.png"), "rb") as file:
                    head = file.read(24)
                self.assertEqual((head[:4], head[16:24]), (b"\x89PNG", (300).to_bytes(4, "big") + (200).to_bytes(4, "big")))
                text = self.tune("plot", directory, picture).out
                self.assertEqual(max(len(line) for line in text.splitlines()), 100)
                self.assertNotIn("\x1b", text)
        self.assertEqual([each for each in os.listdir(self.dir) if each.startswith("ran")], [])

    @unittest.skipUnless(shutil.which("gnuplot"), "gnuplot is not installed")
    def test_the_pictures_of_the_pages_can_be_made_anew(self) -> None:
        pictures = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/pictures")
        os.mkdir(self.path("new"))
        subprocess.run([sys.executable, os.path.join(pictures, "make.py"), TUNE, self.path("new")], check=True, stdout=subprocess.DEVNULL)
        self.assertEqual(sorted(os.listdir(self.path("new"))), sorted(each for each in os.listdir(pictures) if each.endswith(".svg")))


if __name__ == "__main__":
    main()
