"""Programs that know nothing of tune, and save by themselves, are paused, resumed and cloned."""
import csv
import glob
import io
import json
import os
import signal
import subprocess
import sys
import time

from cli_support import LIMIT_S, TUNE, Case, main

SAVES = """
import argparse, json, os, signal, sys, time
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
parser.add_argument("--out")
parser.add_argument("--resume")
parser.add_argument("--epochs", type=int, default=9)
parser.add_argument("--sleep", type=float, default=0.1)
parser.add_argument("--leave_at", type=int, default=0)
arguments = parser.parse_args()
file = os.path.join(arguments.out, "last.json")
state = {"epoch": 0, "loss": 1.0}
if os.path.exists(arguments.resume or file):
    with open(arguments.resume or file) as saved:
        state = json.load(saved)
    print("goes on after", state["epoch"])
while state["epoch"] < arguments.epochs:
    time.sleep(arguments.sleep)
    state = {"epoch": state["epoch"] + 1, "loss": state["loss"] * (1 - arguments.lr)}
    print(f"epoch {state['epoch']} - loss: {state['loss']:.6f}")
    with open(file + ".new", "w") as saved:
        json.dump(state, saved)
    os.rename(file + ".new", file)
    if state["epoch"] == arguments.leave_at:
        sys.exit(85)
"""
FOLDERS = """
import argparse, json, os, signal, sys, time
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
parser.add_argument("--out")
parser.add_argument("--resume")
arguments = parser.parse_args()
epoch = 0
if arguments.resume:
    with open(arguments.resume + "/state.json") as saved:
        epoch = json.load(saved)
def save():
    folder = f"{arguments.out}/checkpoint-{epoch}"
    os.makedirs(folder, exist_ok=True)
    for part in ("state.json", "weights.json", "complete"):
        with open(f"{folder}/{part}", "w") as saved:
            json.dump(epoch, saved)
def on_signal(*_):
    save()
    sys.exit(0)
signal.signal(signal.SIGUSR1, on_signal)
while epoch < 16:
    time.sleep(0.4)
    epoch += 1
    print(f"epoch {epoch} loss={arguments.lr / epoch:.6f}")
    if epoch % 5 == 0:
        save()
"""


AT_ONCE = """
import os, sys, time
out = sys.argv[1]
for step in (9, 10, 11):
    print(f"loss: 0.{step}", flush=True)
    os.mkdir(f"{out}/step-{step}")
    with open(f"{out}/step-{step}/model", "w") as model:
        model.write(str(step))
    time.sleep(0.3)
"""

IN_TWO_PHASES = """
import json, os, sys, time
file = os.path.join(sys.argv[1], "last.json")
epoch = 0
if os.path.exists(file):
    with open(file) as saved:
        epoch = json.load(saved)["epoch"]
while epoch < 6:
    time.sleep(0.15)
    epoch += 1
    print(f"val acc: {epoch + 0.5}", flush=True)
    print(f"loss: {epoch}", flush=True)
    print(f"acc: {epoch}", flush=True)
    with open(file + ".new", "w") as saved:
        json.dump({"epoch": epoch}, saved)
    os.rename(file + ".new", file)
"""


