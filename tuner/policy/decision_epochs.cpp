// A geometric grid from the end of a training backwards.
#include "tuner/policy/decision_epochs.h"

#include <algorithm>
#include <cmath>

namespace tune {

std::vector<std::int64_t> decision_epochs(const DecisionEpochs& options) {
  constexpr double ratio = 1.5;
  constexpr int most_pauses = 11;
  std::vector<std::int64_t> epochs;
  double epoch = static_cast<double>(options.max_t);
  for (int k = 0; k <= most_pauses; ++k, epoch /= ratio) {
    const auto whole = static_cast<std::int64_t>(std::llround(epoch));
    if (whole < options.grace_period || whole < 1) break;
    if (epochs.empty() || whole < epochs.back()) epochs.push_back(whole);
  }
  std::reverse(epochs.begin(), epochs.end());
  return epochs;
}

std::size_t next_decision(const std::vector<std::int64_t>& epochs, std::int64_t iteration) {
  const auto next = std::upper_bound(epochs.begin(), epochs.end(), iteration);
  return static_cast<std::size_t>(std::min(next, epochs.end() - 1) - epochs.begin());
}

std::string spent_text(const std::optional<std::int64_t>& max_total_t,
                       const Experiment& experiment) {
  std::int64_t trained = 0;
  for (const Trial& trial : experiment.trials()) trained += trial.counted_iteration;
  if (!max_total_t || trained < *max_total_t) return "";
  return "all trials together have trained the " + std::to_string(*max_total_t) +
         " iterations of max_total_t, and new ones would not help; for more, run the search under "
         "another --name with a larger max_total_t";
}

}  // namespace tune
