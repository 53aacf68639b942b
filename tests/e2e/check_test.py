"""tune check: what it finds in trainables that are wrong in one thing, and that it finds nothing in those that are right."""
import glob
import json
import os
import signal
import subprocess
import sys

from cli_support import CLIENT, TOY, Case, main

PLANTED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "planted_trainable.py")
EXAMPLES = os.environ["EXAMPLES"]

TALKS = "It says hello, and answers each step with one result"
REPEATS = "Two processes with one config come to the same"
SAVES = "It saves, and that changes nothing of the training"
RESTORES = "A trial that a new process restores comes to the same"
KILLED = "A trial that is killed in a step or a save, and restored, comes to the same"
HEEDS = "A restored trial goes by its config, also if that has changed"
RESETS = "A process that is reset is as good as new"
LEAVES = "It leaves when it is told to stop"
ENDS = "It leaves when the driver is gone"

#: What each fault breaks first, and a word of what is said of it.
FAULTS = {
    "momentum_left_out": (RESTORES, "restored at iteration 2, iteration 3 has loss"),
    "generator_left_out": (RESTORES, "restored at iteration 2, iteration 3 has loss"),
    "unseen_left_out": (RESTORES, "its checkpoint of iteration 4 is another: the file state.json"),
    "save_draws": (SAVES, "saved after each iteration, iteration 3 has loss"),
    "save_is_empty": (SAVES, "nothing was saved"),
    "save_links_out": (SAVES, "out of the directory"),
    "remembers_path": (RESTORES, "No such file or directory"),
    "load_cleans_up": (RESTORES, "it changed the checkpoint"),
    "config_from_checkpoint": (HEEDS, "restored with another lr it trains on as before: it takes lr out of the checkpoint"),
    "state_in_work": (RESTORES, "No such file or directory: 'steps'"),
    "counts_from_one": (TALKS, "it reported training_iteration 1 after 2"),
    "reports_text": (TALKS, "the result of iteration 1 has the metric 'loss' as the text \"0.3\", which is not a number"),
    "answers_twice": (TALKS, "after its answer it said a result, though nothing was asked of it"),
    "reset_keeps_momentum": (RESETS, "reset, iteration"),
    "prints_into_the_old_log": (RESETS, "still prints into stdout.log of the trial before"),
    "stays_in_place": (RESETS, "stayed in the working directory of the trial before"),
    "deaf_to_stop": (LEAVES, "told to stop before start, it still ran"),
    "exits_with_3": (LEAVES, "told to stop before start, it exited with code 3; it should be 0"),
    "lives_on": (ENDS, "after its connection had been closed"),
}

#: A plain program, right with READS and SAVES 1, NOISE, FIRST, DIES, RESTLESS and EVALUATES 0.
PROGRAM = """
import json, os, sys, time
file = sys.argv[1] + "/last.json"
state = [0, 1.0]
if os.path.exists(file) and READS:
    state = json.load(open(file))
    if EVALUATES:
        print("loss:", state[1])
while state[0] < 20:
    for step in range(4):
        time.sleep(0.1)
        if RESTLESS:
            open(sys.argv[1] + "/steps", "w").write(str(step))
    state = [state[0] + 1, state[1] * 0.9 + NOISE]
    if not FIRST:
        print("loss:", state[1])
    if SAVES:
        json.dump(state, open(file + ".new", "w"))
        os.rename(file + ".new", file)
    if FIRST:
        print("loss:", state[1])
    if DIES and state[0] == 3:
        sys.exit(7)
"""
GOES_ON = "A trial that is ended in its middle, and goes on from what it saved, comes to the same"
ORDER = "It saves each time after it has printed a result, or each time before"
#: What differs from a right one, what breaks, how it is judged, and a word of what is said of it.
PLAIN = {
    "right": ({}, ORDER, "holds", '"saved": "after_result"'),
    "saves_first": ({"FIRST": "1"}, ORDER, "holds", '"saved": "before_result"'),
    "evaluates": ({"EVALUATES": "1"}, GOES_ON, "holds", "from iteration 2, whose result it prints once more"),
    "begins_anew": ({"READS": "0"}, GOES_ON, "fails", "it has begun anew"),
    "saves_nothing": ({"SAVES": "0"}, "What it saves is found, and whole", "fails", "nothing was in 4 iterations"),
    "never_rests": ({"PATTERN": "", "RESTLESS": "1"}, "What it saves is found, and whole", "fails",
                    'though \'last.json\' is there: of what is written anew more often than each second nothing tells '
                    'when it is whole. Name what is a checkpoint, such as "checkpoints": "last.json"'),
    "dies": ({"DIES": "1"}, "Its metric is found in what it prints, and it ends well", "fails", "it exited with code 7"),
    "noisy": ({"NOISE": "int.from_bytes(os.urandom(4), 'big')"}, GOES_ON, "unknown", "its runs differ anyway"),
}


