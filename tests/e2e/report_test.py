"""`tune report`: the sentences, and a page whose data are those of the other commands."""
from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
import shutil
import subprocess
import sys
from typing import Any

from cli_support import TUNE, Case, main

#: Markup, the end of a script, what turns the direction of writing, a name that objects have already.
HOSTILE = '</script><img src=x onerror="alert(1)">\u202egnp.exe'


def report_in(page: str) -> dict[str, Any]:
    found = re.findall(r'<script type="application/json" id="report">(.*?)</script>', page, re.DOTALL)
    assert len(found) == 1, "the data end where the element ends"
    return json.loads(found[0])


def values_of(trials: dict[str, Any], name: str) -> list[Any]:
    [column] = [each for each in trials["columns"] if each["name"] == name]
    return column["values"] if "values" in column else [column["words"][at] for at in column["at"]]


class Report(Case):
    def page_of(self, *directories: str) -> dict[str, Any]:
        self.tune("report", *directories, "--html", "report.html")
        return report_in(self.read("report.html"))

    def simulated(self, trials: int, scheduler: str) -> str:
        """An experiment of so many trials, in virtual time."""
        lines = ["trial_id,config/lr,config/act,training_iteration,time_total_s,loss"]
        for trial in range(trials):
            lr = 10 ** -(1 + 3 * ((trial * 0.618) % 1))
            for t in range(1, 10):
                lines.append(f"{trial},{lr},{'relu' if trial % 3 else 'tanh'},{t},{t},{abs(lr - 0.01) + 1 / t + (trial % 7) / 100}")
        self.write("curves.csv", "\n".join(lines) + "\n")
        self.write("spec.json", {"trainable": {"command": ["true"]}, "name": "sweep", "metric": "loss", "mode": "min", "num_samples": trials, "searcher": "random",
                                 "param_space": {"lr": {"loguniform": [1e-4, 0.1]}, "act": {"choice": ["relu", "tanh"]}}})
        self.tune("simulate", "spec.json", "--curves", "curves.csv", "--scheduler", scheduler, "--workers", "4", "--dir", "simulated")
        return "simulated/" + min(os.listdir(self.path("simulated")))

    def test_the_data_of_the_page_are_those_of_the_other_commands(self) -> None:
        directory = self.simulated(40, "asha")
        [experiment] = self.page_of(directory)["experiments"]
        status = self.json("status", directory)
        for name in ("trials", "states", "ends", "best", "rungs", "results", "checkpoints", "running_s"):
            self.assertEqual(experiment["status"][name], status[name], name)
        listed = self.json("ls", directory)
        for name in ("trial_id", "state", "end", "ended_by", "why", "best", "best_iteration", "training_iteration", "time_total_s", "started", "ended", "node", "failures"):
            self.assertEqual(values_of(experiment["trials"], name), [trial[name] for trial in listed], name)
        for name in ("lr", "act"):
            self.assertEqual(values_of(experiment["trials"], f"config.{name}"), [trial["config"][name] for trial in listed])
        self.assertEqual(values_of(experiment["trials"], "loss"), [trial["metrics"]["loss"] for trial in listed])
        self.assertEqual(experiment["over_time"], self.json("best", directory, "--over-time"))
        importance = self.json("importance", directory, "--slice", "lr")
        [of_lr] = [each for each in experiment["slices"] if each["name"] == "lr"]
        self.assertEqual(of_lr, importance["slice"])
        self.assertEqual(experiment["importance"], {**importance, "slice": None})
        for curve in experiment["curves"]["trials"]:
            own = self.json("show", directory, str(curve["trial"]))["metrics"]["loss"]["curve"] if curve["trial"] < 4 else None
            if own is not None:
                self.assertEqual(curve["last"], own)

    def test_a_notebook_shows_the_page_in_a_frame_that_cannot_reach_it(self) -> None:
        directory = self.simulated(12, "asha")
        cell = subprocess.run([sys.executable, "-c", "import sys, tune\nreport = tune.ResultGrid(sys.argv[1]).report()\n"
                               "report.save('report.html')\nprint(report._repr_html_(), end='')", directory],
                              cwd=self.dir, capture_output=True, text=True, check=True,
                              env={**os.environ, "TUNE_BINARY": TUNE, "PYTHONPATH": os.environ["PYTHON_PACKAGE"]}).stdout
        page = self.read("report.html")
        self.assertEqual(len(report_in(page)["experiments"]), 1)
        found = re.fullmatch(r'<iframe srcdoc="([^"]*)" sandbox="allow-scripts" [^<>]*></iframe>', cell)
        assert found
        self.assertEqual(html.unescape(found[1]), page)

    def test_whole_numbers_keep_their_digits(self) -> None:
        losses = [2**60 + 1, 2**60, 2**60 + 2]
        self.write("big.py", f"for epoch, loss in enumerate({losses}, 1): print(f'epoch {{epoch}} loss={{loss}}', flush=True)\n")
        self.write("spec.json", {"trainable": {"command": [sys.executable, self.path("big.py")], "plain": {}}, "name": "big", "metric": "loss", "mode": "min"})
        self.tune("run", "spec.json")
        [experiment] = self.page_of("results/big")["experiments"]
        self.assertEqual([experiment["curves"]["trials"][0]["last"], values_of(experiment["trials"], "best"), values_of(experiment["trials"], "loss")], [losses, [2**60], losses[-1:]])
        self.assertEqual(experiment["over_time"]["improvements"][-1]["value"], 2**60)

    def test_the_curve_of_a_clone_is_what_its_model_went_through(self) -> None:
        """Gradient descent from 0 to 3: what a model is follows from its schedule alone."""
        self.write("spec.json", self.quadratic(
            name="population", param_space={"lr": {"loguniform": [1e-4, 0.1]}}, num_samples=4, stop={"training_iteration": 12},
            max_concurrent_trials=2, resources={"cpu": 2}, checkpoint_config={"num_to_keep": 1},
            scheduler={"type": "pbt", "time_attr": "training_iteration", "perturbation_interval": 3, "synch": True, "quantile_fraction": 0.5,
                       "hyperparam_mutations": {"lr": {"loguniform": [1e-4, 0.1]}}}))
        self.tune("run", "spec.json")
        [experiment] = self.page_of("results/population")["experiments"]
        self.assertEqual(experiment["lineage"], self.json("lineage", "results/population"))
        clones = 0
        for curve in experiment["curves"]["trials"]:
            steps = self.json("lineage", "results/population", "--trial", str(curve["trial"]))["schedule"]["steps"]
            clones += curve["since"] > 0
            self.assertEqual(curve["iterations"], list(range(1, 13)))
            w, losses = 0.0, []
            for step in steps:
                for _ in range(step["from"], step["to"]):
                    w -= step["config"]["lr"] * 2.0 * (w - 3.0)
                    losses.append((w - 3.0) ** 2)
            for a, b in zip(curve["last"], losses):
                self.assertAlmostEqual(a, b, places=4)
        self.assertGreater(clones, 0)

    def test_sentences_come_without_a_page_and_as_json(self) -> None:
        directory = self.simulated(12, "fifo")
        first = self.tune("report", directory).out.splitlines()[0]
        self.assertTrue(first.startswith("sweep: 12 trials by random search over act, lr"), first)
        answer = self.json("report", directory)
        self.assertEqual([answer["file"], answer["bytes"], len(answer["experiments"])], [None, None, 1])
        self.assertEqual(answer["experiments"][0]["sentence"], first)
        written = self.json("report", directory, "--html", "page.html")
        self.assertEqual([written["file"], written["bytes"]], [self.path("page.html"), os.path.getsize(self.path("page.html"))])

    def test_a_search_that_tries_all_values_is_called_a_grid_search(self) -> None:
        self.write("train.py", "print('loss: 1.5')\n")
        sentences = {}
        for name, other in (("all", []), ("both", ["-p", "y=uniform:0,1"])):
            self.tune("run", "train.py", "--name", name, "--metric", "loss", "--mode", "min", "-p", "x=grid_search:1,2", *other)
            [experiment] = self.json("report", f"results/{name}")["experiments"]
            sentences[name] = experiment["sentence"]
        self.assertTrue(sentences["all"].startswith("all: 2 trials by grid search over x"), sentences)
        self.assertTrue(sentences["both"].startswith("both: 2 trials by random search over x, y"), sentences)

    def test_a_program_that_seems_to_ignore_its_config_is_found_as_the_run_says(self) -> None:
        self.write("deaf.py", "import sys\nlast = 0.3 if '--lr=4' in sys.argv and '--is_deaf=0' in sys.argv else 0.4\n"
                              "for loss in (0.9, 0.5, last):\n    print('loss:', loss)\n")
        for is_deaf in (1, 0):
            name = f"deaf{is_deaf}"
            run = self.tune("run", "deaf.py", "--name", name, "-p", "lr=grid_search:1,2,3,4", "--metric", "loss", "--mode", "min",
                            "--max-concurrent-trials", "1", "--progress", "none", "--", f"--is_deaf={is_deaf}")
            self.assertIn("the program seems to ignore its config", run.err)
            found = [each for each in self.json("report", f"results/{name}")["experiments"][0]["findings"]
                     if each["kind"] == "config"]
            # What came after the notice has proved that it hears.
            self.assertEqual([each["trials"] for each in found], [["trial_00000", "trial_00001", "trial_00002"]] * is_deaf)
            if is_deaf:
                self.assertIn(found[0]["sentence"], run.err)
                self.assertIn(found[0]["sentence"], self.tune("report", f"results/{name}").out)

    def test_a_page_is_replaced_and_another_file_is_not(self) -> None:
        directory = self.simulated(4, "fifo")
        self.page_of(directory)
        self.page_of(directory)
        self.write("thesis.html", "<!doctype html>mine")
        self.assertIn("is no report", self.refused("report", directory, "--html", "thesis.html"))
        self.assertEqual(self.read("thesis.html"), "<!doctype html>mine")
        self.assertEqual(report_in(self.tune("report", directory, "--html", "-").out)["format"], 1)

    def test_the_page_runs_its_own_script_and_loads_nothing(self) -> None:
        directory = self.simulated(4, "fifo")
        self.page_of(directory)
        page = self.read("report.html")
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
        self.assertTrue(policy.startswith("default-src 'none'"), policy)
        for tag in ("script", "style"):
            [text] = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            self.assertIn(f"{tag}-src 'sha256-{digest}'", policy)
        markup = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", page, flags=re.DOTALL)
        self.assertNotRegex(markup, r"https?:|src=|@import")

    def test_names_and_texts_of_trials_cannot_leave_the_data(self) -> None:
        self.write("hostile.py", "import json, sys\n"
                   "hostile = json.load(open(sys.argv[1]))\n"
                   "print(hostile, file=sys.stderr)\n"
                   "sys.exit(hostile[:200])\n")
        self.write("words.json", json.dumps(HOSTILE))
        self.write("spec.json", {"trainable": {"command": [sys.executable, self.path("hostile.py"), self.path("words.json"), "${args}"], "plain": {}},
                                 "name": "hostile", "metric": HOSTILE[:40], "mode": "min", "num_samples": 2,
                                 "param_space": {HOSTILE: {"uniform": [0, 1]}, "__proto__": {"choice": [HOSTILE, "b"]}}})
        done = self.tune("run", "spec.json", expect=None)
        directory = "results/hostile"
        self.assertTrue(os.path.isdir(self.path(directory)), done.err)
        [experiment] = self.page_of(directory)["experiments"]
        self.assertIn(HOSTILE, [each["name"].removeprefix("config.") for each in experiment["domains"]])
        self.assertIn(HOSTILE, "".join(log["text"] for log in experiment["logs"]))
        self.assertIn("failures", [each["kind"] for each in experiment["findings"]])
        # Nothing of it is markup: the page has the tags that it has without any data.
        page = self.read("report.html")
        self.assertNotIn("<img", page.split('id="report">')[1].split("</script>")[0])

    def test_what_cannot_be_read_is_a_sentence(self) -> None:
        self.assertIn("no experiment", self.refused("report", "nowhere"))
        directory = self.simulated(4, "fifo")
        report = self.page_of(directory, "nowhere")
        self.assertEqual([bool(each["problem"]) for each in report["experiments"]], [False, True])
        # The journal ends in the middle of a line, as after a crash.
        journal = self.path(directory, "journal-1.jsonl")
        with open(journal, "r+b") as file:
            file.truncate(os.path.getsize(journal) - 20)
        self.page_of(directory)
        shutil.rmtree(self.path(directory))
        self.refused("report", directory)

    def test_a_folder_stands_for_its_experiments(self) -> None:
        self.simulated(4, "fifo,asha")
        self.assertEqual(len(self.page_of("simulated")["experiments"]), 2)


if __name__ == "__main__":
    main()
