"""A search over the nodes of a Slurm job: real daemons on loopback, with stand-ins for gpus.

One cluster serves all tests. They need root and the packages slurmctld, slurmd, slurm-client and munge.
"""

import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

from cli_support import TUNE, main
from driver_support import MEETING, SLOW, DriverCase

SCRIPTS = os.path.join(os.path.dirname(__file__), "..", "cluster")
PROGRAMS = ["munged", "slurmctld", "slurmd", "srun", "salloc", "sbatch"]


#: A program that takes its time, and keeps its environment.
SHOWING = [
    sys.executable,
    "-c",
    """
import json, os, runpy, sys
with open("shown", "w", encoding="utf-8") as file:
    json.dump(dict(os.environ), file)
os.rename("shown", "environment.json")
sys.path.insert(0, os.path.dirname(sys.argv[1]))
runpy.run_path(sys.argv[1], run_name="__main__")
""",
    SLOW[1],
]


def obstacle():
    """Why no cluster can be started here; empty: one can."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"there is no {', '.join(missing)}"
    return "" if os.geteuid() == 0 else "the daemons need root"


def script(name, *arguments):
    return subprocess.run(
        [os.path.join(SCRIPTS, name), *arguments],
        stdout=subprocess.PIPE,
        text=True,
        timeout=120,
        check=True,
    ).stdout


def ask(*command):
    """What one of Slurm's commands answers."""
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False
    ).stdout.strip()


def setUpModule():
    if obstacle():
        return
    settings = {"SLURM_LAB_NODES": "3", "SLURM_LAB_CPUS": "2", "SLURM_LAB_GPUS": "2"}
    os.environ.update(settings)
    for name, value in re.findall(r"export (\w+)=(\S+)", script("slurm_up.sh")):
        os.environ[name] = value
    unittest.addModuleCleanup(script, "slurm_down.sh")


