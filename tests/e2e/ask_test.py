"""`tune suggest`, `tune tell` and `tune importance`: an experiment whose trials others run."""
import json
import os
import random
import signal
import subprocess

from cli_support import LIMIT_S, TUNE, Case, main

SPACE = {"lr": {"loguniform": [1e-3, 0.4]}, "layers": {"randint": [1, 9]},
         "kind": {"choice": ["a", {"name": "b", "width": {"uniform": [0, 1]}}]}}
SPEC = {"param_space": SPACE, "metric": "loss", "mode": "min", "searcher": "tpe"}


def loss_of(config):
    return (config["lr"] - 0.1) ** 2 + config["layers"] + (config["kind"] == "a")


class AskCase(Case):
    def setUp(self):
        super().setUp()
        self.write("spec.json", SPEC)

    def suggest(self, *options, expect=0):
        return self.lines("suggest", "mine", *options, expect=expect)

    def talk(self):
        """A conversation that is under way: write lines, read lines."""
        process = subprocess.Popen([TUNE, "tell", "mine", "-"], cwd=self.dir, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.kill)
        return process

    def say(self, process, message):
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())


class Ask(AskCase):
    def test_what_is_told_is_an_experiment_like_any_other(self):
        for trial in self.suggest("--spec", "spec.json", "-n", "12"):
            self.assertEqual(self.lines("tell", "mine", trial["trial_id"], "--metrics",
                                        json.dumps({"loss": loss_of(trial["config"]), "n": 1})),
                             [{"trial_id": trial["trial_id"], "state": "TERMINATED"}])
        failed, left = self.suggest("-n", "2")
        self.assertEqual(self.lines("tell", "mine", failed["trial_id"][-2:], "--failed", "--reason",
                                    "no memory")[0]["state"], "ERROR")

        status = self.json("status", "mine")
        self.assertEqual(status["states"], {"PENDING": 0, "RUNNING": 1, "PAUSED": 0,
                                            "TERMINATED": 12, "ERROR": 1})
        self.assertEqual((status["sessions"], status["driver"]), (1, None))
        self.assertIn("tune suggest", self.tune("status", "mine").out)
        listed = self.json("ls", "mine")
        self.assertEqual(listed[13]["config"], left["config"])
        self.assertEqual(listed[12]["error"], "no memory")
        best = self.json("best", "mine")
        self.assertEqual(best["value"], min(loss_of(trial["config"]) for trial in listed[:12]))
        self.assertEqual(best["why_no_checkpoint"], "what a trial saves that you run yourself is yours")
        compared = self.json("compare", "mine", "0", "1")["curves"]
        self.assertEqual([each["values"] for each in compared],
                         [[loss_of(trial["config"]) for trial in listed[:2]]])
        curves = self.tune("export", "mine", "--curves", "-").out.splitlines()
        self.assertEqual(len(curves), 13)
        self.assertTrue(curves[0].endswith(",loss,n"), curves[0])
        importances = self.json("importance", "mine", "--method", "ped_anova", "--top", "0.5")["importances"]
        self.assertEqual({one["name"] for one in importances},
                         {"lr", "layers", "kind", "kind.width"})
        self.assertEqual(importances[0]["name"], "layers")
        self.assertAlmostEqual(sum(one["importance"] for one in importances), 1)
        self.assertIn("layers", self.tune("importance", "mine", "--method", "ped_anova", "--top", "0.5").out.split("\n")[2])
        self.assertIn("nothing tells them from the others",
                      self.refused("importance", "mine", "--metric", "n", "--mode", "max"))

    def test_the_borders_of_a_slice_are_those_by_which_trials_are_counted(self):
        self.write("spec.json", {"metric": "loss", "mode": "min", "searcher": "random", "param_space": {
            "w": {"randn": [0, 1]}, "lr": {"loguniform": [1e-4, 1]}, "x": {"uniform": [0, 1]},
            "n": {"lograndint": [1, 300]}, "q": {"quniform": [-1, 2, 0.1]}, "few": {"randint": [0, 4]}}})
        trials = self.suggest("--spec", "spec.json", "-n", "60")
        process = self.talk()
        for trial in trials:
            loss = trial["config"]["w"] + trial["config"]["few"]
            self.say(process, {"trial_id": trial["trial_id"], "metrics": {"loss": loss}})
        process.stdin.close()
        process.wait()
        configs = [trial["config"] for trial in self.json("ls", "mine")]
        for name in ("w", "lr", "n", "q"):
            bins = self.json("importance", "mine", "--slice", name)["slice"]["bins"]
            self.assertEqual(sum(each["trials"] for each in bins), 60)
            for each in bins:
                lower, upper = each["lower"], each["upper"]
                there = [config[name] for config in configs
                         if (lower is None or lower <= config[name])
                         and (upper is None or config[name] < upper
                              or each["upper_included"] and config[name] == upper)]
                self.assertEqual(len(there), each["trials"], (name, each))
        self.assertEqual((bins[0]["lower"], bins[-1]["upper"]), (-1.0, 2.0))
        out = self.tune("importance", "mine", "--slice", "w").out
        self.assertRegex(out, r"\nbelow -1.5 ")
        self.assertRegex(out, r"\n1.5 and more ")
        self.assertRegex(self.tune("importance", "mine", "--slice", "x").out, r"\n\[0.125, 0.25\) ")

    def test_suggests_what_a_driver_would(self):
        for searcher in ({"type": "tpe", "n_startup_trials": 3}, {"type": "gp", "n_startup_trials": 3},
                         "random"):
            spec = self.quadratic(searcher=searcher, num_samples=7, max_concurrent_trials=1,
                                  param_space={"lr": {"loguniform": [1e-3, 0.4]}, "iterations": 2,
                                               "other": {"uniform": [0, 1]}})
            name = spec["searcher"] if isinstance(searcher, str) else searcher["type"]
            self.write("run.json", spec)
            self.tune("run", "run.json", "--name", name, "--progress", "none")
            driven = self.json("ls", "results/" + name)
            for trial in driven:
                [suggested] = self.lines("suggest", "told/" + name, "--spec", "run.json")
                self.assertEqual(suggested["config"], trial["config"], name)
                self.tune("tell", "told/" + name, suggested["trial_id"], "--value",
                          repr(trial["metrics"]["loss"]))
            self.refused("suggest", "told/" + name, expect=5)

    def test_one_conversation_is_the_same_as_many_calls(self):
        self.suggest("--spec", "spec.json")
        self.write("lines", '{"suggest": 2}\n\n{"trial_id": 0, "value": 1.5}\n'
                            '{"trial_id": "trial_00001", "metrics": {"loss": NaN}}\n{"suggest": 1}\n'
                            '{"trial_id": 2, "failed": true, "reason": "lost"}\n')
        with open(self.path("lines"), "rb") as lines:
            done = subprocess.run([TUNE, "tell", "mine", "-"], cwd=self.dir, stdin=lines,
                                  capture_output=True, timeout=LIMIT_S, check=True)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([answer["trial_id"][-1] for answer in answers], list("120132"))
        self.assertEqual([answer.get("state") for answer in answers],
                         [None, None, "TERMINATED", "TERMINATED", None, "ERROR"])
        one_by_one = [self.lines("suggest", "other", "--spec", "spec.json")[0] for _ in range(3)]
        self.assertEqual(answers[:2], one_by_one[1:])
        self.tune("tell", "other", "0", "--value", "1.5")
        self.tune("tell", "other", "1", "--value", "nan")
        self.assertEqual(self.lines("suggest", "other"), [answers[4]])

    def test_a_value_is_kept_with_all_its_digits(self):
        self.suggest("--spec", "spec.json", "-n", "6")
        told = {0: 9007199254740993, 1: -9007199254740993, 2: 18446744073709551615, 3: 0.30000000000000004, 4: 5e-324}
        for trial, value in told.items():
            self.tune("tell", "mine", str(trial), "--value", str(value))
        talk = self.talk()
        self.say(talk, {"trial_id": 5, "value": 9007199254740995})
        talk.stdin.close()
        talk.wait()
        metric = json.loads(self.read("spec.json"))["metric"]
        self.assertEqual([trial["metrics"][metric] for trial in self.json("ls", "mine")], [*told.values(), 9007199254740995])

    def test_a_wrong_line_does_no_harm_to_the_others(self):
        self.suggest("--spec", "spec.json", "-n", "2")
        talk = self.talk()
        for wrong in ("text", {}, {"trial_id": 9, "value": 1}, {"trial_id": 0}, {"suggest": 0},
                      {"trial_id": 0, "value": "x"}, {"trial_id": 0, "metrics": 3},
                      {"trial_id": 0, "value": 1, "failed": True}, {"trial_id": 0, "failed": False}):
            self.assertEqual(list(self.say(talk, wrong)), ["error"], wrong)
        self.assertEqual(self.say(talk, {"trial_id": 0, "value": 1})["state"], "TERMINATED")
        self.assertIn("told already", self.say(talk, {"trial_id": 0, "value": 1})["error"])
        talk.stdin.close()
        self.assertEqual(talk.wait(LIMIT_S), 2)
        self.assertEqual(self.json("status", "mine")["states"]["RUNNING"], 1)

    def test_says_when_there_is_nothing_to_suggest(self):
        self.assertEqual(len(self.suggest("--param-space", self.write("space.json", SPACE),
                                          "--num-samples", "3", "-n", "9")), 3)
        self.assertIn("over: all of its 3 trials", self.refused("suggest", "mine", expect=5))
        self.tune("suggest", "held", "--spec", "spec.json", "--set", "searcher/max_concurrent=1")
        self.assertIn("before the running trial is told", self.refused("suggest", "held", expect=6))
        self.tune("tell", "held", "0", "--value", "1")
        self.assertEqual(len(self.lines("suggest", "held")), 1)
        grid = self.write("grid.json", {"x": {"grid_search": [1, 2]}})
        self.assertEqual(len(self.lines("suggest", "grid", "--param-space", grid, "-n", "9")), 2)

    def test_more_samples_extend_a_search_and_fewer_do_not_shorten_it(self):
        for searcher in ("auto", "tpe", "sobol"):
            with self.subTest(searcher=searcher):
                name = f"more_{searcher}"
                start = ("suggest", name, "--spec", "spec.json", "--searcher", searcher)
                first = self.lines(*start, "--num-samples", "3", "-n", "9")
                self.assertEqual(len(first), 3)
                for trial in range(3):
                    self.tune("tell", name, str(trial), "--value", str(trial))
                more = self.lines("suggest", name, "--num-samples", "5", "-n", "9")
                self.assertEqual([one["trial_id"][-1] for one in more], ["3", "4"])
                # A worker that still says what it said at first.
                self.tune(*start, "--num-samples", "3", expect=5)
                self.tune(*start, expect=5)
                self.assertEqual(len(self.lines(*start, "--num-samples", "6", "-n", "9")), 1)
                self.tune("tell", name, "5", "--value", "1")
                self.assertEqual(self.json("status", name)["states"]["TERMINATED"], 4)
                whole = self.lines("suggest", name + "_whole", "--spec", "spec.json", "--searcher",
                                   searcher, "--num-samples", "6", "-n", "3")
                if searcher == "sobol":
                    self.assertEqual([one["config"] for one in whole],
                                     [one["config"] for one in first])

    def test_refuses_in_one_sentence(self):
        self.assertIn("there is no experiment in", self.refused("suggest", "mine"))
        self.assertIn("there is no experiment in", self.refused("tell", "mine", "0", "--value", "1"))
        self.assertIn("a scheduler has no say",
                      self.refused("suggest", "mine", "--spec", "spec.json", "--scheduler", "asha"))
        self.assertIn("loguniform", self.refused("suggest", "mine", "--spec", "spec.json", "--set",
                                                 'param_space/lr={"logunifrom": [1, 2]}'))
        self.assertFalse(os.path.exists(self.path("mine")))
        self.suggest("--spec", "spec.json", "-n", "2")
        for words, sentence in (
                (["7", "--value", "1"], "there is no trial_00007"),
                (["x", "--value", "1"], "a trial must be like 3 or trial_00003, got 'x'"),
                (["0", "--value", "1e309"], "--value must be a number that 64 bits hold"),
                (["0", "--value", "much"], "--value must be a number, got 'much'"),
                (["0", "--metrics", "{"], "not JSON"),
                (["0", "--metrics", '{"lost": 1}'], "lacks the metric 'loss'"),
                (["0", "--metrics", '{"loss": 1, "training_iteration": 0}'], "whole number"),
                (["0"], "say how the trial has ended"),
                (["-", "--failed"], "standard input")):
            self.assertIn(sentence, self.refused("tell", "mine", *words))
        for word, option in (("0.3", "--value 0.3"), ('{"loss": 1}', "--metrics '{\"loss\": 1}'")):
            self.assertIn("; what it has come to is an option: " + option,
                          self.tune("tell", "mine", "0", word, expect=2).err)
        self.tune("tell", "mine", "0", "--value", "1")
        self.assertIn("trial_00000 has been told already: it is TERMINATED",
                      self.refused("tell", "mine", "0", "--value", "2"))
        self.assertIn("was started with another seed",
                      self.refused("suggest", "mine", "--spec", "spec.json", "--seed", "3"))
        self.assertIn("tune tell", self.refused("resume", "mine"))
        # A resume would not go on with them.
        self.assertIn("tune tell mine ID --failed ends one".replace("mine", self.path("mine")),
                      self.refused("stop", "mine", "1"))
        self.write("run.json", self.quadratic(num_samples=1))
        self.tune("run", "run.json", "--progress", "none")
        self.assertIn("run by tune run", self.refused("suggest", "results/run"))
        self.assertEqual(self.json("best", "mine")["value"], 1)


