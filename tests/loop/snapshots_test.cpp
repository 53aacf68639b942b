// Snapshots and compaction under the loop, in virtual time: what is recovered is what was there.
#include "tests/loop/harness.h"
#include "tests/support/catch.h"
#include "tests/support/stride.h"
#include "tuner/base/error.h"
#include "tuner/model/paths.h"
#include "tuner/run/commit/recovery.h"
#include "tuner/run/commit/trial_changes.h"

using namespace tune;

namespace {

class PauseAtTwo : public Scheduler {
 public:
  Decision on_result(const Trial& trial, const Result& result) override {
    const bool pause = result.training_iteration == 2 && paused_.insert(trial.id).second;
    return {pause ? Action::pause : Action::proceed, false};
  }
  Json save() const override {
    Json saved = Json::array();
    for (const TrialId id : paused_) saved.push_back(index_of(id));
    return saved;
  }
  void load(const Json& state) override {
    paused_.clear();
    for (const auto& id : state) paused_.insert(TrialId{id.get<std::uint32_t>()});
  }

 private:
  std::set<TrialId> paused_;
};

/// Wants to be asked for its state by way of a copy, which does not change with it.
class CopiedAtTwo : public PauseAtTwo {
 public:
  explicit CopiedAtTwo(int& asked) : asked_(asked) {}
  std::unique_ptr<Scheduler> copy() const override { return std::make_unique<PauseAtTwo>(*this); }
  Json save() const override {
    ++asked_;
    return PauseAtTwo::save();
  }

 private:
  int& asked_;
};

/// Keeps a number that it wants back.
class Counter : public Callback {
 public:
  explicit Counter(int& count) : count_(count) {}
  std::string name() const override { return "counter"; }
  void on_trial_complete(const Trial&) override { ++count_; }
  Json save() const override { return {{"count", count_}}; }
  void load(const Json& state) override { count_ = state.at("count"); }

 private:
  int& count_;
};

void make_rich(Harness& harness, int& failures) {
  harness.trials = 6;
  harness.iterations = 4;
  harness.spec.snapshot_period_s = 1;
  harness.spec.checkpoint_config = {.num_to_keep = 2,
                                    .checkpoint_score_attribute = "loss",
                                    .checkpoint_frequency = 1,
                                    .checkpoint_at_end = true};
  harness.spec.failure_config.max_failures = 1;
  harness.make_scheduler = [] { return std::make_unique<PauseAtTwo>(); };
  harness.program.step = [&failures](const Json& config, std::int64_t iteration) {
    FakeStep step{.metrics = R"({"loss":"NaN","deep":{"er":1.5},"word":"a \"metrics\": b"})",
                  .takes_s = 0.3};
    if (config["x"] == 2 && iteration == 3 && failures++ == 0) step.exits = 3;
    return step;
  };
}

/// Lines of trials that are too long to wait in memory.
void make_long(Harness& harness) {
  harness.trials = 12;
  harness.iterations = 2;
  harness.program.step = [](const Json&, std::int64_t) {
    return FakeStep{.metrics = R"({"loss":1,"text":")" + std::string(200'000, 'x') + "\"}",
                    .takes_s = 0.5};
  };
}

std::string recovered(Harness& harness) {
  Experiment experiment;
  ExperimentReader reader(experiment);
  std::vector<std::string> notices;
  ExperimentStore::read(harness.files, Harness::directory, reader, notices);
  CHECK(notices.empty());
  return experiment.save();
}

class StateKeeper : public Callback {
 public:
  StateKeeper(Harness& harness, std::size_t& compared) : harness_(harness), compared_(compared) {}
  std::string name() const override { return "keeper"; }
  void on_step_end(const Experiment& experiment) override {
    ++compared_;
    REQUIRE(recovered(harness_) == experiment.save());
  }

 private:
  Harness& harness_;
  std::size_t& compared_;
};

}  // namespace

TEST_CASE("Snapshot and journal give back the state of every turn", "[snapshots][prefix]") {
  Harness harness;
  int failures = 0;
  make_rich(harness, failures);
  std::size_t compared = 0;
  harness.callbacks.push_back(std::make_unique<StateKeeper>(harness, compared));
  (void)harness.run();
  CHECK(harness.experiment.count(TrialState::terminated) == 6);
  CHECK(harness.snapshots_taken >= 3);
  CHECK(compared > 50);
  CHECK(recovered(harness) == harness.experiment.save());
}

