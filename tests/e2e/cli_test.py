"""`tune run`, `resume`, `validate`, `preview`, `init`: real runs of the real binary."""
import json
import os
import shlex
import shutil
import signal
import subprocess

from cli_support import CLIENT, LIMIT_S, TOY, TROUBLED, TUNE, Case, main

PLUGIN, OUTDATED_PLUGIN = os.environ["PLUGIN"], os.environ["OUTDATED_PLUGIN"]


class Run(Case):
    def test_runs_a_spec_and_says_what_is_best_and_where(self):
        self.write("digits.json", self.quadratic())
        out = self.tune("run", "digits.json").out
        best = self.json("best", "results/digits", "--scope", "all")
        self.assertIn(best["trial_id"], out)
        self.assertIn(best["best_checkpoints"][0]["path"], out)
        for name, value in best["config"].items():
            self.assertIn(f"{name} = {value}\n", out)
        self.assertIn("tune ls " + self.path("results", "digits"), out)
        self.assertEqual(self.json("status", "results/digits")["states"]["TERMINATED"], 4)
        for trial in self.json("ls", "results/digits"):
            self.assertEqual(self.iterations_in_log("results/digits", trial["trial_id"]),
                             [1, 2, 3, 4, 5, 6])

    def test_runs_a_command_with_a_param_space_and_no_spec(self):
        self.write("space.json", {"report": {"loss": {"uniform": [0, 1]}}})
        self.tune("run", "--param-space", "space.json", "--metric", "loss", "--mode", "min",
                  "--num-samples", "3", "--stop", "training_iteration=2", "--name", "counted",
                  "--progress", "none", "--", TOY, "class")
        trials = self.json("ls", "results/counted")
        self.assertEqual([trial["training_iteration"] for trial in trials], [2, 2, 2])
        self.assertEqual(len({trial["metrics"]["loss"] for trial in trials}), 3)

    def test_finds_a_script_that_lies_where_the_user_stands(self):
        with open(CLIENT[1], encoding="utf-8") as client:
            self.write("train.py", client.read())
        self.write("space.json", {"lr": 0.1, "iterations": 2})
        self.tune("run", "--param-space", "space.json", "--", CLIENT[0], "train.py")

    def test_the_only_line_in_a_pipe_that_closes_is_enough(self):
        self.write("spec.json", self.quadratic())
        driver = subprocess.Popen([TUNE, "run", "spec.json", "--progress", "lines"], cwd=self.dir,
                                  stdout=subprocess.PIPE)
        self.assertIn(b"running", driver.stdout.readline())
        driver.stdout.close()
        self.assertEqual(driver.wait(LIMIT_S), 0)
        self.assertEqual(self.json("status", "results/spec")["states"]["TERMINATED"], 4)

    def test_an_existing_experiment_is_refused_with_what_one_can_do(self):
        self.write("spec.json", self.quadratic())
        self.tune("run", "spec.json", "--progress", "none")
        before = self.read("results/spec/journal-1.jsonl")
        error = self.tune("run", "spec.json", expect=2).err
        for way_out in ["tune resume", "--name", "rm -r"]:
            self.assertIn(way_out, error)
        self.assertEqual(self.read("results/spec/journal-1.jsonl"), before)
        self.tune("run", "spec.json", "--name", "other", "--progress", "none")
        self.assertEqual(sorted(os.listdir(self.path("results"))), ["other", "spec"])

    def test_an_interrupt_ends_in_good_order_and_a_resume_goes_on(self):
        self.write("spec.json", {
            "trainable": {"command": TROUBLED}, "metric": "count", "mode": "max",
            "param_space": {"trouble": "interrupts", "at": 3, "iterations": 6},
        })
        out = self.tune("run", "spec.json", expect=130).out
        self.assertIn("tune resume", out)
        trial, = self.json("ls", "results/spec")
        self.assertEqual(trial["state"], "PENDING")
        self.assertTrue(os.path.isdir(trial["checkpoint"]))
        self.tune("resume", "results/spec", "--strict", "--progress", "lines")
        self.assertEqual(self.iterations_in_log("results/spec", "trial_00000"), [1, 2, 3, 4, 5, 6])

    def test_after_a_killed_driver_a_resume_loses_and_repeats_nothing(self):
        self.write("spec.json", {
            "trainable": {"command": TROUBLED}, "metric": "count", "mode": "max",
            "num_samples": 4, "max_concurrent_trials": 2, "resources_per_trial": {},
            "checkpoint_config": {"checkpoint_frequency": 2},
            "param_space": {"trouble": "kills_driver", "at": 7, "iterations": 9,
                            "draw": {"uniform": [0, 1]}},
        })
        self.tune("run", "spec.json", "--progress", "none", expect=-signal.SIGKILL)
        self.assertIsNone(self.json("status", "results/spec")["driver"])
        configs = [trial["config"] for trial in self.json("ls", "results/spec")]
        self.tune("resume", "results/spec", "--strict", "--progress", "none")
        trials = self.json("ls", "results/spec")
        self.assertEqual([trial["state"] for trial in trials], ["TERMINATED"] * 4)
        self.assertEqual([trial["config"] for trial in trials][:len(configs)], configs)
        for trial in trials:
            self.assertEqual(self.iterations_in_log("results/spec", trial["trial_id"]),
                             list(range(1, 10)))
        self.assertEqual(self.json("status", "results/spec")["sessions"], 2)

    def test_while_a_driver_runs_one_can_look_but_not_drive(self):
        self.write("spec.json", {"trainable": {"command": TROUBLED},
                                 "metric": "count", "mode": "max",
                                 "param_space": {"trouble": "looks"}})
        driver = subprocess.Popen([TUNE, "run", "spec.json", "--progress", "none",
                                   "--env", "LOOKER=" + TUNE], cwd=self.dir,
                                  stdout=subprocess.DEVNULL)
        self.assertEqual(driver.wait(LIMIT_S), 0)
        seen = json.loads(self.read("results/spec/trial_00000/work/seen.json"))
        for command in ["status", "ls", "best"]:
            self.assertEqual(seen[command][0], 0, seen[command])
        status, trials = json.loads(seen["status"][1]), json.loads(seen["ls"][1])
        self.assertEqual(status["driver"]["pid"], driver.pid)
        self.assertEqual(status["states"]["RUNNING"], 1)
        self.assertEqual(trials[0]["training_iteration"], 1)
        self.assertEqual(json.loads(seen["best"][1])["value"], 1)
        self.assertEqual(seen["resume"][0], 2)
        self.assertIn(str(driver.pid), seen["resume"][2])

    def test_a_resume_of_nothing_is_bad_input(self):
        self.assertIn("no experiment", self.tune("resume", ".", expect=2).err)

    def test_a_spec_in_the_place_of_a_directory_is_told_from_an_experiment(self):
        self.write("spec.json", self.quadratic())
        for command in ["resume", "status", "ls", "best", "stop"]:
            self.assertIn("spec.json is a file: name the experiment's directory, or start one: tune run spec.json",
                          self.tune(command, "spec.json", expect=2).err)

    def test_the_help_of_set_names_all_that_it_can_change(self):
        for field in ["num_samples", "max_concurrent_trials", "time_budget_s", "stop", "max_log_bytes"]:
            self.assertIn(field, self.tune("set", "--help").out.split("Examples:")[0])


