"""Whatever one trial does, the others finish, and the message says which, what and where."""
import json
import os
import select
import shlex
import sys

from cli_support import TROUBLED, Case, main

TROUBLES = {
    "exit": "exited with code 7",
    "signal": "killed by signal 11",
    "garbage": "not the protocol",
    "long_line": "a line longer than 16 MiB",
    "closes": "closed its connection",
    "too_deep": "too deep",
    "too_wide": "more than 4096 names",
    "names_twice": "'loss' is in it twice",
}


class OneTrialsFault(Case):
    def run_with(self, troubles, *options):
        """Runs one trial for each; answers with the run and its trials by trouble."""
        self.write("spec.json", {
            "trainable": {"command": TROUBLED},
            "param_space": {"trouble": {"grid_search": troubles}},
            "metric": "count", "mode": "max", "launch_timeout_s": 100,
        })
        self.run_result = self.tune("run", "spec.json", "--progress", "none", *options, expect=1)
        return {trial["config"]["trouble"]: trial for trial in self.json("ls", "results/spec")}

    def assert_explained(self, trial, what):
        log = os.path.join(trial["path"], "stderr.log")
        self.assertEqual(trial["state"], "ERROR")
        self.assertIn(what, trial["error"])
        self.assertIn(log, trial["error"])
        line = next(line for line in self.run_result.err.splitlines() if trial["trial_id"] in line)
        self.assertIn(what, line)
        self.assertIn(log, line)

    def test_a_trial_that_breaks_is_named_and_the_others_finish(self):
        trials = self.run_with(["before", *TROUBLES, "after"])
        for trouble, what in TROUBLES.items():
            with self.subTest(trouble=trouble):
                self.assert_explained(trials[trouble], what)
        for trouble in ["before", "after"]:
            self.assertEqual(trials[trouble]["state"], "TERMINATED")
            self.assertEqual(trials[trouble]["training_iteration"], 3)
        self.assertIn("about to give up", trials["exit"]["error"])
        status = self.json("status", "results/spec")
        self.assertEqual(status["states"]["ERROR"], len(TROUBLES))
        self.assertEqual(status["states"]["TERMINATED"], 2)

    def test_a_spoilt_file_costs_no_snapshot_and_no_result(self):
        self.write("spec.json", {
            "trainable": {"command": TROUBLED},
            "param_space": {"trouble": {"grid_search": ["spoils_file", "none"]}, "iterations": 2000,
                            "at": 5},
            "metric": "count", "mode": "max", "snapshot_period_s": 0.001,
            "max_concurrent_trials": 1})
        run = self.tune("run", "spec.json", "--progress", "lines")
        stand_in = self.path("results/spec/trial_00000.result.json")
        self.assertIn("what belongs there goes to " + stand_in, run.out + run.err)
        self.assertNotIn("no snapshot could be taken", run.out + run.err)
        kept = [row["training_iteration"] for file in ["trial_00000/was_result.json",
                                                       "trial_00000.result.json"]
                for row in map(json.loads, self.read("results/spec", file).splitlines())]
        self.assertEqual(kept, list(range(1, 2001)))
        # Also on a slow machine some came after the file was spoilt.
        newest = f"snapshot-{self.read('results/spec/CURRENT').strip()}.json"
        self.assertGreater(json.loads(self.read("results/spec", newest)[17:])["event"], 40)

    def test_a_trial_that_never_says_hello_is_given_up(self):
        trials = self.run_with(["silent", "none"], "--launch-timeout-s", "5",
                               "--env", "SILENT_TRIAL=trial_00000")
        self.assert_explained(trials["silent"], "does it speak the protocol of docs/protocol.md?")
        self.assertEqual(trials["none"]["state"], "TERMINATED")

    def test_a_failed_trial_is_tried_again_from_its_checkpoint(self):
        self.write("spec.json", {"trainable": {"command": TROUBLED},
                                 "param_space": {"trouble": "exit", "at": 4, "iterations": 6}})
        self.tune("run", "spec.json", "--max-failures", "1", "--checkpoint-frequency", "2",
                  "--progress", "lines", expect=1)
        trial, = self.json("ls", "results/spec")
        self.assertEqual(trial["attempt"], 2)
        self.assertEqual(trial["failures"], 2)
        self.assertEqual(self.iterations_in_log("results/spec", "trial_00000"), [1, 2, 3])

    def test_rules_see_exit_codes_signals_and_this_attempts_stderr(self):
        trials = self.run_with(
            ["exit", "signal", "out_of_memory"], "--max-failures", "1",
            "--set", "failure_config/never_retry_on=" + json.dumps(
                ["out_of_memory", {"exit_code": 7, "stderr": "^about to give"}]))
        self.assertEqual({name: trial["attempt"] for name, trial in trials.items()},
                         {"exit": 1, "signal": 2, "out_of_memory": 1})
        self.assertIn("never_retry_on/1 matched exit code 7 and 'about to give'",
                      trials["exit"]["error"])
        self.assertIn("never_retry_on/0 (out_of_memory) matched 'MemoryError'",
                      trials["out_of_memory"]["error"])

    def test_a_long_explanation_is_shown_by_its_first_line_and_kept(self):
        self.write("spec.json", {"trainable": {"command": TROUBLED}, "param_space": {"trouble": "explains"}})
        done = self.tune("run", "spec.json", "--progress", "lines", expect=1)
        sentence = f"trial_00000 failed: no room; see {self.path('results/spec/trial_00000/stderr.log')}\n"
        self.assertIn(sentence, done.out)
        self.assertEqual(done.err, "tune: " + sentence)
        self.assertNotIn("frame", done.out)
        self.assertGreater(len(self.json("show", "results/spec", "0")["error"]), 50_000)

    def test_a_used_process_is_judged_by_the_log_of_the_trial_that_it_has_become(self):
        self.write("spec.json", {
            "trainable": {"command": [sys.executable, os.path.join(os.path.dirname(
                os.path.abspath(__file__)), "speaking_trainable.py"), "breaks_as_another"]},
            "param_space": {"x": {"uniform": [0, 1]}}, "searcher": "random", "num_samples": 2,
            "resources": {"cpu": 1}, "reuse_processes": True,
            "failure_config": {"max_failures": 1}})
        self.tune("run", "spec.json", "--progress", "none", expect=1, HEARD=self.path("heard"))
        self.assertIn('"reset"', self.read("heard"))
        broken = self.json("ls", "results/spec")[1]
        self.assertEqual(broken["failures"], 1)
        self.assertIn("the last line of its stderr: MemoryError; see "
                      + self.path("results/spec/trial_00001/stderr.log"), broken["error"])
        self.assertIn("not retried: /failure_config/never_retry_on/0 (out_of_memory)", broken["error"])

    def test_an_earlier_attempts_stderr_is_not_this_ones(self):
        trials = self.run_with(
            ["out_of_memory_before"], "--max-failures", "2",
            "--set", "failure_config/never_retry_on=" + json.dumps(
                [{"exit_code": 7, "stderr": "MemoryError"}]))
        self.assertEqual(trials["out_of_memory_before"]["attempt"], 3)

    def test_fail_fast_raise_ends_everything_at_once_and_says_how_to_go_on(self):
        self.write("spec.json", {
            "trainable": {"command": TROUBLED},
            "param_space": {"trouble": {"grid_search": ["hangs_once", "exit"]}},
            "resources": {"cpu": 2}})
        run = self.tune("run", "spec.json", "--fail-fast=raise", "--progress", "none", expect=4)
        self.assertIn("trial_00001 failed (fail_fast)", run.out)
        self.assertIn("tune resume", run.out)
        states = [trial["state"] for trial in self.json("ls", "results/spec")]
        self.assertEqual(states, ["PENDING", "ERROR"])
        self.tune("resume", "results/spec", "--progress", "none", expect=1)
        states = [trial["state"] for trial in self.json("ls", "results/spec")]
        self.assertEqual(states, ["TERMINATED", "ERROR"])

    def test_fail_fast_ends_the_other_trials(self):
        trials = self.run_with(["exit", "a", "b", "c"], "--fail-fast",
                               "--max-concurrent-trials", "1")
        self.assertEqual(trials["exit"]["state"], "ERROR")
        self.assertEqual([t for t in trials if trials[t]["state"] == "TERMINATED"], [])
        self.assertIn("fail_fast", self.json("status", "results/spec")["stop_reason"])
        self.assertIn("without it, only what has not begun goes on", self.run_result.out)
        self.tune("resume", "results/spec", "--progress", "none", expect=1)
        states = [trial["state"] for trial in self.json("ls", "results/spec")]
        self.assertEqual(states, ["ERROR"] + ["TERMINATED"] * 3)

    def test_no_grandchild_outlives_its_trial(self):
        self.write("spec.json", {"trainable": {"command": TROUBLED},
                                 "param_space": {"trouble": "grandchild"}})
        self.tune("run", "spec.json")
        pid = int(self.read("results/spec/trial_00000/work/grandchild"))
        try:
            process = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        ended, _, _ = select.select([process], [], [], 60)
        os.close(process)
        self.assertTrue(ended, f"process {pid} still runs")

    def test_a_program_that_the_kernel_refuses_ends_the_search_and_costs_no_trial(self):
        self.write("program", "\x7fELF but not really")
        os.chmod(self.path("program"), 0o755)
        run = self.tune("run", "--num-samples", "2", "--progress", "none", "--", "./program",
                        expect=1)
        self.assertRegex(run.err, "cannot run '.*/program': Exec format error")
        self.assertIn("experiment given up: ", run.out)
        self.assertEqual({trial["state"] for trial in self.json("ls", "results/experiment")},
                         {"PENDING"})

    def test_a_program_that_cannot_be_run_is_refused_before_anything_is_touched(self):
        self.write("program", "#!/bin/sh\n")
        self.write("train.py", "")
        for program, reason in [("./program", "Permission denied\n"), ("./absent", "No such file"),
                                ("train.py", "No such file or directory: say python3 train.py\n"),
                                ("./train.py", "Permission denied: say python3 /"), ("none.py", "No such file or directory\n"),
                                ("no-such-program", "command line: cannot run 'no-such-program'")]:
            with self.subTest(program=program):
                run = self.tune("run", "--", program, expect=2)
                self.assertIn(reason, run.err)
        self.assertEqual(sorted(os.listdir(self.dir)), ["program", "train.py"])

    def test_a_run_anew_after_all_trials_have_failed_is_told_the_resume_that_repeats_them(self):
        self.write("train.sh", "test -n \"$2\" || exit 1\necho loss=$2\n")
        words = ["--progress", "none", "--metric", "loss", "--mode", "min", "-p", "lr=uniform:0,1", "--num-samples", "2"]
        first = ["/bin/sh", self.path("train.sh"), "${config.lr}"]
        second = [*first, "0.5"]
        self.tune("run", *words, "--", *first, expect=1)
        said = self.tune("run", *words, "--", *second, expect=2).err
        self.assertIn("finished, with 2 trials of 2 failed", said)
        self.assertNotIn("--num-samples N", said)
        [line] = [line for line in said.splitlines() if line.startswith("  repeat what failed:")]
        again = shlex.split(line.partition(": ")[2])
        self.assertEqual(again[1:], ["resume", self.path("results/experiment"), "--errored", "--", *second])
        self.tune(*again[1:4], "--progress", "none", *again[4:])
        self.assertEqual({trial["metrics"]["loss"] for trial in self.json("ls", "results/experiment")}, {0.5})
        self.assertNotIn("repeat what", self.tune("run", *words, "--", *first, expect=2).err)


if __name__ == "__main__":
    main()
