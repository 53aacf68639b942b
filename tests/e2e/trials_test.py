"""What `tune ls`, `compare`, `best --over-time`, `note`, `importance` and `export` answer about trials whose results are known."""
import csv
import io
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys

from cli_support import TROUBLED, TUNE, Case, LookingCase, main

#: The second and the third reach 0.2 twice; the last one is the best for a while, and never again.
LOSSES = [[0.5, 0.4, 0.6], [0.7, 0.2, 0.3, 0.2], [0.2, 0.9, 0.2], [0.45, 0.44]]
DATE = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d"


def spec_of(losses, **fields):
    """Trials one after the other, in the order of the list."""
    return {"trainable": {"command": TROUBLED}, "metric": "loss", "mode": "min", "max_concurrent_trials": 1,
            "param_space": {"case": {"grid_search": [
                {"losses": each, "lr": i} for i, each in enumerate(losses)]}, "same": 7},
            "checkpoint_config": {"checkpoint_frequency": 1}, **fields}


class Looking(LookingCase):
    def make(self):
        self.write("spec.json", spec_of(LOSSES, resources={"gpu": 2}, resources_per_trial={"gpu": 1}))
        self.tune("run", "spec.json", "--progress", "none", CUDA_VISIBLE_DEVICES="GPU-4f,GPU-7e")
        self.write("more.json", spec_of([[0.1, 0.3], [0.35, 0.25]]))
        self.tune("run", "more.json", "--progress", "none")

    def ids(self, *options):
        return [int(trial["trial_id"][-5:]) for trial in self.json("ls", "results/spec", *options)]


