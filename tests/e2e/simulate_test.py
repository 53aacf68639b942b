"""`tune simulate`: schedulers compared on curves that are known."""
import csv
import glob
import io

from cli_support import TROUBLED, Case, main


def curves(count=27, iterations=9, columns="config/x,training_iteration,score,time_total_s"):
    """Config x ends at score x, two seconds an iteration."""
    rows = [f"{x},{i},{x * i / iterations},{2 * i}"
            for x in range(1, count + 1) for i in range(1, iterations + 1)]
    return "\n".join([columns, *rows]) + "\n"


METRIC = ["--metric", "score", "--mode", "max"]


class Simulate(Case):
    def setUp(self):
        super().setUp()
        self.write("c.csv", curves())

    def outcomes(self, *options):
        return self.json("simulate", "--curves", "c.csv", *METRIC, *options)["outcomes"]

    def test_compares_schedulers_and_workers(self):
        asha = '{"type":"asha","reduction_factor":3}'
        lines = self.outcomes("--scheduler", "fifo," + asha, "--workers", "1,27", "--seeds", "3")
        self.assertEqual([(line["scheduler"], line["workers"]) for line in lines],
                         [("fifo", 1), ("fifo", 27), ('asha{"reduction_factor":3}', 1),
                          ('asha{"reduction_factor":3}', 27)])
        one, many, asha, _ = lines
        self.assertEqual((one["trials"], one["iterations"], one["time_s"]), (27, 243, 486))
        self.assertEqual((one["best_mean"], one["best_error"], one["seeds"]), (27, 0, 3))
        self.assertEqual(one["target_reached"], 3)
        self.assertEqual(many["time_s"], 18)
        self.assertLess(asha["iterations"], 150)
        self.assertEqual(asha["best_mean"], 27)
        self.assertLess(asha["target_s_mean"], one["target_s_mean"])

    def test_knows_every_scheduler_that_leaves_configs_alone(self):
        self.write("c.csv", curves(81, 27))
        names = ["asha", "asha_promotion", "bohb", "hyperband",
                 '{"type":"median_stopping","time_attr":"training_iteration","grace_period":3}']
        lines = self.outcomes("--scheduler", ",".join(["fifo", *names]), "--workers", "9",
                              "--launch-s", "1", "--save-s", "0.5")
        whole, *others = lines
        self.assertEqual(whole["iterations"], 81 * 27)
        for line in others:
            self.assertEqual(line["trials"], 81, line)
            self.assertLess(line["iterations"], whole["iterations"], line)
            self.assertGreaterEqual(line["best_mean"], 0.8 * 81, line)

    def test_what_is_the_same_in_all_seeds_has_no_error(self):
        self.write("c.csv", curves().replace(".0,", ".1,"))
        line, = self.outcomes("--scheduler", "fifo", "--seeds", "10")
        self.assertEqual((line["best_mean"], line["best_error"]), (27.1, 0))

    def test_a_scheduler_that_stops_nobody_for_want_of_options_is_named(self):
        words = ("simulate", "--curves", "c.csv", *METRIC, "--scheduler")
        self.assertIn("median_stopping judges no trial in the first 60 s",
                      self.tune(*words, "fifo,median_stopping").err)
        self.assertEqual(self.tune(*words, '{"type":"median_stopping","grace_period":3}').err, "")

    def test_a_searcher_can_decide_what_comes_next(self):
        self.write("space.json", {"x": {"randint": [1, 28]}})
        searched = ["--param-space", "space.json", "--searcher"]
        for searcher in ("bohb", '{"type":"tpe","n_startup_trials":3}'):
            line, = self.outcomes("--scheduler", "bohb", "--seeds", "5", *searched, searcher)
            self.assertEqual(line["trials"], 27)
            drawn, = self.outcomes("--scheduler", "bohb", "--seeds", "5")
            self.assertNotEqual(line["target_s_mean"], drawn["target_s_mean"])
        for wrong, expected in [("auto", "name the one that is to be simulated"), ("tpee", "tpe"),
                                ('{"type":"tpe","gamma":2}', "gamma")]:
            error = self.tune("simulate", "--curves", "c.csv", *METRIC, *searched, wrong, expect=2)
            self.assertIn(expected, error.err)

    def test_freeze_thaw_brings_its_searcher(self):
        words = ("--scheduler", '{"type":"freeze_thaw","max_total_t":60},fifo', "--launch-s", "1", "--save-s", "1")
        space = ("--param-space", "space.json")
        self.write("space.json", {"x": {"randint": [1, 28]}})
        thawing, whole = self.outcomes(*words, *space)
        self.assertGreaterEqual(thawing["iterations"], 60)
        self.assertLess(thawing["iterations"], 64)  # the last stretch is trained
        self.assertLess(thawing["trials"], 27)
        self.assertEqual(whole["iterations"], 27 * 9)
        for more, expected in [((), "a searcher needs a param space"),
                               ((*space, "--searcher", "tpe"), "leave 'searcher' out")]:
            error = self.tune("simulate", "--curves", "c.csv", *METRIC, *words, *more, expect=2)
            self.assertIn(expected, error.err)

    def test_says_what_a_budget_bought(self):
        lines = self.outcomes("--time-budget-s", "100,20", "--target", "1")
        self.assertEqual([line["time_budget_s"] for line in lines], [20, 100])
        self.assertLessEqual(lines[0]["iterations"], 10)
        self.assertLessEqual(lines[1]["iterations"], 50)
        self.assertLess(lines[0]["iterations"], lines[1]["iterations"])
        self.assertEqual(lines[1]["target_reached"], 1)
        self.assertIsNone(lines[0]["best_error"])

    def test_takes_its_defaults_from_a_spec_that_need_not_run_here(self):
        self.write("spec.json", {
            "trainable": {"command": ["/nowhere/train"]}, "metric": "score", "mode": "max",
            "param_space": {"y": {"uniform": [0, 1]}}, "num_samples": 500,
            "resources_per_trial": {"gpu": 8}, "max_concurrent_trials": 1,
            "scheduler": {"type": "asha", "max_t": 3, "reduction_factor": 3},
            "checkpoint_config": {"checkpoint_at_end": True}})
        report = self.json("simulate", "spec.json", "--curves", "c.csv", "--workers", "3")
        self.assertEqual((report["curves"], report["iterations"]), (27, 9))
        self.assertEqual((report["best_of_curves"], report["target"]), (27, 26.73))
        line, = report["outcomes"]
        self.assertEqual((line["scheduler"], line["trials"]), ("asha", 27))
        self.assertLessEqual(line["iterations"], 27 * 3)
        line, = self.json("simulate", "spec.json", "--curves", "c.csv", "--num-samples", "5",
                          "--scheduler", "fifo")["outcomes"]
        self.assertEqual((line["trials"], line["iterations"]), (5, 45))

    def test_prints_a_table_and_csv(self):
        out = self.tune("simulate", "--curves", "c.csv", *METRIC, "--seeds", "2").out
        head, titles, line = out.splitlines()
        self.assertEqual(head, "27 curves of 9 iterations; the best score in them is 27, the "
                               "target 26.73; means +- standard errors over 2 seeds")
        self.assertIn("best score", titles)
        self.assertRegex(line, r"^fifo +1 +27 \+- 0 +[0-9.]+ \+- [0-9.]+ +2/2 +27 +243 +486$")
        text = self.tune("simulate", "--curves", "c.csv", *METRIC, "--csv", "--scheduler",
                         '{"type":"asha","max_t":9},fifo').out
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual([row["scheduler"] for row in rows], ['asha{"max_t":9}', "fifo"])
        self.assertEqual((rows[1]["iterations"], rows[1]["best_error"]), ("243.0", ""))

    def test_keeps_journals_that_can_be_looked_at_and_not_be_run(self):
        self.tune("simulate", "--curves", "c.csv", *METRIC, "--seeds", "2", "--dir", "kept")
        self.assertEqual(sorted(glob.glob("*", root_dir=self.path("kept"))),
                         ["1-fifo-workers-1-seed-0", "1-fifo-workers-1-seed-1"])
        kept = "kept/1-fifo-workers-1-seed-1"
        self.assertEqual(self.json("status", kept)["results"], 243)
        self.assertEqual(self.json("best", kept)["value"], 27)
        self.assertIn("'simulated'", self.tune("resume", kept, expect=2).err)
        err = self.tune("simulate", "--curves", "c.csv", *METRIC, "--dir", "kept", expect=2).err
        self.assertIn("already is an experiment", err)

    def test_refuses_bad_input_in_one_sentence(self):
        def error(*options):
            err = self.tune("simulate", *options, expect=2).err
            self.assertEqual(err.count("\n"), 1, err)
            return err
        self.write("short.csv", curves(2) + "3,1,1,1\n")
        self.write("no_time.csv", curves(columns="config/x,training_iteration,score,wall"))
        good = ["--curves", "c.csv", *METRIC]
        self.assertEqual(error("--curves", "c.csv"),
                         "tune: give --metric and --mode: what to compare by\n")
        self.assertIn("short.csv:20: the curve that begins here ends after iteration 1",
                      error("--curves", "short.csv", *METRIC))
        self.tune("simulate", "--curves", "short.csv", *METRIC, "--allow-short")
        self.assertIn("no_time.csv:1: there is no column 'time_total_s'",
                      error("--curves", "no_time.csv", *METRIC))
        self.assertIn("nothing.csv", error("--curves", "nothing.csv", *METRIC))
        self.assertIn("'scor', did you mean 'score'?",
                      error("--curves", "c.csv", "--metric", "scor", "--mode", "max"))
        self.assertIn("unknown scheduler 'ahsa', did you mean 'asha'?",
                      error(*good, "--scheduler", "ahsa"))
        self.assertIn("no JSON object", error(*good, "--scheduler", '{"type"'))
        self.assertIn("--workers must be whole numbers", error(*good, "--workers", "1.5"))
        self.assertIn("--workers must be numbers above 0", error(*good, "--workers", "4,0"))
        self.assertIn("--time-budget-s must be numbers above 0",
                      error(*good, "--time-budget-s", "5,soon"))
        self.tune("simulate", *good, "--seeds", "0", expect=2)


