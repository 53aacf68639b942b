// The end of a run: agents and Slurm's jobs leave, the remote gets the rest, and the summary is
// made.
#pragma once

#include <cstdint>

#include "tuner/engine.h"

namespace tune {

/// Before only lingering work is left, since Slurm may take long to take its jobs back: longer
/// than the watchdog would wait. One more interrupt ends it. `agents`: null: there are none.
void leave_cluster(Engine& engine, AgentExecutor* agents);

/// That have ever been started.
std::uint64_t attempts_of(const Experiment& experiment);

/// Waits for the remote, as long as the spec says, and sums up. `earlier`: attempts that this
/// session has neither started nor taken over. The engine's experiment is gone.
RunOutcome close_experiment(Engine& engine, LoopEnd end, const ExperimentStore& store,
                            std::uint64_t earlier);

}  // namespace tune