class Columns(Looking):
    def test_the_best_is_a_column_to_sort_and_filter_by_and_names_the_first_of_equal_ones(self):
        trials = self.json("ls", "results/spec")
        self.assertEqual([(t["best"], t["best_iteration"]) for t in trials],
                         [(0.4, 2), (0.2, 2), (0.2, 1), (0.44, 2)])
        self.assertEqual(self.ids("--sort", "best", "--desc"), [3, 0, 1, 2])
        self.assertEqual(self.ids("--filter", "best < 0.42 && best_iteration == 2"), [0, 1])
        self.assertIn("best", self.tune("ls", "results/spec").out.splitlines()[0])

    def test_names_are_found_as_they_are_written_and_refused_if_they_mean_several(self):
        self.write("nested.py", f"""
import sys
sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})
from line_trainable import serve

class Trial:
    def start(self, config):
        self.lr = config["lr"]

    def step(self):
        return {{"metrics": {{"loss": self.lr, "config": {{"lr": round(self.lr, 1)}},
                             "a b": 1, "a-b": 2, "1st": 5, "pr\u00e9c": 6, "pre\u0301c": 7, "x": {{"y": 3}}, "x.y": 4}}, "done": True}}

serve(Trial())
""")
        self.write("nested.json", {"trainable": {"command": [sys.executable, "nested.py"]}, "metric": "loss", "mode": "min",
                                   "param_space": {"lr": {"grid_search": [0.11, 0.24]}}})
        self.tune("run", "nested.json", "--progress", "none")
        found = self.json("ls", "results/nested", "--columns", "config.lr,metrics.config.lr", "--sort", "config.lr")
        self.assertEqual([list(trial.values()) for trial in found], [[0.11, 0.1], [0.24, 0.2]])
        self.assertEqual(len(self.json("ls", "results/nested", "--filter", "config.lr == 0.24")), 1)
        columns = self.tune("ls", "results/nested", "--columns", "a b,a-b,x/y,x.y", "--limit", "1", "--csv").out
        self.assertEqual([float(value) for value in columns.splitlines()[1].split(",")], [1, 2, 3, 4])
        self.assertEqual(self.json("best", "results/nested", "--metric", "a-b", "--mode", "min")["value"], 2)
        for name, value in (("1st", 5), ("pr\u00e9c", 6), ("pre\u0301c", 7)):
            for condition in (f"{name} == {value} && 1e-1<{name}", f"!({name} != {value})"):
                self.assertEqual(len(self.json("ls", "results/nested", "--filter", condition)), 2, condition)
            self.assertEqual(self.json("ls", "results/nested", "--filter", f'{name} == "x"'), [])
        self.assertIn("name in --filter '2st', did you mean '1st'?", self.refused("ls", "results/nested", "--filter", "2st > 1"))
        self.assertIn("unexpected end", self.refused("ls", "results/nested", "--filter", "1st >"))
        for option in (("--filter", "a_b == 1"), ("--columns", "a_b"), ("--sort", "a_b")):
            self.assertIn("'a_b' means 'a b' and 'a-b', which are written alike", self.refused("ls", "results/nested", *option))
        self.assertIn("'x.y' means 'x/y' and 'x.y'", self.refused("ls", "results/nested", "--filter", "x.y == 4"))
        everything = self.tune("ls", "results/nested", "--csv").out.splitlines()
        self.assertLessEqual({"x/y", "metrics.x.y"}, set(everything[0].split(",")))

    def test_no_command_names_another_best_than_the_others(self):
        best, status = self.json("best", "results/spec"), self.json("status", "results/spec")["best"]
        listed = self.json("ls", "results/spec", "--sort", "best", "--limit", "1")[0]
        compared = self.json("compare", "results/spec", "1", "0")["trials"][0]
        last = self.json("best", "results/spec", "--over-time")["improvements"][-1]
        for each in best, listed, compared, last, status:
            self.assertEqual(each["trial_id"], "trial_00001")
            self.assertEqual(each.get("best", each.get("value")), 0.2)
            self.assertEqual(each.get("best_iteration", each.get("training_iteration")), 2)

    def test_a_checkpoint_that_is_as_good_as_the_best_result_says_so(self):
        self.write("tied.json", spec_of([LOSSES[1]], checkpoint_config={"checkpoint_frequency": 4}))
        self.tune("run", "tied.json", "--progress", "none")
        best = self.tune("best", "results/tied").out
        self.assertIn("(iteration 4, loss 0.2, as good as iteration 2)", best)
        self.assertRegex(best, r'best result +{"count":2,')

    def test_the_checkpoint_of_a_result_that_is_as_good_as_the_best_is_named_whatever_scores_them(self):
        whole = 2**53
        for name, losses, config, said in [
                ("first", [0.7, 0.2, 0.2], {"checkpoint_score_order": "max"}, "(iteration 3, count 3, as good as iteration 2)"),
                ("other", [0.7, 0.2, 0.2], {"checkpoint_score_order": "min"},
                 "(iteration 1, count 1; the best result is of iteration 2, and checkpoint_000003 of iteration 3 is as good)"),
                ("own", [0.7, 0.2], {"checkpoint_score_order": "min"},
                 "(iteration 1, count 1; the best result is of iteration 2, in checkpoint_000002)"),
                ("whole", [whole, whole + 1], {"checkpoint_frequency": 2, "checkpoint_score_attribute": "loss"},
                 f"(iteration 2, loss {whole / 1:g}; the best result is of iteration 1)")]:
            self.write("spec.json", spec_of([losses], name=name, checkpoint_config={
                "checkpoint_frequency": 1, "num_to_keep": 1, "checkpoint_score_attribute": "count", **config}))
            self.tune("run", "spec.json", "--progress", "none")
            with self.subTest(name):
                self.assertIn(said, self.tune("best", f"results/{name}").out)

    def test_what_the_driver_counts_is_a_column_once_where_it_is_the_metric(self):
        for metric, columns in (("time_total_s", ["time_total_s"]), ("training_iteration", [])):
            self.write("spec.json", {"name": metric, "trainable": {"command": TROUBLED}, "metric": [metric, "count"], "mode": ["min", "max"],
                                     "param_space": {"trouble": "none", "iterations": 3}})
            self.tune("run", "spec.json")
            header = self.tune("ls", f"results/{metric}").out.splitlines()[0].split()
            self.assertEqual(header[:4 + len(columns)], ["trial_id", "state", "training_iteration", *columns, "count"])
        for metric in ("timestamp", "date", "trial_id", "done", "iterations_since_restore"):
            refused = self.tune("run", "spec.json", "--set", f'metric=["{metric}","count"]', expect=2)
            self.assertIn("which the driver fills in", refused.err)

    def test_times_are_dates_with_a_zone_for_people_and_numbers_for_programs(self):
        options = ["ls", "results/spec", "--columns", "started,ended,duration_s"]
        self.assertRegex(self.tune(*options).out.splitlines()[1], f"^{DATE}  {DATE} +[0-9.e-]+$")
        row = next(csv.DictReader(io.StringIO(self.tune(*options, "--csv").out)))
        self.assertRegex(row["started"], f"^{DATE}$")
        first = self.json(*options)[0]
        self.assertEqual(first["duration_s"], first["ended"] - first["started"])
        whole = self.json("ls", "results/spec")[0]
        self.assertEqual({name: whole[name] for name in first}, first)
        self.assertEqual(self.ids("--filter", f"started > {first['started']}"), [1, 2, 3])

    def test_gpus_are_named_as_the_trial_was_told_them(self):
        trials = self.json("ls", "results/spec")
        self.assertEqual({t["gpus"] for t in trials}, {"GPU-4f"})
        self.assertEqual({t["node"] for t in trials}, {socket.gethostname()})
        self.assertEqual(self.ids("--filter", 'gpus == "GPU-7e"'), [])
        self.assertEqual([t["gpus"] for t in self.json("ls", "results/more")], [None] * 2)
        self.assertIn("gpus GPU-4f", self.tune("show", "results/spec", "0").out)

    def test_the_trials_of_several_experiments_are_one_table(self):
        both = ["ls", "results/spec", "results/more"]
        rows = self.json(*both, "--sort", "best", "--limit", "3")
        self.assertEqual([(r["experiment"], r["trial_id"]) for r in rows],
                         [("more", "trial_00000"), ("spec", "trial_00001"), ("spec", "trial_00002")])
        self.assertEqual(self.tune(*both).out.split()[0], "experiment")
        self.assertEqual(len(self.json(*both, "--filter", 'experiment == "more"')), 2)

    def test_rows_over_a_seed_are_the_means_of_what_ended_well(self):
        spec = spec_of([])
        spec["param_space"] = {"case": {"grid_search": [{"losses": [1, 3]}, {"losses": [9, 4]}]},
                               "seed": {"grid_search": [0, 1, 2]}}
        spec["param_space"]["iterations"] = 2
        self.write("seeds.json", spec)
        self.tune("run", "seeds.json", "--progress", "none")
        groups = self.json("ls", "results/seeds", "--over", "seed")
        self.assertEqual([(g["n"], g["mean"], g["std"], len(g["trial_ids"])) for g in groups],
                         [(3, 3.0, 0.0, 3), (3, 4.0, 0.0, 3)])
        self.assertEqual([g["config"]["case"]["losses"] for g in groups], [[1, 3], [9, 4]])
        self.assertNotIn("seed", groups[0]["config"])
        one, = self.json("ls", "results/spec", "--over", "case.losses,case.lr")
        self.assertEqual((one["n"], one["min"], one["max"]), (4, 0.2, 0.6))
        self.assertAlmostEqual(one["mean"], 0.36)
        self.assertAlmostEqual(one["std"], statistics.stdev([0.6, 0.2, 0.2, 0.44]))
        self.assertIn("is no hyperparameter", self.refused("ls", "results/spec", "--over", "loss"))