TEST_CASE("A snapshot has the state of a scheduler's copy, and leaves the scheduler alone",
          "[snapshots]") {
  Harness harness;
  int failures = 0;
  int asked = 0;
  make_rich(harness, failures);
  harness.make_scheduler = [&] { return std::make_unique<CopiedAtTwo>(asked); };
  (void)harness.run();
  CHECK(harness.snapshots_taken >= 3);
  CHECK(asked == 0);
  const auto state = ExperimentStore::read_snapshot_state(harness.files, Harness::directory);
  REQUIRE(state.has_value());
  CHECK(state->at("policies").at("scheduler") == Json::array({0, 1, 2, 3, 4, 5}));
}

TEST_CASE("Compaction keeps two generations and one file of trials", "[snapshots]") {
  Harness harness;
  int failures = 0;
  make_rich(harness, failures);
  (void)harness.run();
  const auto generation = current_generation(harness.files, Harness::directory);
  REQUIRE(generation > 3);
  std::vector<std::string> expected = {"CURRENT", "experiment.json", "history.jsonl"};
  for (const int g : {generation - 1, generation}) {
    expected.push_back("journal-" + std::to_string(g) + ".jsonl");
  }
  for (const int g : {generation - 1, generation}) {
    expected.push_back("snapshot-" + std::to_string(g) + ".json");
  }
  expected.push_back("trials-1.jsonl");
  std::vector<std::string> names;
  for (const auto& entry : harness.files.list(Harness::directory)) {
    if (!entry.is_directory) names.push_back(entry.name);
  }
  CHECK(names == expected);
  CHECK(harness.experiment.cost().publish_cpu_s > 0);
}

TEST_CASE("A snapshot costs what has changed, not how many trials there are", "[snapshots]") {
  Harness harness;
  harness.trials = 400;
  harness.iterations = 1;
  harness.spec.snapshot_period_s = 5;
  (void)harness.run();
  REQUIRE(harness.snapshots_taken >= 30);
  const auto trials = harness.files.read("/exp/trials-1.jsonl");
  // Each once when it has ended; once more if a snapshot found it under way.
  const auto lines = static_cast<std::size_t>(std::count(trials.begin(), trials.end(), '\n'));
  CHECK(lines <= 401 + 4 * harness.snapshots_taken);
}

TEST_CASE("Trials that have ended do not wait in memory for the next snapshot", "[snapshots]") {
  Harness harness;
  make_long(harness);
  harness.spec.snapshot_period_s = 1e6;
  std::size_t compared = 0;
  harness.callbacks.push_back(std::make_unique<StateKeeper>(harness, compared));
  (void)harness.run();
  CHECK(harness.snapshots_taken == 0);
  // What nothing points at yet does not count.
  CHECK(harness.files.read("/exp/trials-1.jsonl").size() > 1'000'000);
  CHECK(compared > 10);
  CHECK(recovered(harness) == harness.experiment.save());
}

TEST_CASE("Trials that could not be written ahead of a snapshot are in it", "[snapshots]") {
  Harness harness;
  make_long(harness);
  harness.spec.snapshot_period_s = 4;
  // Whenever the file of trials would grow.
  std::uint64_t failed = 0;
  harness.files.on_call([&] {
    const bool has_snapshot = harness.files.exists("/exp/snapshot-2.json");
    if (!has_snapshot && harness.files.exists("/exp/trials-1.jsonl") && failed == 0) {
      ++failed;
      harness.files.fail_operation(1, ENOSPC);
    }
  });
  (void)harness.run();
  CHECK(failed == 1);
  CHECK(harness.experiment.count(TrialState::terminated) == 12);
  CHECK(harness.snapshots_taken > 0);
  CHECK(recovered(harness) == harness.experiment.save());
}

