#include "tuner/run/run_parts.h"

#include <algorithm>
#include <utility>

namespace tune {

Drive::Drive(DrivenExperiment driven, Surroundings surroundings, Json recorded,
             std::optional<Seconds> period_s)
    : spec_(driven.spec),
      policies_(driven.policies),
      callbacks_(driven.callbacks),
      executor_(surroundings.executor),
      workers_(
          surroundings.threads, [this] { executor_.wake(); }, surroundings.doings) {
  if (surroundings.threads == Workers::Threads::own) policies_.searcher.work_beside(workers_);
  ledger_.emplace(driven.experiment, policies_, driven.store, workers_, surroundings.clock,
                  std::move(driven.changes));
  saver_.emplace(*ledger_, workers_, surroundings.checkpoints, callbacks_, spec_.checkpoint_config,
                 surroundings.mirror);
  snapshots_.emplace(*ledger_, policies_, driven.store, workers_, callbacks_, std::move(recorded),
                     period_s);
  bool is_wanted = false;
  callbacks_.call("wants_events",
                  [&](Callback& callback) { is_wanted = is_wanted || callback.wants_events(); });
  if (!is_wanted) return;  // events are kept for subscribers, which costs
  ledger_->subscribe([this](std::span<const Event> events) {
    callbacks_.call("on_events", [&](Callback& callback) {
      if (callback.wants_events()) callback.on_events(events);
    });
  });
}

LoopEnd Drive::run(LoopOptions options) {
  Loop loop(spec_, std::move(options), *ledger_, policies_, executor_, workers_, *saver_,
            *snapshots_, callbacks_);
  return loop.run();
}

void begin_session(Ledger& ledger, const LockOwner& driver, const std::string& version,
                   const std::string& ran) {
  ledger.commit(SessionStarted{driver.host, driver.pid, version, ran});
  ledger.interrupt_running("its driver died");
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