class Help(Case):
    def test_is_found_however_it_is_asked_for(self):
        whole = self.tune("--help").out
        self.assertEqual(self.tune("help").out, whole)
        self.assertEqual(self.tune(expect=2).out, whole)
        self.assertEqual(self.tune("help", "run").out, self.tune("run", "--help").out)

    def test_a_resume_offers_what_may_change_and_names_no_defaults_of_new_experiments(self):
        shown = self.tune("resume", "--help").out
        self.assertIn("--num-samples N             How many configs to draw, -1: endless\n", shown)
        for refused in ("--name", "--storage-path", "--param-space", "--metric", "--mode", "--constraint", "--seed",
                        "--searcher", "--scheduler", "--checkpoint-score-attribute"):
            self.assertNotIn(f"  {refused} ", shown)
            self.assertIn(f"  {refused} ", self.tune("run", "--help").out)

    def test_a_spec_to_start_from_can_be_printed(self):
        self.tune("init")
        self.assertEqual(self.tune("init", "-").out, self.read("spec.json"))
        self.assertEqual(os.listdir(self.dir), ["spec.json"])


class Options(Case):
    def recorded(self, *options):
        self.write("spec.json", self.quadratic(param_space={"lr": 0.1, "iterations": 1}))
        self.tune("run", "spec.json", "--progress", "none", *options)
        name = os.listdir(self.path("results"))[0]
        return json.loads(self.read("results", name, "experiment.json"))

    def test_options_win_over_the_file_and_set_reaches_the_rest(self):
        spec = self.recorded(
            "--name", "mine", "--num-samples", "2", "--max-failures", "3", "--seed", "9",
            "--stop", "training_iteration=5,w=100", "--resources", "cpu=4,licence=1",
            "--resources-per-trial", '{"cpu": 0.5}', "--checkpoint-at-end", "--num-to-keep", "1",
            "--env", "A=1", "--env", "B=x=y", "--reuse-processes=false", "--callback", "csv",
            "--searcher", '{"type": "random"}', "--set", "param_space/lr=0.25",
            "--set", "param_space/new/deep=[1, 2]", "--set", "scheduler/type=fifo",
            "--set", "checkpoint_config/checkpoint_score_order=max")
        self.assertEqual(spec["name"], "mine")
        self.assertEqual(spec["num_samples"], 2)
        self.assertEqual(spec["failure_config"]["max_failures"], 3)
        self.assertEqual(spec["seed"], 9)
        self.assertEqual(spec["stop"], {"training_iteration": 5, "w": 100})
        self.assertEqual(spec["resources"], {"cpu": 4, "licence": 1})
        self.assertEqual(spec["resources_per_trial"], {"cpu": 0.5})
        self.assertEqual(spec["trainable"]["env"], {"A": "1", "B": "x=y"})
        self.assertEqual(spec["callbacks"], [{"type": "csv"}])
        self.assertEqual(spec["param_space"], {"lr": 0.25, "iterations": 1, "new": {"deep": [1, 2]}})
        self.assertEqual(spec["scheduler"], {"type": "fifo"})
        self.assertFalse(spec["reuse_processes"])
        kept = spec["checkpoint_config"]
        self.assertEqual((kept["num_to_keep"], kept["checkpoint_at_end"]), (1, True))
        self.assertEqual(kept["checkpoint_frequency"], 2)
        self.assertEqual(kept["checkpoint_score_order"], "max")

    def test_a_bad_option_is_named_as_the_user_wrote_it(self):
        self.write("spec.json", self.quadratic())
        for options, expected in [
                (["--num-samples", "many"], "--num-samples: num_samples must be"),
                (["--set", "param_space/lr={\"unifrom\": [0, 1]}"], "--set param_space/lr: "),
                (["--set", "nothing"], "--set must be like"),
                (["--set", "stop.training_iteration=3"], "named with '/': stop/training_iteration"),
                (["--stop", "{oops"], "--stop: this is no JSON"),
                (["--set", "name/first=x"], "--set name/first: the spec has no place"),
                (["--set", 'trainable/command=["./a"]', "--", "./b"], "--set trainable/command: the command is given already"),
                (["--searcher", "randon"], "did you mean 'random'?"),
                (["--set", "scheduler/typ=asha"], "--set scheduler/typ: unknown field 'typ', did you mean 'type'?"),
                (["-p", "lr="], "-p lr= has no value: a domain or a value stands behind '='"),
                (["--scheduler", "ASHAScheduler"], "unknown scheduler 'ASHAScheduler': here that is 'asha'"),
                (["--scheduler", "MedianPruner"], "here that is 'median_stopping'"),
                (["--searcher", "CmaEsSampler"], "here that is 'cma_es'"),
                (["--searcher", "bayesian"], "here that is 'gp'"),
                (["-p", "lr=tune.loguniform(1e-4, 0.1)"], "written with a colon, loguniform:1e-4,0.1, got 'tune.log"),
                (["-p", "lr=1e-5..1"], "a range is written uniform:1e-5,1, or loguniform"),
                (["-p", 'lr={"loguniform": [1e-4'], "-p: this is no JSON"),
                (["--num-sampels", "3"], "did you mean '--num-samples'?")]:
            with self.subTest(options=options):
                self.assertIn(expected, self.tune("run", "spec.json", *options, expect=2).err)
        self.assertEqual(os.listdir(self.dir), ["spec.json"])

    def test_stop_rules_that_are_given_twice_are_both_kept_in_place_of_the_specs(self):
        self.write("spec.json", self.quadratic(stop={"training_iteration": 9}, num_samples=1))
        self.tune("run", "spec.json", "--progress", "none", "--stop", "training_iteration=3", "--stop", "loss<=-1")
        spec = json.loads(self.read("results/spec/experiment.json"))
        self.assertEqual(spec["stop"], [{"training_iteration": 3}, {"metric": "loss", "<=": -1}])

    def test_a_command_that_is_set_means_the_files_that_are_here_at_a_resume_too(self):
        spec = self.quadratic(num_samples=1)
        self.write("spec.json", spec)
        self.tune("run", "spec.json", "--progress", "none")
        self.write("again.sh", "exec " + shlex.join(spec["trainable"]["command"]) + "\n")
        self.tune("resume", "results/spec", "--num-samples", "2", "--progress", "none",
                  "--set", 'trainable/command=["sh", "again.sh"]')
        self.assertEqual([trial["state"] for trial in self.json("ls", "results/spec")], ["TERMINATED"] * 2)

    def test_an_unknown_option_gets_the_name_that_is_meant_and_no_list(self):
        for option, meant in [("--max-concurrent=3", "--max-concurrent-trials"), ("--n-trials", "--num-samples"),
                              ("--samples", "--num-samples"), ("--direction", "--mode"),
                              ("--pruner", "--scheduler"), ("--num-sampels", "--num-samples"),
                              ("--checkpoint-score", "--checkpoint-score-attribute' or '--checkpoint-score-order")]:
            with self.subTest(option=option):
                error = self.tune("run", "spec.json", option, expect=2).err
                self.assertIn(f"unknown option '{option.split('=')[0]}', did you mean '{meant}'?\n", error)
                self.assertIn("see: tune run --help\n", error)
        self.assertIn("did you mean '--trial'?", self.tune("resume", ".", "--trials", "3", expect=2).err)
        self.assertEqual(self.tune("run", "--wibble", expect=2).err,
                         "tune: unknown option '--wibble'\nsee: tune run --help\n")
        self.write("train.py", "print('loss: 1')")
        for words, where in [(["train.py", "--epochs", "3"], "tune run train.py -- --epochs 3"),
                             (["train.py", "--epochs=3", "--seed", "1"], "tune run train.py -- --epochs=3"),
                             (["--epochs", "3", "train.py"], None),
                             (["--epochs", "3", "--", "python3", "train.py"], "tune run ... -- python3 train.py --epochs 3"),
                             (["-p", "x=1", "--epochs=3", "--", "python3", "train.py"],
                              "tune run ... -- python3 train.py --epochs=3"),
                             (["spec.json", "--epochs", "3", "--", "./train", "-v"], "tune run ... -- ./train -v --epochs 3")]:
            with self.subTest(words=words):
                self.assertIn("did you mean '--stop'? An option of the program itself stands behind '--'" +
                              (f": {where}" if where else "") + "\n", self.tune("run", *words, expect=2).err)
        self.assertIn("tune run takes a spec, or a whole command behind '--': tune run -- python3 train.py --lr 3; a program that "
                      "only prints its metrics stands alone: tune run train.py -- --lr 3\n",
                      self.tune("run", "python3", "train.py", "--lr", "3", expect=2).err)
        self.assertIn("unexpected argument 'more.json'; tune run takes one spec, and the words of a command behind '--'\n",
                      self.tune("run", "spec.json", "more.json", expect=2).err)
        self.assertIn("unexpected argument 'extra'; tune run takes a spec, or a whole command behind '--': tune run -- python3 "
                      "train.py extra; a program that only prints its metrics stands alone: tune run train.py -- extra\n",
                      self.tune("run", "train.py", "extra", expect=2).err)
        self.assertIn("tune ls DIR --csv writes a row for each trial\n", self.tune("export", "x", "--csv", expect=2).err)
        self.assertEqual(self.tune("wibble", expect=2).err, "tune: unknown command 'wibble'\nsee: tune --help\n")
        self.assertIn("did you mean 'validate'?", self.tune("valid", "x", expect=2).err)

    def test_what_may_be_given_in_two_ways_is_explained_and_required_once(self):
        for command in ["note", "show", "stop"]:
            text = self.tune(command, "--help").out
            self.assertRegex(text, r"\n  --trial ID +The same as TRIAL\n")
            self.assertEqual(text.count("3 or trial_00003"), 1)
        note = self.tune("note", "--help").out
        self.assertRegex(note, r"\n  TEXT +A note to add")
        for example in ["digits 3          # prints", "--tag good,final", "--clear  # removes its notes"]:
            self.assertIn(f"  tune note results/{example}" if example[0] == "d" else example, note)

    def test_every_command_has_help_with_examples(self):
        commands = ["run", "resume", "status", "ls", "best", "checkpoints", "validate", "preview",
                    "init"]
        overview = self.tune("--help").out
        for command in commands:
            self.assertIn(f"\n  {command} ", overview)
            self.assertIn(f"  tune {command}", self.tune(command, "--help").out)
        self.assertRegex(self.tune("--version").out, r"^tune \d+\.\d+\.\d+\n$")
        self.tune(expect=2)


