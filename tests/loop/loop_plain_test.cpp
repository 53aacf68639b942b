// The loop in virtual time: programs that know nothing of it, and end before they can be paused.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/loop/harness.h"
#include "tests/support/catch.h"

using namespace tune;

namespace {

/// Pauses every trial with each result.
class PausesAlways : public Scheduler {
 public:
  Decision on_result(const Trial&, const Result&) override { return {.action = Action::pause}; }
};

void make_plain(Harness& harness) {
  harness.spec.command = {"program"};
  harness.spec.objectives = {{"loss", Mode::min}};
  harness.spec.plain = PlainProgram{};
}

/// Two trials whose program has printed five results before it could be told to pause, and ended.
struct Fast : Harness {
  Fast() {
    trials = 2;
    iterations = 100;
    make_plain(*this);
    program.is_function = true;
    program.runs_to_end = true;
    program.step = [](const Json&, std::int64_t iteration) {
      if (iteration > 5) return FakeStep{.metrics = "", .takes_s = 0, .done = true};
      return FakeStep{.metrics = R"({"loss":)" + std::to_string(iteration) + "}"};
    };
    make_scheduler = [] { return std::make_unique<PausesAlways>(); };
  }

  std::ptrdiff_t notices(const std::string& part) const {
    return std::count_if(told.begin(), told.end(), [&](const std::string& line) {
      return line.starts_with("notice") && line.find(part) != std::string::npos;
    });
  }
};

}  // namespace

TEST_CASE("A plain program that has run to its end is completed, and not started again",
          "[loop][plain]") {
  Fast fast;
  CHECK(fast.run().kind == LoopEnd::Kind::finished);
  for (int i = 0; i < fast.trials; ++i) {
    CHECK(fast.trial(i).state == TrialState::terminated);
    CHECK(fast.trial(i).end() == TrialEnd::completed);
    CHECK(fast.trial(i).iteration == 5);
    CHECK(fast.trial(i).attempt == 1);
  }
  CHECK(fast.launches == 2);
  CHECK(fast.notices("had run to its end before it could be paused at iteration 1") == 1);
}

TEST_CASE("A plain program that ends with the result that it was to pause with is not too fast",
          "[loop][plain]") {
  Fast fast;
  fast.program.step = [](const Json&, std::int64_t iteration) {
    return FakeStep{.metrics = iteration > 1 ? "" : R"({"loss":1})", .done = iteration > 1};
  };
  (void)fast.run();
  CHECK(fast.trial(0).end() == TrialEnd::completed);
  CHECK(fast.launches == 2);
  CHECK(fast.notices("had run to its end") == 0);
}

TEST_CASE("What a plain program has printed up to its end is judged, and may end its trial before",
          "[loop][plain]") {
  Fast fast;
  fast.iterations = 3;
  (void)fast.run();
  CHECK(fast.trial(0).iteration == 3);
  CHECK(fast.trial(0).ended_by == EndedBy::rule);
  CHECK(fast.trial(0).attempt == 1);
}

TEST_CASE("A plain program that was paused by hand and had run to its end is completed",
          "[loop][plain]") {
  Fast fast;
  fast.trials = 1;
  fast.make_scheduler = nullptr;
  fast.wishes = {{0.5, {.kind = ControlRequest::Kind::pause, .trial = TrialId{0}}}};
  CHECK(fast.run().kind == LoopEnd::Kind::finished);
  CHECK(fast.trial(0).end() == TrialEnd::completed);
  CHECK(fast.trial(0).iteration == 5);
  CHECK_FALSE(fast.trial(0).held);
}

TEST_CASE("Of a program that keeps nothing no save is promised, and what is lost is said",
          "[loop][plain]") {
  const bool keeps = GENERATE(false, true);
  SlowHarness slow;
  slow.trials = 2;
  make_plain(slow);
  slow.program.is_function = true;
  if (keeps) slow.spec.plain->checkpoints = PlainCheckpoints{};
  using Kind = ControlRequest::Kind;
  slow.wishes = {{5, {.kind = Kind::pause, .trial = TrialId{0}}},
                 {15, {.kind = Kind::unpause, .trial = TrialId{0}}}};
  slow.signals = {{25, SIGINT}};
  (void)slow.run();
  const auto says = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  REQUIRE(slow.answers.size() == 2);
  CHECK(says(slow.answers[0].sentence, "pauses with its next result"));
  CHECK(says(slow.answers[0].sentence, "begins anew") == !keeps);
  CHECK(says(slow.answers[1].sentence,
             "begins anew as soon as there is room for it: it has no "
             "checkpoint, and its 1 iteration is trained again"));
  std::string told;
  for (const std::string& line : slow.told) told += line + "\n";
  CHECK(says(told, "is paused by hand at iteration 1; it has no checkpoint") == !keeps);
  CHECK(says(told, "are asked for a last save") == keeps);
  CHECK(says(told,
             "2 running trials are ended with the next result; the program has no "
             "checkpoints (${checkpoint_dir}), so what has not finished begins anew at a "
             "resume") == !keeps);
}

