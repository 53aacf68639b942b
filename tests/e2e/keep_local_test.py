"""`keep_local`: older checkpoints leave this disk once the remote has them, and come back for whoever starts
from them. Real rclone; stores are a directory and a server that misbehaves."""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys

from cli_support import LIMIT_S, TUNE, main
from remote_test import RemoteCase


class KeptCase(RemoteCase):
    """One trial that has saved at 2, 4, 6 and 8 as checkpoints 1 to 4, and blocks at 9."""

    def remote(self, **fields):
        return {"path": self.far, "keep_local": 1, **fields}

    def begin(self, samples=1, **fields):
        self.spec({"iterations": 12, "block_at": 9}, num_samples=samples,
                  **{"checkpoint_config": {"checkpoint_frequency": 2}, "remote": self.remote(), **fields})
        driver = self.start("run", "spec.json", "--progress", "none", "--lease-s", "5")

        def is_there():
            self.assertIsNone(driver.poll())
            return self.evicted() == sorted([1, 2, 3] * samples)

        self.wait_until(is_there, "the older ones are evicted")
        return driver

    def killed(self, samples=1, **fields):
        """All four are up, and the driver is dead."""
        driver = self.begin(samples, **fields)
        self.wait_until(lambda: (self.status() or {}).get("checkpoints_up") == 4 * samples, "all are up")
        driver.kill()
        driver.wait()

    def where(self, directory="results/spec"):
        if not os.path.exists(self.path(directory, "CURRENT")):
            return {}
        return {(c["trial_id"], c["index"]): c["where"] for c in self.json("checkpoints", directory)}

    def evicted(self, directory="results/spec"):
        found = glob.glob(self.path(directory, "trial_*", "checkpoint_*.remote.json"))
        return sorted(int(os.path.basename(name)[11:17]) for name in found
                      if not os.path.exists(name.removesuffix(".remote.json")))

    def checkpoint(self, index, trial=0):
        return self.path("results", "spec", f"trial_{trial:05}", f"checkpoint_{index:06}")

    def on_remote(self, index, trial=0):
        found = glob.glob(f"{self.far}/spec/trial_{trial:05}/checkpoint_{index:06}.*/")
        self.assertEqual(len(found), 1, found)
        return found[0]

    def damage_both(self, index):
        self.damage(self.checkpoint(index))
        self.damage(self.on_remote(index))

    def damage(self, directory):
        with open(os.path.join(directory, "state"), "w", encoding="ascii") as file:
            file.write("7777")

    def let_go(self):
        with open(self.go, "w", encoding="ascii"):
            pass

    def resume(self, **options):
        self.let_go()
        return self.tune("resume", "results/spec", "--progress", "none", "--lease-s", "5", **options)

    def assert_whole(self, trials=1):
        self.assertEqual([trial["state"] for trial in self.json("ls", "results/spec")],
                         ["TERMINATED"] * trials)
        for trial in range(trials):
            self.assertEqual(self.iterations(trial), list(range(1, 13)))
            rows = self.read(f"results/spec/trial_{trial:05}/result.json").splitlines()
            self.assertEqual([json.loads(row)["count"] for row in rows], list(range(1, 13)))
        self.assertEqual(self.verified()["damage"], [])
        self.assertEqual(glob.glob(self.path("results", "spec", "trial_*", ".checkpoint_*")), [])