class PlainCheckpoints(Case):
    def setUp(self):
        super().setUp()
        self.write("at_once.py", AT_ONCE)
        self.write("saves.py", SAVES)
        self.write("folders.py", FOLDERS)

    def spec(self, name, arguments=(), plain=None, **fields):
        self.write(f"{name}.json", {
            "trainable": {"command": [sys.executable, "saves.py", "${args}", "--out", "${checkpoint_dir}", *arguments],
                          "plain": plain or {"checkpoints": "last.json"}},
            "param_space": {"lr": {"uniform": [0.1, 0.5]}}, "metric": "loss", "mode": "min", **fields})
        return f"{name}.json"

    def trial(self, name, trial, *parts):
        return self.path("results", name, f"trial_{trial:05}", *parts)

    def iterations(self, name, trial):
        with open(self.trial(name, trial, "result.json"), encoding="utf-8") as file:
            return [json.loads(line)["training_iteration"] for line in file]

    def printed(self, name, trial):
        with open(self.trial(name, trial, "stdout.log"), encoding="utf-8") as file:
            return file.read()

    def checkpoints(self, name, trial):
        """Of each: the iteration that it is said to have, and the epoch that it has."""
        found = []
        own = self.trial(name, trial)
        for entry in sorted(os.listdir(own)):
            if entry.startswith("checkpoint_"):
                with open(os.path.join(own, entry, "manifest.json"), encoding="utf-8") as file:
                    iteration = json.load(file)["iteration"]
                with open(os.path.join(own, entry, "last.json"), encoding="utf-8") as file:
                    found.append((iteration, json.load(file)["epoch"]))
        return found

    def latest(self, name, trial):
        """Iteration of its last checkpoint; 0: there is none."""
        found = glob.glob(self.trial(name, trial, "checkpoint_" + 6 * "[0-9]"))
        return max((int(os.path.basename(each)[len("checkpoint_"):]) for each in found), default=0)

    def wait_until(self, what, happens):
        until = time.monotonic() + LIMIT_S
        while not happens():
            self.assertLess(time.monotonic(), until, what)
            time.sleep(0.05)

    def run_while(self, name, spec, act, expect=0):
        """Runs the search, and `act` beside it."""
        with subprocess.Popen([TUNE, "run", spec, "--progress", "none"], cwd=self.dir,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as driver:
            try:
                act(driver)
                out = driver.communicate(timeout=LIMIT_S)[0]
            finally:
                driver.kill()
        self.assertEqual(driver.returncode, expect, out)
        return out

    def test_directories_that_become_whole_at_once_are_all_recorded(self):
        # Each is whole once nothing has changed for a second, or at the end, which comes first.
        self.write("spec.json", {"trainable": {"command": [sys.executable, "at_once.py", "${checkpoint_dir}"],
                                               "plain": {"checkpoints": "step-*", "saved": "after_result"}},
                                 "metric": "loss", "mode": "min", "num_samples": 1})
        self.tune("run", "spec.json", "--progress", "none")
        kept = [(each["training_iteration"], os.listdir(each["path"] + "/")) for each in self.json("checkpoints", "results/spec")]
        kept = [(iteration, [name for name in names if name.startswith("step")]) for iteration, names in kept]
        self.assertEqual(kept, [(1, ["step-9"]), (2, ["step-10"]), (3, ["step-11"])])

    def test_a_metric_in_two_phases_beside_one_in_one_joins_no_two_epochs(self):
        self.write("train.py", IN_TWO_PHASES)
        command = [sys.executable, "train.py", "${checkpoint_dir}"]
        plain = {"checkpoints": "last.json"}
        self.write("spec.json", {"trainable": {"command": command, "plain": plain}, "num_samples": 2,
                                 "param_space": {"x": {"uniform": [0, 1]}}, "max_concurrent_trials": 1,
                                 "metric": ["loss", "acc"], "mode": ["min", "max"]})  # fmt: skip
        self.tune("run", "spec.json", "--progress", "none")
        for trial in (0, 1):
            with open(self.trial("spec", trial, "result.json"), encoding="utf-8") as file:
                rows = [json.loads(line) for line in file]
            numbers = [(row["training_iteration"], row["loss"], row["acc"]) for row in rows]
            self.assertEqual(numbers, [(epoch, epoch, epoch) for epoch in range(1, 7)])
            found = self.checkpoints("spec", trial)
            self.assertEqual([iteration for iteration, _ in found], [epoch for _, epoch in found])
            self.assertEqual(found[-1], (6, 6))

    def test_each_checkpoint_has_at_least_its_iteration_and_the_best_is_kept(self):
        spec = self.spec("keeps", num_samples=2, max_concurrent_trials=2,
                         checkpoint_config={"num_to_keep": 3})
        done = self.tune("run", spec, "--progress", "none")
        self.assertIn("checkpoint_", done.out)
        for trial in range(2):
            self.assertEqual(self.iterations("keeps", trial), list(range(1, 10)))
            kept = self.checkpoints("keeps", trial)
            self.assertEqual(kept[-1], (9, 9))
            self.assertEqual([epoch >= iteration for iteration, epoch in kept], [True] * len(kept))

    def test_a_killed_driver_goes_on_from_the_checkpoints_and_each_iteration_is_there_once(self):
        spec = self.spec("killed", ["--epochs", "30"], num_samples=2, max_concurrent_trials=2)
        for kill in range(1, 4):
            with subprocess.Popen([TUNE, "run", spec, "--resume", "auto", "--progress", "none"],
                                  cwd=self.dir, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as driver:
                try:
                    # On a busy machine not each save is found before the next one.
                    self.wait_until("checkpoints", lambda target=5 * kill: driver.poll() is not None or all(
                        self.latest("killed", trial) >= target for trial in range(2)))
                    self.assertIsNone(driver.poll(), "the driver ended too early")
                finally:
                    driver.kill()
        self.tune("run", spec, "--resume", "auto", "--progress", "none")
        for trial in range(2):
            self.assertEqual(self.iterations("killed", trial), list(range(1, 31)))
            self.assertIn("goes on after", self.printed("killed", trial))

    def test_pbt_clones_it_from_the_donors_files(self):
        spec = self.spec("cloned", ["--epochs", "12"], num_samples=4, max_concurrent_trials=4,
                         resources_per_trial={"cpu": 0},
                         scheduler={"type": "pbt", "time_attr": "training_iteration", "perturbation_interval": 3, "synch": True,
                                    "hyperparam_mutations": {"lr": {"uniform": [0.1, 0.5]}}})
        self.tune("run", spec, "--progress", "lines")
        self.assertNotEqual(self.read("results", "cloned", "pbt_global.txt"), "")
        self.assertTrue(any("goes on after" in self.printed("cloned", trial) for trial in range(4)))

    def test_what_was_half_written_is_not_used(self):
        self.write("half.py", SAVES.replace("time.sleep(arguments.sleep)", """
    time.sleep(arguments.sleep)
    if state["epoch"] == 4 and not os.path.exists(arguments.out + "/../died"):
        open(arguments.out + "/../died", "w").close()
        open(file, "w").write("{half")
        os.kill(os.getpid(), signal.SIGKILL)
"""))
        self.write("half.json", {
            "trainable": {"command": [sys.executable, "half.py", "${args}", "--out", "${checkpoint_dir}"],
                          "plain": {"checkpoints": "last.json"}},
            "param_space": {"lr": 0.3}, "metric": "loss", "mode": "min",
            "failure_config": {"max_failures": 1}})
        self.tune("run", "half.json", "--progress", "none")
        self.assertIn("goes on after 4", self.printed("half", 0))
        self.assertEqual(self.iterations("half", 0), list(range(1, 10)))

    def test_a_pause_by_hand_waits_for_what_it_saves_and_goes_on_from_it(self):
        spec = self.spec("paused", ["--epochs", "60"])

        def pause(_):
            self.wait_until("it prints", lambda: os.path.exists(self.trial("paused", 0, "stdout.log"))
                            and "epoch 3" in self.printed("paused", 0))
            self.tune("pause", "results/paused", "0")

        self.run_while("paused", spec, pause)
        # It may have come to one more while it was being paused: then its checkpoint has that, too.
        has, epoch = self.checkpoints("paused", 0)[-1]
        self.assertIn(has - self.iterations("paused", 0)[-1], (0, 1))
        self.assertEqual(has, epoch)
        self.tune("resume", "results/paused", "--trial", "0", "--progress", "none")
        self.assertIn(f"goes on after {has}", self.printed("paused", 0))
        self.assertEqual(self.iterations("paused", 0), list(range(1, 61)))

    def test_ctrl_c_keeps_what_it_has_come_to(self):
        spec = self.spec("left", ["--epochs", "30"])

        def interrupt(driver):
            self.wait_until("it prints", lambda: os.path.exists(self.trial("left", 0, "stdout.log"))
                            and "epoch 3" in self.printed("left", 0))
            driver.send_signal(signal.SIGINT)

        self.run_while("left", spec, interrupt, expect=130)
        has, epoch = self.checkpoints("left", 0)[-1]
        self.assertIn(has - self.iterations("left", 0)[-1], (0, 1))
        self.assertEqual(has, epoch)
        self.tune("resume", "results/left", "--progress", "none")
        self.assertEqual(self.iterations("left", 0), list(range(1, 31)))

    def test_an_exit_code_may_say_that_it_has_saved_and_is_to_be_run_again(self):
        spec = self.spec("again", ["--leave_at", "4"],
                         {"checkpoints": "last.json", "checkpoint_exit_code": 85})
        done = self.tune("run", spec, "--progress", "none")
        self.assertIn("1 completed", done.out)
        self.assertIn("goes on after 4", self.printed("again", 0))
        self.assertEqual(self.iterations("again", 0), list(range(1, 10)))

    def test_what_is_saved_anew_right_after_a_restore_has_the_result_of_what_it_came_from(self):
        self.write("anew.py", """
import json, os, sys, time
file = sys.argv[1] + "/last.json"
def save(epoch):
    with open(file + ".new", "w") as saved:
        json.dump(epoch, saved)
    os.rename(file + ".new", file)
first = json.load(open(file)) if os.path.exists(file) else 0
if first and not os.path.exists(sys.argv[2]):
    open(sys.argv[2], "w").close()
    save(first)
    sys.exit(85)
for epoch in range(first + 1, 5):
    print(f"epoch {epoch} loss: {1 / epoch}", flush=True)
    save(epoch)
    if epoch == 2:
        sys.exit(85)
""")
        self.write("anew.json", {
            "trainable": {"command": [sys.executable, "anew.py", "${checkpoint_dir}", self.path("saved_anew"), "${args}"],
                          "plain": {"checkpoints": "last.json", "saved": "after_result", "checkpoint_exit_code": 85}},
            "param_space": {"lr": 0.1}, "metric": "loss", "mode": "min",
            "checkpoint_config": {"checkpoint_score_attribute": "loss", "checkpoint_score_order": "min"}})
        self.tune("run", "anew.json", "--progress", "none")
        self.assertTrue(os.path.exists(self.path("saved_anew")))
        kept = self.json("checkpoints", "results/anew")
        self.assertEqual([(each["training_iteration"], each["score"]) for each in kept if each["training_iteration"] == 2],
                         2 * [(2, 0.5)], kept)
        for each in kept[:2]:
            with open(os.path.join(each["path"], "manifest.json"), encoding="utf-8") as file:
                self.assertEqual(json.load(file)["metrics"], {"loss": 0.5})

    def test_what_its_end_cuts_off_in_the_background_is_no_checkpoint(self):
        self.write("cut.py", """
import os, sys, time
for epoch in (1, 2, 3):
    print(f"loss: {1 / epoch}", flush=True)
    name = f"{sys.argv[1]}/epoch-{epoch}.json"
    if epoch < 3:
        with open(name, "w") as file:
            file.write("whole")
        time.sleep(0.02 if epoch == 2 else 0.5)
    elif os.fork() == 0:
        with open(name, "w") as file:
            file.write("ha")
            file.flush()
            time.sleep(60)
time.sleep(0.1)
""")
        self.write("cut.json", {
            "trainable": {"command": [sys.executable, "cut.py", "${checkpoint_dir}", "${args}"],
                          "plain": {"checkpoints": "epoch-*.json", "saved": "after_result"}},
            "param_space": {"lr": 0.1}, "metric": "loss", "mode": "min"})
        done = self.tune("run", "cut.json", "--progress", "lines")
        self.assertIn("left 1 process running", done.out + done.err)
        kept = self.json("checkpoints", "results/cut")
        self.assertEqual([each["training_iteration"] for each in kept], [1, 2], kept)

    def test_nothing_behind_a_link_is_touched(self):
        os.makedirs(self.path("home"))
        self.write("home/mine.json", "{}")
        self.write("links.py", f"""
import os, sys
out = sys.argv[1]
print("loss: 1")
os.rmdir(out)
os.symlink({self.path('home')!r}, out)
sys.exit(3)
""")
        self.write("links.json", {
            "trainable": {"command": [sys.executable, "links.py", "${checkpoint_dir}", "${args}"]},
            "param_space": {"lr": 0.1}, "metric": "loss", "mode": "min", "failure_config": {"max_failures": 1}})
        done = self.tune("run", "links.json", "--progress", "lines", expect=1)
        self.assertIn("is a link where a directory of trial_00000 belongs", done.out + done.err)
        self.assertEqual(os.listdir(self.path("home")), ["mine.json"])

    def test_what_an_interrupted_save_leaves_behind_costs_no_iteration(self):
        # Dies with the file that is to be renamed half-written, which then lies there at the next start.
        self.write("aside.py", SAVES.replace("    os.rename(file", """
    if state["epoch"] == 4 and not os.path.exists(arguments.out + "/../died"):
        open(arguments.out + "/../died", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    os.rename(file"""))
        self.write("aside.json", {
            "trainable": {"command": [sys.executable, "aside.py", "${args}", "--out", "${checkpoint_dir}"],
                          "plain": {"checkpoints": "last.json"}},
            "param_space": {"lr": 0.3}, "metric": "loss", "mode": "min",
            "failure_config": {"max_failures": 1}})
        self.tune("run", "aside.json", "--progress", "none")
        self.assertIn("goes on after 3", self.printed("aside", 0))
        self.assertEqual(self.checkpoints("aside", 0)[-1], (9, 9))
        # Saved in the first iteration after the restart, and not said to be of what it began with.
        with open(self.path("results", "aside", "journal-1.jsonl"), encoding="utf-8") as file:
            saved = [json.loads(line) for line in file if '"checkpoint_committed"' in line]
        iterations = [record["checkpoint"]["iteration"] for record in saved]
        self.assertEqual(iterations, sorted(set(iterations)), saved)

    def test_what_is_saved_on_sigterm_after_a_result_that_nobody_took_has_that_result(self):
        self.write("late.py", """
import json, os, signal, sys, time
file = sys.argv[1] + "/last.json"
epoch = json.load(open(file)) if os.path.exists(file) else 0
def save(*_):
    with open(file + ".new", "w") as saved:
        json.dump(epoch, saved)
    os.rename(file + ".new", file)
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
while epoch < 40:
    time.sleep(0.05)
    # Else it may save what it has not printed: of that nobody could know the result.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    epoch += 1
    print(f"loss: {1 / epoch}", flush=True)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
save()
""")
        self.write("late.json", {
            "trainable": {"command": [sys.executable, "late.py", "${checkpoint_dir}", "${args}"],
                          "plain": {"checkpoints": "last.json"}},
            "param_space": {"lr": 0.1}, "metric": "loss", "mode": "min"})

        def interrupt(driver):
            self.wait_until("it prints", lambda: os.path.exists(self.trial("late", 0, "stdout.log"))
                            and self.printed("late", 0).count("loss") > 5)
            refused = self.tune("checkpoint", "results/late", expect=2)
            self.assertIn("the program saves by itself, and cannot be asked to", refused.out + refused.err)
            driver.send_signal(signal.SIGINT)

        out = self.run_while("late", "late.json", interrupt, expect=130)
        self.assertNotIn("not kept", out)
        [saved] = [name for name in os.listdir(self.trial("late", 0)) if name.startswith("checkpoint_")]
        with open(self.trial("late", 0, saved, "last.json"), encoding="utf-8") as file:
            epoch = json.load(file)
        with open(self.trial("late", 0, saved, "manifest.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["iteration"], epoch)
        self.tune("resume", "results/late", "--progress", "none")
        with open(self.trial("late", 0, "result.json"), encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        self.assertEqual([(row["training_iteration"], row["loss"]) for row in rows],
                         [(i, 1 / i) for i in range(1, 41)])
        self.assertEqual(self.printed("late", 0).count("loss"), 40)

    def test_who_is_told_to_end_and_trains_its_epoch_to_the_end_has_guesses_from_there_on(self):
        self.write("on.py", """
import json, os, signal, sys, time
file = sys.argv[1] + "/last.json"
epoch = json.load(open(file)) if os.path.exists(file) else 0
told = []
signal.signal(signal.SIGTERM, lambda *_: told.append(1))
while epoch < 12:
    for _ in range(10):
        time.sleep(0.03)
    epoch += 1
    if not told:
        print(f"loss: {1 / epoch}", flush=True)
    with open(file + ".new", "w") as saved:
        json.dump(epoch, saved)
    os.rename(file + ".new", file)
    if told:
        sys.exit(0)
""")
        self.write("on.json", {
            "trainable": {"command": [sys.executable, "on.py", "${checkpoint_dir}", "${args}"], "plain": {"checkpoints": "last.json"}},
            "param_space": {"lr": 0.1}, "metric": "loss", "mode": "min"})

        def interrupt(driver):
            self.wait_until("it has saved", lambda: self.latest("on", 0) >= 4)
            driver.send_signal(signal.SIGINT)

        self.run_while("on", "on.json", interrupt, expect=130)
        listed = self.json("checkpoints", "results/on")
        newest = max(listed, key=lambda each: each["index"])
        self.assertTrue(newest["is_guess"], listed)
        self.assertFalse(any(each["is_guess"] for each in listed if each is not newest), listed)
        begin = newest["training_iteration"]
        told = self.tune("resume", "results/on", "--progress", "lines").out
        self.assertIn(f"trial_00000 started, from iteration {begin} or later", told)
        self.assertIn("trial_00000 completed at iteration 11 or later", told)
        with open(self.trial("on", 0, "result.json"), encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        self.assertEqual([row["training_iteration"] for row in rows], list(range(1, 12)))
        for row in rows:
            self.assertEqual(row.get("iteration_is_guess", False), row["training_iteration"] > begin, row)
            self.assertEqual(round(1 / row["loss"]) - row["training_iteration"], 1 if "iteration_is_guess" in row else 0)
        self.assertEqual(self.json("show", "results/on", "0")["iteration_is_guess"], True)
        self.assertEqual(self.json("best", "results/on")["best_iteration_is_guess"], True)
        self.assertIn("11 or later", self.tune("best", "results/on").out)
        self.assert_guesses_are_said_everywhere(begin)

    def assert_guesses_are_said_everywhere(self, begin):
        listed, = self.json("ls", "results/on")
        self.assertEqual([listed["iteration_is_guess"], listed["best_iteration_is_guess"]], [True, True])
        for columns in ["trial_id,training_iteration", "best_iteration"]:
            self.assertIn("11 or later", self.tune("ls", "results/on", "--columns", columns).out)
        self.assertNotIn("or later", self.tune("ls", "results/on", "--csv").out)  # it has columns for that
        compared = self.json("compare", "results/on:0", "results/on:0")
        for name in ["iteration_is_guess", "best_iteration_is_guess", "last_iteration_is_guess"]:
            self.assertTrue(compared["trials"][0][name], name)
        self.assertEqual([point["iteration_is_guess"] for point in compared["curves"]],
                         [i > begin for i in range(1, 12)])
        self.assertIn("at iteration 11 or later", self.tune("compare", "results/on:0", "results/on:0").out)
        over_time = self.json("best", "results/on", "--over-time")["improvements"]
        self.assertEqual([each["iteration_is_guess"] for each in over_time], [i > begin for i in range(1, 12)])
        self.assertIn("11 or later", self.tune("best", "results/on", "--over-time").out)
        self.assertIn("at iteration 11 or later", self.tune("report", "results/on", "--html", "on.html").out)
        self.assertRegex(self.read("on.html"), r'"is_guess":\[[a-z,]*true')
        exported = self.tune("export", "results/on", "--curves", "-")
        self.assertIn(f"the iterations of {11 - begin} results may be later ones", exported.err)
        rows = list(csv.DictReader(io.StringIO(exported.out)))
        self.assertEqual([row["iteration_is_guess"] for row in rows], ["true" if i > begin else "" for i in range(1, 12)])
        self.assertEqual(self.json("export", "results/on", "--curves", "on.csv")["iterations_guessed"], 11 - begin)

    def test_what_it_prints_while_it_is_paused_comes_with_the_checkpoint_that_has_it(self):
        # All that is there is one checkpoint, and it never rests: each program trains to its end while it is paused.
        spec = self.spec("ahead", ["--epochs", "12"], plain={"working_directory": "spec"}, num_samples=4,
                         max_concurrent_trials=4, seed=1,
                         scheduler={"type": "asha_promotion", "grace_period": 3, "reduction_factor": 2, "max_t": 12})
        self.tune("run", spec, "--progress", "none")
        longest = 0
        for trial in range(4):
            with open(self.trial("ahead", trial, "result.json"), encoding="utf-8") as file:
                rows = [json.loads(line) for line in file]
            # What comes from a manifest took as long as its training, and not as long as reading it.
            # A machine that stood still tells of two lines at once, so each by itself says nothing.
            self.assertGreater(sum(row["time_this_iter_s"] for row in rows[1:]), 0.05 * (len(rows) - 1), rows)
            self.assertAlmostEqual(rows[-1]["time_total_s"], sum(row["time_this_iter_s"] for row in rows), 5)
            # How long it took is each result's, and no metric of those alone that came so.
            shown = json.loads(self.tune("show", "results/ahead", str(trial), "--json").out)
            self.assertNotIn("time_this_iter_s", shown["metrics"])
        best = json.loads(self.tune("best", "results/ahead", "--json").out)
        self.assertIn("time_this_iter_s", best["best_metrics"])
        for trial in range(4):
            with open(self.trial("ahead", trial, "result.json"), encoding="utf-8") as file:
                rows = [json.loads(line) for line in file]
            rows = {row["training_iteration"]: row["loss"] for row in rows}
            self.assertEqual(list(rows), list(range(1, len(rows) + 1)))
            printed = dict(line.split(" ")[1::3] for line in self.printed("ahead", trial).splitlines()
                           if line.startswith("epoch"))
            self.assertEqual({str(i): f"{loss:.6f}" for i, loss in rows.items()},
                             {i: loss for i, loss in printed.items() if int(i) <= len(rows)})
            self.assertEqual({iteration for iteration, _ in self.checkpoints("ahead", trial)}, {12})
            self.assertEqual({epoch for _, epoch in self.checkpoints("ahead", trial)}, {12})
            longest = max(longest, len(rows))
        self.assertEqual(longest, 12)

    def test_who_overwrites_what_it_saves_all_the_time_is_told_that_it_begins_anew(self):
        self.write("restless.py", SAVES.replace("file + \".new\"", "file").replace("os.rename(file, file)", "pass"))
        self.write("restless.json", {
            "trainable": {"command": [sys.executable, "restless.py", "${args}", "--out", "${checkpoint_dir}",
                                      "--epochs", "12", "--sleep", "0.2"],
                          "plain": {"checkpoints": "last.json"}},
            "param_space": {"lr": {"uniform": [0.1, 0.5]}}, "metric": "loss", "mode": "min", "num_samples": 2,
            "max_concurrent_trials": 1,
            "scheduler": {"type": "pbt", "time_attr": "training_iteration", "perturbation_interval": 4,
                          "hyperparam_mutations": {"lr": {"uniform": [0.1, 0.5]}}}})
        began = time.monotonic()
        done = self.tune("run", "restless.json", "--progress", "none")
        self.assertIn("nothing that it had saved when it was paused was whole", done.out + done.err)
        self.assertLess(time.monotonic() - began, 60)

    def test_a_checkpoint_that_may_be_of_the_next_iteration_is_marked_wherever_it_is_named(self):
        # It saves right between two results, and not with each: nothing tells which of them the model has.
        self.write("between.py", """
import os, sys, time
for epoch in range(1, 6):
    print(f"loss: {1 / epoch}", flush=True)
    time.sleep(0.15)
    if epoch % 2 == 0:
        with open(sys.argv[1] + "/new", "w") as saved:
            saved.write(str(epoch))
        os.rename(sys.argv[1] + "/new", sys.argv[1] + "/last")
    time.sleep(0.15)
""")
        self.write("between.json", {
            "trainable": {"command": [sys.executable, "between.py", "${checkpoint_dir}"],
                          "plain": {"checkpoints": "last"}},
            "param_space": {}, "num_samples": 1, "metric": "loss", "mode": "min"})
        self.tune("run", "between.json", "--progress", "none")
        listed = json.loads(self.tune("checkpoints", "results/between", "--json").out)
        guessed = [one for one in listed if one["is_guess"]]
        self.assertTrue(guessed, listed)
        marked = f"{guessed[-1]['training_iteration']} or later"
        self.assertIn(marked, self.tune("checkpoints", "results/between").out)
        self.assertIn(f"iteration {marked}", self.tune("show", "results/between", "0").out)
        self.assertIn(f"iteration {marked}", self.tune("best", "results/between").out)
        self.assertIn("it may be the model of a later one", self.tune("best", "results/between").out)

    def test_a_lineage_says_which_of_its_iterations_may_be_later_ones(self):
        # As above; the worse one goes on from the other's save behind its fourth result.
        self.write("copies.py", """
import os, sys, time
file, x = sys.argv[1] + "/last", float(sys.argv[2].split("=")[1])
start = int(open(file).read()) if os.path.exists(file) else 0
for epoch in range(start + 1, 7):
    print(f"loss: {x / epoch}", flush=True)
    time.sleep(0.15)
    if epoch % 2 == 0:
        with open(file + ".new", "w") as saved:
            saved.write(str(epoch))
        os.rename(file + ".new", file)
    time.sleep(0.15)
""")
        self.write("copies.json", {
            "trainable": {"command": [sys.executable, "copies.py", "${checkpoint_dir}", "${args}"], "plain": {"checkpoints": "last"}},
            "param_space": {"x": {"uniform": [0, 1]}}, "num_samples": 2, "max_concurrent_trials": 2, "resources": {"cpu": 2},
            "metric": "loss", "mode": "min",
            "scheduler": {"type": "pbt", "time_attr": "training_iteration", "perturbation_interval": 4, "quantile_fraction": 0.5,
                          "synch": True, "hyperparam_mutations": {"x": {"uniform": [0, 1]}}}})
        told = self.tune("run", "copies.json", "--progress", "lines").out
        lineage = self.json("lineage", "results/copies")
        cloning = lineage["clonings"][0]
        self.assertTrue(cloning["donor_iteration_is_guess"], lineage)
        begin = f"{cloning['donor_iteration']} or later"
        self.assertIn(f"goes on as a copy of {cloning['donor']} from iteration {begin}", told)
        clone = next(each for each in lineage["stretches"] if each["origin"] is not None)
        self.assertTrue(clone["from_is_guess"], lineage)
        self.assertIn(begin, self.tune("lineage", "results/copies", "--all").out)
        schedule = self.json("lineage", "results/copies", "--trial", cloning["trial_id"])["schedule"]["steps"]
        self.assertTrue(schedule[0]["to_is_guess"] and schedule[1]["from_is_guess"], schedule)
        compared = self.tune("compare", "results/copies", "0", "1").out
        self.assertRegex(compared, f"model of .*{cloning['donor']} to iteration {begin}")

    def test_a_resume_knows_what_was_learnt_of_the_order_of_saves_and_results(self):
        # It trains, saves, evaluates for as long, and prints; its lines do not count. The first trial's end tells that.
        self.write("first.py", """
import json, os, sys, time
file = sys.argv[1] + "/last.json"
epoch = 0
if os.path.exists(file):
    with open(file) as saved:
        epoch = json.load(saved)["epoch"]
while epoch < 12:
    time.sleep(0.15)
    epoch += 1
    with open(sys.argv[1] + "/new", "w") as saved:
        json.dump({"epoch": epoch}, saved)
    os.rename(sys.argv[1] + "/new", file)
    time.sleep(0.15)
    print(f"loss: {1 + epoch / 1000}", flush=True)
""")
        self.write("first.json", {
            "trainable": {"command": [sys.executable, "first.py", "${checkpoint_dir}"],
                          "plain": {"checkpoints": "last.json"}},
            "param_space": {}, "num_samples": 2, "max_concurrent_trials": 1, "metric": "loss", "mode": "min"})

        def rows():
            return self.iterations("first", 1) if os.path.exists(self.trial("first", 1, "result.json")) else []

        def while_it_runs(words, iteration, act):
            with subprocess.Popen([TUNE, *words, "--progress", "none"], cwd=self.dir,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as driver:
                try:
                    self.wait_until("results", lambda: driver.poll() is not None or len(rows()) >= iteration)
                    self.assertIsNone(driver.poll())
                    act(driver)
                    driver.wait(timeout=LIMIT_S)
                finally:
                    driver.kill()

        while_it_runs(["run", "first.json"], 4, lambda driver: driver.kill())
        known = rows()[-1]
        # Nothing but what is recorded tells this driver the order: it pauses with the first result.
        while_it_runs(["resume", "results/first"], known + 1, lambda _: self.tune("pause", "results/first"))
        self.tune("resume", "results/first", "--progress", "none")
        self.assertEqual(self.iterations("first", 1), list(range(1, 13)))
        with open(self.trial("first", 1, "result.json"), encoding="utf-8") as file:
            losses = [json.loads(line)["loss"] for line in file]
        self.assertEqual(losses, [1 + epoch / 1000 for epoch in range(1, 13)])
        self.assertEqual([kept for kept in self.checkpoints("first", 1) if kept[0] != kept[1]], [])
        self.assertFalse(any(each["is_guess"] for each in self.json("checkpoints", "results/first")
                             if each["trial_id"] == "trial_00001"))

    def test_a_save_of_what_is_not_trained_does_not_tell_that_a_program_saves_first(self):
        # It saves what it begins with, then trains, prints, evaluates and saves.
        self.write("initial.py", """
import json, os, sys, time
file = sys.argv[1] + "/last.json"
def save(epoch):
    with open(sys.argv[1] + "/new", "w") as saved:
        json.dump({"epoch": epoch}, saved)
    os.rename(sys.argv[1] + "/new", file)
save(0)
for epoch in range(1, 9):
    time.sleep(0.15)
    print(f"loss: {1 / epoch}", flush=True)
    time.sleep(0.15)
    save(epoch)
""")
        self.write("initial.json", {
            "trainable": {"command": [sys.executable, "initial.py", "${checkpoint_dir}"],
                          "plain": {"checkpoints": "last.json"}},
            "param_space": {}, "num_samples": 2, "max_concurrent_trials": 1, "metric": "loss", "mode": "min"})
        self.tune("run", "initial.json", "--progress", "none")
        for trial in range(2):
            kept = self.checkpoints("initial", trial)
            self.assertTrue(kept)
            self.assertEqual([each for each in kept if each[0] > each[1]], [])
            wrong = [index for index, each in enumerate(kept) if each[0] != each[1]]
            listed = [each for each in self.json("checkpoints", "results/initial")
                      if each["trial_id"] == f"trial_{trial:05}"]
            self.assertEqual([index for index in wrong if not listed[index]["is_guess"]], [])

    def test_a_result_that_was_taken_back_and_never_comes_again_is_nowhere(self):
        # It counts by itself, dies with its third result, and skips that when it goes on.
        self.write("skips.py", """
import json, os, signal, sys, time
file = sys.argv[1] + "/last.json"
step, skips = 0, os.path.exists(file)
if skips:
    with open(file) as saved:
        step = json.load(saved)
while step < 60:
    time.sleep(0.3)
    step += 20 if skips and step == 20 else 10
    print(f"step {step} loss={0.5 if step == 30 else 100 / step}", flush=True)
    if step == 30:
        os.kill(os.getpid(), signal.SIGKILL)
    with open(file + ".new", "w") as saved:
        json.dump(step, saved)
    os.rename(file + ".new", file)
""")
        self.write("skips.json", {
            "trainable": {"command": [sys.executable, "skips.py", "${checkpoint_dir}"],
                          "plain": {"checkpoints": "last.json", "saved": "after_result",
                                    "metrics": {"training_iteration": "step (\\d+)"}}},
            "param_space": {}, "num_samples": 1, "metric": "loss", "mode": "min",
            "failure_config": {"max_failures": 1}})
        self.tune("run", "skips.json", "--progress", "none")
        kept = self.iterations("skips", 0)
        self.assertNotIn(30, kept)
        self.assertEqual(kept[-1], 60)
        [trial] = self.json("ls", "results/skips", "--results")
        self.assertEqual([each["training_iteration"] for each in trial["results"]], kept)
        over_time = self.json("best", "results/skips", "--over-time")["improvements"]
        self.assertEqual([each["training_iteration"] for each in over_time], kept)
        shown = self.json("show", "results/skips", "0")["metrics"]["loss"]
        self.assertEqual(shown["min"], 100 / 60)
        self.assertEqual(shown["curve"], [100 / step for step in kept])

    def test_an_evaluation_of_the_restored_model_is_no_result_to_a_driver_that_has_seen_no_line(self):
        # As nanoGPT does, it evaluates random batches, and again what it goes on from.
        self.write("evaluates.py", """
import json, os, random, sys, time
file = sys.argv[1] + "/last.json"
step, goes_on = 0, os.path.exists(file)
if goes_on:
    with open(file) as saved:
        step = json.load(saved)
while True:
    print(f"step {step}: train loss {random.random():.4f}, val loss {random.random():.4f}", flush=True)
    if step == 80:
        break
    with open(file + ".new", "w") as saved:
        json.dump(step, saved)
    os.rename(file + ".new", file)
    time.sleep(1000 if step == 40 and not goes_on else 0.1)
    step += 20
""")
        self.write("evaluates.json", {
            "trainable": {"command": [sys.executable, "evaluates.py", "${checkpoint_dir}"],
                          "plain": {"checkpoints": "last.json", "saved": "after_result"}},
            "param_space": {}, "num_samples": 1, "metric": "val loss", "mode": "min"})

        def kill(driver):
            self.wait_until("its third result is saved", lambda: os.path.exists(
                self.trial("evaluates", 0, "stdout.log")) and any(
                    each["training_iteration"] == 3 for each in self.json("checkpoints", "results/evaluates")))
            driver.kill()

        self.run_while("evaluates", "evaluates.json", kill, expect=-signal.SIGKILL)
        self.tune("resume", "results/evaluates", "--progress", "none")
        self.assertEqual(self.iterations("evaluates", 0), [1, 2, 3, 4, 5])
        for each in self.json("checkpoints", "results/evaluates"):
            with open(os.path.join(each["path"], "last.json"), encoding="utf-8") as file:
                self.assertEqual(json.load(file) // 20 + 1, each["training_iteration"])

    def test_programs_that_end_before_they_can_be_paused_are_completed_and_not_started_again(self):
        # As LightGBM does, it refuses to train no round.
        self.write("done.py", """
import json, os, sys, time
file = os.path.join(sys.argv[1], "model.json")
done = json.load(open(file)) if os.path.exists(file) else 0
if done >= 30:
    sys.exit("ValueError: Number of boosting rounds must be greater than 0. Got 0.")
for i in range(done, 30):
    time.sleep(0.01)
    json.dump(i + 1, open(file + ".new", "w"))
    os.rename(file + ".new", file)
    print(f"[{i + 1}] loss: {float(sys.argv[2]) / (i + 1):.6f}", flush=True)
""")
        for scheduler in ({"type": "pbt", "time_attr": "training_iteration", "perturbation_interval": 10, "synch": True,
                           "hyperparam_mutations": {"lr": {"loguniform": [0.01, 0.5]}}},
                          {"type": "hyperband", "max_t": 81}):
            with self.subTest(scheduler["type"]):
                self.write("done.json", {
                    "trainable": {"command": [sys.executable, "done.py", "${checkpoint_dir}", "${config.lr}"],
                                  "plain": {"saved": "before_result"}},
                    "param_space": {"lr": {"loguniform": [0.01, 0.5]}}, "metric": "loss", "mode": "min",
                    "num_samples": 4, "max_concurrent_trials": 4, "scheduler": scheduler})
                ran = self.tune("run", "done.json", "--name", scheduler["type"], "--progress", "none")
                self.assertIn("4 completed", ran.out)

    def test_a_program_may_read_its_config_from_a_file(self):
        self.write("reads.py", """
import json, sys
config = json.load(open(sys.argv[1]))
print("loss:", config["lr"] + config["opt"]["beta"])
""")
        self.write("reads.json", {
            "trainable": {"command": [sys.executable, "reads.py", "${args_json_file}"]},
            "param_space": {"lr": {"grid_search": [1, 2]}, "opt": {"beta": 0.5}}, "metric": "loss", "mode": "min"})
        done = self.tune("run", "reads.json", "--progress", "none")
        self.assertIn("1.5", done.out)
        with open(self.trial("reads", 1, "args.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file), {"lr": 2, "opt": {"beta": 0.5}})

    def test_who_is_run_again_and_comes_to_nothing_has_failed(self):
        self.write("nothing.py", "import sys\nsys.exit(85)\n")
        self.write("nothing.json", {
            "trainable": {"command": [sys.executable, "nothing.py", "${args}", "${checkpoint_dir}"],
                          "plain": {"checkpoint_exit_code": 85}},
            "param_space": {"lr": 0.1}, "metric": "loss", "mode": "min"})
        done = self.tune("run", "nothing.json", "--progress", "none", expect=1)
        self.assertIn("it exited with code 85", done.out + done.err)

    def test_folders_are_whole_by_their_file_and_a_signal_makes_it_save(self):
        self.write("folders.json", {
            "trainable": {"command": [sys.executable, "folders.py", "${args}", "--out", "${checkpoint_dir}"],
                          "plain": {"checkpoints": "checkpoint-*", "complete": "complete",
                                    "resume": ["--resume", "${checkpoint}"], "save_signal": "SIGUSR1"}},
            "param_space": {"lr": 0.1}, "metric": "loss", "mode": "min"})

        def interrupt(driver):
            self.wait_until("it prints", lambda: os.path.exists(self.trial("folders", 0, "stdout.log"))
                            and "epoch 7" in self.printed("folders", 0))
            driver.send_signal(signal.SIGINT)

        self.run_while("folders", "folders.json", interrupt, expect=130)
        self.tune("resume", "results/folders", "--progress", "none")
        rows = self.iterations("folders", 0)
        self.assertEqual(rows, list(range(1, rows[-1] + 1)))
        # It went on from where the signal had it save, not from the fifth epoch.
        self.assertEqual(self.printed("folders", 0).count("epoch 6 "), 1)
        self.assertGreaterEqual(rows[-1], 15)


if __name__ == "__main__":
    main(at_once=3)
