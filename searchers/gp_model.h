// What to try next, by a Gaussian process over what was tried: the point with the highest expected
// improvement.
#pragma once

#include <functional>
#include <vector>

#include "searchers/coordinates.h"
#include "searchers/gp_options.h"
#include "searchers/priors.h"
#include "tuner/math/random.h"
#include "tuner/space/search_space.h"

namespace tune {

/// A fit costs the cube of the observations, so it is kept until there are some more of these.
struct GpFit {
  std::vector<double> hyperparameters;  ///< of the kernel, then the noise; empty: none yet
  std::size_t observations = 0;         ///< that were known then, modelled or not
};

struct GpFits {
  GpFit scores;
  std::vector<GpFit> constraints;
};

/// Whether a config with these coordinates by leaf may be tried; empty: any may.
using IsAllowed = std::function<bool(const std::vector<double>&)>;

/// Points are coordinates by leaf, NaN where a config has none (coordinates.h).
struct GpData {
  std::vector<std::vector<double>> points;
  std::vector<double> scores;                ///< one for each, larger is better; NaN: it failed
  std::vector<std::vector<double>> pending;  ///< whose scores are on their way
  /// Of each constraint a value for each point: fulfilled up to 0; NaN: it is not.
  std::vector<std::vector<double>> constraints = {};
};

/// A sequence of points that fills the space evenly. (Roberts, "The Unreasonable Effectiveness of
/// Quasirandom Sequences", 2018.)
class SpreadPoints {
 public:
  /// `shift` moves them, by leaf from 0 to 1. `axes` outlives it.
  SpreadPoints(const std::vector<Axis>& axes, std::vector<double> shift);

  /// Coordinates by leaf of point number `i`.
  std::vector<double> operator()(std::uint64_t i) const;
  /// The same as shares of the axes.
  std::vector<double> shares(std::uint64_t i) const;

 private:
  const std::vector<Axis>& axes_;
  std::vector<double> shift_, strides_;
};

/// Coordinates by leaf of what lies at these shares, from 0 to 1, of the axes.
std::vector<double> coordinates_at(const std::vector<Axis>& axes,
                                   const std::vector<double>& shares);

/// Coordinates by leaf of the next point, an allowed one if such can be found; for leaves that its
/// config will not have, any. `priors`, if not null, count the less the more trials there are.
std::vector<double> next_by_gp(const SearchSpace& space, const std::vector<Axis>& axes,
                               const GpRules& rules, const GpData& data, GpFits& fits,
                               Random& random, const IsAllowed& is_allowed = nullptr,
                               const Priors* priors = nullptr);

}  // namespace tune
