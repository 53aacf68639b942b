// Searchers that may take long: what they know when they are asked, and what a crash makes of it.
#include <cmath>
#include <functional>
#include <utility>

#include "tests/loop/harness.h"
#include "tests/support/catch.h"
#include "tests/support/stride.h"
#include "tuner/policy/policy_state.h"
#include "tuner/space/search_space.h"

using namespace tune;

namespace {

/// Its suggestions say what it had heard of by then: whoever asks at another point of the record
/// gets another config.
class Listening : public Searcher {
 public:
  Listening(int n, SuggestionLimits limits) : n_(n), limits_(limits) {}

  Answer suggest(TrialId id) override {
    if (next_ == n_) return Exhausted{};
    const Json config = {{"x", next_++}, {"heard", heard_}, {"for", index_of(id)}};
    return Suggestion{config, config.dump()};
  }
  void on_trial_add(TrialId id, const std::string& config) override {
    heard_ += "+" + std::to_string(index_of(id)) + "x" + Json::parse(config).at("x").dump();
  }
  void on_result(TrialId id, const Observation& result) override {
    ensure(result.scores.size() == 1 && result.scores[0] < 0, "losses are scores below 0");
    heard_ += "." + std::to_string(index_of(id));
  }
  void on_trial_end(TrialId id, const Observation& last, Ended how) override {
    ensure(last.scores.size() == 1, "the end of a trial comes with its last score");
    heard_ += "-" + std::to_string(index_of(id)) + "@" + std::to_string(last.iteration) +
              (how == Ended::complete  ? "c"
               : how == Ended::stopped ? "s"
               : how == Ended::lost    ? "l"
                                       : "f");
  }
  void on_trial_pause(TrialId id, const Observation& last) override {
    ensure(last.scores.size() == 1, "a pause comes with the last score");
    heard_ += "|" + std::to_string(index_of(id)) + "@" + std::to_string(last.iteration);
  }
  bool may_take_long() const override { return true; }
  SuggestionLimits limits() const override { return limits_; }
  Json save() const override { return {next_, heard_}; }
  void load(const Json& state) override {
    load_state("the listening searcher", [&] {
      next_ = state.at(0).get<int>();
      heard_ = state.at(1).get<std::string>();
    });
  }

 private:
  const int n_;
  const SuggestionLimits limits_;
  int next_ = 0;
  std::string heard_;
};

class PausesFirst : public Scheduler {
 public:
  Decision on_result(const Trial& trial, const Result&) override {
    return {trial.iteration == 0 ? Action::pause : Action::proceed, false};
  }
};

struct Listened : Harness {
  explicit Listened(SuggestionLimits limits = {}) {
    make_searcher = [limits](int n) { return std::make_unique<Listening>(n, limits); };
  }
  std::string heard(int i) const {
    return Json::parse(trial(i).config.text()).at("heard").get<std::string>();
  }
};

/// Searchers as the loop drives them, a step at a time.
struct Desk {
  explicit Desk(SuggestionLimits limits)
      : suggester(std::make_unique<Listening>(100, limits), {{"loss"}}) {
    suggester.work_beside(workers);
  }
  void end(std::uint32_t id) {
    Trial trial;
    trial.id = TrialId(id);
    trial.state = TrialState::terminated;
    suggester.on_trial_end(trial);
  }
  /// Asks where it may, takes the answer if there is one.
  bool add(std::uint32_t id) {
    if (const auto next = suggester.to_ask(TrialId(id), true)) suggester.on_ask(*next);
    workers.run_completions();
    const auto answer = suggester.answer(TrialId(id));
    REQUIRE(answer);
    const auto* const suggestion = std::get_if<Suggestion>(&*answer);
    if (suggestion == nullptr) return false;
    suggester.on_trial_add(TrialId(id), suggestion->config.dump());
    return true;
  }
  Json save() {
    Json state;
    suggester.save([&](Json saved) { state = std::move(saved); });
    while (state.is_null()) workers.run_completions();
    return state;
  }
  Workers workers{Workers::Threads::none, nullptr};
  Suggester suggester;
};

}  // namespace

