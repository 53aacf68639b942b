"""That what people write means what they mean: defaults, bounds, names, and words of other tools."""
import os

from cli_support import TROUBLED, Case, main

#: Best at its second iteration of four.
LOSSES = [1.0, 0.1, 5.0, 12.0]


class Meanings(Case):
    def spec(self, **fields):
        return {"trainable": {"command": TROUBLED}, "metric": "loss", "mode": "min",
                "param_space": {"case": {"losses": LOSSES}}, **fields}

    def run_it(self, *options, expect=0, **fields):
        self.write("spec.json", self.spec(**fields))
        return self.tune("run", "spec.json", "--progress", "none", *options, expect=expect)

    def iteration(self):
        return self.json("ls", "results/spec")[0]["training_iteration"]


class Checkpoints(Meanings):
    def test_the_best_by_the_metric_are_kept_if_nothing_else_is_said(self):
        done = self.run_it(checkpoint_config={"checkpoint_frequency": 1, "num_to_keep": 1})
        kept = self.json("best", "results/spec")["best_checkpoints"]
        self.assertEqual([(one["training_iteration"], one["score"]) for one in kept],
                         [(2, 0.1), (4, 12)])
        self.assertIn("checkpoint_000002 (iteration 2, loss 0.1)", done.out)

    def test_the_newest_are_kept_by_the_iteration(self):
        self.run_it(checkpoint_config={"checkpoint_frequency": 1, "num_to_keep": 2,
                                       "checkpoint_score_attribute": "training_iteration"})
        kept = self.json("best", "results/spec")["best_checkpoints"]
        self.assertEqual([one["training_iteration"] for one in kept], [4, 3])

    def test_an_order_against_the_mode_is_obeyed_and_said(self):
        done = self.run_it(checkpoint_config={"checkpoint_frequency": 1, "num_to_keep": 1,
                                              "checkpoint_score_order": "max"})
        self.assertIn("the checkpoints with the worst 'loss' are kept", done.err)
        self.assertEqual(self.json("best", "results/spec")["best_checkpoints"][0]["score"], 12)


class Stops(Meanings):
    def test_comparisons_on_the_command_line_are_those_of_specs(self):
        for i, (rule, last) in enumerate([("loss<=0.1", 2), ("loss < 0.5", 2), ("training_iteration>=3", 3),
                           ("training_iteration=3", 3), ("loss>4,training_iteration=4", 3)]):
            with self.subTest(rule=rule):
                name = f"e{i}"
                self.run_it("--stop", rule, "--name", name)
                self.assertEqual(self.json("ls", f"results/{name}")[0]["training_iteration"], last)

    def test_a_trial_that_diverges_ends_by_the_rule_nan_and_says_so(self):
        self.write("spec.json", {**self.spec(stop={"type": "nan", "times": 2}),
                                 "param_space": {"case": {"losses": [1, "NaN", "Infinity", 1]}}})
        out = self.tune("run", "spec.json", "--progress", "lines").out
        self.assertIn("completed at iteration 3, loss inf (rule: not finite loss, times 2)", out)
        trial, = self.json("ls", "results/spec", "--columns", "training_iteration,ended_by,why")
        self.assertEqual(trial, {"training_iteration": 3, "ended_by": "rule",
                                 "why": "not finite loss, times 2"})

    def test_what_is_no_rule_is_refused(self):
        self.write("spec.json", self.spec())
        for rule in ["loss", "=3", "<=0.1", "loss<=", "loss<=a", "loss=<3"]:
            with self.subTest(rule=rule):
                self.assertIn("--stop", self.tune("validate", "spec.json", "--stop", rule,
                                                  expect=2).err)

    def test_a_bound_that_every_result_meets_is_said_before_the_run(self):
        self.write("spec.json", self.spec())
        out = self.tune("validate", "spec.json", "--stop", "loss=0.1").out
        self.assertIn('write {"metric": "loss", "<=": 0.1}', out)
        self.assertIn("although less is better", self.run_it("--stop", "loss=0.1").err)
        self.assertEqual(self.iteration(), 1)


class Awaited(Meanings):
    def test_a_metric_that_no_result_has_is_said_once(self):
        done = self.run_it("--stop", "los<=0.1", num_samples=3, param_space={
            "case": {"losses": LOSSES}, "x": {"uniform": [0, 1]}},
            checkpoint_config={"checkpoint_score_attribute": "half/count"})
        self.assertEqual(done.err.count("has a number 'los', by which a stop rule"), 1)
        self.assertNotIn("half", done.err)


