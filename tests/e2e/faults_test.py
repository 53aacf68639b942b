"""What the disk does to an experiment, and what the next driver makes of it."""
import json
import os
import signal
import subprocess

from cli_support import LIMIT_S, TROUBLED, TUNE, Case, main


class DamagedCheckpoints(Case):
    def driver_dies_after_three_checkpoints(self):
        self.write("spec.json", {"trainable": {"command": TROUBLED},
                                 "param_space": {"trouble": "kills_driver", "at": 4,
                                                 "iterations": 6,
                                                 "awaits": '"e":"checkpoint","trial":0,"index":3'},
                                 "checkpoint_config": {"checkpoint_frequency": 1}})
        self.tune("run", "spec.json", "--progress", "none", expect=-signal.SIGKILL)

    def flip_a_byte(self, index):
        file = self.path("results/spec/trial_00000", f"checkpoint_{index:06}", "count")
        with open(file, "r+b") as content:
            first = content.read(1)[0]
            content.seek(0)
            content.write(bytes([first ^ 1]))

    def resumed(self):
        """The notices of a resume that ends well, and how far the trial was thrown back."""
        err = self.tune("resume", "results/spec", "--progress", "none").err
        rows = [json.loads(line)
                for line in self.read("results/spec/trial_00000/result.json").splitlines()]
        self.assertEqual([row["training_iteration"] for row in rows], list(range(1, 7)))
        self.tune("checkpoints", "results/spec", "--verify")
        return err, rows[-1]["iterations_since_restore"]

    def test_a_flipped_byte_costs_one_checkpoint_and_is_said(self):
        self.driver_dies_after_three_checkpoints()
        self.flip_a_byte(3)
        self.tune("checkpoints", "results/spec", "--verify", expect=3)
        err, trained_again = self.resumed()
        self.assertIn("checkpoint 3 of trial_00000 cannot be trusted", err)
        self.assertIn("checkpoint 2 of iteration 2 is used instead", err)
        self.assertIn("the file count has changed", err)
        self.assertEqual(trained_again, 4)
        self.assertTrue(os.path.exists(
            self.path("results/spec/trial_00000/checkpoint_000003.corrupt/count")))

    def test_without_any_whole_checkpoint_the_trial_starts_over_and_says_so_loudly(self):
        self.driver_dies_after_three_checkpoints()
        for index in [1, 2, 3]:
            self.flip_a_byte(index)
        err, trained_again = self.resumed()
        self.assertIn("checkpoint 1 of trial_00000 cannot be trusted", err)
        self.assertIn("NO OTHER IS LEFT, it starts from scratch", err)
        self.assertEqual(trained_again, 6)


