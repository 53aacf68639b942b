"""An experiment with a copy on a remote store: what goes up, what comes back, and what is said when it
cannot. Real rclone; stores are a directory and a server that misbehaves."""
import filecmp
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

from cli_support import main
from driver_support import DriverCase
from hostile_store import Store

RCLONE = shutil.which("rclone")


@unittest.skipUnless(RCLONE, "there is no rclone here")
class RemoteCase(DriverCase):
    def setUp(self):
        super().setUp()
        self.far = self.path("far")
        os.mkdir(self.far)
        self.environ("RCLONE_CONFIG", "/dev/null")

    def environ(self, name, value):
        before = os.environ.get(name)
        os.environ[name] = value
        self.addCleanup(lambda: os.environ.pop(name) if before is None
                        else os.environ.__setitem__(name, before))

    def start_store(self):
        """A store that can misbehave, `hostile:` for rclone."""
        self.store = Store()
        self.store.__enter__()
        self.addCleanup(self.store.__exit__)
        for name, value in self.store.environment.items():
            self.environ(name, value)

    def objects(self, *parts):
        found = []
        for folder, _, files in os.walk(os.path.join(self.far, *parts)):
            found += [os.path.relpath(os.path.join(folder, file), self.far) for file in files]
        return sorted(found)

    def verified(self, remote=None, read=True):
        words = ["remote", "verify", remote or self.far + "/spec", "--json"] + ["--read"] * read
        return json.loads(self.tune(*words).out)

    def finish(self, driver, expect):
        out = driver.communicate(timeout=240)[0].decode()
        if expect is not None:
            self.assertEqual(driver.returncode, expect, out)
        return out

    def status(self, directory="results/spec"):
        return self.json("status", directory)["remote"]

    def last_iterations(self, directory, trials):
        return [self.iterations(trial, directory)[-1:] for trial in range(trials)]


