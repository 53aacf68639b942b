// The order in which an experiment is locked, read, and made ready: what can be wrong is found
// before anything is changed.
#include "tuner/open_experiment.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "tuner/base/count_of.h"
#include "tuner/base/error.h"
#include "tuner/cluster/cluster_files.h"
#include "tuner/disk/liveness.h"
#include "tuner/leftovers.h"
#include "tuner/lost_rows.h"
#include "tuner/preflight.h"
#include "tuner/run/commit/make_policies.h"
#include "tuner/spec/resume_changes.h"
#include "tuner/spec/spec_policy.h"
#include "tuner/spec/spec_warnings.h"
#include "tuner/spec_changes.h"
#include "tuner/version.h"

namespace tune {

namespace {

/// A driver before had a cluster, and was killed: what its agents run is not started here before
/// they have ended it.
void wait_for_agents(Engine& engine) {
  const Seconds patience_s = engine.spec.cluster.agent_lease_s + ClusterOptions().after_lease_s;
  wait_for_agents_left(
      engine.directory, patience_s,
      [&] {
        engine.tell("agents of an earlier driver run yet, and this one has no hosts: they have " +
                    std::to_string(std::lround(patience_s)) + " s to end what they run");
      },
      [&engine] {
        if (engine.is_interrupted())
          throw WaitInterrupted("interrupted while agents were waited for");
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      });
}

/// Before anything of the experiment is made or changed: what is wrong with a node is wrong at
/// once.
void start_agents(Engine& engine) {
  const TrialsPlace place = place_of_trials(engine.spec.cluster);
  if (!place.notice.empty()) engine.callbacks.notice(place.notice);
  if (place.is_here) return wait_for_agents(engine);
  engine.cluster =
      start_cluster(engine.spec, place, engine.make_reactor(),
                    {.directory = engine.directory,
                     .hosts = {},
                     .launcher = {},
                     .program = engine.options.agent_program,
                     .bind = {},
                     .version = version(),
                     .resources = {},
                     .groups = engine.watchdog ? &engine.watchdog->groups() : nullptr,
                     .notice = [&engine](const std::string& sentence) { engine.tell(sentence); }},
                    [&engine] { return engine.is_interrupted(); });
  engine.callbacks.notice(engine.cluster->notice);
}

/// Trials that run yet go on, under agents that a driver which has died has left.
void adopt_trials(Engine& engine, const std::set<TrialId>& only) {
  if (!engine.cluster) return;
  engine.adoption = adopt_running(*engine.cluster, engine.experiment, engine.spec, only,
                                  [&engine] { return engine.is_interrupted(); });
  const std::size_t count = engine.adoption.adopted.size();
  if (count == 0) return;
  engine.callbacks.notice(
      count_of(count, "trial goes on where it is", "trials go on where they are") +
      ": its agents have kept what runs while there was no driver");
}

/// From before the experiment is made or changed: what is wrong with the remote is wrong at once.
void open_remote(Engine& engine) {
  if (engine.spec.remote.path.empty()) return;
  engine.replicator = std::make_unique<Replicator>(
      *engine.own_files,
      Replicator::Options{.directory = engine.directory,
                          .name = engine.spec.name,
                          .config = engine.spec.remote,
                          .lease_s = engine.options.lease_s,
                          .on_wait = engine.options.on_wait,
                          .is_over = [&engine] { return engine.is_interrupted(); }});
}

void set_up_callbacks(Engine& engine) {
  // What nodes have together changes while they run.
  set_up(engine.callbacks, engine.spec, engine.experiment, engine.policies, engine.directory,
         engine.cluster ? Resources() : engine.totals());
}

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

}  // namespace

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

OpenedExperiment create_experiment(Engine& engine) {
  LeaseWatch watch;
  wait_for_lease(*engine.own_files, engine.directory, watch, engine.options);
  engine.listen_to_signals();
  if (!ExperimentStore::exists(*engine.files, engine.directory)) {
    open_remote(engine);
    start_agents(engine);
  }
  const ExperimentSpec& spec = engine.spec;
  auto store = ExperimentStore::create(*engine.own_files, engine.directory, to_json(spec),
                                       engine.owner(), &watch);
  set_up_callbacks(engine);
  if (!spec.searcher_reason.empty()) {
    engine.callbacks.notice("the searcher is " + spec.searcher.at("type").get<std::string>() +
                            ", because " + spec.searcher_reason);
  }
  for (const auto& [pointer, sentence] : warnings_about(spec)) {
    engine.callbacks.notice(pointer + ": " + sentence);
  }
  return {std::move(store)};
}

ResumedSpec read_spec(const std::filesystem::path& directory, const Catalogue& catalogue,
                      const ResumeOptions& resume) {
  const auto files = make_posix_file_system();
  // What is recorded was decided under the spec of that time, which somebody may have edited since.
  const Json given = ExperimentStore::read_spec(*files, directory);
  const auto snapshot = ExperimentStore::read_snapshot_state(*files, directory);
  std::vector<Problem> problems;
  ResumedSpec specs;
  specs.has_snapshot = snapshot.has_value();
  specs.recorded = parse_recorded_spec(snapshot ? spec_in(*snapshot) : given, catalogue, problems);
  const Json changes = read_spec_changes(*files, directory);
  specs.has_changes = !changes.empty();
  specs.left = with_changes(specs.recorded, changes, catalogue, problems);
  specs.now =
      with_changes(parse_recorded_spec(given, catalogue, problems), changes, catalogue, problems);
  throw_if_any(problems);
  if (resume.change) resume.change(specs.now);
  throw_if_any(refuse_changes(specs.left, specs.now, catalogue));
  if (const auto reason = cannot_be_told(directory)) throw user_error(*reason);
  return specs;
}

OpenedExperiment reopen_experiment(Engine& engine, const ResumedSpec& specs,
                                   const ResumeOptions& resume, LeaseWatch& watch) {
  engine.listen_to_signals();
  const ExperimentSpec &recorded = specs.recorded, &left = specs.left, &spec = specs.now;
  engine.replayed_space = SearchSpace::parse(recorded.param_space, "", engine.problems);
  // They are asked again what they have answered, and have as long for that as from now on.
  engine.replayed_spec = with_patience_of(spec, recorded);
  const auto make_recorded = [&] {
    Policies policies = make_policies(*engine.replayed_spec, *engine.replayed_space,
                                      engine.catalogue, engine.problems, &engine.programs);
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
  auto store =
      ExperimentStore::open(*engine.own_files, engine.directory, engine.owner(), recovery, notices,
                            engine.options.salvage ? salvage : std::function<void()>(), &watch);
  (void)engine.known_on_remote();  // Error if what is only on a remote would be out of reach
  open_remote(engine);
  ResumeOptions asked = resume;
  const auto plan_it = [&] {
    return plan_resume(engine.experiment, asked, stop_rules(engine).get(), left.stop != spec.stop,
                       *engine.policies.scheduler);
  };
  (void)plan_it();  // Error, before an agent that has waited for a driver is told anything
  start_agents(engine);
  adopt_trials(engine, {resume.trials.begin(), resume.trials.end()});
  // The driver before may not be dead but frozen, or on a host of which nothing is heard.
  if (engine.experiment.session_end().empty()) store.fence();
  engine.changes = recovery.take_changes();
  // Before anything is written to them.
  if (keeps_results(spec)) {
    for (auto& sentence : lost_rows(engine.directory, recovery.written())) {
      notices.push_back(std::move(sentence));
    }
  }
  set_up_callbacks(engine);
  CallbackReplay callback_replay(engine.callbacks, engine.experiment);
  std::vector<std::string> same_notices;
  ExperimentStore::read(*engine.files, engine.directory, callback_replay, same_notices);
  for (const auto& notice : notices) engine.callbacks.notice(notice);
  if (const auto& difference = recovery.difference()) {
    const std::string sentence =
        "a policy answers the journal differently than it did, the record wins: " + *difference;
    if (engine.options.strict) throw user_error(sentence);
    engine.callbacks.notice(sentence);
  }
  asked.adopted = engine.adopted();
  const ResumePlan plan = plan_it();
  if (!specs.has_changes && to_json(spec) == to_json(recorded)) {
    engine.policies = std::move(replayed);
  } else {
    change_spec(engine.experiment, {replayed, to_json(left)}, {engine.policies, to_json(spec)},
                store, engine.callbacks, engine.changes, specs.has_snapshot);
    replayed = Policies();  // programs among them have nothing more to do
  }
  const std::string changed = sentence_of_changes(left, spec);
  if (!changed.empty()) engine.callbacks.notice(changed);
  if (engine.experiment.sessions() > 0) look_for_orphans(engine);
  if (salvaged) set_aside_unknown(engine);
  sweep_leftovers(engine);
  return {std::move(store), plan, {resume.trials.begin(), resume.trials.end()}};
}

}  // namespace tune