TEST_CASE("A searcher hears whether a trial was stopped, failed, or ended by itself",
          "[loop][suggester]") {
  Desk desk({});
  for (std::uint32_t i = 0; i < 3; ++i) REQUIRE(desk.add(i));
  desk.suggester.on_stop(TrialId{0});
  desk.end(0);
  desk.end(1);
  Trial failed;
  failed.id = TrialId{2};
  failed.state = TrialState::error;
  desk.suggester.on_stop(TrialId{2});
  desk.suggester.on_trial_end(failed);
  CHECK_THAT(desk.save().dump(), Catch::Matchers::Contains("-0@0s-1@0c-2@0f"));
}

TEST_CASE("A searcher that may take long is asked by a record, and answers in a later turn",
          "[loop][suggester]") {
  Listened harness;
  harness.resources = {{"cpu", 1}};
  harness.trials = 3;
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  REQUIRE(harness.experiment.trials().size() == 3);
  CHECK(harness.heard(0).empty());
  CHECK(harness.heard(1) == "+0x0.0.0-0@3c");
  CHECK(harness.heard(2) == "+0x0.0.0-0@3c+1x1.1.1-1@3c");
  std::string order;
  for (const Event& event : harness.events()) {
    if (std::holds_alternative<SuggestionAsked>(event.body)) order += "?";
    if (std::holds_alternative<TrialAdded>(event.body)) order += "+";
    if (std::holds_alternative<ResultReported>(event.body)) order += ".";
  }
  CHECK(order == "?+...?+...?+...?");
}

TEST_CASE("Suggestions that are made ahead do not know what came after", "[loop][suggester]") {
  Listened harness({.ahead = 1});
  harness.resources = {{"cpu", 1}};
  harness.trials = 3;
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  // The second was made while the first had not reported.
  CHECK(harness.heard(1) == "+0x0");
  CHECK(harness.heard(2) == "+0x0+1x1.0.0-0@3c");
}

TEST_CASE("What was suggested ahead is for the trials after one that is added by hand",
          "[loop][suggester]") {
  Listened harness({.ahead = 2});
  harness.resources = {{"cpu", 1}};
  harness.trials = 3;
  harness.wishes = {{0.5, {ControlRequest::Kind::add, {}, {{"x", 77}}}}};
  SECTION("in one session") {}
  SECTION("and a replay of it") { harness.signals = {{4.5, 2}, {6.5, 2}}; }
  (void)harness.run();
  (void)harness.run();
  REQUIRE(harness.experiment.trials().size() == 4);
  std::string order;
  for (const auto& trial : harness.experiment.trials()) {
    order += Json::parse(trial.config.text()).at("x").dump() + " ";
  }
  CHECK(order == "0 77 1 2 ");
}

TEST_CASE("A searcher is told the same of what is added by hand, on its way or there already",
          "[suggester]") {
  Desk live({.ahead = 1}), replayed({.ahead = 1});
  for (Desk* const desk : {&live, &replayed}) {
    REQUIRE(desk->add(0));
    desk->suggester.on_ask(TrialId{1});
    if (desk == &replayed) desk->workers.run_completions();
    desk->suggester.on_trial_add_by_hand(TrialId{1}, R"({"x":77})");
    desk->end(0);
    desk->workers.run_completions();
  }
  CHECK(live.save() == replayed.save());
  CHECK(live.save().dump().find("+1x77+2x1-0") != std::string::npos);
  CHECK(live.add(2));
}