class Compare(Looking):
    def test_what_differs_is_shown_and_what_is_equal_counted(self):
        out = self.tune("compare", "results/spec", "0", "trial_00001").out
        self.assertRegex(out, r"best loss +0.4 at iteration 2 +0.2 at iteration 2\n")
        self.assertRegex(out, r"last loss +0.6 at iteration 3 +0.2 at iteration 4\n")
        self.assertRegex(out, r"case.lr +0 +1\n")
        self.assertIn("1 of 3 hyperparameters is equal: --all shows them", out)
        self.assertNotIn("same", out)
        self.assertRegex(self.tune("compare", "results/spec", "0", "1", "--all").out, r"same +7 +7\n")

    def test_what_the_driver_counts_has_a_last_value_and_no_row_for_a_best_one(self):
        counted = ["--metric", "training_iteration", "--mode", "max"]
        out = self.tune("compare", "results/spec", "0", "1", *counted).out
        self.assertRegex(out, r"last training_iteration +3 at iteration 3 +4 at iteration 4\n")
        self.assertNotIn("best ", out)
        compared = self.json("compare", "results/spec", "0", "1", *counted)
        self.assertIsNone(compared["trials"][0]["best_iteration"])

    def test_curves_stand_side_by_side_at_the_iterations_that_all_have(self):
        compared = self.json("compare", "results/spec", "0", "1")
        self.assertEqual([(p["training_iteration"], p["values"]) for p in compared["curves"]],
                         [(1, [0.5, 0.7]), (2, [0.4, 0.2]), (3, [0.6, 0.3])])
        self.assertEqual(compared["ahead"], {"name": "trial_00001", "from_iteration": 2})
        self.assertEqual(compared["differing"]["case/lr"], [0, 1])
        self.assertEqual(compared["equal"], {"same": 7})
        self.assertIsNone(self.json("compare", "results/spec", "2", "2")["ahead"])

    def test_trials_of_two_experiments_are_named_with_theirs(self):
        for words in (["results/spec:3", "results/more:1"], ["results/spec", "3", "results/more", "1"]):
            compared = self.json("compare", *words)
            self.assertEqual([t["name"] for t in compared["trials"]], ["spec:trial_00003", "more:trial_00001"])
            self.assertEqual(compared["ahead"], {"name": "more:trial_00001", "from_iteration": 1})
        self.assertIn("name two trials", self.refused("compare", "results/spec", "3"))
        self.assertIn("there is no trial '9'", self.refused("compare", "results/spec", "3", "9"))


