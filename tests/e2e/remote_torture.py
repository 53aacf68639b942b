"""Kills drivers with SIGKILL while they upload, and goes on from the remote alone in an empty directory.

    remote_torture.py --runs 50 --seed 1 [--first 0] [--remote REMOTE] [--keep-local K]
        so many kills, from the run of that number on; --remote: instead of a directory, whose files
        rclone leaves torn when it dies; --keep-local: with so many checkpoints of each trial on this disk, and the
        older ones on the remote alone
    environment: TUNE names what was built

Each run: two trials report 50 results a second and save every 5th; the driver dies at a random moment
between its first upload and 12 s later. Then

1. what is pulled is whole, every byte, and every checkpoint that had a marker when the driver died and
   is known to the state is there;
2. the state is at most 10 s behind the last result that the dead driver has recorded;
3. with --keep-local, each checkpoint that the dead driver knew is whole on its disk, or whole on the remote;
4. a resume from the remote alone ends with each iteration once, and all that is there then is whole.

Prints how far behind each was.
"""
import argparse
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TUNE = os.environ["TUNE"]
SLOW = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "slow_trainable.py")]
LIMIT_S = 240
ITERATIONS = 700


def tune(work, *words, expect=0):
    done = subprocess.run([TUNE, *words], cwd=work, capture_output=True, timeout=LIMIT_S, check=False,
                          env={**os.environ, "GO": os.path.join(work, "go")})
    if done.returncode != expect:
        raise AssertionError(f"tune {' '.join(words)}: {done.returncode}\n{done.stderr.decode()}")
    return done.stdout.decode()


def seconds_behind(work, lost, copy):
    """From the last event that the copy knows to the last result of the lost one."""
    events = [json.loads(line) for line in tune(work, "events", lost).splitlines()]
    known = json.loads(tune(work, "status", copy, "--json"))["events"]
    results = [event["t"] for event in events if event["e"] == "result"]
    last_known = max(event["t"] for event in events if event["n"] <= known)
    return max([0.0, *(t - last_known for t in results[-1:])])


def check_kept(work):
    """Of the lost directory: what is not on its disk is where its file says, by the manifest in that."""
    evicted = 0
    for one in json.loads(tune(work, "checkpoints", "lost/spec", "--json")):
        if one["where"] == "here":
            verify_whole(one["path"])
            continue
        with open(one["path"] + ".remote.json", encoding="utf-8") as file:
            place = json.loads(file.read()[17:])
        far = os.path.join(place["remote"], place["directory"])
        with open(os.path.join(far, "manifest.json"), encoding="utf-8") as file:
            assert file.read() == place["manifest"], f"{far} is another checkpoint"
        verify_whole(far)
        evicted += 1
    return evicted


def run(number, seed, remote, keep_local):
    rng = random.Random(f"{seed}/{number}")
    with tempfile.TemporaryDirectory(prefix="tune-remote-torture-") as work:
        far = os.path.join(work, "far") if remote is None else f"{remote}/run-{seed}-{number}"
        if remote is None:
            os.mkdir(far)
        spec = {"trainable": {"command": SLOW},
                "param_space": {"iterations": ITERATIONS, "step_s": 0.02}, "num_samples": 2,
                "max_concurrent_trials": 2, "snapshot_period_s": rng.choice([0.5, 3, 1000]),
                "checkpoint_config": {"checkpoint_frequency": 5, "num_to_keep": rng.choice([1, 2, None])},
                "remote": {"path": far, "keep_local": keep_local}}
        with open(os.path.join(work, "spec.json"), "w", encoding="utf-8") as file:
            json.dump(spec, file)
        driver = subprocess.Popen([TUNE, "run", "spec.json", "--progress", "none", "--lease-s", "5"], cwd=work,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            status = os.path.join(work, "results/spec/remote/state.json")
            until = time.monotonic() + LIMIT_S
            while not os.path.exists(status):
                assert time.monotonic() < until and driver.poll() is None, "no state goes up"
                time.sleep(0.01)
            time.sleep(rng.uniform(0, 12))  # the moment of death
        finally:
            driver.send_signal(signal.SIGKILL)
            driver.wait()
        os.rename(os.path.join(work, "results"), os.path.join(work, "lost"))
        if keep_local is not None and remote is None:
            print(f"run {number}: {check_kept(work)} checkpoints on the remote alone", flush=True)
        tune(work, "pull", far + "/spec", "copy")
        behind = seconds_behind(work, "lost/spec", "copy")
        listed = json.loads(tune(work, "checkpoints", "copy", "--json"))
        here = {(c["trial_id"], c["index"]) for c in listed if os.path.exists(c["path"])}
        if remote is None:
            marked = {(os.path.basename(os.path.dirname(name)), int(os.path.basename(name)[11:17]))
                      for name in glob.glob(far + "/spec/trial_*/checkpoint_*.COMMIT.json")
                      if os.path.getsize(name) > 0}
            known = {(c["trial_id"], c["index"]) for c in listed}
            assert marked & known <= here, f"marked and not taken: {sorted(marked & known - here)}"
        for one in listed:
            if (one["trial_id"], one["index"]) in here:
                verify_whole(one["path"])
        assert behind <= 10, f"{behind:.1f} s behind"
        tune(work, "resume", "--remote", far + "/spec", "--progress", "none", "--lease-s", "5")
        for trial in range(2):
            with open(os.path.join(work, f"results/spec/trial_0000{trial}/result.json"), encoding="utf-8") as file:
                iterations = [json.loads(line)["training_iteration"] for line in file]
            assert iterations == list(range(1, ITERATIONS + 1)), f"iterations of trial {trial}: {iterations[-5:]}"
        check = json.loads(tune(work, "remote", "verify", far + "/spec", "--read", "--json"))
        assert not check["damage"] and not check["without_marker"], check
        if remote is not None:
            subprocess.run(["rclone", "purge", far], check=True)
        return behind, len(here)


def verify_whole(directory):
    """By its manifest's sizes; its checksums are `tune checkpoints --verify`'s."""
    with open(os.path.join(directory, "manifest.json"), encoding="utf-8") as file:
        manifest = json.load(file)
    for entry in manifest["files"]:
        size = os.path.getsize(os.path.join(directory, entry["path"]))
        assert size == entry["bytes"], f"{directory}/{entry['path']} has {size} bytes"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--remote")
    parser.add_argument("--keep-local", type=int)
    options = parser.parse_args()
    if shutil.which("rclone") is None:
        print("skipped: there is no rclone here")
        return
    os.environ.setdefault("RCLONE_CONFIG", "/dev/null")
    all_behind, taken = [], 0
    for number in range(options.first, options.first + options.runs):
        try:
            behind, checkpoints = run(number, options.seed, options.remote, options.keep_local)
        except AssertionError as failure:
            sys.exit(f"run {number} of seed {options.seed}: {failure}")
        all_behind.append(behind)
        taken += checkpoints
        print(f"run {number}: {behind:.1f} s behind, {checkpoints} checkpoints taken", flush=True)
    print(f"{len(all_behind)} kills, {taken} checkpoints taken, all whole; at most {max(all_behind):.1f} s behind")


if __name__ == "__main__":
    main()