class Export(Case):
    def test_a_sweep_comes_back_as_its_own_simulation(self):
        self.write("spec.json", self.quadratic(num_samples=5, param_space={
            "lr": {"loguniform": [1e-3, 0.4]}, "iterations": 6,
            "deep": {"list": [1, "a"], "text": "7", "word": "so, \"so\"", "=": "=1+1"}}))
        self.tune("run", "spec.json", "--progress", "none")
        out = self.tune("export", "results/spec", "--curves", "c.csv").out
        self.assertEqual(out, "5 curves of 6 iterations in c.csv\n")
        with open(self.path("c.csv"), encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), 30)
        trials = {trial["trial_id"]: trial for trial in self.json("ls", "results/spec")}
        for row in rows:
            trial = trials[row["trial_id"]]
            self.assertEqual(float(row["config/lr"]), trial["config"]["lr"])
            if row["training_iteration"] == "6":
                self.assertEqual(float(row["loss"]), trial["metrics"]["loss"])
                self.assertEqual(float(row["time_total_s"]), trial["time_total_s"])
        self.assertEqual(rows[0]["config/deep/text"], '"7"')
        self.assertEqual(rows[0]["config/deep/word"], 'so, "so"')
        self.assertEqual(rows[0]["config/deep/="], "'=1+1")
        simulated = self.json("simulate", "spec.json", "--curves", "c.csv")
        line, = simulated["outcomes"]
        self.assertEqual((line["trials"], line["iterations"]), (5, 30))
        best = self.json("best", "results/spec", "--scope", "all")
        self.assertEqual(line["best_mean"], best["value"])
        # The simulated trials have the configs of the real ones, and their journal exports the same.
        self.tune("simulate", "spec.json", "--curves", "c.csv", "--dir", "kept")
        kept = "kept/1-fifo-workers-1-seed-0"
        configs = [trial["config"] for trial in self.json("ls", kept)]
        self.assertCountEqual(configs, [trial["config"] for trial in trials.values()])
        again = self.tune("export", kept, "--curves", "-").out
        def lines(text):
            return sorted([row["config/lr"], row["training_iteration"], row["loss"]]
                          for row in csv.DictReader(io.StringIO(text)))
        self.assertEqual(lines(again), lines(self.read("c.csv")))

    def test_trials_of_unequal_length_and_nan_leave_curves_that_can_be_read(self):
        self.write("spec.json", {
            "trainable": {"command": TROUBLED}, "metric": "loss", "mode": "min",
            "param_space": {"case": {"grid_search": [
                {"losses": [3, 2, 1]}, {"losses": [3, "NaN", 1]}, {"losses": [5, 4]}]}}})
        self.tune("run", "spec.json", "--progress", "none")
        out = self.tune("export", "results/spec", "--curves", "c.csv").out
        self.assertEqual(out, "3 curves of 2 to 3 iterations in c.csv\n")
        self.assertIn("c.csv:8: ",
                      self.tune("simulate", "spec.json", "--curves", "c.csv", expect=2).err)
        line, = self.json("simulate", "spec.json", "--curves", "c.csv", "--allow-short")["outcomes"]
        self.assertEqual((line["iterations"], line["best_mean"]), (8, 1))

    def test_refuses_what_it_cannot_export(self):
        self.assertIn("no experiment",
                      self.tune("export", "nowhere", "--curves", "c.csv", expect=2).err)
        self.write("spec.json", self.quadratic(num_samples=1))
        self.tune("run", "spec.json", "--progress", "none")
        self.write("c.csv", "mine")
        self.assertIn("not overwritten",
                      self.tune("export", "results/spec", "--curves", "c.csv", expect=2).err)
        self.assertEqual(self.read("c.csv"), "mine")


if __name__ == "__main__":
    main()
