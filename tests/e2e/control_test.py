"""tune stop, pause and checkpoint, and the driver that hears them."""
import json
import os
import socket

from cli_support import main
from driver_support import DriverCase


class Control(DriverCase):
    def run_blocked(self, at=4, **fields):
        """A driver whose two trials wait in the iteration after `at`."""
        self.spec({"iterations": 20, "block_at": at + 1}, **fields)
        driver = self.start("run", "spec.json", "--progress", "lines")
        self.wait_for_iteration(at)
        # Past the save of that iteration, which would be the last one to a driver that ends.
        self.wait_until(lambda: all(os.path.exists(self.path(f"results/spec/trial_0000{t}/work/blocked"))
                                    for t in (0, 1)), "two blocked trials")
        return driver

    def let_go(self):
        with open(self.go, "w", encoding="ascii"):
            pass

    def test_after_the_time_budget_the_command_to_go_on_names_a_longer_one(self):
        driver = self.run_blocked(time_budget_s=3, last_result_grace_s=100)
        self.wait_until(lambda: self.json("status", "results/spec")["stop_reason"], "the end of the time")
        self.let_go()
        command = f"tune resume {self.path('results/spec')} --time-budget-s 6"
        self.assertIn(command, self.finish(driver, expect=0))
        self.assertIn(command, self.tune("status", "results/spec").out)
        self.tune(*command.split()[1:-1], "1e6", "--progress", "none")
        self.assertEqual(self.iterations(0), list(range(1, 21)))

    def test_stop_saves_what_runs_and_a_resume_goes_on(self):
        driver = self.run_blocked(num_samples=5)
        done = self.tune("stop", "results/spec")
        self.assertIn("trial_00000, trial_00001", done.out)
        self.let_go()
        self.assertIn("experiment    spec stopped by the user", self.finish(driver, expect=0))
        self.assertEqual(self.states(), ["PENDING"] * 2)
        latest = [c for c in self.json("checkpoints", "results/spec", "--verify") if c["is_latest"]]
        self.assertEqual([c["training_iteration"] for c in latest], [5, 5])
        self.assertFalse(os.path.exists(self.path("results/spec/control.sock")))
        self.tune("resume", "results/spec", "--progress", "none")
        self.assertEqual(self.states(), ["TERMINATED"] * 5)
        self.assertEqual(self.iterations(0), list(range(1, 21)))

    def test_stop_ends_one_trial_and_the_others_go_on(self):
        driver = self.run_blocked()
        self.assertIn("trial_00001", self.tune("stop", "results/spec", "--trial", "1").out)
        self.assertIn("no trial_00009",
                      self.tune("stop", "results/spec", "--trial", "9", expect=2).err)
        for command in "stop", "pause", "checkpoint":
            self.assertIn("like 3 or trial_00003, got ''",
                          self.tune(command, "results/spec", "--trial", "", expect=2).err)
        self.let_go()
        self.finish(driver, expect=0)
        self.assertEqual(self.states(), ["TERMINATED"] * 2)
        self.assertEqual(self.iterations(0), list(range(1, 21)))
        self.assertEqual(self.iterations(1), list(range(1, 6)))

    def test_pause_saves_everything_and_a_resume_goes_on(self):
        driver = self.run_blocked()
        waiting = self.start("pause", "results/spec", "--wait")
        self.assertIn(b"leaves once 2 running trials", waiting.stdout.readline())
        self.let_go()
        self.finish(waiting, expect=0)
        # At once: who has waited finds the lock free.
        self.assert_finishes(20)
        out = self.finish(driver, expect=130)
        self.assertIn("tune resume", out)
        self.assertIn("paused by the user", out)

    def test_checkpoint_saves_at_the_next_result(self):
        driver = self.run_blocked(checkpoint_config={})
        self.assertIn("trial_00000, trial_00001", self.tune("checkpoint", "results/spec").out)
        alone = self.tune("checkpoint", "results/spec", "--trial", "trial_00000").out
        self.assertEqual(self.tune("checkpoint", "results/spec", "trial_00000").out, alone)
        self.let_go()
        self.finish(driver, expect=0)
        made = self.json("checkpoints", "results/spec", "--verify")
        self.assertEqual([(c["training_iteration"], c["triggers"]) for c in made],
                         [(5, "user"), (5, "user")])

    def test_set_changes_a_running_experiment_and_a_resume_goes_on_with_it(self):
        driver = self.run_blocked(max_concurrent_trials=2)
        done = self.tune("set", "results/spec", "num_samples=4", "max_concurrent_trials=1")
        self.assertIn("num_samples is 4 now, was 2", done.out)
        self.assertIn("max_concurrent_trials is 1 now, was 2", done.out)
        for wrong, sentence in (("seed=3", "cannot change"), ("num_samples=0", "positive integer"),
                                ("stop=training_iteration", "--stop"),
                                ("num_sampels=3", "did you mean 'num_samples'"), ("7", "like num_samples=100"),
                                ("lr=7", "expected one of 'num_samples', 'max_concurrent_trials', 'time_budget_s', "
                                         "'stop', 'keep_paused', 'max_log_bytes'\n")):
            self.assertIn(sentence, self.tune("set", "results/spec", wrong, expect=2).err)
        twice = self.tune("set", "results/spec", "num_samples=9", "num_samples=10", expect=2).err
        self.assertIn("num_samples is given twice", twice)
        status = self.json("status", "results/spec")
        self.assertEqual((status["trials"], status["total_trials"]), (2, 4))
        self.assertIn("2 RUNNING, 2 not begun\n", self.tune("status", "results/spec").out)
        self.assertEqual(self.tune("ls", "results/spec").err, "")
        driver.kill()
        driver.wait()
        self.assertIn("2 RUNNING where the record breaks off (the driver was killed, or could not write), 2 not begun\n",
                      self.tune("status", "results/spec").out)
        listed = self.tune("ls", "results/spec")
        self.assertIn("2 RUNNING where the record breaks off (the driver was killed, or could not write); to go on: tune resume",
                      listed.err)
        refused = self.tune("set", "results/spec", "num_samples=9", expect=2).err
        self.assertIn("tune resume results/spec --set num_samples=9", refused.replace(self.dir + "/", ""))
        self.let_go()
        # Twice: who is killed soon after a resume goes on with it, too.
        resumed = self.start("resume", "results/spec", "--progress", "none")
        self.wait_until(lambda: self.json("status", "results/spec")["sessions"] == 2, "a session")
        resumed.kill()
        resumed.wait()
        self.tune("resume", "results/spec", "--progress", "none", "--strict")
        self.assertEqual(self.states(), ["TERMINATED"] * 4)
        with open(self.path("results/spec/experiment.json"), encoding="utf-8") as file:
            spec = json.load(file)
        self.assertEqual((spec["num_samples"], spec["max_concurrent_trials"]), (4, 1))

    def test_pause_of_one_trial_holds_it_over_a_resume_until_it_is_named(self):
        driver = self.run_blocked(num_samples=3)
        self.assertIn("saved with its next result", self.tune("pause", "results/spec", "--trial", "1").out)
        self.tune("pause", "results/spec", "1", "--wait", expect=2)
        self.assertIn("written like 3", self.tune("pause", "results/spec", "one", expect=2).err)
        self.let_go()
        out = self.finish(driver, expect=0)
        self.assertIn("trial_00001 is paused by hand at iteration 5", out)
        self.assertIn("tune resume " + self.path("results/spec") + " --trial 1", out)
        self.assertEqual(self.states(), ["TERMINATED", "PAUSED", "TERMINATED"])
        self.assertEqual(self.json("show", "results/spec", "1")["paused_by"], "user")
        self.tune("resume", "results/spec", "--progress", "none")
        self.assertEqual(self.states(), ["TERMINATED", "PAUSED", "TERMINATED"])
        refused = self.tune("unpause", "results/spec", "--trial", "1", expect=2).err
        self.assertIn("tune resume " + self.path("results/spec") + " --trial 1", refused)
        self.assertIn("by hand", self.tune("status", "results/spec").out)
        self.tune("resume", "results/spec", "--trial", "1", "--progress", "none")
        self.assertEqual(self.states(), ["TERMINATED"] * 3)
        self.assertEqual(self.iterations(1), list(range(1, 21)))

    def test_a_trial_that_is_added_runs_with_its_config_and_can_be_paused_before_it_runs(self):
        driver = self.run_blocked(param_space={"iterations": 20, "block_at": 5, "x": {"uniform": [0, 1]},
                                               "y": {"choice": [1, 2]}})
        self.assertRegex(self.tune("add", "results/spec", '{"x": 0.75}').out,
                         r'^trial_00002 is added, [^\n]*: \{[^\n]*\}\n$')
        for wrong, sentence in (('{"x": 7}', "/x: 7 cannot be drawn"), ('{"z": 1}', "unknown hyperparameter 'z'"),
                                ("x=7", "must be a JSON object"), ('{"x": 1, "x": 0}', "'x' is in it twice")):
            self.assertIn(sentence, self.tune("add", "results/spec", wrong, expect=2).err)
        self.assertIn("it was not running", self.tune("pause", "results/spec", "--trial", "2").out)
        self.assertEqual(self.states()[2], "PAUSED")
        self.assertIn("goes on", self.tune("unpause", "results/spec", "2").out)
        self.assertEqual(self.states()[2], "PENDING")
        self.let_go()
        self.finish(driver, expect=0)
        added = self.json("show", "results/spec", "2")
        self.assertEqual((added["state"], added["config"]["x"], added["by_hand"]), ("TERMINATED", 0.75, True))
        self.assertIn(added["config"]["y"], (1, 2))

    def test_a_directory_with_a_long_path_is_reached_too(self):
        storage = os.path.join(*["d" * 100] * 3)
        self.spec({"iterations": 0}, storage_path=storage)
        driver = self.start("run", "spec.json", "--progress", "none")
        directory = os.path.join(storage, "spec")
        self.wait_until(lambda: self.iterations(0, directory), "a result")
        self.tune("stop", directory, "--wait")
        self.finish(driver, expect=0)

    def test_a_dead_drivers_socket_is_no_driver_and_is_replaced(self):
        driver = self.run_blocked()
        driver.kill()
        driver.wait()
        self.assertTrue(os.path.exists(self.path("results/spec/control.sock")))
        self.assertIn("no driver runs", self.tune("stop", "results/spec", expect=2).err)
        resumed = self.start("resume", "results/spec", "--progress", "none", "--grace", "0.1")
        self.wait_until(lambda: self.json("status", "results/spec")["sessions"] == 2, "a session")
        self.tune("pause", "results/spec", "--wait")
        self.finish(resumed, expect=130)
        self.assert_finishes(20)

    def test_a_driver_that_cannot_be_reached_is_explained(self):
        self.assertIn("no experiment", self.tune("stop", "nothing", expect=2).err)
        self.spec({"iterations": 1})
        self.tune("run", "spec.json", "--progress", "none")
        for command in ("stop", "pause", "checkpoint"):
            self.assertIn("no driver runs", self.tune(command, "results/spec", expect=2).err)
        self.assertIn("results/spec, and trial_00001 has ended: it is not paused; under a longer stop "
                      "rule it may go on: tune resume ", self.tune("unpause", "results/spec", "1", expect=2).err)
        self.assertIn("all of its trials have ended: nothing was added. Start a driver with tune resume "
                      f"{self.path('results/spec')} --num-samples 3 or more, and give this command again", self.tune("add", "results/spec", "{}", expect=2).err)
        self.write("results/spec/LOCK", json.dumps(
            {"host": "far-away", "pid": 7, "since": 1.0, "start_ticks": 9}) + "\n")
        refused = self.tune("stop", "results/spec", expect=2).err
        self.assertIn("pid 7 on host far-away", refused)

    def test_a_directory_that_cannot_have_a_socket_has_a_run_all_the_same(self):
        self.spec({"iterations": 3})
        os.makedirs(self.path("results/spec/control.sock/occupied"))
        done = self.tune("run", "spec.json", "--progress", "lines")
        self.assertIn("control.sock", done.out)
        self.assertEqual(self.states(), ["TERMINATED"] * 2)

    def test_mad_clients_do_not_disturb_the_driver(self):
        driver = self.run_blocked()
        path = self.path("results/spec/control.sock")
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        silent = [socket.socket(socket.AF_UNIX) for _ in range(20)]
        for client in silent:
            client.connect(path)
        with socket.socket(socket.AF_UNIX) as mad:
            mad.connect(path)
            try:
                mad.sendall(b"x" * 100_000_000)
            except OSError:
                pass
        self.tune("checkpoint", "results/spec")
        for client in silent:
            client.close()
        self.let_go()
        self.finish(driver, expect=0)


main()