class LostAndFullDisks(Case):
    def run_with(self, trouble, *options, iterations=100000, expect=3, **fields):
        self.write("spec.json", {"trainable": {"command": TROUBLED},
                                 "param_space": {"trouble": {"grid_search": trouble},
                                                 "iterations": iterations},
                                 "checkpoint_config": {"checkpoint_frequency": 1, "num_to_keep": 1},
                                 **fields})
        return self.tune("run", "spec.json", "--progress", "none", *options, expect=expect)

    def mount_small_disk(self):
        """4 MB for all results."""
        disk = self.path("results")
        os.mkdir(disk)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk],
                          capture_output=True, check=False).returncode != 0:
            self.skipTest("only root can mount a small disk")
        self.addCleanup(subprocess.run, ["umount", "-l", disk], check=False)
        return disk

    def assert_clean_stop(self, run, reason):
        self.assertIn(reason, run.err)
        self.assertIn("nothing of it could be remembered any more", run.err)
        self.assertIn(f"go on with: tune resume {self.path('results/spec')}", run.err)

    def test_a_trial_that_loses_its_directory_is_alone_with_that(self):
        self.run_with(["loses_directory", "none"], iterations=6, expect=0)
        trials = self.json("ls", "results/spec")
        self.assertEqual([trial["state"] for trial in trials], ["TERMINATED", "TERMINATED"])
        self.assertEqual(self.iterations_in_log("results/spec", "trial_00001"), [1, 2, 3, 4, 5, 6])

    def test_a_journal_that_is_moved_away_ends_the_run_and_a_resume_goes_on_once_it_is_back(self):
        run = self.run_with(["loses_journal"], iterations=50)
        self.assert_clean_stop(run, "it was removed, moved or replaced")
        results = self.path("results/spec")
        journal = next(name for name in os.listdir(results) if name.endswith(".lost"))
        os.rename(os.path.join(results, journal), os.path.join(results, journal[:-len(".lost")]))
        before = self.json("status", "results/spec")["results"]
        self.assertGreater(before, 0)
        self.tune("resume", "results/spec", "--progress", "none")
        self.assertEqual(self.iterations_in_log("results/spec", "trial_00000"),
                         list(range(1, 51)))

    def test_an_experiment_that_is_deleted_under_its_driver_ends_it(self):
        run = self.run_with(["loses_experiment"])
        self.assertIn("nothing of it could be remembered any more", run.err)

    def test_a_file_size_limit_on_the_journal_is_a_clean_stop(self):
        self.write("spec.json", {"trainable": {"command": TROUBLED},
                                 "param_space": {"iterations": 60},
                                 "checkpoint_config": {"checkpoint_frequency": 1}})
        # A shell does not ignore SIGXFSZ; Python does, and puts that right in what it starts.
        run = self.tune("run", "spec.json", "--progress", "none", expect=3,
                        under=["sh", "-c", 'ulimit -f 16 && exec "$@"', "sh"])
        self.assert_clean_stop(run, "File too large")
        trial, = self.json("ls", "results/spec")
        self.assertGreater(trial["training_iteration"], 0)
        self.tune("resume", "results/spec", "--progress", "none")
        self.assertEqual(self.iterations_in_log("results/spec", "trial_00000"),
                         list(range(1, 61)))
        self.tune("checkpoints", "results/spec", "--verify")

    def test_a_full_disk_is_a_clean_stop_and_room_is_all_that_the_resume_needs(self):
        disk = self.mount_small_disk()
        run = self.run_with(["fills_disk"], "--min-free-bytes", "0", iterations=2000)
        self.assert_clean_stop(run, "No space left on device")
        os.remove(os.path.join(disk, "ballast"))
        self.tune("resume", "results/spec", "--progress", "none")
        self.assertEqual(self.iterations_in_log("results/spec", "trial_00000"),
                         list(range(1, 2001)))
        self.tune("checkpoints", "results/spec", "--verify")

    def test_a_program_that_fails_on_a_full_disk_has_not_failed(self):
        disk = self.mount_small_disk()
        ballast = os.path.join(disk, "ballast")
        # What is recorded has room in the block that the journal has; what is printed has none.
        self.write("train.sh", f"[ -e {ballast} ] || cat /dev/zero > {ballast}\necho loss=1 || exit 1\n")
        self.write("spec.json", {"trainable": {"command": ["sh", self.path("train.sh")], "plain": {}},
                                 "metric": "loss", "mode": "min", "searcher": "random"})
        driver = subprocess.Popen([TUNE, "run", "spec.json", "--progress", "none", "--min-free-bytes", "0"],
                                  cwd=self.dir, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(driver.kill)
        self.assertIn("the disk is full", driver.stderr.readline())
        with open(ballast, "wb"):
            pass  # there is room again, and it stays
        said = driver.communicate(timeout=LIMIT_S)[1]
        self.assertEqual(driver.returncode, 0, said)
        trial, = self.json("ls", "results/spec")
        self.assertEqual((trial["state"], trial["failures"]), ("TERMINATED", 0))

    def test_a_disk_with_little_room_holds_launches_until_there_is_more(self):
        disk = self.mount_small_disk()
        self.write("spec.json", {"trainable": {"command": TROUBLED}, "min_free_bytes": "5MB"})
        driver = subprocess.Popen([TUNE, "run", "spec.json", "--progress", "none"], cwd=self.dir,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(driver.kill)
        line = driver.stderr.readline().decode()
        self.assertIn("no trial is launched until there is more", line)
        waits_for = r"disk space \([0-9.]+ MiB of 4\.8 MiB\)"
        self.assertRegex(self.json("status", "results/spec")["waits_for"], waits_for)
        self.assertRegex(self.tune("status", "results/spec").out, f"waits for +{waits_for}\n")
        subprocess.run(["mount", "-o", "remount,size=16m", disk], check=True)
        err = driver.communicate()[1].decode()
        self.assertEqual(driver.returncode, 0, err)
        self.assertIn("there is room again", err)
        self.assertIsNone(self.json("status", "results/spec")["waits_for"])


class Locks(Case):
    def test_the_lock_of_a_killed_driver_is_taken_over_and_said(self):
        self.write("spec.json", {"trainable": {"command": TROUBLED},
                                 "param_space": {"trouble": "kills_driver"}})
        self.tune("run", "spec.json", "--progress", "none", expect=-signal.SIGKILL)
        pid = json.loads(self.read("results/spec/LOCK"))["pid"]
        err = self.tune("resume", "results/spec", "--progress", "none").err
        self.assertIn(f"took over the lock of pid {pid}", err)


if __name__ == "__main__":
    main()
