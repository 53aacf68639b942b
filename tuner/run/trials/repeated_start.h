// Whether a program goes on from the checkpoint that it was given. One that does not load it trains
// from scratch, and what it reports is counted as further iterations: it begins with the results of
// its first iterations again.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tuner/model/metrics.h"
#include "tuner/model/trial.h"
#include "tuner/run/commit/workers.h"

namespace tune {

/// A fingerprint of a result: equal for results that report the same numbers.
struct ResultMark {
  std::size_t numbers = 0;
  std::size_t long_numbers = 0;  ///< of those with four or more digits
  bool operator==(const ResultMark&) const = default;
};

/// The first two results of one attempt.
struct AttemptStart {
  std::vector<ResultMark> marks;
  std::optional<TrialId> restored_from;  ///< known with its first result
};

/// Compares the first two results of each attempt that was given a checkpoint with those of the
/// trial, and of the trial whose checkpoint it is, when they had none.
class RepeatedStart {
 public:
  using Found = std::function<void(TrialId)>;

  /// All parts outlive it. `found` is called once, for the first attempt that begins anew.
  RepeatedStart(Workers& workers, std::filesystem::path experiment_dir, Found found)
      : workers_(workers), experiment_dir_(std::move(experiment_dir)), found_(std::move(found)) {}

  /// A result of an attempt of `trial`. `source`: whose checkpoint it goes on from; none: it has
  /// begun from scratch, or that is known already.
  void on_result(TrialId trial, AttemptStart& start, std::optional<TrialId> source,
                 const Metrics& metrics, const Trials& trials);

 private:
  void compare(TrialId trial, const AttemptStart& start, const Trial& other,
               const std::vector<Metric>& names);
  void say(TrialId trial);

  Workers& workers_;
  const std::filesystem::path experiment_dir_;
  const Found found_;
  bool has_found_ = false;
  /// Of attempts of this session that were given no checkpoint.
  std::map<TrialId, std::vector<ResultMark>> from_scratch_;
};

}  // namespace tune
