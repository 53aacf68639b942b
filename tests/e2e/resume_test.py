"""What `tune resume` can be asked to do, and that nothing is lost or told twice by it."""
import csv
import json
import os
import signal
import shutil
import sys

from cli_support import TROUBLED, Case, main
from driver_support import DriverCase


class ResumeCase(Case):
    def resume(self, *options, directory="results/spec", expect=0):
        return self.tune("resume", directory, "--strict", "--progress", "lines", *options,
                         expect=expect)

    def iterations_in_csv(self, directory, trial):
        with open(self.path(directory, trial, "progress.csv"), encoding="utf-8") as file:
            return [int(row["training_iteration"]) for row in csv.DictReader(file)]

    def assert_rows(self, trial, iterations, directory="results/spec"):
        """Every iteration stands once in both logs, in order."""
        expected = list(range(1, iterations + 1))
        self.assertEqual(self.iterations_in_log(directory, trial), expected)
        self.assertEqual(self.iterations_in_csv(directory, trial), expected)

    def states(self, directory="results/spec"):
        return {trial["trial_id"]: trial["state"] for trial in self.json("ls", directory)}

    def journal(self, directory="results/spec"):
        folder = self.path(directory)
        return "".join(self.read(directory, name) for name in sorted(os.listdir(folder))
                       if name.startswith("journal-"))


class ErroredTrials(ResumeCase):
    """Trial 0 fails at its fifth iteration until somebody mends it; trial 1 ends well."""

    def setUp(self):
        super().setUp()
        self.write("spec.json", {
            "trainable": {"command": TROUBLED}, "metric": "count", "mode": "max",
            "checkpoint_config": {"checkpoint_frequency": 2},
            "param_space": {"trouble": {"grid_search": ["exits_until_mended", "none"]}, "at": 5,
                            "iterations": 6},
        })
        self.tune("run", "spec.json", "--progress", "none", expect=1)
        self.assertEqual(self.states(), {"trial_00000": "ERROR", "trial_00001": "TERMINATED"})

    def mend(self):
        self.write("results/spec/mended", "")

    def trial(self):
        return self.json("ls", "results/spec")[0]

    def test_are_left_alone_unless_asked_for(self):
        self.mend()
        command = f"1 trial; to try again: tune resume {self.path('results/spec')} --errored\n"
        self.assertIn(command, self.resume(expect=1).out)
        self.assertIn(command, self.tune("status", "results/spec").out)
        self.assertEqual(self.trial()["state"], "ERROR")
        self.assert_rows("trial_00000", 4)

    def test_go_on_from_their_latest_checkpoints(self):
        self.mend()
        out = self.resume("--errored").out
        self.assertIn("1 failed trial", out)
        trial = self.trial()
        self.assertEqual((trial["state"], trial["attempt"], trial["failures"]),
                         ("TERMINATED", 2, 0))
        last = self.read("results/spec/trial_00000/result.json").splitlines()[-1]
        self.assertIn('"iterations_since_restore":2', last)
        for name in ["trial_00000", "trial_00001"]:
            self.assert_rows(name, 6)

    def test_start_again_from_scratch(self):
        self.mend()
        self.resume("--restart-errored")
        self.assertEqual(self.trial()["state"], "TERMINATED")
        last = self.read("results/spec/trial_00000/result.json").splitlines()[-1]
        self.assertIn('"iterations_since_restore":6', last)
        self.assert_rows("trial_00000", 6)
        kept = [os.path.basename(checkpoint["path"])
                for checkpoint in self.json("checkpoints", "results/spec", "--trial", "0")]
        # The indices count on, and the two from before are gone from the disk too.
        self.assertEqual(kept, ["checkpoint_000003", "checkpoint_000004", "checkpoint_000005"])
        there = os.listdir(self.path("results/spec/trial_00000"))
        self.assertEqual(sorted(name for name in there if "checkpoint" in name), kept)

    def test_started_again_stay_so_when_the_driver_is_killed_meanwhile(self):
        self.write("results/spec/mended", "but deadly")
        self.resume("--restart-errored", expect=-signal.SIGKILL)
        self.assertEqual(self.trial()["state"], "RUNNING")
        self.resume()
        trial = self.trial()
        self.assertEqual((trial["state"], trial["attempt"]), ("TERMINATED", 3))
        self.assert_rows("trial_00000", 6)
        listed = self.json("checkpoints", "results/spec", "--trial", "0", "--verify")
        # The commit of the first may still have been under way when that of the second was done.
        self.assertIn([checkpoint["training_iteration"] for checkpoint in listed],
                      ([2, 4, 6], [4, 6]))
        there = os.listdir(self.path("results/spec/trial_00000"))
        self.assertEqual(sorted(name for name in there if "checkpoint" in name),
                         [os.path.basename(checkpoint["path"]) for checkpoint in listed])

    def test_that_fail_again_have_failed_again(self):
        self.resume("--errored", expect=1)
        trial = self.trial()
        self.assertEqual((trial["state"], trial["attempt"], trial["failures"]), ("ERROR", 2, 1))
        self.assert_rows("trial_00000", 4)
        self.resume("--restart-errored", expect=1)
        self.assertEqual(self.trial()["attempt"], 3)
        self.assert_rows("trial_00000", 4)
        self.mend()
        self.resume("--errored", "--trial", "0")
        self.assert_rows("trial_00000", 6)

    def test_exclude_each_other_as_options(self):
        self.assertIn("--errored", self.resume("--errored", "--restart-errored", expect=2).err)