class OverTime(Looking):
    def test_each_improvement_is_there_with_what_it_took(self):
        rows = self.json("best", "results/spec", "--over-time")["improvements"]
        self.assertEqual([(r["trial_id"][-1], r["training_iteration"], r["value"], r["trials"], r["results"])
                          for r in rows],
                         [("0", 1, 0.5, 1, 1), ("0", 2, 0.4, 1, 2), ("1", 2, 0.2, 2, 5)])
        self.assertEqual(sorted(r["running_s"] for r in rows), [r["running_s"] for r in rows])
        self.assertRegex(self.tune("best", "results/spec", "--over-time").out.splitlines()[1], DATE)

    def test_without_the_events_it_is_not_known(self):
        self.tune("run", "spec.json", "--name", "forgetful", "--progress", "none", CUDA_VISIBLE_DEVICES="0,1")
        self.take_snapshot("results/forgetful")
        self.assertEqual(self.json("best", "results/forgetful", "--over-time")["improvements"][-1]["value"], 0.2)
        os.remove(self.path("results/forgetful/history.jsonl"))
        self.assertIn("cannot be read any more", self.refused("best", "results/forgetful", "--over-time"))


class TakenBack(Case):
    def test_what_a_restore_has_taken_back_was_no_improvement(self):
        self.write("spec.json", spec_of([[5, 1, 3]], failure_config={"max_failures": 1}))
        spec = json.loads(self.read("spec.json"))
        spec["param_space"].update(trouble="exits_until_mended", at=3)
        spec["checkpoint_config"] = {"checkpoint_frequency": 0}
        self.write("spec.json", spec)
        self.tune("run", "spec.json", "--progress", "none", expect=1)
        self.write("results/spec/mended", "")
        self.tune("resume", "results/spec", "--restart-errored", "--progress", "none")
        rows = self.json("best", "results/spec", "--over-time")["improvements"]
        self.assertEqual([(r["training_iteration"], r["value"]) for r in rows], [(1, 5.0), (2, 1.0)])
        self.assertGreater(rows[0]["results"], 2)  # those of the attempts before count as accepted