TEST_CASE("A searcher hears who failed and who was cut short", "[loop][suggester]") {
  Listened harness;
  harness.resources = {{"cpu", 1}};
  harness.trials = 3;
  harness.program.step = [](const Json& config, std::int64_t iteration) {
    FakeStep step{.metrics = R"({"loss":1})"};
    if (config.at("x") == 0 && iteration == 2) step.exits = 1;
    return step;
  };
  harness.wishes = {{0.5, {ControlRequest::Kind::stop, TrialId{1}}}};
  harness.run();
  INFO(harness.heard(2));
  CHECK(harness.heard(1).find("-0@1f") != std::string::npos);
}

TEST_CASE("A searcher hears what a trial has come to that its scheduler pauses",
          "[loop][suggester]") {
  Listened harness;
  harness.resources = {{"cpu", 1}};
  harness.trials = 2;
  harness.scheduler = std::make_unique<PausesFirst>();
  harness.run();
  CHECK(harness.heard(1) == "+0x0.0|0@1");
}

TEST_CASE("A searcher hears the values of constraints with metrics, NaN where there is no result",
          "[suggester]") {
  class Hearing : public Searcher {
   public:
    explicit Hearing(std::vector<Observation>& heard) : heard_(heard) {}
    Answer suggest(TrialId) override { return Exhausted{}; }
    void on_result(TrialId, const Observation& result) override { heard_.push_back(result); }
    void on_trial_end(TrialId, const Observation& last, Ended) override { heard_.push_back(last); }
    Json save() const override { return nullptr; }
    void load(const Json&) override {}

   private:
    std::vector<Observation>& heard_;
  };
  std::vector<Problem> none;
  const auto space = SearchSpace::parse({{"x", {{"uniform", {0, 9}}}}}, "", none);
  std::vector<Observation> heard;
  Suggester suggester(
      std::make_unique<Hearing>(heard), {{"loss"}},
      {space.constraint("x <= 3"), space.constraint("ms <= x"), space.constraint("val.kb >= 1")});
  Experiment experiment;
  experiment.apply({1, 1, SessionStarted{"host", 1, "0.1.0"}});
  experiment.apply({2, 1, TrialAdded{TrialId{0}, R"({"x": 2})", "", ""}});
  experiment.apply({3, 1, AttemptStarted{TrialId{0}, 1, 0, {}}});
  Result result;
  result.training_iteration = 1;
  result.metrics = parse_metrics(R"({"loss": 1, "ms": 5, "val": {"kb": 3}})");
  suggester.on_trial_end(experiment.trial(TrialId{0}));
  suggester.on_result(experiment.trial(TrialId{0}), result);
  experiment.apply({4, 1, ResultReported{TrialId{0}, 1, result, {}}});
  suggester.on_trial_end(experiment.trial(TrialId{0}));
  REQUIRE(heard.size() == 3);
  REQUIRE(heard[0].constraints.size() == 2);
  CHECK(std::isnan(heard[0].constraints[0]));
  CHECK(heard[1].constraints == std::vector<double>{3, -2});
  CHECK(heard[2].constraints == heard[1].constraints);
}

TEST_CASE("Whatever the driver's death interrupts, a searcher suggests what it would have",
          "[loop][suggester][crash]") {
  const auto make = [](int ahead) {
    auto harness = std::make_unique<Listened>(SuggestionLimits{.ahead = ahead});
    harness->resources = {{"cpu", 1}};
    harness->trials = 3;
    harness->iterations = 2;
    harness->spec.snapshot_period_s = 1.5;
    harness->spec.checkpoint_config.checkpoint_frequency = 1;
    return harness;
  };
  for (const int ahead : {0, 2}) {
    auto whole = make(ahead);
    whole->run();
    REQUIRE(whole->experiment.trials().size() == 3);
    REQUIRE(whole->snapshots_taken > 1);
    const auto operations = whole->files.operations();
    REQUIRE(operations > 50);
    std::uint64_t deaths = 0;
    for (std::uint64_t k = 1; k <= operations; k += test::stride) {
      CAPTURE(ahead, k);
      auto harness = make(ahead);
      harness->files.die_at_operation(k, k % 7);
      try {
        harness->run();
      } catch (const std::exception&) {
        ++deaths;
      }
      k % 2 == 0 ? harness->files.crash() : harness->files.restart();
      // The replay of a Harness refuses a searcher that answers otherwise than it did.
      harness->run();
      REQUIRE(harness->experiment.trials().size() == 3);
      for (int i = 0; i < 3; ++i) CHECK(harness->trial(i).iteration == 2);
    }
    CHECK(deaths > operations / (2 * test::stride));
  }
}

