// Minimises a smooth function within bounds, for policies that fit a model. Pure: the same call
// gives the same answer.
#pragma once

#include <functional>
#include <vector>

namespace tune {

/// The value at `x`, and the gradient there. A value that is not finite is worse than every other.
using SmoothFunction =
    std::function<double(const std::vector<double>& x, std::vector<double>& gradient)>;

struct MinimizeOptions {
  int max_evaluations = 100;
  double tolerance = 1e-5;  ///< of the projected gradient, per coordinate
};

/// The best point that was looked at, and its value.
struct Minimum {
  std::vector<double> x;
  double value = 0;
  int evaluations = 0;
};

/// A local minimum near `start`, which is moved into the bounds first. L-BFGS-B (Byrd, Lu, Nocedal
/// and Zhu, 1995); never throws for what the function does.
Minimum minimize(const SmoothFunction& f, const std::vector<double>& start,
                 const std::vector<double>& lower, const std::vector<double>& upper,
                 const MinimizeOptions& options = {});

}  // namespace tune
