// Composition root: builds the parts in order, recovers or begins an experiment, sweeps leftovers,
// runs the loop, and winds down.
#include "tuner/run.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <thread>

#include "callbacks/callbacks.h"
#include "schedulers/schedulers.h"
#include "searchers/searchers.h"
#include "tuner/base/clean_text.h"
#include "tuner/base/count_of.h"
#include "tuner/base/error.h"
#include "tuner/checkpoints/checkpoint_store.h"
#include "tuner/cluster/cluster_files.h"
#include "tuner/execution/local/process_executor.h"
#include "tuner/host/policy_programs.h"
#include "tuner/host/program_policies.h"
#include "tuner/lost_rows.h"
#include "tuner/model/paths.h"
#include "tuner/policy/stopper_catalogue.h"
#include "tuner/preflight.h"
#include "tuner/process/group_activity.h"
#include "tuner/process/memory_use.h"
#include "tuner/process/orphans.h"
#include "tuner/process/program.h"
#include "tuner/process/spawn.h"
#include "tuner/process/system_clock.h"
#include "tuner/process/watchdog.h"
#include "tuner/provenance.h"
#include "tuner/push.h"
#include "tuner/remote/fetch.h"
#include "tuner/remote/replicator.h"
#include "tuner/run/checkpoints/evictions.h"
#include "tuner/run/commit/make_policies.h"
#include "tuner/run/commit/recovery.h"
#include "tuner/run/run_parts.h"
#include "tuner/space/complete_config.h"
#include "tuner/spec/resume_changes.h"
#include "tuner/spec/spec_policy.h"
#include "tuner/spec/spec_warnings.h"
#include "tuner/spec_changes.h"
#include "tuner/start_cluster.h"
#include "tuner/version.h"

namespace tune {

namespace {

/// At the end, for Slurm to answer the last sbatch, which may take 30 s, and to end all jobs; and
/// where the driver is to leave at once.
constexpr Seconds slurm_patience_s = 45, hurried_slurm_patience_s = 2;

MemoryMeter machine_memory() {
  MemoryMeter meter;
  meter.of = [](const std::vector<std::int64_t>& groups) {
    std::vector<MemoryMeter::Use> uses;
    for (const MemoryUse& use : memory_use_of(groups)) {
      uses.push_back({use.bytes, use.device_bytes});
    }
    return uses;
  };
  meter.available = [] { return available_memory(); };
  return meter;
}

ProcessesSeen look_at_processes(const std::vector<std::int64_t>& groups,
                                const std::vector<std::filesystem::path>& logs) {
  ProcessesSeen seen;
  for (const GroupActivity& each : activity_of(groups)) {
    seen.groups.push_back({each.is_stopped, each.waits_for_disk, each.cpu_s});
  }
  seen.silent_s = since_last_write(logs);
  return seen;
}

/// Those given, those of the spec, and the files that every trial has.
void add_callbacks_to(CallbackList& callbacks, const ExperimentSpec& spec, const SearchSpace& space,
                      const Catalogue& catalogue, std::vector<std::unique_ptr<Callback>> given,
                      std::vector<Problem>& problems) {
  PolicyContext context = context_of(spec, space);
  context.notice = [&callbacks](std::string sentence) {
    callbacks.notice_later(std::move(sentence));
  };
  std::vector<Json> described = spec.callbacks;
  const auto is_given = [&](const char* type) {
    return std::any_of(described.begin(), described.end(),
                       [&](const Json& json) { return json.at("type") == type; });
  };
  const bool has_files = !is_given("none");
  for (const char* const file : {"params", "json", "csv", "tensorboard", "exploits"}) {
    if (has_files && !is_given(file)) described.push_back({{"type", file}});
  }
  for (auto& callback : given) callbacks.add(std::move(callback));
  for (std::size_t i = 0; i < described.size(); ++i) {
    auto callback = make_policy(described[i], "/callbacks/" + std::to_string(i), "callback",
                                catalogue.callbacks, context, problems);
    if (callback != nullptr) callbacks.add(std::move(callback));
  }
}

/// By device, what CUDA_VISIBLE_DEVICES must say. Gpus that the user says there are and that were
/// not found have their numbers for names.
std::vector<std::string> gpu_names(const ExperimentSpec& spec, const DetectedResources& detected) {
  std::vector<std::string> names = detected.gpus;
  const Resources totals = total_resources(spec, detected);
  const auto gpus = totals.find("gpu");
  if (!names.empty() || gpus == totals.end()) return names;
  for (int i = 0; i < gpus->second; ++i) names.push_back(std::to_string(i));
  return names;
}

/// Given in the spec, or for all runs of a machine.
std::optional<Seconds> snapshot_period(const ExperimentSpec& spec) {
  if (spec.snapshot_period_s) return spec.snapshot_period_s;
  const char* const given = std::getenv("TUNE_GLOBAL_CHECKPOINT_S");
  if (given == nullptr || *given == '\0' || std::string_view(given) == "auto") return std::nullopt;
  Seconds period_s = 0;
  const char* const end = given + std::strlen(given);
  const auto [stopped, error] = std::from_chars(given, end, period_s);
  if (error != std::errc() || stopped != end || !(period_s > 0)) {
    throw user_error(
        std::string(
            "TUNE_GLOBAL_CHECKPOINT_S must be 'auto' or a number of seconds above 0, got '") +
        given + "'");
  }
  return period_s;
}

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

/// The parts of one run, in the order in which they depend on each other.
struct Engine {
  Engine(const ExperimentSpec& the_spec, const Catalogue& the_catalogue, RunOptions& the_options,
         std::filesystem::path the_directory)
      : spec(the_spec),
        catalogue(the_catalogue),
        options(the_options),
        directory(std::move(the_directory)),
        period_s(snapshot_period(spec)),
        detected(detect_resources()),
        space(SearchSpace::parse(spec.param_space, "/param_space", problems)),
        policies(make_policies(spec, space, catalogue, problems, &programs)) {
    add_callbacks_to(callbacks, spec, space, catalogue, std::move(options.callbacks), problems);
    throw_if_any(problems);
    throw_if_any(preflight(spec, detected));
    require_launches();
  }

