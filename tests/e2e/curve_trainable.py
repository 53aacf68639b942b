"""A learning curve that its config and the iteration decide alone, with checkpoints of 300 kB. It takes its
time, "step_s" for a step, until there is the file that GO names."""
import hashlib
import math
import os
import time

from line_trainable import serve


class Trial:
    state = 0  # steps
    config = {}

    def start(self, config):
        self.config = config

    def digest(self):
        return hashlib.sha256(f"{self.config['lr']!r} {self.state}".encode()).digest()

    def step(self):
        self.state += 1
        if not os.path.exists(os.environ["GO"]):
            time.sleep(self.config["step_s"])
        noise = int.from_bytes(self.digest()[:4], "big") / 2**32
        accuracy = 1 - math.exp(-self.state / 100) - abs(math.log10(self.config["lr"]) + 2) / 4
        return {"metrics": {"accuracy": accuracy + 0.05 * noise},
                "done": self.state == self.config["iterations"]}

    def save(self, directory):
        with open(os.path.join(directory, "weights"), "wb") as file:
            file.write(10_000 * self.digest())


serve(Trial())
