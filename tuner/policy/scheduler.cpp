// The default for `choose`: the first pending trial that may start; paused ones once no more will
// come.
#include "tuner/policy/scheduler.h"

#include "tuner/model/experiment.h"

namespace tune {

std::optional<TrialId> Scheduler::choose(const Experiment& experiment, Seconds now,
                                         bool more) const {
  const auto first_of = [&](const auto& waiting) -> std::optional<TrialId> {
    for (const auto& [place, id] : waiting) {
      if (experiment.may_start(id, now)) return id;
    }
    return std::nullopt;
  };
  const auto pending = first_of(experiment.pending());
  return pending || more ? pending : first_of(experiment.paused());
}

}  // namespace tune