  void set_up_callbacks() {
    // What nodes have together changes while they run.
    set_up(callbacks, spec, experiment, policies, directory, cluster ? Resources() : totals());
  }

  /// On all nodes together, or on this machine.
  Resources totals() const {
    if (!cluster) return total_resources(spec, detected);
    Resources sum;
    for (const NodeResources& node : cluster->nodes) {
      for (const auto& [name, amount] : node.totals) sum[name] += amount;
    }
    return sum;
  }

  std::unique_ptr<AsioReactor> make_reactor() const {
    return std::make_unique<AsioReactor>(
        options.handle_signals ? Interrupts::report : Interrupts::leave_alone, watchdog.get());
  }

  /// What comes before the run is told at once.
  void tell(const std::string& sentence) {
    if (!is_running && options.on_wait) {
      options.on_wait(sentence);
    } else {
      callbacks.notice_later(sentence);
    }
  }

  /// Before anything of the experiment is made or changed: what is wrong with a node is wrong at
  /// once.
  void start_agents() {
    const TrialsPlace place = place_of_trials(spec.cluster);
    if (!place.notice.empty()) callbacks.notice(place.notice);
    if (place.is_here) return wait_for_agents();
    cluster = start_cluster(spec, place, make_reactor(),
                            {.directory = directory,
                             .hosts = {},
                             .launcher = {},
                             .program = options.agent_program,
                             .bind = {},
                             .version = version(),
                             .resources = {},
                             .groups = watchdog ? &watchdog->groups() : nullptr,
                             .notice = [this](const std::string& sentence) { tell(sentence); }},
                            [this] { return is_interrupted(); });
    callbacks.notice(cluster->notice);
  }

  /// A driver before had a cluster, and was killed: what its agents run is not started here before
  /// they have ended it.
  void wait_for_agents() {
    const Seconds patience_s = spec.cluster.agent_lease_s + ClusterOptions().after_lease_s;
    wait_for_agents_left(
        directory, patience_s,
        [&] {
          tell("agents of an earlier driver run yet, and this one has no hosts: they have " +
               std::to_string(std::lround(patience_s)) + " s to end what they run");
        },
        [this] {
          if (is_interrupted()) throw WaitInterrupted("interrupted while agents were waited for");
          std::this_thread::sleep_for(std::chrono::milliseconds(100));
        });
  }