@unittest.skipIf(obstacle(), obstacle())
class SlurmTest(DriverCase):
    def setUp(self):
        super().setUp()
        # salloc that is killed leaves its job.
        self.addCleanup(ask, "scancel", "--user=root")

    def spec(self, config, **fields):
        fields = {"max_concurrent_trials": None, "num_samples": 6, **fields}
        super().spec(config, **fields)

    def said(self):
        """How the cluster stands, too: a node that is drained holds a job back for ever."""
        return "\n".join([
            ask("sinfo", "-N", "-o", "%N %t %E"), ask("squeue"), ask("scontrol", "show", "node"),
            super().said(),
        ])  # fmt: skip

    def allocated(self, *options):
        """What a command begins with that runs in an allocation."""
        return ["salloc", "--no-kill", "--quiet", *options]

    def run_in(self, allocation, *words, expect=0, **environment):
        done = self.tune(*words, under=allocation, expect=expect, **environment)
        return done.out + done.err

    def environments(self):
        """What each trial's program had in its environment, by trial."""
        found = {}
        for path in glob.glob(self.path("results/spec/trial_*/work/environment.json")):
            with open(path, encoding="utf-8") as file:
                found[path.split("/")[-3]] = json.load(file)
        return found

    def node_of_trials(self):
        return {trial["trial_id"]: trial["node"] for trial in self.json("ls", "results/spec")}

    def test_a_search_in_an_allocation_uses_the_gpus_of_all_its_nodes_each_for_one_trial(self):
        self.spec(
            {"iterations": 2, "block_at": 2},
            num_samples=5,
            resources_per_trial={"gpu": 1},
            trainable={"command": SHOWING},
        )
        # Nodes that differ: 2 gpus on two of them, 1 on the third.
        driver = self.start(
            "run", "spec.json", "--progress", "none", prefix=self.allocated("-N3", "-n3", "--gpus=5")
        )
        self.wait_until(lambda: len(self.environments()) == 5, "five trials at one time")
        self.write("go", "")
        said = self.finish(driver, expect=0)
        self.assertEqual(said.count("trials run on 3 nodes"), 1, said)
        self.assertRegex(said, r"of Slurm's job \d+")
        nodes = self.node_of_trials()
        seen = self.environments()
        devices = {(nodes[trial], has["CUDA_VISIBLE_DEVICES"]) for trial, has in seen.items()}
        self.assertEqual(len(devices), 5, devices)
        self.assertEqual({node for node, _ in devices}, {"n1", "n2", "n3"})

    def test_a_request_that_is_inherited_reaches_neither_srun_nor_trials(self):
        self.spec(
            {"iterations": 1},
            num_samples=4,
            resources_per_trial={"gpu": 1},
            trainable={"command": SHOWING},
        )
        said = self.run_in(
            [
                *self.allocated("-N2", "--gpus-per-node=2"),
                *("env", "SLURM_EXPORT_ENV=NONE", "SLURM_GRES=none", "SLURM_NTASKS=7"),
            ],
            *("run", "spec.json", "--progress", "none"),
        )
        self.assertIn('n2 {"cpu":1.0,"gpu":2.0}', said)
        self.assertEqual(len(self.environments()), 4)
        for has in self.environments().values():
            self.assertIn("PATH", has)
            self.assertIn("SLURM_JOB_ID", has)
            taken = [name for name in has if re.match(r"SLURM_(N?TASKS|PROCID|STEP|GPUS|GRES)", name)]
            self.assertEqual(taken, [])

    def test_a_spec_without_a_cluster_leaves_the_allocation_alone(self):
        self.spec({"iterations": 1}, num_samples=1)
        said = self.run_in(
            self.allocated("-N2"), "run", "spec.json", "--cluster", "none", "--progress", "none"
        )
        self.assertNotIn("trials run on", said)
        self.assertEqual(set(self.node_of_trials().values()), {os.uname().nodename})

    def test_slurm_without_an_allocation_is_refused_with_what_begins_one(self):
        self.spec({"iterations": 1})
        said = self.refused("run", "spec.json", "--cluster", "slurm")
        for word in ["salloc", "sbatch", "tune submit"]:
            self.assertIn(word, said)
        self.assertFalse(os.path.exists(self.path("results/spec/CURRENT")))

    def test_an_allocation_that_has_ended_is_refused_with_its_number(self):
        self.spec({"iterations": 1})
        done = self.tune("run", "spec.json", expect=2, SLURM_JOB_ID="4711", SLURM_JOB_NODELIST="n[1-2]")
        self.assertIn("4711", done.err)
        self.assertIn("--cluster none", done.err)

    def test_a_job_without_slurms_commands_is_refused_with_the_way_on(self):
        self.spec({"iterations": 1})
        done = self.tune(
            *("run", "spec.json"),
            expect=2,
            SLURM_JOB_ID="1",
            SLURM_JOB_NODELIST="n[1-2]",
            PATH="/nonexistent",
        )
        self.assertIn("cannot run 'squeue'", done.err)
        self.assertIn("--cluster none", done.err)

    def agents(self):
        """Their process ids, by node."""
        found = {}
        for process in os.listdir("/proc"):
            try:
                with open(f"/proc/{process}/cmdline", "rb") as file:
                    words = file.read().decode().split("\0")
                with open(f"/proc/{process}/environ", "rb") as file:
                    variables = file.read().decode().split("\0")
                with open(f"/proc/{process}/comm", encoding="utf-8") as file:
                    if file.read() == "tune watchdog\n":
                        continue
            except (OSError, ValueError):
                continue
            if words[:2] == [TUNE, "agent"] and words[2].startswith(self.dir):
                named = dict(word.split("=", 1) for word in variables if "=" in word)
                found[named["SLURMD_NODENAME"]] = int(process)
        return found

    def test_an_agent_that_dies_alone_is_started_again_and_its_trials_go_on(self):
        self.spec({"iterations": 4, "block_at": 3}, num_samples=2, resources_per_trial={"gpu": 2})
        driver = self.start(
            *("run", "spec.json", "--progress", "none", "--agent-lease-s", "1000"),
            prefix=self.allocated("-N2", "--gpus-per-node=2"),
        )
        self.wait_for_iteration(2)
        os.kill(self.agents()["n2"], signal.SIGKILL)
        self.wait_until(lambda: self.attempts() == 3, "its trial runs again")
        self.assertEqual(set(self.agents()), {"n1", "n2"})
        self.write("go", "")
        said = self.finish(driver, expect=0)
        self.assertIn("node n2 is lost", said)
        self.assertIn("node n2 has joined", said)
        self.assertEqual(set(self.node_of_trials().values()), {"n1", "n2"})
        for trial in (0, 1):
            self.assertEqual(self.iterations(trial), [1, 2, 3, 4])

    def test_the_only_node_comes_back_once_and_then_the_run_ends(self):
        self.spec({"iterations": 4, "block_at": 3}, num_samples=1, resources_per_trial={"gpu": 1})
        driver = self.start(
            *("run", "spec.json", "--progress", "none"), prefix=self.allocated("-N1", "--gpus-per-node=1")
        )
        self.wait_for_iteration(2, (0,))
        (first,) = self.agents().values()
        os.kill(first, signal.SIGKILL)
        self.wait_until(lambda: self.attempts() == 2, "its trial runs again")
        (second,) = self.agents().values()
        os.kill(second, signal.SIGKILL)
        said = self.finish(driver, expect=1)
        self.assertIn("its agent is started again", said)
        self.assertIn("no node is left", said)

    def field_of_node(self, node, field):
        """sinfo may show a node for a minute as it was."""
        return re.search(rf"\b{field}=(\S*)", ask("scontrol", "show", "node", node))[1]

    def bring_back(self, node, booted):
        """A node that is resumed before its new daemon has told of the reboot is down again by that.
        `booted`: when the daemon before said that the node had booted."""
        self.wait_until(lambda: self.field_of_node(node, "BootTime") != booted, "new daemon")

        def is_idle():
            if "DOWN" in self.field_of_node(node, "State"):
                ask("scontrol", "update", f"nodename={node}", "state=resume")
            return self.field_of_node(node, "State") == "IDLE"

        self.wait_until(is_idle, f"idle node {node}")

    def attempts(self):
        return sum(event["e"] == "attempt" for event in self.lines("events", "results/spec"))

    def test_a_node_that_fails_is_out_and_its_trials_go_on_elsewhere(self):
        self.spec({"iterations": 4, "block_at": 3}, num_samples=2, resources_per_trial={"gpu": 1})
        driver = self.start(
            *("run", "spec.json", "--progress", "none", "--agent-lease-s", "1"),
            prefix=self.allocated("-N2", "-w", "n1,n3", "--gpus-per-node=2"),
        )
        self.addCleanup(self.bring_back, "n3", self.field_of_node("n3", "BootTime"))
        self.wait_for_iteration(2)
        script("slurm_node.sh", "kill", "n3")
        script("slurm_node.sh", "reboot", "n3")
        self.write("go", "")
        said = self.finish(driver, expect=0)
        self.assertIn("node n3 is lost", said)
        self.assertEqual(set(self.node_of_trials().values()), {"n1"})

    def test_a_driver_that_is_killed_leaves_no_agent_and_is_resumed_in_its_allocation(self):
        self.spec({"iterations": 4, "block_at": 3}, num_samples=2, resources_per_trial={"gpu": 1})
        shell = f"{TUNE} run spec.json --progress none; {TUNE} resume results/spec --progress none"
        allocation = subprocess.Popen(
            [*self.allocated("-N2", "--gpus-per-node=1"), "sh", "-c", shell],
            cwd=self.dir,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(self.end, allocation)
        self.wait_for_iteration(2)
        before = self.agents()
        os.kill(self.json("status", "results/spec")["driver"]["pid"], signal.SIGKILL)
        self.wait_until(lambda: not set(before.values()) & set(self.agents().values()), "no agent is left")
        self.write("go", "")
        self.assertEqual(allocation.wait(240), 0)
        for trial in (0, 1):
            self.assertEqual(self.iterations(trial), [1, 2, 3, 4])

    def submit(self, *words, expect=0):
        return self.tune("submit", "spec.json", *words, expect=expect)

    def job(self):
        """The number of the experiment's job."""
        with open(self.path("results/spec/job/submitted.json"), encoding="utf-8") as file:
            return json.load(file)["job"]

    def test_what_slurm_refuses_is_said_in_its_words_and_nothing_is_left(self):
        self.spec({"iterations": 1})
        words = ["submit", "spec.json", "--nodes", "2", "--time", "1:00:00"]
        said = self.refused(*words, "--", "--partition=nope")
        self.assertIn("nothing was submitted", said)
        self.assertIn("partition", said)
        self.assertIn("nope", said)
        self.assertFalse(os.path.exists(self.path("results/spec")))
        self.assertEqual(ask("squeue", "--noheader"), "")

    def test_a_request_that_contradicts_itself_is_refused_before_slurm_is_asked(self):
        self.spec({"iterations": 1})
        good = ["submit", "spec.json", "--nodes", "2", "--time", "10"]
        for extra in (["--nodes=4"], ["-N4"], ["--time", "5"], ["-t5"], ["--array=1-9"]):
            self.assertIn(extra[0][:2], self.refused(*good, "--", *extra))
        short = self.refused("submit", "spec.json", "--nodes", "2", "--time", "3")
        self.assertIn("twice", short)
        self.assertIn("--time must be", self.refused(*good[:-1], "soon"))
        self.assertIn("cluster.hosts", self.refused(*good, "--hosts", "oak"))

    def test_a_job_that_waits_is_shown_refused_again_and_stopped(self):
        self.spec({"iterations": 1})
        words = ["--nodes", "2", "--time", "10"]
        self.submit(*words, "--", "--hold")
        job = self.job()
        self.assertRegex(self.tune("status", "results/spec").out, rf"job +{job} PENDING .*2 nodes")
        self.assertIn(f"job {job}", self.refused("submit", "spec.json", *words))
        self.assertIn(job, self.tune("stop", "results/spec").out)
        self.assertEqual(ask("squeue", "--noheader"), "")
        self.submit(*words, "--", "--hold")
        self.assertNotEqual(self.job(), job)

    def test_a_job_whose_time_is_over_saves_its_trials_is_requeued_and_goes_on_until_all_is_done(self):
        self.spec(
            {"iterations": 8, "block_at": 4},
            num_samples=2,
            checkpoint_config={},
            resources_per_trial={"gpu": 1},
        )
        self.submit(
            *("--nodes", "2", "--gpus-per-node", "1", "--time", "10", "--margin", "45"),
            *("--", "--hold"),
        )
        job = self.job()
        # Of a minute there are 15 s until its trials are to be saved.
        ask("scontrol", "update", f"JobId={job}", "TimeLimit=1")
        ask("scontrol", "release", job)
        self.wait_for_iteration(3)
        self.wait_until(lambda: "all trials are saved" in self.log(), "its time is nearly over")
        self.write("go", "")
        self.wait_until(lambda: "Restarts=1" in ask("scontrol", "show", "job", job), "it is requeued")
        self.wait_until(lambda: self.states_or_none() == ["TERMINATED"] * 2, "the search is done")
        self.wait_until(lambda: "COMPLETED" in ask("scontrol", "show", "job", job), "so is its job")
        for trial in (0, 1):
            self.assertEqual(self.iterations(trial), list(range(1, 9)))
        self.assertIn(f"of Slurm's job {job}", self.log())
        self.assertNotIn("begin anew", self.log())
        self.assertRegex(self.tune("status", "results/spec").out, rf"job +{job} COMPLETED")

    def log(self):
        try:
            return self.read("results/spec/job/out.log")
        except FileNotFoundError:
            return ""

    def states_or_none(self):
        done = self.tune("ls", "results/spec", "--json", expect=None)
        return [trial["state"] for trial in json.loads(done.out)] if done.returncode == 0 else None


def obstacle_to_networks():
    """Why nodes cannot have networks of their own here; empty: they can."""
    if obstacle():
        return obstacle()
    tried = subprocess.run(
        ["unshare", "--net", "ip", "link", "add", "br0", "type", "bridge"],
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if tried.returncode == 0 else f"no network of its own: {tried.stderr.strip()}"


@unittest.skipIf(obstacle_to_networks(), obstacle_to_networks())
class NetworkTest(DriverCase):
    """Nodes with addresses and host names of their own, which loopback has not."""

    def test_four_ranks_on_two_nodes_meet_at_an_address_that_both_reach(self):
        self.write("meeting.py", MEETING)
        self.spec(
            {},
            trainable={"command": [sys.executable, "meeting.py", "3", "${args}"], "plain": {}},
            metric="loss",
            mode="min",
            num_samples=1,
            num_workers=4,
            checkpoint_config={},
        )
        login = [os.path.join(SCRIPTS, "slurm_netns.sh"), "salloc", "--no-kill", "--quiet"]
        nodes = ["-N2", "--ntasks-per-node=2"]
        done = self.tune("run", "spec.json", "--progress", "none", under=[*login, *nodes])
        self.assertIn("trials run on 2 nodes: w1", done.out + done.err)
        with open(self.path("results/spec/trial_00000/stdout.log"), encoding="utf-8") as log:
            self.assertEqual(log.readline().split()[1:], ["0:0:2:0", "1:1:2:0", "2:0:2:1", "3:1:2:1"])

    def test_what_runs_on_a_node_that_is_cut_off_goes_on_elsewhere_after_the_lease(self):
        self.spec(
            {"iterations": 6, "block_at": 4},
            num_samples=2,
            max_concurrent_trials=None,
            cluster={"agent_lease_s": 2},
        )
        cut = """
            "$@" &
            until [ -e cut ]; do sleep 0.05; done
            node-cut w2
            wait $!
        """
        login = [os.path.join(SCRIPTS, "slurm_netns.sh"), "bash", "-c", cut, "login"]
        driver = self.start(
            "run", "spec.json", "--progress", "none",
            prefix=[*login, "salloc", "--no-kill", "--quiet", "-N2", "--ntasks-per-node=1"],
        )  # fmt: skip
        self.wait_for_iteration(3, range(2))
        self.write("cut", "")
        self.wait_until(lambda: '"lost_node: ' in self.journal(), "the end of the lease")
        self.write("go", "")
        self.assertIn("node w2 is lost", self.finish(driver, expect=0))
        for number in range(2):
            self.assertEqual(self.iterations(number), list(range(1, 7)))
        self.assertEqual({trial["node"] for trial in self.json("ls", "results/spec")}, {"w1"})

    def journal(self):
        """All that the journal has."""
        return "".join(self.read(path) for path in glob.glob(self.path("results/spec/journal-*")))


if __name__ == "__main__":
    main()
