#include "tuner/core/scheduler.h"

#include <algorithm>

#include "tuner/core/experiment.h"

namespace tune {

namespace {
constexpr std::pair<Action, std::string_view> action_names[] = {
    {Action::proceed, "continue"},
    {Action::pause, "pause"},
    {Action::exploit, "exploit"},
    {Action::stop, "stop"},
};
}  // namespace

const char* to_string(Action action) {
  for (const auto& [value, name] : action_names) {
    if (value == action) return name.data();
  }
  return "?";
}

std::optional<Action> parse_action(std::string_view text) {
  for (const auto& [value, name] : action_names) {
    if (name == text) return value;
  }
  return std::nullopt;
}

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
