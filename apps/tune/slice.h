// What the metric is along one hyperparameter: by parts of its domain, and in a sentence.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "searchers/forest_importance.h"
#include "tuner/model/objective.h"
#include "tuner/view/judged_trials.h"

namespace tune {

/// A part of the domain.
struct SliceBin {
  /// The first and the last value; of a choice both are the value. Where there are values between
  /// any two, the borders: null beyond the first and the last one of a domain without bounds.
  Json lower, upper;
  bool has_borders = false;
  bool is_upper_included = true;  ///< `lower` always is
  std::size_t trials = 0;
  std::optional<double> best, median, lower_quartile, upper_quartile;  ///< of the values
  /// The mean over all of the space that has this hyperparameter here, by the forest. Nothing also
  /// of evenly spread integers beyond 2^53, which the forest knows as doubles.
  std::optional<double> marginal;
};

struct Slice {
  std::string name;
  bool is_choice = false;
  std::optional<double> share;  ///< of the metric's variance that it alone explains
  std::vector<SliceBin> bins;   ///< of numbers ascending
  std::string direction;        ///< a sentence
};

/// `leaf`: which of the space's hyperparameters; `forest`: of the same trials.
Slice slice_along(const SearchSpace& space, std::size_t leaf, const JudgedTrials& judged,
                  const ForestImportance& forest, Mode mode);

/// `values`: what the trials were compared by, as a title says it.
void print_slice(const Slice& slice, const std::string& values);
Json to_json(const Slice& slice);

}  // namespace tune
