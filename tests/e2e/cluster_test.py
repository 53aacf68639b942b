"""A search whose trials run under agents: two of them on loopback are two nodes."""

import os
import random
import signal
import stat
import sys
import time

from cli_support import main
from driver_support import MEETING, DriverCase

#: On the node elm it fails at once, on the other one it waits for a word.
WORKS_ON_OAK = """
import os, sys, time
with open(f"/proc/{os.getppid()}/cmdline") as file:
    words = file.read().split("\\0")
if "elm" in words:
    sys.exit("RuntimeError: no kernel image is available")
while not os.path.exists(os.environ["GO"]):
    time.sleep(0.05)
print("loss: 1", flush=True)
"""

CLUSTER = {"hosts": ["oak", "elm"], "launcher": ["env"], "bind": "127.0.0.1"}


class ClusterTest(DriverCase):
    def node(self, name):
        """The process id of the agent that is called so."""
        for process in os.listdir("/proc"):
            try:
                with open(f"/proc/{process}/cmdline", encoding="utf-8") as file:
                    words = file.read().split("\0")
                with open(f"/proc/{process}/comm", encoding="utf-8") as file:
                    is_watchdog = file.read() == "tune watchdog\n"
            except (OSError, ValueError):
                continue
            if (
                not is_watchdog
                and words[1:2] == ["agent"]
                and words[4:5] == [name]
                and words[2].startswith(self.dir)
            ):
                return int(process)
        self.fail(f"there is no agent {name}")

    def test_trials_of_a_node_that_is_lost_go_on_on_another(self):
        self.spec(
            {"iterations": 6, "block_at": 4},
            num_samples=4,
            max_concurrent_trials=None,
            resources={"cpu": 2},
            cluster=CLUSTER,
        )
        driver = self.start("run", "spec.json", "--progress", "none")
        self.wait_for_iteration(3, range(4))
        running = self.json("status", "results/spec")["running"]
        self.assertEqual(sorted(trial["node"] for trial in running), ["elm", "elm", "oak", "oak"])
        meeting = self.path("results/spec/cluster/meeting.json")
        self.assertEqual(stat.S_IMODE(os.stat(meeting).st_mode), 0o600)
        os.kill(self.node("elm"), signal.SIGKILL)
        with open(self.go, "w", encoding="ascii"):
            pass
        out = self.finish(driver, expect=0)
        self.assertIn("node elm is lost", out)
        trials = self.json("ls", "results/spec")
        self.assertEqual({trial["node"] for trial in trials}, {"oak"})
        self.assertEqual([trial["state"] for trial in trials], ["TERMINATED"] * 4)
        lost = [
            event
            for event in self.lines("events", "results/spec")
            if event.get("reason", "").startswith("lost_node: ")
        ]
        self.assertEqual(len(lost), 2)
        for number in range(4):
            self.assertEqual(self.iterations(number), list(range(1, 7)))
        self.assertFalse(os.path.exists(meeting))

    def test_trials_go_on_where_they_are_when_their_driver_is_killed(self):
        self.spec(
            {"iterations": 6, "block_at": 4},
            num_samples=4,
            max_concurrent_trials=None,
            resources={"cpu": 2},
            cluster=CLUSTER,
        )
        driver = self.start("run", "spec.json", "--progress", "none")
        self.wait_for_iteration(3, range(4))
        agents = [self.node("oak"), self.node("elm")]
        driver.kill()
        driver.wait()
        driver = self.start("resume", "results/spec", "--progress", "none")
        self.wait_until(lambda: self.count_of("session") == 2, "the resume")
        with open(self.go, "w", encoding="ascii"):
            pass
        out = self.finish(driver, expect=0)
        self.assertIn("4 trials go on where they are", out)
        self.assertNotIn("nothing ran", out)
        for number in range(4):
            self.assertEqual(self.iterations(number), list(range(1, 7)))
        self.assertEqual(self.count_of("attempt"), 4)
        self.assertEqual(self.count_of("end"), 4)
        for agent in agents:
            self.wait_until(lambda pid=agent: not os.path.exists(f"/proc/{pid}"), "the agents' end")

    def test_however_often_drivers_and_agents_are_killed_each_iteration_is_there_once(self):
        self.spec(
            {"iterations": 200},
            num_samples=4,
            max_concurrent_trials=None,
            resources={"cpu": 2},
            cluster=CLUSTER,
        )
        draw = random.Random(int.from_bytes(os.urandom(4), "little"))
        driver = self.start("run", "spec.json", "--progress", "none")
        self.wait_for_iteration(1, range(4))
        for kill in range(6):
            time.sleep(draw.random() / 4)
            if kill == 3:  # the driver alone leaves all where it is
                self.assertEqual(self.count_of("attempt"), 4)
            if kill in (3, 5):
                os.kill(self.node(draw.choice(("oak", "elm"))), signal.SIGKILL)
                time.sleep(draw.random() / 4)
            driver.kill()
            driver.communicate()
            before = self.count_of("session")
            driver = self.start("resume", "results/spec", "--progress", "none")
            self.wait_until(
                lambda before=before, driver=driver: self.count_of("session") > before
                or driver.poll() is not None,
                "a resume",
            )
        out = self.finish(driver, expect=0)
        self.assertIn("experiment    spec finished", out)
        for number in range(4):
            self.assertEqual(self.iterations(number), list(range(1, 201)))

    def count_of(self, kind):
        return sum(event["e"] == kind for event in self.lines("events", "results/spec"))

    def ranked(self, epochs, **fields):
        self.write("meeting.py", MEETING)
        self.spec(
            {},
            trainable={
                "command": [sys.executable, "meeting.py", str(epochs), "${args}"],
                "plain": {},
            },
            metric="loss",
            mode="min",
            cluster=CLUSTER,
            resources={"cpu": 2},
            checkpoint_config={},
            **fields,
        )

    def seats(self, trial):
        with open(self.path(f"results/spec/trial_{trial:05}/stdout.log"), encoding="utf-8") as log:
            return [line.split()[1:] for line in log if line.startswith("seats")]

    def test_ranks_on_two_nodes_meet_and_know_their_places(self):
        self.ranked(3, num_samples=2, num_workers=3)
        self.finish(self.start("run", "spec.json", "--progress", "none"), expect=0)
        for trial in (0, 1):
            self.assertEqual(self.seats(trial), [["0:0:2:0", "1:1:2:0", "2:0:1:1"]])
            self.assertEqual(self.iterations(trial), [1, 2, 3])
        nodes = {trial["node"] for trial in self.json("ls", "results/spec")}
        self.assertLessEqual(nodes, {"oak,elm", "elm,oak"})

    def test_spread_ranks_are_on_many_nodes_and_begin_again_when_one_of_them_is_lost(self):
        self.ranked(40, num_samples=1, num_workers=2, placement="spread")
        driver = self.start("run", "spec.json", "--progress", "none")
        self.wait_for_iteration(3, [0])
        self.assertEqual(self.seats(0), [["0:0:1:0", "1:0:1:1"]])
        other = self.json("ls", "results/spec")[0]["node"].split(",")[1]
        os.kill(self.node(other), signal.SIGKILL)
        out = self.finish(driver, expect=0)
        self.assertIn(f"node {other} is lost", out)
        self.assertEqual(self.seats(0), [["0:0:1:0", "1:0:1:1"], ["0:0:2:0", "1:1:2:0"]])
        self.assertEqual(self.iterations(0), list(range(1, 41)))

    def test_workers_that_no_nodes_together_have_room_for_are_refused(self):
        self.ranked(3, num_samples=1, num_workers=5)
        out = self.finish(self.start("run", "spec.json", "--progress", "none"), expect=2)
        self.assertIn("of its 5 workers only 4 fit on all nodes", out)

    def test_workers_that_fit_no_more_when_a_node_is_lost_end_the_run_with_a_sentence(self):
        self.ranked(400, num_samples=1, num_workers=4, placement="spread")
        driver = self.start("run", "spec.json", "--progress", "none")
        self.wait_for_iteration(1, [0])
        os.kill(self.node("elm"), signal.SIGKILL)
        out = self.finish(driver, expect=1)
        why = "trials fit no node that is left: a trial takes 4 of 'cpu', but there are 2 in all"
        self.assertIn(why, out)
        self.assertIn("trials fit no node", self.json("status", "results/spec")["given_up"])

    def test_a_node_on_which_trials_fail_is_left_out_and_status_says_so(self):
        self.write("works.py", WORKS_ON_OAK)
        self.spec(
            {},
            trainable={"command": [sys.executable, "works.py", "${args}"], "plain": {}},
            metric="loss",
            mode="min",
            num_samples=6,
            cluster=CLUSTER,
            resources={"cpu": 1},
            checkpoint_config={},
            max_concurrent_trials=None,
        )
        driver = self.start("run", "spec.json", "--progress", "none")
        self.wait_until(
            lambda: os.path.exists(self.path("results/spec/CURRENT"))
            and self.json("status", "results/spec")["left_out"],
            "the node to be left out",
        )
        self.assertIn("elm: ", self.json("status", "results/spec")["left_out"][0])
        self.assertRegex(self.tune("status", "results/spec").out, "left out +node elm: .*no kernel image")
        self.write("go", "")
        out = self.finish(driver, expect=0)
        self.assertEqual(out.count("node elm gets no more trials"), 1)
        self.assertEqual({trial["state"] for trial in self.json("ls", "results/spec")}, {"TERMINATED"})

    def test_a_host_without_the_directory_is_refused_before_any_trial(self):
        self.spec(
            {"iterations": 2},
            cluster={
                **CLUSTER,
                "launcher": [
                    "sh",
                    "-c",
                    "exec $(echo ${agent} | sed 's,results/spec,nowhere,')",
                ],
            },
        )
        said = self.refused("run", "spec.json")
        self.assertRegex(said, "no agent on node (oak|elm)")
        self.assertIn("there is no directory", said)
        self.spec({"iterations": 2}, cluster=CLUSTER)
        self.tune("run", "spec.json", "--progress", "none")  # nothing is in its way

    def test_a_trial_that_fits_no_node_is_refused_before_any_trial(self):
        self.spec({}, cluster=CLUSTER, resources_per_trial={"gpu": 9})
        said = self.refused("run", "spec.json")
        self.assertIn("a trial takes 9 of 'gpu', but there is none", said)
        self.assertIn("runs on one node", said)

    def test_an_agent_without_a_driver_says_so(self):
        self.assertIn("no driver with a cluster runs", self.refused("agent", self.dir))

    def test_a_node_has_a_name_of_one_word(self):
        for name in ("two words", "line\nbreak", "../up", "a,b", "x" * 256):
            self.assertIn("a node's name is one word", self.refused("agent", self.dir, "--node", name))


if __name__ == "__main__":
    main()
