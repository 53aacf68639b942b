"""Policies that are programs: asked, told, killed, made to hang and to lie."""

import os
import subprocess
import sys
import time

from cli_support import TUNE, main
from driver_support import DriverCase

PACKAGE = os.environ["PYTHON_PACKAGE"]

MINE = """
import os, random, signal, subprocess, time
from tune import policy

class Walk(policy.Searcher):
    def setup(self, spread=1.0):
        self.random, self.spread, self.configs, self.best = random.Random(self.seed), spread, {}, None
        print("sets up", flush=True)
    def on_trial_add(self, trial, config):
        self.configs[trial] = config
    def suggest(self, trial):
        if self.best is None:
            return {"x": self.random.uniform(-5, 5)}
        return {"x": min(5, max(-5, self.best[1] + self.random.gauss(0, self.spread)))}
    def on_trial_end(self, trial, iteration, metrics, how):
        if metrics.get("loss") is not None and (self.best is None or metrics["loss"] < self.best[0]):
            self.best = metrics["loss"], self.configs[trial]["x"]

class Saving(Walk):
    def save(self):
        return [self.random.getstate(), sorted(self.configs.items()), self.best]
    def load(self, state):
        (version, numbers, gauss), configs, self.best = state
        self.random.setstate((version, tuple(numbers), gauss))
        self.configs = dict(configs)

class Dying(Walk):
    def suggest(self, trial):
        answer = super().suggest(trial)
        if trial == 4 and not os.path.exists(os.environ["ONCE"]):
            open(os.environ["ONCE"], "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

class Dead(Walk):
    def suggest(self, trial):
        print("farewell", flush=True)
        os._exit(5)

class Slow(Walk):
    def suggest(self, trial):
        time.sleep(3600)

class Raising(Walk):
    def suggest(self, trial):
        raise ValueError("what is this")

class Outside(Walk):
    def suggest(self, trial):
        return {"x": 77}

class Other(Walk):
    def suggest(self, trial):
        return {"y": 1}

class Few(Walk):
    def suggest(self, trial):
        return None if trial == 3 else super().suggest(trial)

class Refused(Walk):
    def suggest(self, trial):
        return {"x": self.random.uniform(-5, 5)}

class Orders(policy.Scheduler):
    def setup(self):
        self.done = False
    def on_result(self, trial, iteration, metrics):
        assert metrics["loss"] == metrics["nested"]["too"]
        if trial == 0 and iteration == 3:
            return policy.Decision("pause", checkpoint=True)
        if trial == 1 and iteration == 2:
            return "stop"
        if trial == 2 and iteration == 4 and not self.done:
            self.done = True
            return policy.Decision(stop=[0])

class Exploits(policy.Scheduler):
    def setup(self):
        self.done = False
    def on_result(self, trial, iteration, metrics):
        if trial == 1 and iteration >= 3 and not self.done:
            self.done = True
            return policy.Decision("exploit", donor=0, config={"x": 0.25})

class Wild(policy.Scheduler):
    def setup(self, **decision):
        self.decision, self.done = decision, False
    def on_result(self, trial, iteration, metrics):
        if trial == 1 and iteration >= 3 and not self.done:
            self.done = True
            return policy.Decision("exploit", donor=0, **self.decision)

# Of what it keeps, a driver could read nothing.
class Keeping(Walk):
    def save(self):
        return {"bits": 2**127 + 1, "none": float("nan"), "worst": float("inf"), "told": sorted(self.configs)}
    def load(self, state):
        assert state["bits"] == 2**127 + 1 and state["none"] != state["none"] and state["worst"] == float("inf"), state
        self.configs = {trial: {"x": 0} for trial in state["told"]}
        print("loads", state, flush=True)

# Starts what would outlive it: in its group, and out of it.
class Leaving(Walk):
    def suggest(self, trial):
        if trial == 0:
            subprocess.Popen(["sleep", "98765"])
            subprocess.run(["setsid", "-f", "sleep", "98766"], check=True)
        return super().suggest(trial)

class Noting(policy.Scheduler):
    def on_result(self, trial, iteration, metrics):
        print(iteration, self.again, flush=True)

class Unknown(policy.Scheduler):
    def on_result(self, trial, iteration, metrics):
        return "go home"

class Enough(policy.Stopper):
    def setup(self, target):
        self.target, self.hit = target, False
    def should_stop(self, trial, iteration, metrics):
        self.hit = self.hit or metrics["loss"] < self.target
        return iteration == 5
    def should_stop_all(self):
        return "that is good enough" if self.hit else None
"""