class Mirrored(RemoteCase):
    def test_what_an_experiment_has_is_on_the_remote_when_it_has_ended(self):
        self.write("spec.json", self.quadratic(remote={"path": self.far}))
        self.tune("run", "spec.json", "--progress", "none")
        check = self.verified()
        self.assertEqual(check["damage"], [])
        self.assertEqual(check["without_marker"], [])
        kept = self.json("status", "results/spec")["checkpoints"]["kept"]
        self.assertEqual(check["checkpoints"], kept)
        self.assertTrue(self.status()["all_up"])
        for trial in range(4):
            for file in ("result.json", "params.json", "stdout.log"):
                self.assertTrue(filecmp.cmp(f"{self.far}/spec/trial_0000{trial}/{file}",
                                            self.path(f"results/spec/trial_0000{trial}/{file}"), False))

    def test_a_pulled_copy_says_what_the_experiment_says(self):
        self.write("spec.json", self.quadratic(remote={"path": self.far}))
        self.tune("run", "spec.json", "--progress", "none")
        self.tune("note", "results/spec", "1", "looks odd", "--tag", "good")
        self.tune("push", "results/spec")
        self.tune("pull", self.far + "/spec", "copy")
        copy, own = self.path("copy"), self.path("results/spec")
        listed = json.dumps(self.json("ls", "copy"))
        self.assertEqual(listed.replace(copy, own).replace('"experiment": "copy"', '"experiment": "spec"'),
                         json.dumps(self.json("ls", "results/spec")))
        self.assertIn("looks odd", listed)
        self.assertEqual(json.dumps(self.json("checkpoints", "copy", "--verify")).replace(copy, own),
                         json.dumps(self.json("checkpoints", "results/spec", "--verify")))
        self.assertEqual(self.lines("events", "copy"), self.lines("events", "results/spec"))

    def test_what_retention_has_dropped_goes_from_the_remote_too(self):
        self.write("spec.json", self.quadratic(remote={"path": self.far}, num_samples=1,
                                               param_space={"lr": 0.1, "iterations": 40}))
        self.tune("run", "spec.json", "--progress", "none")
        here = {c["index"] for c in self.json("checkpoints", "results/spec")}
        there = {int(name.split("checkpoint_")[1][:6]) for name in self.objects("spec")
                 if name.endswith(".COMMIT.json")}
        self.assertEqual(there, here)

    def test_a_checkpoint_with_a_name_that_no_store_takes_stays_here_and_holds_up_no_other(self):
        self.write("odd.py", """
import argparse, os, time
parser = argparse.ArgumentParser()
parser.add_argument("--odd", type=int)
parser.add_argument("--out")
arguments = parser.parse_args()
for epoch in range(4):
    time.sleep(0.1)
    print(f"loss: {1 / (epoch + 1)}")
    os.mkdir(f"{arguments.out}/c-{epoch}")
    for name in (["a\\x1bb"] if arguments.odd else []) + ["model", "done"]:
        open(f"{arguments.out}/c-{epoch}/{name}", "w").close()
""")
        self.write("spec.json", {
            "trainable": {"command": [sys.executable, "odd.py", "${args}", "--out", "${checkpoint_dir}"],
                          "plain": {"checkpoints": "c-*", "complete": "done", "saved": "after_result"}},
            "param_space": {"odd": {"grid_search": [1, 0]}}, "metric": "loss", "mode": "min", "num_samples": 1,
            "remote": {"path": self.far}})
        done = self.tune("run", "spec.json", "--progress", "none", expect=7)
        self.assertEqual(done.err.count("a file whose name no store takes, 'c-"), 2, done.err)
        self.assertIn("4 checkpoints could not be put", done.err)
        check = self.verified()
        self.assertEqual((check["damage"], check["checkpoints"]), ([], 4))
        self.assertFalse(self.status()["all_up"])

    def marked(self, checkpoints):
        """How many checkpoints there are of one trial of 6 saves, of which 2 are kept here."""
        self.write("spec.json", self.quadratic(remote={"path": self.far, "checkpoints": checkpoints},
                                               num_samples=1, param_space={"lr": 0.1, "iterations": 12}))
        self.tune("run", "spec.json", "--progress", "none", "--name", checkpoints)
        self.assertEqual(self.verified(f"{self.far}/{checkpoints}")["damage"], [])
        return [int(name.split("checkpoint_")[1][:6]) for name in self.objects(checkpoints)
                if name.endswith(".COMMIT.json")]

    def test_which_checkpoints_go_up_is_chosen(self):
        self.assertEqual(self.marked("none"), [])
        self.assertEqual(self.marked("best"), [6])
        self.assertEqual(self.marked("all"), [1, 2, 3, 4, 5, 6])

    def test_a_driver_that_was_killed_is_gone_on_with_on_an_empty_machine(self):
        self.spec({"iterations": 40, "step_s": 0.05}, remote={"path": self.far})
        driver = self.start("run", "spec.json", "--progress", "none", "--lease-s", "5")
        self.wait_until(lambda: any(".COMMIT.json" in name for name in self.objects("spec")) and
                        any("state/COMMIT" in name for name in self.objects("spec")), "a checkpoint")
        driver.send_signal(signal.SIGKILL)
        driver.wait()
        os.rename(self.path("results"), self.path("gone"))
        out = self.tune("resume", "--remote", self.far + "/spec", "--progress", "none", "--lease-s", "5")
        self.assertIn("drives the experiment", out.err)
        self.assertEqual(self.states(), ["TERMINATED"] * 2)
        for trial in (0, 1):
            self.assertEqual(self.iterations(trial), list(range(1, 41)))
        self.assertEqual(self.verified()["damage"], [])


    def test_one_line_starts_an_experiment_and_goes_on_with_it_on_an_empty_machine(self):
        self.spec({"iterations": 40, "step_s": 0.05}, remote={"path": self.far})
        line = ("run", "spec.json", "--resume", "auto", "--progress", "none", "--lease-s", "5")
        driver = self.start(*line)
        self.wait_for_iteration(1)
        self.wait_until(lambda: (self.status() or {}).get("state_time"), "a state")
        driver.send_signal(signal.SIGKILL)
        driver.wait()
        shutil.rmtree(self.path("results"))
        self.tune(*line)
        self.assertEqual(self.states(), ["TERMINATED"] * 2)
        for trial in (0, 1):
            self.assertEqual(self.iterations(trial), list(range(1, 41)))

    def test_a_run_that_was_refused_leaves_room_for_what_it_says(self):
        self.write("spec.json", self.quadratic(remote={"path": self.far}))
        self.tune("run", "spec.json", "--progress", "none")
        shutil.rmtree(self.path("results"))
        refused = self.tune("run", "spec.json", "--progress", "none", expect=2).err
        self.assertIn(f"tune resume --remote {self.far}/spec", refused)
        self.tune("resume", "--remote", self.far + "/spec", "--progress", "none")
        self.assertEqual(self.states(), ["TERMINATED"] * 4)
        os.makedirs(self.path("mine", "remote"))
        self.write("mine/remote/notes.txt", "of somebody")
        self.assertIn("is not empty", self.tune("pull", self.far + "/spec", "mine", expect=2).err)
        self.assertEqual(self.read("mine/remote/notes.txt"), "of somebody")


