#include "tuner/core/scheduler.h"

#include <algorithm>

#include "tuner/core/experiment.h"

namespace tune {

std::optional<TrialId> Scheduler::choose(const Experiment& experiment, Seconds now) const {
  for (const auto* waiting : {&experiment.pending(), &experiment.paused()}) {
    const auto first = std::find_if(waiting->begin(), waiting->end(), [&](const auto& entry) {
      return experiment.trial(entry.second).not_before <= now;
    });
    if (first != waiting->end()) return first->second;
  }
  return std::nullopt;
}

}  // namespace tune