class Kept(KeptCase):
    def test_the_newest_stay_here_and_the_others_are_on_the_remote(self):
        driver = self.begin()
        self.let_go()
        self.finish(driver, 0)
        self.assertEqual(self.where(), {("trial_00000", index): "here" if index == 6 else "remote"
                                        for index in range(1, 7)})
        self.assert_whole()

    def test_what_retention_drops_goes_from_the_remote_though_it_is_not_here(self):
        self.spec({"iterations": 12, "block_at": 11}, num_samples=1, remote=self.remote(),
                  checkpoint_config={"checkpoint_frequency": 2, "num_to_keep": 2})
        driver = self.start("run", "spec.json", "--progress", "none")
        self.wait_until(lambda: self.where() == {("trial_00000", 4): "remote", ("trial_00000", 5): "here"},
                        "the remote has kept up")
        self.let_go()
        self.finish(driver, 0)
        self.assertEqual(self.where(), {("trial_00000", 5): "remote", ("trial_00000", 6): "here"})
        self.assertEqual(self.evicted(), [5])
        self.assertEqual(self.verified()["checkpoints"], 2)
        self.assertEqual(self.verified()["without_marker"], [])

    def test_a_trial_whose_newest_is_damaged_here_and_there_goes_back_to_one_that_is_fetched(self):
        self.killed()
        self.damage_both(4)
        done = self.resume()
        self.assertIn("checkpoint 3 of iteration 6 is used instead", done.err)
        self.assert_whole()

    def test_one_that_is_lost_or_damaged_here_and_whole_on_the_remote_comes_back(self):
        file = self.checkpoint(4) + ".remote.json"
        for loss in (lambda: shutil.rmtree(self.checkpoint(4)), lambda: self.damage(self.checkpoint(4)),
                     lambda: (shutil.rmtree(self.checkpoint(4)), self.write(file, "garbage"))):
            with self.subTest():
                self.killed()
                loss()
                done = self.resume()
                self.assertIn("checkpoint 4 of trial_00000 cannot be trusted", done.err)
                self.assertIn("it is fetched from the remote", done.err)
                self.assertNotIn("used instead", done.err)
                self.assert_whole()
                self.assertEqual([e for e in self.lines("events", "results/spec") if e["e"] == "checkpoint_damaged"],
                                 [])
                shutil.rmtree(self.path("results"))
                shutil.rmtree(self.far)
                os.mkdir(self.far)
                os.remove(self.go)

    def test_a_checkpoint_that_is_damaged_on_the_remote_is_not_used(self):
        self.killed()
        self.damage_both(4)
        self.damage(self.on_remote(3))
        done = self.resume()
        self.assertIn("checkpoint 3 of trial_00000 cannot be trusted; checkpoint 2 of iteration 4 is used instead",
                      done.err)
        self.assertEqual(self.iterations(0), list(range(1, 13)))

    def test_a_checkpoint_that_the_remote_has_lost_is_not_waited_for(self):
        self.killed()
        self.damage_both(4)
        shutil.rmtree(self.on_remote(3))
        done = self.resume()
        self.assertIn("it is not whole on " + self.far + "/spec any more", done.err)
        self.assertIn("checkpoint 2 of iteration 4 is used instead", done.err)
        self.assert_whole()

    def test_what_lies_in_the_place_of_a_file_that_says_where_one_is_counts_for_nothing(self):
        def swap():
            shutil.copy(self.checkpoint(2, trial=1) + ".remote.json", self.checkpoint(3) + ".remote.json")

        def older():
            shutil.copy(self.checkpoint(2) + ".remote.json", self.checkpoint(3) + ".remote.json")

        def directory():
            os.remove(self.checkpoint(3) + ".remote.json")
            os.mkdir(self.checkpoint(3) + ".remote.json")

        def fifo():
            os.remove(self.checkpoint(3) + ".remote.json")
            os.mkfifo(self.checkpoint(3) + ".remote.json")

        self.killed(samples=2)
        shutil.copytree(self.path("results"), self.path("kept"), ignore=shutil.ignore_patterns("*.sock"))
        shutil.copytree(self.far, self.path("kept-far"))
        for harm in (swap, older, directory, fifo):
            with self.subTest(harm.__name__):
                for place, kept in ((self.path("results"), "kept"), (self.far, "kept-far")):
                    shutil.rmtree(place)
                    shutil.copytree(self.path(kept), place)
                harm()
                self.damage_both(4)
                done = self.resume()
                self.assertIn("checkpoint 3 of iteration 6 is used instead", done.err)
                self.assert_whole(2)

    def test_a_checkpoint_of_another_trial_in_the_place_of_one_is_not_used(self):
        self.killed(samples=2)
        shutil.rmtree(self.checkpoint(4))
        shutil.copytree(self.checkpoint(4, trial=1), self.checkpoint(4))
        done = self.resume()
        self.assertIn("another one lies in its place", done.err)
        self.assertIn("it is fetched from the remote", done.err)
        self.assert_whole(2)

    def test_an_experiment_that_was_moved_fetches_what_it_needs(self):
        self.killed()
        self.damage_both(4)
        os.rename(self.path("results"), self.path("moved"))
        self.let_go()
        done = self.tune("resume", "moved/spec", "--progress", "none", "--lease-s", "5")
        self.assertIn("checkpoint 3 of iteration 6 is used instead", done.err)
        self.assertEqual(self.iterations(0, "moved/spec"), list(range(1, 13)))

    def test_a_store_that_is_taken_away_under_a_run_gets_no_checkpoint_that_counts(self):
        self.spec({"iterations": 24, "block_at": 12}, num_samples=2, remote=self.remote(flush_s=1),
                  checkpoint_config={"checkpoint_frequency": 1})
        driver = self.start("run", "spec.json", "--progress", "none")
        # Trials that are blocked save nothing, and what they have saved is up: nothing is under way.
        self.wait_until(lambda: len(self.evicted()) == 20, "evictions")
        self.wait_until(lambda: self.status()["checkpoints_up"] == 22, "all are up")
        os.rename(self.far, self.path("away"))
        os.mkdir(self.far)
        self.let_go()
        out = self.finish(driver, 7)
        self.assertIn("is it mounted", out)
        self.assertEqual([name for name in self.objects() if "checkpoint_" in name and "COMMIT" in name], [])
        os.rename(self.far, self.path("wrong"))
        os.rename(self.path("away"), self.far)
        self.tune("push", "results/spec")
        check = self.verified()
        self.assertEqual(check["damage"], [])
        self.assertEqual(check["checkpoints"], self.json("status", "results/spec")["checkpoints"]["kept"])
        self.tune("fetch", "results/spec")
        self.assertEqual({c["verified"] for c in self.json("checkpoints", "results/spec", "--verify")}, {"ok"})

    def test_a_pull_takes_them_all(self):
        driver = self.begin()
        self.let_go()
        self.finish(driver, 0)
        self.tune("pull", self.far + "/spec", "copy")
        self.assertEqual(set(self.where("copy").values()), {"here"})
        self.assertEqual({c["verified"] for c in self.json("checkpoints", "copy", "--verify")}, {"ok"})

    def test_a_resume_on_an_empty_machine_fetches_what_it_starts_from(self):
        self.killed(samples=2)
        os.rename(self.path("results"), self.path("gone"))
        self.let_go()
        done = self.tune("resume", "--remote", self.far + "/spec", "--progress", "none", "--lease-s", "5")
        self.assertIn("come from there when they are needed", done.err)
        self.assert_whole(2)
        self.assertEqual(self.where()[("trial_00000", 1)], "remote")

    def test_clones_start_from_a_donor_that_is_fetched(self):
        with open(os.path.join(os.environ["EXAMPLES"], "pbt_toy", "pbt.json"), encoding="utf-8") as file:
            spec = json.load(file)
        spec.update({"name": "spec", "trainable": {"command": [os.environ["PBT_TOY"]]}, "remote": self.remote(),
                     "stop": {"training_iteration": 400}, "checkpoint_config": {}})
        self.write("spec.json", spec)
        driver = self.start("run", "spec.json", "--progress", "none", "--lease-s", "5")

        def has_a_clone_that_is_up():
            self.assertIsNone(driver.poll())
            return len(self.evicted()) > 5 and glob.glob(self.far + "/spec/state/COMMIT*")

        self.wait_until(has_a_clone_that_is_up, "evictions")
        driver.kill()
        driver.wait()
        os.rename(self.path("results"), self.path("gone"))
        self.tune("resume", "--remote", self.far + "/spec", "--progress", "none", "--lease-s", "5")
        self.assertEqual(self.states(), ["TERMINATED"] * 2)
        self.assertEqual([self.iterations(trial)[-1] for trial in (0, 1)], [400] * 2)
        self.assertTrue([event for event in self.lines("events", "results/spec") if event["e"] == "exploit"])

    def test_what_only_the_damaged_part_of_a_journal_knows_is_to_be_fetched_before_a_salvage(self):
        self.killed()
        journal = self.read("results/spec/journal-1.jsonl")
        at = journal.index('"e":"checkpoint"', journal.index('"e":"checkpoint"') + 1)  # of the second
        self.write("results/spec/journal-1.jsonl", journal[:at] + "?" + journal[at + 1:])
        unknown = [self.checkpoint(2), self.checkpoint(3)]
        said = self.refused("resume", "results/spec", "--progress", "none", "--salvage", "--lease-s", "5")
        self.assertIn("2 checkpoints that only the damaged part of the journal knows are only on the remote", said)
        self.assertIn("tune fetch " + " ".join(unknown), said)
        self.assertEqual(self.evicted(), [1, 2, 3])
        self.tune("fetch", *unknown)
        self.let_go()
        self.tune("resume", "results/spec", "--progress", "none", "--salvage", "--lease-s", "5")
        self.assert_whole()
        for index, state in ((2, "4"), (3, "6"), (4, "8")):
            self.assertEqual(self.read(self.checkpoint(index) + ".corrupt/state"), state)

    def test_a_remote_that_is_another_is_refused_while_it_has_the_only_copy(self):
        self.killed()
        other = self.path("other")
        os.mkdir(other)
        for change in (["--set", "remote/path=" + json.dumps(other)], ["--set", "remote=null"],
                       ["--set", 'remote/checkpoints="best"', "--set", "remote/keep_local=null"]):
            said = self.refused("resume", "results/spec", "--progress", "none", "--lease-s", "5", *change)
            self.assertIn("is only on " + self.far + "/spec", said)
        self.assertIn("is only on", self.refused("push", "results/spec", "--remote", other))