  /// Of trials that run yet, under agents that a driver which has died has left. `only`: these
  /// alone are to run; empty: all.
  void adopt_running(const std::set<TrialId>& only) {
    if (!cluster) return;
    AgentExecutor& executor = *cluster->executor;
    adoption = plan_adoption(experiment, spec, cluster->nodes, executor.kept(), only);
    auto kept = executor.adopt(adoption.launches(), [this] { return is_interrupted(); });
    for (Adoption& each : adoption.adopted) {
      for (KeptLaunch& process : each.processes) {
        const int node = process.spec.node;
        process = std::move(kept.at(process.launch));
        process.spec.node = node;
      }
    }
    if (adoption.adopted.empty()) return;
    callbacks.notice(count_of(adoption.adopted.size(), "trial goes on where it is",
                              "trials go on where they are") +
                     ": its agents have kept what runs while there was no driver");
  }

  std::set<TrialId> adopted() const {
    std::set<TrialId> trials;
    for (const Adoption& each : adoption.adopted) trials.insert(each.trial);
    return trials;
  }

  /// From before the experiment is locked: who is interrupted while it is read leaves in good order
  /// once it runs.
  void listen_to_signals() {
    if (!options.handle_signals) return;
    watchdog = std::make_unique<Watchdog>("what was recorded is kept, go on with: tune resume " +
                                          directory.native());
    programs.groups = &watchdog->groups();
  }

  RunOutcome run(ExperimentStore store, const ResumePlan& plan = {}, std::set<TrialId> only = {}) {
    is_running = true;
    const auto attempts = [this] {
      std::uint64_t all = 0;
      for (const Trial& trial : experiment.trials())
        all += static_cast<std::uint64_t>(trial.attempt);
      return all;
    };
    const std::uint64_t attempts_before = attempts();
    const std::uint64_t gone_on = adoption.adopted.size();
    const auto own_reactor = cluster ? std::move(cluster->reactor) : make_reactor();
    AsioReactor& reactor = *own_reactor;
    AgentExecutor* const agents = cluster ? cluster->executor.get() : nullptr;
    NodeSupply* const supply = spec.cluster.agent_jobs ? agents : nullptr;
    const auto executor = cluster ? std::unique_ptr<Executor>(std::move(cluster->executor))
                                  : std::make_unique<ProcessExecutor>(reactor);
    RunParts drive({spec, experiment, policies, store, callbacks, std::move(changes)},
                   {.executor = *executor,
                    .reactor = reactor,
                    .clock = *clock,
                    .checkpoints = checkpoints,
                    .activities = watchdog ? &watchdog->activities() : nullptr,
                    .replicator = replicator.get()},
                   to_json(spec), period_s);
    start_session(drive.committer());
    for (const auto& requeued : plan.requeued) drive.checkpoint_manager().requeue(requeued);
    for (const auto& released : plan.released) drive.committer().commit(released);
    for (const auto& notice : plan.notices) callbacks.notice(notice);
    drive.committer().write();
    listen(reactor);
    if (replicator) replicator->begin(known_on_remote());
    DiskGuard disk_guard(*files, drive.workers(), drive.committer(), callbacks, directory,
                         spec.min_free_bytes);
    LoopEnd end = run(
        drive, agents,
        {.launch = {.experiment_dir = directory,
                    .session_mark = to_text(session_mark(this_process(clock->now()))),
                    .gpu_names = cluster ? std::vector<std::string>() : gpu_names(spec, detected),
                    .sets_threads = std::getenv(threads_variable) == nullptr},
         .resources = totals(),
         .nodes = cluster ? cluster->nodes : std::vector<NodeResources>(),
         .supply = supply,
         .interrupt_grace_s = options.interrupt_grace_s,
         .only = std::move(only),
         .adoption = std::move(adoption),
         .disk = &disk_guard,
         // Of processes on other machines nothing is seen here.
         .memory = cluster ? MemoryMeter() : machine_memory(),
         .look = cluster ? ProcessLook() : ProcessLook(look_at_processes),
         .tick_s = 1,
         .change_spec =
             [this](const ExperimentSpec& now, const Json& fields) {
               std::vector<Problem> wrong;
               ExperimentSpec changed = change_while_running(now, fields, catalogue, wrong);
               throw_if_any(wrong);
               return changed;
             },
         .complete_config =
             [this](const Json& given, TrialId trial) {
               return config_by_hand(given, trial, spec, space);
             }});
    std::string not_on_remote = finish_remote();
    if (watchdog) watchdog->only_lingers();
    const std::uint64_t ran = attempts() - attempts_before + gone_on;
    return {std::move(end), ResultGrid(std::move(experiment), spec, directory), store.cost(),
            std::move(not_on_remote), ran};
  }

