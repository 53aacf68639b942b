"""Trials that are forked from a process that has their modules: as any others; and each thing that
stands in the way of a fork ends in launches without it, with a notice."""

import json
import os
import re
import shelve
import shutil
import signal
import subprocess
import sys
import time
import zipfile

from cli_support import TUNE, Case, main

TRAIN = """
import json, os, sys
before = "heavy" in sys.modules
import heavy
print(json.dumps({"argv": sys.argv[1:], "cwd": os.getcwd(), "main": __name__, "file": __file__,
                  "before": before, "rank": os.environ.get("RANK"), "port": os.environ.get("MASTER_PORT"),
                  "parent": os.getppid(), "group": os.getpgid(0) == os.getpid(),
                  "pid": os.getpid(), "trial": os.environ["TUNE_TRIAL_ID"], "id": heavy.ID, "path": sys.path[0],
                  "open": sorted(int(fd) for fd in os.listdir("/proc/self/fd"))[:-1]}))
print("loss=0.5", flush=True)
"""


# What happens to each process that is loaded, as its second launch is forked: the first line of the
# plan for the first one, and so on.
FAULTY = """
import os, signal
SERVER = os.getpid()
with open(os.environ["PLAN"]) as file:
    lines = file.read().splitlines() + [""]
with open(os.environ["PLAN"], "w") as file:
    file.write("\\n".join(lines[1:]))
who, _, what = lines[0].partition(" ")
forks = 0
def before():
    global forks
    forks += os.getpid() == SERVER
    suffer("server")
def suffer(me):
    if forks == 3 and me == who:  # the first was the empty one after loading
        os.kill(os.getpid(), getattr(signal, what))
def child():
    suffer("middle" if os.getppid() == SERVER else "trial")
    if forks == 3 and who == "parent" and os.getppid() == SERVER:
        os.kill(SERVER, getattr(signal, what))
os.register_at_fork(before=before, after_in_child=child)
if who == "loading":
    os.kill(os.getpid(), getattr(signal, what))
"""


