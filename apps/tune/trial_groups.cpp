#include "apps/tune/trial_groups.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "apps/tune/output.h"
#include "tuner/core/error.h"

namespace tune {

namespace {

void summarise(TrialGroup& group) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  group.mean = group.deviation = group.min = group.max = none;
  const std::vector<double>& values = group.values;
  const auto n = static_cast<double>(values.size());
  if (values.empty()) return;
  const auto [min, max] = std::minmax_element(values.begin(), values.end());
  group.min = *min;
  group.max = *max;
  group.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  if (values.size() < 2) return;
  double squares = 0;
  for (const double value : values) squares += (value - group.mean) * (value - group.mean);
  group.deviation = std::sqrt(squares / (n - 1));
}

}  // namespace

TrialGroups::TrialGroups(const std::vector<TrialFields::Field>& left_out, Objective objective)
    : objective_(std::move(objective)) {
  for (const auto& field : left_out) {
    if (field.source != TrialFields::Field::Source::config) {
      throw user_error("--over: '" + field.name + "' is no hyperparameter");
    }
    left_out_.push_back(field.key);
  }
}

void TrialGroups::add(const TrialSource& source, const Trial& trial) {
  Json config = Json::parse(trial.config.text());
  for (const std::string& name : left_out_) erase_leaf(config, name);
  const auto [place, is_new] = places_.try_emplace({&source, config.dump()}, groups_.size());
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
  const double value = value_of(trial, objective_.metric, objective_.mode, Scope::last);
  if (std::isfinite(value)) group.values.push_back(value);
}

std::vector<TrialGroup> TrialGroups::take() {
  for (TrialGroup& group : groups_) summarise(group);
  return std::move(groups_);
}

Json to_json(const TrialGroup& group, const Objective& objective) {
  Json ids = Json::array();
  for (const Trial* const trial : group.trials) ids.push_back(to_string(trial->id));
  return {{"experiment", group.source->name},
          {"trial_ids", std::move(ids)},
          {"ended", group.ended},
          {"metric", objective.metric},
          {"mode", to_string(objective.mode)},
          {"n", group.values.size()},
          {"mean", number_or_null(group.mean)},
          {"std", number_or_null(group.deviation)},
          {"min", number_or_null(group.min)},
          {"max", number_or_null(group.max)},
          {"config", group.config}};
}

}  // namespace tune