TEST_CASE("A callback's state comes back from a snapshot", "[snapshots][callback]") {
  Harness harness;
  int failures = 0;
  make_rich(harness, failures);
  int count = 0;
  harness.callbacks.push_back(std::make_unique<Counter>(count));
  harness.files.on_call([&harness] {
    // Dies some time after a snapshot with a trial that has ended.
    if (harness.clock.time > 3) {
      harness.files.die_at_operation(1);
    }
  });
  CHECK_THROWS_AS(harness.run(), Error);
  harness.files.on_call({});
  harness.files.restart();
  const int before = std::exchange(count, -1);
  std::vector<std::unique_ptr<Callback>> given;
  given.push_back(std::make_unique<Counter>(count));
  CallbackList callbacks(std::move(given));
  Experiment experiment;
  ExperimentReader reader(experiment);
  std::vector<std::string> notices;
  ExperimentStore::read(harness.files, Harness::directory, reader, notices);
  CallbackReplay replay(callbacks, experiment);
  ExperimentStore::read(harness.files, Harness::directory, replay, notices);
  CHECK(count > 0);
  CHECK(count <= before);
}

TEST_CASE("A snapshot waits for callbacks' files, and is given up where they cannot be written",
          "[snapshots][callback]") {
  class Loser : public Callback {
   public:
    std::string name() const override { return "loser"; }
    DurableFlush flush_durable() override {
      return [](const std::stop_token&) {
        throw machine_error("cannot write /exp/trial_00000/result.json: no space");
      };
    }
  };
  Harness harness;
  int failures = 0;
  make_rich(harness, failures);
  harness.callbacks.push_back(std::make_unique<Loser>());
  (void)harness.run();
  CHECK(harness.snapshots_taken == 0);
  CHECK(current_generation(harness.files, Harness::directory) == 1);
  CHECK(std::count(harness.told.begin(), harness.told.end(),
                   "notice no snapshot could be taken, the journal goes on alone: cannot write "
                   "/exp/trial_00000/result.json: no space") == 1);
  // All journals since, in a chain.
  CHECK(harness.files.exists("/exp/journal-3.jsonl"));
  CHECK(recovered(harness) == harness.experiment.save());
}

TEST_CASE("The end of a run does not wait for a snapshot that waits for callbacks' files",
          "[snapshots][callback]") {
  class Watcher : public Callback {
   public:
    explicit Watcher(std::stop_token& told) : told_(told) {}
    std::string name() const override { return "watcher"; }
    DurableFlush flush_durable() override {
      return [this](const std::stop_token& stop) {
        CHECK_FALSE(stop.stop_requested());
        told_ = stop;
      };
    }

   private:
    std::stop_token& told_;
  };
  std::stop_token told;
  Harness harness;
  int failures = 0;
  make_rich(harness, failures);
  harness.callbacks.push_back(std::make_unique<Watcher>(told));
  (void)harness.run();
  CHECK(harness.snapshots_taken > 0);
  CHECK(told.stop_requested());
}

TEST_CASE("Once nothing is left to run no snapshot is taken, however long the last processes live",
          "[snapshots]") {
  Harness harness;
  harness.trials = 2;
  harness.spec.snapshot_period_s = 10;
  harness.spec.reuse_processes = true;  // so that trials end before their processes
  harness.program.can_reset = true;
  harness.program.exit_s = 30;
  harness.program.step = [](const Json&, std::int64_t) {
    return FakeStep{.metrics = "{}", .takes_s = 1};
  };
  const Seconds begin = harness.clock.time;
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.trial(1).ended > 0);
  CHECK(harness.clock.time - begin > 30);
  CHECK(harness.snapshots_taken == 0);
}

TEST_CASE("A snapshot that fails is tried again after twice as long each time", "[snapshots]") {
  class Loser : public Callback {
   public:
    Loser(const VirtualClock& clock, std::vector<Seconds>& tries) : clock_(clock), tries_(tries) {}
    std::string name() const override { return "loser"; }
    DurableFlush flush_durable() override {
      return [this](const std::stop_token&) {
        tries_.push_back(clock_.time);
        throw machine_error("no space");
      };
    }

   private:
    const VirtualClock& clock_;
    std::vector<Seconds>& tries_;
  };
  std::vector<Seconds> tries;
  Harness harness;
  harness.trials = 2;
  harness.iterations = 400;
  harness.spec.snapshot_period_s = 10;
  harness.callbacks.push_back(std::make_unique<Loser>(harness.clock, tries));
  (void)harness.run();
  REQUIRE(tries.size() > 4);
  for (std::size_t i = 2; i + 1 < tries.size(); ++i) {
    CHECK(tries[i] - tries[i - 1] > 1.5 * (tries[i - 1] - tries[i - 2]));
  }
}

