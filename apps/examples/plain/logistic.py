"""Logistic regression by gradient descent, in Python's standard library alone.

Learns which of two overlapping clouds of points a point is from. Every number comes from a seed.
"""

from __future__ import annotations

import argparse
import math
import random

Point = tuple[list[float], int]

DIMENSIONS = 8


def make_points(count: int, seed: int) -> list[Point]:
    """Points of two clouds, of which only the first coordinates tell them apart."""
    generator = random.Random(seed)
    points: list[Point] = []
    for _ in range(count):
        label = generator.randrange(2)
        shift = 0.6 if label else -0.6
        points.append(
            ([generator.gauss(shift if i < 3 else 0, 1) for i in range(DIMENSIONS)], label)
        )
    return points


def probability(weights: list[float], x: list[float]) -> float:
    """That `x` is of the second cloud."""
    score = weights[-1] + sum(w * value for w, value in zip(weights, x))
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, score))))


def loss_of(weights: list[float], points: list[Point]) -> float:
    """The mean logarithmic loss."""
    total = 0.0
    for x, label in points:
        p = probability(weights, x)
        total -= math.log(p if label else 1 - p)
    return total / len(points)


def main() -> None:
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--lr", type=float, default=0.1, help="learning rate")
    parser.add_argument("--l2", type=float, default=0.001, help="strength of the penalty")
    parser.add_argument("--momentum", type=float, default=0.5, help="part of the last step")
    parser.add_argument("--batch-size", type=int, default=16, help="points in a step")
    parser.add_argument("--epochs", type=int, default=10, help="passes over the points")
    parser.add_argument("--seed", type=int, default=0, help="of the order of the points")
    arguments = parser.parse_args()

    training, validation = make_points(200, seed=1), make_points(400, seed=2)
    order = random.Random(arguments.seed)
    weights = [0.0] * (DIMENSIONS + 1)
    velocity = [0.0] * (DIMENSIONS + 1)
    for epoch in range(1, arguments.epochs + 1):
        order.shuffle(training)
        for begin in range(0, len(training), arguments.batch_size):
            batch = training[begin : begin + arguments.batch_size]
            gradient = [arguments.l2 * w for w in weights]
            for x, label in batch:
                error = (probability(weights, x) - label) / len(batch)
                for i, value in enumerate([*x, 1.0]):
                    gradient[i] += error * value
            for i, slope in enumerate(gradient):
                velocity[i] = arguments.momentum * velocity[i] - arguments.lr * slope
                weights[i] += velocity[i]
        print(
            f"epoch {epoch}/{arguments.epochs} - loss: {loss_of(weights, training):.4f}"
            f" - val_loss: {loss_of(weights, validation):.4f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
