"""What the machine does to a driver, and what trials do to the machine."""
import errno
import json
import os
import platform
import stat
import subprocess
import sys

from cli_support import TUNE, Case, main

HERE = os.path.dirname(os.path.abspath(__file__))
LOOKING = [sys.executable, os.path.join(HERE, "machine_trainable.py")]
WITHOUT = [sys.executable, os.path.join(HERE, "without_call.py")]
NAMESPACE = ["unshare", "--pid", "--fork", "--mount-proc"]
CLOSE_RANGE = 436
SETPGID = {"x86_64": 109, "aarch64": 154}


class MachineCase(Case):
    def spec(self, deeds, **fields):
        self.write("spec.json", {"trainable": {"command": LOOKING, "env": {"HERE": self.dir}},
                                 "param_space": {"deed": {"grid_search": deeds}}, **fields})

    def run_it(self, *options, **arguments):
        return self.tune("run", "spec.json", "--progress", "none", *options, **arguments)

    def found(self):
        return [trial["metrics"] for trial in self.json("ls", "results/spec")]

    def states(self):
        return [trial["state"] for trial in self.json("ls", "results/spec")]


class Processes(MachineCase):
    def test_a_driver_that_is_the_first_process_leaves_no_zombies(self):
        if subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("a namespace of processes is not permitted here")
        self.spec(["workers"] * 15, max_concurrent_trials=1)
        self.run_it(under=NAMESPACE)
        self.assertEqual([seen["zombies"] for seen in self.found()], [0] * 15)

    def test_what_a_trial_starts_and_hides_ends_with_it_and_before_the_next(self):
        self.spec(["daemon", None], max_concurrent_trials=1)
        self.run_it()
        self.assertEqual([seen["daemon_lives"] for seen in self.found()], [False, False])
        daemon = int(self.read("daemon"))
        self.assertFalse(os.path.exists(f"/proc/{daemon}"))

    def test_trials_have_the_descriptors_and_the_limit_that_the_user_has(self):
        self.spec([None])
        self.run_it(under=["sh", "-c", 'ulimit -S -n 300 && exec "$@"', "sh"])
        self.assertEqual(self.found()[0]["descriptor_limit"], 300)

    def test_without_close_range_trials_run_and_have_no_descriptors_of_the_drivers(self):
        for error in [errno.ENOSYS, errno.EPERM]:
            self.spec([None, None])
            options = ["--name", f"without-{error}"]
            run = self.run_it(*options, expect=None,
                              under=[*WITHOUT, str(error), str(CLOSE_RANGE)])
            if run.returncode == 77:
                self.skipTest("system calls cannot be forbidden here")
            self.assertEqual(run.returncode, 0, run.err)
            for trial in self.json("ls", f"results/without-{error}"):
                # The fourth is the directory that it looks into.
                self.assertEqual(trial["metrics"]["descriptors"], [0, 1, 2, 3])

    def test_a_machine_that_cannot_launch_is_told_before_anything_is_touched(self):
        number = SETPGID.get(platform.machine())
        if number is None:
            self.skipTest("the number of setpgid is not known for this machine")
        self.spec([None])
        run = self.run_it(expect=None, under=[*WITHOUT, str(errno.EPERM), str(number)])
        if run.returncode == 77:
            self.skipTest("system calls cannot be forbidden here")
        self.assertEqual(run.returncode, 3, run.err)
        self.assertEqual(len(run.err.splitlines()), 1, run.err)
        self.assertIn("this machine cannot start trials", run.err)
        self.assertIn("setpgid: Operation not permitted", run.err)
        self.assertFalse(os.path.exists(self.path("results/spec")))


class Files(MachineCase):
    def test_a_fifo_in_place_of_a_log_costs_that_trial_only(self):
        self.spec(["fifo", None, None], max_concurrent_trials=1,
                  failure_config={"max_failures": 1})
        self.run_it(expect=1)
        self.assertEqual(self.states(), ["ERROR", "TERMINATED", "TERMINATED"])
        error = self.json("ls", "results/spec")[0]["error"]
        self.assertIn("stdout.log: it is a FIFO where a file of the driver's belongs", error)


if __name__ == "__main__":
    main()