TEST_CASE("The period of snapshots grows with what they cost", "[snapshots]") {
  Harness harness;
  harness.trials = 100;
  harness.iterations = 2;
  harness.spec.snapshot_period_s.reset();
  SECTION("ten seconds if they cost nothing") {
    (void)harness.run();
    CHECK(harness.snapshots_taken == static_cast<std::uint64_t>(harness.clock.time / 10));
  }
  SECTION("nineteen times what they take") {
    class Slow : public Callback {
     public:
      explicit Slow(VirtualClock& clock) : clock_(clock) {}
      std::string name() const override { return "slow"; }
      DurableFlush flush_durable() override {
        return [this](const std::stop_token&) { clock_.time += 2; };
      }

     private:
      VirtualClock& clock_;
    };
    harness.callbacks.push_back(std::make_unique<Slow>(harness.clock));
    (void)harness.run();
    // At 10 s, and then each time 2 s and nineteen times as much later.
    REQUIRE(harness.clock.time > 60);
    CHECK(harness.snapshots_taken >= 2);
    CHECK(harness.snapshots_taken <= static_cast<std::uint64_t>((harness.clock.time + 30) / 40));
  }
}

TEST_CASE("Killed at any operation of the disk, also within a snapshot, the run ends as if never",
          "[snapshots][crash]") {
  const bool power_fails = GENERATE(false, true);
  int killed = 0;
  std::uint64_t total = 0;
  for (std::uint64_t k = 1;; k += 2 * test::stride) {
    CAPTURE(k, power_fails);
    Harness harness;
    int failures = 0;
    make_rich(harness, failures);
    harness.trials = 3;
    harness.files.die_at_operation(k, 11);
    try {
      (void)harness.run();
      break;
    } catch (const Error&) {
    }
    ++killed;
    power_fails ? harness.files.crash() : harness.files.restart();
    (void)harness.run();
    REQUIRE(harness.experiment.count(TrialState::terminated) == 3);
    for (const auto& trial : harness.experiment.trials()) REQUIRE(trial.iteration == 4);
    REQUIRE(recovered(harness) == harness.experiment.save());
    total += harness.snapshots_taken;
  }
  CHECK(killed > 100 / test::stride);
  CHECK(total > 100 / test::stride);
}

TEST_CASE("Killed while trials are written ahead of a snapshot, the run ends as if never",
          "[snapshots][crash]") {
  const bool power_fails = GENERATE(false, true);
  int killed = 0;
  int ahead = 0;
  for (std::uint64_t k = 1;; k += 2 * test::stride) {
    CAPTURE(k, power_fails);
    Harness harness;
    make_long(harness);
    harness.trials = 7;
    harness.iterations = 1;
    harness.spec.snapshot_period_s = 3;
    harness.files.die_at_operation(k, 150'000);
    try {
      (void)harness.run();
      break;
    } catch (const Error&) {
    }
    ++killed;
    power_fails ? harness.files.crash() : harness.files.restart();
    if (harness.files.exists("/exp/trials-1.jsonl") &&
        !harness.files.exists("/exp/snapshot-2.json")) {
      ++ahead;
    }
    (void)harness.run();
    REQUIRE(harness.experiment.count(TrialState::terminated) == 7);
    REQUIRE(recovered(harness) == harness.experiment.save());
  }
  CHECK(killed > 25 / test::stride);
  CHECK(ahead > 2 / test::stride);
}

TEST_CASE("A donor's damaged checkpoint changes its clone, too", "[snapshots]") {
  TrialChanges changes;
  changes.note({1, 1, CheckpointDamaged{TrialId{3}, 1, "bytes", TrialId{5}}});
  std::vector<TrialId> taken;
  changes.take_all([&](TrialId trial) { taken.push_back(trial); });
  CHECK(taken == std::vector{TrialId{3}, TrialId{5}});
}
