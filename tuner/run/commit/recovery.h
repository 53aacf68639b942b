// Folds what an experiment's directory holds back into memory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "tuner/journal/generations.h"
#include "tuner/model/experiment.h"
#include "tuner/run/commit/callback_list.h"
#include "tuner/run/commit/policies.h"
#include "tuner/run/commit/trial_changes.h"

namespace tune {

/// The state alone, for those who only look.
class ExperimentReader : public StateReader {
 public:
  explicit ExperimentReader(Experiment& experiment) : experiment_(experiment) {}
  void restart() override { experiment_ = {}; }
  void on_trial(std::string_view line) override { experiment_.load_trial(line); }
  void on_snapshot(const Json& state) override;
  void on_event(Event&& event) override { experiment_.apply(event); }

 protected:
  Experiment& experiment_;
};

/// The state and the policies: those are made fresh before anything is read, and are asked again.
class Recovery final : public ExperimentReader {
 public:
  Recovery(Experiment& experiment, Policies& policies, std::function<Policies()> make);
  void restart() override;
  void on_snapshot(const Json& state) override;
  void on_event(Event&& event) override;

  /// Trials that have changed since the snapshot.
  TrialChanges take_changes() { return std::move(changes_); }

  /// The iteration up to which a trial's files had all rows when the snapshot came into force, of
  /// results that were not taken back since.
  const std::map<TrialId, std::int64_t>& written() const { return written_; }

  /// How the policies first differed from the record; nothing if they never did.
  const std::optional<std::string>& difference() const { return difference_; }

 private:
  Policies& policies_;
  std::function<Policies()> make_;
  TrialChanges changes_;
  std::map<TrialId, std::int64_t> written_;
  std::optional<std::string> difference_;
};

/// Gives callbacks their saved state and every result since the snapshot. It reads the journal a
/// second time, because callbacks are set up with the whole state.
class CallbackReplay final : public StateReader {
 public:
  CallbackReplay(CallbackList& callbacks, const Experiment& experiment)
      : callbacks_(callbacks), experiment_(experiment) {}
  bool wants_trials() const override { return false; }
  void on_snapshot(const Json& state) override;
  void on_event(Event&& event) override;

 private:
  void load(const std::string& name, const Json& state);
  CallbackList& callbacks_;
  const Experiment& experiment_;
};

/// What a snapshot's state is made of, besides the trials: taken on the loop, made into JSON
/// beside it.
struct SnapshotState {
  Json experiment;  ///< its totals
  PolicyStates policies;
  CallbackList::States callbacks;

  Json make(const Json& spec) const;
};
SnapshotState take_state(const Experiment& experiment, PolicyStates policies,
                         CallbackList& callbacks, const StateCost& session_cost);
/// The spec under which a snapshot was taken.
const Json& spec_in(const Json& snapshot_state);

}  // namespace tune
