// A trial's checkpoint as a value. Knows no directory: tuner/store does.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace tune {

/// A directory that a trial can be restored from: committed, with its manifest, never half-written.
struct Checkpoint {
  int index = 0;  ///< counts the trial's saves from 1, for good; names the directory
  std::int64_t iteration = 0;
  double time_total_s = 0;
  /// What the counters of a restored trial start from; nothing if never reported.
  std::optional<double> timesteps_total;
  std::optional<double> episodes_total;
  /// Value of `checkpoint_score_attribute` at that iteration; NaN if it was missing or NaN.
  double score = std::numeric_limits<double>::quiet_NaN();

  // Statistics of the save.
  std::uint64_t bytes = 0;
  double save_s = 0;    ///< from the wish to the trainable's "saved"
  double commit_s = 0;  ///< hashing, syncing and renaming, beside training
};

}  // namespace tune
