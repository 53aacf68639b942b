// The loop in virtual time with a searcher that has paused trials go on.
#include <algorithm>

#include "tests/loop/harness.h"
#include "tests/support/catch.h"
#include "tests/support/stride.h"
#include "tests/support/thawing_searcher.h"
#include "tuner/base/error.h"

using namespace tune;
using Catch::Matchers::Contains;

namespace {

/// Pauses a trial with each of its results.
class PausesAlways : public Scheduler {
 public:
  Decision on_result(const Trial&, const Result&) override { return {Action::pause}; }
};

struct Thawed : Harness {
  explicit Thawed(bool is_slow = false) {
    resources = {{"cpu", 1}};
    trials = 3;
    make_searcher = [is_slow](int n) { return std::make_unique<ThawingSearcher>(n, 2, is_slow); };
    make_scheduler = [] { return std::make_unique<PausesAlways>(); };
  }
  /// Who was started, in order; "2!": by the searcher.
  std::string starts() {
    std::string all;
    for (const Event& event : events()) {
      const auto* const started = std::get_if<AttemptStarted>(&event.body);
      if (started == nullptr) continue;
      all += std::to_string(index_of(started->trial)) + (started->by_searcher ? "! " : " ");
    }
    return all;
  }
};

/// Adds one trial, then has `wanted` go on for ever.
class Stubborn : public Searcher {
 public:
  explicit Stubborn(TrialId wanted, bool is_slow = false) : wanted_(wanted), is_slow_(is_slow) {}
  Answer suggest(TrialId) override {
    if (has_ended_) return Exhausted{};
    if (is_added_) return Resume{wanted_};
    is_added_ = true;
    return Suggestion{{{"x", 0}}, ""};
  }
  void on_trial_end(TrialId, const Observation&, Ended) override { has_ended_ = true; }
  bool may_take_long() const override { return is_slow_; }
  Json save() const override { return {is_added_, has_ended_}; }
  void load(const Json& state) override {
    is_added_ = state.at(0).get<bool>();
    has_ended_ = state.at(1).get<bool>();
  }

 private:
  const TrialId wanted_;
  const bool is_slow_;
  bool is_added_ = false;
  bool has_ended_ = false;
};

}  // namespace

TEST_CASE("A searcher has paused trials go on in its own order, and the record says so",
          "[loop][thaw]") {
  const bool is_slow = GENERATE(false, true);
  Thawed harness(is_slow);
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.starts() == "0 0! 0! 1 1! 1! 2 2! 2! ");
  CHECK_THAT(harness.journal(), Contains(R"("e":"attempt","trial":2,"attempt":3)") &&
                                    Contains(R"("by_searcher":true)"));
  for (int i = 0; i < 3; ++i) CHECK(harness.trial(i).iteration == 3);
  CHECK(harness.experiment.count(TrialEnd::completed) == 3);
}

TEST_CASE("A scheduler chooses before its searcher, and for it where that has nothing",
          "[loop][thaw]") {
  /// What was paused first goes on, before anybody is asked for a new trial.
  struct InTurn : PausesAlways {
    std::optional<TrialId> choose(const Experiment& experiment, Seconds now, bool) const override {
      return Scheduler::choose(experiment, now, false);
    }
  };
  Thawed harness;
  SECTION("before it") {
    harness.make_scheduler = [] { return std::make_unique<InTurn>(); };
    CHECK(harness.run().kind == LoopEnd::Kind::finished);
    CHECK(harness.starts() == "0 0 0 1 1 1 2 2 2 ");
  }
  SECTION("for it") {
    struct Silent : ThawingSearcher {
      explicit Silent(int n) : ThawingSearcher(n, n) {}
      Answer suggest(TrialId id) override {
        Answer answer = ThawingSearcher::suggest(id);
        return std::holds_alternative<Resume>(answer) ? Answer(NothingNow{}) : answer;
      }
    };
    harness.make_searcher = [](int n) { return std::make_unique<Silent>(n); };
    CHECK(harness.run().kind == LoopEnd::Kind::finished);
    CHECK(harness.starts() == "0 0 0 1 1 1 2 2 2 ");
  }
}

TEST_CASE("A process that was kept for its trial is the one that goes on", "[loop][thaw][keep]") {
  Thawed harness;
  harness.spec.keep_paused = KeepPaused{.processes = 3};
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.starts() == "0 0! 0! 1 1! 1! 2 2! 2! ");
  CHECK(harness.launches == 3);
}

TEST_CASE("What the user has paused no searcher has go on", "[loop][thaw][hold]") {
  using Kind = ControlRequest::Kind;
  const bool is_slow = GENERATE(false, true);
  Thawed harness(is_slow);
  harness.trials = 1;
  harness.program.step = [](const Json&, std::int64_t) {
    return FakeStep{.metrics = R"({"loss":1})", .takes_s = 10};
  };
  harness.wishes = {{5, {.kind = Kind::pause, .trial = TrialId{0}}}};
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.starts() == "0 ");
  CHECK(harness.trial(0).held);
  harness.resume.trials = {TrialId{0}};
  (void)harness.run();
  CHECK(harness.trial(0).iteration == 3);
}

