// Every pair of a worker group's state and what can happen in it, and the way out.
#include <csignal>
#include <random>

#include "tests/support/catch.h"
#include "tests/support/fake_executor.h"
#include "tests/support/memory_file_system.h"
#include "tests/support/worker_group_world.h"
#include "tuner/run/commit/after_commit.h"
#include "tuner/run/workers/worker_groups.h"

using namespace tune;

using State = WorkerGroup::State;
using StopLevel = WorkerGroup::StopLevel;

TEST_CASE("Every message in every state has one meaning", "[worker_group]") {
  for (const Row& row : worker_group_table()) {
    for (std::size_t i = 0; i < messages; ++i) {
      World world;
      row.is_reset ? world.go_to_reset(row.state) : world.go_to(row.state);
      const auto event = say(world.talk, static_cast<Message>(i), world.only());
      CAPTURE(to_string(row.state), i);
      CHECK(word(event) + ">" + to_string(world.talk.state()) == row.comes_to[i]);
    }
  }
}

TEST_CASE("Whoever refuses a reset that was not asked of it is not replaced", "[worker_group]") {
  World world;
  world.go_to(State::launching);
  const auto event = world.talk.on_wakeup(Refused{world.only()});
  CHECK(std::get<WorkerGroup::Failed>(event).reason ==
        "it refused a reset that it was not asked for");
  CHECK(world.notes.last == 1);
}

TEST_CASE("A process that refuses its reset is gone before another takes its place",
          "[worker_group]") {
  World world;
  world.go_to(State::idle);
  world.talk.begin(world.specs(), {});
  world.talk.step(1);
  CHECK(world.notes.take() == "reset step ");
  (void)world.talk.on_wakeup(Refused{world.only()});
  CHECK(world.notes.take() == "stop ");
  (void)world.talk.on_timeout();
  CHECK(world.notes.take() == "term ");
  (void)world.talk.on_timeout();
  CHECK(world.notes.take() == "kill ");
  CHECK(world.notes.live.size() == 1);
  (void)world.talk.on_wakeup(Exited{world.only(), 0, SIGKILL});
  CHECK(world.notes.take() == "launch ");
  world.all_greet();
  CHECK(world.notes.take() == "start ");
  CHECK(world.talk.state() == State::ready);
}

TEST_CASE("Who does not stay for another attempt has left, and says why", "[worker_group]") {
  World world;
  world.go_to(State::offered);
  (void)world.talk.on_wakeup(Refused{world.only(), "a thread is left"});
  CHECK(world.talk.state() == State::leaving);
  CHECK(world.talk.why_not_stayed() == "a thread is left");
  const auto event = world.talk.on_wakeup(Exited{world.only(), 0, 0});
  CHECK(std::holds_alternative<WorkerGroup::Gone>(event));
  CHECK(world.talk.state() == State::none);
}

TEST_CASE("A result that does not say so is no word of staying", "[worker_group]") {
  World world;
  world.go_to(State::offered);
  Reported late{.launch = world.only(), .done = true};
  (void)world.talk.on_wakeup(late);
  CHECK(world.talk.state() == State::offered);
  late.stays = true;
  CHECK(std::holds_alternative<WorkerGroup::Stayed>(world.talk.on_wakeup(late)));
  world.talk.begin(world.specs(), {});
  CHECK(world.notes.take() == "reset ");
  CHECK(world.talk.stop_level() == StopLevel::none);
}

TEST_CASE("Of several that may stay all leave if one does", "[worker_group]") {
  World world(2);
  world.go_to(State::offered);
  const auto ids = world.ids();
  Reported stays{.launch = ids[0], .done = true, .stays = true};
  (void)world.talk.on_wakeup(stays);
  CHECK(world.talk.state() == State::offered);
  (void)world.talk.on_wakeup(Exited{ids[1], 0, 0});
  CHECK(world.talk.state() == State::leaving);
  CHECK(world.notes.take() == "stop ");
}

TEST_CASE("An idle process that leaves by itself is replaced by a launch", "[worker_group]") {
  World world;
  world.go_to(State::idle);
  const bool is_gone = GENERATE(false, true);
  is_gone ? (void)world.talk.on_wakeup(Exited{world.only(), 0, 0})
          : world.talk.leave(StopLevel::request);
  world.notes.did.clear();
  world.talk.begin(world.specs(), {});
  if (!is_gone) {
    CHECK(world.notes.take().empty());
    (void)world.talk.on_wakeup(Exited{world.only(), 0, 0});
  }
  CHECK(world.notes.take() == "launch ");
}

