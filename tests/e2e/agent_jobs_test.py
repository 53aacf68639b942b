"""A search whose nodes are jobs of Slurm's that it asks for as trials wait (--agent-jobs).

One cluster of real daemons on loopback serves all tests; see slurm_test.py.
"""

import json
import os
import re
import signal
import subprocess
import unittest

from cli_support import LIMIT_S, TUNE, main
from driver_support import DriverCase
from slurm_test import ask, obstacle, script

#: So short that no test waits for it.
MARGIN_S = 20
WORDS = ["run", "spec.json", "--progress", "none", "--agent-jobs", "2", "--time", "10", "--job-margin-s", str(MARGIN_S)]


def setUpModule():
    if obstacle():
        return
    os.environ.update({"SLURM_LAB_NODES": "3", "SLURM_LAB_CPUS": "2", "SLURM_LAB_GPUS": "0"})
    for name, value in re.findall(r"export (\w+)=(\S+)", script("slurm_up.sh")):
        os.environ[name] = value
    unittest.addModuleCleanup(script, "slurm_down.sh")


def queue(states="all"):
    """Name, number and state of all jobs."""
    lines = ask("squeue", "--noheader", f"--states={states}", "--format=%j %i %T").splitlines()
    return [tuple(line.split()) for line in lines]