class Troubled(RemoteCase):
    """A store that misbehaves: said once, trained on, and caught up with."""

    def setUp(self):
        super().setUp()
        self.start_store()

    def run_with(self, fault, expect, flush_s=1, **fields):
        self.store.fault = fault
        self.write("spec.json", self.quadratic(
            remote={"path": "hostile:bucket/sweeps", "flush_s": flush_s}, **fields))
        done = self.tune("run", "spec.json", "--progress", "none", expect=expect)
        self.assertEqual({trial["state"] for trial in self.json("ls", "results/spec")}, {"TERMINATED"})
        return done

    def assert_pushed_later(self):
        """What is there is never taken for more than it is, and `push` mends it."""
        self.store.fault = ""
        done = self.tune("remote", "verify", "hostile:bucket/sweeps/spec", expect=None)
        # What came last may lie there in part, where there was no time left to take it away again.
        if done.returncode == 2:
            self.assertIn("there is no experiment on", done.err)
        else:
            self.assertEqual(done.returncode, 3)
            self.assertIn("there is no whole state of an experiment on", done.out)
        self.tune("push", "results/spec")
        check = self.verified("hostile:bucket/sweeps/spec")
        self.assertEqual(check["damage"], [])
        self.assertEqual(check["checkpoints"], self.json("status", "results/spec")["checkpoints"]["kept"])

    def assert_said(self, done, words):
        self.assertEqual(done.err.count("training goes on, and what is to be on the remote waits"), 1,
                         done.err)
        self.assertIn(words, done.err)
        self.assertIn("could not be put on hostile:bucket/sweeps/spec", done.err)
        self.assertIn("tune push", done.out)
        status = self.status()
        self.assertGreater(status["failures"], 0)
        self.assertIn(words, status["last_error"])
        self.assertFalse(status["all_up"])

    def test_a_store_that_refuses_is_said_with_what_to_look_at(self):
        self.assert_said(self.run_with("denied", 7), "the store refuses, look at the keys")
        self.assert_pushed_later()

    def test_a_lease_that_is_read_while_it_is_written_is_read_again(self):
        self.run_with("", 0, flush_s=30, num_samples=1)
        self.store.torn, self.store.torn_reads = "LEASE.json", 3
        self.tune("resume", "--remote", "hostile:bucket/sweeps/spec", "other", "--num-samples", "2",
                  "--progress", "none")
        self.assertEqual(self.store.torn_reads, 0)

    def test_a_clock_that_is_wrong_is_called_so(self):
        self.assert_said(self.run_with("skewed", 7), "clock")

    def test_a_store_that_is_overloaded_is_waited_for(self):
        self.assert_said(self.run_with("busy", 7), "cannot be reached, or is overloaded")
        self.assert_pushed_later()

    def test_a_full_store_is_called_full(self):
        self.assert_said(self.run_with("full", 7), "no space is left where that goes")

    def test_a_store_with_room_for_the_state_alone_is_called_full_once_and_has_the_state(self):
        self.store.fault = "cramped"
        self.spec({"iterations": 60, "step_s": 0.1, "weights": 300_000},
                  remote={"path": "hostile:bucket", "flush_s": 1})
        driver = self.start("run", "spec.json", "--progress", "none")
        out = self.finish(driver, 7)
        self.assertEqual(out.count("no space is left where that goes"), 2, out)  # when it begins, and at the end
        self.assertNotIn("the remote is well again", out)
        check = self.verified("hostile:bucket/spec")
        self.assertEqual((check["damage"], check["checkpoints"]), ([], 0))

    def test_a_lease_that_is_empty_is_waited_for_as_one_that_cannot_be_read(self):
        self.spec({"iterations": 40, "block_at": 20}, remote={"path": "hostile:bucket"})
        driver = self.start("run", "spec.json", "--progress", "none", "--lease-s", "30")
        self.wait_for_iteration(19)
        self.wait_until(lambda: (self.status() or {}).get("state_time"), "a state")
        with self.store.lock:
            (_, *others) = self.store.objects["bucket/spec/LEASE.json"]
            self.store.objects["bucket/spec/LEASE.json"] = (b"", *others)
        second = self.start("resume", "--remote", "hostile:bucket/spec", "elsewhere", "--lease-s", "5")
        said = second.stdout.readline().decode()
        self.assertIn("somebody whose lease cannot be read drives the experiment", said)
        second.kill()
        with open(self.go, "w", encoding="ascii"):
            pass
        self.finish(driver, 0)

    def test_what_a_store_cuts_off_never_counts(self):
        done = self.run_with("truncating", 7)
        self.assertIn("could not be put on", done.err)
        self.assert_pushed_later()

    def test_what_a_store_changes_never_counts(self):
        done = self.run_with("damaging", 7)
        self.assertIn("could not be put on", done.err)
        self.assert_pushed_later()

    def test_a_store_that_hangs_holds_up_no_trial(self):
        self.store.fault = "hanging"
        self.spec({"iterations": 30, "step_s": 0.01}, remote={"path": "hostile:bucket", "flush_s": 1})
        driver = self.start("run", "spec.json", "--progress", "none")
        self.wait_for_iteration(30)
        self.assertIn("could not be put on hostile:bucket/spec", self.finish(driver, 7))
        self.assertEqual(self.states(), ["TERMINATED"] * 2)

    def test_an_rclone_that_comes_to_nothing_is_said_and_holds_up_no_trial(self):
        tools = self.path("tools")
        os.mkdir(tools)
        with open(os.path.join(tools, "rclone"), "w", encoding="ascii") as file:
            file.write("#!/bin/sh\nexec sleep 1000\n")
        os.chmod(file.name, 0o755)
        self.environ("PATH", tools + ":" + os.environ["PATH"])
        self.spec({"iterations": 30, "block_at": 20}, remote={"path": self.far, "flush_s": 1})
        driver = self.start("run", "spec.json", "--progress", "none")
        self.wait_for_iteration(19)
        self.wait_until(lambda: "rclone does not start" in ((self.status() or {}).get("last_error") or ""), "the failure")
        with open(self.go, "w", encoding="ascii"):
            pass
        out = self.finish(driver, 7)
        self.assertIn("rclone does not start; training goes on", out)
        self.assertEqual(self.states(), ["TERMINATED"] * 2)

    def test_a_slow_store_is_waited_for_at_the_end(self):
        self.store.slow_bytes_per_s = 100_000
        self.run_with("slow", 0, flush_s=60)
        self.assertEqual(self.verified("hostile:bucket/sweeps/spec")["damage"], [])

    def test_a_store_that_comes_back_is_caught_up_with(self):
        self.store.fault = "busy"
        self.spec({"iterations": 30, "block_at": 20}, remote={"path": "hostile:bucket"})
        driver = self.start("run", "spec.json", "--progress", "none")
        self.wait_for_iteration(19)
        self.wait_until(lambda: self.store.requests > 0, "a request")
        self.store.fault = ""
        self.wait_until(lambda: (self.status() or {}).get("state_time"), "a state")
        with open(self.go, "w", encoding="ascii"):
            pass
        out = self.finish(driver, 0)
        self.assertIn("the remote is well again after", out)
        self.assertEqual(self.verified("hostile:bucket/spec")["damage"], [])

    def test_uploads_keep_to_their_rate(self):
        self.write("spec.json", self.quadratic(
            remote={"path": "hostile:bucket", "bytes_per_s": "1MB"}, num_samples=1))
        self.tune("run", "spec.json", "--progress", "none")
        self.write("results/spec/notes.txt", "x" * 3_000_000)
        begin = time.monotonic()
        self.tune("push", "results/spec")
        self.assertGreater(time.monotonic() - begin, 2)
        self.assertEqual(len(self.store.objects["bucket/spec/notes.txt"][0]), 3_000_000)

    def test_keys_are_nowhere(self):
        self.run_with("", 0, flush_s=60)
        secret = self.store.environment["RCLONE_CONFIG_HOSTILE_SECRET_ACCESS_KEY"].encode()
        for folder, _, files in os.walk(self.dir):
            for name in files:
                with open(os.path.join(folder, name), "rb") as file:
                    self.assertNotIn(secret, file.read(), name)
        with self.store.lock:
            self.assertFalse([name for name, (body, _, _) in self.store.objects.items() if secret in body])