class ByHand(KeptCase):
    def setUp(self):
        super().setUp()
        driver = self.begin()
        self.let_go()
        self.finish(driver, 0)
        self.sentence = (f"{self.checkpoint(2)} is only on {self.far}/spec: "
                         f"tune fetch {self.checkpoint(2)} brings it back")

    def test_who_reads_one_that_is_not_here_is_told_what_to_type(self):
        self.assertIn("remote", self.tune("checkpoints", "results/spec").out)
        verified = self.json("checkpoints", "results/spec", "--verify")
        self.assertEqual([c["verified"] for c in verified], ["not here"] * 5 + ["ok"])
        self.assertIn(self.sentence, self.tune("checkpoints", "results/spec", "--blobs").err)
        self.assertIn(self.sentence, self.refused("diff", self.checkpoint(2), self.checkpoint(6)))
        self.assertIn(self.sentence, self.refused("diff", "spec:0@4", self.checkpoint(6)))
        self.write("next.json", {"trainable": {"command": ["true"]}, "param_space": {},
                                 "resume_from_checkpoint": self.checkpoint(2)})
        self.assertIn(self.sentence, self.tune("validate", "next.json", expect=2).err)

    def python(self, script):
        script = ("import os, tune\n"
                  "result = tune.ResultGrid('results/spec')[0]\n"
                  "kept = [checkpoint for checkpoint, metrics in result.best_checkpoints if metrics['count'] == 4]\n"
                  + script)
        return subprocess.run([sys.executable, "-c", script], cwd=self.dir, capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": os.environ["PYTHON_PACKAGE"], "TUNE_BINARY": TUNE},
                              timeout=LIMIT_S, check=False)

    def test_python_reads_one_that_is_not_here_and_leaves_it_there(self):
        done = self.python("with kept[0].as_directory() as directory:\n"
                           "    print(open(directory + '/state').read())\n"
                           "print(os.path.exists(directory))\n"
                           "print(sorted(os.listdir(kept[0].to_directory('copy'))))\n")
        self.assertEqual(done.stdout.split("\n")[:3], ["4", "False", "['state']"], done.stderr)
        self.assertEqual(self.evicted(), [1, 2, 3, 4, 5])
        self.damage(self.on_remote(2))
        self.assertIn("RuntimeError: tune: ", self.python("kept[0].to_directory()\n").stderr)

    def test_a_copy_is_taken_while_a_driver_runs(self):
        with open(self.path("results", "spec", "LOCK"), "ab"):
            pass
        self.tune("fetch", self.checkpoint(2), "--to", "one")
        self.assertEqual(self.read("one/state"), "4")
        self.assertIn("is not empty", self.refused("fetch", self.checkpoint(2), "--to", "one"))
        self.tune("fetch", self.checkpoint(6), "--to", "two")
        self.assertEqual(sorted(os.listdir(self.path("two"))), ["manifest.json", "state"])
        self.assertEqual(self.evicted(), [1, 2, 3, 4, 5])

    def test_one_is_fetched_by_hand(self):
        self.assertIn("is back", self.tune("fetch", self.checkpoint(2)).out)
        self.assertEqual(self.where()[("trial_00000", 2)], "here")
        with open(os.path.join(self.checkpoint(2), "state"), encoding="ascii") as file:
            self.assertEqual(file.read(), "4")
        self.assertIn("is here already", self.tune("fetch", self.checkpoint(2)).out)
        self.assertIn("nothing says where it is", self.refused("fetch", self.checkpoint(9)))
        self.assertIn("is no checkpoint's place", self.refused("fetch", self.path("results", "spec", "a", "b")))
        self.tune("fetch", "results/spec")
        self.assertEqual(self.evicted(), [])
        self.assertIn("all are here already", self.tune("fetch", "results/spec/trial_00000").out)

    def test_one_that_is_damaged_on_the_remote_is_not_taken_by_hand(self):
        self.damage(self.on_remote(2))
        self.assertIn("only on the remote", self.tune("best", "results/spec", "--metric", "count", "--mode", "max").out)
        self.assertIn("only on the remote", self.tune("show", "results/spec", "0").out)
        self.assertIn("state has", self.refused("fetch", self.checkpoint(2), expect=3))
        self.assertEqual(self.evicted(), [1, 2, 3, 4, 5])


