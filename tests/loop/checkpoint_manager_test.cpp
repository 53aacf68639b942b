// The checkpoint manager with a disk in memory: in which order saves of one trial are committed.
#include "tuner/run/checkpoints/checkpoint_manager.h"

#include "tests/loop/harness.h"
#include "tests/loop/map_replicator.h"
#include "tests/support/catch.h"
#include "tuner/checkpoints/checkpoint_store.h"
#include "tuner/checkpoints/evicted.h"
#include "tuner/model/paths.h"
#include "tuner/policy/stopper_catalogue.h"

using namespace tune;

namespace {

class AnyOrder : public Scheduler {
 public:
  Decision on_result(const Trial&, const Result&) override { return {}; }
};

/// Two trials that run, and work that is done where it is posted; what follows from it waits for
/// `workers.run_completions`.
struct Desk {
  explicit Desk(CheckpointConfig given = {}) : config(given) {
    for (const std::uint32_t i : {0U, 1U}) {
      committer.commit(TrialAdded{TrialId{i}, "{}", "", ""});
      committer.commit(AttemptStarted{TrialId{i}, 1, 0, {}, std::nullopt});
    }
  }

  Save written(TrialId trial) {
    Save save;
    save.trial = trial;
    save.attempt = 1;
    save.checkpoint.index = checkpoint_manager.take_index(trial);
    files.put(checkpoints.begin({trial, save.checkpoint.index}, 1) / "state", "x");
    return save;
  }
  void commit(Save save) {
    checkpoint_manager.commit(std::move(save), [this](bool whole) { committed += whole ? 1 : 0; });
  }
  bool is_on_disk(TrialId trial, int index) {
    return files.exists(checkpoints.locate({trial, index}));
  }
  std::vector<int> recorded(std::size_t trial) {
    std::vector<int> indices;
    for (const auto& checkpoint : experiment.trials()[trial].checkpoints) {
      indices.push_back(checkpoint.index);
    }
    return indices;
  }

  const CheckpointConfig config;
  VirtualClock clock;
  MemoryFileSystem files;
  Experiment experiment;
  Policies policies{Suggester(make_counting_searcher(2), {{"loss", Mode::min}}),
                    std::make_unique<AnyOrder>(), make_max_iteration(9)};
  ExperimentStore store =
      ExperimentStore::create(files, "/exp", Json::object(), LockOwner{{"host", 1, 1}, 0});
  Workers workers{Workers::Threads::none, [] {}};
  EventCommitter committer{experiment, policies, store, workers, clock};
  CheckpointStore checkpoints{files, "/exp"};
  std::vector<std::string> told;
  CallbackList callbacks{[this] {
    std::vector<std::unique_ptr<Callback>> all;
    all.push_back(std::make_unique<Recorder>(told));
    return all;
  }()};
  MapMirror replicator;
  CheckpointManager checkpoint_manager{committer, workers, checkpoints,
                                       callbacks, config,  &replicator};
  int committed = 0;
};

constexpr TrialId one{0};
constexpr TrialId other{1};

}  // namespace

TEST_CASE("A later save of a trial is not committed before the earlier one is recorded",
          "[checkpoint_manager][checkpoint]") {
  Desk desk;
  desk.commit(desk.written(one));
  desk.commit(desk.written(one));
  desk.commit(desk.written(other));
  CHECK(desk.is_on_disk(one, 1));
  CHECK_FALSE(desk.is_on_disk(one, 2));
  CHECK(desk.is_on_disk(other, 1));  // nobody waits for another trial
  while (desk.workers.run_completions() > 0) {
  }
  CHECK(desk.recorded(0) == std::vector{1, 2});
  CHECK(desk.recorded(1) == std::vector{1});
  CHECK(desk.committed == 3);
}

TEST_CASE("A save that fails holds up none after it", "[checkpoint_manager][checkpoint]") {
  Desk desk;
  const Save first = desk.written(one);
  desk.files.put_socket("/exp/trial_00000/.checkpoint_000001.tmp-1/socket");
  desk.commit(first);
  desk.commit(desk.written(one));
  while (desk.workers.run_completions() > 0) {
  }
  CHECK(desk.recorded(0) == std::vector{2});
  CHECK(desk.committed == 1);
  CHECK(desk.experiment.trials()[0].failed_saves == 1);
}

