"""A deterministic trainable in which nothing that is lost stays hidden: each step of the logistic
map takes the whole state of the one before, and the smallest difference grows at every step.
"""
import time

from line_trainable import serve


class Trial:
    state = 0.0
    rate = 0.0

    def start(self, config):
        self.rate, self.state = config["rate"], config["start"]

    def step(self):
        time.sleep(0.002)
        self.state = self.rate * self.state * (1 - self.state)
        return {"metrics": {"x": self.state, "none": float("nan")},
                "should_checkpoint": self.state < 0.2}


serve(Trial())