class Notes(Looking):
    def note(self, trial, *words):
        return self.json("note", "results/spec", trial, *words)

    def test_notes_and_tags_are_shown_and_filtered_by(self):
        self.assertEqual(self.note("2", "looks\n odd\033[31m", "--tag", "good,final")["tags"], ["final", "good"])
        self.assertEqual(self.note("2", "again", "--untag", "final")["tags"], ["good"])
        self.assertIn("trial_00002 has no tag 'final'", self.tune("note", "results/spec", "2", "--untag", "final").err)
        self.note("3", "--tag", "good")
        self.tune("note", "results/spec", "3", "--", "--not an option")
        self.assertEqual(self.note("3")["notes"][0]["text"], "--not an option")
        self.assertEqual(self.ids("--filter", 'tags == "good" && loss < 0.3'), [2])
        self.assertEqual(self.ids("--filter", 'tags != "good"'), [0, 1])
        listed = self.json("ls", "results/spec")[2]
        self.assertEqual((listed["tags"], [n["text"] for n in listed["notes"]]),
                         (["good"], ["looks\n odd\033[31m", "again"]))
        for words in (["ls", "results/spec"], ["show", "results/spec", "2"], ["note", "results/spec", "2"],
                      ["compare", "results/spec", "2", "3"], ["best", "results/spec", "-n", "3", "--json"]):
            out = self.tune(*words).out
            self.assertIn("good", out)
            self.assertNotIn("\033", out)
        self.assertEqual(self.note("2", "--clear")["notes"], [])
        self.assertIn("a tag is one word", self.refused("note", "results/spec", "2", "--tag", "two words"))

    def test_of_several_at_once_none_is_lost_and_a_torn_line_costs_itself_only(self):
        with open(self.path("results/more/notes.jsonl"), "w", encoding="utf-8") as file:
            file.write('{"notes":1}\n{"t":1,"trial":1,"note":"whole"}\n{"t":2,"tri')
        writers = [subprocess.Popen([TUNE, "note", "results/more", "1", f"note {i}"], cwd=self.dir,
                                    stdout=subprocess.DEVNULL) for i in range(8)]
        self.assertEqual([writer.wait() for writer in writers], [0] * 8)
        texts = [note["text"] for note in self.json("note", "results/more", "1")["notes"]]
        self.assertCountEqual(texts, ["whole", *(f"note {i}" for i in range(8))])
        self.tune("resume", "results/more", "--num-samples", "3", "--progress", "none", expect=None)
        self.assertEqual(len(self.json("ls", "results/more")[1]["notes"]), 9)


