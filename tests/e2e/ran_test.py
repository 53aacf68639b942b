"""What ran: the program, its commit and its command line; and how much its logs may take."""
import json
import os
import subprocess
import sys

from cli_support import Case, main

HERE = os.path.dirname(os.path.abspath(__file__))

TRAIN = f"""import sys
sys.path.insert(0, {HERE!r})
from line_trainable import serve
class Trial:
    state = 0
    def start(self, config):
        pass
    def step(self):
        self.state += 1
        return {{"metrics": {{"count": self.state}}, "done": self.state == 2}}
serve(Trial())
"""

#: Prints 8 MiB, and ends once its log takes less than the half of that.
CHATTERING = f"""import os, sys, time
sys.path.insert(0, {HERE!r})
from line_trainable import serve
class Trial:
    state = 0
    def start(self, config):
        os.write(1, b"the first line\\n")
        for _ in range(128):
            os.write(1, b"x" * 65535 + b"\\n")
        os.write(1, b"the last line\\n")
    def step(self):
        while os.fstat(1).st_blocks * 512 > 4 << 20:
            time.sleep(0.01)
        return {{"metrics": {{"count": 1}}, "done": True}}
serve(Trial())
"""


class Ran(Case):
    def run_it(self, program, **fields):
        self.write("train.py", program)
        self.write("spec.json", {"trainable": {"command": [sys.executable, "train.py"]},
                                 "num_samples": 2, **fields})
        return self.tune("run", "spec.json", "--progress", "lines")

    def git(self, *words):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words],
                       cwd=self.dir, check=True, capture_output=True)

    def test_program_and_command_line_are_recorded_and_shown(self):
        self.run_it(TRAIN)
        ran = self.json("status", "results/spec")["ran"]
        self.assertEqual(ran["command_line"], ["tune", "run", "spec.json", "--progress", "lines"])
        self.assertEqual(ran["directory"], self.dir)
        self.assertIn(self.path("train.py"), ran["files"])
        self.assertNotIn("git", ran)
        text = self.tune("status", "results/spec").out
        self.assertIn(f"tune run spec.json --progress lines in {self.dir}", text)
        self.assertIn("train.py " + ran["files"][self.path("train.py")][:8], text)
        self.assertIn("train.py", self.tune("show", "results/spec", "0").out)

    def test_a_resume_with_another_script_says_so_and_goes_on(self):
        self.run_it(TRAIN)
        same = self.tune("resume", "results/spec", "--num-samples", "3", "--progress", "lines").out
        self.assertNotIn("has changed", same)
        before = self.json("status", "results/spec")["ran"]["files"][self.path("train.py")]
        self.write("train.py", TRAIN + "# another\n")
        out = self.tune("resume", "results/spec", "--num-samples", "4", "--progress", "lines").out
        after = self.json("status", "results/spec")["ran"]["files"][self.path("train.py")]
        self.assertNotEqual(before, after)
        self.assertEqual(out.count("has changed since the last session"), 1)
        self.assertIn(f"train.py was {before[:8]} and is {after[:8]}", out)
        self.assertEqual(len(self.json("ls", "results/spec")), 4)

    def test_an_interpreter_of_the_same_name_in_another_place_is_said(self):
        self.write("train.py", TRAIN)
        self.write("spec.json", {"trainable": {"command": ["mypython", "train.py"]}, "num_samples": 1})
        for place in ("one", "two"):
            os.mkdir(self.path(place))
            self.write(f"{place}/mypython", f'#!/bin/sh\nexec {sys.executable} "$@"\n')
            os.chmod(self.path(place, "mypython"), 0o755)
        paths = [f"{self.path(place)}:{os.environ['PATH']}" for place in ("one", "two")]
        self.tune("run", "spec.json", PATH=paths[0])
        out = self.tune("resume", "results/spec", "--num-samples", "2", "--progress", "lines", PATH=paths[1]).out
        self.assertIn(f"{self.path('one/mypython')} is {self.path('two/mypython')} now", out)

    def test_the_commit_is_recorded_and_another_one_is_said(self):
        self.write("train.py", TRAIN)
        self.git("init", "-q")
        self.git("add", "train.py")
        self.git("commit", "-q", "-m", "first")
        self.run_it(TRAIN)
        git = self.json("status", "results/spec")["ran"]["git"]
        self.assertFalse(git["dirty"])
        self.assertIn("commit " + git["commit"][:8], self.tune("status", "results/spec").out)
        self.write("train.py", TRAIN + "# another\n")
        out = self.tune("resume", "results/spec", "--num-samples", "3", "--progress", "lines").out
        self.assertIn(f"the commit was {git['commit'][:8]} and is {git['commit'][:8]} with changes", out)

    def test_a_git_that_hangs_holds_nothing_up_for_long(self):
        os.mkdir(self.path("bin"))
        self.write("bin/git", "#!/bin/sh\nsleep 1000\n")
        os.chmod(self.path("bin/git"), 0o755)
        self.write("train.py", TRAIN)
        self.write("spec.json", {"trainable": {"command": [sys.executable, "train.py"]}})
        self.tune("run", "spec.json", "--progress", "none", PATH=self.path("bin") + ":" + os.environ["PATH"])
        self.assertNotIn("git", self.json("status", "results/spec")["ran"])

    def test_a_log_beyond_its_limit_keeps_its_begin_and_its_end(self):
        self.run_it(CHATTERING, num_samples=1, max_log_bytes="2MB")
        shown = self.tune("logs", "results/spec", "0").out
        self.assertTrue(shown.startswith("the first line\n"))
        self.assertIn("were given up here: max_log_bytes", shown)
        self.assertTrue(shown.endswith("the last line\n"))
        self.assertNotIn("\0", shown)
        self.assertLess(len(shown), 4 << 20)
        taken = os.stat(self.path("results/spec/trial_00000/stdout.log")).st_blocks * 512
        self.assertLessEqual(taken, 2_100_000)

    def test_a_file_of_the_kernel_among_the_arguments_holds_nothing_up(self):
        self.write("train.py", TRAIN)
        self.write("spec.json", {"trainable": {"command": [sys.executable, "train.py", "/proc/kmsg"]}})
        self.tune("run", "spec.json", "--progress", "none")
        self.assertNotIn("/proc/kmsg", self.json("status", "results/spec")["ran"]["files"])

    def test_what_is_no_log_is_said(self):
        self.run_it(TRAIN)
        os.remove(self.path("results/spec/trial_00000/stdout.log"))
        os.mkfifo(self.path("results/spec/trial_00000/stdout.log"))
        self.assertIn("stdout.log", self.tune("logs", "results/spec", "0", expect=3).err)
        self.assertEqual(json.loads(self.tune("show", "results/spec", "0", "--json").out)["ran"]["directory"], self.dir)


main()
