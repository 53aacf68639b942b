// Replays an experiment from its first event on, for questions about its past.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "tuner/model/experiment.h"

namespace tune {

/// Applies the events of the history and the journals to `experiment`, which is empty, and calls
/// `visit` after each. Answers how many events are not there any more: if there are any, it has
/// stopped before the first of them.
std::uint64_t replay_events(const std::filesystem::path& directory, Experiment& experiment,
                            const std::function<void(const Event&)>& visit);

}  // namespace tune
