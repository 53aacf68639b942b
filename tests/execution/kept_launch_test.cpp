// What is kept of launches for the next driver.
#include "tuner/execution/kept_launch.h"

#include "tests/support/catch.h"

using namespace tune;

namespace {

/// One launch, which has said hello and was told to train.
struct Kept {
  Kept() {
    launches.launch(LaunchId{1}, {});
    launches.note(Launched{LaunchId{1}, 4711, 9, 5});
    launches.note(Greeted{LaunchId{1}, {.can_save = true}});
    launches.send(LaunchId{1}, protocol::Start{.trial_id = "trial_00003", .attempt = 2}, 10);
    launches.send(LaunchId{1}, protocol::Step{7}, 11);
  }
  KeptLaunch one() const { return launches.all(15).at(0); }

  KeptLaunches launches;
};

}  // namespace

TEST_CASE("A command clears what was said before it, and what is said after it is kept",
          "[execution][unit]") {
  Kept kept;
  CHECK(kept.one().started.pid == 4711);
  CHECK(kept.one().hello->can_save);
  CHECK(kept.one().trial == "trial_00003");
  CHECK(kept.one().told == KeptLaunch::Told::step);
  CHECK(kept.one().iteration == 7);
  CHECK(kept.one().told_for_s == 4);
  kept.launches.note(Reported{.launch = LaunchId{1}, .iteration = 7, .done = true});
  REQUIRE(kept.one().since.size() == 1);
  CHECK(kept.one().is_done);
  kept.launches.send(LaunchId{1}, protocol::Save{"/x", 7}, 12);
  CHECK(kept.one().since.empty());
  CHECK(kept.one().is_done);
  CHECK(kept.one().directory == "/x");
  kept.launches.signal(LaunchId{1});
  CHECK(kept.one().told == KeptLaunch::Told::stop);
}

TEST_CASE("A process that is reset is another trial's, with that one's logs", "[execution][unit]") {
  Kept kept;
  kept.launches.note(CheckpointFound{LaunchId{1}, 7, {"/x", "a", true, {}}});
  kept.launches.send(
      LaunchId{1},
      protocol::Start{
          .reset = true, .trial_id = "trial_00004", .stdout_log = "/o", .stderr_log = "/e"},
      20);
  CHECK(kept.one().trial == "trial_00004");
  CHECK(kept.one().spec.stderr_path == "/e");
  CHECK(kept.one().started.stderr_begin == 0);
  CHECK(kept.one().found.empty());
}

TEST_CASE("Of what is saved under one name the newest is kept", "[execution][unit]") {
  Kept kept;
  for (const std::int64_t iteration : {1, 2}) {
    kept.launches.note(CheckpointFound{LaunchId{1}, iteration, {"/x", "a", true, {}}});
  }
  REQUIRE(kept.one().found.size() == 1);
  CHECK(kept.one().found[0].iteration == 2);
}

TEST_CASE("Who talks without end, and launches that have ended, take no more than some memory",
          "[execution][unit]") {
  Kept kept;
  for (int i = 0; i < 1000; ++i) kept.launches.note(Reported{.launch = LaunchId{1}});
  CHECK(kept.one().since.size() < 20);
  kept.launches.note(Exited{LaunchId{1}});
  CHECK(kept.one().has_ended);
  CHECK(std::holds_alternative<Exited>(kept.one().since.back()));
  for (std::uint64_t id = 2; id < 2000; ++id) {
    kept.launches.launch(LaunchId{id}, {});
    kept.launches.note(Exited{LaunchId{id}});
  }
  kept.launches.launch(LaunchId{5000}, {});
  const auto all = kept.launches.all(0);
  CHECK(all.size() < 300);
  CHECK(all.back().launch == LaunchId{5000});
}