TEST_CASE("A searcher is told what the user pauses and lets go on", "[loop][thaw][hold]") {
  struct Told : ThawingSearcher {
    Told(int n, bool is_slow, std::string& told) : ThawingSearcher(n, n, is_slow), told_(told) {}
    void on_trial_hold(TrialId id, bool released) override {
      told_ += (released ? "+" : "-") + std::to_string(index_of(id)) + " ";
      if (released) ThawingSearcher::on_trial_pause(id, {});
    }
    /// What is held is not asked for: it would be passed over, and the search at its end.
    void on_trial_pause(TrialId id, const Observation& last) override {
      if (told_.ends_with("-" + std::to_string(index_of(id)) + " ")) {
        on_trial_end(id, last, Ended::stopped);
      } else {
        ThawingSearcher::on_trial_pause(id, last);
      }
    }
    std::string& told_;
  };
  using Kind = ControlRequest::Kind;
  const bool is_slow = GENERATE(false, true);
  std::string told;
  Thawed harness(is_slow);
  harness.make_searcher = [&](int n) { return std::make_unique<Told>(n, is_slow, told); };
  harness.program.step = [](const Json&, std::int64_t) {
    return FakeStep{.metrics = R"({"loss":1})", .takes_s = 10};
  };
  harness.wishes = {{5, {.kind = Kind::pause, .trial = TrialId{0}}},
                    {25, {.kind = Kind::unpause, .trial = TrialId{0}}}};
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(told == "-0 +0 ");
  CHECK(harness.trial(0).iteration == 3);
}

TEST_CASE("A trial that cannot go on is passed over, and asked for again after its next news",
          "[loop][thaw]") {
  // It is asked for while it runs.
  const bool is_slow = GENERATE(false, true);
  Thawed harness;
  harness.resources = {{"cpu", 2}};
  harness.make_searcher = [is_slow](int) {
    return std::make_unique<Stubborn>(TrialId{0}, is_slow);
  };
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.starts() == "0 0! 0! ");
  const std::string journal = harness.journal();
  std::size_t asked = 0;
  for (std::size_t at = 0; (at = journal.find(R"("e":"ask")", at)) != journal.npos; ++at) ++asked;
  CHECK(asked < 10);
}

TEST_CASE("A searcher that wants a trial which there is not ends the run", "[loop][thaw]") {
  Thawed harness;
  harness.make_searcher = [](int) { return std::make_unique<Stubborn>(TrialId{7}); };
  CHECK_THROWS_WITH(harness.run(),
                    Contains("the searcher asks for what is not possible, that trial_00007 goes "
                             "on, which there is not"));
}

TEST_CASE("Killed at any disk operation, a searcher has the same trials go on",
          "[loop][thaw][crash]") {
  const bool is_slow = GENERATE(false, true);
  const auto make = [is_slow] {
    auto harness = std::make_unique<Thawed>(is_slow);
    harness->trials = 2;
    harness->spec.snapshot_period_s = 1.5;
    return harness;
  };
  auto whole = make();
  (void)whole->run();
  const auto operations = whole->files.operations();
  REQUIRE(operations > 50);
  REQUIRE(whole->snapshots_taken > 1);
  for (std::uint64_t k = 1; k <= operations; k += test::stride) {
    CAPTURE(is_slow, k);
    auto harness = make();
    harness->files.die_at_operation(k, k % 7);
    try {
      (void)harness->run();
    } catch (const std::exception&) {
      // The driver has died.
    }
    k % 2 == 0 ? harness->files.crash() : harness->files.restart();
    // The replay of a Harness refuses a searcher that answers otherwise than it did.
    REQUIRE(harness->run().kind == LoopEnd::Kind::finished);
    for (int i = 0; i < 2; ++i) REQUIRE(harness->trial(i).iteration == 3);
  }
}

TEST_CASE("A searcher that would have another trial go on than it has is named at the resume",
          "[loop][thaw]") {
  Experiment experiment;
  Policies policies{Suggester(std::make_unique<ThawingSearcher>(1, 1), {{"loss"}}),
                    std::make_unique<PausesAlways>(), nullptr};
  auto next = [&, n = 0](EventBody body) mutable {
    ++n;
    return replay(policies, experiment, {static_cast<std::uint64_t>(n), 1.0 * n, std::move(body)});
  };
  CHECK_FALSE(next(SessionStarted{"host", 1, "0.1.0"}));
  CHECK_FALSE(next(TrialAdded{TrialId{0}, R"({"x":0.0})", "", ""}));
  const auto difference =
      next(AttemptStarted{.trial = TrialId{0}, .attempt = 1, .by_searcher = true});
  CHECK(difference.value_or("") ==
        "the searcher would now suggest nothing for trial_00001, recorded was that trial_00000 "
        "goes on");
}