class Together(AskCase):
    def test_many_at_the_same_time_get_what_one_would(self):
        command = [TUNE, "suggest", "mine", "--spec", "spec.json", "-n", "3"]
        others = [subprocess.Popen(command, cwd=self.dir, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE) for _ in range(6)]
        suggested = {}
        for process in others:
            out, err = process.communicate(timeout=LIMIT_S)
            self.assertEqual(process.returncode, 0, err)
            for line in out.splitlines():
                trial = json.loads(line)
                suggested[trial["trial_id"]] = trial["config"]
        self.assertEqual(len(suggested), 18)
        alone = self.lines("suggest", "alone", "--spec", "spec.json", "-n", "18")
        self.assertEqual(suggested, {trial["trial_id"]: trial["config"] for trial in alone})

    def test_whoever_waits_in_vain_is_told_for_whom(self):
        self.suggest("--spec", "spec.json")
        talk = self.talk()
        self.say(talk, {"suggest": 1})
        self.assertIn(f"pid {talk.pid}", self.refused("suggest", "mine", "--wait", "0.1"))
        self.assertEqual(self.json("status", "mine")["trials"], 2)
        talk.stdin.close()
        talk.wait(LIMIT_S)
        self.assertEqual(self.suggest()[0]["trial_id"], "trial_00002")

    def test_a_kill_at_any_moment_loses_nothing_that_was_printed(self):
        rng = random.Random(5)
        printed, told, lost = {}, set(), set()
        [first] = self.suggest("--spec", "spec.json")
        printed[first["trial_id"]] = first["config"]
        for _ in range(12):
            talk = self.talk()
            for _ in range(rng.randrange(1, 12)):
                running = sorted(printed.keys() - told - lost)
                if running and rng.random() < 0.5:
                    trial = rng.choice(running)
                    self.assertEqual(self.say(talk, {"trial_id": trial, "value": rng.random()}),
                                     {"trial_id": trial, "state": "TERMINATED"})
                    told.add(trial)
                else:
                    answer = self.say(talk, {"suggest": 1})
                    printed[answer["trial_id"]] = answer["config"]
            # Killed while it works on one more: that one may be lost, or not.
            running = sorted(printed.keys() - told - lost)
            if running:
                talk.stdin.write(json.dumps({"trial_id": running[0], "value": 0}).encode() + b"\n")
                lost.add(running[0])
            talk.stdin.write(b'{"suggest": 1}\n')
            talk.stdin.flush()
            if rng.random() < 0.5:
                talk.stdout.read(rng.randrange(1, 30))
            talk.send_signal(signal.SIGKILL)
            talk.wait(LIMIT_S)
            known = {trial["trial_id"]: trial for trial in self.json("ls", "mine")}
            for trial, config in printed.items():
                self.assertEqual(known[trial]["config"], config)
                if trial not in lost:
                    expected = "TERMINATED" if trial in told else "RUNNING"
                    self.assertEqual(known[trial]["state"], expected, trial)


