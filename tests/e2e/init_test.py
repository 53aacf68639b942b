"""`tune init --from` makes a spec of what a program says of itself."""
import json
import os
import signal
import subprocess
import time

from cli_support import LIMIT_S, TUNE, Case, main
from docs_page import without_comments

TRAIN = """
import argparse
parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
parser.add_argument("--lr", type=float, default=0.01, help="learning rate")
parser.add_argument("--batch-size", type=int, default=64, help="images at a time")
parser.add_argument("--dropout", type=float, default=0.1, help="part that is left out")
parser.add_argument("--optimizer", choices=["sgd", "adam"], default="sgd", help="which one")
parser.add_argument("--nesterov", action="store_true", help="use it")
parser.add_argument("--seed", type=int, default=0, help="of all numbers")
parser.add_argument("--output-dir", default="out", help="where the model goes")
arguments = parser.parse_args()
print(f"val_loss: {arguments.lr * arguments.batch_size}")
"""


class Init(Case):
    def setUp(self):
        super().setUp()
        self.write("train.py", TRAIN)

    def spec(self, name="spec.json"):
        return json.loads(without_comments(self.read(name)))

    def test_the_spec_is_valid_and_runs_as_it_is(self):
        self.tune("init", "--from", "train.py", "--metric", "val_loss")
        spec = self.spec()
        self.assertEqual(spec["trainable"], {"command": ["python3", "train.py", "${args}"], "plain": {}})
        self.assertEqual(spec["param_space"], {"lr": {"loguniform": [0.001, 0.1]}})
        self.assertEqual((spec["metric"], spec["mode"]), ("val_loss", "min"))
        self.assertEqual(self.tune("validate", "spec.json").out, "valid\n")
        done = self.tune("run", "spec.json", "--num-samples", "2", "--progress", "none")
        self.assertIn("2 trials, 2 completed", done.out)

    def test_flags_with_an_opposite_have_a_word_of_their_own(self):
        self.write("flags.py", "import argparse\nparser = argparse.ArgumentParser()\n"
                   "parser.add_argument('--augment', action=argparse.BooleanOptionalAction, default=True)\n"
                   "parser.add_argument('--lr', type=float, default=0.1)\nprint(parser.parse_args())\n")
        text = self.tune("init", "--from", "flags.py", "-").out
        self.assertIn("Flags with an opposite, --no-...,", text)
        self.assertIn("${args_boolean_optional}", text)
        self.assertNotIn("${args_no_boolean_flags}", text)

    def test_each_other_number_and_choice_is_there_behind_slashes(self):
        text = self.tune("init", "--from", "train.py", "-").out
        for line in ['// "batch-size": {"choice": [16, 32, 64, 128, 256]},  // images at a time',
                     '// "dropout": {"uniform": [0, 0.9]},  // part that is left out',
                     '// "optimizer": {"choice": ["sgd", "adam"]},  // which one',
                     '// "nesterov": {"choice": [false, true]},  // use it']:
            self.assertIn(line, text)
        self.assertIn("${args_no_boolean_flags}", text)
        self.assertIn("Left out, as no hyperparameters: --seed, --output-dir.", text)
        self.assertIn('"--output-dir=${trial_dir}/output-dir"', text)
        # With all slashes away it is a spec all the same.
        self.write("all.json", text.replace('    // "', '    "').replace("${args}", "${args_no_boolean_flags}"))
        self.tune("validate", "all.json")
        self.assertEqual(set(self.spec("all.json")["param_space"]),
                         {"lr", "batch-size", "dropout", "optimizer", "nesterov"})
        self.tune("run", "all.json", "--metric", "val_loss", "--mode", "min", "--num-samples", "4",
                  "--progress", "none")

    def test_an_option_to_go_on_by_is_no_place_to_save_in(self):
        def notes(*options):
            lines = "".join(f"parser.add_argument({option})\n" for option in options)
            self.write("save.py", "import argparse\nparser = argparse.ArgumentParser()\n"
                       f"parser.add_argument('--lr', type=float, default=0.1)\n{lines}print(parser.parse_args())\n")
            text = self.tune("init", "--from", "save.py", "-").out
            return " ".join(line.strip().removeprefix("//").strip() for line in text.splitlines())

        out = "'--out-dir', default='out'"
        self.assertIn("If it saves in the directory of --out-dir, and goes on from what it finds there,", notes(out))
        both = notes(out, "'--resume', default='', metavar='PATH'")
        self.assertIn("If it saves in the directory of --out-dir, \"--out-dir=${checkpoint_dir}\"", both)
        self.assertIn('To go on it needs --resume: {"checkpoints": "NAME", "resume": ["--resume","${checkpoint}"]} '
                      'as "plain"', both)
        self.assertIn('"resume": ["--resume"]} as "plain"', notes(out, "'--resume', action='store_true'"))
        self.assertIn('{"working_directory": "trial", "checkpoints": "NAME", "resume": '
                      '["--resume-from","${checkpoint}"]}', notes("'--resume-from'"))

    def test_no_line_is_wider_than_a_page(self):
        self.write("wide.py", TRAIN.replace("learning rate", "a learning rate that äöü " * 30))
        text = self.tune("init", "--from", "wide.py", "-").out
        self.assertLessEqual(max(len(line.encode()) for line in text.splitlines()), 100)
        self.assertIn("... (default: 0.01)", text)

    def test_what_is_required_is_searched_or_named(self):
        self.write("train.py", 'import argparse\nparser = argparse.ArgumentParser()\n'
                               'parser.add_argument("folder")\nparser.add_argument("more", nargs="*")\nparser.add_argument("--lr", type=float)\n'
                               'parser.add_argument("--layers", type=int, required=True)\n'
                               'parser.add_argument("--data", required=True)\nparser.parse_args()\n')
        self.tune("init", "--from", "train.py")
        self.assertEqual(set(self.spec()["param_space"]), {"lr", "layers"})
        self.assertIn("It does not start without folder, --data. Write a value wherever ${fill_in} stands.", self.read("spec.json"))
        self.assertEqual(self.spec()["trainable"]["command"], ["python3", "train.py", "${fill_in}", "--data=${fill_in}", "${args}"])
        self.assertIn("/trainable/command/2: write the value that the program needs in the place of '${fill_in}'",
                      self.tune("validate", "spec.json", expect=2).err)
        self.assertIn("wrote again.json; edit it, and write what train.py needs in the place of ${fill_in} (folder, --data), then: ",
                      self.tune("init", "--from", "train.py", "again.json").out)
        self.assertEqual(self.json("init", "--from", "train.py", "more.json")["to_fill_in"], ["folder", "--data"])
        self.assertIn("It takes arguments without a name, too: more.", self.read("spec.json"))
        self.tune("init", "--from", "train.py", "given.json", "--", "x", "--data", "mnist")
        self.assertEqual(self.spec("given.json")["trainable"]["command"],
                         ["python3", "train.py", "x", "--data", "mnist", "${args}"])
        self.assertNotIn("It does not start without", self.read("given.json"))
        self.assertNotIn("fill_in", self.read("given.json"))

    def test_a_command_of_the_program_stands_behind_two_hyphens(self):
        self.write("train.py", 'import argparse\nparser = argparse.ArgumentParser()\n'
                               'commands = parser.add_subparsers()\n'
                               'commands.add_parser("fit").add_argument("--lr", type=float, default=0.1)\n'
                               'parser.parse_args()\n')
        self.assertIn("tune init --from train.py -- fit", self.refused("init", "--from", "train.py"))
        self.tune("init", "--from", "train.py", "--", "fit")
        self.assertEqual(self.spec()["trainable"]["command"], ["python3", "train.py", "fit", "${args}"])
        self.assertEqual(list(self.spec()["param_space"]), ["lr"])

    def test_other_programs_are_started_as_run_starts_them(self):
        self.write("train.sh", "echo \"  --lr LR  rate (default: 0.1)\"\n")
        self.tune("init", "--from", "train.sh", "shell.json")
        self.assertEqual(self.spec("shell.json")["trainable"]["command"], ["bash", "train.sh", "${args}"])
        self.write("train", "#!/bin/sh\necho \"  --lr LR  rate (default: 0.1)\" >&2\nexit 1\n")
        os.chmod(self.path("train"), 0o755)
        self.tune("init", "--from", "train", "program.json")
        self.assertEqual(self.spec("program.json")["trainable"]["command"], ["./train", "${args}"])
        self.tune("validate", "program.json")
        os.mkdir(self.path("specs"))
        self.tune("init", "--from", "train", "specs/there.json")
        self.tune("validate", "specs/there.json")

    def test_a_file_that_exists_is_left_alone_and_the_program_is_not_run_for_it(self):
        self.write("spec.json", "precious")
        self.write("train.py", "open('was_run', 'w')")
        self.assertIn("spec.json exists already", self.refused("init", "--from", "train.py"))
        self.assertEqual(self.read("spec.json"), "precious")
        self.assertFalse(os.path.exists(self.path("was_run")))

    def test_what_prints_no_help_is_refused_with_its_last_lines(self):
        for program, expected in [
                ("raise SystemExit('no such thing')", ["exited with code 1", "\n  no such thing\n"]),
                ("print('epoch 1')", ["no options were found", "exited with code 0", "\n  epoch 1\n"]),
                ("import os\nos.kill(os.getpid(), 11)", ["ended by signal 11", "it printed nothing"]),
                ("while True: print('x' * 5000)", ["killed after 1 MiB of it"]),
                ("import os\nos.write(1, os.urandom(1 << 20))", ["no options were found"])]:
            with self.subTest(program=program):
                self.write("train.py", program)
                error = self.tune("init", "--from", "train.py", expect=2).err
                for words in expected:
                    self.assertIn(words, error)
                self.assertFalse(os.path.exists(self.path("spec.json")))

    def test_an_interpreter_that_is_not_there_is_named(self):
        self.assertEqual(self.tune("init", "--from", "train.py", expect=2, PATH="/nowhere").err,
                         "tune: cannot start 'python3': No such file or directory\n")

    def test_one_that_does_not_end_is_killed_with_all_that_it_has_started(self):
        self.write("train.py", "import subprocess, sys\nprint('epoch 1', flush=True)\n"
                               "child = subprocess.Popen(['sleep', '1000'])\n"
                               "print(child.pid, file=open('pid', 'w'), flush=True)\nchild.wait()\n")
        error = self.tune("init", "--from", "train.py", "--timeout", "2", expect=2).err
        self.assertIn("had not ended after 2 s and was killed", error)
        self.assertIn("notice: waiting for python3 train.py --help, at most 2 s", error)
        self.wait_until_gone(int(self.read("pid")))

    def test_an_interrupt_ends_the_program_too(self):
        self.write("train.py", "import os, time\nprint(os.getpid(), file=open('pid', 'w'), flush=True)\n"
                               "time.sleep(1000)\n")
        init = subprocess.Popen([TUNE, "init", "--from", "train.py", "--timeout", "200"], cwd=self.dir,
                                stderr=subprocess.DEVNULL)
        while not os.path.exists(self.path("pid")) or not self.read("pid"):
            time.sleep(0.01)
        init.send_signal(signal.SIGINT)
        self.assertEqual(init.wait(LIMIT_S), -signal.SIGINT)
        self.wait_until_gone(int(self.read("pid")))

    def wait_until_gone(self, pid):
        until = time.monotonic() + LIMIT_S
        while os.path.exists(f"/proc/{pid}"):
            with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
                if stat.read().rpartition(") ")[2].startswith("Z"):
                    return
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)

    def test_the_end_of_the_program_counts_not_that_of_what_it_has_started(self):
        self.write("train.py", "import subprocess\nsubprocess.Popen(['sleep', '1000'])\n" + TRAIN)
        self.tune("init", "--from", "train.py", "--timeout", "100")

    def test_the_mode_goes_by_the_metrics_name_or_is_asked_for(self):
        for metric, mode in [("val_loss", "min"), ("eval_accuracy", "max"), ("RMSE", "min")]:
            self.tune("init", "--from", "train.py", f"{metric}.json", "--metric", metric)
            self.assertEqual(self.spec(f"{metric}.json")["mode"], mode)
        self.assertIn("--mode min or --mode max",
                      self.refused("init", "--from", "train.py", "--metric", "q"))
        self.tune("init", "--from", "train.py", "--metric", "q", "--mode", "max")
        self.assertEqual(self.spec()["mode"], "max")

    def test_options_about_a_program_need_one(self):
        self.assertIn("--metric goes with --from", self.refused("init", "--metric", "loss"))
        self.assertIn("goes with --from", self.refused("init", "--", "python3", "train.py"))
        self.assertIn("there is no file", self.refused("init", "--from", "none.py"))
        self.assertIn("is no program", self.refused("init", "--from", self.write("data.txt", "x")))

    def test_a_sweep_of_another_tool_becomes_a_spec_that_is_right(self):
        self.write("fit.py", "print('val_loss: 0.5')\n")
        self.write("sweep.yaml", """
program: fit.py
method: random
name: widths
metric: {name: val_loss, goal: minimize}
defaults: &bounds {min: 1, max: 4}
parameters:
  lr: {distribution: log_uniform_values, min: 1e-4, max: .1}
  layers:
    <<: *bounds
  name: {values: ["1", one, true, null]}
  odd: {distribution: beta, a: 1, b: 2}
run_cap: 3
""")
        out = self.tune("init", "--from", "sweep.yaml", "made.json").out
        self.assertEqual(self.spec("made.json")["param_space"],
                         {"lr": {"loguniform": [1e-4, 0.1]}, "layers": {"randint": [1, 5]},
                          "name": {"choice": ["1", "one", True, None]}})
        self.assertEqual(self.spec("made.json")["name"], "widths")
        self.assertIn("not the same: odd is left out", out)
        self.assertIn("not the same: defaults is left out", out)
        self.assertEqual(self.tune("validate", "made.json").err, "")
        self.tune("run", "made.json")
        self.assertEqual(len(self.json("ls", "results/widths")), 3)

    def test_a_file_that_is_no_sweep_is_refused(self):
        for text, words in [("a: [1, 2", "is no YAML"), ("[" * 100 + "]" * 100, "deeper than 64 levels"),
                            ("a: 1\na: 2", 'has the key "a" a second time'), ("a: 1", "neither a sweep of W&B"),
                            ("a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
                                f"{b}: &{b} [{', '.join(['*' + a] * 10)}]\n" for a, b in zip("abcdef", "bcdefg")),
                             "more than 100,000 values"), ("", "0 documents"), ("? {a: 1}\n: 2", "a key that is no text")]:
            self.write("sweep.yaml", text)
            self.assertIn(words, self.refused("init", "--from", "sweep.yaml"), text[:40])
        self.assertIn("cannot read none.yaml", self.refused("init", "--from", "none.yaml"))

    def test_an_option_called_like_a_domain_is_no_hyperparameter(self):
        self.write("train.py", TRAIN.replace("--dropout", "--uniform").replace("dropout", "uniform"))
        self.tune("init", "--from", "train.py")
        self.assertIn("does not say enough: --uniform.", self.read("spec.json"))


if __name__ == "__main__":
    main()
