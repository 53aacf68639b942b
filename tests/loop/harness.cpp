#include "tests/loop/harness.h"

#include <utility>

#include "tuner/base/error.h"
#include "tuner/checkpoints/checkpoint_store.h"
#include "tuner/model/paths.h"
#include "tuner/run/commit/recovery.h"

namespace tune {

namespace {

class Counting : public Searcher {
 public:
  explicit Counting(int n) : n_(n) {}
  Answer suggest(TrialId) override {
    if (next_ == n_) return Exhausted{};
    const int x = next_++;
    return Suggestion{{{"x", x}}, "x=" + std::to_string(x)};
  }
  Json save() const override { return next_; }
  void load(const Json& state) override { next_ = state; }

 private:
  int n_;
  int next_ = 0;
};

class Fifo : public Scheduler {
 public:
  Decision on_result(const Trial&, const Result&) override { return {}; }
};

/// `spec` with those fields that the tests change while a driver runs.
ExperimentSpec with(ExperimentSpec spec, const Json& fields) {
  for (const auto& [name, value] : fields.items()) {
    if (name == "num_samples") {
      spec.num_samples = value;
    } else if (name == "max_concurrent_trials") {
      spec.max_concurrent_trials = value;
    } else if (name == "time_budget_s") {
      spec.time_budget_s = value.get<Seconds>();
    } else {
      throw user_error(name + " cannot change");
    }
  }
  return spec;
}

std::unique_ptr<Stopper> make_stoppers(std::int64_t iterations, std::optional<Seconds> budget_s,
                                       std::vector<std::unique_ptr<Stopper>> stoppers) {
  stoppers.push_back(make_max_iteration(iterations));
  if (budget_s) stoppers.push_back(make_time_budget(*budget_s));
  return make_any_of(std::move(stoppers));
}

}  // namespace

std::unique_ptr<Searcher> make_counting_searcher(int n) { return std::make_unique<Counting>(n); }

void Recorder::on_trial_restore(const Trial& trial, const Checkpoint* checkpoint) {
  add("restore", trial);
  lines_.back() += " from " + std::to_string(checkpoint != nullptr ? checkpoint->iteration : 0);
}

void Recorder::on_trial_result(const Trial& trial, Result& result) {
  add("result", trial);
  lines_.back() += " at " + std::to_string(result.training_iteration);
}

void Recorder::on_checkpoint(const Trial& trial, const Checkpoint& checkpoint) {
  add("checkpoint", trial);
  lines_.back() += " at " + std::to_string(checkpoint.iteration);
}

Harness::Harness() {
  spec.name = "exp";
  spec.command = {"fake"};
  spec.snapshot_period_s = 1e9;  // `events` are all there ever were
  program.step = [](const Json&, std::int64_t iteration) {
    return FakeStep{.metrics =
                        R"({"loss":)" + std::to_string(1.0 / static_cast<double>(iteration)) + "}"};
  };
}

LoopEnd Harness::run() {
  auto given_scheduler = std::move(scheduler);
  const auto make_under = [&](const ExperimentSpec& in_force, int n) {
    return Policies{Suggester(make_searcher(n), {{"loss", Mode::min}}),
                    given_scheduler  ? std::move(given_scheduler)
                    : make_scheduler ? make_scheduler()
                                     : std::make_unique<Fifo>(),
                    make_stoppers(iterations, in_force.time_budget_s,
                                  make_more_stoppers ? make_more_stoppers()
                                                     : std::vector<std::unique_ptr<Stopper>>())};
  };
  const auto make_policies = [&] {
    Policies made = make_under(spec, trials);
    made.space = &space;
    made.remade = [&](const Json& fields) {
      return make_under(with(spec, fields), fields.value("num_samples", trials));
    };
    return made;
  };
  Policies policies;
  const LockOwner self{{"host", 1, 1}, clock.now()};
  std::vector<std::string> notices;
  const bool is_new = !ExperimentStore::exists(files, directory);
  Recovery recovery(experiment, policies, make_policies);
  if (is_new) recovery.restart();
  auto store = is_new ? ExperimentStore::create(files, directory, to_json(spec), self)
                      : ExperimentStore::open(files, directory, self, recovery, notices);
  ensure(!recovery.difference(),
         "policies answer a replay as they did: " + recovery.difference().value_or(""));

  const bool takes_over = left_behind != nullptr;
  auto own_executor =
      takes_over ? std::move(left_behind) : std::make_unique<FakeExecutor>(clock, files, program);
  FakeExecutor& fake = *own_executor;
  fake.die(std::exchange(killed_at, never_s));
  fake.die_at_use(std::exchange(dies_at_use, 0));
  for (const auto& [time, node] : std::exchange(nodes_lost, {})) fake.lose_node(time, node);
  for (const auto& [time, node] : std::exchange(joins, {})) fake.at(time, NodeJoined{node});
  for (const auto& [time, ending] : std::exchange(endings, {})) fake.at(time, ending);
  fake.bad_nodes = bad_nodes;
  fake.becomes_bad = becomes_bad;
  executor = &fake;
  for (const auto& [time, signal] : signals) fake.at(time, Interrupted{signal});
  signals.clear();
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    fake.at(wishes[i].first, ControlAsked{ControlId{i}, wishes[i].second});
  }
  wishes.clear();
  if (freeze) fake.freeze(freeze->first, freeze->second);
  freeze.reset();
  auto all = std::move(callbacks);
  callbacks.clear();
  all.push_back(std::make_unique<Recorder>(told));
  CallbackList list(std::move(all));
  Workers workers(Workers::Threads::none, [&fake] { fake.wake(); });
  policies.searcher.work_beside(workers);
  EventCommitter committer(experiment, policies, store, workers, clock, recovery.take_changes());
  Snapshots snapshots(committer, policies, store, workers, list, to_json(spec),
                      spec.snapshot_period_s);
  CheckpointStore checkpoints(files, directory);
  CheckpointManager checkpoint_manager(committer, workers, checkpoints, list,
                                       spec.checkpoint_config);
  const ResumeOptions asked = std::exchange(resume, {});
  const std::set<TrialId> only(asked.trials.begin(), asked.trials.end());
  adopted = {};
  if (takes_over) {
    const std::vector<NodeResources> one = {{"host", resources, {}}};
    const auto& all_nodes = nodes.empty() ? one : nodes;
    adopted = plan_adoption(experiment, spec, all_nodes, fake.kept(), only);
    fake.keep_only(adopted.launches());
  }
  committer.commit(SessionStarted{"host", 1, "test"});
  std::set<TrialId> spared;
  for (const Adoption& each : adopted.adopted) spared.insert(each.trial);
  committer.interrupt_running("died", spared);
  DiskGuard disk(files, workers, committer, list, directory, spec.min_free_bytes);
  const ResumePlan plan = plan_resume(experiment, asked, nullptr, false, *policies.scheduler);
  for (const auto& requeued : plan.requeued) checkpoint_manager.requeue(requeued);
  for (const auto& released : plan.released) committer.commit(released);
  Loop loop(spec,
            {.launch = {.experiment_dir = trials_place},
             .resources = resources,
             .nodes = nodes,
             .supply = supply,
             .interrupt_grace_s = 30,
             .only = only,
             .adoption = adopted,
             .disk = &disk,
             .memory = memory,
             .look = look,
             .change_spec = with,
             .complete_config =
                 [](const Json& given, TrialId) {
                   if (!given.contains("x")) throw user_error("there is no x");
                   return Suggestion{given, "x=" + given.at("x").dump()};
                 }},
            committer, policies, fake, fake, workers, checkpoint_manager, snapshots, list);
  const auto require_none_left = [&fake] { ensure(fake.live() == 0, "no process is left behind"); };
  const LoopEnd end = [&] {
    try {
      return loop.run();
    } catch (const DriverDies&) {
      executor = nullptr;
      left_behind = std::move(own_executor);
      throw;
    } catch (...) {
      require_none_left();
      throw;
    }
  }();
  require_none_left();
  snapshots_taken += store.cost().snapshots;
  answers.clear();
  for (auto& [id, answer] : fake.answers) answers.push_back(std::move(answer));
  launches += fake.launches;
  waits += fake.waits;
  most_live = std::max(most_live, fake.most_live);
  specs.insert(specs.end(), fake.specs.begin(), fake.specs.end());
  return end;
}