class Importance(Case):
    def search(self, losses, **fields):
        """Trials of which `a` is 1, 2, 3 ..., one after the other, and what `losses` prints of it."""
        self.write("spec.json", {"trainable": {"command": ["sh", "-c", losses], "plain": {},
                                               "env": {"A": "${config.a}", "N": "${config.n}"} if "n" in fields["param_space"] else {"A": "${config.a}"}},
                                 "metric": "loss", "mode": "min", "max_concurrent_trials": 1, **fields})
        self.tune("run", "spec.json", "--progress", "none")

    def test_trials_that_were_cut_short_are_compared_where_nine_of_ten_have_come_to(self):
        # The first one alone goes on, and becomes the worst.
        self.search("echo loss=$A; echo loss=2; echo loss=99", scheduler={"type": "asha", "max_t": 3, "reduction_factor": 3},
                    param_space={"a": {"grid_search": list(range(1, 13))}})
        self.assertEqual([trial["training_iteration"] for trial in self.json("ls", "results/spec")], [3] + [1] * 11)
        found = self.json("importance", "results/spec", "--slice", "a")
        self.assertEqual((found["iteration"], found["trials"], found["candidates"], found["searcher_is_adaptive"]),
                         (1, 12, 12, False))
        self.assertEqual(found["slice"]["bins"][0]["best"], 1)
        self.assertRegex(self.tune("importance", "results/spec", "--slice", "a").out, "^a +trials  best loss at iteration 1  ")
        said = self.tune("importance", "results/spec").err
        self.assertRegex(said, "trials were cut short, .* at iteration 1, which 12 of 12 trials have reached; --at N ")
        self.assertNotIn("chose configs", said)
        self.assertIn("cannot be known from fewer than 4 trials", self.refused("importance", "results/spec", "--at", "3"))

    def test_a_slice_files_whole_numbers_by_all_their_digits(self):
        for lower, step in ((2**53 - 3, 1), (2**60, 1), (-(2**60) - 6, 1), (2**63 - 9, 1), (2**60, 4)):
            values = [lower + step * i for i in range(6)]
            domain = {"randint": [lower, lower + 6]} if step == 1 else {"qrandint": [lower, values[-1], step]}
            with self.subTest(domain=domain):
                shutil.rmtree(self.path("results"), ignore_errors=True)
                self.search("echo loss=$N", param_space={"a": domain, "n": {"uniform": [0, 1]}}, num_samples=6,
                            searcher={"type": "random", "points_to_evaluate": [{"a": value} for value in values]})
                bins = self.json("importance", "results/spec", "--slice", "a")["slice"]["bins"]
                self.assertEqual([(each["lower"], each["trials"]) for each in bins], [(value, 1) for value in values])

    def test_of_many_neighbours_beyond_doubles_each_slice_has_its_share(self):
        lower = 2**60
        self.search("echo loss=$N", param_space={"a": {"randint": [lower, lower + 24]}, "n": {"uniform": [0, 1]}}, num_samples=24,
                    searcher={"type": "random", "points_to_evaluate": [{"a": lower + i} for i in range(24)]})
        bins = self.json("importance", "results/spec", "--slice", "a")["slice"]["bins"]
        self.assertEqual([(each["lower"] - lower, each["upper"] - lower, each["trials"]) for each in bins],
                         [(i, i + 2, 3) for i in range(0, 24, 3)])

    def test_a_slice_names_the_values_of_which_it_has_the_best(self):
        self.search("echo loss=$A; echo loss=$((A + 1))", param_space={"a": {"grid_search": [1, 2, 3, 4]}})
        for scope, title, best in (((), "best last loss", 2), (("--scope", "all"), "best loss", 1),
                                   (("--scope", "last-5-avg"), "best last-5-avg loss", 1.5),
                                   (("--scope", "all", "--at", "2"), "best loss up to iteration 2", 1)):
            out = self.tune("importance", "results/spec", "--slice", "a", *scope).out
            self.assertRegex(out, f"^a +trials  {title}  .*\\n1 +1 +{best} ")

    def test_that_a_model_chose_the_configs_is_said(self):
        self.search("echo loss=$A", searcher="tpe", num_samples=4, param_space={"a": {"uniform": [1, 2]}})
        self.assertIn("the searcher tpe chose configs by what it had seen", self.tune("importance", "results/spec").err)
        found = self.json("importance", "results/spec")
        self.assertEqual((found["iteration"], found["searcher_is_adaptive"]), (None, True))