TEST_CASE("A searcher's limit holds back new trials until one has ended", "[suggester]") {
  Desk desk({.max_concurrent = 2});
  CHECK(desk.add(0));
  CHECK(desk.add(1));
  CHECK_FALSE(desk.add(2));
  CHECK_FALSE(desk.suggester.to_ask(TrialId{2}, true));
  desk.end(1);
  CHECK(desk.add(2));
  CHECK_FALSE(desk.add(3));
}

TEST_CASE("A searcher that had nothing is asked again when a trial has news, not before",
          "[suggester]") {
  /// Has nothing while a trial of its is without news.
  class Waiting : public Searcher {
   public:
    Answer suggest(TrialId) override {
      ++asked;
      if (open > 0) return NothingNow{};
      return Suggestion{{{"x", 1}}, "x"};
    }
    void on_trial_add(TrialId, const std::string&) override { ++open; }
    void on_result(TrialId, const Observation&) override { --open; }
    bool may_take_long() const override { return true; }
    Json save() const override { return {}; }
    void load(const Json&) override {}
    int open = 0;
    int asked = 0;
  };
  auto owned = std::make_unique<Waiting>();
  const Waiting& searcher = *owned;
  Workers workers{Workers::Threads::none, nullptr};
  Suggester suggester(std::move(owned), {{"loss"}});
  suggester.work_beside(workers);
  const auto ask = [&](std::uint32_t id) {
    const auto next = suggester.to_ask(TrialId(id), true);
    if (next) suggester.on_ask(*next);
    workers.run_completions();
    return next.has_value();
  };
  CHECK(ask(0));
  const auto first = suggester.answer(TrialId{0});
  suggester.on_trial_add(TrialId{0}, std::get<Suggestion>(*first).config.dump());
  CHECK(ask(1));
  CHECK(std::holds_alternative<NothingNow>(*suggester.answer(TrialId{1})));
  CHECK_FALSE(ask(1));
  // Somebody else's trial is none.
  suggester.on_trial_add(TrialId{1}, R"({"x": 2})");
  CHECK_FALSE(ask(2));
  CHECK(searcher.asked == 2);
  Trial trial;
  Result result;
  result.metrics = parse_metrics(R"({"loss": 1})");
  suggester.on_result(trial, result);
  CHECK(ask(2));
  // What comes while it answers is not in its answer.
  suggester.on_trial_add(TrialId{2}, R"({"x": 3})");
  suggester.on_result(trial, result);
  const auto next = suggester.to_ask(TrialId(3), true);
  REQUIRE(next);
  suggester.on_ask(*next);
  suggester.on_result(trial, result);
  workers.run_completions();
  CHECK(ask(3));
  CHECK(std::holds_alternative<Suggestion>(*suggester.answer(TrialId{3})));
}

TEST_CASE("A batch has to end before the next begins", "[suggester]") {
  Desk desk({.max_concurrent = 2, .batch = true});
  CHECK(desk.add(0));
  CHECK(desk.add(1));
  desk.end(0);
  CHECK_FALSE(desk.add(2));
  const Json state = desk.save();
  Desk other({.max_concurrent = 2, .batch = true});
  other.suggester.load(Json::parse(state.dump()));
  CHECK_FALSE(other.add(2));
  other.end(1);
  CHECK(other.add(2));
  desk.end(1);
  CHECK(desk.add(2));
  CHECK(desk.save() == other.save());
}

