// Which of a trial's checkpoints to keep, as rules that combine. Pure: pins (a checkpoint that
// somebody is restoring from, a paused trial's) are added by the loop, never left to a rule.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tuner/model/checkpoint.h"
#include "tuner/model/objective.h"

namespace tune {

class Retention {
 public:
  virtual ~Retention() = default;
  /// Shapes: in, one trial's checkpoints, oldest first; out, one flag each, same order: keep it?
  virtual std::vector<bool> keep(std::span<const Checkpoint> oldest_first) const = 0;
};

std::unique_ptr<Retention> make_keep_all();
std::unique_ptr<Retention> make_latest_n(int n);  ///< the n newest
/// The n best scores; NaN ranks worst in both modes, equal scores: the newer is better.
std::unique_ptr<Retention> make_best_n(int n, Mode mode);
/// Those whose iteration is a multiple of n.
std::unique_ptr<Retention> make_every_n_iterations(std::int64_t n);
std::unique_ptr<Retention> make_any_of(std::vector<std::unique_ptr<Retention>> rules);

/// When a trial saves and what it keeps.
struct CheckpointConfig {
  std::optional<int> num_to_keep;  ///< none: all; 0: none outlive the trial; k: best k + the latest
  /// None: in a spec the first metric that counts, and without one the newest are best.
  std::optional<std::string> checkpoint_score_attribute;
  std::optional<Mode> checkpoint_score_order;  ///< none: the mode of that metric, or max
  std::int64_t checkpoint_frequency = 0;       ///< every so many iterations; 0: off
  bool checkpoint_at_end = false;
  bool checkpoint_at_start = false;                   ///< before the first step, as iteration 0
  std::optional<std::uint64_t> max_checkpoint_bytes;  ///< of all trials together; none: no limit
};

/// The rule that `config` means for a trial that has not ended: num_to_keep 0 keeps the latest.
std::unique_ptr<Retention> make_retention(const CheckpointConfig& config);

/// Best first, by `config`; indices into `checkpoints`.
std::vector<std::size_t> rank_checkpoints(std::span<const Checkpoint> checkpoints,
                                          const CheckpointConfig& config);

}  // namespace tune