class BeforeARun(Case):
    def test_validate_says_everything_that_is_wrong_one_a_line(self):
        self.write("bad.json", {
            "trainable": {"command": []}, "num_samples": 0, "metirc": "loss",
            "param_space": {"lr": {"uniform": [1, 0]}}, "scheduler": "fiffo"})
        lines = self.tune("validate", "bad.json", expect=2).err.splitlines()
        for pointer in ["/trainable/command", "/num_samples", "/metirc", "/param_space/lr",
                        "/scheduler/type"]:
            with self.subTest(pointer=pointer):
                self.assertTrue([line for line in lines if line.startswith(f"bad.json: {pointer}")],
                                lines)
        self.assertEqual(self.tune("run", "bad.json", expect=2).err.splitlines(), lines)
        self.write("good.json", self.quadratic())
        self.assertEqual(self.tune("validate", "good.json").out, "valid\n")
        self.assertEqual(sorted(os.listdir(self.dir)), ["bad.json", "good.json"])

    def test_validate_says_where_json_is_broken(self):
        self.write("bad.json", '{\n  "num_samples": 1,\n}')
        self.assertIn("bad.json:3:1: ", self.tune("validate", "bad.json", expect=2).err)
        self.assertIn("absent.json", self.tune("validate", "absent.json", expect=2).err)

    def test_a_trial_that_can_never_fit_is_refused(self):
        self.write("spec.json", self.quadratic(resources_per_trial={"cpu": 100000}))
        self.assertIn("/resources_per_trial", self.tune("validate", "spec.json", expect=2).err)

    def test_preview_shows_the_very_first_trials_of_the_run_and_touches_nothing(self):
        self.write("spec.json", self.quadratic(num_samples=7, seed=5))
        preview = self.json("preview", "spec.json", "--resources", "cpu=3")
        self.assertEqual(os.listdir(self.dir), ["spec.json"])
        self.assertEqual((preview["trials"], preview["at_once"]), (7, 3))
        self.assertEqual(preview["resources"]["cpu"]["total"], 3)
        self.assertEqual(len(preview["configs"]), 5)
        self.tune("run", "spec.json", "--progress", "none")
        run = [trial["config"] for trial in self.json("ls", "results/spec")]
        self.assertEqual(preview["configs"], run[:5])
        other = self.json("preview", "spec.json", "--seed", "6")["configs"]
        self.assertNotEqual(other, preview["configs"])
        self.assertIn("trial_00004", self.tune("preview", "spec.json").out)

    def test_no_example_searches_a_seed(self):
        for spec in ("digits/experiment.json", "pbt_toy/grid.json", "pbt_toy/pbt.json"):
            with open(os.path.join(os.environ["EXAMPLES"], spec), encoding="utf-8") as file:
                for name, domain in json.load(file)["param_space"].items():
                    if "seed" in name and isinstance(domain, dict):
                        self.assertEqual(list(domain), ["randseed"], f"{spec}: {name}")

    def test_init_writes_a_spec_that_validates_and_never_overwrites(self):
        self.tune("init")
        self.assertIn("//", self.read("spec.json"))
        self.assertIn("there is no file 'train.py'",
                      self.tune("validate", "spec.json", expect=2).err)
        self.write("train.py", "")
        self.tune("validate", "spec.json")
        self.write("mine.json", "precious")
        self.assertIn("mine.json", self.tune("init", "mine.json", expect=2).err)
        self.assertEqual(self.read("mine.json"), "precious")