class Optional(Case):
    def test_a_value_that_later_results_lack_is_of_the_iteration_that_reported_it(self):
        results = ['{"loss":1,"opt":$A}', '{"loss":2,"opt":900719925474099$A}', '{"loss":3}']
        says = "; ".join("echo " + json.dumps(each) for each in results)
        self.write("spec.json", {"trainable": {"command": ["sh", "-c", says], "plain": {}, "env": {"A": "${config.a}"}},
                                 "metric": "loss", "mode": "min", "param_space": {"a": {"grid_search": [3, 5]}}})
        self.tune("run", "spec.json", "--progress", "none")
        last = 9007199254740995
        best = ["best", "results/spec", "--metric", "opt", "--mode", "max", "--scope", "last"]
        found = self.json(*best)
        self.assertEqual((found["trial_id"], found["value"], found["last_iteration"]), ("trial_00001", last, 2))
        self.assertIn("(max, last at iteration 2)", self.tune(*best).out)
        self.assertRegex(self.tune(*best, "-n", "2").out, r"last  last at  iterations  config\n")
        compare = ["compare", "results/spec", "0", "1", "--metric", "opt", "--mode", "max"]
        self.assertEqual([(t["last"], t["last_iteration"]) for t in self.json(*compare)["trials"]],
                         [(last - 2, 2), (last, 2)])
        self.assertRegex(self.tune(*compare).out, r"last opt +\S+ at iteration 2 +\S+ at iteration 2\n")
        trial = self.json("ls", "results/spec")[1]
        self.assertNotIn("opt", trial["metrics"])
        self.assertEqual(trial["earlier_metrics"], {"opt": {"value": last, "training_iteration": 2}})
        listed = self.tune("ls", "results/spec", "--columns", "opt", "--filter", "opt > 0", "--csv")
        self.assertEqual(listed.out, f"opt\n{last - 2}\n{last}\n")
        self.assertIn("of trial_00000 iteration 2", listed.err)
        self.assertEqual(self.json("show", "results/spec", "1")["metrics"]["opt"]["last_iteration"], 2)


class WholeNumbers(Case):
    def test_beyond_2_to_53_every_command_has_all_digits_and_names_the_same_best(self):
        # As doubles, the best of both trials is one number.
        first = 2**53 + 3
        self.write("spec.json", spec_of([[first, 2**53 + 1], [2**53]]))
        self.tune("run", "spec.json", "--progress", "none")
        listed = self.json("ls", "results/spec")
        self.assertEqual([(t["best"], t["best_iteration"], t["metrics"]["loss"]) for t in listed],
                         [(2**53 + 1, 2, 2**53 + 1), (2**53, 1, 2**53)])
        status, best = self.json("status", "results/spec")["best"], self.json("best", "results/spec")
        last = self.json("best", "results/spec", "--over-time")["improvements"][-1]
        for each in status, best, last:
            self.assertEqual((each["trial_id"], each["value"]), ("trial_00001", 2**53))
        shown = self.json("show", "results/spec", "0")["metrics"]["loss"]
        self.assertEqual((shown["curve"], shown["min"], shown["max"], shown["last"]),
                         ([first, 2**53 + 1], 2**53 + 1, first, 2**53 + 1))
        compared = self.json("compare", "results/spec", "0", "1")
        self.assertEqual([t["last"] for t in compared["trials"]], [2**53 + 1, 2**53])
        self.assertEqual(compared["curves"], [{"training_iteration": 1, "iteration_is_guess": False, "values": [first, 2**53]}])
        curves = self.tune("export", "results/spec", "--curves", "-").out
        self.assertEqual([row["loss"] for row in csv.DictReader(io.StringIO(curves))],
                         [str(first), str(2**53 + 1), str(2**53)])
        rows = csv.DictReader(io.StringIO(self.tune("ls", "results/spec", "--csv").out))
        self.assertEqual([(row["loss"], row["best"]) for row in rows], [(str(2**53 + 1),) * 2, (str(2**53),) * 2])
        for condition, trials in (("loss == 9007199254740993", 1), ("best == 9007199254740992", 1), ("loss > 2**53", 1),
                                  ("loss >= 2**53", 2), ("loss == 9007199254740991", 0)):
            self.assertEqual(len(self.json("ls", "results/spec", "--filter", condition)), trials, condition)
        ids = [t["trial_id"] for t in self.json("ls", "results/spec", "--sort", "loss")]
        self.assertEqual(ids, ["trial_00001", "trial_00000"])


class Zeros(Case):
    def test_the_sign_of_a_zero_makes_no_group_and_no_difference(self):
        spec = spec_of([[1]])
        spec["param_space"]["zero"] = {"grid_search": [0.0, -0.0]}
        self.write("spec.json", spec)
        self.tune("run", "spec.json", "--progress", "none")
        group, = self.json("ls", "results/spec", "--over", "case.lr")
        self.assertEqual(group["n"], 2)
        self.assertEqual(self.json("compare", "results/spec", "0", "1")["differing"], {})