class Preload(Case):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("lib"))
        self.module("heavy", "import os\nID = os.getpid()\n")
        self.write("train.py", TRAIN)

    def module(self, name, text):
        self.write(os.path.join("lib", name + ".py"), text)

    def spec(self, command=("train.py", "${args}"), preload=("heavy",), env=None, **fields):
        spec = {
            "name": "e",
            "metric": "loss",
            "mode": "min",
            "num_samples": 3,
            "storage_path": self.dir,
            "max_concurrent_trials": 1,
            "param_space": {"lr": {"uniform": [0, 1]}},
            "callbacks": [{"type": "tensorboard", "enabled": False}],
            "trainable": {
                "command": [sys.executable, *command],
                "preload": list(preload),
                "plain": {},
                "env": {"PYTHONPATH": self.path("lib"), **(env or {})},
            },
        }
        spec.update(fields)
        return self.write("e.json", spec)

    def ranked(self, preload=("heavy",), **fields):
        return self.spec(
            preload=preload, num_workers=2, resources={"cpu": 2}, resources_per_worker={"cpu": 1}, **fields
        )

    def said_by_rank_1(self, trial):
        log = self.read("e", f"trial_{trial:05}", "stdout.rank_00001.log")
        return json.loads(log.splitlines()[0])

    def nothing_is_left(self):
        mark = self.path("e").encode()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    self.assertNotIn(mark, file.read(), f"process {pid} is left")
            except OSError:
                pass

    def has(self, path, text):
        return os.path.exists(path) and text in self.read(path)

    def said(self, trial=0):
        return json.loads(self.read("e", f"trial_{trial:05}", "stdout.log").splitlines()[0])

    def cold_because(self, pattern, preload=("heavy",), **fields):
        """One notice; all trials end well."""
        done = self.tune("run", self.spec(preload=preload, **fields), "--progress", "none")
        found = re.findall(r"started without \"preload\".*", done.err)
        self.assertEqual(len(found), 1, done.err + done.out)
        self.assertRegex(found[0], pattern)
        self.assertFalse(self.said(2)["before"])
        return done

    def test_a_forked_trial_is_like_any_other_but_has_its_modules(self):
        self.tune("run", self.spec(preload=[]))
        cold = [self.said(number) for number in range(3)]
        shutil.rmtree(self.path("e"))
        self.tune("run", self.spec())
        forked = [self.said(number) for number in range(3)]
        self.assertEqual(len({each["id"] for each in forked}), 1)
        self.assertEqual(len({each["parent"] for each in forked}), 1)
        for one, other in zip(cold, forked):
            self.assertFalse(one.pop("before"))
            self.assertTrue(other.pop("before"))
            self.assertNotEqual(other["id"], other["pid"])
            for each in (one, other):
                for name in ("pid", "parent", "id"):
                    del each[name]
            self.assertEqual(one, other)
        self.assertEqual(self.read("e", "preload.log"), "")

    def test_modules_and_code_run_as_the_interpreter_runs_them(self):
        code = "import sys, json; print(json.dumps([sys.argv, sys.path[0], __name__])); print('loss=1')"
        self.module("mod", code)
        for command in (
            ["-c", code, "${args}"],
            ["-m", "mod", "${args}"],
            ["-B", "-Wignore", "-m", "mod"],
        ):
            said = []
            for preload in ([], ["heavy"]):
                shutil.rmtree(self.path("e"), ignore_errors=True)
                done = self.tune("run", self.spec(command, preload, num_samples=1))
                self.assertNotIn('without "preload', done.err + done.out)
                said.append(self.said())
            self.assertEqual(said[0], said[1])

    def test_exceptions_exit_codes_and_signals_are_those_of_the_trial(self):
        ends = {
            "raise ValueError('what')": "exited with code 1;",
            "import sys; sys.exit(7)": "exited with code 7;",
            "import sys; sys.exit(2**70)": "exited with code 255;",
            "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)": "signal 11|SIGSEGV",
            "import os; os._exit(9)": "exited with code 9;",
        }
        for code, reason in ends.items():
            with self.subTest(code):
                shutil.rmtree(self.path("e"), ignore_errors=True)
                self.write("train.py", "def f():\n    " + code + "\nf()\n")
                self.tune("run", self.spec(num_samples=1), expect=None)
                row = self.json("ls", "e")[0]
                self.assertEqual(row["state"], "ERROR")
                self.assertRegex(row["error"], reason)
        for code in ("raise ValueError('what')", "import sys; sys.exit(())", "import sys; sys.exit((3,))",
                     "raise SystemExit(())", "import sys; sys.exit('why')"):
            with self.subTest(code):
                self.write("train.py", "def f():\n    " + code + "\nf()\n")
                said = []
                for preload in ([], ["heavy"]):
                    shutil.rmtree(self.path("e"), ignore_errors=True)
                    self.tune("run", self.spec(preload=preload, num_samples=1), expect=None)
                    said.append((self.read("e", "trial_00000", "stderr.log"), self.json("ls", "e")[0]["error"]))
                self.assertEqual(said[0], said[1])

    def test_random_numbers_differ_between_trials(self):
        self.module(
            "numpy",
            "import sys\nclass random:\n    at = 0\n    @staticmethod\n    def seed():\n"
            "        random.at = 1\nsys.modules['numpy.random'] = random\n",
        )
        self.write(
            "train.py",
            "import random, numpy\nprint(random.random(), numpy.random.at)\nprint('loss=1')\n",
        )
        self.tune("run", self.spec(preload=["random", "numpy"]))
        numbers = [self.read("e", f"trial_{i:05}", "stdout.log").split()[0] for i in range(3)]
        self.assertEqual(len(set(numbers)), 3)
        self.assertEqual(self.read("e", "trial_00000", "stdout.log").split()[1], "1")

    def test_a_trial_ends_as_the_interpreter_does(self):
        self.write(
            "train.py",
            """
import atexit, heavy, os, threading, time
file = open("unclosed", "w")
file.write("all of it")
class Last:
    def __del__(self, write=os.write):
        write(1, b"deleted\\n")
last = Last()
atexit.register(lambda: open("atexit", "w").write("ran"))
threading.Thread(target=lambda: (time.sleep(0.1), open("thread", "w").write("ran"))).start()
print("loss=1")
""",
        )
        self.tune("run", self.spec(num_samples=1))
        self.assertEqual(
            [self.read(name) for name in ("unclosed", "atexit", "thread")],
            ["all of it", "ran", "ran"],
        )
        self.assertIn("deleted\n", self.read("e", "trial_00000", "stdout.log"))

    def test_so_does_one_with_modules_cycles_and_daemons_of_its_own(self):
        self.write("own.py", "import os\nclass Deleted:\n    def __del__(self, write=os.write):\n"
                             "        write(1, b'module\\n')\nheld = Deleted()\nheld.itself = held\n")
        self.write(
            "train.py",
            """
import own, sys, threading
def spin():
    global count
    while True:
        count += 1
count = 0
threading.Thread(target=spin, daemon=True).start()
print("loss=1")
sys.exit("this is why")
""",
        )
        self.tune("run", self.spec(num_samples=1), expect=1)
        self.assertIn("exited with code 1", self.read("e", "trial_00000", "error.txt"))
        self.assertEqual(self.read("e", "trial_00000", "stderr.log"), "this is why\n")
        self.assertEqual(self.read("e", "trial_00000", "stdout.log"), "loss=1\nmodule\n")

    def test_whatever_holds_a_file_what_was_written_to_it_is_there(self):
        self.write(
            "train.py",
            """
import builtins, heavy, shelve, sys, zipfile
class Holder:
    pass
def holding(name):
    holder = Holder()
    holder.file = open(name, "w")
    holder.file.write("all of it")
    return holder
cycle = holding("cycle")
cycle.itself = cycle
sys.mine, builtins.mine, heavy.mine = holding("sys"), holding("builtins"), holding("preloaded")
archive = zipfile.ZipFile("archive.zip", "w")
archive.writestr("name", "all of it")
shelf = shelve.open("shelf", writeback=True)
shelf["list"] = []
shelf["list"].append(1)
print("loss=1")
""",
        )
        self.tune("run", self.spec(num_samples=1))
        for name in ("cycle", "sys", "builtins", "preloaded"):
            self.assertEqual(self.read(name), "all of it", name)
        self.assertEqual(zipfile.ZipFile(self.path("archive.zip")).read("name"), b"all of it")
        with shelve.open(self.path("shelf")) as shelf:
            self.assertEqual(shelf["list"], [1])
        self.assertEqual(self.read("e", "trial_00000", "stderr.log"), "")

    def test_what_a_trial_has_left_behind_is_ended_with_it(self):
        self.write(
            "train.py",
            """
import os, sys, time
first = os.fork()
if first == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(3600)
    os._exit(0)
os.waitpid(first, 0)
import subprocess
here = [int(pid) for pid in os.listdir("/proc") if pid.isdigit()]
print("loss=1", flush=True)
""",
        )
        self.tune("run", self.spec())
        self.nothing_is_left()

    def test_threads_that_a_fork_does_not_copy_are_a_refusal(self):
        self.module(
            "busy",
            "import threading, time\n"
            "threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()\n",
        )
        self.cold_because("busy has started threads", ["heavy", "busy"])

    def test_threads_that_are_started_later_are_a_refusal_too(self):
        self.module(
            "late",
            "import threading, time, signal\n"
            "def on(*_):\n"
            "    threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()\n"
            "signal.signal(signal.SIGALRM, on)\nsignal.setitimer(signal.ITIMER_REAL, 0.3)\n",
        )
        self.write(
            "train.py",
            "import time, signal\nsignal.setitimer(signal.ITIMER_REAL, 0)\n"
            + TRAIN
            + "time.sleep(0.5)\n",
        )
        self.cold_because("has started threads", ["heavy", "late"])

    def test_a_gpu_in_use_is_a_refusal(self):
        self.write("cuda.c", "int cuDeviceGetCount(int *n) { *n = 1; return STATUS; }\n")
        for status, refused in ((3, False), (0, True)):
            library = self.path("libcuda.so.1")
            subprocess.run(
                [
                    "cc",
                    f"-DSTATUS={status}",
                    "-shared",
                    "-fPIC",
                    "-o",
                    library,
                    self.path("cuda.c"),
                ],
                check=True,
            )
            self.module("cupy", f"import ctypes\nctypes.CDLL({library!r})\n")
            shutil.rmtree(self.path("e"), ignore_errors=True)
            if refused:
                self.cold_because("cupy has begun to use a GPU", ["heavy", "cupy"])
            else:
                done = self.tune("run", self.spec(preload=["heavy", "cupy"]))
                self.assertNotIn('without "preload', done.err + done.out)
                self.assertTrue(self.said()["before"])

    def test_a_module_that_cannot_be_imported_is_named(self):
        self.cold_because("nowhere cannot be imported .*No module named", ["nowhere"])

    def test_a_module_that_ends_the_process_as_it_is_loaded_is_a_refusal(self):
        self.module("over", "import os\nprint('bye', flush=True)\nos._exit(3)\n")
        self.cold_because("has ended; what it printed is in .*preload.log", ["over"])
        self.assertEqual(self.read("e", "preload.log"), "bye\n")

    def test_a_module_that_is_never_loaded_is_a_refusal_in_time(self):
        self.module("slow", "import time\ntime.sleep(3600)\n")
        self.cold_because("longer than half of launch_timeout_s", ["slow"], launch_timeout_s=2)

    def test_environments_that_always_differ_are_a_refusal(self):
        done = self.tune(
            "run", self.spec(env={"LR": "${config.lr}"}, num_samples=6), "--progress", "none"
        )
        self.assertRegex(done.err, "more than 4 ways")
        self.assertEqual([self.said(i)["before"] for i in range(6)], [True] * 4 + [False] * 2)

    def test_all_ranks_of_all_trials_are_forked_from_one_process(self):
        done = self.tune("run", self.ranked(), "--progress", "none")
        self.assertNotIn('without "preload', done.err + done.out)
        ranks = [each for i in range(3) for each in (self.said(i), self.said_by_rank_1(i))]
        self.assertEqual([each["rank"] for each in ranks], ["0", "1"] * 3)
        self.assertEqual({each["before"] for each in ranks}, {True})
        self.assertEqual(len({each["id"] for each in ranks}), 1)
        for i in range(0, 6, 2):
            self.assertEqual(ranks[i]["port"], ranks[i + 1]["port"])

    def test_what_a_module_may_read_is_what_it_is_loaded_with(self):
        self.module("heavy", "import os\nID = os.environ['SIZE'], os.environ.get('RANK')\n")
        self.tune("run", self.ranked(env={"SIZE": "${config.n}"}, param_space={"n": {"grid_search": [1, 2]}},
                                     num_samples=1))
        for i in range(2):
            for each in (self.said(i), self.said_by_rank_1(i)):
                self.assertEqual((each["id"], each["before"]), ([str(i + 1), None], True))

    def test_a_module_that_forks_and_goes_on_in_both_processes_is_a_refusal(self):
        self.module("twice", "import os\nos.fork()\n")
        self.cold_because("twice forks while it is imported", ["heavy", "twice"])
        self.nothing_is_left()

    def test_a_process_that_a_module_has_forked_and_left_is_a_refusal_and_ends(self):
        self.module("left", "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(3600)\n")
        self.cold_because("left has forked a process that lives on", ["heavy", "left"])
        self.nothing_is_left()

    def test_a_module_may_fork_for_a_while_and_start_programs(self):
        self.module("busy", "import os, subprocess, sys\nchild = os.fork()\nif child == 0:\n    sys.exit(7)\n"
                            "assert os.waitpid(child, 0)[1] == 7 << 8\n"
                            "subprocess.Popen(['sleep', '3600'], start_new_session=True)\n")
        done = self.tune("run", self.spec(preload=["heavy", "busy"]), "--progress", "none")
        self.assertNotIn('without "preload', done.err + done.out)
        self.assertEqual([self.said(i)["before"] for i in range(3)], [True] * 3)
        self.nothing_is_left()

    def test_whenever_the_server_dies_or_hangs_no_trial_is_blamed_and_nothing_is_left(self):
        self.module("faulty", FAULTY)
        died, silent = "has died; ", "does not answer; "
        for plan, reasons in (
            (["server SIGKILL", "server SIGSTOP"], [died, silent]),
            (["middle SIGKILL", "middle SIGSTOP"], ["cannot fork", silent]),
            (["trial SIGKILL", "trial SIGSTOP"], [died, silent]),
        ):
            with self.subTest(plan):
                shutil.rmtree(self.path("e"), ignore_errors=True)
                self.write("plan", "\n".join(plan))
                spec = self.ranked(["heavy", "faulty"], env={"PLAN": self.path("plan")}, launch_timeout_s=8)
                done = self.tune("run", spec, "--progress", "none")
                said = [line for line in done.err.splitlines() if "started without" in line]
                self.assertEqual(len(said), 2, done.err)
                for number, (line, reason) in enumerate(zip(said, reasons)):
                    self.assertIn(f"trial_{number:05}", line)
                    self.assertIn(reason, line)
                self.assertEqual([self.said(i)["before"] for i in range(3)], [True] * 3)
                self.assertEqual([self.said_by_rank_1(i)["before"] for i in range(3)], [False, False, True])
                for i, row in enumerate(self.json("ls", "e")):
                    self.assertEqual((row["state"], row["training_iteration"], row["attempt"]), ("TERMINATED", 1, 1), row)
                    self.assertEqual(len(self.read("e", f"trial_{i:05}", "result.json").splitlines()), 1)
                self.nothing_is_left()

    def test_a_server_that_is_killed_while_it_loads_or_after_it_has_forked_is_replaced(self):
        self.module("faulty", FAULTY)
        self.write("plan", "loading SIGKILL\nparent SIGKILL")
        spec = self.ranked(["heavy", "faulty"], env={"PLAN": self.path("plan")})
        done = self.tune("run", spec, "--progress", "none")
        said = [line for line in done.err.splitlines() if "started without" in line]
        self.assertEqual(len(said), 2, done.err)
        self.assertIn("was to load its modules was killed by signal 9; ", said[0])
        self.assertIn("has died; ", said[1])
        forked = [each["before"] for i in range(3) for each in (self.said(i), self.said_by_rank_1(i))]
        self.assertEqual(forked, [False, True, True, False, True, True])
        self.nothing_is_left()

    def test_a_server_that_dies_or_hangs_is_replaced_and_the_third_time_given_up(self):
        for number, trials, reasons in (
            (signal.SIGKILL, 7, ["has died; ", "has died; ", "for the third time"]),
            (signal.SIGSTOP, 3, ["does not answer; "]),
        ):
            with self.subTest(number):
                shutil.rmtree(self.path("e"), ignore_errors=True)
                self.write(
                    "train.py",
                    TRAIN + f"if heavy.ID != os.getpid(): os.kill(heavy.ID, {int(number)})\n",
                )
                done = self.tune("run", self.spec(num_samples=trials), "--progress", "none")
                said = [line for line in done.err.splitlines() if "started without" in line]
                self.assertEqual(len(said), len(reasons), done.err)
                for line, reason in zip(said, reasons):
                    self.assertIn(reason, line)
                self.assertEqual([self.said(i)["before"] for i in range(3)], [True, False, True])

    def test_no_trial_and_no_server_outlives_a_driver_that_is_killed(self):
        self.write("train.py", TRAIN + "import time\ntime.sleep(3600)\n")
        driver = subprocess.Popen(
            [
                TUNE,
                "run",
                self.spec(num_samples=2, max_concurrent_trials=2, resources_per_trial={"cpu": 0}),
            ],
            cwd=self.dir,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(driver.kill)
        until = time.monotonic() + 60
        logs = [self.path("e", f"trial_{i:05}", "stdout.log") for i in range(2)]
        while not all(self.has(log, "loss") for log in logs):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.02)
        pids = [self.said(i)[name] for i in range(2) for name in ("pid", "id")]
        driver.kill()
        driver.wait()
        while any(os.path.exists(f"/proc/{pid}/exe") for pid in pids):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.02)
        self.write("train.py", TRAIN)
        self.tune("resume", "e")
        self.assertEqual([row["state"] for row in self.json("ls", "e")], ["TERMINATED"] * 2)


if __name__ == "__main__":
    main()
