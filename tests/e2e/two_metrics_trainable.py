"""A deterministic trainable with two metrics that want different things, and trouble in some places."""
import time

from line_trainable import serve


class Trial:
    state = 0  # steps
    config = {}

    def start(self, config):
        self.config = config

    def step(self):
        time.sleep(0.002)
        self.state += 1
        x, y, kind = self.config["x"], self.config["y"], self.config["kind"]
        if kind == "fails" and self.state == 2:
            raise SystemExit("this kind fails")
        loss = float("nan") if kind == "nan" else (x - 0.25) ** 2 + y + 1 / self.state
        metrics = {"loss": loss, "speed": 5 - (x - 0.75) ** 2 - y - 0.1 * self.state}
        if kind == "lacks":
            del metrics["speed"]
        return {"metrics": metrics, "done": self.state == 4}


serve(Trial())
