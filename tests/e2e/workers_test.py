"""Trials of several processes: started together, saved together or not at all, ended together."""
import glob
import json
import os
import signal
import subprocess
import sys
import time
import unittest

from cli_support import LIMIT_S, TUNE, Case, main

PACKAGE = os.environ["PYTHON_PACKAGE"]
VENV = os.environ["EXAMPLES_VENV"]

#: Each rank counts, and saves its count into a file of its own.
RANKED = """
import os, signal, sys, time
import tune

class Ranked(tune.Trainable):
    def setup(self, config):
        self.count = 0
        self.rank = self.context.get_world_rank()
        names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT")
        print("environment", *(os.environ[name] for name in names), flush=True)
        print("cpus", self.trial_resources["cpu"], os.environ["OMP_NUM_THREADS"], flush=True)

    def step(self):
        config, attempt = self.config, self.context.attempt
        self.count += 1
        at = config.get("at", 3)
        if self.rank == config.get("dies") and self.count == at and attempt == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.rank == config.get("raises") and self.count == at and attempt == 1:
            raise RuntimeError("out of luck")
        if self.rank == config.get("hangs") and self.count == at:
            time.sleep(1000)
        if config.get("dies") is not None and self.rank == 0 and self.count == at and attempt == 1:
            time.sleep(0.5)  # what its peer's end would do to it comes later
        time.sleep(config.get("sleep", 0))
        done = self.count == config.get("iterations", 6)
        if self.rank == config.get("done_early") and self.count == at:
            done = True
        return {"loss": 1 / self.count + config.get("x", 0), "count": self.count, "done": done,
                "should_checkpoint": self.rank == config.get("asks") and self.count == 2}

    def save_checkpoint(self, directory):
        if self.rank == config_of(self).get("cannot_save") and self.count == 2:
            raise OSError("no room")
        with open(os.path.join(directory, f"rank_{self.rank}"), "w") as file:
            file.write(str(self.count))

    def load_checkpoint(self, directory):
        with open(os.path.join(directory, f"rank_{self.rank}")) as file:
            self.count = int(file.read())

    def reset_config(self, config):
        self.count = 0
        return True

def config_of(trainable):
    return trainable.config
"""

PLAIN = """
import os, sys, time
rank = int(os.environ["RANK"])
for i in range(1, 4):
    print(f"loss: {rank + 1 / i}", flush=True)
    if len(sys.argv) > 2 and rank == int(sys.argv[2]):
        sys.exit(7)
    time.sleep(2 if len(sys.argv) > 2 else 0.02)
time.sleep(0.2 * rank)
print("whole")
"""