class NamedTrials(ResumeCase):
    def setUp(self):
        super().setUp()
        self.write("spec.json", {
            "trainable": {"command": TROUBLED}, "metric": "count", "mode": "max",
            "num_samples": 2, "max_concurrent_trials": 1,
            "checkpoint_config": {"checkpoint_frequency": 2},
            "param_space": {"trouble": {"grid_search": ["exits_until_mended", "interrupts"]},
                            "at": 3, "iterations": 8},
        })
        self.tune("run", "spec.json", "--progress", "none", expect=130)
        self.assertEqual(self.states(), {"trial_00000": "ERROR", "trial_00001": "PENDING"})
        self.write("results/spec/mended", "")

    def test_run_alone_in_this_session(self):
        out = self.resume("--trial", "trial_00000").out
        self.assertEqual(self.states(), {"trial_00000": "TERMINATED", "trial_00001": "PENDING"})
        self.assertIn("tune resume", out)
        self.assert_rows("trial_00000", 8)
        self.resume("--trial", "1")
        self.assertEqual(set(self.states().values()), {"TERMINATED"})
        self.assertEqual(len(self.states()), 2)

    def test_that_do_not_exist_or_cannot_go_on_are_refused_and_nothing_is_touched(self):
        self.resume("--trial", "0")
        before = self.journal()
        for word, sentence in [("7", "there is no trial_00007"), ("x", "--trial must be like 3"),
                               ("-1", "--trial")]:
            self.assertIn(sentence, self.resume("--trial", word, expect=2).err)
        self.assertEqual(self.journal(), before)