class Refused(RemoteCase):
    """One sentence, exit code 2, and nothing is made."""

    def refusal(self, remote, **environment):
        self.write("spec.json", self.quadratic(remote={"path": remote}))
        done = self.tune("run", "spec.json", "--progress", "none", expect=2, **environment)
        self.assertFalse(os.path.exists(self.path("results", "spec", "CURRENT")))
        self.assertEqual(len(done.err.splitlines()), 1, done.err)
        return done.err

    def test_a_remote_that_rclone_does_not_know(self):
        self.assertIn("rclone knows no such remote", self.refusal("nowhere:bucket"))

    def test_a_relative_path(self):
        self.assertIn("must be a remote of rclone like s3:bucket/prefix, or an absolute path, got 'back/up'",
                      self.refusal("back/up"))

    def test_a_relative_path_on_a_remote_that_is_this_disk(self):
        self.assertIn("must be absolute", self.refusal("disk:far", RCLONE_CONFIG_DISK_TYPE="local"))

    def test_options_that_may_be_keys(self):
        said = self.refusal(":s3,secret_access_key=open-sesame:bucket")
        self.assertIn("without options", said)
        self.assertNotIn("sesame", said)

    def test_a_remote_that_is_the_experiments_own_directory(self):
        os.mkdir(self.path("disk"))
        os.symlink("disk", self.path("results"))
        os.symlink("disk", self.path("other"))
        for remote in ("results", "disk", "other", "far/../disk", "disk/spec", "disk/spec/deeper"):
            with self.subTest(remote):
                self.assertIn("would lie in the experiment's own directory", self.refusal(self.path(remote)))
        self.assertEqual(os.listdir(self.path("disk")), [])

    def test_a_push_into_the_experiments_own_directory(self):
        self.write("spec.json", self.quadratic())
        self.tune("run", "spec.json", "--progress", "none")
        before = self.tune("checkpoints", "results/spec", "--verify").out
        os.symlink("results", self.path("other"))
        refused = self.tune("push", "results/spec", "--remote", self.path("other"), expect=2).err
        self.assertIn("would lie in the experiment's own directory", refused)
        self.assertEqual(self.tune("checkpoints", "results/spec", "--verify").out, before)

    def test_no_rclone(self):
        tools = self.path("tools")
        os.mkdir(tools)
        os.symlink(shutil.which("python3"), os.path.join(tools, "python3"))
        self.assertIn("needs the program rclone", self.refusal(self.far, PATH=tools))

    def test_an_rclone_that_is_too_old(self):
        tools = self.path("tools")
        os.mkdir(tools)
        # What it says of itself is all that differs.
        with open(os.path.join(tools, "rclone"), "w", encoding="ascii") as file:
            file.write("#!/usr/bin/env python3\n" + OLD_RCLONE)
        os.chmod(os.path.join(tools, "rclone"), 0o755)
        self.assertIn("rclone 1.60 or newer, and this one is v1.45",
                      self.refusal(self.far, PATH=tools + ":" + os.environ["PATH"]))

    def test_an_experiment_of_that_name_that_is_there_already(self):
        self.write("spec.json", self.quadratic(remote={"path": self.far}))
        self.tune("run", "spec.json", "--progress", "none")
        os.rename(self.path("results"), self.path("gone"))
        self.assertIn("holds another experiment of this name", self.refusal(self.far))

    def test_nothing_to_pull(self):
        for words in (["pull"], ["remote", "verify"], ["resume", "--remote"]):
            self.assertIn("there is no experiment on", self.refused(*words, self.far + "/nothing"))
        self.assertFalse(os.path.exists(self.path("results", "nothing")))

    def test_what_a_remote_holds_is_no_experiment_and_its_place_is_none_either(self):
        self.write("spec.json", self.quadratic(remote={"path": self.far}))
        self.tune("run", "spec.json", "--progress", "none")
        self.assertIn("is what a remote holds of an experiment: tune pull", self.refused("status", self.far + "/spec"))
        self.assertIn("name one of those below it, spec", self.refused("resume", "--remote", self.far, "other"))
        # Where the experiment is already, the place above may be named as it was for the run.
        self.tune("resume", "results/spec", "--remote", self.far, "--num-samples", "3", "--progress", "none")
        os.mkdir(self.path("far", "deep"))
        self.assertIn(f"--remote {self.far}/deep/spec",
                      self.refused("resume", "results/spec", "--remote", self.far + "/deep", "--progress", "none"))

    def test_a_pull_into_what_is_there(self):
        self.write("spec.json", self.quadratic(remote={"path": self.far}))
        self.tune("run", "spec.json", "--progress", "none")
        self.assertIn("holds an experiment already", self.refused("pull", self.far + "/spec"))
        self.assertIn("spec.json is a file", self.refused("pull", self.far + "/spec", "spec.json"))


