// Which part of a metric's variance over the param space each hyperparameter explains: functional
// ANOVA of a random forest (tuner/math/random_forest.h), and what the forest says along one of
// them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "searchers/importance.h"
#include "tuner/math/random_forest.h"

namespace tune {

class ForestImportance {
 public:
  /// `points`: coordinates by leaf, a row for each trial; finite values. Hyperparameters that not
  /// every row has are left out, and those that cannot differ.
  ForestImportance(const SearchSpace& space, const std::vector<std::vector<double>>& points,
                   const std::vector<double>& values);

  /// The most important first; `share` is of the whole variance, `variance` is not set.
  const std::vector<Importance>& found() const { return found_; }
  /// Whether some hyperparameter is in every row.
  bool is_about_any() const { return !leaves_.empty(); }
  /// False: rows are too few for the forest to find any difference, or no hyperparameter makes one.
  /// Then nothing is found.
  bool has_differences() const { return has_differences_; }
  /// How many values were drawn in, since they are far beyond the others: a single one of 1e300
  /// would be all of the variance. Beyond four widths of the middle half a
  /// value counts as if it were on the fence. Where the middle half is one value, that of nine
  /// tenths stands for it, and where these are one, too, values count by their ranks.
  std::size_t drawn_in() const { return robust_.drawn_in; }
  /// The part of the variance that none of them explains alone.
  double together() const { return together_; }
  /// Pointers of those that not every row has.
  const std::vector<std::string>& left_out() const { return left_out_; }

  /// The mean of the metric over the space where a leaf's coordinate is between two, of values
  /// drawn in as `drawn_in` says; nothing for a leaf that was left out, and where values count by
  /// ranks.
  std::optional<double> mean_within(std::size_t leaf, double lower, double upper) const;

 private:
  /// Values in [-1, 1] in place of the metric's.
  struct RobustValues {
    std::vector<double> values;
    double middle = 0, scale = 1;  ///< of the metric
    bool are_ranks = false;
    std::size_t drawn_in = 0;
  };
  static RobustValues robust(const std::vector<double>& values);

  RobustValues robust_;
  std::vector<Axis> axes_;
  std::vector<std::size_t> leaves_;  ///< by dimension of the forest
  std::optional<RandomForest> forest_;
  std::vector<Importance> found_;
  std::vector<std::string> left_out_;
  double together_ = 0;
  bool has_differences_ = false;
};

}  // namespace tune
