"""A trainable that takes its time: for a step, for one at which it waits for a file, or because of a
stubborn child; or for a checkpoint that is so large that nobody is done with it soon."""
import os
import subprocess
import sys
import time

from line_trainable import serve

STUBBORN = """
import signal, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
print("ready", flush=True)
while True:
    time.sleep(1000)
"""


def have_child():
    child = subprocess.Popen([sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE)
    child.stdout.readline()
    with open("child.tmp", "w", encoding="ascii") as file:
        file.write(str(child.pid))
    os.rename("child.tmp", "child")


class Trial:
    state = 0  # steps
    config = {}

    def start(self, config):
        self.config = config
        # Once only, so that a resumed trial does without.
        if config.get("child") and not os.path.exists("child"):
            have_child()

    def step(self):
        self.state += 1
        time.sleep(self.config.get("step_s", 0.02))
        if self.state == self.config.get("block_at"):
            with open("blocked", "w", encoding="ascii"):
                pass
            while not os.path.exists(os.environ["GO"]):
                time.sleep(0.01)
        return {"metrics": {"count": self.state},
                "done": self.state == self.config.get("iterations", 3),
                "should_checkpoint": self.state == self.config.get("checkpoint_at")}

    def save(self, directory):
        if self.config.get("weights"):
            with open(os.path.join(directory, "some"), "wb") as file:
                file.write(bytes(self.config["weights"]))
        gibibytes = self.config.get("sparse_gib", 0)
        if gibibytes and not os.path.exists(os.environ["GO"]):
            with open(os.path.join(directory, "weights"), "wb") as file:
                file.truncate(gibibytes << 30)


serve(Trial())
