"""What each command prints with --json, on experiments of all kinds, is what `tune schema` promises: no field less, and
none that is not named."""
from __future__ import annotations

import copy
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
from typing import Any

from cli_support import LIMIT_S, TOY, TUNE, Case, commands_in, main
from driver_support import SLOW
from json_schema import Schema

HERE = pathlib.Path(__file__).parent
CLI_PAGE = HERE.parents[1] / "docs" / "cli.md"
SKILL = HERE.parents[1] / "docs" / "skill" / "SKILL.md"
RCLONE = shutil.which("rclone")

#: What prints no answer of its own but a program's, or a schema.
WITHOUT_SCHEMA = {"agent", "batch", "dashboard", "logs", "plot", "schema", "submit"}
#: Fields that are null here, and what it would take.
RARE = {
    "status": {".given_up": "a search that gives up, for minutes", ".waits_for": "a full disk, or the like",
               ".rungs.rungs[].cutoff": "who came to a rung", ".running[].gpus": "gpus of what runs for a while",
               ".checkpoints.slowest_rank": "several workers", ".remote.unreachable_since": "a store that is down"},
    "checkpoints": {".slowest_rank": "several workers"},
    "export": {".left_out_trials[].why": "results that are nowhere any more",
               ".left_out_trials[].trial_ids": "the same"},
    "run": {".not_on_remote": "a store that is down"},
    "ls": {".earlier_metrics.*.value": "a metric that the last result lacks", ".earlier_metrics.*.training_iteration": "the same"},
    "importance": {".iteration": "trials that were cut short"},
    "best": {".why_no_checkpoint": "a best trial that has not saved"},
    "version": {".commit": "a repository"},
}


def tensors(path: str, values: list[float]) -> None:
    header = json.dumps({"w": {"dtype": "F32", "shape": [len(values)], "data_offsets": [0, 4 * len(values)]}}).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header + struct.pack(f"<{len(values)}f", *values))


