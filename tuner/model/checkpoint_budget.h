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
  /// The checkpoints of `trials` count as older than all that `update` adds later.
  CheckpointBudget(const CheckpointConfig& config, const Trials& trials);

  /// Replaces what is known of the trial's checkpoints by what the trial has now.
  void update(const Trial& trial);

  /// The checkpoints of all trials together.
  std::uint64_t bytes() const { return bytes_; }

  /// The oldest checkpoint that is not pinned and is neither the latest nor the best of its trial.
  /// Checkpoints from before their trial became a clone go first. Nothing if there is none.
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
  /// By whether the checkpoint is from after the last cloning of its trial, then by age.
  std::map<std::pair<bool, std::uint64_t>, std::pair<TrialId, int>> expendable_;
  std::uint64_t bytes_ = 0;
  std::uint64_t last_age_ = 0;
};

}  // namespace tune
