// Waits that one more interrupt ends, and the summary.
#include "tuner/close_experiment.h"

#include <string>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/run/checkpoints/evictions.h"

namespace tune {

namespace {

/// At the end, for Slurm to answer the last sbatch, which may take 30 s, and to end all jobs; and
/// where the driver is to leave at once.
constexpr Seconds slurm_patience_s = 45, hurried_slurm_patience_s = 2;

/// What came up after the last trial had ended, and what the loop did not come to.
void evict_rest(Engine& engine) {
  if (!engine.spec.remote.keep_local) return;
  for (const Trial& trial : engine.experiment.trials()) {
    for (const CheckpointRef checkpoint : all_but_newest(trial, *engine.spec.remote.keep_local)) {
      const auto place = engine.replicator->place(checkpoint);
      if (!place || engine.experiment.is_donated(checkpoint.trial, checkpoint.index)) continue;
      try {
        engine.checkpoints.evict(checkpoint, *place);
      } catch (const Error&) {
        return;  // the next driver tries again
      }
    }
  }
}

std::string finish_remote(Engine& engine) {
  if (!engine.replicator) return {};
  // One more interrupt ends the wait; then nothing else may hang either.
  const int heard = engine.watchdog ? engine.watchdog->interrupts() : 0;
  if (const std::string waiting = engine.replicator->waiting();
      !waiting.empty() && engine.options.on_wait) {
    engine.options.on_wait("waiting until " + waiting + " on the remote, at most " +
                           std::to_string(static_cast<long>(engine.spec.remote.flush_s)) + " s");
  }
  std::string left = engine.replicator->finish(engine.spec.remote.flush_s, 1e9, [&engine, heard] {
    if (!engine.watchdog || (engine.watchdog->interrupts() == heard && heard < 2)) return false;
    engine.watchdog->only_lingers();
    return true;
  });
  evict_rest(engine);
  return left;
}

}  // namespace

void leave_cluster(Engine& engine, AgentExecutor* agents) {
  if (agents == nullptr) return;
  // Those of the run are over: what is said now is said at once.
  engine.is_running = false;
  const int heard = engine.watchdog ? engine.watchdog->interrupts() : 0;
  agents->leave(heard < 2 ? slurm_patience_s : hurried_slurm_patience_s, [&engine, heard] {
    return engine.watchdog && engine.watchdog->interrupts() != heard;
  });
  engine.callbacks.deliver();
}

std::uint64_t attempts_of(const Experiment& experiment) {
  std::uint64_t attempts = 0;
  for (const Trial& trial : experiment.trials()) {
    attempts += static_cast<std::uint64_t>(trial.attempt);
  }
  return attempts;
}

RunOutcome close_experiment(Engine& engine, LoopEnd end, const ExperimentStore& store,
                            std::uint64_t earlier) {
  std::string not_on_remote = finish_remote(engine);
  if (engine.watchdog) engine.watchdog->only_lingers();
  const std::uint64_t ran = attempts_of(engine.experiment) - earlier;
  return {std::move(end), ResultGrid(std::move(engine.experiment), engine.spec, engine.directory),
          store.cost(), std::move(not_on_remote), ran};
}

}  // namespace tune
