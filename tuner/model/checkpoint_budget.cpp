// An index of all checkpoints that may be given up, oldest first; a trial's best and latest are not
// in it.
#include "tuner/model/checkpoint_budget.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "tuner/model/own_checkpoint.h"

namespace tune {

CheckpointBudget::CheckpointBudget(const CheckpointConfig& config, const Trials& trials)
    : config_(config) {
  // When each was saved is not recorded with it, but how long its trial had been at work.
  std::vector<std::tuple<double, TrialId, const Checkpoint*>> all;
  for (const Trial& trial : trials) {
    for (const Checkpoint& checkpoint : trial.checkpoints) {
      // Journals of old may hold a time that is no number, which has no place in an order.
      const double at_work_s = std::isnan(checkpoint.time_total_s) ? 0 : checkpoint.time_total_s;
      all.emplace_back(trial.started + at_work_s, trial.id, &checkpoint);
    }
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::tuple(std::get<0>(a), std::get<1>(a), std::get<2>(a)->index) <
           std::tuple(std::get<0>(b), std::get<1>(b), std::get<2>(b)->index);
  });
  for (const auto& [time, id, checkpoint] : all) {
    known_[id].push_back({checkpoint->index, checkpoint->bytes, ++last_age_});
    bytes_ += checkpoint->bytes;
  }
  for (const Trial& trial : trials) {
    if (!trial.checkpoints.empty()) update(trial);
  }
}

void CheckpointBudget::update(const Trial& trial) {
  const auto before = known_.find(trial.id);
  if (before == known_.end() && trial.checkpoints.empty()) return;
  std::map<int, std::uint64_t> ages;
  if (before != known_.end()) {
    for (const Known& known : before->second) {
      ages[known.index] = known.age;
      bytes_ -= known.bytes;
      expendable_.erase({false, known.age});
      expendable_.erase({true, known.age});
    }
  }
  if (trial.checkpoints.empty()) {
    known_.erase(before);
    return;
  }
  std::vector<Known>& now = known_[trial.id];
  now.clear();
  const auto present = trial.present_checkpoints();
  const auto order = rank_checkpoints(present, config_);
  const Checkpoint* const best = order.empty() ? nullptr : &present[order.front()];
  const Checkpoint* const latest = trial.latest_checkpoint();
  for (const Checkpoint& checkpoint : trial.checkpoints) {
    const auto known = ages.find(checkpoint.index);
    const std::uint64_t age = known != ages.end() ? known->second : ++last_age_;
    now.push_back({checkpoint.index, checkpoint.bytes, age});
    bytes_ += checkpoint.bytes;
    if (&checkpoint == latest || &checkpoint == best) continue;
    expendable_[{is_of_present(trial, checkpoint), age}] = {trial.id, checkpoint.index};
  }
}

std::optional<std::pair<TrialId, int>> CheckpointBudget::expendable(
    const std::function<bool(TrialId, int)>& is_pinned) const {
  for (const auto& [age, checkpoint] : expendable_) {
    if (!is_pinned(checkpoint.first, checkpoint.second)) return checkpoint;
  }
  return std::nullopt;
}

}  // namespace tune
