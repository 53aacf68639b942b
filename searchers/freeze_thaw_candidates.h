// The new configs among which freeze_thaw chooses.
#pragma once

#include <vector>

#include "searchers/coordinates.h"
#include "searchers/freeze_thaw_model.h"
#include "searchers/freeze_thaw_options.h"
#include "searchers/gp_dimensions.h"
#include "searchers/gp_model.h"
#include "searchers/priors.h"
#include "tuner/math/random.h"
#include "tuner/space/search_space.h"

namespace tune {

class ConfigCandidates {
 public:
  using Point = GpDimensions::Point;

  /// All but the options outlive it; it stays where it is.
  ConfigCandidates(const SearchSpace& space, const std::vector<Axis>& axes,
                   const GpDimensions& dimensions, const FreezeThawSearchOptions& options);
  ConfigCandidates(const ConfigCandidates&) = delete;
  ConfigCandidates& operator=(const ConfigCandidates&) = delete;

  /// Coordinates by leaf of one that is drawn, an allowed one if such is found soon. `curves`: of
  /// all that was tried.
  std::vector<double> any(const std::vector<LearningCurve>& curves, Random& random) const;

  /// At least one: some all over the space, and some a tenth of each range from the three best.
  /// With priors half of the former are from these, and the fewer the less the best agree.
  std::vector<Point> points(const std::vector<LearningCurve>& curves, Random& random) const;

 private:
  /// Where nothing else can be tried: some of what is left, and what is nearest to the best.
  std::vector<Point> untried(const std::vector<const Point*>& best,
                             const std::vector<LearningCurve>& curves, Random& random) const;
  /// Coordinates by leaf of so many from the priors or, by PriorBand's shares, around the best.
  std::vector<std::vector<double>> believed(std::size_t n, const std::vector<const Point*>& best,
                                            Random& random) const;
  /// A tenth of each range away, or another category.
  Point near(Point point, Random& random) const;

  const SearchSpace& space_;
  const std::vector<Axis>& axes_;
  const GpDimensions& dimensions_;
  const Priors priors_;
  std::vector<std::vector<double>> only_;  ///< coordinates of what alone can be tried; empty: all
  IsAllowed is_allowed_;
};

}  // namespace tune