TEST_CASE("Every way out is stop, SIGTERM, SIGKILL, and an end", "[worker_group]") {
  for (const State state :
       {State::launching, State::ready, State::stepping, State::saving, State::idle}) {
    CAPTURE(to_string(state));
    World world;
    world.go_to(state);
    world.talk.leave(StopLevel::request);
    world.talk.leave(StopLevel::request);
    CHECK(world.talk.deadline() == world.notes.now + 10);
    (void)world.talk.on_timeout();
    (void)world.talk.on_timeout();
    CHECK(world.notes.take() == "stop term kill ");
    CHECK(world.talk.deadline() == world.notes.now + 60);
    const auto event = world.talk.on_timeout();
    CHECK(std::get<WorkerGroup::Gone>(event).how == WorkerGroup::Gone::How::lost);
    CHECK(world.talk.state() == State::lost);
    CHECK(word(world.talk.on_wakeup(Exited{world.only(), 0, SIGKILL})) == "gone");
  }
}

TEST_CASE("Processes whose node is lost are gone, in whatever state they were", "[worker_group]") {
  for (const State state : {State::launching, State::ready, State::stepping, State::saving,
                            State::idle, State::leaving, State::offered}) {
    CAPTURE(to_string(state));
    World world;
    world.go_to(state);
    const auto event = world.talk.on_wakeup(Lost{world.only(), "node elm is lost"});
    const auto& gone = std::get<WorkerGroup::Gone>(event);
    CHECK(gone.how == WorkerGroup::Gone::How::node_lost);
    CHECK(gone.reason == "node elm is lost");
    CHECK_FALSE(world.talk.has_processes());
    CHECK(world.talk.state() == State::none);
  }
}

TEST_CASE("Who is killed at once is not asked before", "[worker_group]") {
  World world;
  world.go_to(State::stepping);
  world.talk.leave(StopLevel::sigkill);
  world.talk.leave(StopLevel::request);
  CHECK(world.notes.take() == "kill ");
}

TEST_CASE("Who is signalled is told to stop before, once", "[worker_group]") {
  World world;
  world.go_to(State::stepping);
  const bool is_asked_first = GENERATE(false, true);
  if (is_asked_first) world.talk.leave(StopLevel::request);
  world.talk.leave(StopLevel::sigterm);
  CHECK(world.notes.take() == "stop term ");
}

TEST_CASE("An answer that names another step or save is a failure, and one without a name is not",
          "[worker_group]") {
  const auto of = [](std::optional<std::int64_t> iteration) {
    World world;
    world.go_to(State::stepping);
    Reported reported{.launch = world.only(), .iteration = iteration};
    const auto stepped = world.talk.on_wakeup(reported);
    World other;
    other.go_to(State::saving);
    const auto saved =
        other.talk.on_wakeup(SaveAnswered{.launch = other.only(), .iteration = iteration});
    CHECK((word(saved) == "failed") == (word(stepped) == "failed"));
    return stepped;
  };
  CHECK(word(of(7)) == "stepped");
  CHECK(word(of({})) == "stepped");
  CHECK(std::get<WorkerGroup::Failed>(of(6)).reason ==
        "it answered iteration 6, and was asked for iteration 7: does it answer twice?");
}

TEST_CASE("Who has named what it answers names it always", "[worker_group]") {
  World world;
  world.go_to(State::stepping);
  Reported first{.launch = world.only(), .iteration = 7};
  CHECK(word(world.talk.on_wakeup(first)) == "stepped");
  world.talk.step(8);
  Reported second{.launch = world.only()};
  CHECK(std::get<WorkerGroup::Failed>(world.talk.on_wakeup(second)).reason ==
        "its answer names no iteration, as its answers did before: does it answer twice?");
}

TEST_CASE("A reset can be refused until its first result, and not after it", "[worker_group]") {
  World world;
  world.go_to_reset(State::stepping);
  Reported reported{.launch = world.only()};
  CHECK(word(world.talk.on_wakeup(reported)) == "stepped");
  world.talk.step(8);
  CHECK(word(world.talk.on_wakeup(Refused{world.only()})) == "failed");
}

