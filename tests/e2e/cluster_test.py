"""A search whose trials run under agents: two of them on loopback are two nodes."""

import os
import random
import signal
import stat
import sys
import time

from cli_support import main
from driver_support import DriverCase

#: Rank 0 hears of all others where they say who they are and where they run, and says so in its result.
MEETING = """
import os, socket, sys, time
e = os.environ
meeting, rank = (e["MASTER_ADDR"], int(e["MASTER_PORT"])), int(e["RANK"])
seat = ":".join(e[name] for name in ("RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK"))
if rank == 0:
    door = socket.create_server(meeting)
    seats = [seat] + [door.accept()[0].recv(100).decode() for _ in range(int(e["WORLD_SIZE"]) - 1)]
    print("seats", *sorted(seats), flush=True)
else:
    while True:
        try:
            socket.create_connection(meeting).sendall(seat.encode())
            break
        except OSError:
            time.sleep(0.02)
for epoch in range(int(sys.argv[1])):
    print(f"loss: {1 / (epoch + 1)}", flush=True)
    time.sleep(0.05)
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


if __name__ == "__main__":
    main()