TEST_CASE("Of a plain program no save is promised, also while it is launched", "[loop][plain]") {
  SlowHarness slow;
  slow.trials = 1;
  make_plain(slow);
  slow.spec.plain->checkpoints = PlainCheckpoints{};
  for (const Seconds at : {1e-4, 5.0}) {
    slow.wishes.push_back({at, {.kind = ControlRequest::Kind::checkpoint}});
  }
  (void)slow.run();
  REQUIRE(slow.answers.size() == 2);
  for (const ControlAnswer& answer : slow.answers) {
    CHECK_FALSE(answer.accepted);
    CHECK(answer.sentence == "the program saves by itself, and cannot be asked to");
  }
}

TEST_CASE("Trials that overwrite each other's files are told where to write", "[loop][plain]") {
  const bool overwrites = GENERATE(true, false);
  std::string name = (std::filesystem::temp_directory_path() / "tune-loop-XXXXXX").string();
  REQUIRE(::mkdtemp(name.data()) != nullptr);
  const std::filesystem::path directory(name);
  Fast fast;
  fast.trials = 3;
  fast.spec.plain->directory = directory;
  fast.program.step = [&](const Json& config, std::int64_t iteration) {
    if (iteration > 1) return FakeStep{.metrics = "", .done = true};
    std::ofstream(directory / "new") << "model";
    const std::string own = overwrites ? "" : config["x"].dump();
    std::filesystem::rename(directory / "new", directory / ("model" + own + ".pt"));
    return FakeStep{.metrics = R"({"loss":1})"};
  };
  (void)fast.run();
  CHECK(fast.notices("./model.pt in " + name +
                     " was written while trial_00000 ran, and anew by the "
                     "end of trial_0000") == (overwrites ? 1 : 0));
  std::filesystem::remove_all(directory);
}

namespace {

/// The second trial is to be a copy of the first once that has come to its end.
class ClonesLate : public Scheduler {
 public:
  Decision on_result(const Trial& trial, const Result& result) override {
    const bool is_to_clone =
        trial.id == TrialId{1} && result.training_iteration == 5 && trial.lineage.empty();
    if (!is_to_clone) return {};
    return {.action = Action::exploit, .exploit = Exploit{TrialId{0}, R"({"x":100})", "x=100"}};
  }
};

}  // namespace

TEST_CASE("A copy of a program knows the logs of the trial that has saved what it goes on from",
          "[loop][plain]") {
  Harness harness;
  harness.trials = 2;
  harness.iterations = 8;
  make_plain(harness);
  harness.spec.checkpoint_config = {.checkpoint_frequency = 1};
  harness.make_scheduler = [] { return std::make_unique<ClonesLate>(); };
  harness.program.step = [](const Json& config, std::int64_t iteration) {
    return FakeStep{.metrics = R"({"loss":)" + std::to_string(iteration) + "}",
                    .takes_s = config["x"] == 0 ? 1.0 : 2.0};
  };
  (void)harness.run();
  REQUIRE(harness.specs.size() == 3);
  for (std::size_t i = 0; i < 2; ++i) CHECK(harness.specs[i].plain->donor_logs.empty());
  const PlainReading& clone = *harness.specs.back().plain;
  REQUIRE(clone.donor_logs.size() == 2);
  CHECK(clone.donor_logs.front() == harness.specs.front().stdout_path);
  CHECK(clone.donor_logs.back() == harness.specs.front().stderr_path);
}