class Troubled(KeptCase):
    """A store that misbehaves while somebody waits for a checkpoint."""

    def setUp(self):
        super().setUp()
        self.start_store()

    def remote(self, **fields):
        return super().remote(path="hostile:bucket", **fields)

    def verified(self, remote="hostile:bucket/spec", read=True):
        return super().verified(remote, read)

    def waiting(self):
        """Trial 0 waits for a checkpoint that the store does not give; trial 1 needs none."""
        self.killed(samples=2)
        self.damage(self.checkpoint(4))
        self.store.held = "checkpoint_000004"
        self.let_go()
        driver = self.start("resume", "results/spec", "--progress", "none", "--lease-s", "5")
        self.wait_until(lambda: (self.status() or {}).get("fetching") == ["trial_00000/checkpoint_000004"],
                        "a trial waits")
        return driver

    def test_who_needs_it_waits_and_the_others_go_on(self):
        driver = self.waiting()
        self.wait_until(lambda: self.states()[1] == "TERMINATED", "the other one ends")
        self.assertEqual(self.states()[0], "RUNNING")
        self.assertIn("waited for", self.tune("status", "results/spec").out)
        self.assertRegex(self.tune("show", "results/spec", "0").out, r"waits for +its checkpoint, for \d+ s")
        self.store.held = ""
        self.store.released.set()
        self.finish(driver, 0)
        self.assert_whole(2)

    def test_a_store_that_is_down_is_waited_for_and_that_is_said_once(self):
        self.killed(samples=2)
        self.damage(self.checkpoint(4))
        self.let_go()
        self.store.fault = "busy"
        driver = self.start("resume", "results/spec", "--progress", "none", "--lease-s", "5")
        self.wait_until(lambda: self.states()[1] == "TERMINATED", "the other one ends")
        self.wait_until(lambda: (self.status() or {}).get("fetching"), "a trial waits")
        self.store.fault = ""
        out = self.finish(driver, 0)
        self.assertEqual(out.count("checkpoint 4 of trial_00000 is only on the remote and cannot be fetched"), 1,
                         out)
        self.assert_whole(2)

    def test_an_interrupt_ends_a_driver_in_which_a_trial_waits(self):
        driver = self.waiting()
        self.wait_until(lambda: self.states()[1] == "TERMINATED", "the other one ends")
        driver.send_signal(signal.SIGINT)
        self.finish(driver, 130)
        self.assertEqual(self.states(), ["PENDING", "TERMINATED"])

    def test_an_rclone_that_is_killed_while_it_fetches_is_replaced(self):
        driver = self.waiting()
        self.wait_until(self.store.holding.is_set, "a download")
        [rclone] = [pid for children in glob.glob(f"/proc/{driver.pid}/task/*/children")
                    for pid in self.read(children).split() if self.read(f"/proc/{pid}/comm") == "rclone\n"]
        os.kill(int(rclone), signal.SIGKILL)
        self.store.held = ""
        self.store.released.set()
        self.finish(driver, 0)
        self.assert_whole(2)

    def test_a_driver_that_is_killed_while_it_fetches_leaves_nothing_half(self):
        driver = self.waiting()
        self.wait_until(self.store.holding.is_set, "a download")
        driver.kill()
        driver.wait()
        self.assertTrue(glob.glob(self.path("results", "spec", "trial_*", ".checkpoint_*")))
        self.store.held = ""
        self.store.released.set()
        self.resume()
        self.assert_whole(2)


class Flushing(KeptCase):
    def test_an_interrupt_ends_the_wait_for_the_store_at_the_end_of_a_run(self):
        self.start_store()
        self.store.fault = "busy"
        self.spec({"iterations": 4}, num_samples=1, remote={"path": "hostile:bucket", "flush_s": 1000})
        with open(self.path("said"), "wb") as said:
            driver = self.start("run", "spec.json", "--progress", "none", stderr=said)
        self.wait_until(lambda: "waiting until" in self.read("said"), "the end of the run")
        driver.send_signal(signal.SIGINT)
        out = driver.communicate(timeout=240)[0].decode()
        self.assertEqual(driver.returncode, 7, out + self.read("said"))
        self.assertIn("tune push", out)
        self.assertIn("could not be put on hostile:bucket/spec", self.read("said"))
        self.assertNotIn("left by force", self.read("said"))


if __name__ == "__main__":
    main(at_once=4)