class WarmStart(AskCase):
    def setUp(self):
        super().setUp()
        for trial in self.suggest("--spec", "spec.json", "-n", "14"):
            self.tune("tell", "mine", trial["trial_id"], "--value", repr(loss_of(trial["config"])))
        self.suggest()

    def test_others_trials_are_known_to_the_searcher_and_recorded(self):
        trials = [trial for trial in self.json("ls", "mine") if trial["state"] == "TERMINATED"]
        by_hand = dict(SPEC, searcher={
            "type": "tpe", "points_to_evaluate": [trial["config"] for trial in trials],
            "evaluated_rewards": [trial["metrics"]["loss"] for trial in trials]})
        expected = self.lines("suggest", "hand", "--spec", self.write("hand.json", by_hand), "-n", "3")
        done = self.tune("suggest", "warm", "--spec", "spec.json", "--warm-start", "mine", "-n", "3")
        self.assertEqual([json.loads(line) for line in done.out.splitlines()], expected)
        self.assertIn("mine: the searcher starts with 14 trials", done.err)
        self.assertNotEqual(self.lines("suggest", "cold", "--spec", "spec.json", "-n", "3"), expected)
        # What it has learned is its own now.
        os.rename(self.path("mine"), self.path("gone"))
        self.assertEqual(self.lines("suggest", "warm"), self.lines("suggest", "hand"))

    def test_a_run_is_resumed_and_extended_without_the_others(self):
        spec = self.quadratic(searcher="auto", num_samples=2, param_space=dict(SPACE, iterations=2))
        self.write("run.json", spec)
        again = ("run", "run.json", "--warm-start", "mine", "--resume", "auto", "--progress", "none")
        self.tune(*again)
        recorded = json.loads(self.read("results", "run", "experiment.json"))["searcher"]
        self.assertEqual(len(recorded["evaluated_rewards"]), 14)
        self.assertEqual(recorded["type"], "gp")  # with two trials and nothing known it would be sobol
        self.assertIn("is finished", self.tune(*again).out)
        os.rename(self.path("mine"), self.path("gone"))
        self.tune("resume", "results/run", "--num-samples", "3", "--progress", "none")
        self.assertEqual(self.json("status", "results/run")["trials"], 3)

    def test_what_a_scheduler_has_ended_early_is_known_as_that(self):
        space = dict(SPACE, iterations=4)
        self.write("early.json", self.quadratic(searcher="random", num_samples=8, param_space=space, scheduler={
            "type": "asha", "grace_period": 1, "reduction_factor": 2, "max_t": 4}))
        self.tune("run", "early.json", "--name", "early", "--max-concurrent-trials", "1", "--progress", "none")
        trials = self.json("ls", "results/early")
        ends = [None if trial["end"] == "completed" else trial["training_iteration"] for trial in trials]
        self.assertIn(1, ends)
        self.assertIn(None, ends)
        self.write("run.json", self.quadratic(searcher="tpe", num_samples=1, param_space=space))
        self.tune("run", "run.json", "--name", "next", "--warm-start", "results/early", "--progress", "none")
        recorded = json.loads(self.read("results", "next", "experiment.json"))["searcher"]
        self.assertEqual(recorded["evaluated_iterations"], ends)
        self.assertEqual(recorded["evaluated_rewards"], [trial["metrics"]["loss"] for trial in trials])

    def test_what_does_not_match_is_said(self):
        space = {"lr": {"loguniform": [1e-3, 0.1]}, "layers": {"randint": [1, 9]}}
        self.write("other.json", dict(SPEC, param_space=space, mode="max"))
        err = self.tune("suggest", "warm", "--spec", "other.json", "--warm-start", "mine").err
        self.assertIn("kind is not in the param space", err)
        self.assertIn("do not fit the param space at /lr", err)
        self.assertIn("searched for the min of loss", err)
        self.write("more.json", dict(SPEC, param_space=dict(SPACE, more={"uniform": [0, 1]})))
        err = self.tune("suggest", "more", "--spec", "more.json", "--warm-start", "mine").err
        self.assertIn("14 trials left out: they have no /more", err)
        self.assertIn("starts with 0 trials", err)
        for deaf in ("random", "sobol"):
            self.assertIn("learns nothing", self.refused(
                "suggest", deaf, "--spec", "spec.json", "--searcher", deaf, "--warm-start", "mine"))
        self.assertIn("there is no experiment in", self.refused(
            "suggest", "none", "--spec", "spec.json", "--warm-start", "nowhere"))
        self.assertIn("--warm-start has ./mine twice", self.refused(
            "suggest", "none", "--spec", "spec.json", "--warm-start", "mine", "./mine"))


if __name__ == "__main__":
    main()