class WordsOfOthers(Meanings):
    def test_domains_of_other_tools_are_named_with_ours(self):
        self.write("spec.json", self.spec(num_samples=3, param_space={
            "a": {"min": 0.0, "max": 0.5},
            "b": {"type": "int", "low": 1, "high": 8, "log": True}, "c": {"values": [1, 2]},
            "d": {"value": {"min": 0, "max": 1}}, "e": {"uniform": [0, 1]}}))
        out = self.tune("validate", "spec.json").out
        for place, ours in [("/a", '{"uniform":[0.0,0.5]}'), ("/b", '{"lograndint":[1,9]}'),
                            ("/c", '{"choice":[1,2]}')]:
            self.assertRegex(out, f"/param_space{place}: .*{ours}".replace("{", r"\{")
                             .replace("[", r"\[").replace("}", r"\}"))
        self.assertNotIn("/param_space/d", out)
        self.assertNotIn("only one config", out)

    def test_a_space_that_draws_nothing_is_said(self):
        self.write("spec.json", self.spec(num_samples=3, param_space={"lr": [0.1, 0.01]}))
        out = self.tune("preview", "spec.json").out
        self.assertIn("nothing in param_space is drawn", out)
        self.assertIn('/param_space/lr, write {"choice":[0.1,0.01]}', out)

    def test_a_home_is_found_without_a_shell(self):
        self.write("spec.json", self.spec(storage_path="~/experiments"))
        self.tune("run", "spec.json", "--progress", "none", HOME=self.path("home"))
        self.assertTrue(os.path.isdir(self.path("home/experiments/spec/trial_00000")))
        self.assertFalse(os.path.exists(self.path("~")))


class Scripts(Meanings):
    def test_a_program_that_the_kernel_would_not_start_is_a_fault_of_the_spec(self):
        for first, sentence in [
            ("#!/opt/none/python", "the interpreter '/opt/none/python' of "),
            ("#!/usr/bin/env nonepython", "the interpreter 'nonepython' of "),
            ("#!/bin/sh\r", "its lines end as on Windows"),
            ("import sys", "its first line names no interpreter"),
        ]:
            with self.subTest(first=first):
                self.write("fit", first + "\necho loss: 1\n")
                os.chmod(self.path("fit"), 0o755)
                words = ["--metric", "loss", "--mode", "min", "--", "./fit"]
                for command in "validate", "run":
                    self.assertIn(sentence, self.tune(command, *words, expect=2).err)
        self.assertFalse(os.path.exists(self.path("results")))
        self.write("fit", "#!/usr/bin/env -S sh\necho loss: 1\n")
        self.tune("validate", *words)

    def test_a_script_that_is_missing_is_pointed_to_where_it_stands(self):
        self.write("spec.json", self.spec(trainable={"command": ["python3", "-u", "none.py"]}))
        self.assertIn("/trainable/command/2: there is no file 'none.py'", self.tune("validate", "spec.json", expect=2).err)

    def test_a_script_that_is_not_there_is_found_by_validate_run_and_resume(self):
        words = ["--param-space", self.write("space.json", {"x": 1}), "--name", "e",
                 "--metric", "loss", "--mode", "min", "--", "python3", "train.py"]
        for command in ["validate", "run"]:
            self.assertIn("there is no file 'train.py'",
                          self.tune(command, *words, expect=2).err)
        with open(TROUBLED[1], encoding="utf-8") as file:
            self.write("train.py", file.read())
        self.run_it("--time-budget-s", "0.5", num_samples=2, trainable={
            "command": [TROUBLED[0], "train.py"]}, max_concurrent_trials=1,
            param_space={"iterations": 100000})
        os.rename(self.path("train.py"), self.path("moved.py"))
        before = self.json("ls", "results/spec")
        refused = self.tune("resume", "results/spec", "--time-budget-s", "9", expect=2).err
        self.assertIn("if it has moved: tune resume", refused)
        self.assertEqual(self.json("ls", "results/spec"), before)

    def test_arguments_that_are_the_programs_own_are_left_alone(self):
        for command in [["python3", "-c", "pass", "a.py"], ["python3", "-m", "mine", "a.py"],
                        ["python3", "-X", "dev", "a.py"], ["sh", "prog", "--out", "new.sh"],
                        ["env", "python3", "/in/another/container.py"]]:
            with self.subTest(command=command):
                self.write("spec.json", self.spec(trainable={"command": command}))
                self.tune("validate", "spec.json")