  /// Before only lingering work is left, since Slurm may take long to take its jobs back: longer
  /// than the watchdog would wait. One more interrupt ends it.
  void leave(AgentExecutor* agents) {
    if (agents == nullptr) return;
    // Those of the run are over: what is said now is said at once.
    is_running = false;
    const int heard = watchdog ? watchdog->interrupts() : 0;
    agents->leave(heard < 2 ? slurm_patience_s : hurried_slurm_patience_s,
                  [this, heard] { return watchdog && watchdog->interrupts() != heard; });
    callbacks.deliver();
  }

  std::vector<Replicator::Known> known_on_remote() {
    return known_checkpoints(*files, directory, spec.remote, spec.name, experiment,
                             spec.checkpoint_config);
  }

  /// From before the experiment is made or changed: what is wrong with the remote is wrong at once.
  void open_remote() {
    if (spec.remote.path.empty()) return;
    replicator = std::make_unique<Replicator>(
        *own_files, Replicator::Options{.directory = directory,
                                        .name = spec.name,
                                        .config = spec.remote,
                                        .lease_s = options.lease_s,
                                        .on_wait = options.on_wait,
                                        .is_over = [this] { return is_interrupted(); }});
  }

  bool is_interrupted() const {
    return (watchdog && watchdog->interrupts() > 0) ||
           (options.is_interrupted && options.is_interrupted());
  }

  std::string finish_remote() {
    if (!replicator) return {};
    // One more interrupt ends the wait; then nothing else may hang either.
    const int heard = watchdog ? watchdog->interrupts() : 0;
    if (const std::string waiting = replicator->waiting(); !waiting.empty() && options.on_wait) {
      options.on_wait("waiting until " + waiting + " on the remote, at most " +
                      std::to_string(static_cast<long>(spec.remote.flush_s)) + " s");
    }
    std::string left = replicator->finish(spec.remote.flush_s, 1e9, [this, heard] {
      if (!watchdog || (watchdog->interrupts() == heard && heard < 2)) return false;
      watchdog->only_lingers();
      return true;
    });
    evict_rest();
    return left;
  }

  /// What came up after the last trial had ended, and what the loop did not come to.
  void evict_rest() {
    if (!spec.remote.keep_local) return;
    for (const Trial& trial : experiment.trials()) {
      for (const CheckpointRef checkpoint : all_but_newest(trial, *spec.remote.keep_local)) {
        const auto place = replicator->place(checkpoint);
        if (!place || experiment.is_donated(checkpoint.trial, checkpoint.index)) continue;
        try {
          checkpoints.evict(checkpoint, *place);
        } catch (const Error&) {
          return;  // the next driver tries again
        }
      }
    }
  }

  /// What comes after it waits for threads and files, which may take for ever.
  LoopEnd run(RunParts& drive, AgentExecutor* agents, LoopOptions loop_options) {
    try {
      LoopEnd end = drive.run(std::move(loop_options));
      leave(agents);
      // The remote is waited for as long as the spec says.
      if (watchdog && !replicator) watchdog->only_lingers();
      return end;
    } catch (const std::exception& error) {
      is_running = false;
      if (watchdog) watchdog->only_lingers(error.what());
      throw;
    }
  }

  /// A run without a control socket is a run.
  void listen(AsioReactor& reactor) {
    try {
      reactor.listen(directory);
    } catch (const Error& error) {
      callbacks.notice(std::string(error.what()) +
                       "; tune stop, pause, unpause, checkpoint, set and add cannot reach this "
                       "driver, signals can");
    }
  }

