// Which checkpoint to give up when those of all trials together are too large. Pure: pins are told
// by who asks. Work grows with one trial's checkpoints, not with the number of trials.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tuner/model/retention.h"
#include "tuner/model/trial.h"

namespace tune {

class CheckpointBudget {
 public:
  /// What `trials` have counts as older than all that is taken in later.
  CheckpointBudget(const CheckpointConfig& config, const Trials& trials);

  /// Takes in what the trial has now.
  void update(const Trial& trial);

  /// Of all trials.
  std::uint64_t bytes() const { return bytes_; }

  /// The oldest that is neither its trial's latest nor its trial's best (so never the best of all),
  /// nor pinned; before all others, what a clone had saved before it became one. Nothing if there
  /// is none.
  std::optional<std::pair<TrialId, int>> expendable(
      const std::function<bool(TrialId, int)>& is_pinned) const;

 private:
  struct Known {
    int index;
    std::uint64_t bytes;
    std::uint64_t age;  ///< counts up
  };

  CheckpointConfig config_;
  std::map<TrialId, std::vector<Known>> known_;  ///< oldest first; trials without any are left out
  /// By whether it is of what its trial is now, and age.
  std::map<std::pair<bool, std::uint64_t>, std::pair<TrialId, int>> expendable_;
  std::uint64_t bytes_ = 0;
  std::uint64_t last_age_ = 0;
};

}  // namespace tune
