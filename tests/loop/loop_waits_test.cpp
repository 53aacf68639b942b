// The loop in virtual time: it says what keeps it from starting trials, and which steps hang.
#include <algorithm>
#include <utility>

#include "tests/loop/harness.h"
#include "tests/support/catch.h"
#include "tuner/base/error.h"

using namespace tune;
using Catch::Matchers::Contains;
using Kind = ControlRequest::Kind;

namespace {

/// What the driver answers at `time` to who asks what it waits for.
ControlAnswer waits_at(Harness& harness, Seconds time) {
  harness.wishes = {{time, {.kind = Kind::waits}}};
  (void)harness.run();
  return harness.answers.at(0);
}

/// Keeps what callbacks are told.
struct Listener : Callback {
  explicit Listener(std::vector<std::string>& to) : phrases(to) {}
  std::string name() const override { return "listener"; }
  void on_waits(const std::string& what) override { phrases.push_back(what); }
  std::vector<std::string>& phrases;
};

FakeProgram ten_seconds_a_step() {
  FakeProgram program;
  program.step = [](const Json&, std::int64_t) {
    return FakeStep{.metrics = R"({"loss":1})", .takes_s = 10};
  };
  return program;
}

/// A searcher that has its second suggestion once the first trial has ended.
class OneByOne : public Searcher {
 public:
  Answer suggest(TrialId) override {
    if (suggested_ == 2) return Exhausted{};
    if (suggested_ == 1 && !has_ended_) return NothingNow{};
    ++suggested_;
    return Suggestion{Json{{"x", suggested_}}, ""};
  }
  void on_trial_end(TrialId, const Observation&, Ended) override { has_ended_ = true; }
  Json save() const override { return Json::array({suggested_, has_ended_}); }
  void load(const Json& state) override {
    suggested_ = state.at(0).get<int>();
    has_ended_ = state.at(1).get<bool>();
  }

 private:
  int suggested_ = 0;
  bool has_ended_ = false;
};

}  // namespace

TEST_CASE("A run that waits for disk space says so for as long as it does", "[loop][waits]") {
  Harness harness;
  harness.program = ten_seconds_a_step();
  harness.spec.min_free_bytes = 100'000'000;
  const std::uint64_t all = std::uint64_t{1} << 40;
  const auto leave_free = [&](std::uint64_t bytes) {
    harness.files.limit_capacity(all);
    harness.files.limit_capacity(all - harness.files.free_bytes("/") + bytes);
  };
  leave_free(50'000'000);
  struct Janitor : Callback {
    explicit Janitor(const VirtualClock& of, std::function<void()> makes_room)
        : clock(of), make_room(std::move(makes_room)) {}
    std::string name() const override { return "janitor"; }
    void on_step_end(const Experiment&) override {
      if (clock.time > 300) std::exchange(make_room, [] {})();
    }
    const VirtualClock& clock;
    std::function<void()> make_room;
  };
  std::vector<std::string> told;
  harness.callbacks.push_back(std::make_unique<Listener>(told));
  harness.callbacks.push_back(
      std::make_unique<Janitor>(harness.clock, [&] { leave_free(500'000'000); }));
  const auto answer = waits_at(harness, 200);
  CHECK(answer.accepted);
  CHECK_THAT(answer.sentence, Contains("disk space (") && Contains(" of 95.4 MiB)"));
  REQUIRE(told.size() >= 2);
  CHECK_THAT(told.front(), Contains("disk space ("));
  CHECK(std::find(told.begin(), told.end(), "") != told.end());
  CHECK(harness.experiment.count(TrialEnd::completed) == 4);
}