class Export(Case):
    def test_what_cannot_be_told_is_left_out_with_its_reason(self):
        self.write("spec.json", spec_of([[3, 2], [5, 4], [7, 6]]))
        self.tune("run", "spec.json", "--progress", "none")
        self.take_snapshot("results/spec")
        os.remove(self.path("results/spec/trial_00001/result.json"))
        done = self.tune("export", "results/spec", "--curves", "-")
        self.assertEqual([row["loss"] for row in csv.DictReader(io.StringIO(done.out))], ["3", "2", "5", "4", "7", "6"])
        os.remove(self.path("results/spec/history.jsonl"))
        done = self.tune("export", "results/spec", "--curves", "-")
        self.assertEqual([row["loss"] for row in csv.DictReader(io.StringIO(done.out))], ["3", "2", "7", "6"])
        self.assertRegex(done.err, r"(?m)^tune: 1 trial is left out \(trial_00001\): .*nowhere any more")


class Behind(Case):
    def test_rows_that_files_lack_are_in_the_record_and_no_command_has_others(self):
        losses = [[4, 3, 1, 2], [8, 7, 5, 6], [9, 9.5, 8.5, 9]]
        self.write("spec.json", spec_of(losses))
        self.tune("run", "spec.json", "--progress", "none")
        self.take_snapshot("results/spec")
        file, stand_in = (self.path("results", "spec", name) for name in ("trial_00000/result.json", "trial_00001.result.json"))
        rows = self.read(file).splitlines(keepends=True)
        self.write(file, rows[0] + rows[3])
        replaced = self.path("results", "spec", "trial_00001", "result.json")
        rows = self.read(replaced).splitlines(keepends=True)
        os.remove(replaced)
        os.mkdir(replaced)
        self.write(stand_in, "".join(rows))

        def seen():
            shown = [self.json("show", "results/spec", str(i), "--results") for i in range(3)]
            done = self.tune("export", "results/spec", "--curves", "-")
            exported = [[float(row["loss"]) for row in csv.DictReader(io.StringIO(done.out)) if row["trial_id"] == f"trial_0000{i}"]
                        for i in range(3)]
            compared = self.json("compare", "results/spec", "0", "1", "2")["curves"]
            return ([each["metrics"]["loss"]["curve"] for each in shown],
                    [[row["loss"] for row in each["results"]] for each in shown],
                    [[point["values"][i] for point in compared] for i in range(3)], exported, done.err)

        self.assertEqual(seen(), (losses, losses, losses, losses, ""))
        self.assertEqual(self.json("best", "results/spec")["best_iteration"], 3)
        os.remove(self.path("results", "spec", "history.jsonl"))
        curves, results, _, exported, said = seen()
        self.assertEqual((curves, results, exported), ([[4, 2], *losses[1:]], [[4, 2], *losses[1:]], [[], *losses[1:]]))
        self.assertRegex(said, r"(?m)^tune: 1 trial is left out \(trial_00000\): .*nowhere any more")
        self.assertRegex(self.tune("show", "results/spec", "0").out, r"loss = 2 +\(from 1 to 4, 2 values\)")
        self.tune("export", "results/spec", "--curves", "c.csv")
        self.tune("simulate", "spec.json", "--curves", "c.csv")

    def test_of_a_copy_the_record_counts_more_than_its_older_files(self):
        self.write("spec.json", spec_of([[4, 3, 1]], snapshot_period_s=0.001, remote={"path": self.path("store")}))
        self.tune("run", "spec.json", "--progress", "none")
        self.tune("pull", self.path("store/spec"), "copy")
        file = self.path("copy", "trial_00000", "result.json")
        self.write(file, self.read(file).replace('"loss":3', '"loss":7'))
        self.assertEqual(self.json("show", "copy", "0")["metrics"]["loss"]["curve"], [4, 3, 1])


if __name__ == "__main__":
    main()
