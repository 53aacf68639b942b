#!/usr/bin/env bash
# A fit in the shell with awk: y = a * x + b, by gradient descent on 40 noisy points.
# The hyperparameters come as variables of the environment, LR and DECAY (line_fit.json).
set -euo pipefail

# With exec the signal that ends a trial reaches awk; bash would wait for it to end by itself.
exec awk -v lr="${LR:-0.1}" -v decay="${DECAY:-1}" -v epochs="${EPOCHS:-20}" '
  BEGIN {
    srand(1)
    for (i = 0; i < 40; ++i) {
      x[i] = i / 20 - 1
      y[i] = 3 * x[i] + 0.5 + (rand() - 0.5) / 2
    }
    for (epoch = 1; epoch <= epochs; ++epoch) {
      slope_a = slope_b = loss = 0
      for (i = 0; i < 40; ++i) {
        error = a * x[i] + b - y[i]
        slope_a += 2 * error * x[i] / 40
        slope_b += 2 * error / 40
        loss += error * error / 40
      }
      a -= lr * slope_a
      b -= lr * slope_b
      lr *= decay
      printf "%d loss=%.6f a=%.4f b=%.4f\n", epoch, loss, a, b
      fflush() # a file gets it now, and not once a block is full
    }
  }'
