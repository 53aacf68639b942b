"""Boosted trees with LightGBM (`pip install lightgbm`), on data that are made from a seed."""

from __future__ import annotations

import argparse

import lightgbm as lgb
import numpy as np


def make_data(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes that a circle in two of six numbers divides, with one label in ten wrong."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(count, 6))
    inside = x[:, 0] ** 2 + x[:, 1] ** 2 < 1.4
    return x, (inside ^ (generator.random(count) < 0.1)).astype(int)


def main() -> None:
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--learning-rate", type=float, default=0.1, help="of each tree")
    parser.add_argument("--num-leaves", type=int, default=31, help="of a tree")
    parser.add_argument("--min-child-samples", type=int, default=20, help="rows in a leaf")
    parser.add_argument("--rounds", type=int, default=40, help="trees")
    options = vars(parser.parse_args())
    rounds = options.pop("rounds")

    training = lgb.Dataset(*make_data(500, seed=1))
    validation = lgb.Dataset(*make_data(500, seed=2), reference=training)
    # LightGBM prints a line a round: [3]     valid_0's binary_logloss: 0.512
    lgb.train(
        {**options, "objective": "binary", "num_threads": 1, "seed": 0, "verbose": -1},
        training,
        num_boost_round=rounds,
        valid_sets=[validation],
        callbacks=[lgb.log_evaluation(1)],
    )


if __name__ == "__main__":
    main()