TEST_CASE("What one of several has reported is forgotten when another refuses", "[worker_group]") {
  World world(2);
  world.go_to_reset(State::stepping);
  const LaunchId first{*world.notes.live.begin()};
  const LaunchId second{*world.notes.live.rbegin()};
  Reported reported{.launch = first, .iteration = 7};
  CHECK(word(world.talk.on_wakeup(reported)).empty());
  CHECK(word(world.talk.on_wakeup(Refused{second})) == "replaced");
  CHECK(world.notes.take() == "stop stop ");
  (void)world.talk.on_wakeup(Exited{first, 0, 0});
  (void)world.talk.on_wakeup(Exited{second, 0, 0});
  CHECK(world.notes.take() == "term launch launch ");
  world.all_greet();
  CHECK(world.notes.take() == "start start ");
}

TEST_CASE("That all are replaced is said once, as soon as one of several has gone in a reset",
          "[worker_group]") {
  World world(2);
  world.go_to_reset(State::stepping);
  const LaunchId first{*world.notes.live.begin()};
  const LaunchId second{*world.notes.live.rbegin()};
  CHECK(word(world.talk.on_wakeup(Exited{second, 7, 0})) == "replaced");
  CHECK(world.talk.state() == State::replacing);
  CHECK(word(world.talk.on_wakeup(Exited{first, 0, SIGTERM})).empty());
  CHECK(world.talk.state() == State::launching);
  world.all_greet();
  CHECK(world.talk.state() == State::ready);
}

TEST_CASE("A closed connection has an end, whatever is asked after it", "[worker_group]") {
  World world;
  world.go_to(State::ready);
  (void)world.talk.on_wakeup(Disconnected{world.only()});
  CHECK(world.talk.deadline() == world.notes.now + 10);
  world.talk.step(1);
  CHECK(world.talk.deadline() == world.notes.now + 10);
  CHECK(std::get<WorkerGroup::Overdue>(world.talk.on_timeout()).reason ==
        "it closed its connection and lived on");
}

TEST_CASE("Several processes answer as one, and each is told its rank", "[worker_group]") {
  World world(3);
  world.talk.begin(world.specs(), {});
  std::vector<LaunchId> ids;
  for (const auto id : world.notes.live) ids.push_back(LaunchId{id});
  CHECK(word(world.talk.on_wakeup(Greeted{ids[0], hello()})).empty());
  CHECK(word(world.talk.on_wakeup(Greeted{ids[0], hello()})) == "failed");
  CHECK(word(world.talk.on_wakeup(Greeted{ids[2], hello()})).empty());
  CHECK(word(world.talk.on_wakeup(Greeted{ids[1], hello()})) == "ready");
  CHECK(world.notes.ranks == std::vector<int>{0, 1, 2});
  world.talk.step(1);
  Reported second{.launch = ids[1], .metrics = parse_metrics(R"({"loss": 2})")};
  CHECK(word(world.talk.on_wakeup(second)).empty());
  CHECK(world.talk.late() == "ranks 0, 2");
  Reported first{.launch = ids[0], .metrics = parse_metrics(R"({"loss": 1})")};
  CHECK(word(world.talk.on_wakeup(first)).empty());
  Reported third{.launch = ids[2], .metrics = Metrics{}, .should_checkpoint = true};
  const auto event = world.talk.on_wakeup(third);
  REQUIRE(word(event) == "stepped");
  const Reported& whole = std::get<WorkerGroup::Stepped>(event).reported;
  CHECK(whole.should_checkpoint);
  CHECK_FALSE(whole.done);
  CHECK(whole.metrics->text == R"({"loss": 1,"workers":{"1":{"loss": 2}}})");
  CHECK(whole.metrics->find("loss") == 1.0);
  CHECK(whole.metrics->find("workers/1/loss") == 2.0);
  world.talk.save("/aside", 1);
  const auto saved = [&](std::size_t who, std::optional<std::string> error) {
    return world.talk.on_wakeup(SaveAnswered{.launch = ids[who], .error = std::move(error)});
  };
  CHECK(word(saved(1, "disk full")).empty());
  CHECK(word(saved(0, {})).empty());
  world.notes.now += 3;
  const auto all = std::get<WorkerGroup::Saved>(saved(2, {}));
  CHECK(all.error == "rank 1: disk full");
  REQUIRE(all.parts.size() == 3);
  CHECK(all.parts[2].rank == 2);
  CHECK(all.parts[2].save_s == 3);
  CHECK(all.parts[1].save_s == 0);
}

