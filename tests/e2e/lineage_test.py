"""`tune lineage`: whose copies trials are, and with which configs their models were trained."""
import collections
import csv
import io
import json
import os
import re

from cli_support import main
from driver_support import DriverCase

DIRECTORY = "results/population"
SAME = ["the", "same", "config"]


def changes_of(steps):
    """An exploit at the bound of a hyperparameter may change nothing, and a replay knows no such."""
    changes = []
    for step in steps:
        if changes and changes[-1][2] == step["config"]:
            changes[-1][1] = step["to"]
        else:
            changes.append([step["from"], step["to"], step["config"]])
    return changes


class Lineage(DriverCase):
    def write_population(self, **fields):
        """Gradient descent from 0 to 3: what a model is follows from its schedule alone."""
        spec = self.quadratic(
            name="population", param_space={"lr": {"loguniform": [1e-4, 0.1]}}, num_samples=5,
            stop={"training_iteration": 20}, max_concurrent_trials=2, resources={"cpu": 2},
            checkpoint_config={"num_to_keep": 1},
            scheduler={"type": "pbt", "time_attr": "training_iteration",
                       "perturbation_interval": 3,
                       "hyperparam_mutations": {"lr": {"loguniform": [1e-4, 0.1]}}})
        self.write("spec.json", {**spec, **fields})

    def assert_schedules_explain_the_models(self):
        trials = self.json("ls", DIRECTORY)
        for trial in trials:
            schedule = self.json("lineage", DIRECTORY, "--trial", trial["trial_id"])["schedule"]
            self.assertEqual(schedule["trial_id"], trial["trial_id"])
            steps = schedule["steps"]
            w, iteration = 0.0, 0
            for step in steps:
                self.assertEqual(step["from"], iteration)
                iteration = step["to"]
                for _ in range(step["from"], step["to"]):
                    w -= step["config"]["lr"] * 2.0 * (w - 3.0)
            self.assertEqual(iteration, trial["training_iteration"])
            self.assertAlmostEqual((w - 3.0) ** 2, trial["metrics"]["loss"], places=9)
            self.assertEqual(steps[-1]["config"], trial["config"])
            self.assertEqual(steps[-1]["trial_id"], trial["trial_id"])

    def assert_exported_lineages_explain_the_models(self):
        out = self.tune("export", DIRECTORY, "--curves", "-", "--lineage").out
        models, rows = {}, list(csv.DictReader(io.StringIO(out)))
        for row in rows:
            w, iteration = models.get(row["trial_id"], (0.0, 0))
            self.assertEqual(int(row["training_iteration"]), iteration + 1)
            w -= float(row["config/lr"]) * 2.0 * (w - 3.0)
            self.assertAlmostEqual((w - 3.0) ** 2, float(row["loss"]), places=9)
            models[row["trial_id"]] = w, iteration + 1
        self.assertEqual(len(models), len(self.json("ls", DIRECTORY)))
        self.assertGreater(sum(row["as"] != row["trial_id"] for row in rows), 0)
        plain = self.tune("export", DIRECTORY, "--curves", "-", expect=None)
        self.assertIn("--lineage writes what their models went through", plain.err)
        self.assertIn(" had other configs before", self.tune("importance", DIRECTORY).err)

    def test_schedules_explain_the_models_however_often_the_driver_is_killed(self):
        self.write_population()
        driver = self.start("run", "spec.json", "--progress", "none")
        for trial in (1, 3, 4):
            log = self.path(f"{DIRECTORY}/trial_{trial:05}/result.json")
            self.wait_until(lambda log=log: os.path.exists(log), f"a result of {trial}")
            self.tune("lineage", DIRECTORY)  # while it runs
            driver.kill()
            driver.wait()
            self.json("lineage", DIRECTORY)  # and when it is dead
            driver = self.start("resume", DIRECTORY, "--progress", "none", "--strict")
        self.finish(driver, expect=0)
        self.assert_schedules_explain_the_models()
        self.assert_exported_lineages_explain_the_models()
        lineage = self.json("lineage", DIRECTORY)
        self.assertGreater(len(lineage["clonings"]), 1)
        stretches = lineage["stretches"]
        self.assertEqual(len(stretches), 5 + len(lineage["clonings"]))
        self.assertEqual(sum(s["is_present"] for s in stretches), 5)
        for i, stretch in enumerate(stretches):
            self.assertLessEqual(stretch["from"], stretch["to"])
            if stretch["origin"] is not None:
                self.assertLess(stretch["origin"], i)
                self.assertLessEqual(stretch["from"], stretches[stretch["origin"]]["to"])
        best = self.json("best", DIRECTORY)["trial_id"]
        self.assertEqual(lineage["schedule"]["trial_id"], best)

        # For people: each trial once as what it is now, with its metric; all of it if asked for.
        short, whole = (self.tune("lineage", DIRECTORY, *all_).out.splitlines()
                        for all_ in ([], ["--all"]))
        self.assertIn(f"{len(lineage['clonings'])} clonings; ", short[0])
        self.assertEqual(whole[2].split(), ["trial", "from", "to", "loss", "config"])
        self.assertEqual(whole.index(""), 1)
        tree = whole[3:whole.index("", 2)]
        self.assertEqual(len(tree), len(stretches))
        roots = [line for line in tree if not line.startswith(" ")]
        self.assertEqual(len(roots), 5)
        # Each clone says what it changed: nothing only where a hyperparameter was at its bound.
        told = collections.Counter("changed" if " -> " in line else line.split()[-3:] == SAME
                                   for line in tree if line.startswith(" "))
        made = collections.Counter(
            True if s["config"] == stretches[s["origin"]]["config"] else "changed"
            for s in stretches if s["origin"] is not None)
        self.assertEqual(told, made)
        self.assertLess(len(short), len(whole))
        self.assertIn(f"the schedule of {best}, the best by its last loss:", short)

    def test_a_lineage_shows_all_metrics_where_there_are_several(self):
        self.write_population(metric=["loss", "w"], mode=["min", "max"], scheduler={
            "type": "pbt", "metric": "loss", "time_attr": "training_iteration",
            "perturbation_interval": 3,
            "hyperparam_mutations": {"lr": {"loguniform": [1e-4, 0.1]}}})
        self.tune("run", "spec.json", "--progress", "none")
        out = self.tune("lineage", DIRECTORY).out.splitlines()
        self.assertEqual(out[2].split(), ["trial", "from", "to", "loss", "w", "config"])
        self.assertNotIn("the schedule of", "".join(out))  # no trial is the best

    def policy(self, name):
        return [json.loads(line) for line in self.read(DIRECTORY, name).splitlines()]

    def assert_files_tell_the_lineage(self):
        """The files of Ray Tune hold what the record says, each cloning once."""
        lineage = self.json("lineage", DIRECTORY)
        told = [[c["trial_id"], c["donor"], c["training_iteration"], c["donor_iteration"],
                 c["new_config"]] for c in lineage["clonings"] if c["donor_iteration"]]
        rows = self.policy("pbt_global.txt")
        self.assertCountEqual([row[:4] + row[5:] for row in rows], told)
        for trial in self.json("ls", DIRECTORY):
            steps = self.json("lineage", DIRECTORY, "--trial",
                              trial["trial_id"])["schedule"]["steps"]
            name = f"pbt_policy_{trial['trial_id']}.txt"
            if len(steps) == 1:
                self.assertFalse(os.path.exists(self.path(DIRECTORY, name)))
                continue
            rows = self.policy(name)
            self.assertEqual([[row[3], row[5]] for row in rows],
                             [[step["from"], step["config"]] for step in steps[1:]])
            self.assertEqual([row[4] for row in rows], [step["config"] for step in steps[:-1]])
            self.assertEqual([row[0] for row in rows[:-1]], [row[1] for row in rows[1:]])
            self.assertEqual(rows[-1][0], trial["trial_id"])

    def test_the_files_of_ray_tune_are_right_and_can_be_replayed(self):
        self.write_population()
        driver = self.start("run", "spec.json", "--progress", "none")
        log = self.path(DIRECTORY, "pbt_global.txt")
        for kill in (1, 2, 3):
            self.wait_until(lambda k=kill, d=driver: d.poll() is not None or os.path.exists(log)
                            and self.read(log).count("\n") >= k, f"exploit {kill}")
            driver.kill()
            driver.wait()
            driver = self.start("resume", DIRECTORY, "--progress", "none", "--strict")
        self.finish(driver, expect=0)
        self.assert_files_tell_the_lineage()

        # What was lost, or is too much, is mended.
        for damage in ("", "[]\n"):
            self.write(f"{DIRECTORY}/pbt_global.txt", damage)
            self.tune("resume", DIRECTORY, "--progress", "none")
            self.assert_files_tell_the_lineage()

        clone = self.json("lineage", DIRECTORY)["clonings"][-1]["trial_id"]
        schedule = self.json("lineage", DIRECTORY, "--trial", clone)["schedule"]["steps"]
        self.assertGreater(len(schedule), 1)
        spec = json.loads(self.read("spec.json"))
        scheduler = {"type": "pbt_replay",
                     "policy_file": f"{DIRECTORY}/pbt_policy_{clone}.txt"}
        self.write("spec.json", {**spec, "name": "replay", "num_samples": 2,
                                 "scheduler": scheduler})
        driver = self.start("run", "spec.json", "--progress", "none")
        log = self.path("results/replay/trial_00001/result.json")
        self.wait_until(lambda: os.path.exists(log), "a result of the replay")
        driver.kill()
        driver.wait()
        os.rename(self.path(DIRECTORY), self.path("elsewhere"))  # it is needed no more
        self.tune("resume", "results/replay", "--progress", "none", "--strict")
        for trial in ("0", "1"):
            replayed = self.json("lineage", "results/replay", "--trial", trial)["schedule"]["steps"]
            self.assertEqual(changes_of(replayed), changes_of(schedule))
        self.assertRegex(self.tune("lineage", "results/replay").out, "^[0-9]+ changes of a trial's config; 0 of 2 trials are clones now\n")
        self.tune("report", "results/replay", "--html", "replay.html")
        self.assertEqual(re.findall(r'"since":(\d+)', self.read("replay.html").split('id="report">')[1]), ["0", "0"])
        # What came before the last change is of another config: that is said.
        for command in "best", "status":
            self.assertIn("only results since its config changed with iteration "
                          f"{replayed[-1]['from']} count, before that loss was ",
                          self.tune(command, "results/replay").out)
        self.assertIn("from checkpoints of their own",
                      self.tune("export", "results/replay", "--curves", "-", expect=2).err)
        losses = {t["metrics"]["loss"] for t in self.json("ls", "results/replay")}
        self.assertEqual(len(losses), 1)
        w = 0.0
        for step in schedule:
            for _ in range(step["from"], step["to"]):
                w -= step["config"]["lr"] * 2.0 * (w - 3.0)
        self.assertAlmostEqual(losses.pop(), (w - 3.0) ** 2, places=9)

    def test_a_policy_file_that_cannot_be_read_is_refused(self):
        for name, content, expected in [
                ("none.txt", None, "No such file or directory"), ("empty.txt", "", "nothing in it"),
                ("text.txt", "[1]\nnonsense\n", "line 2 of"),
                ("rows.txt", "[1, 2]\n", "a row of a policy must be")]:
            with self.subTest(name=name):
                if content is not None:
                    self.write(name, content)
                replay = {"type": "pbt_replay", "policy_file": name}
                within = {"type": "resource_changing", "base_scheduler": replay}
                for scheduler, at in (replay, ""), (within, "/base_scheduler"):
                    self.write_population(scheduler=scheduler)
                    error = self.tune("run", "spec.json", expect=2).err
                    self.assertIn(f"/scheduler{at}/policy", error)
                    self.assertIn(expected, error)
        self.assertFalse(os.path.exists(self.path("results")))

    def test_the_console_tells_of_exploits_and_not_of_each_pause(self):
        self.write_population()
        out = self.tune("run", "spec.json", "--progress", "lines").out
        exploits = re.findall(r"trial_\d+ goes on as a copy of trial_\d+ from iteration \d+: "
                              r"lr \S+ -> \S+\n", out)
        # A clone may become another's before it has started, and lr may be at its bound before and
        # after.
        self.assertIn(len(exploits), range(1, len(self.json("lineage", DIRECTORY)["clonings"]) + 1))
        starts = [line for line in out.splitlines() if " started" in line]
        self.assertEqual(len(starts), 5)
        self.assertNotIn("attempt", out)

    def test_finished_trials_that_go_on_keep_their_past(self):
        self.write_population()
        self.tune("run", "spec.json", "--progress", "none")
        before = self.json("lineage", DIRECTORY)["clonings"]
        self.tune("resume", DIRECTORY, "--stop", "training_iteration=30", "--finished",
                  "--progress", "none")
        self.assert_schedules_explain_the_models()
        self.assertEqual(self.json("lineage", DIRECTORY)["clonings"][:len(before)], before)

    def test_without_clones_there_is_one_sentence(self):
        self.write_population(scheduler="fifo")
        self.tune("run", "spec.json", "--progress", "none")
        self.assertEqual(self.tune("lineage", DIRECTORY).out,
                         f"no trial of {self.path(DIRECTORY)} has gone on as a copy of another one "
                         "or with another config\n")
        lineage = self.json("lineage", DIRECTORY)
        self.assertEqual(lineage["clonings"], [])
        self.assertEqual(len(lineage["schedule"]["steps"]), 1)

    def test_a_trial_that_is_not_there_is_refused(self):
        self.write_population(scheduler="fifo", num_samples=1)
        self.tune("run", "spec.json", "--progress", "none")
        self.assertIn("there is no trial '7'",
                      self.tune("lineage", DIRECTORY, "--trial", "7", expect=2).err)


main()