TEST_CASE("A checkpoint that somebody needs stays until nobody does",
          "[checkpoint_manager][checkpoint]") {
  Desk desk(CheckpointConfig{.num_to_keep = 1});
  const auto save = [&] {
    desk.commit(desk.written(one));
    while (desk.workers.run_completions() > 0) {
    }
  };
  save();
  desk.checkpoint_manager.pin(one, 1);
  desk.checkpoint_manager.pin(one, 1);
  save();
  CHECK(desk.recorded(0) == std::vector{1, 2});
  desk.checkpoint_manager.unpin(one, 1);
  CHECK(desk.recorded(0) == std::vector{1, 2});
  desk.checkpoint_manager.unpin(one, 1);
  CHECK(desk.recorded(0) == std::vector{2});
  desk.committer.write();
  desk.committer.sync_if_due();
  while (desk.workers.run_completions() > 0) {
  }
  CHECK_FALSE(desk.is_on_disk(one, 1));
  desk.callbacks.deliver();
  for (const std::string& line : desk.told) CHECK_FALSE(line.starts_with("notice"));
}

TEST_CASE("What is refused of a hand-over is a save that failed, and a number used up",
          "[checkpoint_manager][checkpoint]") {
  Desk desk;
  desk.files.put("/exp/trial_00000/work/note", "");
  Save save;
  save.trial = one;
  save.attempt = 1;
  save.checkpoint.index = desk.checkpoint_manager.take_index(one);
  int refused = 0;
  desk.checkpoint_manager.adopt_checkpoint(
      save, {"note"}, [&](const std::optional<Save>& taken) { refused += !taken; });
  while (desk.workers.run_completions() > 0) {
  }
  CHECK(refused == 1);
  CHECK(desk.experiment.trials()[0].failed_saves == 1);
  CHECK(desk.checkpoint_manager.take_index(one) == 2);
  CHECK(desk.files.exists("/exp/trial_00000/work/note"));
}

TEST_CASE("What is damaged here and whole on the remote is fetched, once for all who want it",
          "[checkpoint_manager][checkpoint]") {
  Desk desk;
  const auto flush_durable = [&] {
    while (desk.workers.run_completions() > 0) {
    }
  };
  for (int i = 0; i < 2; ++i) {
    desk.commit(desk.written(one));
    flush_durable();
  }
  const std::string manifest = desk.files.read(paths::manifest(desk.checkpoints.locate({one, 2})));
  desk.files.put(desk.checkpoints.locate({one, 2}) / "state", "y");
  std::vector<std::string> starts;
  const auto prepare = [&](TrialId trial) {
    desk.checkpoint_manager.prepare(
        trial, {}, [&](const CheckpointManager::Source& source, const std::string& error) {
          starts.push_back(std::to_string(source.checkpoint.index) + error);
        });
  };
  const auto arrive = [&](const std::string& content) {
    const auto aside = desk.checkpoints.begin({one, 2}, 0);
    desk.files.put(aside / "state", content);
    desk.files.put(paths::manifest(aside), manifest);
    write_evicted(desk.files, desk.checkpoints.locate({one, 2}),
                  {*desk.replicator.place({one, 2}), manifest});
    desk.replicator.news.fetched.push_back({{one, 2}, ""});
    desk.checkpoint_manager.look_at_mirror();
    flush_durable();
  };
  SECTION("it is on the remote") {
    desk.replicator.up = {1, 2};
    prepare(one);
    prepare(one);
    flush_durable();
    CHECK(desk.replicator.fetches == std::vector{2});
    CHECK(starts.empty());
    arrive("x");
    CHECK(starts == std::vector<std::string>{"2", "2"});
    CHECK(desk.recorded(0) == std::vector{1, 2});
    SECTION("and is damaged here once more") {
      desk.files.put(desk.checkpoints.locate({one, 2}) / "state", "y");
      prepare(one);
      flush_durable();
      CHECK(starts.back() == "1");
      CHECK(desk.recorded(0) == std::vector{1});
    }
  }
  SECTION("it is not on the remote") {
    desk.replicator.up = {1};
    prepare(one);
    flush_durable();
    CHECK(desk.replicator.fetches.empty());
    CHECK(starts == std::vector<std::string>{"1"});
  }
  SECTION("the remote has lost it, too") {
    desk.replicator.up = {1, 2};
    prepare(one);
    flush_durable();
    desk.replicator.news.fetched.push_back({{one, 2}, "it is gone"});
    desk.checkpoint_manager.look_at_mirror();
    flush_durable();
    CHECK(starts == std::vector<std::string>{"1"});
    CHECK(desk.recorded(0) == std::vector{1});
  }
}