TEST_CASE("Ranks that disagree on the end are a failure that names both", "[worker_group]") {
  World world(3);
  world.go_to(State::ready);
  world.talk.step(7);
  const auto ids = world.ids();
  Reported first{.launch = ids[0], .metrics = Metrics{}}, second{.launch = ids[1], .done = true},
      third{.launch = ids[2], .metrics = Metrics{}};
  const bool has_left = GENERATE(false, true);
  if (has_left) {
    CHECK(word(world.talk.on_wakeup(Disconnected{ids[1]})).empty());
    CHECK(word(world.talk.on_wakeup(Exited{ids[1], 0, 0})).empty());
    CHECK(world.talk.state() == State::stepping);
    CHECK(world.talk.deadline() == world.notes.now + 30);
  } else {
    (void)world.talk.on_wakeup(second);
  }
  (void)world.talk.on_wakeup(first);
  const auto event = world.talk.on_wakeup(third);
  CHECK(std::get<WorkerGroup::Failed>(event).reason ==
        std::string(has_left ? "rank 1 has left with code 0" : "rank 1 says that it is done") +
            ", and rank 0 goes on: all ranks of a trial end with the same iteration");
  CHECK(world.talk.log() == "/log_1");
}

TEST_CASE("Ranks that all leave with code 0 have ended well", "[worker_group]") {
  World world(2);
  world.go_to(State::stepping);
  const auto ids = world.ids();
  CHECK(word(world.talk.on_wakeup(Exited{ids[1], 0, 0})).empty());
  CHECK(world.notes.take().empty());
  const auto event = world.talk.on_wakeup(Exited{ids[0], 0, 0});
  CHECK(std::get<WorkerGroup::Gone>(event).exit_code == 0);
  CHECK(world.talk.state() == State::none);
}

TEST_CASE("A rank that leaves before it has saved voids the save", "[worker_group]") {
  World world(2);
  world.go_to(State::saving);
  const auto ids = world.ids();
  CHECK(word(world.talk.on_wakeup(SaveAnswered{.launch = ids[0]})).empty());
  const auto event = world.talk.on_wakeup(Exited{ids[1], 0, 0});
  CHECK(std::get<WorkerGroup::Saved>(event).error == "rank 1 left before it had saved");
}

TEST_CASE("What befalls the other ranks when one dies is not why the attempt failed",
          "[worker_group]") {
  World world(3);
  world.go_to(State::stepping);
  const auto ids = world.ids();
  CHECK(word(world.talk.on_wakeup(Disconnected{ids[2]})).empty());
  CHECK(word(world.talk.on_wakeup(Faulted{ids[0], "the connection was closed by a peer"})).empty());
  CHECK(world.notes.take() == "stop term stop term stop term ");
  CHECK(word(world.talk.on_wakeup(Exited{ids[0], 1, 0})).empty());
  world.talk.save("/aside", 7);  // its loop does not know yet
  CHECK(world.notes.take().empty());
  CHECK(word(world.talk.on_wakeup(Exited{ids[1], 0, SIGTERM})).empty());
  SECTION("it was killed") {
    const auto gone = std::get<WorkerGroup::Gone>(world.talk.on_wakeup(Exited{ids[2], 0, SIGKILL}));
    CHECK(gone.who == "rank 2");
    CHECK(gone.signal == SIGKILL);
    CHECK(world.talk.log() == "/log_2");
  }
  SECTION("it had only closed its connection") {
    const auto gone = std::get<WorkerGroup::Gone>(world.talk.on_wakeup(Exited{ids[2], 0, SIGTERM}));
    CHECK(gone.how == WorkerGroup::Gone::How::failed);
    CHECK(gone.reason == "rank 0: the connection was closed by a peer");
    CHECK(world.talk.log() == "/log_0");
  }
}

TEST_CASE("Of several that leave in good order the first does not hurry the others",
          "[worker_group]") {
  World world(2);
  world.go_to(State::leaving);
  const auto ids = world.ids();
  CHECK(word(world.talk.on_wakeup(Exited{ids[0], 0, 0})).empty());
  CHECK(world.notes.take().empty());
  CHECK(word(world.talk.on_wakeup(Exited{ids[1], 0, 0})) == "gone");
}