class WhoeverCanWriteThere(RemoteCase):
    """Objects that no driver has put there: what they say is made in the experiment's places, or not at all."""

    def setUp(self):
        super().setUp()
        self.home = self.path("home")
        os.mkdir(self.home)
        self.write("spec.json", self.quadratic(remote={"path": self.far}, num_samples=1))
        self.tune("run", "spec.json", "--progress", "none")
        self.honest = self.verified()["checkpoints"]

    def line(self, value):
        """What a journal has of it, and its checksum."""
        text = json.dumps(value, separators=(",", ":"))
        return subprocess.run([os.environ["JOURNAL_LINES"]], input=text.encode() + b"\n", capture_output=True,
                              check=True).stdout.decode()

    def put(self, name, text):
        place = os.path.join(self.far, "spec", name)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8") as file:
            file.write(text)

    def put_checkpoint(self, index, links, marked_links=(), /, listed="weights", **marked):
        """A checkpoint with the file `weights`, and whatever links; all its checksums are right."""
        directory = f"trial_00000/checkpoint_{index:06}.3f9c"
        content = self.line("weights")
        files = [{"path": listed, "bytes": len('"weights"'), "xxh3": content[:16]}]
        manifest = {"manifest": 1, "trial_id": "trial_00000", "index": index, "attempt": 1, "iteration": 1,
                    "bytes": 9, "files": files, "links": links}
        text = json.dumps(manifest, separators=(",", ":"))
        self.put(directory + "/manifest.json", text)
        self.put(directory + "/weights", '"weights"')
        self.put(directory + ".COMMIT.json", self.line(
            {"checkpoint": 1, "trial_id": "trial_00000", "index": index, "attempt": 1, "directory": directory,
             "bytes": 9 + len(text), "manifest": {"bytes": len(text), "xxh3": self.line(manifest)[:16]},
             "files": files, "links": list(marked_links), **marked}))

    def test_nothing_of_it_is_made_elsewhere(self):
        up = "../" * 20 + self.home[1:]
        through = [{"path": "a/b/c/d/f", "target": "../../../../e"},
                   {"path": "a/b/c/d/f/out", "target": "../../../../../"},
                   {"path": "a/b/c/d/f/out/" + self.home[1:] + "/.bash_profile", "target": "weights"}]
        out = [{"path": "in", "target": "a/b"}, {"path": "out", "target": "in/../../" + up}]
        fine = [{"path": "in", "target": "a/b"}, {"path": "a/b/last", "target": "../../in/../../weights"}]
        self.put_checkpoint(101, through)
        self.put_checkpoint(102, [], through)
        self.put_checkpoint(103, out)
        self.put_checkpoint(104, fine, fine)
        self.put_checkpoint(105, *[[{"path": "held", "target": "weights"}]] * 2)
        self.put("trial_00000/checkpoint_000105.3f9c/held/by", "a directory where the link belongs")
        self.put_checkpoint(106, [], trial_id="trial_00007")
        self.put_checkpoint(107, [], index=1)
        self.put_checkpoint(108, fine)
        self.put_checkpoint(109, [], listed="a\ntune: took 9 checkpoints")
        for name in (".bash_profile", "trial_00000/.profile", "LOCK", "control.sock", "CURRENT", "trial_00009",
                     "trial_00000/work", "journal-1.jsonl", "trial_00000/checkpoint_000001.remote.json"):
            self.put(name, "not ours")
        self.put("trial_00000/notes.txt", "ours")
        done = self.tune("remote", "verify", self.far + "/spec", "--read", "--json", expect=3, HOME=self.home,
                         TMPDIR=self.path())
        check = json.loads(done.out)
        self.assertEqual(check["checkpoints"], self.honest + 1)
        for index in (101, 102, 103, 105, 106, 107, 108, 109):
            self.assertEqual(sum(f"checkpoint_{index:06}.3f9c" in one for one in check["damage"]), 1, check)
        pulled = self.tune("pull", self.far + "/spec", "copy", expect=3, HOME=self.home)
        self.assertIn("'a/b/c/d/f/out' lies below 'a/b/c/d/f', which is no directory", pulled.err)
        self.assertIn("the link 'out' leads out of it", pulled.err)
        self.assertNotIn("\ntune: took 9 checkpoints", pulled.err)
        self.assertIn("a tune: took 9 checkpoints", pulled.err)
        self.assertEqual(os.listdir(self.home), [])
        self.assertEqual({t["state"] for t in self.json("ls", "copy")}, {"TERMINATED"})
        for folder, names, files in os.walk(self.path("copy")):
            for name in names + files:
                place = os.path.join(folder, name)
                self.assertTrue(os.path.realpath(place).startswith(os.path.realpath(self.path("copy"))), place)
                if name in files and not os.path.islink(place):
                    with open(place, "rb") as file:
                        self.assertNotEqual(file.read(), b"not ours", place)
        self.assertEqual(self.read("copy/trial_00000/notes.txt"), "ours")
        self.assertEqual(self.read("copy/trial_00000/checkpoint_000104/a/b/last"), '"weights"')
        taken = self.tune("resume", "--remote", self.far + "/spec", "other", "--progress", "none", expect=None,
                          HOME=self.home)
        self.assertIn("does not count", taken.err)
        self.assertEqual(os.listdir(self.home), [])

    def test_nothing_goes_through_a_link_that_is_here(self):
        os.makedirs(self.path("copy/remote/pulling"))
        os.symlink(self.home, self.path("copy/trial_00000"))
        self.assertIn("trial_00000 is a link, and nothing is taken into what is behind it",
                      self.refused("pull", self.far + "/spec", "copy"))
        self.assertEqual(os.listdir(self.home), [])

    def test_objects_make_no_links_whatever_the_environment_says(self):
        self.put("trial_00000/out.rclonelink", self.home)
        self.put_checkpoint(101, [])
        self.put("trial_00000/checkpoint_000101.3f9c/out.rclonelink", self.home)
        self.tune("pull", self.far + "/spec", "copy", RCLONE_LINKS="true", RCLONE_LOCAL_LINKS="true")
        self.assertFalse(os.path.lexists(self.path("copy/trial_00000/out")))
        self.assertFalse(os.path.lexists(self.path("copy/trial_00000/checkpoint_000101/out")))

    def test_what_is_far_too_large_is_not_taken(self):
        self.put_checkpoint(101, [])
        with open(os.path.join(self.far, "spec/trial_00000/checkpoint_000101.3f9c/more"), "wb") as file:
            file.truncate(60 << 20)
        lease = os.path.join(self.far, "spec/LEASE.json")
        with open(lease, "wb") as file:
            file.truncate(100 << 20)
        check = json.loads(self.tune("remote", "verify", self.far + "/spec", "--read", "--json", expect=3).out)
        self.assertEqual([one for one in check["damage"] if "far more bytes there than were put there" not in one], [])
        self.assertEqual(len(check["damage"]), 1)
        second = self.start("resume", "--remote", self.far + "/spec", "elsewhere", "--lease-s", "5")
        self.assertIn("somebody whose lease cannot be read drives the experiment", second.stdout.readline().decode())


