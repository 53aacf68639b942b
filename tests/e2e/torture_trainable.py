"""torture_trainable.cpp in Python: the same facts in the same record, see there."""
import fcntl
import glob
import os
import random
import signal
import time

import tune

#: Descriptors beyond the standard ones and the socket, of what this process was started with.
INHERITED = [
    target
    for fd in os.listdir("/proc/self/fd")
    if int(fd) > 4  # 4 may be the one that reads this file
    and os.path.exists(f"/proc/self/fd/{fd}")
    and not (target := os.readlink(f"/proc/self/fd/{fd}")).endswith("/fd")
]


class Torture(tune.Trainable):
    record = -1
    path = ""

    def setup(self, config):
        self.begin(config)

    def reset_config(self, new_config):
        self.begin(new_config)
        return True

    def begin(self, config):
        self.chance = random.Random(os.urandom(8))
        # The record of a trial is rank 0's; the others have files of their own.
        self.rank = self.context.get_world_rank()
        name = self.trial_id + (f".rank_{self.rank}" if self.rank else "")
        path = os.path.join(os.environ["TORTURE_RECORD"], name)
        if path != self.path:
            self.take(path)
        # Retries wait longer and longer: few of them a trial, whichever rank is why.
        self.crashes = 0
        for file in glob.glob(os.path.join(os.environ["TORTURE_RECORD"], self.trial_id + "*")):
            with open(file) as facts:
                self.crashes += facts.read().split("\n").count("crash")
        if INHERITED:
            self.write(f"wrong descriptors {INHERITED}")
        self.at, self.stamp, self.donor = 0, 0, ""
        self.iterations = config["iterations"]
        self.has_started = self.is_reported = False
        # Some leave a helper behind, as data loaders are.
        if self.chance.randrange(8) == 0 and os.fork() == 0:
            while True:
                signal.pause()

    def take(self, path):
        """What holds the lock is also a helper that was left behind, so who becomes a clone of
        its own trial keeps what it holds."""
        self.path = path
        if self.record >= 0:
            os.close(self.record)
        self.record = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        if "TORTURE_REUSED" not in os.environ:
            self.lock()

    def lock(self):
        """Two attempts of one trial must never run at one time; one that was killed may take a
        moment to be gone."""
        for _ in range(500):
            try:
                return fcntl.flock(self.record, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.01)
        self.write("wrong second process of the trial")

    def step(self):
        self.start_or_told()
        time.sleep(self.chance.random() * 0.004)
        if self.crashes < 2 and self.chance.randrange(60) == 0:
            self.crash()
        self.at += 1
        self.stamp = self.chance.getrandbits(52)
        self.note("reported", self.at, self.stamp)
        self.is_reported = True
        return {"stamp": self.stamp, "should_checkpoint": self.chance.randrange(7) == 0,
                "done": self.at >= self.iterations}

    def save_checkpoint(self, checkpoint_dir):
        self.start_or_told()
        # From `.checkpoint_000012.tmp-3`.
        index = int(os.path.basename(checkpoint_dir).split("_")[1].split(".")[0])
        self.note("saving", index, self.at)
        if self.rank:
            with open(os.path.join(checkpoint_dir, f"rank_{self.rank}"), "w") as file:
                file.write(str(self.at))
            return
        os.mkdir(os.path.join(checkpoint_dir, "deep"))
        with open(os.path.join(checkpoint_dir, "state"), "w") as file:
            file.write(f"{self.at} {self.stamp}\n")
        with open(os.path.join(checkpoint_dir, "deep", "bytes"), "w") as file:
            file.write("x" * self.chance.randrange(5000))
        if self.chance.randrange(40) == 0:
            raise RuntimeError("told to fail in save")

    def load_checkpoint(self, checkpoint_dir):
        with open(os.path.join(checkpoint_dir, "state")) as file:
            self.at, self.stamp = map(int, file.read().split())
        if self.rank:
            with open(os.path.join(checkpoint_dir, f"rank_{self.rank}")) as file:
                own = int(file.read())
            if own != self.at:
                self.write(f"wrong part of rank {self.rank}: {own} beside {self.at}")
        owner = os.path.basename(os.path.dirname(checkpoint_dir))
        if owner != self.trial_id:
            self.donor = owner

    def start_or_told(self):
        if not self.has_started:
            self.has_started = True
            if self.donor:
                self.write(f"clone {self.at} {self.stamp} {self.donor}")
            else:
                self.note("start", self.at, self.stamp)
        if self.is_reported:
            self.is_reported = False
            self.note("told", self.at, self.stamp)

    def crash(self):
        self.write("crash")
        kind = self.chance.randrange(4)
        if kind == 0:
            os._exit(7)
        if kind == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if kind == 2:
            # Closes the connection and lives on a little.
            os.close(3)
            time.sleep(0.02)
            os._exit(3)
        raise RuntimeError("told to fail")

    def note(self, what, iteration, stamp):
        self.write(f"{what} {iteration} {stamp}")

    def write(self, line):
        os.write(self.record, line.encode() + b"\n")
