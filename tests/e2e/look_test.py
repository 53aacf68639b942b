"""`tune status`, `ls`, `best`, `checkpoints`: what they show of an experiment with known results."""
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import time

from cli_support import LIMIT_S, TROUBLED, TUNE, Case, LookingCase, main

#: By trial: best of all results, best mean, best last, best mean of the last five, worst of all.
LOSSES = [[0.1, 0.9, 0.8], [0.5, 0.5, 0.5], [0.95, 0.9, 0.2], [1.0] * 5 + [0.3] * 5, ["NaN"]]


class Look(LookingCase):
    def make(self):
        self.write("spec.json", {
            "trainable": {"command": TROUBLED}, "metric": "loss", "mode": "min",
            "param_space": {"case": {"grid_search": [
                {"losses": losses, "lr": lr} for losses, lr in zip(LOSSES, [3, 1, 5, 4, 2])]}},
            "checkpoint_config": {"checkpoint_frequency": 1, "num_to_keep": 2,
                                  "checkpoint_score_attribute": "loss",
                                  "checkpoint_score_order": "min"}})
        self.tune("run", "spec.json", "--progress", "none")

    def ids(self, *options):
        return [int(trial["trial_id"][-5:]) for trial in self.json("ls", "results/spec", *options)]


class Status(Look):
    def test_counts_and_measures(self):
        status = self.json("status", "results/spec")
        self.assertEqual(status["states"], {"PENDING": 0, "RUNNING": 0, "PAUSED": 0,
                                            "TERMINATED": 5, "ERROR": 0})
        self.assertEqual((status["name"], status["trials"], status["sessions"]), ("spec", 5, 1))
        self.assertEqual(status["results"], 20)
        self.assertIsNone(status["driver"])
        self.assertEqual((status["best"]["trial_id"], status["best"]["value"]),
                         ("trial_00000", 0.1))
        journal = os.path.getsize(self.path("results", "spec", "journal-1.jsonl"))
        self.assertEqual(status["state_bytes"], journal)
        saves = status["checkpoints"]
        self.assertEqual(saves["failed"], 0)
        kept = self.json("checkpoints", "results/spec")
        self.assertEqual(saves["kept"], len(kept))
        self.assertGreater(saves["committed"], saves["kept"])
        self.assertGreater(saves["bytes"], 0)
        self.assertGreaterEqual(saves["commit_s_max"], saves["commit_s_mean"])
        self.assertGreater(saves["commit_s_mean"], 0)

    def test_who_has_ended_the_trials_is_said(self):
        self.assertEqual(self.json("status", "results/spec")["ended_by"], {"done": 5})
        self.assertRegex(self.tune("status", "results/spec").out, r"ended by +5 done\n")
        self.assertEqual({trial["ended_by"] for trial in self.json("ls", "results/spec")}, {"done"})
        self.assertIn("  end\n", self.tune("ls", "results/spec").out)
        self.assertEqual(self.json("status", "results/spec")["ends"],
                         {"completed": 5, "pruned": 0, "stopped": 0, "failed": 0})

    def test_is_readable_too(self):
        out = self.tune("status", "results/spec/").out
        self.assertIn("5 completed", out)
        self.assertIn("trial_00000, loss 0.1 at its best (iteration 1), 0.8 at the last iteration, 3", out)
        self.assertNotIn("\033", out)


