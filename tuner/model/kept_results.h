// Which of its earlier results a trial still has once it has gone back to a checkpoint, for who
// reads results in their order.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "tuner/model/event.h"

namespace tune {

class KeptResults {
 public:
  /// The last iteration before this result that counts. What came after the checkpoint that its
  /// attempt has gone back to does not, though a program that counts by itself may never come to it
  /// again. Of each trial all results are asked for, in their order.
  std::int64_t last_before(const ResultReported& reported) {
    const Result& result = reported.result;
    const bool is_first =
        std::exchange(attempts_[reported.trial], reported.attempt) != reported.attempt;
    return result.training_iteration - (is_first ? result.iterations_since_restore : 1);
  }

 private:
  std::map<TrialId, int> attempts_;  ///< of the last result
};

}  // namespace tune
