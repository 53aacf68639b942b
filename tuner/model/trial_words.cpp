// The few phrases about a trial that several commands and the console show.
#include "tuner/model/trial_words.h"

namespace tune {

std::string taken_back(const Trial& trial) {
  if (!is_final(trial.state) || trial.iteration >= trial.counted_iteration) return "";
  const std::int64_t first = trial.iteration + 1;
  const std::string last = std::to_string(trial.counted_iteration);
  const std::string which =
      first == trial.counted_iteration
          ? "its result of iteration " + last + " was"
          : "its results of iterations " + std::to_string(first) + " to " + last + " were";
  const std::int64_t from = trial.restored_iteration;
  return which + " taken back when it " +
         (from > 0 ? "went on from iteration " + std::to_string(from) : "began anew");
}

std::string why_of(const Trial& trial) {
  if (trial.state == TrialState::paused && !trial.why.empty()) {
    return "when it was paused: " + trial.why;
  }
  const std::string lost = taken_back(trial);
  return trial.why + (trial.why.empty() || lost.empty() ? "" : "; ") + lost;
}

}  // namespace tune
