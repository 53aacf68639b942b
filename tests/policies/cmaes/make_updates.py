"""Writes updates of a distribution as the package cmaes makes them, for tests/policies/cma_test.cpp.

    python3 -m venv cmaes && cmaes/bin/pip install cmaes==0.13.1 numpy
    cmaes/bin/python make_updates.py

A line is an update: the generation that it learned from ("points", the best first), and what mean, sigma, covariance and
both paths are then. A new "run" begins anew from "mean" and "sigma". cmaes follows the first version of Hansen's tutorial;
the second one has a larger rate of the rank-mu update, equation (58), and so other weights, (53).
"""
import json
import math
import pathlib

import cmaes
import numpy


def numbers(array):
    return numpy.asarray(array).ravel().tolist()


def as_in_the_second_version(optimizer):
    n, size, effective = optimizer._n_dim, optimizer._popsize, optimizer._mu_eff
    c1 = optimizer._c1
    cmu = min(1 - c1, 2 * (0.25 + effective + 1 / effective - 2) / ((n + 2) ** 2 + effective))
    raw = math.log((size + 1) / 2) - numpy.log(numpy.arange(1, size + 1))
    worse = raw[size // 2:]
    worse_effective = worse.sum() ** 2 / (worse ** 2).sum()
    balance = min(1 + c1 / cmu, 1 + 2 * worse_effective / (effective + 2), (1 - c1 - cmu) / (n * cmu))
    optimizer._cmu = cmu
    optimizer._weights = numpy.where(raw >= 0, raw / raw[raw > 0].sum(), balance * raw / -raw[raw < 0].sum())


def main():
    random = numpy.random.default_rng(5)
    lines = []
    for run, (dimensions, population, sigma, far) in enumerate(
            [(2, 6, 0.3, 0), (3, 7, 0.5, 0), (5, 12, 0.2, 0), (4, 8, 0.25, 0.8)]):
        mean = random.uniform(-1, 1, dimensions).round(3)
        start = {"run": run, "mean": numbers(mean), "sigma": sigma, "population": population}
        optimizer = cmaes.CMA(mean=mean.copy(), sigma=sigma, population_size=population)
        as_in_the_second_version(optimizer)
        for generation in range(6):
            points = random.normal(optimizer._mean, 0.7 * optimizer._sigma, (population, dimensions)).round(4)
            if far and generation == 2:
                points[:, 0] += far  # so far that the step size alone is to learn from it
            optimizer.tell([(point, rank) for rank, point in enumerate(points)])
            lines.append({**start, "points": [numbers(point) for point in points],
                          "new_mean": numbers(optimizer._mean), "new_sigma": float(optimizer._sigma),
                          "covariance": numbers(optimizer._C), "sigma_path": numbers(optimizer._p_sigma),
                          "covariance_path": numbers(optimizer._pc)})
    file = pathlib.Path(__file__).with_name("updates.jsonl")
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))


main()
