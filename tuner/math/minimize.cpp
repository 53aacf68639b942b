// L-BFGS-B (LBFGS++) with a limit on evaluations; keeps the best point seen, also when the line
// search fails.
#include "tuner/math/minimize.h"

#include <LBFGSB.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace tune {

namespace {

struct Enough {};  ///< thrown through the solver

/// Counts, remembers the best, and ends the search where it leads nowhere.
class Watched {
 public:
  Watched(const SmoothFunction& f, int most, Minimum& best) : f_(f), most_(most), best_(best) {}

  double operator()(const Eigen::VectorXd& x, Eigen::VectorXd& gradient) {
    if (best_.evaluations >= most_ || !x.allFinite()) throw Enough();
    ++best_.evaluations;
    point_.assign(x.data(), x.data() + x.size());
    slope_.assign(point_.size(), 0);
    const double value = f_(point_, slope_);
    gradient = Eigen::Map<const Eigen::VectorXd>(slope_.data(), x.size());
    if (!std::isfinite(value) || !gradient.allFinite()) throw Enough();
    if (value < best_.value) {
      best_.x = point_;
      best_.value = value;
    }
    return value;
  }

 private:
  const SmoothFunction& f_;
  const int most_;
  Minimum& best_;
  std::vector<double> point_, slope_;
};

Eigen::VectorXd vector_of(const std::vector<double>& x) {
  return Eigen::Map<const Eigen::VectorXd>(x.data(), static_cast<Eigen::Index>(x.size()));
}

}  // namespace

Minimum minimize(const SmoothFunction& f, const std::vector<double>& start,
                 const std::vector<double>& lower, const std::vector<double>& upper,
                 const MinimizeOptions& options) {
  Eigen::VectorXd x = vector_of(start).cwiseMax(vector_of(lower)).cwiseMin(vector_of(upper));
  Minimum best{{x.data(), x.data() + x.size()}, std::numeric_limits<double>::infinity(), 0};
  Watched watched(f, options.max_evaluations, best);
  LBFGSpp::LBFGSBParam<double> parameters;
  parameters.epsilon = options.tolerance;
  parameters.epsilon_rel = 0;
  LBFGSpp::LBFGSBSolver<double> solver(parameters);
  double value = 0;
  try {
    solver.minimize(watched, x, value, vector_of(lower), vector_of(upper));
  } catch (const Enough&) {
  } catch (const std::logic_error&) {  // a line search that finds no way down: this is the minimum,
  } catch (const std::runtime_error&) {  // or as near as rounding lets it come
  }
  return best;
}

}  // namespace tune
