// What priors say of configs: densities to weigh them by, and values to draw. How far they are to
// be believed is each searcher's business (docs/searchers.md, "Priors").
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "searchers/coordinates.h"
#include "tuner/math/random.h"
#include "tuner/space/search_space.h"

namespace tune {

/// Where a config's values come from.
enum class DrawnFrom : char {
  space,   ///< as without priors
  priors,  ///< what has no prior: as without one
  values,  ///< the priors' values themselves
};

class Priors {
 public:
  explicit Priors(const SearchSpace& space);
  /// The same as if each number had a prior of medium confidence at these coordinates by leaf, and
  /// each choice, NaN being none.
  Priors(const SearchSpace& space, const std::vector<double>& coordinates);

  bool any() const { return any_; }
  bool has(std::size_t leaf) const { return leaves_[leaf].has_value(); }

  /// Of a leaf with a prior: the coordinate of its value, and how far that may be off.
  double center(std::size_t leaf) const { return leaves_[leaf]->center; }
  double deviation(std::size_t leaf) const { return leaves_[leaf]->deviation; }

  /// The logarithm of how much denser a leaf's prior is at a coordinate than what is drawn without
  /// it; 0 without a prior. `slope`, if not null: its derivative.
  double log_ratio(std::size_t leaf, double coordinate, double* slope = nullptr) const;
  /// The same if the prior is as likely wrong as right, and so never below log 1/2: a wrong one
  /// cannot rule anything out.
  double log_believed(std::size_t leaf, double coordinate, double* slope = nullptr) const;

  /// The coordinate below which so much of the prior is, 0 <= share < 1. Of leaves that have one.
  double quantile(std::size_t leaf, double share) const;
  /// What SearchSpace::Draw answers there.
  Json value_at(std::size_t leaf, double share) const;

  /// Half of all configs from the priors, so that a wrong one costs no more than every other trial.
  /// Takes no number of `random` where there are none.
  DrawnFrom pick(Random& random) const;
  /// What SearchSpace::Draw answers, drawn by `random`.
  Json draw(std::size_t leaf, DrawnFrom from, Random& random) const;
  /// A config as SearchSpace::sample draws it.
  Json sample(DrawnFrom from, Random& random, std::uint64_t grid_point = 0,
              const Json& preset = nullptr) const;
  /// The same of a half each.
  Json sample(Random& random) const { return sample(pick(random), random); }

 private:
  struct Leaf {
    Json value;
    Axis axis;
    double center = 0, deviation = 1;
    double log_scale = 0;   ///< of a number, what in `log_ratio` depends on no coordinate
    double preference = 1;  ///< of a choice, how much likelier the value is than each other
  };

  void add(std::size_t leaf, const UserPrior& prior);

  SearchSpace space_;
  std::vector<std::optional<Leaf>> leaves_;
  bool any_ = false;
};

/// PriorBand's share (Mallik et al., "PriorBand: Practical Hyperparameter Optimization in the Age
/// of Deep Learning", NeurIPS 2023): how often something is drawn from the priors rather than near
/// the best so far, from 0 to 1. `best`: coordinates by leaf, the best first; while there are none
/// it is 1. It is what the priors say of these beside what the surroundings of the first do, so
/// that priors which lead nowhere are left.
double prior_share(const SearchSpace& space, const Priors& priors,
                   const std::vector<std::vector<double>>& best);

}  // namespace tune