# Without the package: answers each question once more than it is asked, in one write or in two, with numbers or without.
TWICE = """
import json, os, socket, sys
connection = socket.socket(fileno=int(os.environ["TUNE_SOCKET_FD"]))
for line in connection.makefile("rb"):
    message = json.loads(line)
    answer = {"question": message["question"]} if "question" in message and "numbers" in sys.argv else {}
    answer = json.dumps(answer).encode() + b"\\n"
    if message["type"] == "hello":
        connection.sendall(answer)
    elif message["type"] == "result":
        connection.sendall(answer + (answer if "twice" in sys.argv else b""))
"""

TRAIN = """
import os, sys, time, tune
def train(config):
    at = 0
    if checkpoint := tune.get_checkpoint():
        at = int(open(os.path.join(checkpoint.path, "at")).read())
    def save(directory):
        open(os.path.join(directory, "at"), "w").write(str(at))
    while at < 8:
        at += 1
        time.sleep(float(os.environ.get("PACE", 0)))
        loss = config["x"] ** 2 + 1 / at
        tune.report({"loss": loss, "nested": {"too": loss}}, save=save)
"""


class Policy(DriverCase):
    def setUp(self):
        super().setUp()
        self.write("mine.py", MINE)
        self.write("train.py", TRAIN)
        self.write("twice.py", TWICE)

    def program(self, name, **more):
        return {"type": "program", "command": [sys.executable, "-m", "tune.policy", f"mine.py:{name}"], **more}

    def spec(self, name="e", **fields):
        spec = {"name": name, "metric": "loss", "mode": "min", "num_samples": 12, "storage_path": self.dir, "seed": 3,
                "max_concurrent_trials": 1, "param_space": {"x": {"uniform": [-5, 5]}},
                "trainable": {"command": [sys.executable, "-m", "tune.trial", "--api", "function", self.path("train.py") + ":train"]}}
        spec.update(fields)
        return self.write(name + ".json", spec)

    def environment(self):
        return {"PYTHONPATH": PACKAGE, "ONCE": self.path("once"), "PYTHONDONTWRITEBYTECODE": "1"}

    def run_it(self, *arguments, expect=0):
        return self.tune("run", *arguments, "--progress", "none", expect=expect, **self.environment())

    def configs(self, name="e"):
        return [trial["config"] for trial in self.json("ls", name)]

    def test_a_searcher_is_asked_and_told(self):
        self.run_it(self.spec(searcher=self.program("Walk", options={"spread": 0.3})))
        trials = self.json("ls", "e")
        self.assertEqual(len(trials), 12)
        self.assertEqual({trial["state"] for trial in trials}, {"TERMINATED"})
        # It walks around the best: had it not heard of that, the numbers would be all over.
        first = trials[0]["config"]["x"]
        self.assertLess(abs(trials[1]["config"]["x"] - first), 1.5)

    def test_a_search_whose_driver_is_killed_goes_on_as_if_it_had_not_been(self):
        for name in ("Walk", "Saving"):
            with self.subTest(name):
                searcher = self.program(name)
                self.run_it(self.spec(f"whole-{name}", searcher=searcher))
                killed = self.spec(f"killed-{name}", searcher=searcher, snapshot_period_s=0.05)
                command = ["run", killed]
                for _ in range(4):
                    driver = subprocess.Popen([TUNE, *command, "--progress", "none"], cwd=self.dir,
                                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                              env={**os.environ, **self.environment()})
                    time.sleep(0.5)
                    driver.kill()
                    driver.wait()
                    if os.path.exists(self.path(f"killed-{name}", "CURRENT")):
                        command = ["resume", f"killed-{name}"]
                done = self.tune(*command, "--progress", "none", **self.environment())
                self.assertNotIn("answer", done.err)
                self.assertEqual(self.configs(f"killed-{name}"), self.configs(f"whole-{name}"))

    def test_a_program_that_dies_is_started_again_and_told_what_it_has_forgotten(self):
        self.run_it(self.spec("whole", searcher=self.program("Walk")))
        self.run_it(self.spec("died", searcher=self.program("Dying")))
        self.assertTrue(os.path.exists(self.path("once")))
        self.assertEqual(self.configs("died"), self.configs("whole"))

    def test_each_way_to_fail_ends_the_run_with_a_sentence(self):
        ways = {
            "Dead": r"exited with code 5, for the third time; it printed last: farewell \(see .*/Dead/searcher.log\)",
            "Slow": r"has not answered within 1 s",
            "Raising": r"failed: ValueError: what is this; it printed last: sets up \(see .*/Raising/searcher.log\)\n +File .*mine\.py\", line \d+, in suggest",
            "Outside": r"not in the param space: /x .*77",
            "Other": r"not in the param space: /y",
            "Nowhere": r"failed: AttributeError: .*Nowhere",
        }
        for name, pattern in ways.items():
            with self.subTest(name):
                done = self.run_it(self.spec(name, searcher=self.program(name, timeout_s=1 if name == "Slow" else 60)), expect=None)
                self.assertNotEqual(done.returncode, 0)
                self.assertRegex(done.err, pattern)
        done = self.run_it(self.spec("garbage", searcher={
            "type": "program", "command": ["/bin/sh", "-c", "read line <&3; echo hello >&3; sleep 60"]}), expect=None)
        self.assertRegex(done.err, "answered what is no JSON object: hello")
        flood = "import os\nos.read(3, 65536)\nos.write(3, b'{\"hello\": {}}\\n')\nwhile True: os.write(3, b'\\n' * (1 << 20))"
        spec = self.spec("blank", searcher={"type": "program", "timeout_s": 1, "command": [sys.executable, "-c", flood]})
        done = self.tune("run", spec, "--progress", "none", expect=None, under=("timeout", "-k", "5", "60"),
                         **self.environment())
        self.assertRegex(done.err, "has not answered within 1 s")
        # It is given more time, also for what it has answered before.
        done = self.tune("resume", "Slow", "--set", "searcher/timeout_s=2", "--progress", "none", expect=None,
                         **self.environment())
        self.assertIn("has not answered within 2 s", done.err)
        # Its end is a record, not a record that breaks off.
        status = self.tune("status", "Raising").out
        self.assertRegex(status, "ended because .*failed: ValueError: what is this")
        done = self.run_it(self.spec("none", searcher={"type": "program", "command": ["/nowhere/at/all"]}), expect=None)
        self.assertRegex(done.err, "cannot run '/nowhere/at/all': No such file")

    def test_a_searcher_may_end_the_search_and_is_asked_again_for_what_breaks_a_constraint(self):
        self.run_it(self.spec("few", searcher=self.program("Few")))
        self.assertEqual(len(self.configs("few")), 3)
        self.run_it(self.spec("refused", searcher=self.program("Refused"), constraints=["x >= 3"], num_samples=4))
        self.assertTrue(all(config["x"] >= 3 for config in self.configs("refused")))
        self.assertEqual(len(self.configs("refused")), 4)

    def test_a_scheduler_pauses_stops_and_clones(self):
        self.run_it(self.spec(scheduler=self.program("Orders"), num_samples=3, max_concurrent_trials=3,
                              resources_per_trial={"cpu": 0}))
        trials = self.json("ls", "e")
        self.assertEqual(trials[1]["training_iteration"], 2)
        self.assertEqual(trials[2]["training_iteration"], 8)
        self.run_it(self.spec("clones", scheduler=self.program("Exploits"), num_samples=2, max_concurrent_trials=2,
                              resources_per_trial={"cpu": 0}, checkpoint_config={"checkpoint_frequency": 1}))
        self.assertEqual(self.configs("clones")[1], {"x": 0.25})
        done = self.run_it(self.spec("unknown", scheduler=self.program("Unknown"), num_samples=1), expect=None)
        self.assertRegex(done.err, "with the action continue, pause, exploit or stop, and answered .*go home")

    def test_what_a_trial_repeats_after_a_failure_is_said_to_a_scheduler(self):
        self.write("train.py", TRAIN.replace("        at += 1\n", """        at += 1
        if at == 4 and tune.get_checkpoint() is None:
            raise ValueError("once")
"""))
        self.run_it(self.spec("repeating", scheduler=self.program("Noting"), num_samples=1, stop={"training_iteration": 5},
                              checkpoint_config={"checkpoint_frequency": 2}, failure_config={"max_failures": 1}))
        self.assertEqual(self.read("repeating", "scheduler.log").split("\n")[:-1],
                         ["1 False", "2 False", "3 False", "3 True", "4 False"])  # the rule ends it at 5

    def test_an_exploit_is_judged_as_a_suggestion_is(self):
        space = {"x": {"uniform": [-5, 5]}, "n": {"randint": [3, 9]}}
        common = dict(num_samples=2, max_concurrent_trials=2, resources_per_trial={"cpu": 0}, param_space=space,
                      checkpoint_config={"checkpoint_frequency": 1})
        for name, config, pattern in (
                ("unknown", {"x": 1, "y": 1}, "asked for an exploit with what is not in the param space: /y"),
                ("outside", {"x": 6}, "asked for an exploit with what is not in the param space: /x"),
                ("broken", {"x": 5, "n": 8}, r"cannot be tried, x \* n <= 30")):
            done = self.run_it(self.spec(name, scheduler=self.program("Wild", options={"config": config}),
                                         constraints=["x * n <= 30"], **common), expect=None)
            self.assertRegex(done.err, pattern)
        self.run_it(self.spec("less", scheduler=self.program("Wild", options={"config": {"x": 0.5}}), **common))
        config = self.configs("less")[1]
        self.assertEqual(config["x"], 0.5)
        self.assertIn(config["n"], range(3, 9))

    def test_a_policy_that_answers_twice_is_refused_and_one_that_gives_no_numbers_is_not(self):
        def run(name, *words):
            stop = {"type": "program", "command": [sys.executable, self.path("twice.py"), *words]}
            return self.run_it(self.spec(name, stop=stop, num_samples=2), expect=None)
        for words in ((), ("numbers",)):
            self.assertEqual(run("once" + "".join(words), *words).returncode, 0)
            done = run("twice" + "".join(words), "twice", *words)
            self.assertRegex(done.err, r"the stopper's program '\w+' said what nobody had asked for: \{")
        self.assertEqual(self.json("status", "twice")["states"]["RUNNING"], 0)

    def test_a_state_comes_back_to_the_letter(self):
        searcher = self.program("Keeping")
        driver = self.start("run", self.spec("keeping", searcher=searcher, snapshot_period_s=0.05), "--progress", "none",
                            env={**os.environ, **self.environment()})
        current = self.path("keeping", "CURRENT")
        self.wait_until(lambda: os.path.exists(current) and self.read(current).strip() != "1", "a snapshot")
        driver.kill()
        driver.wait()
        self.tune("resume", "keeping", "--progress", "none", **self.environment())
        self.assertIn("loads {'bits': 170141183460469231731687303715884105729, 'none': nan, 'worst': inf",
                      self.read("keeping", "searcher.log"))

    def test_what_a_policy_starts_ends_with_it_however_the_run_ends(self):
        def started():
            found = []
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    with open(f"/proc/{pid}/environ", "rb") as file:
                        is_ours = self.path("once").encode() in file.read()
                    with open(f"/proc/{pid}/cmdline", "rb") as file:
                        if is_ours and file.read().startswith(b"sleep\0"):
                            found.append(pid)
                except OSError:
                    pass
            return found
        spec = self.spec("leaving", searcher=self.program("Leaving"))
        self.run_it(spec)
        self.assertEqual(started(), [])
        driver = self.start("run", self.spec("killed", searcher=self.program("Leaving")), "--progress", "none",
                            env={**os.environ, **self.environment(), "PACE": "0.2"})
        self.wait_until(lambda: len(started()) == 2, "what the policy starts")
        driver.kill()
        driver.wait()
        done = self.tune("resume", "killed", "--progress", "none", **self.environment())
        self.assertRegex(done.err, "ended what an earlier driver had left behind: process .* of the searcher's program")
        self.assertEqual(started(), [])

    def test_a_stopper_ends_trials_and_the_search(self):
        self.run_it(self.spec(stop=self.program("Enough", options={"target": -1}), num_samples=2))
        self.assertEqual([trial["training_iteration"] for trial in self.json("ls", "e")], [5, 5])
        done = self.run_it(self.spec("all", stop=self.program("Enough", options={"target": 1e9}), num_samples=5))
        self.assertIn("that is good enough", done.err + done.out)
        self.assertLess(len(self.json("ls", "all")), 5)

    def test_a_tuner_takes_the_classes_as_they_are(self):
        self.write("search.py", MINE + TRAIN + """
if __name__ == "__main__":
    results = tune.Tuner(train, {"x": tune.uniform(-5, 5)}, metric="loss", mode="min", num_samples=4, name="classes",
                         searcher=policy.with_options(Walk, spread=0.1), scheduler=Exploits,
                         stop=policy.with_options(Enough, target=-1)).fit()
    print(len(results), {each.metrics["training_iteration"] for each in results})
""")
        done = subprocess.run([sys.executable, "search.py"], cwd=self.dir, check=True, text=True, timeout=60,
                              env={**os.environ, **self.environment(), "TUNE_BINARY": TUNE}, stdout=subprocess.PIPE)
        self.assertRegex(done.stdout.splitlines()[-1], "4 .*5")

    def test_a_program_beside_the_spec_is_found_from_anywhere(self):
        os.mkdir(self.path("elsewhere"))
        self.spec(searcher=self.program("Walk"), num_samples=2)
        subprocess.run([TUNE, "run", self.path("e.json"), "--progress", "none"], cwd=self.path("elsewhere"), check=True,
                       capture_output=True, env={**os.environ, **self.environment()})
        self.assertEqual(len(self.configs()), 2)

    def test_nothing_of_it_is_left(self):
        before = set(os.listdir("/tmp"))
        self.run_it(self.spec(searcher=self.program("Walk"), num_samples=2))
        self.assertEqual([name for name in set(os.listdir("/tmp")) - before if name.startswith("tune-side")], [])
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    self.assertNotIn(self.path("once").encode(), file.read(), pid)
            except OSError:
                pass


if __name__ == "__main__":
    main()