TEST_CASE("A state that is saved while an answer is on its way holds that answer", "[suggester]") {
  Desk desk({.ahead = 1});
  CHECK(desk.add(0));
  const auto next = desk.suggester.to_ask(TrialId{1}, false);
  REQUIRE(next == TrialId{1});
  desk.suggester.on_ask(*next);
  Json state;
  desk.suggester.save([&](Json saved) { state = std::move(saved); });
  CHECK(state.is_null());
  desk.workers.run_completions();
  desk.workers.run_completions();
  REQUIRE_FALSE(state.is_null());
  Desk other({.ahead = 1});
  other.suggester.load(Json::parse(state.dump()));
  CHECK(other.add(1));
  CHECK(desk.add(1));
  CHECK(other.save() == desk.save());
}

TEST_CASE("A record of another config than the searcher's wins, and the searcher hears of it",
          "[suggester]") {
  Desk desk({.ahead = 1});
  desk.suggester.on_ask(TrialId{0});
  desk.workers.run_completions();
  desk.suggester.on_trial_add(TrialId{0}, R"({"x":77})");
  desk.suggester.on_ask(TrialId{1});
  desk.workers.run_completions();
  const auto answer = desk.suggester.answer(TrialId{1});
  REQUIRE(answer);
  CHECK(std::get<Suggestion>(*answer).config.at("heard") == "+0x0+0x77");
}

namespace {

/// Throws where it is told to.
class Failing : public Searcher {
 public:
  Failing(bool is_slow, std::string where, std::function<void()> how)
      : is_slow_(is_slow), where_(std::move(where)), how_(std::move(how)) {}
  Answer suggest(TrialId) override {
    if (where_ == "suggest") how_();
    return Suggestion{{{"x", next_++}}, ""};
  }
  void on_trial_add(TrialId, const std::string&) override {
    if (where_ == "on_trial_add") how_();
  }
  void on_result(TrialId, const Observation&) override {
    if (where_ == "on_result") how_();
  }
  void on_trial_end(TrialId, const Observation&, Ended) override {
    if (where_ == "on_trial_end") how_();
  }
  bool may_take_long() const override { return is_slow_; }
  Json save() const override {
    if (where_ == "save") how_();
    return next_;
  }
  void load(const Json&) override {}

 private:
  const bool is_slow_;
  const std::string where_;
  const std::function<void()> how_;
  int next_ = 0;
};

/// What the driver says when it ends.
std::string end_of_run(Harness& harness, Fault& fault) {
  try {
    harness.run();
  } catch (const Error& error) {
    fault = error.fault();
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("A searcher that throws ends the run with its name, beside the loop as within it",
          "[loop][suggester]") {
  for (const std::string where : {"suggest", "on_trial_add", "on_result", "on_trial_end", "save"}) {
    for (const bool is_slow : {false, true}) {
      CAPTURE(where, is_slow);
      Fault fault{};
      const auto end = [&](std::function<void()> how) {
        Harness harness;
        if (where == "save") harness.spec.snapshot_period_s = 1;
        harness.make_searcher = [&](int) { return std::make_unique<Failing>(is_slow, where, how); };
        const std::string said = end_of_run(harness, fault);
        if (where == "on_result" || where == "on_trial_end") CHECK_FALSE(harness.events().empty());
        return said;
      };
      CHECK(end([] { throw std::runtime_error("no idea"); }) == "the searcher failed: no idea");
      CHECK(fault == Fault::machine);
      CHECK(end([] { throw std::bad_alloc(); }) == "the searcher failed: std::bad_alloc");
      CHECK(end([] { throw 42; }) == "the searcher failed: an exception of an unknown type");
      CHECK(end([] { throw user_error("x is no number"); }) == "x is no number");
      CHECK(fault == Fault::user);
    }
  }
}
