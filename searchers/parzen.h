// How densely configs that somebody saw lie in a space: a mixture with one product of kernels for
// each config and a wide one for what was not seen (a Parzen estimator). Rules and constants are
// those of Optuna 5.0's TPE; docs/searchers.md has them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "searchers/coordinates.h"
#include "searchers/tpe_options.h"

namespace tune {

/// What was seen along one axis. All columns of a model have the same configs.
struct ParzenColumn {
  const Axis* axis;                      ///< outlives the model
  std::vector<double> at;                ///< coordinates, within bounds
  std::vector<std::uint32_t> ascending;  ///< places in `at` by rising coordinate; not of a choice
  /// What is believed along the axis, as if it had been seen.
  struct Belief {
    double mean, deviation;  ///< the deviation is not of a choice
  };
  std::optional<Belief> belief = std::nullopt;
};

/// The places of `at` by rising coordinate, equal ones by place.
std::vector<std::uint32_t> ascending_order(const std::vector<double>& at);

class Parzen {
 public:
  /// One after the other, in [0, 1).
  using Uniforms = std::function<double()>;

  /// `weights`: of the configs against each other and against the prior weight. If a column has a
  /// belief, one kernel of `belief_weight` more has all of them, and is wide where there is none.
  Parzen(std::vector<ParzenColumn> columns, std::vector<double> weights, const ParzenRules& rules,
         double belief_weight = 1);

  /// `n` points, one after the other, a coordinate for each column. Takes numbers in the order in
  /// which Optuna takes them: for each point its kernel, for each choice all points, then for
  /// each axis of numbers all points.
  std::vector<double> sample(std::size_t n, const Uniforms& uniforms) const;

  /// Of such points; where there are steps, the logarithm of the probability of the value's step.
  std::vector<double> log_density(const std::vector<double>& points) const;

 private:
  struct Choices {
    std::size_t column, count;
    std::vector<double> seen;  ///< index by config, -1 for the wide kernel
    double hit, miss;          ///< logarithms of the probabilities of the seen value and of others
  };
  struct Numbers {
    std::size_t column;
    std::vector<double> mean, deviation, inverse_deviation;  ///< by kernel
    // With steps, for the logarithm of a probability is slow and many kernels are the same:
    std::vector<std::uint32_t> kind;  ///< by kernel, its place in
    std::vector<double> kind_mean, kind_inverse_deviation;
  };

  void add(const ParzenColumn& column, const ParzenRules& rules, std::size_t place);
  void add_choices(const ParzenColumn& column, const ParzenRules& rules, std::size_t place);
  void add_numbers(const ParzenColumn& column, const ParzenRules& rules, std::size_t place);
  void add_scale(const Axis& axis, Numbers& numbers);
  double negligible_mass(const std::vector<double>& points) const;
  std::vector<double> step_masses(const Numbers& numbers, const std::vector<double>& points,
                                  double negligible) const;

  std::vector<const Axis*> axes_;
  std::size_t kernels_ = 0;  ///< configs, what is believed if anything is and, last, the wide one
  bool has_belief_ = false;
  std::vector<Choices> choices_;
  std::vector<Numbers> numbers_;
  std::vector<double> cumulated_;  ///< weights
  std::vector<double> constant_;   ///< by kernel, what in its logarithm depends on no point
};

}  // namespace tune
