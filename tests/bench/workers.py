"""What ranks cost: answers a second of one trial of N ranks beside those of N trials of one process, and how long
after the end of one rank all are gone.

    workers.py [--ranks 16] [--steps 2000] [--rounds 3]
    environment: TUNE, BENCH_TRAINABLE, PYTHON_PACKAGE name what was built
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import textwrap

DIES = """
import os, signal, time
import tune

class Dies(tune.Trainable):
    def step(self):
        if self.context.get_world_rank() == 1:
            with open("died", "w") as file:
                file.write(str(time.time()))
            os.kill(os.getpid(), signal.SIGKILL)
        signal.pause()
"""


def events(spec, ok=(0,)):
    """All that was recorded in an experiment of that spec, and the directory's `died`, if there is one."""
    with tempfile.TemporaryDirectory(prefix="tune-bench-workers-") as work:
        with open(os.path.join(work, "spec.json"), "w", encoding="utf-8") as file:
            json.dump({"name": "bench", "metric": "loss", "mode": "min", "searcher": "random",
                       "snapshot_period_s": 1000, **spec}, file)
        done = subprocess.run([os.environ["TUNE"], "run", "spec.json", "--progress", "none"], cwd=work, check=False,
                              capture_output=True, text=True)
        if done.returncode not in ok:
            sys.exit(done.stderr)
        out = subprocess.run([os.environ["TUNE"], "events", "results/bench"], cwd=work, check=True,
                             capture_output=True).stdout
        died = os.path.join(work, "results", "bench", "trial_00000", "work", "died")
        at = float(open(died, encoding="utf-8").read()) if os.path.exists(died) else None
        return [json.loads(line) for line in out.splitlines()], at


def answers_a_second(ranks, steps, as_workers):
    group = {"num_workers": ranks} if as_workers else {"num_samples": ranks}
    seen, _ = events({"trainable": {"command": [os.environ["BENCH_TRAINABLE"]]},
                      "param_space": {"steps": steps, "period_s": 0, "duration_s": 0, "measure": False, "cpu": -1},
                      "resources": {"cpu": ranks}, **group})
    times = [event["t"] for event in seen if event["e"] == "result"]
    return ranks * steps / (max(times) - min(times))


def seconds_to_the_end(ranks):
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(textwrap.dedent(DIES))
        file.flush()
        command = [sys.executable, "-m", "tune.trial", file.name + ":Dies"]
        seen, died = events({"trainable": {"command": command, "env": {"PYTHONPATH": os.environ["PYTHON_PACKAGE"]}},
                             "param_space": {}, "num_workers": ranks, "resources": {"cpu": ranks}}, ok=(1,))
    return next(event["t"] for event in seen if event["e"] == "end") - died


def main():
    parser = argparse.ArgumentParser(description="what ranks cost")
    parser.add_argument("--ranks", type=int, default=16)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    singles, workers, ends = [], [], []
    for _ in range(arguments.rounds):
        singles.append(answers_a_second(arguments.ranks, arguments.steps, False))
        workers.append(answers_a_second(arguments.ranks, arguments.steps, True))
        ends.append(seconds_to_the_end(min(arguments.ranks, 4)))
    single, worker = statistics.median(singles), statistics.median(workers)
    print(f"{arguments.ranks} trials of one process  {single:9.0f} answers/s")
    print(f"one trial of {arguments.ranks} ranks     {worker:9.0f} answers/s, {worker / single:.2f} of that")
    print(f"one of {min(arguments.ranks, 4)} ranks killed: all gone after {1000 * statistics.median(ends):.0f} ms")


if __name__ == "__main__":
    main()