bool Harness::run_until_killed(Seconds time, Seconds without_driver_s) {
  killed_at = time;
  try {
    (void)run();
    return false;
  } catch (const DriverDies&) {
  }
  const Seconds until = clock.time + without_driver_s;
  std::vector<Wakeup> unheard;
  while (clock.time < until) left_behind->wait(until, unheard);
  return true;
}

std::vector<Event> Harness::events() {
  struct : StateReader {
    void restart() override { all.clear(); }
    void on_event(Event&& event) override { all.push_back(std::move(event)); }
    std::vector<Event> all;
  } reader;
  std::vector<std::string> notices;
  ExperimentStore::read(files, directory, reader, notices);
  return std::move(reader.all);
}

std::string Harness::journal() {
  std::string text;
  for (const auto& event : events()) {
    append_json(text, event);
    text += '\n';
  }
  return text;
}

std::vector<std::string> Harness::checkpoint_dirs(int i) {
  std::vector<std::string> names;
  const auto directory_of = paths::trial(directory, TrialId{static_cast<std::uint32_t>(i)});
  if (!files.exists(directory_of)) return names;
  for (const auto& entry : files.list(directory_of)) {
    if (entry.is_directory && entry.name != "work") names.push_back(entry.name);
  }
  return names;
}

}  // namespace tune