class Plugins(Case):
    def spec(self):
        return {"trainable": {"command": TROUBLED}, "num_samples": 2,
                "param_space": {"iterations": 50},
                "stop": {"type": "after_results", "results": 4},
                "callbacks": [{"type": "diary", "file": self.path("diary.txt")}]}

    def test_a_plugins_stopper_and_callback_take_part(self):
        self.write("spec.json", self.spec())
        self.tune("run", "spec.json", "--plugin", PLUGIN, "--progress", "none")
        self.assertEqual(sorted(self.read("diary.txt").splitlines()),
                         ["trial_00000 ended at 4", "trial_00001 ended at 4"])
        # Looking needs no plugin, going on does: the experiment remembers which.
        self.assertEqual(len(self.json("ls", "results/spec")), 2)
        self.tune("resume", "results/spec")
        # What the callback saved when the first driver left is given back to the second's.
        self.assertEqual(self.read("diary.txt").splitlines()[2:], ["2 ended before"])

    def test_a_spec_may_name_its_plugins_from_where_it_is_and_another_wins(self):
        os.makedirs(self.path("sub"))
        shutil.copy(PLUGIN, self.path("sub/libmine.so"))
        self.write("sub/spec.json", {**self.spec(), "plugins": ["libmine.so"]})
        self.tune("run", "sub/spec.json", "--progress", "none")
        os.remove(self.path("sub/libmine.so"))
        self.assertIn("libmine.so", self.tune("resume", "results/spec", expect=2).err)
        self.tune("resume", "results/spec", "--plugin", PLUGIN)
        self.tune("resume", "results/spec")
        self.write("bad.json", {**self.spec(), "plugins": "libmine.so"})
        self.assertIn("/plugins: plugins must be a list",
                      self.tune("validate", "bad.json", expect=2).err)

    def test_a_plugins_options_are_checked_with_the_rest(self):
        self.write("spec.json", {**self.spec(), "stop": {"type": "after_results", "results": 0}})
        error = self.tune("validate", "--plugin", PLUGIN, "spec.json", expect=2).err
        self.assertIn("spec.json: /stop/results: ", error)

    def test_a_scheduler_that_does_what_it_may_not_ends_the_run_and_nothing_is_lost(self):
        for fault, code, expected in [
                ("throws", 3, "a policy, or the driver itself, failed: no idea what to do"),
                ("itself", 2, "the scheduler .* trial_00000: it cannot be its own donor"),
                ("unknown donor", 2, "the scheduler .* there is no trial_04711"),
                ("no config", 2, "the scheduler .* its config is no JSON object"),
                ("unknown order", 2, "the scheduler .* an order for trial_04711, which there is not")]:
            with self.subTest(fault=fault):
                name = fault.replace(" ", "_")
                self.write("spec.json", {**self.spec(), "name": name, "max_concurrent_trials": 2,
                                         "scheduler": {"type": "rogue", "fault": fault}})
                error = self.tune("run", "spec.json", "--plugin", PLUGIN, "--progress", "none",
                                  expect=code).err
                self.assertRegex(error, expected)
                status = self.json("status", f"results/{name}")
                self.assertIsNone(status["driver"])
                self.assertGreaterEqual(status["results"], 1)

    def test_what_is_no_plugin_of_this_program_is_refused(self):
        self.write("spec.json", self.spec())
        for plugins, expected in [
                ([OUTDATED_PLUGIN], r"interface 0, .* interface \d"),
                ([PLUGIN, PLUGIN], "'failing', but there is one already"),
                (["absent.so"], "absent.so"), (["spec.json"], "spec.json")]:
            options = [word for plugin in plugins for word in ("--plugin", plugin)]
            with self.subTest(plugins=plugins):
                error = self.tune("validate", "spec.json", *options, expect=2).err
                self.assertRegex(error, expected)


if __name__ == "__main__":
    main()