  void start_session(EventCommitter& committer) {
    if (!cluster) {
      for (const auto& notice : detected.notices) callbacks.notice(notice);
    }
    const std::string ran = what_runs(spec, options.command_line);
    const std::string change = another_program(experiment.ran(), ran);
    begin_session(committer, this_process(clock->now()), version(), ran, adopted());
    if (!change.empty()) callbacks.notice(change);
    committer.write();
  }

  /// Once the experiment has started.
  SessionMark session_mark(const LockOwner& self) const {
    return {std::llround(experiment.started() * 1e6), self};
  }

  /// This driver, as the lock names it.
  LockOwner owner() const {
    LockOwner self = this_process(clock->now());
    self.lease_s = options.lease_s;
    return self;
  }

  /// What an earlier driver left running ends before anything of its is swept or started anew.
  void look_for_orphans() {
    const LockOwner self = this_process(clock->now());
    std::vector<RecordedProcess> recorded;
    if (experiment.host() == self.host) {
      for (const auto& [trial, process] : experiment.processes()) {
        // The numbers of other nodes' processes are of others here.
        if (std::string_view(experiment.trial(trial).host) != self.host) continue;
        if (adoption.is_adopted(trial)) continue;
        recorded.push_back({to_string(trial), process.pid, process.start_ticks});
      }
    } else if (!experiment.processes().empty()) {
      callbacks.notice("the last driver has died on host " + experiment.host() +
                       "; whether its trials still run there cannot be seen from here");
    }
    for (const auto& sentence : end_orphans(session_mark(self), recorded)) {
      callbacks.notice(sentence);
    }
  }

