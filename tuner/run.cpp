// One run in its order: the experiment is opened, the loop runs, and it is closed.
#include "tuner/run.h"

#include <cstdlib>
#include <utility>

#include "callbacks/callbacks.h"
#include "schedulers/schedulers.h"
#include "searchers/searchers.h"
#include "tuner/base/error.h"
#include "tuner/close_experiment.h"
#include "tuner/engine.h"
#include "tuner/execution/local/process_executor.h"
#include "tuner/host/program_policies.h"
#include "tuner/open_experiment.h"
#include "tuner/policy/stopper_catalogue.h"
#include "tuner/provenance.h"
#include "tuner/run/commit/make_policies.h"
#include "tuner/space/complete_config.h"
#include "tuner/spec/resume_changes.h"
#include "tuner/spec/spec_policy.h"
#include "tuner/this_machine.h"
#include "tuner/version.h"

namespace tune {

namespace {

/// The config of a trial that somebody adds by hand: `given`, and what it leaves out drawn.
Suggestion config_by_hand(const Json& given, TrialId trial, const ExperimentSpec& spec,
                          const SearchSpace& space) {
  throw_if_any(space.check_preset(given));
  const auto constraints = constraints_of(spec);
  CompleteConfig complete = complete_config(space, constraints, given, spec.seed, trial);
  if (complete.unfit) {
    throw user_error(all_unfit(space, constraints, "with these values", *complete.unfit));
  }
  std::string tag = space.tag(complete.config);
  return {std::move(complete.config), std::move(tag)};
}

/// A run without a control socket is a run.
void listen(Engine& engine, AsioReactor& reactor) {
  try {
    reactor.listen(engine.directory);
  } catch (const Error& error) {
    engine.callbacks.notice(
        std::string(error.what()) +
        "; tune stop, pause, unpause, checkpoint, set and add cannot reach this "
        "driver, signals can");
  }
}

void start_session(Engine& engine, EventCommitter& committer) {
  if (!engine.cluster) {
    for (const auto& notice : engine.detected.notices) engine.callbacks.notice(notice);
  }
  const std::string ran = what_runs(engine.spec, engine.options.command_line);
  const std::string change = another_program(engine.experiment.ran(), ran);
  begin_session(committer, this_process(engine.clock->now()), version(), ran, engine.adopted());
  if (!change.empty()) engine.callbacks.notice(change);
  committer.write();
}

/// What comes after it waits for threads and files, which may take for ever.
LoopEnd drive(Engine& engine, RunParts& parts, AgentExecutor* agents, LoopOptions loop_options) {
  try {
    LoopEnd end = parts.run(std::move(loop_options));
    leave_cluster(engine, agents);
    // The remote is waited for as long as the spec says.
    if (engine.watchdog && !engine.replicator) engine.watchdog->only_lingers();
    return end;
  } catch (const std::exception& error) {
    engine.is_running = false;
    if (engine.watchdog) engine.watchdog->only_lingers(error.what());
    throw;
  }
}

RunOutcome run(Engine& engine, OpenedExperiment opened) {
  engine.is_running = true;
  const std::uint64_t earlier = attempts_of(engine.experiment) - engine.adoption.adopted.size();
  const auto own_reactor =
      engine.cluster ? std::move(engine.cluster->reactor) : engine.make_reactor();
  AsioReactor& reactor = *own_reactor;
  AgentExecutor* const agents = engine.cluster ? engine.cluster->executor.get() : nullptr;
  NodeSupply* const supply = engine.spec.cluster.agent_jobs ? agents : nullptr;
  const auto executor = engine.cluster
                            ? std::unique_ptr<Executor>(std::move(engine.cluster->executor))
                            : std::make_unique<ProcessExecutor>(reactor);
  RunParts parts({engine.spec, engine.experiment, engine.policies, opened.store, engine.callbacks,
                  std::move(engine.changes)},
                 {.executor = *executor,
                  .reactor = reactor,
                  .clock = *engine.clock,
                  .checkpoints = engine.checkpoints,
                  .activities = engine.watchdog ? &engine.watchdog->activities() : nullptr,
                  .replicator = engine.replicator.get()},
                 to_json(engine.spec), engine.period_s);
  start_session(engine, parts.committer());
  for (const auto& requeued : opened.plan.requeued) parts.checkpoint_manager().requeue(requeued);
  for (const auto& released : opened.plan.released) parts.committer().commit(released);
  for (const auto& notice : opened.plan.notices) engine.callbacks.notice(notice);
  parts.committer().write();
  listen(engine, reactor);
  if (engine.replicator) engine.replicator->begin(engine.known_on_remote());
  DiskGuard disk_guard(*engine.files, parts.workers(), parts.committer(), engine.callbacks,
                       engine.directory, engine.spec.min_free_bytes);
  LoopEnd end = drive(
      engine, parts, agents,
      {.launch = {.experiment_dir = engine.directory,
                  .session_mark = to_text(engine.session_mark(this_process(engine.clock->now()))),
                  .gpu_names = engine.cluster ? std::vector<std::string>()
                                              : gpu_names(engine.spec, engine.detected),
                  .sets_threads = std::getenv(threads_variable) == nullptr},
       .resources = engine.totals(),
       .nodes = engine.cluster ? engine.cluster->nodes : std::vector<NodeResources>(),
       .supply = supply,
       .interrupt_grace_s = engine.options.interrupt_grace_s,
       .only = std::move(opened.only),
       .adoption = std::move(engine.adoption),
       .disk = &disk_guard,
       // Of processes on other machines nothing is seen here.
       .memory = engine.cluster ? MemoryMeter() : machine_memory(),
       .look = engine.cluster ? ProcessLook() : ProcessLook(look_at_processes),
       .tick_s = 1,
       .change_spec =
           [&engine](const ExperimentSpec& now, const Json& fields) {
             std::vector<Problem> wrong;
             ExperimentSpec changed = change_while_running(now, fields, engine.catalogue, wrong);
             throw_if_any(wrong);
             return changed;
           },
       .complete_config =
           [&engine](const Json& given, TrialId trial) {
             return config_by_hand(given, trial, engine.spec, engine.space);
           }});
  return close_experiment(engine, std::move(end), opened.store, earlier);
}

}  // namespace

std::filesystem::path experiment_directory(const ExperimentSpec& spec) {
  return std::filesystem::absolute(spec.storage_path / spec.name).lexically_normal();
}

Resources total_resources(const ExperimentSpec& spec, const DetectedResources& detected) {
  Resources totals = detected.totals();
  for (const auto& [name, amount] : spec.resources) totals[name] = amount;
  return totals;
}

RunOutcome run_experiment(const ExperimentSpec& spec, const Catalogue& catalogue,
                          RunOptions options) {
  Engine engine(spec, catalogue, options, experiment_directory(spec));
  return run(engine, create_experiment(engine));
}

RunOutcome resume_experiment(const std::filesystem::path& directory, const Catalogue& catalogue,
                             RunOptions options, const ResumeOptions& resume) {
  const auto absolute = std::filesystem::absolute(directory).lexically_normal();
  LeaseWatch watch;
  wait_for_lease(*make_posix_file_system(), absolute, watch, options);
  const ResumedSpec specs = read_spec(absolute, catalogue, resume);
  Engine engine(specs.now, catalogue, options, absolute);
  return run(engine, reopen_experiment(engine, specs, resume, watch));
}

Catalogue built_in_catalogue() {
  Catalogue catalogue;
  add_schedulers(catalogue);
  add_searchers(catalogue);
  add_stoppers(catalogue);
  add_callbacks(catalogue);
  add_program_policies(catalogue);
  return catalogue;
}

}  // namespace tune