class List(Look):
    def test_sorts_numbers_with_nan_last_whichever_way(self):
        self.assertEqual(self.ids(), [0, 1, 2, 3, 4])
        self.assertEqual(self.ids("--sort", "loss"), [2, 3, 1, 0, 4])
        self.assertEqual(self.ids("--sort", "loss", "--desc"), [0, 1, 3, 2, 4])
        self.assertEqual(self.ids("--sort", "case.lr"), [1, 4, 0, 3, 2])
        self.assertEqual(self.ids("--sort", "half/count", "--desc", "--limit", "1"), [3])

    def test_filters_by_metrics_config_fields_and_state(self):
        self.assertEqual(self.ids("--filter", "loss < 0.6"), [1, 2, 3])
        self.assertEqual(self.ids("--filter", "loss < 0.6 && config.case.lr > 1"), [2, 3])
        self.assertEqual(self.ids("--filter", "training_iteration == 10 || half.count < 1"), [3, 4])
        self.assertEqual(self.ids("--filter", "time_total_s < 0"), [])
        self.assertEqual(self.ids("--state", "terminated,error"), [0, 1, 2, 3, 4])
        self.assertEqual(self.ids("--state", "ERROR"), [])

    def test_names_that_do_not_exist_are_refused_with_the_nearest(self):
        for options, expected in [
                (["--columns", "los"], "unknown column 'los', did you mean 'loss'?"),
                (["--sort", "half.cuont"], "did you mean 'half.count'?"),
                (["--filter", "lss > 1"], "did you mean 'loss'?"),
                (["--filter", "loss >"], "--filter: "),
                (["--filter", "half/count < 1"], "--filter: 'half/count' is written half.count in a condition"),
                (["--filter", "state == 1"], "--state"), (["--filter", "note == \"a"], "--filter: "),
                (["--state", "RUNING"], "did you mean 'RUNNING'?"),
                (["--limit", "-1"], "--limit"), (["--json", "--csv"], "--csv")]:
            with self.subTest(options=options):
                self.assertIn(expected, self.tune("ls", "results/spec", *options, expect=2).err)

    def test_shows_the_columns_that_are_asked_for_in_every_form(self):
        options = ["ls", "results/spec", "--columns", "trial_id,note,config.case.lr,loss,error",
                   "--sort", "loss", "--desc"]
        table = [line.split() for line in self.tune(*options).out.splitlines()]
        self.assertEqual(table[0], ["trial_id", "note", "config.case.lr", "loss", "error"])
        self.assertEqual(table[1], ["trial_00000", "after", "3", "3", "0.8"])
        rows = list(csv.DictReader(io.StringIO(self.tune(*options, "--csv").out)))
        self.assertEqual(rows[0], {"trial_id": "trial_00000", "note": "after 3",
                                   "config.case.lr": "3", "loss": "0.8", "error": ""})
        objects = self.json(*options)
        self.assertEqual(objects[0], {"trial_id": "trial_00000", "note": "after 3",
                                      "config.case.lr": 3, "loss": 0.8, "error": ""})
        self.assertEqual(objects[-1]["loss"], "NaN")

    def test_csv_has_everything_unless_told(self):
        rows = list(csv.DictReader(io.StringIO(self.tune("ls", "results/spec", "--csv").out)))
        self.assertEqual(len(rows), 5)
        for column in ["trial_id", "state", "loss", "half/count", "note", "config.case.lr"]:
            self.assertIn(column, rows[0])

    def test_json_is_stable(self):
        trial = self.json("ls", "results/spec")[2]
        self.assertEqual(sorted(trial), ["attempt", "best", "best_iteration", "best_iteration_is_guess", "checkpoint", "config",
                                         "duration_s", "earlier_metrics",
                                         "end", "ended", "ended_by", "error", "experiment", "failures", "gpus",
                                         "iteration_is_guess", "metrics", "node", "notes", "path", "paused_by", "results", "started", "state",
                                         "tags", "time_total_s", "training_iteration", "trial_id", "why"])
        self.assertIsNone(trial["results"])
        self.assertEqual(trial["config"]["case"], {"losses": LOSSES[2], "lr": 5})
        self.assertEqual(trial["metrics"]["half"], {"count": 1.5})
        self.assertEqual((trial["state"], trial["attempt"], trial["failures"], trial["error"]),
                         ("TERMINATED", 1, 0, ""))
        self.assertTrue(os.path.isdir(trial["checkpoint"]))
        self.assertEqual(trial["path"], self.path("results", "spec", "trial_00002"))

    def test_results_are_there_for_programs_that_ask_for_them(self):
        trial = self.json("ls", "results/spec", "--results")[2]
        self.assertEqual(trial["results"], self.json("show", "results/spec", "2", "--results")["results"])
        self.assertEqual([row["loss"] for row in trial["results"]], LOSSES[2])
        for others in ([], ["--csv"], ["--json", "--columns", "loss"], ["--json", "--over", "seed"]):
            self.assertIn("--results is for --json without --columns and --over",
                          self.tune("ls", "results/spec", "--results", *others, expect=2).err)

    def test_a_reader_that_has_seen_enough_is_no_error(self):
        listing = subprocess.Popen([TUNE, "ls", "results/spec"], cwd=self.dir,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        listing.stdout.close()
        error = listing.stderr.read()
        listing.stderr.close()
        self.assertEqual((listing.wait(LIMIT_S), error), (0, b""))

    def test_a_full_disk_below_the_output_is_said(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([TUNE, "ls", "results/spec"], cwd=self.dir, stdout=full,
                                  stderr=subprocess.PIPE, timeout=LIMIT_S, check=False)
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"standard output", done.stderr)


class Best(Look):
    def test_every_scope_has_its_own_best(self):
        for scope, trial, value in [("last", 2, 0.2), ("all", 0, 0.1), ("avg", 1, 0.5),
                                    ("last-5-avg", 3, 0.3), ("last-10-avg", 1, 0.5)]:
            with self.subTest(scope=scope):
                best = self.json("best", "results/spec", "--scope", scope)
                self.assertEqual(best["trial_id"], f"trial_0000{trial}")
                self.assertAlmostEqual(best["value"], value)

    def test_json_says_what_to_use(self):
        best = self.json("best", "results/spec", "--scope", "last")
        self.assertEqual(best["config"]["case"]["lr"], 5)
        self.assertEqual(best["metrics"]["loss"], 0.2)
        self.assertEqual(best["checkpoint"], os.path.join(best["path"], "checkpoint_000003"))
        self.assertEqual([one["score"] for one in best["best_checkpoints"]], [0.2, 0.9])
        self.assertEqual((best["metric"], best["mode"], best["scope"]), ("loss", "min", "last"))

    def test_so_many_are_the_best_ones_best_first(self):
        found = [(one["trial_id"][-1], one["value"]) for one in self.json("best", "results/spec", "-n", "3")]
        self.assertEqual(found, [("0", 0.1), ("2", 0.2), ("3", 0.3)])
        # One that has no number is none of them.
        self.assertEqual(len(self.json("best", "results/spec", "-n", "9")), 4)

    def test_what_the_driver_counts_is_compared_by_its_last_value(self):
        counted = ["--metric", "training_iteration", "--mode", "min"]
        best = self.json("best", "results/spec", *counted)
        self.assertEqual((best["trial_id"], best["value"], best["scope"]), ("trial_00004", 1, "last"))
        self.assertIn("--scope last", self.tune("best", "results/spec", *counted, "--scope", "avg", expect=2).err)
        compared = self.json("compare", "results/spec", "0", "3", *counted)["trials"]
        self.assertEqual([(one["best"], one["last"]) for one in compared], [(None, 3), (None, 10)])

    def test_a_trial_may_be_named_by_its_directory(self):
        for name in ("results/spec/trial_00002", self.path("results/spec/trial_00002/")):
            self.assertEqual(self.json("show", "results/spec", name)["trial_id"], "trial_00002")
        self.tune("show", "results/spec", "elsewhere/trial_00002", expect=2)

    def test_takes_another_metric_and_wants_its_mode(self):
        best = self.json("best", "results/spec", "--metric", "half/count", "--mode", "max")
        self.assertEqual((best["trial_id"], best["value"]), ("trial_00003", 5))
        self.assertEqual(self.json("best", "results/spec", "--metric", "half.count", "--mode",
                                   "max"), best)
        self.assertIn("did you mean", self.tune("best", "results/spec", "--metric", "half/cuont",
                                                "--mode", "max", expect=2).err)
        for options in [["--metric", "count"], ["--metric", "absent", "--mode", "min"],
                        ["--mode", "most"], ["--scope", "lost"]]:
            with self.subTest(options=options):
                self.tune("best", "results/spec", *options, expect=2)


class BestOfAnother(Case):
    def test_that_nothing_is_best_is_said_with_the_reason(self):
        for name, prints, said in (("nan", "echo loss=nan; echo loss=inf", "none: loss is NaN or infinite in all results"),
                                   ("silent", "true", "no result")):
            with self.subTest(name=name):
                self.write(f"{name}.json", {"trainable": {"command": ["sh", "-c", prints], "plain": {}},
                                            "metric": "loss", "mode": "min"})
                run = self.tune("run", f"{name}.json", "--progress", "none", expect=None)
                self.assertRegex(run.out, f"(?m)^best trial +{said}$")
                self.assertRegex(self.tune("status", f"results/{name}").out, f"(?m)^best +{said}$")
                self.assertNotRegex(self.tune("report", f"results/{name}").out, " yet")

    def test_what_only_some_results_report_themselves_is_known_of_all(self):
        self.write("train.py", "for i in range(4): print(f'time_this_iter_s: 7\\nloss: {i}' if i == 1 else f'loss: {i}')")
        self.write("spec.json", {
            "trainable": {"command": [sys.executable, "train.py"], "plain": {"metrics": ["time_this_iter_s"]}},
            "metric": "loss", "mode": "min"})
        self.tune("run", "spec.json", "--progress", "none")
        rows = [row["time_this_iter_s"] for row in map(json.loads, self.read("results/spec/trial_00000/result.json").splitlines())]
        self.assertEqual((len(rows), rows[1]), (4, 7))
        for scope, value in ("last", rows[-1]), ("avg", sum(rows) / 4), ("all", min(rows)):
            best = self.json("best", "results/spec", "--metric", "time_this_iter_s", "--mode", "min", "--scope", scope)
            self.assertAlmostEqual(best["value"], value, msg=scope)

    def test_a_text_of_several_lines_comes_back_from_the_csv_as_it_was(self):
        prompts = ["first\nsecond", "with \"quotes\",\r\nand more", "\n=1+1", "end\r"]
        self.write("spec.json", {"trainable": {"command": ["sh", "-c", "echo loss=1"], "plain": {}}, "metric": "loss", "mode": "min",
                                 "param_space": {"prompt": {"grid_search": prompts}}})
        self.tune("run", "spec.json", "--progress", "none")
        options = ["ls", "results/spec", "--columns", "trial_id,prompt"]
        rows = list(csv.reader(io.StringIO(self.tune(*options, "--csv").out, newline="")))
        self.assertEqual([re.sub(r"^'(?='*[=+\-@\t\r\n])", "", row[1]) for row in rows[1:]], prompts)
        self.assertEqual(len(self.tune(*options).out.splitlines()), 1 + len(prompts))

    def test_a_curve_leaves_out_metrics_that_are_called_as_its_own_columns(self):
        self.write("train.py", "import json\nprint(json.dumps({'loss': 1, 'config/lr': 2, 'as': 3}))")
        self.write("spec.json", {"trainable": {"command": [sys.executable, "train.py", "${args}"], "plain": {}},
                                 "param_space": {"lr": 0.5}, "metric": "loss", "mode": "min"})
        self.tune("run", "spec.json", "--progress", "none")
        done = self.tune("export", "results/spec", "--curves", "-")
        self.assertEqual(done.out.splitlines()[0], "trial_id,config/lr,training_iteration,time_total_s,as,loss")
        self.assertIn("'config/lr' is left out, because a column of another meaning has that name", done.err)
        done = self.tune("export", "results/spec", "--curves", "-", "--lineage")
        self.assertIn("'as' is left out", done.err)

    def test_a_metric_that_the_last_result_lacks_has_the_row_in_which_it_stands(self):
        self.write("train.py", "for i in range(4): print(f'acc: 0.9\\nloss: {4 - i}' if i == 1 else f'loss: {4 - i}')")
        self.write("spec.json", {
            "trainable": {"command": [sys.executable, "train.py"], "plain": {"metrics": ["acc"]}},
            "metric": "loss", "mode": "min"})
        self.tune("run", "spec.json", "--progress", "none")
        best = self.json("best", "results/spec", "--metric", "acc", "--mode", "max")
        self.assertEqual((best["value"], best["best_iteration"]), (0.9, 2))
        self.assertEqual((best["best_metrics"]["acc"], best["best_metrics"]["loss"]), (0.9, 3))


class BestOfEqualOnes(Case):
    def test_the_first_is_the_best_and_of_an_equal_one_with_a_checkpoint_it_is_said(self):
        self.write("spec.json", {
            "trainable": {"command": TROUBLED}, "metric": "loss", "mode": "min",
            "param_space": {"case": {"grid_search": [{"losses": losses} for losses in ([0.1], [0.1, 0.2], [0.1, 0.3])]}},
            "checkpoint_config": {"checkpoint_frequency": 2}})
        run = self.tune("run", "spec.json", "--progress", "none").out
        said = "; trial_00001 is as good and has one"
        for text in (run, self.tune("best", "results/spec").out):
            self.assertRegex(text, f"trial +trial_00000.*\n(.*\n)*checkpoint +none: .*ended at iteration 1{said}\n")
        best, first = self.json("best", "results/spec"), self.json("best", "results/spec", "-n", "2")[0]
        self.assertEqual((best["trial_id"], first), ("trial_00000", best))
        self.assertTrue(best["why_no_checkpoint"].endswith(said), best["why_no_checkpoint"])
        listed = self.json("ls", "results/spec", "--sort", "best", "--limit", "1")[0]
        self.assertEqual(listed["trial_id"], "trial_00000")
        self.assertIn(f"holds experiments and is none: name one of them, {self.path('results/spec')}; tune ls",
                      self.tune("best", self.path("results"), expect=2).err)
        # Every command says so of a project, and `ls` lists what is there.
        for words in (["status"], ["best"], ["stop"], ["resume"], ["checkpoints"]):
            self.assertIn("results holds experiments and is none: name one of them,", self.refused(*words, "."))
            self.assertIn("did you mean", self.refused(*words, "spec"))
        self.assertEqual(self.tune("ls", ".").out, self.tune("ls", "results").out)
        self.assertIn("--sort takes no sign: --sort loss --desc", self.tune("ls", "results/spec", "--sort=-loss", expect=2).err)
        self.assertNotIn("is as good", self.tune("best", "results/spec", "--scope", "last").out)


class BestThatFailed(Case):
    """Its best result is that of iteration 2, and it breaks in iteration 4."""

    def run_with(self, **checkpoint_config):
        """What the run says at its end; checkpoints are ranked by the loss."""
        self.write("spec.json", {
            "trainable": {"command": TROUBLED}, "metric": "loss", "mode": "min",
            "param_space": {"case": {"losses": [0.5, 0.1, 0.9, 0.9]}, "trouble": "exit", "at": 4},
            "checkpoint_config": checkpoint_config})
        return self.tune("run", "spec.json", "--progress", "none", expect=1).out

    def test_its_state_and_the_iteration_of_its_checkpoint_are_said(self):
        out = self.run_with(checkpoint_frequency=3)
        far = r"checkpoint +\S+_000001 \(iteration 3, loss 0.9; the best result is of iteration 2\)\n"
        self.assertIn("best trial    trial_00000, failed\n", out)
        self.assertRegex(out, far)
        self.assertRegex(self.tune("best", "results/spec").out, far)
        self.assertRegex(self.tune("status", "results/spec").out, r"best +trial_00000, failed, loss")
        best = self.json("best", "results/spec")
        self.assertEqual((best["state"], best["best_iteration"], best["checkpoint_iteration"],
                          best["why_no_checkpoint"]), ("ERROR", 2, 3, None))
        status = self.json("status", "results/spec")["best"]
        self.assertEqual((status["state"], status["best_iteration"]), ("ERROR", 2))

    def test_a_checkpoint_of_the_best_result_has_no_remark(self):
        out = self.run_with(checkpoint_frequency=2)
        self.assertRegex(out, r"checkpoint +\S+_000001 \(iteration 2, loss 0.1\)\n")

    def test_without_a_checkpoint_it_is_said_what_would_have_kept_one(self):
        for config, reason in [({}, "neither checkpoint_frequency nor checkpoint_at_end"),
                               ({"checkpoint_frequency": 9}, "checkpoint_frequency is 9"),
                               ({"checkpoint_at_end": True}, "checkpoint_frequency would have")]:
            with self.subTest(config=config):
                shutil.rmtree(self.path("results"), ignore_errors=True)
                self.assertRegex(self.run_with(**config), "checkpoint +none: .*" + reason)
                self.assertRegex(self.tune("best", "results/spec").out, "none: .*" + reason)
                best = self.json("best", "results/spec")
                self.assertIsNone(best["checkpoint_iteration"])
                self.assertIn(reason, best["why_no_checkpoint"])


class Checkpoints(Look):
    def test_lists_what_is_kept_and_verifies_it(self):
        listed = self.json("checkpoints", "results/spec", "--trial", "2", "--verify")
        self.assertEqual([(one["index"], one["training_iteration"], one["score"], one["rank"])
                          for one in listed], [(2, 2, 0.9, 2), (3, 3, 0.2, 1)])
        for one in listed:
            self.assertEqual((one["verified"], one["is_damaged"]), ("ok", False))
            self.assertEqual(one["bytes"], os.path.getsize(os.path.join(one["path"], "count")))
            self.assertGreater(one["commit_s"], 0)
        self.assertEqual([one["triggers"] for one in listed], ["frequency", "frequency"])
        self.assertEqual([one["is_latest"] for one in listed], [False, True])
        self.assertIsNone(self.json("checkpoints", "results/spec", "--trial", "4")[0]["score"])
        self.tune("checkpoints", "results/spec", "--trial", "5", expect=2)

    def test_one_that_is_gone_from_the_disk_is_missing_and_not_here(self):
        checkpoint = self.json("checkpoints", "results/spec", "--trial", "trial_00001")[-1]["path"]
        os.rename(checkpoint, checkpoint + ".away")
        try:
            listed = self.json("checkpoints", "results/spec", "--trial", "trial_00001")
            self.assertEqual({one["path"]: one["where"] for one in listed}[checkpoint], "missing")
            self.assertRegex(self.tune("checkpoints", "results/spec").out, r"(?m)^trial_00001 .* missing$")
            self.assertIn(", missing: it is neither here", self.tune("show", "results/spec", "1").out)
            self.tune("checkpoints", "results/spec", "--verify", expect=3)
        finally:
            os.rename(checkpoint + ".away", checkpoint)

    def test_damage_is_found_and_is_exit_code_3(self):
        checkpoint = self.json("checkpoints", "results/spec", "--trial", "trial_00001")[-1]["path"]
        count = os.path.join(checkpoint, "count")
        with open(count, "r+b") as file:
            good = file.read()
            file.seek(0)
            file.write(b"9")
        try:
            out = self.tune("checkpoints", "results/spec", "--verify", expect=3).out
            damaged = [line for line in out.splitlines() if not line.endswith(" ok")][1:]
            self.assertEqual(len(damaged), 1)
            self.assertIn("count", damaged[0])
            self.tune("checkpoints", "results/spec")
        finally:
            with open(count, "wb") as file:
                file.write(good)



class Show(Look):
    def test_all_about_one_trial_is_on_one_page(self):
        out = self.tune("show", "results/spec", "3").out
        for line in (r"trial +trial_00003 of spec\n", r"state +TERMINATED, completed, by done\n", r"iteration +10, ",
                     r"config +case.losses = \[1.0,1.0,", r" +case.lr = 4\n",
                     r"metrics +loss = 0.3  \(from 0.3 to 1, 10 values\)\n",
                     "\u2588\u2588\u2588\u2588\u2588\u2581\u2581\u2581\u2581\u2581\n",
                     r"checkpoints +checkpoint_0000\d\d, iteration \d+, .*, score 0.3\n"):
            self.assertRegex(out, line)

    def test_no_number_is_no_block(self):
        self.assertIn("no number", self.tune("show", "results/spec", "trial_00004").out)

    def test_programs_get_the_whole_curve(self):
        shown = self.json("show", "results/spec", "0")
        self.assertEqual(shown["metrics"]["loss"]["curve"], LOSSES[0])
        self.assertEqual((shown["state"], shown["ended_by"]), ("TERMINATED", "done"))
        self.assertEqual(len(shown["checkpoints"]), 2)

    def test_a_trial_that_is_not_there_is_refused(self):
        self.assertIn("there is no trial '9'", self.refused("show", "results/spec", "9"))

    def test_a_folder_of_experiments_is_a_csv_too(self):
        listed, = self.json("ls", "results")
        row, = csv.DictReader(io.StringIO(self.tune("ls", "results", "--csv").out))
        self.assertEqual(list(row), ["experiment", "directory", "trials", "pending", "running", "paused", "ended", "failed",
                                     "metric", "best", "started", "driver", "problem"])
        for name in set(row) - {"started"}:
            self.assertEqual(row[name], "" if listed[name] is None else str(listed[name]), name)
        self.assertRegex(row["started"], r"^\d{4}-\d\d-\d\dT")

    def test_a_folder_of_experiments_is_listed(self):
        listed, = self.json("ls", "results")
        self.assertEqual((listed["experiment"], listed["trials"], listed["ended"], listed["best"]),
                         ("spec", 5, 5, 0.1))
        self.assertRegex(self.tune("ls", "results").out, r"spec +5 +0 +0 +0 +5 +0 +loss +0.1 ")
        self.assertIn("holds experiments and is none", self.refused("ls", "results", "--sort", "loss"))

    def test_hyperparameters_have_columns_and_texts_can_be_asked_for(self):
        header = self.tune("ls", "results/spec").out.splitlines()[0].split()
        self.assertEqual(header, ["trial_id", "state", "training_iteration", "loss", "best",
                                  "case.losses", "case.lr", "end"])
        self.assertEqual(self.ids("--filter", 'ended_by == "done" && case.lr < 3'), [1, 4])
        self.assertEqual(self.ids("--filter", "ended_by != 'done'"), [])
        self.assertEqual(self.ids("--filter", "state == 'TERMINATED' && loss > 0.4"), [0, 1])
        self.assertEqual(self.ids("--filter", "note == 'after 5' || note == 'after 10'"), [3])
        self.assertIn("longer than 4096", self.refused("ls", "results/spec", "--filter",
                                                       "note == '" + "x" * 30000 + "'"))
        self.assertEqual(self.ids("--filter", "not state != 'TERMINATED' and loss > 0.4 or loss == 1e9"), [0, 1])
        for condition, sentence in (("loss in 1", "there is no 'in'"),
                                    ("note == after", "there is no 'after' to compare with; a text stands in quotes"),
                                    ("note == after && loss < 1", 'note == "after"')):
            self.assertIn(sentence, self.refused("ls", "results/spec", "--filter", condition))
        for wrong in ("note == 'a' and loss <", "1 + note == 'a'", "2 % note == 'a'",
                      "text_comparison_0 == 1 && note == 'a'"):
            self.assertIn(f"--filter: '{wrong}' is no condition: it wants numbers, and a text",
                          self.refused("ls", "results/spec", "--filter", wrong))
        self.assertIn("a state is a text", self.refused("ls", "results/spec", "--filter", "state > 2"))


class Untrusted(LookingCase):
    """Of files that trials and people can write to, what is read takes little memory, and none stops what looks."""

    def make(self):
        self.write("spec.json", {
            "trainable": {"command": TROUBLED}, "metric": "loss", "mode": "min",
            "param_space": {"case": {"losses": [0.5, 0.1, 0.3]}}})
        self.tune("run", "spec.json", "--progress", "none")

    def looked(self, *arguments, expect=0):
        """In 2 GiB of address space."""
        return self.tune(*arguments, expect=expect, under=("sh", "-c", 'ulimit -v 2000000; exec "$@"', "sh"))

    def test_a_line_of_gigabytes_among_the_results_is_left_out_with_a_notice(self):
        rows = self.path("results", "spec", "trial_00000", "result.json")
        before = self.read(rows)
        self.addCleanup(self.write, rows, before)
        os.truncate(rows, 3 << 30)  # a hole, read as zeros, behind what there is
        for command in (["show", "results/spec", "0"], ["status", "results/spec"], ["best", "results/spec"],
                        ["ls", "results/spec", "--columns", "best_iteration"]):
            done = self.looked(*command)
            self.assertIn("1 line of more than 16 MiB", done.out + done.err, command)
        self.assertEqual(self.json("show", "results/spec", "0")["metrics"]["loss"]["curve"], [0.5, 0.1, 0.3])

    def test_what_a_killed_driver_has_not_written_of_the_rows_is_in_the_record(self):
        rows = self.path("results", "spec", "trial_00000", "result.json")
        before = self.read(rows)
        self.addCleanup(self.write, rows, before)
        self.write(rows, before.splitlines(keepends=True)[0])
        self.assertEqual(self.json("best", "results/spec")["best_iteration"], 2)
        last = self.json("best", "results/spec", "--over-time")["improvements"][-1]
        self.assertEqual((last["trial_id"], last["training_iteration"]), ("trial_00000", 2))
        self.assertEqual(self.json("show", "results/spec", "0")["metrics"]["loss"]["curve"], [0.5, 0.1, 0.3])

    def test_results_that_are_nowhere_any_more_are_missed_wherever_rows_are_shown(self):
        self.write("gone.json", {
            "trainable": {"command": TROUBLED}, "metric": "loss", "mode": "min", "max_concurrent_trials": 1,
            "param_space": {"case": {"grid_search": [{"losses": [0.5, 0.1, 0.3]}, {"losses": [0.4] * 40}]}}})
        self.tune("run", "gone.json", "--progress", "none")
        self.take_snapshot("results/gone")
        os.remove(self.path("results", "gone", "history.jsonl"))
        os.remove(self.path("results", "gone", "trial_00000", "result.json"))
        for command in (["show", "results/gone", "0"], ["show", "results/gone", "0", "--json"], ["best", "results/gone"],
                        ["ls", "results/gone", "--columns", "best_iteration"], ["compare", "results/gone", "0", "1"]):
            self.assertIn("2 results of trial_00000 are nowhere any more", self.tune(*command).err, command)

    def test_notes_that_are_none_are_a_notice_and_for_a_new_one_a_sentence(self):
        place = self.path("results", "spec", "notes.jsonl")

        def remove():
            os.rmdir(place) if os.path.isdir(place) else os.unlink(place)

        for make in (os.mkfifo, os.mkdir, lambda path: (open(path, "w").close(), os.truncate(path, 1 << 34))):
            make(place)
            for command in (["ls", "results/spec"], ["show", "results/spec", "0"], ["best", "results/spec"]):
                done = self.looked(*command)
                self.assertIn("trial_00000", done.out)
                self.assertEqual(done.err.count("notice: "), 1)
                self.assertIn("notes.jsonl", done.err)
            self.assertIn("notes.jsonl", self.refused("note", "results/spec", "0", "so", expect=3))
            remove()
        self.addCleanup(remove)
        self.write(place, '{"notes":1}\nnonsense\n{"t":1,"trial":0,"note":"good"}\n{"t":1,"tri')
        self.assertIn("2 lines that are no notes", self.tune("ls", "results/spec").err)
        self.tune("note", "results/spec", "0", "more")
        self.assertEqual([note["text"] for note in self.json("show", "results/spec", "0")["notes"]], ["good", "more"])


class Sentences(Look):
    def test_what_is_wrong_on_the_command_line_is_one_short_sentence(self):
        for arguments, sentence in (
                (["ls", "results/spec", "--state", "pruned"], "--state: pruned is no state but an end: --filter 'end"),
                (["best", "results/spec", "--metric", "nodes", "--mode", "min"], "unknown metric 'nodes'"),
                (["best", "results/spec", "--metric", "case.lr", "--mode", "min"],
                 "'case.lr' is a hyperparameter, and no metric that the program reports: tune ls"),
                (["best", "results/spec", "--metric", "duration_s", "--mode", "min"], " --sort duration_s sorts the trials by it"),
                (["note", "results/spec", "0", "\udcff"], "the note is not UTF-8"),
                (["note", "results/spec", "0", "x" * 20000], "the note has 20000 bytes, at most 10000"),
                (["note", "results/spec", "0", "--tag", "a,b", "--untag", "b"], "the tag 'b' is in --tag and in --untag"),
                (["validate", "spec.json", "-p", "lr=1", "-p", "lr=2"], "-p lr is given twice"),
                (["validate", "spec.json", "-p", "sgd.lr=1", "-p", "sgd=2"], "-p sgd and -p sgd.lr cannot both be given"),
                (["validate", "spec.json", "-p", "sgd=2", "-p", "sgd.lr=1"], "-p sgd and -p sgd.lr cannot both be given"),
                (["validate", "spec.json", "--set", "seed=1", "--set", "seed=2"], "--set seed is given twice"),
                (["validate", "spec.json", "--stop", "loss=1,loss=2"], "--stop has loss twice")):
            with self.subTest(arguments=arguments):
                self.assertIn(sentence, self.refused(*arguments))
        self.assertNotIn("'node'", self.refused("best", "results/spec", "--metric", "nodes", "--mode", "min"))

    def test_what_is_repeated_of_the_command_line_is_short(self):
        much = "x" * 100_000
        for arguments in (["ls", "results/spec", "--columns", much], ["ls", "results/spec", "--state", much],
                          ["ls", "results/spec", "--limit", much], ["ls", "results/spec", "--filter", much + " == 1"],
                          ["show", "results/spec", much], ["best", "results/spec", "--metric", much, "--mode", "min"],
                          ["note", "results/spec", "0", "--tag", much], [much], ["ls", "--" + much],
                          ["validate", "spec.json", "-p", much], ["validate", "spec.json", "--searcher", much],
                          ["validate", "spec.json", "--num-samples", much]):
            with self.subTest(arguments=[word[:20] for word in arguments]):
                self.assertLess(len(self.tune(*arguments, expect=2).err), 1500)


class Ties(LookingCase):
    def make(self):
        self.write("spec.json", {
            "trainable": {"command": TROUBLED}, "metric": "loss", "mode": "min",
            "param_space": {"case": {"grid_search": [{"losses": [0.2, 0.3], "lr": 1}, {"losses": [0.2], "lr": 2}]}}})
        self.tune("run", "spec.json", "--progress", "none", "--name", "wide")
        self.tune("suggest", "results/told", "--spec", "spec.json", "-n", "2")
        for trial in ("1", "0"):
            self.tune("tell", "results/told", trial, "--value", "0.2")

    def test_the_last_moment_is_that_of_the_trial_that_is_best(self):
        for name in ("told", "wide"):
            best = self.json("best", f"results/{name}")
            last = self.json("best", f"results/{name}", "--over-time")["improvements"][-1]
            self.assertEqual((last["trial_id"], last["training_iteration"]),
                             (best["trial_id"], best["best_iteration"]))
        self.assertEqual(self.json("best", "results/told")["trial_id"], "trial_00000")

    def test_groups_have_the_columns_that_are_asked_for(self):
        over = ["ls", "results/wide", "--over", "case.lr"]
        self.assertEqual(self.tune(*over, "--columns", "mean,case.losses").out.splitlines()[0].split(),
                         ["mean", "case.losses"])
        self.assertEqual([sorted(row) for row in self.json(*over, "--columns", "n,mean")], [["mean", "n"]] * 2)
        self.assertIn("unknown column 'men', did you mean 'mean'?", self.refused(*over, "--columns", "men"))

    def test_a_folder_tells_how_many_wait(self):
        self.assertEqual({row["pending"] for row in self.json("ls", "results")}, {0})
        self.assertIn("pending", self.tune("ls", "results").out.splitlines()[0])


class Folder(Case):
    def test_what_cannot_be_looked_into_hides_nothing_else(self):
        self.write("spec.json", {"trainable": {"command": TROUBLED}, "metric": "loss", "mode": "min",
                                 "param_space": {"case": {"losses": [1]}}})
        self.tune("run", "spec.json", "--progress", "none")
        os.makedirs(self.path("results/odd"))
        os.symlink("CURRENT", self.path("results/odd/CURRENT"))
        rows = {row["experiment"]: row for row in self.json("ls", "results")}
        self.assertEqual(rows["spec"]["trials"], 1)
        self.assertIn("cannot open", rows["odd"]["problem"])
        table = self.tune("ls", "results").out.splitlines()
        self.assertTrue(table[0].endswith("driver  cannot be read"), table)
        self.assertEqual([("cannot open" in line[table[0].index("cannot"):]) for line in table[1:]],
                         [line.startswith("odd") for line in table[1:]])
        shutil.rmtree(self.path("results/odd"))
        self.assertTrue(self.tune("ls", "results").out.splitlines()[0].endswith("driver"))

    def test_a_lock_that_cannot_be_read_comes_with_advice(self):
        self.write("spec.json", {"trainable": {"command": TROUBLED}, "metric": "loss", "mode": "min",
                                 "param_space": {"case": {"losses": [1]}}})
        self.tune("run", "spec.json", "--progress", "none")
        os.makedirs(self.path("results/spec/LOCK"))
        self.assertIn("if no driver runs there, remove it", self.tune("resume", "results/spec", expect=None).err)


class Logs(Case):
    def test_a_log_is_followed_until_its_trial_has_ended(self):
        self.write("noisy.sh", "printf 'one\\n'; printf 'wrong\\n' >&2; exec \"$@\"\n")
        self.write("spec.json", {
            "trainable": {"command": ["sh", "noisy.sh", *TROUBLED]}, "metric": "loss", "mode": "min",
            "param_space": {"case": {"losses": [1, 2, 3], "sleep_s": 0.4}}})
        run = subprocess.Popen([TUNE, "run", "spec.json", "--progress", "none"], cwd=self.dir)
        self.addCleanup(run.wait, LIMIT_S)
        log = self.path("results/spec/trial_00000/stdout.log")
        while not os.path.exists(log):
            time.sleep(0.02)
        self.assertEqual(self.tune("logs", "results/spec", "0", "--follow").out, "one\n")
        self.assertEqual(self.json("ls", "results/spec")[0]["state"], "TERMINATED")
        self.assertEqual(self.tune("logs", "results/spec", "0", "--stderr").out, "wrong\n")


if __name__ == "__main__":
    main()
