// Constructs the parts around a loop and connects them to each other.
#include "tuner/run/run_parts.h"

#include <algorithm>
#include <utility>

namespace tune {

RunParts::RunParts(DrivenExperiment driven, RunEnvironment environment, Json recorded,
                   std::optional<Seconds> period_s)
    : spec_(driven.spec),
      policies_(driven.policies),
      callbacks_(driven.callbacks),
      executor_(environment.executor),
      reactor_(environment.reactor),
      workers_(
          environment.threads, [this] { reactor_.wake(); }, environment.activities) {
  if (environment.threads == Workers::Threads::own) policies_.searcher.work_beside(workers_);
  committer_.emplace(driven.experiment, policies_, driven.store, workers_, environment.clock,
                     std::move(driven.changes));
  checkpoint_manager_.emplace(*committer_, workers_, environment.checkpoints, callbacks_,
                              spec_.checkpoint_config, environment.replicator);
  snapshots_.emplace(*committer_, policies_, driven.store, workers_, callbacks_,
                     std::move(recorded), period_s);
  bool is_wanted = false;
  callbacks_.call("wants_events",
                  [&](Callback& callback) { is_wanted = is_wanted || callback.wants_events(); });
  if (!is_wanted) return;  // events are kept for subscribers, which costs
  committer_->subscribe([this](std::span<const Event> events) {
    callbacks_.call("on_events", [&](Callback& callback) {
      if (callback.wants_events()) callback.on_events(events);
    });
  });
}

LoopEnd RunParts::run(LoopOptions options) {
  Loop loop(spec_, std::move(options), *committer_, policies_, executor_, reactor_, workers_,
            *checkpoint_manager_, *snapshots_, callbacks_);
  return loop.run();
}

void begin_session(EventCommitter& committer, const LockOwner& driver, const std::string& version,
                   const std::string& ran, const std::set<TrialId>& adopted) {
  committer.commit(SessionStarted{driver.host, driver.pid, version, ran});
  committer.interrupt_running("its driver died", adopted);
}

void set_up(CallbackList& callbacks, const ExperimentSpec& spec, const Experiment& experiment,
            const Policies& policies, const std::filesystem::path& directory, Resources resources) {
  const RunInfo info{.name = spec.name,
                     .directory = directory,
                     .objectives = spec.objectives,
                     .total_trials = policies.total_trials(experiment),
                     .resources = std::move(resources),
                     .resources_per_trial = spec.resources_per_trial,
                     .resumed = experiment.sessions() > 0,
                     .constraints = constraints_of(spec),
                     .stop = spec.stop,
                     .time_budget_s = spec.time_budget_s};
  callbacks.call("setup", [&](Callback& callback) { callback.setup(info, experiment); });
}

}  // namespace tune