  const ExperimentSpec& spec;
  const Catalogue& catalogue;
  RunOptions& options;
  std::filesystem::path directory;
  PolicyPrograms programs{
      .log = [this](const std::string& kind) { return paths::policy_log(directory, kind); },
      .session_mark = [this] { return to_text(session_mark(this_process(clock->now()))); }};
  /// First: it watches over the end of all others. None where signals are somebody else's.
  std::unique_ptr<Watchdog> watchdog;
  const std::optional<Seconds> period_s;  ///< of snapshots
  DetectedResources detected;
  std::vector<Problem> problems;
  SearchSpace space;
  Policies policies;
  CallbackList callbacks;
  TrialChanges changes;  ///< that no snapshot has yet
  std::unique_ptr<FileSystem> files = make_posix_file_system();
  /// For what the store keeps: the spec holds the environment of trials, and so perhaps keys.
  std::unique_ptr<FileSystem> own_files = make_posix_file_system(Access::owner);
  CheckpointStore checkpoints{*files, directory, !spec.remote.path.empty()};
  std::unique_ptr<Replicator> replicator;  ///< none where the spec names no remote
  std::unique_ptr<Clock> clock = make_system_clock();
  Experiment experiment;
  std::optional<StartedCluster> cluster;  ///< none: trials run on this machine
  AdoptionPlan adoption;                  ///< until the run has begun
  bool is_running = false;                ///< the run, which has what is started of the cluster
};

/// Whether trials have a result.json.
bool keeps_results(const ExperimentSpec& spec) {
  return std::none_of(spec.callbacks.begin(), spec.callbacks.end(), [](const Json& callback) {
    return callback.value("type", "") == "json" && !callback.value("enabled", true);
  });
}

/// The stop rules, to be asked about trials that have ended.
std::unique_ptr<Stopper> stop_rules(const Engine& engine) {
  const ExperimentSpec& spec = engine.spec;
  std::vector<Problem> known_by_now;
  const SearchSpace space = SearchSpace::parse(spec.param_space, "/param_space", known_by_now);
  PolicyContext context{space, spec.objectives, spec.num_samples, spec.seed};
  context.programs = &engine.programs;
  return make_stopper(spec, engine.catalogue, context, known_by_now);
}

std::set<int> indices_of(const Trial& trial) {
  std::set<int> indices;
  for (const auto& checkpoint : trial.checkpoints) indices.insert(checkpoint.index);
  return indices;
}

/// Waits for the lease of an earlier driver whose life cannot be seen, before anything is read that
/// it might still change.
void wait_for_lease(FileSystem& files, const std::filesystem::path& directory, LeaseWatch& watch,
                    const RunOptions& options) {
  constexpr Seconds longest_sleep_s = 1;
  constexpr Seconds say_every_s = 10;
  Seconds said_at = -say_every_s;
  await_lease(files, paths::lock(directory), watch, [&](const LeasePending& pending) {
    const Seconds now = seconds_since_boot();
    if (options.on_wait && now - said_at >= say_every_s) {
      options.on_wait(pending.what());
      said_at = now;
    }
    std::this_thread::sleep_for(
        std::chrono::duration<double>(std::min(longest_sleep_s, pending.lease_s / 10)));
  });
}

/// Of each trial that has a directory, which the damaged journal may not know, the checkpoints that
/// are known.
std::map<TrialId, std::set<int>> known_by_directory(Engine& engine) {
  std::map<TrialId, std::set<int>> known;
  const auto& trials = engine.experiment.trials();
  for (const auto& entry : engine.files->list(engine.directory)) {
    const auto id = parse_trial_id(entry.name);
    if (!entry.is_directory || !id || entry.name != to_string(*id)) continue;
    const bool is_known = index_of(*id) < trials.size();
    known[*id] = is_known ? indices_of(trials[index_of(*id)]) : std::set<int>();
  }
  return known;
}

/// What is only on the remote, and only the damaged part of a journal knows, would be removed from
/// there as what nobody needs.
void require_no_unknown_remote(Engine& engine) {
  const auto known = known_by_directory(engine);
  std::size_t unknown = 0;
  std::string command = "tune fetch";
  for (const auto& place : evicted_below(*engine.files, engine.directory)) {
    const CheckpointRef checkpoint = checkpoint_at(place);
    if (known.at(checkpoint.trial).contains(checkpoint.index)) continue;
    ++unknown;
    command += " " + place.native();
  }
  if (unknown == 0) return;
  throw user_error(
      count_of(unknown,
               "checkpoint that only the damaged part of the journal "
               "knows is only on the remote",
               "checkpoints that only the damaged part of the journal knows are only "
               "on the remote") +
      " and would be lost: bring back what is to be kept, and salvage then: " + command);
}

/// Checkpoints that only the damaged part of a journal knew are somebody's work: out of the way of
/// new ones, and kept.
void set_aside_unknown(Engine& engine) {
  std::size_t count = 0;
  std::vector<std::string> problems;
  for (const auto& [id, known] : known_by_directory(engine)) {
    count += engine.checkpoints.set_aside_unknown(id, known, problems);
  }
  for (const auto& problem : problems) engine.callbacks.notice(problem);
  if (count == 0) return;
  engine.callbacks.notice(std::to_string(count) +
                          " checkpoints that are no longer known are renamed to "
                          "checkpoint_N.corrupt");
}

/// Whatever a record does not name is what a crash has left: half-written checkpoints, and those
/// whose deletion was decided. What cannot be removed costs its space and nothing else.
void sweep(Engine& engine) {
  for (const auto& trial : engine.experiment.trials()) {
    const bool runs = engine.adoption.is_adopted(trial.id);
    for (const auto& problem :
         engine.checkpoints.sweep(trial.id, indices_of(trial), runs).problems) {
      engine.callbacks.notice(problem + "; it is left behind");
    }
  }
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
  LeaseWatch watch;
  wait_for_lease(*engine.own_files, engine.directory, watch, options);
  engine.listen_to_signals();
  if (!ExperimentStore::exists(*engine.files, engine.directory)) {
    engine.open_remote();
    engine.start_agents();
  }
  auto store = ExperimentStore::create(*engine.own_files, engine.directory, to_json(spec),
                                       engine.owner(), &watch);
  engine.set_up_callbacks();
  if (!spec.searcher_reason.empty()) {
    engine.callbacks.notice("the searcher is " + spec.searcher.at("type").get<std::string>() +
                            ", because " + spec.searcher_reason);
  }
  for (const auto& [pointer, sentence] : warnings_about(spec)) {
    engine.callbacks.notice(pointer + ": " + sentence);
  }
  return engine.run(std::move(store));
}

RunOutcome resume_experiment(const std::filesystem::path& directory, const Catalogue& catalogue,
                             RunOptions options, const ResumeOptions& resume) {
  const auto absolute = std::filesystem::absolute(directory).lexically_normal();
  const auto files = make_posix_file_system();
  LeaseWatch watch;
  wait_for_lease(*files, absolute, watch, options);
  // What is recorded was decided under the spec of that time, which somebody may have edited since.
  const Json given = ExperimentStore::read_spec(*files, absolute);
  const auto snapshot = ExperimentStore::read_snapshot_state(*files, absolute);
  std::vector<Problem> problems;
  const ExperimentSpec recorded =
      parse_recorded_spec(snapshot ? spec_in(*snapshot) : given, catalogue, problems);
  const Json changes = read_spec_changes(*files, absolute);
  const ExperimentSpec left = with_changes(recorded, changes, catalogue, problems);
  ExperimentSpec spec =
      with_changes(parse_recorded_spec(given, catalogue, problems), changes, catalogue, problems);
  throw_if_any(problems);
  if (resume.change) resume.change(spec);
  throw_if_any(refuse_changes(left, spec, catalogue));
  if (const auto reason = cannot_be_told(absolute)) throw user_error(*reason);
  Engine engine(spec, catalogue, options, absolute);
  engine.listen_to_signals();
  const SearchSpace recorded_space = SearchSpace::parse(recorded.param_space, "", engine.problems);
  // They are asked again what they have answered, and have as long for that as from now on.
  const ExperimentSpec replayed_spec = with_patience_of(spec, recorded);
  const auto make_recorded = [&] {
    Policies policies =
        make_policies(replayed_spec, recorded_space, catalogue, engine.problems, &engine.programs);
    throw_if_any(engine.problems);
    return policies;
  };
  Policies replayed;
  Recovery recovery(engine.experiment, replayed, make_recorded);
  std::vector<std::string> notices;
  bool salvaged = false;
  const auto salvage = [&] {
    require_no_unknown_remote(engine);
    salvaged = true;
  };
  auto store = ExperimentStore::open(*engine.own_files, absolute, engine.owner(), recovery, notices,
                                     options.salvage ? salvage : std::function<void()>(), &watch);
  (void)engine.known_on_remote();  // Error if what is only on a remote would be out of reach
  engine.open_remote();
  ResumeOptions asked = resume;
  const auto plan_it = [&] {
    return plan_resume(engine.experiment, asked, stop_rules(engine).get(), left.stop != spec.stop,
                       *engine.policies.scheduler);
  };
  (void)plan_it();  // Error, before an agent that has waited for a driver is told anything
  engine.start_agents();
  engine.adopt_running({resume.trials.begin(), resume.trials.end()});
  // The driver before may not be dead but frozen, or on a host of which nothing is heard.
  if (engine.experiment.session_end().empty()) store.fence();
  engine.changes = recovery.take_changes();
  // Before anything is written to them.
  if (keeps_results(spec)) {
    for (auto& sentence : lost_rows(absolute, recovery.written())) {
      notices.push_back(std::move(sentence));
    }
  }
  engine.set_up_callbacks();
  CallbackReplay callback_replay(engine.callbacks, engine.experiment);
  std::vector<std::string> same_notices;
  ExperimentStore::read(*engine.files, absolute, callback_replay, same_notices);
  for (const auto& notice : notices) engine.callbacks.notice(notice);
  if (const auto& difference = recovery.difference()) {
    const std::string sentence =
        "a policy answers the journal differently than it did, the record wins: " + *difference;
    if (options.strict) throw user_error(sentence);
    engine.callbacks.notice(sentence);
  }
  asked.adopted = engine.adopted();
  const ResumePlan plan = plan_it();
  if (changes.empty() && to_json(spec) == to_json(recorded)) {
    engine.policies = std::move(replayed);
  } else {
    change_spec(engine.experiment, {replayed, to_json(left)}, {engine.policies, to_json(spec)},
                store, engine.callbacks, engine.changes, snapshot.has_value());
    replayed = Policies();  // programs among them have nothing more to do
  }
  const std::string changed = sentence_of_changes(left, spec);
  if (!changed.empty()) engine.callbacks.notice(changed);
  if (engine.experiment.sessions() > 0) engine.look_for_orphans();
  if (salvaged) set_aside_unknown(engine);
  sweep(engine);
  return engine.run(std::move(store), plan, {resume.trials.begin(), resume.trials.end()});
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
