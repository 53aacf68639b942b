// Which checkpoints leave the disk, and who waits for one that is to come back. The remote is a
// map.
#include "tuner/run/checkpoints/evictions.h"

#include "tests/loop/harness.h"
#include "tests/loop/map_replicator.h"
#include "tests/support/catch.h"
#include "tuner/checkpoints/checkpoint_store.h"
#include "tuner/model/paths.h"

using namespace tune;

namespace {

/// A trial with checkpoints 1 to 5 on a disk in memory.
struct Shelf {
  Shelf() {
    trial.id = TrialId{0};
    for (int index = 1; index <= 5; ++index) {
      files.put(store.begin({trial.id, index}, 1) / "state", std::to_string(index));
      store.commit({.checkpoint = {trial.id, index}, .attempt = 1, .iteration = index});
      Checkpoint checkpoint;
      checkpoint.index = index;
      trial.checkpoints.push_back(checkpoint);
    }
  }
  void apply(std::set<int> in_use = {}) {
    evictions.apply(trial, [&](int index) { return in_use.contains(index); });
  }
  std::vector<int> evicted() {
    std::vector<int> found;
    for (int index = 1; index <= 5; ++index) {
      if (store.is_evicted({trial.id, index})) found.push_back(index);
    }
    return found;
  }
  /// As the replicator does.
  void arrive(int index, std::string content) {
    const auto aside = store.begin({trial.id, index}, 0);
    files.put(aside / "state", content);
    files.put(paths::manifest(aside),
              find_evicted(files, store.locate({trial.id, index}))->manifest);
    evictions.take({{{trial.id, index}, ""}});
    workers.run_completions();
  }

  MemoryFileSystem files;
  CheckpointStore store{files, "/exp"};
  Workers workers{Workers::Threads::none, [] {}};
  CallbackList callbacks{{}};
  MapMirror replicator;
  Evictions evictions{workers, store, callbacks, &replicator};
  Trial trial;
};

}  // namespace

TEST_CASE("Those that are up leave the disk, but for the newest and those in use", "[eviction]") {
  Shelf shelf;
  shelf.replicator.up = {1, 2, 3, 4, 5};
  SECTION("the newest two stay") {
    shelf.apply();
    CHECK(shelf.evicted() == std::vector{1, 2, 3});
  }
  SECTION("what is in use stays") {
    shelf.apply({2});
    CHECK(shelf.evicted() == std::vector{1, 3});
  }
  SECTION("what is not up stays") {
    shelf.replicator.up = {2};
    shelf.apply();
    CHECK(shelf.evicted() == std::vector{2});
  }
  SECTION("without a limit all stay") {
    shelf.replicator.limit.reset();
    shelf.apply();
    CHECK(shelf.evicted().empty());
  }
}

TEST_CASE("Who wants a checkpoint that is leaving waits until it has left", "[eviction]") {
  Shelf shelf;
  shelf.replicator.up = {1};
  shelf.apply();
  bool goes_on = false;
  shelf.evictions.when_settled({shelf.trial.id, 1}, [&] { goes_on = true; });
  CHECK_FALSE(goes_on);
  shelf.workers.run_completions();
  CHECK(goes_on);
  goes_on = false;
  shelf.evictions.when_settled({shelf.trial.id, 2}, [&] { goes_on = true; });
  CHECK(goes_on);
}

TEST_CASE("A fetch is one for all who wait, and what came wrong is fetched three times",
          "[eviction]") {
  Shelf shelf;
  shelf.replicator.up = {1};
  shelf.apply();
  shelf.workers.run_completions();
  std::vector<std::string> answers;
  const auto note = [&](const Evictions::Fetch& fetch) { answers.push_back(fetch.lost); };
  shelf.evictions.fetch({shelf.trial.id, 1}, note);
  shelf.evictions.fetch({shelf.trial.id, 1}, note);
  CHECK(shelf.replicator.fetches == std::vector{1});
  SECTION("it comes") {
    shelf.arrive(1, "1");
    CHECK(answers == std::vector<std::string>{"", ""});
    CHECK_FALSE(shelf.store.verify({shelf.trial.id, 1}));
    shelf.apply();  // nobody needs it any more
    CHECK(shelf.evicted() == std::vector{1});
  }
  SECTION("it comes wrong") {
    shelf.arrive(1, "x");
    shelf.arrive(1, "x");
    CHECK(answers.empty());
    shelf.arrive(1, "x");
    CHECK(shelf.replicator.fetches == std::vector{1, 1, 1});
    REQUIRE(answers.size() == 2);
    CHECK(answers[0].find("far:/trial_00000/checkpoint_000001.3f9c") == 0);
    CHECK(shelf.evicted() == std::vector{1});
  }
  SECTION("the remote has lost it") {
    shelf.evictions.take({{{shelf.trial.id, 1}, "it is gone"}});
    CHECK(answers == std::vector<std::string>{"it is gone", "it is gone"});
  }
}