TEST_CASE("A copy of a program at its end that refuses to go on has not failed", "[loop][plain]") {
  const bool is_plain = GENERATE(true, false);
  Harness harness;
  harness.trials = 2;
  harness.iterations = 8;
  if (is_plain) make_plain(harness);
  harness.spec.checkpoint_config = {.checkpoint_frequency = 1};
  harness.make_scheduler = [] { return std::make_unique<ClonesLate>(); };
  harness.program.step = [](const Json& config, std::int64_t) {
    FakeStep step{.metrics = R"({"loss":1})", .takes_s = config["x"] == 0 ? 1.0 : 2.0};
    if (config["x"] == 100) step.exits = 1;
    return step;
  };
  (void)harness.run();
  const Trial& clone = harness.trial(1);
  CHECK(clone.state == (is_plain ? TrialState::terminated : TrialState::error));
  if (!is_plain) return;
  CHECK(clone.failures == 0);
  CHECK(clone.why.find("nothing was left to train after iteration 8 of trial_00000, whose copy it "
                       "is; it exited with code 1") == 0);
}

namespace {

/// Pauses once, with the third result.
class PausesAtThird : public Scheduler {
 public:
  Decision on_result(const Trial& trial, const Result& result) override {
    const bool is_to_pause = result.training_iteration == 3 && trial.attempt == 1;
    return is_to_pause ? Decision{.action = Action::pause} : Decision{};
  }
};

}  // namespace

TEST_CASE("A plain program that begins with its first results again after a restore is named",
          "[loop][plain]") {
  const bool loads = GENERATE(false, true);
  const bool is_round = GENERATE(false, true);
  Fast fast;
  fast.trials = 1;
  fast.iterations = 8;
  fast.spec.plain->checkpoints = PlainCheckpoints{};
  fast.program.is_function = false;
  fast.program.runs_to_end = false;
  fast.make_scheduler = [] { return std::make_unique<PausesAtThird>(); };
  fast.program.step = [&](const Json&, std::int64_t iteration) {
    const std::int64_t epoch = loads || iteration <= 3 ? iteration : iteration - 3;
    return FakeStep{.metrics = R"({"loss":)" + std::string(is_round ? "0." : "0.123") +
                               std::to_string(epoch) + "}",
                    .takes_s = 1};
  };
  (void)fast.run();
  REQUIRE(fast.trial(0).attempt == 2);
  CHECK(fast.notices("trial_00000 was given its checkpoint and began with the results of its first "
                     "iterations again") == (loads || is_round ? 0 : 1));
}

TEST_CASE("So is one that had begun in an earlier session", "[loop][plain]") {
  const bool loads = GENERATE(false, true);
  const auto place = std::filesystem::temp_directory_path() /
                     ("tune_rows_" + std::to_string(::getpid()) + (loads ? "_a" : "_b"));
  std::filesystem::create_directories(place / "trial_00000");
  std::ofstream(place / "trial_00000" / "result.json")
      << R"({"loss":0.1231,"training_iteration":1})"
      << "\n"
      << R"({"loss":0.1232,"training_iteration":2})"
      << "\n";
  Fast fast;
  fast.trials = 1;
  fast.iterations = 8;
  fast.trials_place = place;
  fast.spec.plain->checkpoints = PlainCheckpoints{};
  fast.program.is_function = false;
  fast.program.runs_to_end = false;
  fast.signals = {{2.5, SIGINT}};
  bool is_resumed = false;
  fast.make_scheduler = {};
  fast.program.step = [&](const Json&, std::int64_t iteration) {
    const std::int64_t epoch = loads || !is_resumed ? iteration : iteration - 3;
    return FakeStep{.metrics = R"({"loss":0.123)" + std::to_string(epoch) + "}", .takes_s = 1};
  };
  (void)fast.run();
  REQUIRE(fast.trial(0).iteration == 3);
  is_resumed = true;
  (void)fast.run();
  CHECK(fast.trial(0).iteration == 8);
  CHECK(fast.notices("began with the results of its first iterations again") == (loads ? 0 : 1));
  std::filesystem::remove_all(place);
}

TEST_CASE("A program whose pauses save nothing does not begin anew without an end",
          "[loop][plain]") {
  Fast fast;
  fast.trials = 1;
  fast.spec.plain->checkpoints = PlainCheckpoints{};
  fast.program.runs_to_end = false;
  (void)fast.run();
  CHECK(fast.notices("gets no further: it has been paused at iteration 1 once more") == 1);
  CHECK(fast.notices("then renamed is whole at once") == 1);
  CHECK(fast.trial(0).state == TrialState::error);
  CHECK(fast.trial(0).attempt == 9);
  CHECK(fast.trial(0).error->find("its pauses save nothing that is whole") != std::string::npos);
}
