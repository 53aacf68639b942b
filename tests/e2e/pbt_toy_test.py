"""The toy problem of the paper on population-based training, as apps/examples/pbt_toy ships it: what
a grid reaches, what a population reaches, and that a population is not disturbed by a driver that
dies. Real processes; named by the environment (library.cmake).
"""
import json
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

LIMIT_S = 240  # a driver that hangs must not hang the tests


class PbtToy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tune-e2e-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()

    def write_spec(self, shipped, name):
        """The spec as it ships; program and place are the test's."""
        spec = json.loads((pathlib.Path(os.environ["EXAMPLE"]) / shipped).read_text())
        spec.update(name=name, storage_path=str(self.folder),
                    trainable={"command": [os.environ["PBT_TOY"]]})
        (self.folder / f"{name}.json").write_text(json.dumps(spec))
        return spec

    def tune(self, *arguments):
        done = subprocess.run([os.environ["TUNE"], *arguments], cwd=self.folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_S,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def run_to_its_end(self, shipped, name):
        self.write_spec(shipped, name)
        self.tune("run", f"{name}.json", "--progress", "none")
        return self.trials(name)

    def trials(self, name):
        found = json.loads(self.tune("ls", name, "--json"))
        self.assertEqual([(trial["state"], trial["training_iteration"]) for trial in found],
                         [("TERMINATED", 200)] * 2)
        return [(trial["config"], trial["metrics"]["q"]) for trial in found]

    def exploits(self, name):
        records = (self.folder / name / "journal-1.jsonl").read_text()
        return records.count('"e":"exploit"')

    def kill_at(self, words, name, exploits):
        """Starts a driver, and kills it as soon as the experiment has so many exploits."""
        driver = subprocess.Popen([os.environ["TUNE"], *words, "--progress", "none"],
                                  cwd=self.folder, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        self.addCleanup(driver.kill)
        deadline = time.monotonic() + LIMIT_S
        journal = self.folder / name / "journal-1.jsonl"
        while not journal.exists() or self.exploits(name) < exploits:
            self.assertIsNone(driver.poll(), "the driver ended too early")
            self.assertLess(time.monotonic(), deadline)
        driver.kill()
        driver.wait()

    def test_a_grid_reaches_at_most_039_and_a_population_more_than_119(self):
        grid = self.run_to_its_end("grid.json", "grid")
        self.assertEqual([config for config, _ in grid], [{"h0": 1, "h1": 0}, {"h0": 0, "h1": 1}])
        for _, q in grid:
            self.assertLessEqual(q, 0.39)
            self.assertGreater(q, 0.3899)  # and it was trained as long as it helps
        population = self.run_to_its_end("pbt.json", "pbt")
        for _, q in population:
            self.assertGreater(q, 1.19)
        # At each of 49 intervals the worse one became a copy of the other.
        self.assertEqual(self.exploits("pbt"), 49)

    def test_a_population_comes_to_the_same_numbers_however_often_its_driver_is_killed(self):
        undisturbed = self.run_to_its_end("pbt.json", "undisturbed")
        self.write_spec("pbt.json", "killed")
        self.kill_at(["run", "killed.json"], "killed", 3)
        for exploits in (7, 20, 33):
            self.kill_at(["resume", "killed", "--strict"], "killed", exploits)
        self.tune("resume", "killed", "--strict", "--progress", "none")
        self.assertEqual(self.trials("killed"), undisturbed)
        self.tune("checkpoints", "killed", "--verify")


if __name__ == "__main__":
    unittest.main()
