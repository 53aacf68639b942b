// Groups trials by config without the left-out fields, and summarises each group.
#include "tuner/view/trial_groups.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/base/quoted.h"
#include "tuner/base/wide_sum.h"
#include "tuner/model/ancestry.h"
#include "tuner/space/domain.h"
#include "tuner/view/value_text.h"

namespace tune {

namespace {

void summarise(TrialGroup& group) {
  group.mean = group.deviation = std::numeric_limits<double>::quiet_NaN();
  const auto n = static_cast<double>(group.values.size());
  if (group.values.empty()) return;
  const auto [min, max] = std::minmax_element(group.values.begin(), group.values.end());
  group.min = *min;
  group.max = *max;
  std::vector<double> numbers;
  for (const ExactNumber& each : group.values) numbers.push_back(each.value());
  group.mean = average_of(numbers);
  if (group.values.size() > 1) group.deviation = standard_deviation_of(numbers, n - 1);
}

}  // namespace

TrialGroups::TrialGroups(const std::vector<TrialFields::Field>& left_out, Objective objective)
    : objective_(std::move(objective)) {
  for (const auto& field : left_out) {
    if (field.source != TrialFields::Field::Source::config) {
      throw user_error("--over: " + as_quoted(field.name) + " is no hyperparameter");
    }
    left_out_.push_back(field.key);
  }
}

void TrialGroups::add(const TrialSource& source, const Trial& trial) {
  Json config = Json::parse(present_config(trial));
  for (const std::string& name : left_out_) erase_leaf(config, name);
  const auto [place, is_new] = places_.try_emplace({&source, text_of_same(config)}, groups_.size());
  if (is_new) {
    TrialGroup& added = groups_.emplace_back();
    added.source = &source;
    added.hyperparameters = leaves_of(config);
    added.config = std::move(config);
  }
  TrialGroup& group = groups_[place->second];
  group.trials.push_back(&trial);
  if (trial.state != TrialState::terminated) return;
  ++group.ended;
  const ExactNumber value = source.grid->exact_value(trial, objective_, Scope::last);
  if (std::isfinite(value.value())) group.values.push_back(value);
}

std::vector<TrialGroup> TrialGroups::take() {
  for (TrialGroup& group : groups_) summarise(group);
  return std::move(groups_);
}

Json to_json(const TrialGroup& group, const Objective& objective) {
  Json ids = Json::array();
  const auto json_of = [](const std::optional<ExactNumber>& number) {
    return number ? number_json(*number) : Json();
  };
  for (const Trial* const trial : group.trials) ids.push_back(to_string(trial->id));
  return {{"experiment", group.source->name},
          {"trial_ids", std::move(ids)},
          {"ended", group.ended},
          {"metric", objective.metric},
          {"mode", to_string(objective.mode)},
          {"n", group.values.size()},
          {"mean", number_or_null(group.mean)},
          {"std", number_or_null(group.deviation)},
          {"min", json_of(group.min)},
          {"max", json_of(group.max)},
          {"config", group.config}};
}

}  // namespace tune
