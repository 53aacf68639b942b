// Experiment: trials that go on as copies of others.
#include <algorithm>
#include <stdexcept>

#include "tuner/core/experiment.h"

namespace tune {

namespace {

/// Whether it has a checkpoint of what it is now: not of what it was before it became a clone.
bool has_saved_itself(const Trial& trial) { return !trial.donor && !trial.checkpoints.empty(); }

/// Whether it became a clone, and no attempt of what it is now runs: none has begun, or the last
/// one of what it was has not ended yet.
bool is_about_to_be_cloned(const Trial& trial) {
  return trial.donor &&
         (trial.state != TrialState::running || trial.attempt == trial.donor->attempt);
}

}  // namespace

void Experiment::on(const TrialExploited& event, Seconds time) {
  Trial& trial = find(event.trial);
  if (trial.state != TrialState::pending && trial.state != TrialState::paused) {
    throw std::invalid_argument("an exploit of " + to_string(trial.id) + ", which is " +
                                to_string(trial.state));
  }
  exploit(trial, event.exploit, time);
}

void Experiment::exploit(Trial& trial, const Exploit& exploit, Seconds time) {
  const Trial& donor = find(exploit.donor);
  if (donor.id == trial.id) {
    throw std::invalid_argument(to_string(trial.id) + " is to become a clone of itself");
  }
  trial.lineage.push_back(
      {last_event_ + 1, time, trial.iteration, donor.id, 0, std::move(trial.config)});
  trial.config = exploit.config;
  shapes_.make_compact(trial.config);
  if (!exploit.tag.empty()) trial.tag = exploit.tag;
  DonorCheckpoint source{donor.id, 0, trial.attempt};
  const Trial* origin = &donor;
  // A clone that has not begun is where it would start from: so who waits for a checkpoint waits
  // for a trial that does not wait itself, and nobody in a circle.
  while (source.index == 0 && source.trial != trial.id && is_about_to_be_cloned(*origin)) {
    source.trial = origin->donor->trial;
    source.index = origin->donor->index;
    origin = &find(source.trial);
  }
  if (source.index == 0 && has_saved_itself(*origin)) {
    source.index = origin->latest_checkpoint()->index;
  }
  const bool comes_back = source.trial == trial.id;
  set_donor(trial, comes_back ? std::nullopt : std::optional(source));
}

/// Keeps `donated_` in step.
void Experiment::set_donor(Trial& trial, std::optional<DonorCheckpoint> donor) {
  if (trial.donor) {
    const auto donated = donated_.find(trial.donor->trial);
    donated->second.erase(donated->second.find(trial.donor->index));
    if (donated->second.empty()) donated_.erase(donated);
  }
  trial.donor = donor;
  if (donor) donated_[donor->trial].insert(donor->index);
}

bool Experiment::may_start(TrialId id, Seconds now) const {
  const Trial& trial = this->trial(id);
  if (trial.not_before > now) return false;
  if (!trial.donor) return true;
  const Trial& donor = this->trial(trial.donor->trial);
  return trial.donor->index != 0 || has_saved_itself(donor) || is_final(donor.state);
}

std::pair<TrialId, const Checkpoint*> Experiment::restore_point(TrialId id) const {
  const Trial& trial = this->trial(id);
  if (trial.donor) {
    const Trial& donor = this->trial(trial.donor->trial);
    const Checkpoint* given = donor.checkpoint(trial.donor->index);
    // It may have been found damaged since.
    if (given == nullptr) given = donor.latest_checkpoint();
    if (given != nullptr) return {donor.id, given};
  }
  return {id, trial.latest_checkpoint()};
}

bool Experiment::is_donated(TrialId donor, int index) const {
  const auto donated = donated_.find(donor);
  if (donated == donated_.end()) return false;
  if (donated->second.contains(index)) return true;
  const Checkpoint* const newest = trial(donor).latest_checkpoint();
  return newest != nullptr && newest->index == index && donated->second.contains(0);
}

bool Experiment::is_waited_for(TrialId donor) const {
  const auto donated = donated_.find(donor);
  return donated != donated_.end() && donated->second.contains(0);
}

}  // namespace tune
