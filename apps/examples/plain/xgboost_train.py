"""Boosted trees with XGBoost (`pip install xgboost`), on data that are made from a seed."""

from __future__ import annotations

import argparse

import numpy as np
import xgboost as xgb


def make_data(count: int, seed: int) -> xgb.DMatrix:
    """Friedman's first function of five of ten numbers, with noise."""
    generator = np.random.default_rng(seed)
    x = generator.random((count, 10))
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2
    y += 10 * x[:, 3] + 5 * x[:, 4] + generator.normal(size=count)
    return xgb.DMatrix(x, label=y)


def main() -> None:
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--eta", type=float, default=0.3, help="learning rate")
    parser.add_argument("--max-depth", type=int, default=6, help="of a tree")
    parser.add_argument("--subsample", type=float, default=1.0, help="part of the rows of a tree")
    parser.add_argument("--lambda", type=float, default=1.0, help="L2 penalty of the leaves")
    parser.add_argument("--rounds", type=int, default=40, help="trees")
    options = vars(parser.parse_args())
    rounds = options.pop("rounds")

    training, validation = make_data(500, seed=1), make_data(500, seed=2)
    # XGBoost prints a line a round: [3]  train-rmse:2.31  eval-rmse:2.71
    xgb.train(
        {**options, "objective": "reg:squarederror", "nthread": 1, "seed": 0},
        training,
        num_boost_round=rounds,
        evals=[(training, "train"), (validation, "eval")],
    )


if __name__ == "__main__":
    main()
