"""Makes the pictures of the documentation anew: a search over curves that a formula with a seed has drawn, in virtual time.

    docs/pictures/make.py TUNE [DIR]

TUNE is the program; it needs gnuplot. DIR is where they go, this directory if it is not said. Another gnuplot may
place marks a little differently; the numbers are always the same.
"""
from __future__ import annotations

import json
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

PICTURES = ("best", "curves", "parallel", "rungs")
TRIALS, EPOCHS = 120, 27
SIZE = ("--width", "840", "--height", "440")


def curve(config: dict[str, float | str], noise: random.Random) -> list[float]:
    """Losses of a training that is best near a rate of 0.003 with warmup, and overfits with a wide layer and no dropout."""
    away = abs(math.log10(float(config["lr"])) + 2.5)
    end = 0.12 + 0.22 * away**2 + (0.08 if config["schedule"] == "constant" else 0)
    overfits = max(0.0, float(config["width"]) / 512 - 2 * float(config["dropout"])) * 0.06
    speed = 1.6 - 0.45 * away
    return [round(end + 1.6 * t ** -max(speed, 0.3) + overfits * t / EPOCHS + noise.gauss(0, 0.008), 5)
            for t in range(1, EPOCHS + 1)]


def main() -> None:
    tune = str(Path(sys.argv[1]).resolve())
    target = Path(sys.argv[2] if len(sys.argv) > 2 else Path(__file__).parent).resolve()
    draw = random.Random(7)
    space = {"lr": {"loguniform": [1e-4, 0.1]}, "width": {"choice": [64, 128, 256, 512]},
             "dropout": {"uniform": [0, 0.5]}, "schedule": {"choice": ["constant", "cosine"]}}
    lines = ["trial_id,config/lr,config/width,config/dropout,config/schedule,training_iteration,time_total_s,val_loss"]
    for trial in range(TRIALS):
        config: dict[str, float | str] = {
            "lr": 10 ** draw.uniform(-4, -1), "width": draw.choice([64, 128, 256, 512]),
            "dropout": draw.uniform(0, 0.5), "schedule": draw.choice(["constant", "cosine"])}
        cells = ",".join(str(config[name]) for name in ("lr", "width", "dropout", "schedule"))
        lines += [f"{trial},{cells},{t},{60 * t},{loss}" for t, loss in enumerate(curve(config, draw), 1)]
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "curves.csv").write_text("\n".join(lines) + "\n")
        (Path(place) / "sweep.json").write_text(json.dumps({
            "trainable": {"command": ["true"]}, "name": "sweep", "metric": "val_loss", "mode": "min",
            "num_samples": TRIALS, "searcher": "random", "param_space": space}))
        asha = json.dumps({"type": "asha", "max_t": EPOCHS, "grace_period": 1, "reduction_factor": 3})
        subprocess.run([tune, "simulate", "sweep.json", "--curves", "curves.csv", "--scheduler", asha, "--workers", "8",
                        "--dir", "simulated"], cwd=place, check=True, stdout=subprocess.DEVNULL)
        [experiment] = (Path(place) / "simulated").iterdir()
        for picture in PICTURES:
            file = target / f"{picture}.svg"
            subprocess.run([tune, "plot", str(experiment), picture, "--svg", str(file), *SIZE], check=True)


if __name__ == "__main__":
    main()