class Answers(Meanings):
    def test_run_status_and_best_name_the_same_trial(self):
        self.run_it(param_space={"case": {"grid_search": [
            {"losses": losses} for losses in (LOSSES, [0.5, 0.4, 0.3, 0.2])]}})
        self.assertEqual(self.json("best", "results/spec")["trial_id"], "trial_00000")
        self.assertEqual(self.json("status", "results/spec")["best"]["trial_id"], "trial_00000")
        self.assertEqual(self.json("best", "results/spec", "--scope", "last")["trial_id"],
                         "trial_00001")

    def test_each_hyperparameter_of_the_best_has_a_line_however_narrow_the_terminal(self):
        long = "x" * 200
        done = self.run_it(param_space={"case": {"losses": LOSSES}, "model": {"layers": 3, "name": long}})
        for out in (done.out, self.tune("best", "results/spec", COLUMNS="40").out):
            self.assertRegex(out, r"\bmodel\.layers = 3\n")
            self.assertRegex(out, rf'model\.name = "{long}"\n')

    def test_columns_are_found_by_the_metrics_own_names(self):
        self.run_it(metric=None, mode=None, param_space={
            "iterations": 2, "batch-size": 1, "batch_size": 2, "naïve": 3,
            "extra": {"val-loss": 3, "val_loss": -3}})
        out = self.tune("ls", "results/spec", "--csv", "--columns", "config.extra.val-loss,"
                        "config.extra.val_loss,batch-size,batch_size,naïve").out
        self.assertEqual(out.splitlines(), [
            "config.extra.val-loss,config.extra.val_loss,config.batch-size,config.batch_size,"
            "config.naïve", "3,-3,1,2,3"])
        self.assertEqual(len(self.json("ls", "results/spec", "--filter", "extra.val_loss < 0")), 1)
        header = self.tune("ls", "results/spec", "--csv").out.splitlines()[0].split(",")
        self.assertEqual(len(header), len(set(header)))

    def test_a_text_that_was_drawn_is_shown_as_it_was_written(self):
        self.run_it(param_space={"case": {"losses": LOSSES}, "Größe": {"choice": ["größer"]}})
        self.assertEqual(self.json("ls", "results/spec", "--columns", "tag"), [{"tag": "Größe=größer"}])

    def test_a_metric_that_is_no_number_says_what_it_is(self):
        self.run_it(expect=1, param_space={"case": {"losses": ["high", 1]}})
        self.assertIn("""has the metric 'loss' as the text "high", which is not a number""",
                      self.json("ls", "results/spec")[0]["error"])


class MoreSamples(Meanings):
    def test_auto_goes_on_with_the_searcher_that_it_has_chosen(self):
        space = {"case": {"losses": LOSSES}, "x": {"uniform": [0, 1]}}
        self.run_it(param_space=space, num_samples=2)
        done = self.run_it("--num-samples", "300", "--resume", "auto", "--time-budget-s", "1",
                           param_space=space, num_samples=2)
        self.assertIn("num_samples", done.err)

class Problems(Meanings):
    def wrong(self, **fields):
        self.write("spec.json", self.spec(**fields))
        return self.tune("validate", "spec.json", expect=2).err

    def test_a_broken_param_space_hides_nothing_of_the_other_parts(self):
        said = self.wrong(param_space={"lr": {"unifrom": [0, 1]}, "a": {"expr": "(b"}, "c": {"expr": "1+"}},
                          scheduler={"type": "asha", "maxt": 10, "reduction_factor": 0.5},
                          searcher={"type": "tpe", "gama": 3, "points_to_evaluate": [{"lr": 1}]},
                          stop={"loss": "small"}, n_trials=3)
        for place in ("/param_space/lr", "/param_space/a", "/param_space/c", "/scheduler/maxt",
                      "/scheduler/reduction_factor", "/searcher/gama", "/stop/loss", "/n_trials"):
            self.assertIn(f": {place}", said)
        self.assertNotIn("points_to_evaluate", said)
        self.assertEqual(len(said.splitlines()), 8, said)

    def test_points_to_evaluate_are_judged_beside_other_options(self):
        said = self.wrong(param_space={"lr": {"uniform": [0, 1]}},
                          searcher={"type": "tpe", "gama": 3, "points_to_evaluate": [{"lr": 7}, {"x": 1}, {"lr": 1}]})
        for place in ("/searcher/points_to_evaluate/0/lr", "/searcher/points_to_evaluate/1/x", "/searcher/gama"):
            self.assertIn(f": {place}", said)
        self.assertEqual(len(said.splitlines()), 3, said)

    def test_all_fields_are_listed_once_however_many_are_unknown(self):
        said = self.wrong(wibble=1, wobble={"num_to_keep": 1}, n_trials=3)
        self.assertEqual(len(said.splitlines()), 3, said)
        self.assertEqual(said.count("'num_samples', 'max_concurrent_trials'"), 1, said)
        self.assertIn("/wobble: unknown field 'wobble'\n", said)

    def test_a_name_that_comes_from_the_file_says_so(self):
        self.write("my search.json", self.spec())
        said = self.tune("validate", "my search.json", expect=2).err
        self.assertTrue(said.startswith("my search.json: the experiment is called as the file, unless --name is "
                                        "given: name must be 1 to 100 letters"), said)
        self.assertEqual(self.tune("validate", "my search.json", "--name", "mine").out, "valid\n")

    def test_a_missing_metric_is_not_said_of_a_broken_one(self):
        said = self.wrong(mode="best", scheduler={"type": "asha", "maxt": 1})
        self.assertEqual(len(said.splitlines()), 2, said)

    def test_all_resources_that_there_are_not_are_named(self):
        self.assertIn("a trial takes 2 of 'fast', but there is none, and 1 of 'slow', but there is none",
                      self.wrong(resources_per_trial={"slow": 1, "fast": 2}))



if __name__ == "__main__":
    main()
