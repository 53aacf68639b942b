"""One driver an experiment: whatever namespace asks, whoever removes LOCK, whatever is frozen."""
import contextlib
import glob
import json
import os
import shutil
import signal
import subprocess
import threading
import time

from cli_support import TUNE, main
from driver_support import DriverCase

NAMESPACE = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
LOCK = "results/spec/LOCK"
#: What another host's driver leaves there; as long as nobody touches the file, nothing is heard of it.
FAR_AWAY = {"host": "far-away", "pid": 7, "start_ticks": 9, "since": 1.0, "boot": "another",
            "pid_namespace": 1, "place": "1:1", "lease_s": 5}


class OneDriver(DriverCase):
    def lock(self):
        return json.loads(self.read(LOCK))

    def write_lock(self, fields):
        """As another host does: at once, never half."""
        self.write("lock", json.dumps(fields) + "\n")
        os.rename(self.path("lock"), self.path(LOCK))

    def journal(self):
        return {name: self.read("results/spec", name)
                for name in os.listdir(self.path("results/spec")) if name.startswith("journal-")}

    def let_go(self):
        with open(self.go, "w", encoding="ascii"):
            pass

    def run_blocked(self, *words, prefix=(), at=4, **fields):
        """A driver whose two trials wait in the iteration after `at`."""
        self.spec({"iterations": 12, "block_at": at + 1}, **fields)
        driver = self.start("run", "spec.json", "--progress", "lines", *words, prefix=prefix)
        self.wait_for_iteration(at)
        # Every second iteration of two trials is saved, and nothing more happens until they go on.
        self.wait_until(lambda: "".join(self.journal().values()).count('"e":"checkpoint"') == at,
                        "the checkpoints")
        return driver

    def need_namespaces(self):
        if subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no right to make a pid namespace")

    def in_namespace(self, *words, expect=0):
        done = subprocess.run([*NAMESPACE, TUNE, *words], cwd=self.dir, capture_output=True,
                              check=False, timeout=100)
        out = (done.stdout + done.stderr).decode()
        self.assertEqual(done.returncode, expect, out)
        return out

    def assert_whole(self, iterations=12):
        """The journal is read from end to end, and has each iteration of both trials once."""
        self.assertEqual(self.states(), ["TERMINATED"] * 2)
        for trial in (0, 1):
            self.assertEqual(self.iterations(trial), list(range(1, iterations + 1)))

    def test_a_driver_in_another_pid_namespace_is_seen_heard_and_left_alone(self):
        self.need_namespaces()
        driver = self.run_blocked(prefix=NAMESPACE)
        self.assertEqual(self.json("status", "results/spec")["driver"]["pid"], 1)
        self.assertTrue(self.json("status", "results/spec")["driver"]["seen"])
        before = self.journal()
        for words in (["resume", "results/spec"], ["run", "spec.json", "--resume", "auto"]):
            self.assertIn("is driven by pid 1 on host", self.tune(*words, expect=2).err)
        self.assertIn("is driven by pid 1", self.in_namespace("resume", "results/spec", expect=2))
        self.assertEqual(self.journal(), before)
        self.assertIn("trial_00001", self.tune("checkpoint", "results/spec").out)
        self.let_go()
        self.finish(driver, expect=0)
        self.assert_whole()

    def test_the_trials_of_a_driver_in_another_namespace_are_no_orphans_of_a_copy(self):
        self.need_namespaces()
        driver = self.run_blocked(prefix=NAMESPACE)
        shutil.copytree(self.path("results/spec"), self.path("copy"),
                        ignore=shutil.ignore_patterns("LOCK", "control.sock"))
        copied = self.start("resume", "copy", "--progress", "lines")
        self.wait_until(lambda: self.json("status", "copy")["sessions"] == 2, "the copy's driver")
        self.let_go()
        self.assertNotIn("left behind", self.finish(copied, expect=0))
        self.finish(driver, expect=0)
        self.assert_whole()

    def test_a_copy_that_was_made_with_its_lock_is_told_from_what_is_driven(self):
        driver = self.run_blocked()
        shutil.copytree(self.path("results/spec"), self.path("copy"),
                        ignore=shutil.ignore_patterns("control.sock"))
        err = self.tune("resume", "copy", expect=2).err
        self.assertIn(f"copy/LOCK is of pid {driver.pid} on host ", err)
        self.assertIn("which drives another directory: if this one is a copy of that, remove ", err)
        self.assertIsNone(self.json("status", "copy")["driver"])
        self.assertIn("no driver runs", self.tune("pause", "copy", expect=2).err)
        self.assertIn(f"is driven by pid {driver.pid}",
                      self.tune("resume", "results/spec", expect=2).err)
        self.let_go()
        self.finish(driver, expect=0)
        self.assert_whole()

    def test_a_driver_around_a_pid_namespace_is_seen_and_heard_from_inside(self):
        self.need_namespaces()
        driver = self.run_blocked()
        self.assertIn(f"is driven by pid {driver.pid}",
                      self.in_namespace("resume", "results/spec", expect=2))
        self.assertIn(f"process {driver.pid} on", self.in_namespace("status", "results/spec"))
        self.assertIn("2 running trials", self.in_namespace("pause", "results/spec"))
        self.let_go()
        self.finish(driver, expect=130)
        self.assert_finishes(12)

    def test_what_a_killed_driver_of_another_namespace_has_left_is_taken_over_at_once(self):
        self.need_namespaces()
        # The namespace outlives its driver, and so do the trials' stubborn children.
        inside = [*NAMESPACE, "sh", "-c", '"$0" "$@"; sleep 1000']
        self.spec({"iterations": 12, "child": True})
        holder = self.start("run", "spec.json", "--progress", "none", prefix=inside)
        self.wait_for_iteration(3)
        [driver] = self.pids_of_session(self.lock())
        os.kill(driver, signal.SIGKILL)
        self.wait_until(lambda: self.json("status", "results/spec")["driver"] is None, "its death")
        done = self.tune("resume", "results/spec", "--progress", "lines")
        self.assertIn("took over the lock of pid ", done.out)
        self.assertIn("and is dead", done.out)
        self.assertIn("ended what an earlier driver had left behind: process ", done.out)
        self.assert_whole()
        holder.kill()

    def pids_of_session(self, owner):
        """As this namespace counts, the process that is `owner`."""
        found = []
        for status in glob.glob("/proc/[0-9]*/status"):
            with contextlib.suppress(OSError):
                with open(status, encoding="ascii", errors="replace") as file:
                    [line] = [line for line in file if line.startswith("NSpid:")]
                with open(status[:-2], encoding="ascii", errors="replace") as file:
                    ticks = file.read().rpartition(")")[2].split()[19]
                if int(line.split()[-1]) == owner["pid"] and int(ticks) == owner["start_ticks"]:
                    found.append(int(status.split("/")[2]))
        return found

    def test_a_lock_removed_under_a_driver_lets_nobody_in_and_comes_back(self):
        driver = self.run_blocked("--lease-s", "20")
        before = self.lock()
        os.remove(self.path(LOCK))
        self.assertRegex(self.tune("resume", "results/spec", expect=2).err,
                         "is driven by (a process on this machine that its file LOCK does not name|"
                         f"pid {driver.pid})")
        self.wait_until(lambda: os.path.exists(self.path(LOCK)), "the lock")
        self.assertEqual(self.lock(), before)
        self.let_go()
        self.finish(driver, expect=0)
        self.assert_whole()
        self.assertFalse(os.path.exists(self.path(LOCK)))

    def test_a_driver_that_was_frozen_while_another_took_over_writes_nothing_and_leaves(self):
        driver = self.run_blocked("--lease-s", "5")
        driver.send_signal(signal.SIGSTOP)
        before = self.journal()
        time.sleep(3)  # so long that the lease is old; trials go on
        self.write_lock(FAR_AWAY)
        self.let_go()
        driver.send_signal(signal.SIGCONT)
        out = self.finish(driver, expect=3)
        self.assertIn("is driven by pid 7 on host far-away now", out)
        self.assertEqual(self.journal(), before)
        self.assertEqual(self.lock(), FAR_AWAY)
        # That one dies too, and nobody has renewed its lease.
        done = self.tune("run", "spec.json", "--resume", "auto", "--progress", "lines")
        self.assertIn("pid 7 on host far-away", done.err)
        self.assertIn("no sign of life for 0 s, it is taken over after 5 s", done.err)
        self.assertIn("has given no sign of life for 5 s", done.out)
        self.assert_whole()

    def test_a_driver_that_was_frozen_and_is_still_the_one_goes_on(self):
        driver = self.run_blocked("--lease-s", "5")
        driver.send_signal(signal.SIGSTOP)
        time.sleep(3)
        self.let_go()
        driver.send_signal(signal.SIGCONT)
        self.finish(driver, expect=0)
        self.assert_whole()

    def test_an_idle_driver_that_was_taken_over_leaves_without_anything_to_write(self):
        driver = self.run_blocked("--lease-s", "5", stop_grace_s=1)
        before = self.journal()
        self.write_lock(FAR_AWAY)
        self.assertIn("far-away now", self.finish(driver, expect=3))
        self.assertEqual(self.journal(), before)

    def test_a_driver_renews_its_lease_and_another_host_lets_it(self):
        driver = self.run_blocked("--lease-s", "5")
        self.assertEqual(self.lock()["lease_s"], 5)
        first = os.stat(self.path(LOCK)).st_mtime_ns
        self.wait_until(lambda: os.stat(self.path(LOCK)).st_mtime_ns > first, "a renewal")
        driver.kill()
        driver.wait()
        # The same as another host would leave it, which somebody renews.
        self.write_lock({**FAR_AWAY, "lease_s": 20})
        over = threading.Event()

        def renew():
            while not over.wait(0.5):
                os.utime(self.path(LOCK))
        thread = threading.Thread(target=renew)
        thread.start()
        try:
            refused = self.tune("resume", "results/spec", expect=2).err
        finally:
            over.set()
            thread.join()
        self.assertIn("on host far-away since", refused)
        self.assertIn("has just renewed its lock", refused)
        status = self.tune("status", "results/spec").out
        self.assertIn("if it lives: its last sign of life was", status)

    def test_after_a_boot_the_driver_before_it_is_dead_at_once(self):
        driver = self.run_blocked()
        driver.kill()
        driver.wait()
        self.write_lock({**self.lock(), "boot": "the one before", "pid": os.getpid(),
                         "lease_s": 1000})
        os.utime(self.path(LOCK), (1000, 1000))
        self.assertIsNone(self.json("status", "results/spec")["driver"])
        self.assert_finishes(12)

    def test_the_lock_of_an_older_program_that_lives_is_respected_in_its_namespace_too(self):
        self.spec({"iterations": 2})
        self.tune("run", "spec.json", "--progress", "none")
        for prefix in ([], NAMESPACE):
            if prefix:
                self.need_namespaces()
            sleeper = subprocess.Popen([*prefix, "sleep", "1000"])
            self.addCleanup(sleeper.wait)
            self.addCleanup(sleeper.kill)
            pid = sleeper.pid
            if prefix:
                children = f"/proc/{pid}/task/{pid}/children"
                self.wait_until(lambda: self.read(children), "a child")
                pid = int(self.read(children).split()[0])
                self.addCleanup(os.kill, pid, signal.SIGKILL)
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                ticks = int(file.read().rpartition(")")[2].split()[19])
            self.write_lock({"host": os.uname().nodename, "pid": 1 if prefix else pid,
                             "start_ticks": ticks, "since": 1.0})
            refused = self.tune("resume", "results/spec", "--num-samples", "3", expect=2).err
            self.assertIn("is driven by pid ", refused)


main()