@unittest.skipIf(obstacle(), obstacle())
class AgentJobsTest(DriverCase):
    def setUp(self):
        super().setUp()
        self.addCleanup(ask, "scancel", "--user=root")
        self.before = {job for _, job, _ in queue()}

    def spec(self, config, **fields):
        super().spec(config, **{"max_concurrent_trials": None, "resources_per_trial": {"cpu": 1}, **fields})

    def jobs(self, *states):
        """Numbers of this test's jobs in one of these states; all without. Slurm lists them in any order."""
        return sorted(job for _, job, state in queue() if job not in self.before and (not states or state in states))

    def left(self):
        return self.jobs("PENDING", "RUNNING", "COMPLETING")

    def listed(self):
        try:
            with open(self.path("results/spec/cluster/jobs.json"), encoding="utf-8") as file:
                return json.load(file)["jobs"]
        except FileNotFoundError:
            return []

    def test_a_search_asks_for_jobs_runs_in_them_and_leaves_none(self):
        self.spec({"iterations": 4, "block_at": 2}, num_samples=4)
        driver = self.start(*WORDS)
        self.wait_for_iteration(1, range(2))
        status = self.tune("status", "results/spec").out
        self.assertRegex(status, r"jobs +\d+ RUNNING.* left")
        self.assertRegex(json.dumps(self.json("status", "results/spec")["jobs"]), r'"state": "RUNNING"')
        self.write("go", "")
        said = self.finish(driver, expect=0)
        self.assertIn("trials run in up to 2 jobs of Slurm's", said)
        self.assertLessEqual(len(self.jobs()), 2)
        nodes = {trial["node"] for trial in self.json("ls", "results/spec")}
        self.assertLessEqual({name.split(":")[1] for name in nodes}, set(self.jobs()))
        self.wait_until(lambda: not self.left(), "the jobs are over")
        self.assertEqual(self.listed(), [])
        self.assertTrue(os.path.exists(self.path("results/spec/cluster/job.sh")))


    def attempts(self):
        return [event for event in self.lines("events", "results/spec") if event["e"] == "attempt"]

    def kill_driver(self, driver):
        driver.kill()
        driver.wait()

    def test_a_driver_that_is_killed_finds_its_jobs_again_and_no_trial_restarts(self):
        self.spec({"iterations": 4, "block_at": 3})
        driver = self.start(*WORDS)
        self.wait_for_iteration(2)
        before = self.jobs()
        self.kill_driver(driver)
        # As if it had died before it heard their numbers.
        listed = [{"name": job["name"], "id": None} for job in self.listed()]
        self.assertEqual(len(listed), 2)
        self.write("results/spec/cluster/jobs.json", {"jobs": listed})
        driver = self.start("resume", "results/spec", "--progress", "none")
        self.wait_until(lambda: all(job["id"] for job in self.listed()), "their numbers are known")
        self.write("go", "")
        self.assertIn("go on where they are", self.finish(driver, expect=0))
        self.assertEqual(self.jobs(), before)
        self.assertEqual(len(self.attempts()), 2)
        for trial in (0, 1):
            self.assertEqual(self.iterations(trial), [1, 2, 3, 4])
        self.wait_until(lambda: not self.left(), "the jobs are over")

    def test_before_a_job_ends_its_trial_is_saved_and_goes_on_in_another_one(self):
        self.spec({"iterations": 60, "step_s": 0.1}, num_samples=1, checkpoint_config={})
        words = [*WORDS[:-1], "57"]
        driver = self.start(*words, "--", "--hold")
        self.wait_until(lambda: self.jobs("PENDING"), "a job waits")
        (first,) = self.jobs("PENDING")
        # Three seconds, until its trial is to be saved.
        ask("scontrol", "update", f"JobId={first}", "TimeLimit=1")
        ask("scontrol", "release", first)
        self.wait_until(lambda: len(self.jobs()) == 2, "another job is asked for")
        (second,) = set(self.jobs()) - {first}
        ask("scontrol", "release", second)
        said = self.finish(driver, expect=0)
        self.assertRegex(said, rf"node n\d:{first} ends in .*: what runs there is saved")
        self.assertRegex(said, rf"node n\d:{first} has left: its job ends")
        self.assertEqual(self.iterations(0), list(range(1, 61)))
        nodes = [event["node"].split(":")[1] for event in self.attempts()]
        self.assertEqual(nodes, [first, second])
        self.assertGreater(self.attempts()[1]["checkpoint"], 0)
        self.assertNotIn("lost_node", json.dumps(list(self.lines("events", "results/spec"))))

    def test_what_slurm_refuses_is_said_in_its_words_and_nothing_is_left(self):
        self.spec({"iterations": 1})
        said = self.refused(*WORDS, "--", "--partition=nope")
        self.assertIn("nothing was submitted", said)
        self.assertIn("nope", said)
        self.assertFalse(os.path.exists(self.path("results")))
        self.assertEqual(self.jobs(), [])

    def test_a_request_that_contradicts_itself_is_refused(self):
        self.spec({"iterations": 1})
        run = WORDS[:4]
        for extra in (["--nodes=4"], ["-N4"], ["--time", "5"], ["--ntasks=2"], ["-n2"], ["--array=1-9"]):
            self.assertIn(extra[0][:2], self.refused(*WORDS, "--", *extra))
        jobs = ["--agent-jobs", "2"]
        self.assertIn("twice", self.refused(*run, *jobs, "--time", "3"))
        self.assertIn("--time must be", self.refused(*run, *jobs, "--time", "soon"))
        self.assertIn("need time", self.refused(*run, *jobs))
        self.assertIn("agent_jobs", self.refused(*run, "--time", "10"))
        self.assertIn("needs --agent-jobs", self.refused("resume", "results/spec", "--", "--cpus-per-task=1"))
        self.assertIn("from 1", self.refused(*run, "--agent-jobs", "0", "--time", "10"))
        self.assertIn("leave hosts and type", self.refused(*WORDS, "--hosts", "oak"))
        self.assertIn("leave hosts and type", self.refused(*WORDS, "--cluster", "slurm"))
        self.assertIn("agent_jobs", self.refused("submit", "spec.json", "--nodes", "1", "--time", "10", *jobs))
        done = self.tune(*WORDS, expect=2, PATH="/nonexistent")
        self.assertIn("cannot run 'sbatch'", done.err)
        self.assertEqual(self.jobs(), [])
        self.assertFalse(os.path.exists(self.path("results")))

    def test_three_jobs_without_an_agent_end_the_search_with_what_they_printed(self):
        self.spec({"iterations": 1}, num_samples=8)
        program = self.path("tune")
        os.link(TUNE, program)
        driver = subprocess.Popen(
            [program, *WORDS[:-1], "5", "--", "--hold"],
            cwd=self.dir,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.addCleanup(self.end, driver)
        self.wait_until(lambda: self.jobs("PENDING"), "a job waits")
        os.unlink(program)

        def has_ended():
            for job in self.jobs("PENDING"):
                ask("scontrol", "release", job)
            return driver.poll() is not None

        self.wait_until(has_ended, "the search ends")
        said = self.finish(driver, expect=1)
        self.assertEqual(said.count("3 jobs in a row have ended without an agent"), 2, said)
        self.assertIn("No such file", said)
        self.assertEqual(self.left(), [])

    def test_a_job_that_no_trial_has_a_use_for_is_ended(self):
        self.spec(
            {"iterations": {"grid_search": [20, 21]}, "step_s": 0.1, "block_at": 21}, num_samples=1
        )
        driver = self.start(*WORDS, "--agent-idle-s", "0.5")
        # Mostly the first trial's. One that comes so late that nobody waits for it is as idle, also
        # in the queue.
        self.wait_until(lambda: self.jobs("COMPLETED", "CANCELLED"), "a job is over")
        has_left = bool(self.jobs("COMPLETED"))
        self.assertEqual(len(self.jobs("RUNNING")), 1)
        self.wait_for_iteration(20)
        self.write("go", "")
        said = self.finish(driver, expect=0)
        if has_left:
            self.assertRegex(said, r"node n\d:\d+ has left: no trial has a use for it")
        self.assertEqual(len(self.jobs()), 2)

    def with_scancel(self, text):
        """An environment in which that is scancel."""
        os.mkdir(self.path("bin"))
        self.write("bin/scancel", f"#!/bin/sh\n{text}\n")
        os.chmod(self.path("bin/scancel"), 0o755)
        return {**os.environ, "PATH": self.path("bin") + ":" + os.environ["PATH"]}

    def test_a_job_that_waits_is_named_and_so_it_is_where_an_interrupt_does_not_end_it(self):
        self.spec({"iterations": 1}, num_samples=8)
        text = "Slurm: 2 jobs pending (JobHeldUser)"
        environment = self.with_scancel("echo Socket timed out >&2; exit 1")
        with open(self.path("said"), "w", encoding="utf-8") as said:
            driver = self.start(*WORDS, "--", "--hold", stdout=said, env=environment)
        self.wait_until(lambda: f"waiting for {text}" in self.read("said"), "it is said what is awaited")
        waits = ["status", "results/spec"]
        self.assertIn(text, self.tune(*waits).out)
        shown = self.json(*waits)["jobs"]
        self.assertEqual({job["state"] for job in shown}, {"PENDING"})
        self.assertEqual({job["reason"] for job in shown}, {"JobHeldUser"})
        driver.send_signal(signal.SIGINT)
        self.assertEqual(driver.wait(LIMIT_S), 130)
        self.assertEqual(self.read("said").count("waiting for Slurm"), 1)
        # Slurm has refused that, in three tries.
        jobs = self.left()
        self.assertEqual(len(jobs), 2)
        self.assertEqual(sorted(job["id"] for job in self.listed()), sorted(jobs))
        self.assertRegex(self.read("said"), r"not known to have ended: .*; end with: scancel \d+ \d+ \(Socket")
        self.assertIn("2 jobs that it had left in Slurm have been ended", self.tune("stop", "results/spec").out)
        self.assertEqual(self.left(), [])
        self.assertEqual(self.listed(), [])

    def test_a_job_that_slurm_takes_away_hands_its_trial_over(self):
        self.spec({"iterations": 100, "step_s": 0.05}, num_samples=1)
        driver = self.start(*WORDS)
        self.wait_for_iteration(2, (0,))
        (first,) = self.jobs("RUNNING")
        ask("scancel", first)
        self.wait_until(lambda: len(self.attempts()) == 2, "it goes on elsewhere")
        driver.send_signal(signal.SIGINT)
        self.finish(driver, expect=130)
        self.assertGreater(self.attempts()[1]["checkpoint"], 0)
        self.assertNotIn(f":{first}", self.attempts()[1]["node"])
        self.assertEqual(self.json("ls", "results/spec")[0]["failures"], 0)


if __name__ == "__main__":
    main()