TEST_CASE("Who asks a driver hears the last five sentences that it has told its user",
          "[loop][waits]") {
  struct Broken : Callback {
    explicit Broken(int number) : name_("callback " + std::to_string(number)) {}
    std::string name() const override { return name_; }
    void on_trial_result(const Trial&, Result&) override { throw std::runtime_error("broken"); }
    std::string name_;
  };
  Harness harness;
  harness.program = ten_seconds_a_step();
  for (int i = 0; i < 7; ++i) harness.callbacks.push_back(std::make_unique<Broken>(i));
  const auto said = waits_at(harness, 15).said;
  REQUIRE(said.size() == 5);
  CHECK_THAT(said.front(), Contains("'callback 2'"));
  CHECK_THAT(said.back(), Contains("'callback 6'"));
}

TEST_CASE("That all places are taken is told to who asks, and is no news", "[loop][waits]") {
  Harness harness;
  harness.program = ten_seconds_a_step();
  std::vector<std::string> told;
  harness.callbacks.push_back(std::make_unique<Listener>(told));
  SECTION("by resources") {
    CHECK(waits_at(harness, 5).sentence == "resources that running trials have");
  }
  SECTION("by the number of trials") {
    harness.spec.max_concurrent_trials = 1;
    CHECK(waits_at(harness, 5).sentence == "a running trial to end (max_concurrent_trials is 1)");
  }
  CHECK(told.empty());
}

TEST_CASE("A run that waits for its searcher, or its scheduler, says for which", "[loop][waits]") {
  Harness harness;
  harness.program = ten_seconds_a_step();
  SECTION("for results") {
    harness.make_searcher = [](int) { return std::make_unique<OneByOne>(); };
    CHECK(waits_at(harness, 5).sentence == "the searcher, which waits for results");
  }
  SECTION("for nothing, since no trial is left") {
    harness.trials = 1;
    CHECK(waits_at(harness, 5).sentence.empty());
  }
  SECTION("for the user") {
    harness.trials = 2;
    harness.wishes = {{5, {.kind = Kind::pause, .trial = TrialId{1}}}, {15, {.kind = Kind::waits}}};
    (void)harness.run();
    CHECK(harness.answers.at(1).sentence == "1 trial that was paused by hand (tune unpause)");
  }
}

TEST_CASE("A run whose launches pause after failures says until when, and why", "[loop][waits]") {
  Harness harness;
  harness.trials = 30;
  harness.spec.failure_config.max_failures_in_a_row = 3;
  harness.program.step = [&](const Json& config, std::int64_t) {
    FakeStep step{.metrics = R"({"loss":1})", .takes_s = 1};
    if (config["x"] != 0 && harness.clock.time < 200) step.exits = 7;
    return step;
  };
  std::vector<std::string> told;
  harness.callbacks.push_back(std::make_unique<Listener>(told));
  (void)harness.run();
  const bool says_so = std::any_of(told.begin(), told.end(), [](const std::string& phrase) {
    return phrase.starts_with("the end of a pause after failures, in ") &&
           phrase.find("exited with code 7") != phrase.npos;
  });
  CHECK(says_so);
  CHECK(told.back().empty());
}

namespace {

/// Steps of 2 s, and one that takes as long as is said; the processes are as they are said to be.
struct HangingHarness : Harness {
  HangingHarness() {
    trials = 2;
    iterations = 6;
    program.step = [this](const Json& config, std::int64_t iteration) {
      const bool hangs = config["x"] == 1 && iteration == slow_iteration;
      return FakeStep{.metrics = R"({"loss":1})", .takes_s = hangs ? slow_s : 2};
    };
    look = [this](const std::vector<std::int64_t>& groups, const auto& logs) {
      ++looks;
      ProcessesSeen seen;
      for (std::size_t i = 0; i < groups.size(); ++i) seen.groups.push_back(at);
      at.cpu_s += cpu_s_a_look;
      if (!logs.empty()) seen.silent_s = silent_s;
      return seen;
    };
  }
  std::vector<std::string> notices() const {
    std::vector<std::string> found;
    for (const std::string& line : told) {
      if (line.find(" has been at iteration ") != line.npos) found.push_back(line);
    }
    return found;
  }
  std::int64_t slow_iteration = 4;
  Seconds slow_s = 400;
  ProcessesSeen::Group at;
  double cpu_s_a_look = 0;
  Seconds silent_s = 0;
  int looks = 0;
};

}  // namespace

