// Follows clonings back from stretch to stretch, from a trial's present model to its origin.
#include "tuner/model/ancestry.h"

#include <algorithm>

namespace tune {

namespace {

/// Null for a trial's first stretch.
const Cloning* beginning_of(const Experiment& experiment, const Stretch& stretch) {
  if (stretch.number == 0) return nullptr;
  return &experiment.trial(stretch.trial).lineage.at(stretch.number - 1);
}

/// The next one that has taken effect; null: it goes on.
const Cloning* end_of(const Experiment& experiment, const Stretch& stretch) {
  const std::vector<Cloning>& lineage = experiment.trial(stretch.trial).lineage;
  const auto end = std::find_if(lineage.begin() + static_cast<std::ptrdiff_t>(stretch.number),
                                lineage.end(), [](const Cloning& one) { return one.started != 0; });
  return end != lineage.end() ? &*end : nullptr;
}

std::uint64_t started(const Experiment& experiment, const Stretch& stretch) {
  const Cloning* const beginning = beginning_of(experiment, stretch);
  return beginning == nullptr ? 0 : beginning->started;
}

/// The last stretch whose cloning has taken effect and is such that `holds(cloning)`.
template <class Holds>
Stretch last_stretch(const Trial& trial, const Holds& holds) {
  std::size_t number = trial.lineage.size();
  while (number > 0) {
    const Cloning& cloning = trial.lineage[number - 1];
    if (cloning.started != 0 && holds(cloning)) break;
    --number;
  }
  return {trial.id, number};
}

std::string config_in(const Trial& trial, const Stretch& stretch) {
  const bool is_last = stretch.number == trial.lineage.size();
  return (is_last ? trial.config : trial.lineage[stretch.number].old_config).text();
}

}  // namespace

Stretch present_stretch(const Trial& trial) {
  return last_stretch(trial, [](const Cloning&) { return true; });
}

std::string config_of(const Experiment& experiment, const Stretch& stretch) {
  return config_in(experiment.trial(stretch.trial), stretch);
}

std::string present_config(const Trial& trial) { return config_in(trial, present_stretch(trial)); }

const std::string& present_tag(const Trial& trial) {
  const std::size_t number = present_stretch(trial).number;
  return number == trial.lineage.size() ? trial.tag : *trial.lineage[number].old_tag;
}

std::int64_t first_iteration(const Experiment& experiment, const Stretch& stretch) {
  const Cloning* const beginning = beginning_of(experiment, stretch);
  return beginning == nullptr ? 0 : beginning->donor_iteration;
}

bool first_is_guess(const Experiment& experiment, const Stretch& stretch) {
  const Cloning* const beginning = beginning_of(experiment, stretch);
  return beginning != nullptr && beginning->donor_iteration_is_guess;
}

std::int64_t last_own_iteration(const Trial& trial) {
  struct Reported {
    std::int64_t after = 0;
    std::int64_t to = 0;
  };
  std::vector<Reported> kept;
  const auto restore = [&](std::int64_t to) {
    while (!kept.empty() && kept.back().after >= to) kept.pop_back();
    if (!kept.empty()) kept.back().to = std::min(kept.back().to, to);
    return to;
  };
  std::int64_t after = 0;
  bool is_known = trial.start_checkpoint->empty();  // else it began with another one's iteration
  for (const Cloning& cloning : trial.lineage) {
    if (cloning.started == 0) continue;
    if (is_known && cloning.iteration > after) kept.push_back({after, cloning.iteration});
    after = restore(cloning.donor_iteration);
    is_known = true;
  }
  if (!is_known) after = trial.restored_iteration;
  trial.iteration > after ? kept.push_back({after, trial.iteration})
                          : void(restore(trial.iteration));
  return kept.empty() ? 0 : kept.back().to;
}

std::int64_t last_iteration(const Experiment& experiment, const Stretch& stretch) {
  const Cloning* const end = end_of(experiment, stretch);
  return end != nullptr ? end->iteration : experiment.trial(stretch.trial).iteration;
}

bool last_is_guess(const Experiment& experiment, const Stretch& stretch) {
  const Cloning* const end = end_of(experiment, stretch);
  return end != nullptr ? end->iteration_is_guess : experiment.trial(stretch.trial).is_at_guess();
}

std::optional<Stretch> origin_of(const Experiment& experiment, const Stretch& stretch) {
  const Cloning* const beginning = beginning_of(experiment, stretch);
  if (beginning == nullptr || beginning->checkpoint == 0) return std::nullopt;
  const Stretch origin =
      last_stretch(experiment.trial(beginning->donor),
                   [&](const Cloning& cloning) { return cloning.saves < beginning->checkpoint; });
  // Nothing goes on from what came after it; a record that says so must not lead in a circle.
  if (origin.number > 0 && started(experiment, origin) >= beginning->started) return std::nullopt;
  return origin;
}

std::vector<ScheduleStep> schedule_of(const Experiment& experiment, TrialId id) {
  const Trial& trial = experiment.trial(id);
  std::vector<ScheduleStep> steps;
  std::int64_t to = trial.iteration;
  bool to_is_guess = trial.is_at_guess();
  std::optional<Stretch> at = present_stretch(trial);
  while (at) {
    const std::int64_t from = std::min(first_iteration(experiment, *at), to);
    const bool from_is_guess = first_is_guess(experiment, *at);
    if (from < to || steps.empty()) steps.push_back({*at, from, to, from_is_guess, to_is_guess});
    to = from;
    to_is_guess = from_is_guess;
    at = origin_of(experiment, *at);
  }
  std::reverse(steps.begin(), steps.end());
  return steps;
}

std::int64_t last_donated_iteration(const Experiment& experiment, TrialId id) {
  std::int64_t last = 0;
  for (const ScheduleStep& step : schedule_of(experiment, id)) {
    if (step.stretch.trial != id) last = step.to;
  }
  return last;
}

std::optional<ValueRange> reported_range(const Experiment& experiment, TrialId id,
                                         std::string_view metric) {
  std::optional<ValueRange> range;
  for (auto at = std::optional(present_stretch(experiment.trial(id))); at;
       at = origin_of(experiment, *at)) {
    const MetricSummary* const summary = experiment.trial(at->trial).summary(metric);
    if (summary == nullptr || summary->count == 0) continue;
    if (!range) range = {summary->min, summary->max};
    range->least = std::min(range->least, summary->min);
    range->greatest = std::max(range->greatest, summary->max);
  }
  return range;
}

std::vector<Stretch> started_clonings(const Experiment& experiment) {
  std::vector<Stretch> clonings;
  for (const Trial& trial : experiment.trials()) {
    for (std::size_t i = 0; i < trial.lineage.size(); ++i) {
      if (trial.lineage[i].started != 0) clonings.push_back({trial.id, i + 1});
    }
  }
  std::sort(clonings.begin(), clonings.end(), [&](const Stretch& a, const Stretch& b) {
    return started(experiment, a) < started(experiment, b);
  });
  return clonings;
}

}  // namespace tune
