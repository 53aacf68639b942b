"""Programs that know nothing of tune are tuned as they are."""
import json
import os
import signal
import subprocess
import sys
import time

from cli_support import LIMIT_S, TUNE, Case, main

TRAIN = """
import argparse, time
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, required=True)
parser.add_argument("--epochs", type=int, default=8)
parser.add_argument("--sleep", type=float, default=0)
arguments = parser.parse_args()
for epoch in range(arguments.epochs):
    time.sleep(arguments.sleep)
    print(f"epoch {epoch + 1}/{arguments.epochs} - loss: 0.1 - val_loss: {arguments.lr / (epoch + 1):.6f}")
"""
STUBBORN = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + TRAIN


class Plain(Case):
    def setUp(self):
        super().setUp()
        self.write("train.py", TRAIN)

    def run_program(self, *options, program="train.py", expect=0):
        return self.tune("run", program, "--metric", "val_loss", "--mode", "min", "--progress", "none",
                         "-p", "lr=uniform:0.1,1", *options, expect=expect)

    def rows(self, name, trial):
        path = self.path("results", name, f"trial_{trial:05}", "result.json")
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def test_a_script_is_tuned_without_any_file_beside_it(self):
        done = self.run_program("-p", "epochs=3", "--num-samples", "4")
        self.assertIn("4 trials, 4 completed", done.out)
        for trial, row in enumerate(self.json("ls", "results/train")):
            rows = self.rows("train", trial)
            self.assertEqual([each["training_iteration"] for each in rows], [1, 2, 3])
            lr = row["config"]["lr"]
            self.assertEqual([each["val_loss"] for each in rows],
                             [round(lr / (i + 1), 6) for i in range(3)])

    def test_a_script_whose_name_is_misspelt_is_asked_for(self):
        self.assertEqual(self.refused("run", "./trian.py", "--metric", "val_loss", "--mode", "min"),
                         "tune: there is no file './trian.py', did you mean './train.py'?")

    def test_arguments_of_the_program_stand_behind_two_hyphens(self):
        self.run_program("--num-samples", "1", "--", "--epochs", "2")
        self.assertEqual(len(self.rows("train", 0)), 2)

    def test_an_option_of_tune_behind_the_hyphens_is_noticed(self):
        done = self.run_program("--num-samples", "1", "--", "--max-failures", "2", "--epochs", "2",
                                expect=1)
        self.assertIn("'--max-failures' stands behind \"--\" and goes to the program", done.err)
        self.assertNotIn("'--epochs'", done.err)

    def test_a_program_in_path_is_named_without_its_path(self):
        os.mkdir(self.path("bin"))
        self.write("bin/my-trainer", "#!/bin/sh\necho \"val_loss: 0.5 $*\"\n")
        os.chmod(self.path("bin/my-trainer"), 0o755)
        self.tune("run", "my-trainer", "--metric", "val_loss", "--mode", "min", "-p", "lr=0.5", "--num-samples", "1",
                  "--progress", "none", PATH=self.path("bin") + os.pathsep + os.environ["PATH"])
        self.assertEqual(self.read("results/my-trainer/trial_00000/stdout.log"), "val_loss: 0.5 --lr=0.5\n")
        self.assertIn("cannot read my-trainer", self.tune("run", "my-trainer", expect=2).err)

    def test_numbers_reach_it_as_typed_and_helpers_of_expressions_do_not(self):
        self.write("said.py", "import sys\nprint(sys.argv[1:])\nprint('loss: 1')\n")
        self.write("said.json", {"trainable": {"command": [sys.executable, "said.py"], "plain": {}},
                                 "metric": "loss", "mode": "min"})
        space = ["-p", "version=3.10", "-p", "lr=choice:1e3", "-p", "layers=quniform:7,8,1",
                 "-p", "_base=2", "-p", "twice=expr:2 * _base"]
        self.tune("run", "said.json", "--name", "typed", *space, "--progress", "none")
        with open(self.path("results", "typed", "trial_00000", "stdout.log"), encoding="utf-8") as log:
            self.assertRegex(log.readline(), r"^\['--layers=[78]', '--lr=1e3', '--twice=4', '--version=3.10'\]$")
        shown = json.loads(self.tune("show", "results/typed", "0", "--json").out)
        self.assertEqual(shown["config"]["lr"], 1000)

    def test_a_spec_with_plain_needs_no_words_and_runs_where_the_spec_is(self):
        os.mkdir(self.path("project"))
        self.write("project/train.py", "open('here.txt')\n" + TRAIN)
        self.write("project/here.txt", "")
        self.write("project/spec.json", {
            "trainable": {"command": [sys.executable, "train.py"],
                          "plain": {"metrics": {"epoch": r"epoch (\d+)/"}}},
            "param_space": {"lr": {"uniform": [0.1, 1]}}, "metric": "val_loss", "mode": "min"})
        self.tune("run", "project/spec.json", "--progress", "none")
        self.assertEqual([row["epoch"] for row in self.rows("spec", 0)], list(range(1, 9)))

    def test_a_domain_with_a_slip_of_the_pen_is_no_text(self):
        for given, sentence in (("epochs=chioce:1,2", "-p: unknown domain 'chioce', did you mean 'choice'?"),
                                ("lr=loguni:1e-3,1", "-p: unknown domain 'loguni', did you mean 'loguniform'?"),
                                ("lr=uniform", "has no arguments: uniform:0,1"),
                                ("lr=choice:", "has no arguments: choice:16,32"),
                                ("x=choice:1,2,", "-p: a value is missing beside a comma in 'choice:1,2,'"),
                                ("x=uniform:,1", "-p: a value is missing beside a comma in 'uniform:,1'"),
                                ("x=4,8,16", "choice:4,8,16 draws one of the values, grid_search:4,8,16 tries each"),
                                ("optimizer=sgd, adam", "a text is given as JSON: '\"sgd, adam\"'"),
                                ("x=int:4,8", "-p: unknown domain 'int', did you mean 'randint'?"),
                                ("x=normal:0,1", "-p: unknown domain 'normal', did you mean 'randn'?"),
                                ("x=range:", "-p: unknown domain 'range', did you mean 'randint'?"),
                                ("x=range:0.1,1", "-p: unknown domain 'range', did you mean 'uniform'?"),
                                ("x=logrange:1e-3,1", "-p: unknown domain 'logrange', did you mean 'loguniform'?"),
                                ("x=const:4", "-p: a value stands alone, 4, got 'const:4'"),
                                ("x=categorical:a,b", "-p: unknown domain 'categorical', did you mean 'choice'?"),
                                ("x=1e-4:0.1", "-p: a range is written uniform:1e-4,0.1, or loguniform"),
                                ("--lr=uniform:0,1", "named without hyphens: -p lr=uniform:0,1; the program gets --lr=VALUE")):
            for command in ("run", "validate", "preview"):
                done = self.tune(command, "train.py", "--metric", "val_loss", "--mode", "min", "-p", given, expect=2)
                self.assertIn(sentence, done.err)

    def test_a_domain_in_words_is_no_text_behind_set_either(self):
        program = ["train.py", "--metric", "val_loss", "--mode", "min", "--set"]
        for command in ("run", "preview"):
            done = self.tune(command, *program, "param_space/lr=loguniform:1e-3,1", expect=2)
            self.assertIn("a domain in words is for -p: -p lr=loguniform:1e-3,1; here it is JSON: "
                          '{"loguniform":[0.001,1]}', done.err)
        for text in ('"loguniform:1e-3,1"', "http://a:80", "cuda:0"):
            seen = self.json("preview", *program, "param_space/x=" + text)["configs"][0]
            self.assertEqual(seen, {"x": text.strip('"')})

    def test_an_empty_text_that_is_quoted_is_one_of_the_values(self):
        for given in ('x=choice:""', 'x=choice:[""]'):
            seen = self.json("preview", "train.py", "--metric", "val_loss", "--mode", "min", "-p", given)["configs"][0]
            self.assertEqual(seen, {"x": ""})

    def test_texts_that_look_a_little_like_lists_are_texts(self):
        texts = {"a": '"4,8,16"', "b": "Hello, my world", "c": "localhost:8080", "d": "cuda:0", "e": "a,,b", "f": "x:y"}
        space = [word for name, text in texts.items() for word in ("-p", f"{name}={text}")]
        seen = self.json("preview", "train.py", "--metric", "val_loss", "--mode", "min", *space)["configs"][0]
        self.assertEqual(seen, {name: text.strip('"') for name, text in texts.items()})

    def test_before_a_run_it_is_said_that_nothing_is_drawn_and_how_a_flag_is_written(self):
        objective = ["train.py", "--metric", "val_loss", "--mode", "min", "--num-samples", "3"]
        for space, sentence in ((["-p", "lr=0.1"], "-p lr: nothing in param_space is drawn"),
                                (["-p", "lr=uniform:0,1", "-p", "amp=choice:true,false"],
                                 "-p amp: the program gets --amp=true or --amp=false")):
            for command in ("validate", "preview"):
                self.assertIn(sentence, self.tune(command, *objective, *space).out)
                self.assertIn(sentence, self.json(command, *objective, *space)["notices"][0]["message"])

    def test_words_in_the_environment_and_a_shell_script(self):
        self.write("train.sh", '#!/bin/sh\nprintf "\\r 1/2 acc=0.$N"; sleep 0.1\n'
                               'printf "\\r\\033[1m 2/2 acc=0.9\\033[0m\\n"\n')
        os.chmod(self.path("train.sh"), 0o755)
        self.tune("run", "--metric", "acc", "--mode", "max", "-p", "n=choice:4", "--name", "exp",
                  "--env", "N=${config.n}", "--progress", "none", "--", "./train.sh")
        self.assertEqual([row["acc"] for row in self.rows("exp", 0)], [0.4, 0.9])

    def test_an_iteration_takes_as_long_as_its_program_took_whenever_it_is_known_to_be_one(self):
        # A line of a test counts once the next one has come, as one of training may be behind it.
        self.write("tests.sh", "for i in 1 2 3; do sleep 0.4; echo \"Test val_loss: 0.$i\"; done")
        self.run_program("--num-samples", "1", program="tests.sh")
        rows = self.rows("tests", 0)
        self.assertEqual([row["val_loss"] for row in rows], [0.1, 0.2, 0.3])
        for row in rows:
            self.assertGreater(row["time_this_iter_s"], 0.35, rows)
        self.assertAlmostEqual(rows[2]["time_total_s"], sum(row["time_this_iter_s"] for row in rows))

    def test_schedulers_stop_it_early(self):
        self.run_program("-p", "sleep=0.05", "--num-samples", "8", "--scheduler", "asha",
                         "--stop", "training_iteration=6")
        ended = [row["training_iteration"] for row in self.json("ls", "results/train")]
        self.assertIn(1, ended)
        self.assertIn(6, ended)

    def test_one_that_ignores_sigterm_is_ended_and_its_late_results_are_nobodys(self):
        self.write("stubborn.py", STUBBORN)
        begin = time.monotonic()
        self.run_program("-p", "sleep=0.05", "-p", "epochs=100000", "--stop", "training_iteration=3",
                         "--stop-grace-s", "0.3", program="stubborn.py")
        self.assertLess(time.monotonic() - begin, 60)
        self.assertEqual(len(self.rows("stubborn", 0)), 3)

    def test_a_metric_that_never_comes_is_named_with_those_that_did(self):
        done = self.tune("run", "train.py", "--metric", "valloss", "--mode", "min", "-p", "lr=0.5",
                         "--progress", "none", expect=1)
        two = self.tune("run", "train.py", "--metric", "valloss", "--mode", "min", "-p", "lr=uniform:0,1", "--name", "two",
                        "--num-samples", "2", "--progress", "none", expect=1)
        self.assertIn("never had a number for the metric 'valloss', did you mean 'val_loss'?", done.err)
        self.assertIn("names that were seen: loss, val_loss", done.err)
        # No resume mends that, and no config has done it.
        self.assertIn("2 trials, which never printed 'valloss'; to try the same again ends the same: run it under another --name",
                      " ".join(self.tune("status", "results/two").out.split()))
        self.assertNotIn("--errored", two.out + two.err)
        self.assertNotIn("its config", two.out)
        self.write("blanks.py", "print('epoch 1 accuracy 0.5')")
        done = self.tune("run", "blanks.py", "--metric", "val acc", "--mode", "max", "--progress", "none", expect=1)
        self.assertIn("names that were seen: accuracy ('accuracy' is the nearest)", done.err)
        self.assertRegex(self.tune("status", "results/train").out,
                         "first failure +trial_00000: it ended, .* the metric 'valloss', did you mean 'val_loss'[?]")

    def test_what_a_run_notices_of_a_running_program_its_status_says_too(self):
        self.write("slow.py", "import time\nfor i in range(250): print(f'val acc is {i / 100} time 5', flush=True)\ntime.sleep(60)")
        driver = subprocess.Popen([TUNE, "run", "slow.py", "--metric", "val_accuracy", "--mode", "max", "--progress", "none"],
                                  cwd=self.dir, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.addCleanup(driver.wait)
        self.addCleanup(driver.kill)
        until = time.monotonic() + LIMIT_S
        while '"val +acc +is +(' not in (said := self.tune("status", "results/slow", expect=None).out):
            self.assertLess(time.monotonic(), until, said)
            time.sleep(0.05)

    def test_who_may_not_know_its_arguments_is_told_of_other_ways_to_give_them(self):
        hint = "docs/plain.md, The config, has the other ways"
        self.write("refuses.py", "import sys\nsys.exit('error: unrecognized arguments: ' + ' '.join(sys.argv[1:]))")
        self.write("late.py", "import sys\nprint('loss: 1')\nsys.exit(3)")
        self.write("mistaken.py", "import no_such_module")
        self.write("calls.py", "def train(): pass\ntrain(lr=1)")
        self.write("takes.py", TRAIN.replace("type=float", "type=int"))
        self.write("text.py", "import sys\nfloat(sys.argv[1])")
        for program, is_told in (("refuses.py", True), ("text.py", True), ("late.py", False), ("mistaken.py", False),
                                 ("calls.py", False), ("takes.py", False)):
            done = self.tune("run", "--name", program, "-p", "lr=uniform:0,1", "--metric", "loss", "--mode", "min", "--num-samples", "2",
                             "--progress", "none", "--", sys.executable, program, "${args}", expect=1)
            self.assertEqual(hint in " ".join((done.out + done.err).split()), is_told, done.out + done.err)

    def test_a_program_that_fails_is_told_by_its_exit(self):
        done = self.tune("run", "train.py", "--metric", "val_loss", "--mode", "min", "-p", "lr=fast",
                         "--progress", "none", expect=1)
        self.assertIn("it exited with code 2", done.err)
        self.assertIn("invalid float value: 'fast'", done.err)

    def test_a_program_without_plain_hears_of_it_where_it_says_no_hello(self):
        done = self.tune("run", "--metric", "val_loss", "--mode", "min", "-p", "x=1", "--name", "exp",
                         "--progress", "none", "--", sys.executable, "train.py", "--lr=1", expect=1)
        self.assertIn("write ${args} at the end of its command", done.err)

    def test_a_script_that_fails_before_it_says_hello_is_told_how_to_be_run_as_it_is(self):
        done = self.tune("run", "--metric", "val_loss", "--mode", "min", "-p", "lr=uniform:0.1,1", "--num-samples", "2",
                         "--", sys.executable, "train.py", expect=1)
        self.assertEqual(done.out.count("ended before it said hello"), 1)
        self.assertIn("is run as it is by `tune run SCRIPT`", done.out)

    def test_what_no_resume_can_mend_is_not_to_be_resumed(self):
        done = self.tune("run", "--metric", "loss", "--mode", "min", "-p", "lr=uniform:0.1,1", "--num-samples", "1",
                         "--name", "silent", "--", "true", expect=1)
        self.assertNotIn("--errored", done.out)
        self.assertIn("run it under another --name", done.out)

    def test_of_what_is_not_finite_nothing_is_ahead(self):
        self.write("odd.py", "import sys\nprint('loss:', sys.argv[1].split('=')[1])\n")
        self.tune("run", "odd.py", "--metric", "loss", "--mode", "min", "-p", "v=grid_search:nan,inf", "--progress", "none")
        self.assertIn("none is ahead", self.tune("compare", "results/odd", "0", "1").out)

    def test_the_run_and_all_commands_name_the_same_best_trial(self):
        # Equal ones, and one that is infinitely good.
        self.write("equal.py", "import sys\nprint('loss:', ['0.5', '-inf', '0.4', '0.4'][int(sys.argv[1].split('=')[1])])")
        done = self.tune("run", "equal.py", "--metric", "loss", "--mode", "min", "-p", "x=grid_search:0,1,2,3", "--progress", "lines")
        self.assertIn("best loss 0.4 by trial_00002", done.out)
        self.assertRegex(done.out, "best trial +trial_00002\n")
        directory = "results/equal"
        self.assertEqual([self.json("best", directory)["trial_id"], self.json("status", directory)["best"]["trial_id"],
                          self.json("ls", directory, "--sort", "best")[0]["trial_id"],
                          self.json("best", directory, "--over-time")["improvements"][-1]["trial_id"]], ["trial_00002"] * 4)
        self.assertIn("of trial_00002 at iteration 1", self.tune("report", directory, "--html", "equal.html").out)

    def test_each_iteration_is_kept_once_when_the_driver_is_killed_again_and_again(self):
        command = [TUNE, "run", "train.py", "--metric", "val_loss", "--mode", "min", "--progress", "none",
                   "-p", "lr=uniform:0.1,1", "-p", "sleep=0.05", "--num-samples", "4", "--resume", "auto"]
        for pause in (0.3, 0.5, 0.8):
            driver = subprocess.Popen(command, cwd=self.dir, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
            time.sleep(pause)
            driver.send_signal(signal.SIGKILL)
            driver.wait()
        subprocess.run(command, cwd=self.dir, check=True, capture_output=True, timeout=LIMIT_S)
        for trial in range(4):
            self.assertEqual([row["training_iteration"] for row in self.rows("train", trial)],
                             list(range(1, 9)))

    def test_what_a_plain_program_cannot_do_is_said(self):
        self.assertIn("those of this plain program are not known", self.run_program(
            "--scheduler", '{"type": "pbt", "hyperparam_mutations": {"lr": {"uniform": [0, 1]}}}',
            expect=2).err)
        self.assertIn("nobody has said where it saves",
                      self.tune("check", "train.py", "--metric", "val_loss", "--mode", "min", "-p", "lr=0.1").out)
        self.assertIn("there is no file", self.run_program(program="none.py", expect=2).err)
        self.assertRegex(self.tune("run", "train.py", "--metric", "loss", "-p", "lr=0.1", expect=2).err,
                         "^--mode: metric 'loss' needs a mode")


if __name__ == "__main__":
    main()