TEST_CASE("What was in the way of one rank was in the way of all", "[worker_group]") {
  World world(2);
  world.go_to(State::stepping);
  const auto ids = world.ids();
  CHECK(word(world.talk.on_wakeup(Exited{ids[1], 7, 0})).empty());
  const auto event = world.talk.on_wakeup(Exited{ids[0], 0, SIGTERM, "port 7 is taken"});
  CHECK(std::get<WorkerGroup::Gone>(event).exit_code == 7);
  CHECK(std::get<WorkerGroup::Gone>(event).obstacle == "port 7 is taken");
}

TEST_CASE("Whoever is late is named", "[worker_group]") {
  World world(3);
  world.go_to(State::stepping);
  const auto ids = world.ids();
  Reported second{.launch = ids[1], .metrics = Metrics{}};
  (void)world.talk.on_wakeup(second);
  CHECK(std::get<WorkerGroup::Overdue>(world.talk.on_timeout()).reason ==
        "ranks 0, 2 said nothing for 30 s (trial_timeout_s)");
  CHECK(world.talk.log() == "/log_0");
}

TEST_CASE("Ranks that report more than one process may are a failure before all have answered",
          "[worker_group]") {
  World world(3);
  world.go_to(State::stepping);
  const auto ids = world.ids();
  const auto large = parse_metrics(R"({"s":")" + std::string(9'000'000, 'x') + R"("})");
  for (int iteration = 7; iteration < 9; ++iteration) {  // each step has its own room
    Reported first{.launch = ids[0], .metrics = large};
    CHECK(word(world.talk.on_wakeup(first)).empty());
    if (iteration == 8) break;
    for (std::size_t rank = 1; rank < 3; ++rank) {
      Reported small{.launch = ids[rank], .metrics = Metrics{}};
      CHECK(word(world.talk.on_wakeup(small)) == (rank == 2 ? "stepped" : ""));
    }
    world.talk.step(8);
  }
  Reported second{.launch = ids[1], .metrics = large};
  CHECK(std::get<WorkerGroup::Failed>(world.talk.on_wakeup(second)).reason ==
        "what its ranks have reported of iteration 8 up to rank 1 is more than 16 MiB, and all of "
        "it is one result");
}

TEST_CASE("What is waited for before a process runs is none of its time", "[worker_group]") {
  World world(2);
  world.talk.begin(world.specs(), {});
  const auto ids = world.ids();
  (void)world.talk.on_wakeup(Launched{ids[0], 10, 1});
  world.notes.now += 60;
  REQUIRE(world.talk.deadline() == world.notes.now);
  CHECK(word(world.talk.on_timeout()).empty());
  CHECK(world.talk.deadline() > world.notes.now);
  world.notes.now += 50;
  (void)world.talk.on_wakeup(Launched{ids[1], 11, 1});
  CHECK(world.talk.deadline() == world.notes.now + 60);
  world.notes.now += 60;
  CHECK(std::get<WorkerGroup::Overdue>(world.talk.on_timeout())
            .reason.starts_with("ranks 0, 1 did not say hello within 60 s"));
}

TEST_CASE("A rank that is not listened to holds up nobody, and leaves after the first",
          "[worker_group]") {
  World world(2);
  auto specs = world.specs();
  specs[1].plain = PlainReading{.is_unmonitored = true};
  world.talk.begin(std::move(specs), {});
  world.all_greet();
  const auto ids = world.ids();
  world.notes.did.clear();
  world.talk.step(1);
  CHECK(world.notes.take() == "step ");
  Reported result{.launch = ids[0], .metrics = Metrics{}};
  CHECK(word(world.talk.on_wakeup(result)) == "stepped");
  SECTION("it has left before") {
    CHECK(word(world.talk.on_wakeup(Disconnected{ids[1]})).empty());
    CHECK(word(world.talk.on_wakeup(Exited{ids[1], 0, 0})).empty());
    CHECK(world.talk.deadline() == never_s);
    world.talk.step(2);
    Reported last{.launch = ids[0], .done = true};
    CHECK(word(world.talk.on_wakeup(last)) == "stepped");
  }
  SECTION("the first is stopped") {
    world.talk.leave(StopLevel::request);
    CHECK(world.notes.take() == "stop ");
    CHECK(word(world.talk.on_wakeup(Exited{ids[0], 0, SIGTERM})).empty());
    CHECK(world.notes.take() == "term ");
    CHECK(word(world.talk.on_wakeup(Exited{ids[1], 0, SIGTERM})) == "gone");
  }
  SECTION("the first is done") {
    world.talk.step(2);
    Reported last{.launch = ids[0], .done = true};
    CHECK(word(world.talk.on_wakeup(last)) == "stepped");
    world.notes.did.clear();
    world.talk.leave(StopLevel::request);
    CHECK(word(world.talk.on_wakeup(Exited{ids[0], 0, 0})).empty());
    CHECK(world.notes.take() == "stop ");
    CHECK(word(world.talk.on_wakeup(Exited{ids[1], 0, 0})) == "gone");
  }
}