class Extending(ResumeCase):
    def setUp(self):
        super().setUp()
        self.write("spec.json", self.quadratic(
            num_samples=2, stop={"training_iteration": 4},
            param_space={"lr": {"loguniform": [1e-3, 0.4]}, "iterations": 100}))
        self.tune("run", "spec.json", "--progress", "none")

    def recorded(self):
        return json.loads(self.read("results/spec/experiment.json"))

    def test_more_samples_are_those_that_a_longer_search_would_have_drawn(self):
        self.assertIn("notice: num_samples is 5 now, was 2\n", self.resume("--num-samples", "5").out)
        self.tune("run", "spec.json", "--name", "whole", "--num-samples", "5", "--progress", "none")
        configs = [[trial["config"] for trial in self.json("ls", directory)]
                   for directory in ["results/spec", "results/whole"]]
        self.assertEqual(configs[0], configs[1])
        self.assertEqual(len(configs[0]), 5)
        self.assertEqual(self.recorded()["num_samples"], 5)
        for trial in self.states():
            self.assert_rows(trial, 4)

    def test_fewer_samples_than_there_are_add_none(self):
        out = self.resume("--num-samples", "1").out
        self.assertEqual(len(self.states()), 2)
        self.assertRegex(out, "nothing ran +all trials had ended; for more of them: tune resume .* --num-samples N")
        self.assertNotIn("nothing ran", self.resume("--num-samples", "3").out)

    def test_a_metric_that_a_new_rule_names_is_awaited_from_then_on(self):
        """It is printed behind the metric, and was not read before."""
        self.write("train.py", "import os, sys, time\n"
                   "file = sys.argv[1] + '/epoch'\n"
                   "done = int(open(file).read()) if os.path.exists(file) else 0\n"
                   "for epoch in range(done + 1, 19):\n"
                   "    if epoch == 14 and not os.path.exists('go'): sys.exit(1)\n"
                   "    with open(file + '.new', 'w') as saved: saved.write(str(epoch))\n"
                   "    os.replace(file + '.new', file)\n"
                   "    time.sleep(0.05)\n"
                   "    print(f'loss={1 / epoch}', flush=True)\n"
                   "    time.sleep(0.05)\n"
                   "    print(f'acc={epoch / 100}', flush=True)\n")
        self.write("other.json", {"trainable": {"command": [sys.executable, self.path("train.py"), "${checkpoint_dir}"], "plain": {"working_directory": self.dir, "checkpoints": "epoch", "saved": "before_result"}},
                                  "name": "other", "metric": "loss", "mode": "min"})
        self.tune("run", "other.json", "--progress", "none", expect=1)
        self.write("go", "")
        out = self.tune("resume", "results/other", "--errored", "--stop", "acc=0.5", "--progress", "lines").out
        self.assertIn("goes on from its latest checkpoint", out)
        self.assertNotIn("has a number 'acc'", out)

    def test_a_longer_stop_is_for_trials_to_come_and_for_finished_ones_on_request(self):
        out = self.resume("--stop", "training_iteration=6", "--num-samples", "3").out
        self.assertIn("--finished", out)
        self.assert_rows("trial_00000", 4)
        self.assert_rows("trial_00002", 6)
        self.resume("--stop", "training_iteration=8", "--finished")
        for trial in self.states():
            self.assert_rows(trial, 8)
        attempts = [trial["attempt"] for trial in self.json("ls", "results/spec")]
        self.assertEqual(attempts, [2, 2, 2])

    def test_one_finished_trial_goes_on_alone(self):
        self.assertIn("--stop", self.resume("--trial", "1", expect=2).err)
        self.resume("--trial", "1", "--stop", "training_iteration=8")
        self.assert_rows("trial_00000", 4)
        self.assert_rows("trial_00001", 8)

    def test_whatever_else_may_change_does(self):
        out = self.resume("--max-concurrent-trials", "1", "--time-budget-s", "1e6",
                          "--set", "stop/training_iteration=9", "--set", "failure_config/max_failures=2",
                          "--env", "A=b", "--num-to-keep", "1").out
        for said in ("checkpoint_config/num_to_keep is 1 now, was 2", "max_concurrent_trials is 1 now, was null",
                     "failure_config/max_failures is 2 now, was 0", "trainable/env is another one now"):
            self.assertIn(said, out)
        spec = self.recorded()
        self.assertEqual(spec["max_concurrent_trials"], 1)
        self.assertEqual(spec["time_budget_s"], 1e6)
        self.assertEqual(spec["stop"], {"training_iteration": 9})
        self.assertEqual(spec["failure_config"]["max_failures"], 2)
        self.assertEqual(spec["trainable"]["env"], {"A": "b"})
        self.assertEqual(spec["checkpoint_config"]["num_to_keep"], 1)
        self.resume()  # what was changed is recorded

    def test_what_may_not_change_is_refused_with_what_to_do_instead(self):
        before = self.journal(), self.recorded()
        for options, sentence in [
                (["--set", 'param_space/lr={"uniform": [0, 1]}'],
                 "--set param_space/lr: the param space of a started experiment cannot change"),
                (["--searcher", "grid", "--set", 'param_space/lr={"grid_search": [1]}'],
                 "--searcher: the searcher of a started experiment cannot change"),
                (["--seed", "5"], "--seed: the seed"),
                (["--metric", "w"], "--metric: the metric"),
                (["--name", "new"], "rename its directory"),
                (["--num-samples", "0"], "--num-samples: num_samples must be"),
                (["--num-sampels", "9"], "did you mean '--num-samples'"),
                (["--", "./no-such-program"], "cannot run"),
        ]:
            with self.subTest(options=options):
                self.assertIn(sentence, self.resume(*options, expect=2).err)
        self.assertEqual((self.journal(), self.recorded()), before)


