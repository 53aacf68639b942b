"""What the machine does to a driver, and what trials do to the machine."""
import errno
import json
import os
import platform
import pty
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

    def test_a_driver_without_standard_descriptors_keeps_its_output_out_of_its_files(self):
        for closed in ("0<&- 1>&- 2>&-", "0<&- 1>&-", "1>&-"):
            name = f"closed-{len(closed)}"
            self.spec([None] * 3)
            self.tune("run", "spec.json", "--name", name,
                      under=["sh", "-c", f'exec "$@" {closed}', "sh"])
            status = self.json("status", f"results/{name}")
            self.assertEqual(status["states"]["TERMINATED"], 3)

    def test_a_current_directory_that_is_gone_is_named_as_what_is_wrong(self):
        gone = ["sh", "-c", 'mkdir gone && cd gone && rmdir ../gone && exec "$@"', "sh"]
        run = self.tune("run", "spec.json", under=gone, expect=3)
        self.assertEqual(run.err, "tune: the current directory is not there any more: "
                                  "go to another one, and try again\n")

    def test_what_is_mounted_in_a_checkpoint_is_not_the_drivers(self):
        mounts = ["unshare", "--mount", "--propagation", "private"]
        if subprocess.run([*mounts, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no right to mount anything")
        os.mkdir(self.path("mine"))
        self.write("mine/precious", 1)
        self.spec(["mounts"], checkpoint_config={"checkpoint_frequency": 1, "num_to_keep": 1})
        done = self.tune("run", "spec.json", "--progress", "lines", under=mounts)
        self.assertIn("is a mount point", done.out)
        self.assertEqual(self.read("mine/precious"), "1")

    def test_a_full_disk_is_the_machines_fault_and_no_plain_trials(self):
        full = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
                'mount -t tmpfs -o size=1m none full && exec "$@"', "sh"]
        os.mkdir(self.path("full"))
        if subprocess.run([*full, "true"], cwd=self.dir, capture_output=True, check=False).returncode != 0:
            self.skipTest("no right to mount anything")
        self.write("train.sh", "sleep 0.1; echo loss: 1.$$\n")
        # What is left is enough for its first files; then that is mended, and the search goes on.
        self.write("search.sh", """
            head -c "$1" /dev/zero > full/filler
            run() { "$TUNE" "$@" --min-free-bytes 0 --progress lines > said 2>&1; }
            run run train.sh --metric loss --mode min -p x=uniform:0,1 --num-samples 8 --storage-path full &
            until grep -q 'the disk is full\\|once that is mended' said; do sleep 0.02; done
            rm full/filler
            wait $! || run resume full/train
            exec "$TUNE" ls full/train --json
        """)
        done = subprocess.run([*full, "sh", "search.sh", "960k"], cwd=self.dir, capture_output=True, timeout=60, check=False,
                              env={**os.environ, "TUNE": TUNE})
        states = [trial["state"] for trial in json.loads(done.stdout or b"[]")]
        self.assertEqual(states, ["TERMINATED"] * 8, done.stderr.decode() + self.read("said"))

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

    def test_what_holds_the_spec_is_its_owners_alone(self):
        self.spec([None] * 3, snapshot_period_s=0.01)
        self.run_it(under=["sh", "-c", 'umask 0 && exec "$@"', "sh"])
        names = [name for name in os.listdir(self.path("results/spec"))
                 if name.split("-")[0] in ("experiment.json", "journal", "snapshot", "trials",
                                           "CURRENT")]
        self.assertGreaterEqual(len(names), 4, names)
        for name in names:
            mode = stat.S_IMODE(os.stat(self.path("results/spec", name)).st_mode)
            self.assertEqual(oct(mode), oct(0o600), name)
        # What others are to look at is as open as the user's umask has it.
        mode = stat.S_IMODE(os.stat(self.path("results/spec/trial_00000/result.json")).st_mode)
        self.assertEqual(oct(mode), oct(0o666))

    def test_a_directory_that_trials_cannot_be_told_of_is_refused_before_anything_is_touched(self):
        self.spec([None])
        odd = os.path.join(os.fsencode(self.dir), b"caf\xe9")
        os.mkdir(odd)
        os.rename(self.path("spec.json"), os.path.join(odd, b"spec.json"))
        run = subprocess.run([TUNE, "run", "spec.json"], cwd=odd, capture_output=True, check=False)
        self.assertEqual(run.returncode, 2, run.stderr)
        said = run.stderr.decode()
        self.assertIn("caf?/results/spec has a name that is no UTF-8", said)
        self.assertEqual(len(said.splitlines()), 1, said)
        self.assertEqual(os.listdir(odd), [b"spec.json"])

    def test_an_experiment_that_was_moved_to_such_a_directory_is_refused_too(self):
        self.spec([None])
        self.run_it()
        odd = os.path.join(os.fsencode(self.dir), b"caf\xe9")
        os.rename(self.path("results"), odd)
        run = subprocess.run([TUNE, "resume", os.path.join(odd, b"spec")], capture_output=True,
                             check=False)
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertIn("has a name that is no UTF-8", run.stderr.decode())


class Terminals(MachineCase):
    """What trials say never makes a terminal do anything."""

    def assert_harmless(self, said):
        text = said.decode()
        self.assertIn("harmless", text)
        self.assertEqual([c for c in text if (c < " " and c != "\n") or "\x7f" <= c < "\xa0"], [])

    def test_no_command_passes_on_what_a_terminal_would_obey(self):
        hostile = "\x1b]0;OWNED\x07\x1b[2J\u009b31m\u202e"
        self.spec(["escapes", None], max_concurrent_trials=1, metric="loss", mode="min")
        with open(self.path("spec.json"), encoding="utf-8") as file:
            spec = json.load(file)
        spec["param_space"] |= {f"harmless {hostile}\nfailed       no": {"choice": [hostile + "harmless\nno"]}}
        self.write("spec.json", spec)
        run = self.run_it(expect=1)
        self.assert_harmless(run.stderr)
        self.assert_harmless(run.stdout)
        self.assertNotIn(b"\nfailed       no", run.stdout)
        self.assert_harmless(self.read("results", "spec", "trial_00000", "error.txt").encode())
        for style in ["lines", "auto"]:
            run = self.tune("run", "spec.json", "--progress", style, "--name", style, expect=1)
            self.assert_harmless(run.stdout)
            self.assert_harmless(run.stderr)
        for words in [["ls", "results/spec", "--columns", "trial_id,error"], ["ls", "results/spec"],
                      ["status", "results/spec"], ["lineage", "results/spec"],
                      ["show", "results/spec", "0"], ["show", "results/spec", "1"],
                      ["checkpoints", "results/spec"], ["importance", "results/spec"],
                      ["validate", "spec.json"], ["resume", "results/spec"],
                      ["ls", "results/spec", "--columns", "nowhere" + hostile],
                      ["best", "results/spec", "--metric", "loss", "--mode", "min"]]:
            run = self.tune(*words, expect=None)
            self.assert_no_orders(run.stdout)
            self.assert_no_orders(run.stderr)
            self.assertNotIn(b"\nfailed       no", run.stdout)
        self.assert_harmless(self.tune("ls", "results/spec", "--columns", "error").stdout)

    def assert_no_orders(self, said):
        self.assertNotIn(b"\x1b", said)
        self.assertNotIn(b"\x07", said)
        self.assertNotIn("\u009b".encode(), said)
        self.assertNotIn("\u202e".encode(), said)

    def test_data_for_programs_is_cleaned_for_a_terminal_only(self):
        self.spec(["escapes"])
        self.run_it(expect=1)
        words = [TUNE, "ls", "results/spec", "--csv", "--columns", "error"]
        raw = self.tune(*words[1:]).stdout
        self.assertIn(b"\x1b[2J", raw)
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        subprocess.run(words, cwd=self.dir, stdout=slave, check=True)
        os.close(slave)
        shown = b""
        try:
            while piece := os.read(master, 4096):
                shown += piece
        except OSError:
            pass
        self.assertIn(b"harmless", shown)
        self.assert_no_orders(shown)


if __name__ == "__main__":
    main()