class Answers(Case):
    """One for all tests: the experiments are made once."""

    schemas: dict[str, Schema] = {}

    def schema(self, name: str) -> Schema:
        if name not in self.schemas:
            self.schemas[name] = Schema(json.loads(self.tune("schema", *name.split("-")).out))
        return self.schemas[name]

    def judge(self, name: str, answer: Any) -> Any:
        problems = self.schema(name).problems(answer)
        if name in ("run", "resume"):
            self.judge("status", answer["status"])
        self.assertEqual(problems, [], f"tune {name} --json prints {json.dumps(answer)[:2000]}")
        return answer

    def ask(self, name: str, *words: str, expect: int = 0) -> Any:
        return self.judge(name, json.loads(self.tune(*name.split("-"), *words, "--json", expect=expect).out))

    def ask_lines(self, name: str, *words: str, expect: int = 0) -> list[Any]:
        printed = self.tune(*name.split("-"), *words, "--json", expect=expect).out
        return [self.judge(name, json.loads(line)) for line in printed.splitlines()]

    def start(self, *words: str) -> subprocess.Popen[str]:
        driver = subprocess.Popen([TUNE, "run", *words, "--json"], cwd=self.dir, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        self.addCleanup(driver.communicate)
        self.addCleanup(driver.kill)
        return driver

    def end_of(self, driver: subprocess.Popen[str], expect: int) -> Any:
        out, err = driver.communicate(timeout=LIMIT_S)
        self.assertEqual(driver.returncode, expect, out + err)
        answer = self.judge("run", json.loads(out))
        self.assertEqual(answer["exit_code"], expect)
        return answer

    def write_specs(self) -> None:
        toy = {"trainable": {"command": [TOY, "class"]}, "metric": "loss", "mode": "min", "num_samples": 2,
               "stop": {"training_iteration": 3}, "checkpoint_config": {"checkpoint_frequency": 1}}
        loss = {"report": {"loss": {"uniform": [0, 1]}}}
        self.write("mixed.json", {**toy, "param_space": {**loss, "fail_in": {"grid_search": ["", "step"]}},
                                  "checkpoint_config": {"checkpoint_frequency": 1, "checkpoint_score_attribute": "loss"},
                                  "resources": {"gpu": 2}, "resources_per_trial": {"gpu": 1}})
        both = {"report": {"loss": {"uniform": [0, 1]}, "size": {"uniform": [0, 1]}}}
        self.write("two.json", {**toy, "param_space": both, "metric": ["loss", "size"], "mode": ["min", "max"],
                                "constraints": ["loss <= 2"], "num_samples": 4})
        self.write("population.json", {
            **toy, "param_space": {**loss, "rate": {"uniform": [0, 1]}}, "num_samples": 2,
            "max_concurrent_trials": 2, "resources_per_trial": {"cpu": 0},
            "scheduler": {"type": "pbt", "time_attr": "training_iteration", "perturbation_interval": 2, "synch": True,
                          "quantile_fraction": 0.5, "hyperparam_mutations": {"rate": {"uniform": [0, 1]}}}})
        self.write("slow.json", {
            "trainable": {"command": SLOW}, "metric": "count", "mode": "max", "num_samples": 2,
            "param_space": {"step_s": {"uniform": [0.01, 0.02]}, "iterations": 100000}, "resources_per_trial": {"cpu": 0},
            "max_concurrent_trials": 2, "time_budget_s": 3600,
            "scheduler": {"type": "asha", "grace_period": 100000, "max_t": 200000}})

    def test_every_command_prints_what_its_schema_says(self) -> None:
        self.write_specs()
        subprocess.run("git init -q . && git -c user.name=A -c user.email=a@b commit -qm x --allow-empty", shell=True,
                       cwd=self.dir, check=True)
        os.mkdir(self.path("far"))
        os.environ["RCLONE_CONFIG"] = "/dev/null"
        remote = ["--remote", self.path("far")] if RCLONE else []
        drivers = {name: self.start(f"{name}.json", *(remote if name == "mixed" else []))
                   for name in ("mixed", "two", "population", "slow")}
        self.about_specs()
        self.asked_and_told()
        self.while_it_runs(drivers["slow"])
        self.assertEqual(self.end_of(drivers["mixed"], expect=1)["end"], "finished")
        self.end_of(drivers["two"], expect=0)
        self.end_of(drivers["population"], expect=0)
        self.when_it_has_ended()
        self.shown_to_people()
        self.of_tensors()
        self.in_a_queue()
        if RCLONE:
            self.on_a_remote()
        self.judge("version", self.json("--version"))
        self.nothing_is_left_out()

    def about_specs(self) -> None:
        self.ask("validate", "two.json", "--set", "callbacks=[]")
        wrong = self.ask("validate", "two.json", "--num-samples", "0", expect=2)
        self.assertEqual([one["pointer"] for one in wrong["problems"]], ["/num_samples"])
        doubted = self.ask("validate", "mixed.json", "--set", 'param_space={"lr": 0.1}')
        self.assertTrue(doubted["notices"], doubted)
        self.ask("preview", "mixed.json", "--set", 'param_space={"lr": 0.1}')
        verdicts = self.ask_lines("check", "two.json", "--iterations", "2", expect=1)
        self.assertGreater(len(verdicts), 3)
        self.write("sweep.yaml", "program: train.py\nmethod: bayes\nmetric: {name: loss, goal: minimize}\n"
                                 "early_terminate: {type: hyperband, min_iter: 3}\ncontroller: {type: local}\n"
                                 "parameters: {lr: {min: 0.1, max: 1.0}}\n")
        self.assertEqual(self.ask("init", "--from", "sweep.yaml", "new.json")["file"], self.path("new.json"))
        self.assertEqual(self.ask("init", "--skill")["file"], self.path("SKILL.md"))

    def asked_and_told(self) -> None:
        self.write("asked.json", {"param_space": {"x": {"uniform": [0, 1]}}, "metric": "y", "mode": "min", "num_samples": 2})
        first, second = self.ask_lines("suggest", "results/asked", "--spec", "asked.json", "-n", "2")
        self.ask("tell", "results/asked", first["trial_id"], "--value", "1")
        self.ask("tell", "results/asked", second["trial_id"], "--failed")
        self.assertEqual(self.ask_lines("suggest", "results/asked", expect=5), [])

    def while_it_runs(self, driver: subprocess.Popen[str]) -> None:
        slow = "results/slow"
        while not (os.path.exists(self.path(slow, "control.sock")) and
                   all(trial["training_iteration"] > 1 for trial in self.json("ls", slow))):
            self.assertIsNone(driver.poll())
        self.ask("checkpoint", slow, "0")
        self.assertEqual(self.ask("pause", slow, "1")["trials"], ["trial_00001"])
        self.ask("unpause", slow, "1")
        self.assertEqual(self.ask("set", slow, "num_samples=2")["fields"], {"num_samples": 2})
        self.assertEqual(len(self.ask("add", slow, '{"step_s": 0.015}')["trials"]), 1)
        while not self.ask("show", slow, "0")["waits_for"]:
            pass
        self.assertEqual(self.ask("status", slow)["states"]["RUNNING"], 2)
        self.ask("stop", slow, "0")
        self.ask("pause", slow, "--wait")
        self.assertEqual(self.end_of(driver, expect=130)["end"], "interrupted")

    def when_it_has_ended(self) -> None:
        for name in ("mixed", "two", "population", "slow", "asked"):
            directory = f"results/{name}"
            self.ask("status", directory)
            for trial in self.ask("ls", directory, "--results"):
                shown = self.ask("show", directory, trial["trial_id"], "--results")
                self.assertEqual(trial["results"], shown["results"])
            self.ask("checkpoints", directory, "--verify")
            self.ask("lineage", directory)
            self.ask("report", directory, "--html", "report.html")
            self.ask_lines("events", directory)
        self.ask("note", "results/mixed", "0", "looks odd", "--tag", "good")
        self.ask("ls", "results/mixed")
        self.ask("show", "results/mixed", "0")
        self.assertTrue(self.ask("compare", "results/mixed", "0", "2")["ahead"])
        self.ask("compare", "results/population", "0", "1")
        self.ask("compare", "results/two", "0", "1", "--metric", "loss")
        self.ask("ls", "results/population", "--over", "report.loss,rate")
        self.ask("best", "results/population", "--over-time")
        population = self.ask("export", "results/population", "--lineage", "--curves", "lineages.csv")
        self.assertEqual((population["curves"], population["left_out_trials"]), (2, []))
        # One of the two has become a copy of the other, once.
        without = self.ask("export", "results/population", "--curves", "without.csv")
        self.assertEqual((without["curves"], len(without["left_out_trials"])), (1, 1))
        self.ask("ls", "results")
        self.ask("note", "results/two", self.ask("best", "results/two")[0]["trial_id"], "on the front", "--tag", "good")
        self.ask("best", "results/mixed")
        self.ask("best", "results/mixed", "-n", "2")
        self.assertEqual(set(self.ask("best", "results/two")[0]["constraints"]), {"loss <= 2"})
        self.ask("importance", "results/two", "--metric", "loss", "--mode", "min", "--method", "ped_anova", "--top", "0.5")
        self.ask("importance", "results/two", "--metric", "loss", "--mode", "min", "--slice", "report.loss")
        self.assertEqual(self.ask("export", "results/mixed", "--curves", "curves.csv")["curves"], 2)
        self.ask("simulate", "--curves", "curves.csv", "--metric", "loss", "--mode", "min", "--seeds", "2",
                 "--time-budget-s", "1000")
        self.ask("resume", "results/two", "--num-samples", "1")

    def shown_to_people(self) -> None:
        """The other way out of each command: its text names the same trial."""
        mixed = "results/mixed"
        best = self.json("best", mixed)["trial_id"]
        for words in (["ls", mixed], ["ls", mixed, "--columns", "trial_id,loss,config.fail_in"], ["ls", mixed, "--csv"],
                      ["ls", mixed, "results/two"], ["show", mixed, best], ["best", mixed], ["best", mixed, "--over-time"],
                      ["status", mixed], ["checkpoints", mixed], ["compare", mixed, best, "1"],
                      ["events", mixed], *([["plot", mixed, "curves"]] if shutil.which("gnuplot") else [])):
            text = self.tune(*words).out
            self.assertIn(best, text, words)
        for words in (["importance", "results/two", "--metric", "loss", "--slice", "report.loss"], ["ls", "results"],
                      ["lineage", "results/population"], ["preview", "mixed.json"], ["report", mixed]):
            self.assertNotEqual(self.tune(*words).out, "", words)

    def of_tensors(self) -> None:
        tensors(self.path("a.safetensors"), [1, 2])
        tensors(self.path("b.safetensors"), [1, 3])
        self.assertEqual(self.ask("diff", "a.safetensors", "b.safetensors", expect=1)["differ"], 1)
        checkpoint = self.json("checkpoints", "results/mixed")[0]["path"]
        shutil.copy(self.path("a.safetensors"), checkpoint)
        self.assertEqual(self.ask("checkpoints", "results/mixed", "--blobs")[0]["blobs"][0]["name"], "w")

    def in_a_queue(self) -> None:
        """Slurm's answers are made up: of real daemons slurm_test.py and agent_jobs_test.py tell."""
        os.makedirs(self.path("results/two/job"))
        self.write("results/two/job/submitted.json", {"job": "12"})
        os.makedirs(self.path("slurm"))
        os.makedirs(self.path("results/two/cluster"))
        self.write("results/two/cluster/jobs.json", {"jobs": [{"name": "two-1", "id": "13"}]})
        self.write(
            "slurm/squeue",
            "#!/bin/sh\ncase \"$*\" in *--name*) echo 'two-1|13|RUNNING|0:30:00|None|1|n3';;\n"
            "*) echo 'RUNNING|1:00:00|None|2|n[1-2]';; esac\n",
        )
        os.chmod(self.path("slurm/squeue"), 0o755)
        before = os.environ["PATH"]
        os.environ["PATH"] = self.path("slurm") + ":" + before
        status = self.ask("status", "results/two")
        os.environ["PATH"] = before
        job, jobs = status["job"], status["jobs"]
        self.assertEqual(job, {"id": "12", "state": "RUNNING", "reason": "None", "nodes": 2, "time_left_s": 3600.0})
        self.assertEqual(
            jobs, [{"id": "13", "state": "RUNNING", "reason": "None", "node": "n3", "time_left_s": 1800.0}]
        )
        shutil.rmtree(self.path("results/two/job"))
        shutil.rmtree(self.path("results/two/cluster"))

    def on_a_remote(self) -> None:
        self.ask("push", "results/two", "--remote", self.path("far"))
        self.ask("remote-verify", self.path("far/two"))
        self.ask("pull", self.path("far/two"), "copy")
        self.assertTrue(self.ask("status", "copy")["copy"])
        checkpoint = self.json("checkpoints", "copy")[0]["path"]
        self.assertEqual(self.ask("fetch", checkpoint)["fetched"][0]["came"], False)

    def nothing_is_left_out(self) -> None:
        commands = set(commands_in(self.tune("--help").out)) - WITHOUT_SCHEMA
        if not RCLONE:
            commands -= {"push", "pull", "fetch", "remote"}
        self.assertEqual(commands - {name.split("-")[0] for name in self.schemas}, set())
        missing = {}
        for name, schema in self.schemas.items():
            missing[name] = {place for place in schema.unseen() - set(RARE.get(name, {}))
                             if not place.startswith(".status.") and (RCLONE or not place.startswith(".remote"))}
        # A resume answers as a run does.
        del missing["resume"]
        self.assertEqual({name: places for name, places in missing.items() if places}, {},
                         "no answer here has these fields")

    def test_a_field_less_and_a_field_more_are_both_found(self) -> None:
        answer = {"file": "/x", "not_the_same": [], "to_fill_in": []}
        schema = self.schema("init")
        self.assertEqual(schema.problems(answer), [])
        for name in answer:
            less = copy.copy(answer)
            del less[name]
            self.assertEqual(schema.problems(less), [f".{name} is not there"])
        self.assertEqual(schema.problems({**answer, "more": 1}), [".more is in no schema"])
        self.assertEqual(len(schema.problems({**answer, "file": 1})), 1)

    def test_the_page_on_json_has_the_fields_of_the_schemas(self) -> None:
        done = subprocess.run([sys.executable, "-B", HERE / "json_page.py", "--check"], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, f"run tests/e2e/json_page.py\n{done.stdout}")

    def test_exit_codes_stand_in_the_docs_as_in_the_program(self) -> None:
        codes = json.loads(self.tune("schema", "exit-codes").out)["oneOf"]
        rows = [f"| {one['const']} | {one['description']} |" for one in codes]
        page = CLI_PAGE.read_text().split("## Exit codes")[1].split("\n## ")[0]
        without_links = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", page)
        self.assertEqual(re.findall(r"^\| \d+ \|.*$", without_links, re.M), rows)
        self.assertIn("7 not everything is on the remote", self.tune("--help").out)

    def test_a_command_that_fails_leaves_standard_output_empty(self) -> None:
        for words in (["status", "nowhere"], ["run", "nowhere.json"], ["best", "nowhere"], ["stop", "nowhere"],
                      ["schema", "nothing"], ["init", "-"]):
            done = self.tune(*words, "--json", expect=2)
            self.assertEqual(done.out, "", words)
            self.assertRegex(done.err, "^tune: ", words)

    def test_the_schema_of_a_spec_is_that_of_the_docs(self) -> None:
        with open(HERE.parents[1] / "docs" / "experiment.schema.json", encoding="utf-8") as file:
            self.assertEqual(json.loads(self.tune("schema").out), json.load(file))

    def test_the_skill_is_one_that_agents_take_and_names_only_what_is_there(self) -> None:
        self.assertEqual(self.tune("init", "--skill", "-").out, SKILL.read_text())
        front = SKILL.read_text().split("---\n")[1].splitlines()
        self.assertEqual(front[0], "name: tune")
        self.assertRegex(front[1], "^description: [^:]{50,1000}$")  # a colon would end the text in YAML
        commands = set(re.findall(r"\btune ([a-z]+) [^\n]*--json", SKILL.read_text()))
        self.assertGreater(len(commands), 10)
        for command in commands:
            self.assertIn("--json", self.tune(command, "--help").out, command)


if __name__ == "__main__":
    main()