class Check(Case):
    def spec(self, command, **fields):
        return self.write("spec.json", {
            "trainable": {"command": command}, "metric": "loss", "mode": "min", "stop_grace_s": 1,
            "param_space": {"lr": {"uniform": [0.01, 0.1]}, "seed": 7}, "num_samples": 4,
            "searcher": "random",
            "scheduler": {"type": "pbt", "time_attr": "training_iteration", "perturbation_interval": 2,
                          "hyperparam_mutations": {"lr": {"uniform": [0.01, 0.1]}}}, **fields})

    def verdicts(self, *options, expect=None):
        done = self.tune("check", "spec.json", "--json", *options, expect=expect,
                         TMPDIR=self.dir)
        return {v["claim"]: v for v in map(json.loads, done.out.splitlines())}

    def failing(self, verdicts):
        return [claim for claim, v in verdicts.items() if v["verdict"] == "fails"]

    def test_a_trainable_that_is_right_holds_in_everything_and_leaves_nothing_behind(self):
        self.spec([sys.executable, PLANTED])
        verdicts = self.verdicts(expect=0)
        self.assertEqual({v["verdict"] for v in verdicts.values()}, {"holds"}, verdicts)
        self.assertEqual(len(verdicts), 10)
        self.assertEqual(os.listdir(self.dir), ["spec.json"])

    def test_what_is_allowed_and_hardly_meant_is_named(self):
        self.spec([sys.executable, PLANTED, "reports_nan"], stop={"acc": 0.9})
        why = self.verdicts()[TALKS]["why"]
        self.assertIn("; look at loss: it is NaN, first in iteration 1; no result has acc, which the spec names", why)

    def is_found_where_it_is(self, fault):
        claim, why = FAULTS[fault]
        self.spec([sys.executable, PLANTED, fault])
        verdicts = self.verdicts(expect=1)
        self.assertEqual(self.failing(verdicts)[:1], [claim], verdicts)
        self.assertIn(why, verdicts[claim]["why"])

    def is_checked_by_what_it_prints_and_saves(self, case):
        changes, claim, verdict, why = PLAIN[case]
        text = PROGRAM
        for name, value in {"READS": "1", "SAVES": "1", "NOISE": "0", "FIRST": "0", "DIES": "0",
                            "EVALUATES": "0", "RESTLESS": "0", **changes}.items():
            text = text.replace(name, value)
        self.write("plain.py", text)
        self.write("spec.json", {
            "trainable": {"command": [sys.executable, self.path("plain.py"), "${checkpoint_dir}", "${args}"],
                          "plain": {"checkpoints": "last.json"} if changes.get("PATTERN") != "" else {}},
            "param_space": {"lr": {"uniform": [0, 1]}}, "metric": "loss", "mode": "min"})
        verdicts = self.verdicts("--iterations", "4")
        if claim is ORDER:
            self.assertEqual([v["verdict"] for v in verdicts.values()], ["holds"] * 5, verdicts)
        self.assertEqual(verdicts[claim]["verdict"], verdict, verdicts)
        self.assertIn(why, verdicts[claim]["why"])

    def test_nothing_that_a_trainable_has_started_outlives_its_check(self):
        self.spec([sys.executable, PLANTED, "has_a_daemon"])
        self.verdicts(expect=0)
        left = subprocess.run(["pgrep", "-f", "^sleep 7331$"], stdout=subprocess.PIPE, check=False)
        self.assertEqual(left.stdout, b"")

    def test_who_comes_to_a_trial_again_is_in_another_attempt(self):
        self.spec([sys.executable, PLANTED, "counts_attempts"])
        verdicts = self.verdicts(expect=0)
        self.assertEqual({v["verdict"] for v in verdicts.values()}, {"holds"}, verdicts)

    def test_empty_lines_are_nothing_however_many(self):
        self.spec([sys.executable, PLANTED, "some_blank_lines"])
        self.verdicts(expect=0)
        self.spec([sys.executable, PLANTED, "blank_lines"], launch_timeout_s=1)
        self.assertIn("its hello did not come within 1 s", self.verdicts(expect=1)[TALKS]["why"])

    def test_what_is_no_number_or_no_directory_is_bad_input(self):
        self.spec([sys.executable, PLANTED])
        self.assertIn("must be numbers", self.refused("check", "spec.json", "--timeout", "nan"))
        done = self.tune("check", "spec.json", expect=2, TMPDIR=self.path("nowhere"))
        self.assertIn("which TMPDIR names, is not there", done.err)

    def test_what_has_no_seed_cannot_be_judged_and_is_no_fault(self):
        self.spec([sys.executable, PLANTED, "not_seeded"])
        verdicts = self.verdicts(expect=0)
        self.assertEqual(verdicts[REPEATS]["verdict"], "unknown")
        self.assertIn("seed every generator", verdicts[REPEATS]["why"])
        for claim in (SAVES, RESTORES, KILLED, HEEDS):
            self.assertEqual(verdicts[claim]["verdict"], "unknown", claim)

    def test_one_value_is_changed_at_a_time_however_few_trials_there_are(self):
        space = {"lr": {"uniform": [0.01, 0.1]}, "seed": {"randseed": [0, 99]}, "more": {"uniform": [0, 1]}}
        self.spec([sys.executable, PLANTED], num_samples=1, param_space=space, scheduler="fifo")
        self.assertEqual(self.verdicts(expect=0)[HEEDS]["why"],
                         "more made no difference in so few iterations")

    def test_what_comes_from_the_checkpoint_is_a_fault_only_where_it_is_to_change(self):
        self.spec([sys.executable, PLANTED, "config_from_checkpoint"], scheduler="fifo")
        heeds = self.verdicts(expect=0)[HEEDS]
        self.assertEqual(heeds["verdict"], "unknown")
        self.assertIn("or that matters at the start alone", heeds["why"])

    def test_within_a_tolerance_small_differences_are_none(self):
        self.spec([sys.executable, PLANTED, "not_seeded"])
        verdicts = self.verdicts("--tolerance", "1", expect=0)
        self.assertEqual(verdicts[RESTORES]["verdict"], "holds")
        self.assertRegex(verdicts["What the tolerance covers is named"]["why"],
                         r"^at most 0\.\d+ of a value: iteration \d has loss .*Files were not compared")

    def test_a_disk_that_is_nearly_full_is_not_held_against_the_program(self):
        self.spec(CLIENT, min_free_bytes="1000TB")
        refused = self.refused("check", "spec.json", expect=3)
        self.assertIn("are free in", refused)
        self.assertIn("TMPDIR", refused)

    def test_a_signal_that_ends_it_removes_what_it_has_written(self):
        self.spec([sys.executable, PLANTED, "deaf_to_stop"], stop_grace_s=1000)
        for options, left in (((), 0), (("--keep",), 1)):
            check = subprocess.Popen([os.environ["TUNE"], "check", "spec.json", *options], cwd=self.dir,
                                     stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": self.dir})
            check.stdout.readline()
            check.send_signal(signal.SIGTERM)
            check.communicate()
            self.assertEqual(check.returncode, -signal.SIGTERM)
            self.assertEqual(len(glob.glob(self.path("tune-check-*"))), left)

    def test_the_minimal_client_holds(self):
        self.spec(CLIENT)
        verdicts = self.verdicts(expect=0)
        self.assertEqual(self.failing(verdicts), [])
        self.assertEqual(verdicts[RESETS]["verdict"], "unknown")

    def test_nothing_is_found_in_the_examples(self):
        examples = {
            "digits": [EXAMPLES + "/digits/experiment.json", "--", os.environ["DIGITS"]],
            "pbt_toy": [EXAMPLES + "/pbt_toy/pbt.json", "--", os.environ["PBT_TOY"]],
            "single_file": ["--config", '{"learning_rate": 0.05, "momentum": 0.5}', "--metric", "loss",
                            "--mode", "min", "--", os.environ["SINGLE_FILE"]]}
        for name, words in examples.items():
            with self.subTest(example=name):
                done = self.tune("check", "--json", *words, TMPDIR=self.dir)
                verdicts = [json.loads(line) for line in done.out.splitlines()]
                self.assertEqual(len(verdicts), 11)
                self.assertEqual([v for v in verdicts if v["verdict"] == "fails"], [])
                told = {v["claim"] for v in verdicts if v["verdict"] == "holds"}
                self.assertGreaterEqual(told, {TALKS, REPEATS, SAVES, RESTORES, KILLED, LEAVES, ENDS})

    def test_a_function_is_restored_from_what_it_reports(self):
        self.spec([TOY, "function"], metric="count",
                  scheduler="fifo",
                  param_space={"iterations": 6, "checkpoints": True, "attempt": False, "x": {"uniform": [0, 1]}})
        verdicts = self.verdicts(expect=0)
        self.assertEqual(verdicts[RESTORES]["verdict"], "holds", verdicts)
        self.assertEqual(verdicts[KILLED]["verdict"], "holds", verdicts)
        self.assertNotIn(SAVES, verdicts)

    def test_a_function_that_saves_is_told_to_as_a_class_is_and_one_that_has_returned_is_not(self):
        space = {"saves_until": 99, "attempt": False, "x": {"uniform": [0, 1]}}
        for last in (6, 100):
            self.spec([TOY, "function"], metric="count", scheduler="fifo",
                      param_space={**space, "until": last})
            verdicts = self.verdicts("--iterations", "8", expect=0)
            self.assertEqual({verdicts[claim]["verdict"] for claim in (SAVES, RESTORES, KILLED)}, {"holds"},
                             verdicts)

    def test_people_read_sentences_and_where_the_logs_are(self):
        self.spec([sys.executable, PLANTED, "momentum_left_out"])
        done = self.tune("check", "spec.json", expect=1, TMPDIR=self.dir)
        self.assertIn('config {"lr":', done.out)
        self.assertIn("holds  " + SAVES + "\n", done.out)
        self.assertIn("FAILS  " + RESTORES + ":\n       restored at iteration 2, ", done.out)
        self.assertRegex(done.out, r"\d failures, \d hold, \d cannot be told\n")
        self.assertIn("the logs are in " + self.dir, done.out)

    def test_what_does_not_speak_the_protocol_is_one_failure_with_its_last_words(self):
        self.spec([sys.executable, "-c", "import sys; sys.exit('no such dataset')"])
        verdicts = self.verdicts(expect=1)
        self.assertEqual(list(verdicts), [TALKS])
        self.assertEqual(verdicts[TALKS]["why"],
                         "it exited with code 1, and its hello was due; its stderr ends with: no such dataset")

    def test_a_program_that_is_not_there_is_bad_input(self):
        self.spec(["python3", "train.py"])
        self.assertIn("train.py", self.refused("check", "spec.json"))

    def test_a_command_and_a_config_are_enough(self):
        done = self.tune("check", "--config", '{"lr": 0.05, "seed": 1}', "--stop-grace-s", "1", "--",
                         sys.executable, PLANTED, expect=0, TMPDIR=self.dir)
        self.assertIn("0 failures", done.out)


# One by one, since they mostly wait.
for each in FAULTS:
    setattr(Check, f"test_the_planted_fault_{each}_is_found_where_it_is",
            lambda self, fault=each: self.is_found_where_it_is(fault))
for each in PLAIN:
    setattr(Check, f"test_the_plain_program_{each}_is_checked_by_what_it_prints_and_saves",
            lambda self, case=each: self.is_checked_by_what_it_prints_and_saves(case))


main(at_once=3)