class OtherPlaces(ResumeCase):
    def interrupt_a_run(self):
        self.write("spec.json", {
            "trainable": {"command": ["./train.py"]}, "metric": "count", "mode": "max",
            "checkpoint_config": {"checkpoint_frequency": 2, "num_to_keep": 2},
            "param_space": {"trouble": "interrupts", "at": 3, "iterations": 8},
        })
        with open(TROUBLED[1], encoding="utf-8") as program:
            self.write("train.py", f"#!{TROUBLED[0]}\n" + program.read())
        os.chmod(self.path("train.py"), 0o755)
        self.tune("run", "spec.json", "--progress", "none", expect=130)

    def test_an_experiment_goes_on_where_it_was_moved_to(self):
        self.interrupt_a_run()
        os.makedirs(self.path("far/away"))
        os.rename(self.path("results/spec"), self.path("far/away/my experiment"))
        os.rmdir(self.path("results"))
        directory = "far/away/my experiment"
        out = self.resume(directory=directory).out
        self.assertNotIn(self.path("results"), out)
        self.assertIn(f"'{self.path(directory)}'", out)
        self.assert_rows("trial_00000", 8, directory)
        trial, = self.json("ls", directory)
        self.assertEqual(trial["path"], self.path(directory, "trial_00000"))
        self.assertTrue(os.path.isfile(os.path.join(trial["path"], "params.json")))
        self.assertTrue(trial["checkpoint"].startswith(self.path(directory)))
        self.tune("checkpoints", directory, "--verify")

    def test_a_program_that_has_moved_is_asked_for_and_can_be_given(self):
        self.interrupt_a_run()
        os.makedirs(self.path("bin"))
        shutil.move(self.path("train.py"), self.path("bin/train.py"))
        error = self.resume(expect=2).err
        self.assertIn(self.path("train.py"), error)
        self.assertIn("tune resume results/spec -- COMMAND", error)
        self.tune("resume", "results/spec", "--progress", "none", "--", "./bin/train.py", "--x")
        self.assert_rows("trial_00000", 8)
        spec = json.loads(self.read("results/spec/experiment.json"))
        program, word = spec["trainable"]["command"]
        self.assertEqual(os.path.realpath(program), self.path("bin/train.py"))
        self.assertEqual(word, "--x")

    def test_a_start_checkpoint_that_is_gone_does_not_hold_up_those_that_need_it_no_more(self):
        self.interrupt_a_run()
        checkpoint = self.json("ls", "results/spec")[0]["checkpoint"]
        shutil.copytree(checkpoint, self.path("start"))
        shutil.rmtree(self.path("results"))
        self.write("spec.json", {**json.loads(self.read("spec.json")),
                                 "resume_from_checkpoint": "start",
                                 "param_space": {"trouble": "interrupts", "at": 6,
                                                 "iterations": 9}})
        self.tune("run", "spec.json", "--progress", "none", expect=130)
        shutil.rmtree(self.path("start"))
        self.resume()
        self.assertEqual(self.json("ls", "results/spec")[0]["metrics"]["count"], 9)


    def test_a_start_checkpoint_that_has_changed_since_never_reaches_a_trial(self):
        self.interrupt_a_run()
        shutil.copytree(self.json("ls", "results/spec")[0]["checkpoint"], self.path("start"))
        name = json.loads(self.read("start/manifest.json"))["files"][0]["path"]
        self.write(f"start/{name}", "77777")
        self.write("spec.json", {**json.loads(self.read("spec.json")), "name": "from_start",
                                 "resume_from_checkpoint": "start"})
        self.tune("run", "spec.json", "--progress", "none", expect=None)
        trial = self.json("ls", "results/from_start")[0]
        self.assertIn(f"start cannot be trusted: the file {name} has", trial["error"])
        self.assertEqual(trial["training_iteration"], 0)


class Salvage(ResumeCase):
    """A journal with a bad byte in its middle."""

    def setUp(self):
        super().setUp()
        self.write("spec.json", self.quadratic(
            num_samples=3, stop={"training_iteration": 6}, max_concurrent_trials=1,
            checkpoint_config={"checkpoint_frequency": 2},
            param_space={"lr": {"loguniform": [1e-3, 0.4]}, "iterations": 100}))
        self.tune("run", "spec.json", "--progress", "none")
        journal = self.read("results/spec/journal-1.jsonl")
        # The second trial's last result, before its last checkpoint.
        at = journal.rindex('"e":"result","trial":1')
        self.whole = journal
        self.write("results/spec/journal-1.jsonl", journal[:at] + "?" + journal[at + 1:])

    def test_is_refused_by_line_and_byte_and_nothing_is_touched(self):
        before = sorted(os.listdir(self.path("results/spec")))
        error = self.resume(expect=3).err
        self.assertRegex(error, r"journal-1\.jsonl is damaged in line \d+, at byte \d+")
        self.assertIn("tune resume --salvage", error)
        self.assertEqual(sorted(os.listdir(self.path("results/spec"))), before)

    def test_goes_on_from_before_the_damage_and_keeps_what_it_gives_up(self):
        self.resume("--salvage")
        self.assertEqual(set(self.states().values()), {"TERMINATED"})
        for trial in self.states():
            self.assert_rows(trial, 6)
        kept = self.read("results/spec/journal-1.jsonl.damaged-1")
        self.assertTrue(self.whole.endswith(kept[kept.index("\n"):]))
        names = os.listdir(self.path("results/spec/trial_00001"))
        self.assertIn("checkpoint_000003.corrupt", names)
        self.tune("checkpoints", "results/spec", "--verify")