class WorkersTest(Case):
    def spec(self, config=None, **fields):
        self.write("ranked.py", RANKED)
        return {
            "name": "ranked",
            "trainable": {"command": [sys.executable, "-m", "tune.trial", self.path("ranked.py") + ":Ranked"], "env": {"PYTHONPATH": PACKAGE}},
            "param_space": {"x": {"uniform": [0, 1]}, **(config or {})},
            "metric": "loss", "mode": "min", "num_samples": 2, "searcher": "random",
            "num_workers": 4, "resources": {"cpu": 8}, "stop_grace_s": 5,
            "checkpoint_config": {"checkpoint_frequency": 2}, **fields,
        }

    def results(self, trial, name="ranked"):
        return [json.loads(line) for line in self.read("results", name, trial, "result.json").splitlines()]

    def run_spec(self, spec, expect=0, *more):
        self.write("spec.json", spec)
        return self.tune("run", "spec.json", *more, expect=expect)

    def trial(self, name="ranked", trial="trial_00000"):
        return self.json("show", f"results/{name}", trial)

    def test_ranks_train_and_save_together(self):
        self.run_spec(self.spec({"iterations": 4, "asks": 3}))
        for trial in ("trial_00000", "trial_00001"):
            rows = self.results(trial)
            self.assertEqual([row["training_iteration"] for row in rows], [1, 2, 3, 4])
            self.assertEqual(rows[-1]["workers"]["3"]["count"], 4)
            self.assertNotIn("0", rows[-1]["workers"])
            directory = self.path("results", "ranked", trial)
            for checkpoint in ("checkpoint_000001", "checkpoint_000002"):
                names = sorted(os.listdir(os.path.join(directory, checkpoint)))
                self.assertEqual(names, ["manifest.json", *(f"rank_{rank}" for rank in range(4))])
            manifest = json.loads(self.read("results", "ranked", trial, "checkpoint_000002", "manifest.json"))
            self.assertEqual([worker["rank"] for worker in manifest["workers"]], [0, 1, 2, 3])
            self.assertEqual([worker["bytes"] for worker in manifest["workers"]], [1, 1, 1, 1])
            ports = set()
            for rank in range(4):
                log = f"stdout{f'.rank_{rank:05}' if rank else ''}.log"
                words = self.read("results", "ranked", trial, log).split()
                self.assertEqual(words[:7], ["environment", str(rank), "4", str(rank), "4", "0", "127.0.0.1"])
                self.assertEqual(words[8:], ["cpus", "1.0", "1"])
                ports.add(words[7])
            self.assertEqual(len(ports), 1)
        listed = self.json("checkpoints", "results/ranked")
        self.assertTrue(all(each["slowest_rank"] in range(4) for each in listed))
        self.assertIn("was the slowest in", self.tune("status", "results/ranked").out)

    def test_a_rank_that_dies_is_why_and_all_begin_again(self):
        self.run_spec(self.spec({"dies": 2, "at": 5}, num_samples=1, failure_config={"max_failures": 1}))
        rows = self.results("trial_00000")
        self.assertEqual([row["training_iteration"] for row in rows], list(range(1, 7)))
        self.assertEqual([row["workers"]["2"]["count"] for row in rows], list(range(1, 7)))
        self.assertIn("rank 2 was killed by signal 9", self.read("results", "ranked", "trial_00000", "error.txt"))

    def test_a_rank_that_raises_is_named_with_its_own_log(self):
        self.run_spec(self.spec({"raises": 3}, num_samples=1), 1)
        error = self.trial()["error"]
        self.assertTrue(error.startswith("rank 3: "), error)
        self.assertIn("out of luck", error)
        self.assertIn("stderr.rank_00003.log", error)

    def test_ranks_that_disagree_on_the_end_fail_with_both_names(self):
        self.run_spec(self.spec({"done_early": 1}, num_samples=1), 1)
        self.assertIn("rank 1 says that it is done, and rank 0 goes on", self.trial()["error"])

    def test_a_late_rank_is_named(self):
        self.run_spec(self.spec({"hangs": 1}, num_samples=1, trial_timeout_s=1), 1)
        self.assertIn("rank 1 said nothing for 1 s", self.trial()["error"])

    def test_each_rank_has_a_log_and_more_of_them_than_there_are_is_refused(self):
        self.run_spec(self.spec({"iterations": 1}, num_samples=1))
        for rank in (0, 3):
            out = self.tune("logs", "results/ranked", "0", "--rank", str(rank)).out
            self.assertIn(f"environment {rank} 4", out)
        refused = self.tune("logs", "results/ranked", "0", "--rank", "4", expect=2).err
        self.assertIn("has 4 processes, counted from 0: there is no rank 4", refused)

    def test_more_workers_than_fit_are_refused_with_what_to_write(self):
        self.write("spec.json", self.spec(num_workers=9))
        self.assertIn("a trial can never take more 'cpu' than the 8.0 in resources, got 9.0 for 9 workers",
                      self.tune("validate", "spec.json", expect=2).err)
        self.write("spec.json", self.spec(num_workers=999, resources={}))
        self.assertRegex(self.tune("validate", "spec.json", expect=2).err,
                         r"/num_workers: a trial takes 999 of 'cpu', but there are \d+ in all \(999 workers\): give each "
                         "less in resources_per_worker")

    def test_who_is_late_now_is_shown(self):
        self.write("spec.json", self.spec({"hangs": 1}, num_samples=1))
        driver = subprocess.Popen([TUNE, "run", "spec.json", "--progress", "none"], cwd=self.dir,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(driver.wait)
        self.addCleanup(driver.kill)
        late = "the result of iteration 3 from rank 1, for "
        until = time.monotonic() + 120
        while not os.path.exists(self.path("results", "ranked", "CURRENT")) or \
                late not in self.tune("show", "results/ranked", "0").out:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)
        self.assertIn(late, self.json("show", "results/ranked", "0")["waits_for"])

    def test_a_save_that_one_rank_fails_is_void(self):
        done = self.run_spec(self.spec({"cannot_save": 1, "iterations": 4}, num_samples=1))
        self.assertIn("rank 1: OSError: no room", done.err + done.out)
        listed = self.json("checkpoints", "results/ranked")
        self.assertEqual([each["training_iteration"] for each in listed], [4])

    def test_a_killed_driver_loses_nothing_and_leaves_nobody(self):
        self.write("spec.json", self.spec({"iterations": 40, "sleep": 0.02}))
        driver = subprocess.Popen([TUNE, "run", "spec.json"], cwd=self.dir, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        self.addCleanup(driver.kill)
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline:
            if glob.glob(self.path("results/ranked/trial_*/checkpoint_000004")):
                break
            time.sleep(0.02)
        driver.send_signal(signal.SIGKILL)
        driver.wait()
        self.tune("resume", "results/ranked")
        for trial in ("trial_00000", "trial_00001"):
            rows = self.results(trial)
            self.assertEqual([row["training_iteration"] for row in rows], list(range(1, 41)))
            self.assertEqual({row["workers"]["3"]["count"] - row["training_iteration"] for row in rows}, {0})

    def test_populations_clone_and_go_on_with_all_ranks(self):
        spec = self.spec({"iterations": 8, "sleep": 0.01}, num_samples=4, num_workers=2, resources={"cpu": 8},
                         scheduler={"type": "pbt", "time_attr": "training_iteration", "synch": True, "perturbation_interval": 2, "quantile_fraction": 0.5,
                                    "hyperparam_mutations": {"x": {"uniform": [0, 1]}}})
        self.run_spec(spec)
        self.assertEqual({each["state"] for each in self.json("ls", "results/ranked")}, {"TERMINATED"})
        self.assertTrue('"exploit"' in self.tune("events", "results/ranked").out, "nobody was cloned")
        for trial in range(4):
            rows = self.results(f"trial_{trial:05}")
            self.assertEqual([row["training_iteration"] for row in rows], list(range(1, 9)))

    def test_processes_are_used_again(self):
        self.run_spec(self.spec({"iterations": 2}, num_samples=4, num_workers=2, resources={"cpu": 2}, reuse_processes=True))
        for trial in range(4):
            self.assertEqual(len(self.results(f"trial_{trial:05}")), 2)
        # Their setup printed what it found once; all later trials have none of that.
        self.assertNotIn("environment", self.read("results", "ranked", "trial_00003", "stdout.rank_00001.log"))

    def plain(self, *arguments):
        self.write("plain.py", PLAIN)
        return {"name": "ranked", "trainable": {"command": [sys.executable, "plain.py", "${config.x}", *arguments], "plain": {}},
                "param_space": {"x": {"uniform": [0, 1]}}, "metric": "loss", "mode": "min", "num_samples": 1,
                "num_workers": 3, "resources": {"cpu": 3}}

    def test_of_plain_ranks_the_first_one_is_listened_to_and_all_come_to_their_end(self):
        self.run_spec(self.plain())
        self.assertEqual([row["loss"] for row in self.results("trial_00000")], [1, 0.5, 1 / 3])
        self.assertIn("whole", self.read("results", "ranked", "trial_00000", "stdout.rank_00002.log"))

    def test_a_plain_rank_that_fails_is_named(self):
        self.run_spec(self.plain("1"), 1)
        self.assertIn("rank 1 exited with code 7", self.trial()["error"])

    def test_what_can_never_fit_is_refused(self):
        said = self.write("spec.json", self.spec(resources_per_worker={"cpu": 3}))
        said = self.tune("validate", "spec.json", expect=2).err
        self.assertIn("a trial can never take more 'cpu' than the 8.0 in resources, got 12.0 for 4 workers", said)
        self.write("spec.json", self.spec(resources_per_worker={"cpu": 1}, resources_per_trial={"cpu": 3}))
        self.assertIn("4 workers take 4.0 of 'cpu' together, and resources_per_trial has 3.0",
                      self.tune("validate", "spec.json", expect=2).err)


DDP = """
import argparse, os
import torch, torch.distributed
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
parser.add_argument("--resume")
args = parser.parse_args()
torch.set_num_threads(1)
torch.distributed.init_process_group("gloo")
rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
data = torch.Generator().manual_seed(rank)
for epoch in range(1, 5):
    x = torch.randn(16, 4, generator=data)
    loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    mean = loss.detach().clone()
    torch.distributed.all_reduce(mean)
    if rank == 0:
        print(f"epoch {epoch} loss: {mean.item() / world}", flush=True)
weights = [torch.zeros(4) for _ in range(world)]
torch.distributed.all_gather(weights, model.module.weight.detach().view(-1))
print("same" if all(torch.equal(weights[0], each) for each in weights) else "other")
torch.distributed.destroy_process_group()
"""


def torch_python():
    for python in (os.path.join(VENV, "bin", "python3"), "python3"):
        try:
            done = subprocess.run([python, "-c", "import torch.distributed"], capture_output=True, check=False)
        except OSError:
            continue
        if done.returncode == 0:
            return python
    return None


class TorchTest(Case):
    def test_an_unmodified_program_of_torch_distributed_runs_as_plain_workers(self):
        python = torch_python()
        if python is None:
            self.skipTest("torch is not installed")
        self.write("ddp.py", DDP)
        self.write("spec.json", {
            "name": "ddp", "trainable": {"command": [python, "ddp.py", "--lr=${config.lr}"], "plain": {}},
            "param_space": {"lr": {"grid_search": [0.1, 0.01]}}, "metric": "loss", "mode": "min",
            "num_workers": 3, "resources": {"cpu": 6}, "launch_timeout_s": 200})
        self.tune("run", "spec.json")
        for trial in ("trial_00000", "trial_00001"):
            rows = self.read("results", "ddp", trial, "result.json").splitlines()
            self.assertEqual(len(rows), 4)
            for log in ("stdout.log", "stdout.rank_00001.log", "stdout.rank_00002.log"):
                self.assertIn("same", self.read("results", "ddp", trial, log))


if __name__ == "__main__":
    unittest.TestCase.longMessage = True
    main()