TEST_CASE(
    "A step that takes 20 times as long as usual is a notice, once, with what its process is at",
    "[loop][hangs]") {
  HangingHarness harness;
  std::string state = "uses no processor time";
  SECTION("nothing") {}
  SECTION("work") {
    harness.cpu_s_a_look = 5;
    state = "computes";
  }
  SECTION("it is stopped") {
    harness.at.is_stopped = true;
    state = "is stopped by a signal";
  }
  SECTION("the disk") {
    harness.at.waits_for_disk = true;
    state = "waits for a disk";
  }
  const auto answer = waits_at(harness, 200);
  const auto notices = harness.notices();
  REQUIRE(notices.size() == 1);
  CHECK_THAT(notices[0], Contains("notice trial_00001 has been at iteration 4 for ") &&
                             Contains(", where its steps take 2.00 s: its process " + state));
  REQUIRE(answer.notices.size() == 1);
  CHECK_THAT(answer.notices[0], Contains("trial_00001 has been at iteration 4 for 19"));
  CHECK(answer.trials == std::vector<TrialId>{TrialId{1}});
  CHECK(harness.looks < 20);
}

TEST_CASE("A first step that hangs is compared with first steps of others", "[loop][hangs]") {
  HangingHarness harness;
  harness.slow_iteration = 1;
  (void)harness.run();
  REQUIRE(harness.notices().size() == 1);
  CHECK_THAT(harness.notices()[0], Contains("iteration 1") && Contains("first steps take 2.00 s"));
}

TEST_CASE(
    "A step that takes long is none that hangs while nobody knows how long steps take, or "
    "before a minute, or before 20 times that",
    "[loop][hangs]") {
  HangingHarness harness;
  SECTION("a minute") { harness.slow_s = 55; }
  SECTION("20 times") {
    harness.program.step = [](const Json&, std::int64_t iteration) {
      return FakeStep{.metrics = R"({"loss":1})", .takes_s = iteration == 4 ? 150.0 : 10.0};
    };
  }
  SECTION("nothing to compare with") {
    harness.trials = 1;
    harness.program.step = [](const Json&, std::int64_t) {
      return FakeStep{.metrics = R"({"loss":1})", .takes_s = 1000};
    };
  }
  (void)harness.run();
  CHECK(harness.notices().empty());
}

TEST_CASE("What a step that hangs is at is forgotten when it comes to its end", "[loop][hangs]") {
  HangingHarness harness;
  harness.iterations = 20;
  harness.slow_s = 100;
  CHECK(waits_at(harness, 115).notices.empty());
  CHECK(harness.notices().size() == 1);
}

TEST_CASE("The median of the last times is that of the last 15", "[loop][hangs]") {
  RecentTimes times;
  CHECK_FALSE(times.median());
  for (int i = 0; i < 3; ++i) times.add(i);
  CHECK(times.median() == 1);
  CHECK_FALSE(times.median(4));
  for (int i = 0; i < 15; ++i) times.add(100);
  CHECK(times.median() == 100);
}

TEST_CASE("Of several that are waited for, the worst off are named", "[loop][hangs]") {
  ProcessesSeen before, now;
  before.groups.resize(3);
  now.groups.resize(3);
  now.groups[0].cpu_s = 5;
  const std::vector<std::string> ranks = {"rank 0", "rank 1", "rank 2"};
  CHECK(state_of(ranks, before, now, 5) == "rank 1, rank 2, each uses no processor time");
  now.groups[2].is_stopped = true;
  CHECK_THAT(state_of(ranks, before, now, 5), Contains("rank 2 is stopped by a signal"));
  CHECK(state_of({}, {}, {}, 5).empty());
}