class RunAgain(ResumeCase):
    """`tune run` where an experiment is already."""

    def interrupt(self):
        self.write("spec.json", {
            "trainable": {"command": TROUBLED}, "metric": "count", "mode": "max",
            "param_space": {"trouble": "interrupts", "at": 3, "iterations": 8},
        })
        self.tune("run", "spec.json", "--progress", "none", "--resume", "auto", expect=130)

    def test_of_an_unfinished_one_says_what_to_type(self):
        self.interrupt()
        before = self.journal()
        error = self.tune("run", "spec.json", expect=2).err
        for way_out in ["not finished", "tune resume " + self.path("results/spec"),
                        "--resume auto", "--name OTHER", "rm -r"]:
            self.assertIn(way_out, error)
        self.assertEqual(self.journal(), before)

    def test_of_a_finished_one_says_that_it_is_and_how_to_extend_it(self):
        self.write("spec.json", self.quadratic())
        self.tune("run", "spec.json", "--progress", "none")
        error = self.tune("run", "spec.json", expect=2).err
        for way_out in ["finished", "--num-samples N", "--name OTHER", "rm -r"]:
            self.assertIn(way_out, error)
        self.assertNotIn("not finished", error)

    def test_auto_starts_goes_on_and_leaves_a_finished_one_alone(self):
        self.interrupt()
        again = ["run", "spec.json", "--progress", "none", "--resume", "auto", "--strict"]
        self.tune(*again)
        self.assert_rows("trial_00000", 8)
        before = self.journal()
        self.assertIn("is finished", self.tune(*again).out)
        self.assertEqual(self.journal(), before)

    def test_auto_after_a_kill_loses_and_repeats_nothing(self):
        self.write("spec.json", {
            "trainable": {"command": TROUBLED}, "metric": "count", "mode": "max",
            "checkpoint_config": {"checkpoint_frequency": 2},
            "param_space": {"trouble": "kills_driver", "at": 5, "iterations": 8},
        })
        again = ["run", "spec.json", "--progress", "none", "--resume", "auto"]
        self.tune(*again, expect=-signal.SIGKILL)
        self.tune(*again)
        self.assert_rows("trial_00000", 8)

    def test_auto_takes_over_what_may_change_and_refuses_what_may_not(self):
        self.write("spec.json", self.quadratic())
        again = ["run", "spec.json", "--progress", "none", "--resume", "auto"]
        self.tune(*again)
        before = self.journal()
        error = self.tune(*again, "--seed", "9", expect=2).err
        self.assertIn("--seed: the seed of a started experiment", error)
        self.write("spec.json", self.quadratic(metric="w"))
        self.assertIn("spec.json: /metric: the metric", self.tune(*again, expect=2).err)
        self.assertEqual(self.journal(), before)
        self.write("spec.json", self.quadratic())
        self.tune(*again, "--num-samples", "6")
        self.assertEqual(set(self.states().values()), {"TERMINATED"})
        self.assertEqual(len(self.states()), 6)

    def test_auto_goes_on_in_a_directory_that_was_moved(self):
        self.interrupt()
        os.rename(self.path("results"), self.path("moved"))
        self.tune("run", "spec.json", "--progress", "none", "--resume", "must",
                  "--storage-path", "moved")
        self.assert_rows("trial_00000", 8, "moved/spec")

    def test_must_refuses_to_start(self):
        self.write("spec.json", self.quadratic())
        self.assertIn("no experiment", self.tune("run", "spec.json", "--resume", "must",
                                                 expect=2).err)
        self.assertEqual(os.listdir(self.dir), ["spec.json"])


class RunBesideADriver(DriverCase):
    def test_is_refused_by_host_and_process_whatever_was_asked_for(self):
        self.spec({"iterations": 4, "block_at": 2})
        driver = self.start("run", "spec.json", "--progress", "none")
        self.wait_for_iteration(1)
        for options in [[], ["--resume", "auto"], ["--resume", "must"]]:
            with self.subTest(options=options):
                error = self.tune("run", "spec.json", *options, expect=2).err
                self.assertIn(str(driver.pid), error)
                self.assertIn(os.uname().nodename, error)
        with open(self.go, "w", encoding="ascii"):
            pass
        self.finish(driver, expect=0)


if __name__ == "__main__":
    main()
