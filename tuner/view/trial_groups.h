// Trials that try one config several times, over seeds or folds, taken together: how many there
// are, and the mean and the spread of what came out.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuner/model/objective.h"
#include "tuner/view/trial_fields.h"

namespace tune {

/// Trials of one experiment whose configs are equal but for what was left out.
struct TrialGroup {
  const TrialSource* source = nullptr;
  std::vector<const Trial*> trials;
  Json config;                                  ///< without what was left out
  std::map<std::string, Json> hyperparameters;  ///< of that, nested with '/'
  /// Last values of those that ended well, numbers only.
  std::vector<ExactNumber> values;
  std::size_t ended = 0;  ///< how many ended well
  double mean = 0;        ///< of `values`; NaN: there are none
  double deviation = 0;   ///< sample standard deviation; NaN with fewer than two
  std::optional<ExactNumber> min, max;
};

/// The groups of these trials, in the order in which they first appear. `left_out`: names of values
/// of the config, as in columns. `objective`: by which they are measured.
class TrialGroups {
 public:
  TrialGroups(const std::vector<TrialFields::Field>& left_out, Objective objective);
  void add(const TrialSource& source, const Trial& trial);
  std::vector<TrialGroup> take();

 private:
  std::vector<std::string> left_out_;  ///< names, nested with '/'
  Objective objective_;
  std::map<std::pair<const TrialSource*, std::string>, std::size_t> places_;
  std::vector<TrialGroup> groups_;
};

Json to_json(const TrialGroup& group, const Objective& objective);

}  // namespace tune