OLD_RCLONE = """
import http.server, json, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"version": "v1.45", "decomposed": [1, 45, 0]}).encode())
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print("NOTICE: Serving remote control on http://127.0.0.1:%d/" % server.server_address[1], file=sys.stderr,
      flush=True)
server.serve_forever()
"""


class TwoMachines(RemoteCase):
    """Directories take the place of machines: what they share is the remote alone."""

    def test_a_driver_that_lives_keeps_its_experiment(self):
        self.spec({"iterations": 30, "block_at": 20}, remote={"path": self.far})
        driver = self.start("run", "spec.json", "--progress", "none", "--lease-s", "6")
        self.wait_until(lambda: any("state/COMMIT" in name for name in self.objects("spec")), "a state")
        other = self.start("resume", "--remote", self.far + "/spec", "other", "--progress", "none")
        # It watches for longer than the lease: what it sees is renewed.
        try:
            said = other.communicate(timeout=9)[0].decode()
        except subprocess.TimeoutExpired:
            self.end(other)
        else:
            self.fail(f"it ended with {other.returncode}: {said}")
        with open(self.go, "w", encoding="ascii"):
            pass
        self.finish(driver, 0)
        self.assertFalse(os.path.exists(self.path("other", "CURRENT")))

    def killed(self):
        self.spec({"iterations": 40, "block_at": 20}, remote={"path": self.far})
        driver = self.start("run", "spec.json", "--progress", "none", "--lease-s", "60")
        self.wait_until(lambda: any("state/COMMIT" in name for name in self.objects("spec")), "a state")
        driver.kill()
        driver.wait()
        with open(self.go, "w", encoding="ascii"):
            pass

    def lease(self):
        with open(os.path.join(self.far, "spec", "LEASE.json"), encoding="utf-8") as file:
            return json.loads(file.read().split(" ", 1)[1])

    def test_a_resume_that_is_refused_gives_back_what_it_has_taken_over(self):
        self.spec({"iterations": 5}, remote={"path": self.far})
        self.tune("run", "spec.json", "--progress", "none")
        self.assertTrue(self.lease()["released"])
        self.assertIn('got "oops"', self.tune("resume", "--remote", self.far + "/spec", "other", "--num-samples",
                                              "oops", expect=2).err)
        self.assertTrue(self.lease()["released"])
        # So another one need not wait.
        self.tune("resume", "--remote", self.far + "/spec", "third", "--num-samples", "4", "--progress", "none")
        self.assertTrue(self.lease()["released"])

    def test_an_interrupt_ends_the_wait_for_another_driver_which_is_said_seldom(self):
        self.killed()
        with open(os.path.join(self.far, "spec", "LEASE.json"), "w", encoding="ascii") as file:
            file.write("of whom?")
        with open(self.path("said"), "wb") as said:
            other = self.start("resume", "results/spec", "--progress", "none", stderr=said)
        self.wait_until(lambda: "or has died: silent for" in self.read("said"), "that it waits")
        with self.assertRaises(subprocess.TimeoutExpired):
            other.wait(3)
        other.send_signal(signal.SIGTERM)
        self.finish(other, 130)
        self.assertEqual(self.read("said").count("or has died: silent for"), 1, self.read("said"))
        self.assertIn("interrupted while it waited for " + self.far, self.read("said"))
        self.assertNotIn("left by force", self.read("said"))

    def test_an_interrupt_of_a_takeover_gives_back_what_it_has_taken(self):
        self.spec({"iterations": 100_000, "step_s": 0.05}, remote={"path": self.far})
        first = self.start("run", "spec.json", "--progress", "none")
        self.wait_for_iteration(3)
        first.send_signal(signal.SIGINT)
        self.finish(first, 130)
        for after_s in (0, 0.1, 0.2, 0.4):
            for wish in (signal.SIGINT, signal.SIGTERM):
                with self.subTest((after_s, wish)):
                    name = f"at-{after_s}-{int(wish)}"
                    with open(self.path("said"), "wb") as said:
                        other = self.start("resume", "--remote", self.far + "/spec", name, "--progress", "none",
                                           stderr=said)
                    self.wait_until(lambda place=self.path(name): os.path.exists(place), "it has begun")
                    time.sleep(after_s)
                    other.send_signal(wish)
                    self.finish(other, 130)
                    # rclone removes a file on a disk that it is told to stop writing, the one that it
                    # was to replace with it. No lease is as good as one that was released: whoever
                    # could write there had waited for it.
                    is_there = os.path.exists(os.path.join(self.far, "spec", "LEASE.json"))
                    self.assertTrue(not is_there or self.lease()["released"], self.read("said"))

    def test_a_store_that_is_not_mounted_any_more_is_waited_for_and_gets_nothing(self):
        self.killed()
        os.rename(self.far, self.path("away"))
        os.mkdir(self.far)
        done = self.tune("resume", "results/spec", "--progress", "none", "--set", "remote/flush_s=1", expect=7)
        self.assertIn("is it mounted", done.err)
        self.assertEqual(self.objects(), [])
        os.rmdir(self.far)
        os.rename(self.path("away"), self.far)
        self.tune("push", "results/spec")
        self.assertEqual(self.verified()["damage"], [])

    def test_a_state_that_is_damaged_is_passed_over_and_that_is_said(self):
        self.spec({"iterations": 200, "step_s": 0.05}, num_samples=1, remote={"path": self.far})
        driver = self.start("run", "spec.json", "--progress", "none", "--lease-s", "5")
        self.wait_for_iteration(1, (0,))

        def states():
            return sorted(name for name in self.objects("spec") if "state/COMMIT" in name)

        # One may be on its way that has no trial yet; those behind it have one.
        known = states()
        self.wait_until(lambda: len(states()) > 1 and states()[0] not in known, "new states alone")
        driver.kill()
        driver.wait()
        newest = max(name for name in self.objects("spec") if "state/COMMIT" in name)
        os.truncate(os.path.join(self.far, newest), 30)
        done = self.tune("pull", self.far + "/spec", "copy", expect=3)
        self.assertIn("is damaged, or was removed: the state before it is taken", done.err)
        self.assertTrue(self.json("ls", "copy"))

    def test_where_no_state_is_whole_that_is_damage(self):
        self.write("spec.json", self.quadratic(num_samples=1, remote={"path": self.far}))
        self.tune("run", "spec.json", "--progress", "none")
        for name in self.objects("spec"):
            if "state/CURRENT" in name:
                with open(os.path.join(self.far, name), "r+b") as file:
                    file.write(b"?")
        done = self.tune("pull", self.far + "/spec", "copy", expect=3)
        self.assertIn("that is whole: state/CURRENT", done.err)
        self.assertFalse(os.path.exists(self.path("copy", "experiment.json")))

    def test_markers_that_a_driver_died_about_to_write_are_as_if_not_begun(self):
        self.spec({"iterations": 60, "step_s": 0.05}, num_samples=1, remote={"path": self.far},
                  checkpoint_config={"checkpoint_frequency": 5})
        driver = self.start("run", "spec.json", "--progress", "none", "--lease-s", "5")
        self.wait_until(lambda: sum("state/COMMIT" in name for name in self.objects("spec")) > 1, "two states")
        self.wait_until(lambda: sum("/checkpoint_" in name and "COMMIT" in name for name in self.objects("spec")) > 1,
                        "two checkpoints")
        driver.kill()
        driver.wait()
        markers = [name for name in self.objects("spec") if "COMMIT" in name]
        states = [name for name in markers if "state/" in name]
        checkpoints = [name for name in markers if "/checkpoint_" in name]
        for name in (max(states), max(checkpoints)):
            os.truncate(os.path.join(self.far, name), 0)
        check = self.verified()
        self.assertEqual(check["damage"], [])
        self.assertIn(max(checkpoints).removeprefix("spec/").removesuffix(".COMMIT.json"), check["without_marker"])
        self.assertIn(max(states).removeprefix("spec/"), check["without_marker"])
        pulled = self.tune("pull", self.far + "/spec", "copy").err
        self.assertNotIn("damaged", pulled)
        for name in (max(checkpoints), max(states)):
            self.assertIn(name.removeprefix("spec/") + " is empty", pulled)
        self.tune("resume", "--remote", self.far + "/spec", "other", "--progress", "none", "--lease-s", "5")
        with open(self.path("other", "trial_00000", "result.json"), encoding="utf-8") as file:
            self.assertEqual([json.loads(line)["training_iteration"] for line in file], list(range(1, 61)))
        check = self.verified()
        self.assertEqual((check["damage"], check["without_marker"]), ([], []))
        # Where all of them are empty something was there, which nobody replaces unasked.
        for name in self.objects("spec"):
            if "state/COMMIT" in name:
                os.truncate(os.path.join(self.far, name), 0)
        for directory in ("results", "other"):
            shutil.rmtree(self.path(directory))
        done = self.tune("run", "spec.json", "--resume", "auto", "--progress", "none", "--lease-s", "5", expect=2)
        self.assertIn(".json is empty", done.err)
        self.tune("remote", "verify", self.far + "/spec", expect=3)

    def test_a_driver_that_was_taken_over_from_ends(self):
        self.spec({"iterations": 40, "block_at": 20}, remote={"path": self.far})
        driver = self.start("run", "spec.json", "--progress", "none", "--lease-s", "5")
        self.wait_until(lambda: any("state/COMMIT" in name for name in self.objects("spec")), "a state")
        driver.send_signal(signal.SIGSTOP)
        with open(self.go, "w", encoding="ascii"):
            pass
        self.tune("resume", "--remote", self.far + "/spec", "other", "--progress", "none", "--lease-s", "5")
        driver.send_signal(signal.SIGCONT)
        out = self.finish(driver, None)
        self.assertIn("was taken over by pid", out)
        self.assertEqual({t["state"] for t in self.json("ls", "other")}, {"TERMINATED"})
        self.assertEqual(self.verified()["damage"], [])
        # Nor does its directory go on.
        self.assertIn("go on", self.tune("resume", "results/spec", "--progress", "none", expect=2).err)


if __name__ == "__main__":
    main(at_once=4)