TEST_CASE("One process that ends takes the others with it, and is why", "[worker_group]") {
  World world(2);
  world.go_to(State::stepping);
  const LaunchId first{*world.notes.live.begin()};
  const LaunchId second{*world.notes.live.rbegin()};
  CHECK(word(world.talk.on_wakeup(Exited{second, 7, 0})).empty());
  CHECK(world.notes.take() == "stop term ");
  const auto event = world.talk.on_wakeup(Exited{first, 0, SIGTERM});
  CHECK(std::get<WorkerGroup::Gone>(event).exit_code == 7);
  CHECK(std::get<WorkerGroup::Gone>(event).signal == 0);
}

TEST_CASE("Whatever is said in whatever order comes to what the table says, and to an end",
          "[worker_group]") {
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::uint8_t> bytes(121);
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
    CAPTURE(round);
    REQUIRE(walk(bytes) == "");
  }
}

TEST_CASE("A process that nothing ends is waited for by nobody", "[worker_group]") {
  VirtualClock clock;
  MemoryFileSystem files;
  FakeProgram program;
  program.exit_s = 1e9;
  program.step = [](const Json&, std::int64_t) { return FakeStep{}; };
  FakeExecutor executor(clock, files, program);
  AfterWrite after_write;
  WorkerGroups talks(executor, after_write, clock, {.kill_s = 60});
  CHECK_FALSE(talks.any_lives());
  WorkerGroup& talk = talks.open({});
  CHECK_FALSE(talks.any_lives());
  talk.begin({LaunchSpec{}}, {});
  after_write.end_turn(0, 0);
  CHECK(talks.any_lives());
  talk.leave(StopLevel::sigkill);
  after_write.end_turn(0, 0);
  CHECK(talks.any_lives());
  CHECK(talks.late() == nullptr);
  clock.time += 60;
  REQUIRE(talks.late() == &talk);
  (void)talk.on_timeout();
  CHECK(talk.state() == State::lost);
  CHECK_FALSE(talks.any_lives());
}

TEST_CASE("No deadline is left of a process that is gone", "[worker_group]") {
  World world;
  world.go_to(State::stepping);
  CHECK(world.talk.deadline() < never_s);
  (void)world.talk.on_wakeup(Exited{world.only(), 1, 0});
  CHECK(world.talk.deadline() == never_s);
}

TEST_CASE("Whoever abandons its processes does not wait for one that could not be launched",
          "[worker_group]") {
  VirtualClock clock;
  MemoryFileSystem files;
  FakeProgram program;
  program.cannot_launch = true;
  FakeExecutor executor(clock, files, program);
  AfterWrite after_write;
  WorkerGroups talks(executor, after_write, clock, {});
  talks.open({}).begin({LaunchSpec{}}, {});
  after_write.end_turn(0, 0);
  talks.abandon(executor, 10);
  CHECK(clock.time < 1);
}

TEST_CASE("Who had run to its end when it was asked to leave can be asked on, or to leave again",
          "[worker_group]") {
  World world;
  world.go_to(State::leaving);
  CHECK(word(world.talk.on_wakeup(RanToEnd{world.only()})) == "at end");
  CHECK(world.talk.state() == State::ready);
  CHECK(world.talk.deadline() == never_s);
  world.talk.step(8);
  CHECK(world.notes.take() == "step ");
  world.talk.leave(StopLevel::request);
  CHECK(world.notes.take() == "stop ");

  World killed;
  killed.go_to(State::leaving);
  killed.talk.leave(StopLevel::sigterm);
  CHECK(killed.notes.take() == "term ");
  CHECK(word(killed.talk.on_wakeup(RanToEnd{killed.only()})).empty());
  CHECK(killed.notes.take() == "stop ");
  CHECK(killed.talk.state() == State::leaving);
}
