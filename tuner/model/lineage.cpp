// Experiment: trials that go on as copies of others.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "tuner/base/json_limits.h"
#include "tuner/model/experiment.h"
#include "tuner/model/own_checkpoint.h"

namespace tune {

namespace {

/// Whether it has a checkpoint of what it is now: not of what it was before it became a clone, nor
/// of what it was before it had trained.
bool has_saved_itself(const Trial& trial) {
  const Checkpoint* const latest = trial.latest_checkpoint();
  return !trial.donor && latest != nullptr && latest->iteration > 0;
}

/// Whether it became a clone, and no attempt of what it is now runs: none has begun, or the last
/// one of what it was has not ended yet.
bool is_about_to_be_cloned(const Trial& trial) {
  return trial.donor &&
         (trial.state != TrialState::running || trial.attempt == trial.donor->attempt);
}

}  // namespace

void Experiment::on(const TrialExploited& event, Seconds time) {
  Trial& trial = find(event.trial);
  if (trial.state == TrialState::running) {
    throw std::invalid_argument("an exploit of " + to_string(trial.id) + ", which is " +
                                to_string(trial.state));
  }
  exploit(trial, event.exploit, time);
}

std::optional<std::string> Experiment::objection(TrialId id, const Exploit& exploit) const {
  const auto is_known = [this](TrialId trial) { return index_of(trial) < trials_.size(); };
  if (!is_known(id)) return "there is no " + to_string(id);
  if (!is_known(exploit.donor)) return "there is no " + to_string(exploit.donor);
  const TrialState state = trial(id).state;
  if (is_final(state)) return to_string(id) + " has ended";
  // It would lose what it has trained since its checkpoint.
  if (exploit.donor == id && state == TrialState::running) return "it cannot be its own donor";
  const Json config = Json::parse(exploit.config, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object()) return "its config is no JSON object: " + exploit.config;
  if (levels_of(exploit.config) > most_config_levels) {
    return "its config is nested deeper than " + std::to_string(most_config_levels) + " levels";
  }
  if (exploit.config.size() > most_config_bytes) {
    return "its config has more than " + std::to_string(most_config_bytes) + " bytes";
  }
  return std::nullopt;
}

void Experiment::exploit(Trial& trial, const Exploit& exploit, Seconds time) {
  if (const auto reason = objection(trial.id, exploit)) {
    throw std::invalid_argument("an exploit of " + to_string(exploit.donor) + " by " +
                                to_string(trial.id) + ": " + *reason);
  }
  const Trial& donor = find(exploit.donor);
  InternedJson config(exploit.config);
  shapes_.make_compact(config);
  add_cloning(trial, donor.id, std::move(config), time);
  trial.lineage.back().old_tag = trial.tag;
  if (!exploit.tag.empty()) trial.tag = exploit.tag;
  if (donor.id == trial.id) return;  // from where it would have gone on anyway
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
  if (source.trial != trial.id) set_donor(trial, source);  // else as if it were its own donor
}

void Experiment::add_cloning(Trial& trial, TrialId donor, InternedJson config, Seconds time) {
  trial.lineage.push_back({.event = last_event_ + 1,
                           .time = time,
                           .iteration = trial.iteration,
                           .donor = donor,
                           .old_config = std::exchange(trial.config, std::move(config)),
                           .iteration_is_guess = trial.is_at_guess()});
}

/// The trial, as it was before, starts from this checkpoint. The lineage says what has been, which
/// may be other than what was decided: a donor may never save, a clone may end before it does.
/// True if it begins anew with that: as a clone, or from what it was before it became one.
bool Experiment::note_start(Trial& trial, TrialId owner, const Checkpoint* checkpoint,
                            Seconds time) {
  if (trial.lineage.empty()) return false;
  const int index = checkpoint != nullptr ? checkpoint->index : 0;
  const Cloning& last = trial.lineage.back();
  const bool has_effect = last.started != 0 && last.attempt != trial.attempt;
  const bool has_saved_since = owner == trial.id && index > last.saves;
  const bool is_same_again = owner == last.donor && index == last.checkpoint;
  if (has_effect && (has_saved_since || is_same_again)) return false;
  if (has_effect) add_cloning(trial, owner, trial.config, time);
  Cloning& cloning = trial.lineage.back();
  cloning.donor = owner;
  cloning.donor_iteration = checkpoint != nullptr ? checkpoint->iteration : 0;
  cloning.donor_iteration_is_guess =
      checkpoint != nullptr && goes_on_from_guess(*checkpoint, find(owner));
  cloning.started = last_event_ + 1;
  cloning.attempt = trial.attempt;
  cloning.checkpoint = index;
  cloning.saves = trial.saves;
  cloning.old_tag = {};
  return true;
}

/// What the trial became a clone with, if that is a checkpoint of another one and still there.
std::optional<DonorCheckpoint> Experiment::beginning_of(const Trial& trial) const {
  const Cloning* const cloning = trial.present_cloning();
  if (cloning == nullptr || cloning->donor == trial.id) return std::nullopt;
  if (this->trial(cloning->donor).checkpoint(cloning->checkpoint) == nullptr) return std::nullopt;
  return DonorCheckpoint{cloning->donor, cloning->checkpoint, cloning->attempt - 1};
}

/// A clone that has no checkpoint of what it is now any more, or whose donor was forgotten with its
/// end, goes back to where it began: what it had saved before is another model than its config's.
void Experiment::renew_donor(Trial& trial) {
  if (is_final(trial.state) || trial.donor || trial.latest_checkpoint() != nullptr) return;
  set_donor(trial, beginning_of(trial));
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
  if (trial.held) return false;
  if (trial.not_before > now && trial.not_before <= now + longest_backoff_s) return false;
  if (!trial.donor) return true;
  const Trial& donor = this->trial(trial.donor->trial);
  return trial.donor->index != 0 || has_saved_itself(donor) || is_final(donor.state);
}

std::pair<TrialId, const Checkpoint*> Experiment::restore_point(TrialId id) const {
  const Trial& trial = this->trial(id);
  if (trial.donor) {
    const Trial& donor = this->trial(trial.donor->trial);
    const Checkpoint* given = donor.checkpoint(trial.donor->index);
    // It may have been found damaged since. What it was before its first step is nothing to copy.
    if (given == nullptr && has_saved_itself(donor)) given = donor.latest_checkpoint();
    if (given != nullptr) return {donor.id, given};
  }
  const Checkpoint* const own = trial.latest_checkpoint();
  const auto beginning = own == nullptr ? beginning_of(trial) : std::nullopt;
  if (!beginning) return {id, own};
  return {beginning->trial, this->trial(beginning->trial).checkpoint(beginning->index)};
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
