// freeze_thaw: where its scheduler pauses, whom its searcher has start and go on, and when it ends.
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "tests/policies/scheduler_helpers.h"
#include "tests/support/catch.h"
#include "tuner/base/error.h"
#include "tuner/model/experiment.h"

using namespace tune;
using Catch::Matchers::Contains;

namespace {

constexpr double nan_score = std::numeric_limits<double>::quiet_NaN();
const Json unit_space = {{"x", {{"uniform", {0, 1}}}}};
const std::vector<std::int64_t> epochs_of_27 = decision_epochs({.max_t = 27});

std::unique_ptr<Searcher> search(std::int64_t num_samples, Json scheduler = {{"max_t", 27}},
                                 const Json& options = nullptr, const Json& json = unit_space) {
  const SearchSpace space = space_of(json);
  PolicyContext context{space, {{"loss", Mode::min}}, num_samples, 7};
  scheduler["type"] = "freeze_thaw";
  context.scheduler = std::move(scheduler);
  return all_policies().searchers.at("freeze_thaw")(options, context);
}

/// Rises towards x, with an early share that depends on nothing.
double curve(double x, std::int64_t iteration) {
  return x * (1 - std::exp(-static_cast<double>(iteration) / 6.0)) - 1;
}

/// One worker, as a driver with the scheduler would tell it: each answer trains to its next pause.
struct OneWorker {
  std::unique_ptr<Searcher> searcher;
  std::map<TrialId, double> x;
  std::map<TrialId, std::int64_t> iterations;
  std::vector<std::string> log;  ///< "+3": trial 3 starts; "3": it goes on
  std::set<TrialId> diverging;
  std::int64_t diverging_from = 1;
  double failing_above = 2;  ///< configs beyond it fail with their first iteration
  std::uint32_t next = 0;

  /// False once there is nothing to do.
  bool step() {
    const Answer answer = searcher->suggest(TrialId(next));
    if (const auto* const resume = std::get_if<Resume>(&answer)) {
      searcher->on_trial_resume(resume->trial);
      log.push_back(std::to_string(index_of(resume->trial)));
      train(resume->trial);
      return true;
    }
    const auto* const suggestion = std::get_if<Suggestion>(&answer);
    if (suggestion == nullptr) return false;
    const TrialId id{next++};
    searcher->on_trial_add(id, suggestion->config.dump());
    x[id] = suggestion->config.at("x").get<double>();
    log.push_back("+" + std::to_string(index_of(id)));
    train(id);
    return true;
  }

  void train(TrialId id) {
    std::int64_t& at = iterations[id];
    const std::int64_t target = epochs_of_27[next_decision(epochs_of_27, at)];
    if (x[id] > failing_above) return searcher->on_trial_end(id, {at = 1, {0}}, Ended::failed);
    const auto has_diverged = [&] { return diverging.contains(id) && at >= diverging_from; };
    const auto score = [&] { return has_diverged() ? nan_score : curve(x[id], at); };
    while (++at < target) searcher->on_result(id, {at, {score()}});
    if (has_diverged()) return searcher->on_trial_end(id, {at, {nan_score}}, Ended::stopped);
    if (at == 27) return searcher->on_trial_end(id, {at, {score()}}, Ended::stopped);
    searcher->on_result(id, {at, {score()}});
    searcher->on_trial_pause(id, {at, {score()}});
  }

  std::int64_t trained() const {
    std::int64_t sum = 0;
    for (const auto& [id, at] : iterations) sum += at;
    return sum;
  }
};

std::string refusal(const std::string& searcher, const Json& options, const Json& scheduler) {
  const SearchSpace space = space_of(unit_space);
  PolicyContext context{space, {{"loss", Mode::min}}, 5, 1};
  context.scheduler = scheduler;
  context.searcher = {{"type", searcher}};
  try {
    all_policies().searchers.at(searcher)(options, context);
    Json of_scheduler = scheduler;
    of_scheduler.erase("type");
    all_policies().schedulers.at(scheduler.at("type").get<std::string>())(of_scheduler, context);
  } catch (const OptionError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("Decision epochs grow by a half, and are at most 12 with the end", "[freeze_thaw]") {
  using Epochs = std::vector<std::int64_t>;
  CHECK(decision_epochs({.max_t = 50}) == Epochs{1, 2, 3, 4, 7, 10, 15, 22, 33, 50});
  CHECK(decision_epochs({.max_t = 50, .grace_period = 5}) == Epochs{7, 10, 15, 22, 33, 50});
  CHECK(decision_epochs({.max_t = 1}) == Epochs{1});
  CHECK(decision_epochs({.max_t = 9, .grace_period = 9}) == Epochs{9});
  const Epochs of_many = decision_epochs({.max_t = 1'000'000});
  CHECK(of_many.size() == 12);
  CHECK(of_many.front() == 11561);
  CHECK(next_decision(of_many, 0) == 0);
  CHECK(next_decision(of_many, 11561) == 1);
  CHECK(next_decision(of_many, 2'000'000) == 11);
}

TEST_CASE("The scheduler pauses at decision epochs, and ends at max_t and what has diverged",
          "[freeze_thaw]") {
  const auto scheduler = make_scheduler("freeze_thaw", {{"max_t", 50}, {"grace_period", 10}});
  Trial trial = trial_number(0);
  scheduler->on_trial_add(trial);
  const auto at = [&](std::int64_t iteration, double loss = 1) {
    return scheduler->on_result(trial, result_at(iteration, loss)).action;
  };
  CHECK(at(9) == Action::proceed);
  CHECK(at(9, nan_score) == Action::proceed);
  CHECK(at(10) == Action::pause);
  CHECK(at(11) == Action::pause);  // the save has failed
  CHECK(at(10, nan_score) == Action::stop);
  Result without = result_at(10, 1);
  without.metrics.numbers.clear();
  CHECK(scheduler->on_result(trial, without).action == Action::proceed);
  trial.state = TrialState::paused;
  trial.counted_iteration = 11;
  scheduler->on_trial_wait(trial);
  CHECK(at(11) == Action::proceed);  // trained again
  CHECK(at(14) == Action::proceed);
  CHECK(at(15) == Action::pause);
  const Decision end = scheduler->on_result(trial, result_at(50, 1));
  CHECK(end.action == Action::stop);
  CHECK(end.at_max);
}

TEST_CASE("The model expects a curve to go on as those of like configs do", "[freeze_thaw]") {
  auto searcher = search(-1);
  OneWorker worker{std::move(searcher)};
  for (int i = 0; i < 90; ++i) REQUIRE(worker.step());
  int resumed = 0;
  for (const std::string& each : worker.log) resumed += each.starts_with("+") ? 0 : 1;
  CHECK(resumed > 20);
  CHECK(resumed < 85);
  // Who trained to the end is among the best, and most have trained little.
  double best = 0;
  std::int64_t short_ones = 0;
  for (const auto& [id, at] : worker.iterations) {
    if (at == 27) best = std::max(best, worker.x.at(id));
    if (at < 27) ++short_ones;
  }
  CHECK(best > 0.9);
  CHECK(2 * short_ones > std::ssize(worker.iterations));
}

TEST_CASE("Loaded at any moment, freeze_thaw decides the same, and asking leaves no trace",
          "[freeze_thaw]") {
  OneWorker whole{search(20)}, reloaded{search(20)};
  for (int i = 0; i < 60; ++i) {
    const Json state = Json::parse(reloaded.searcher->save().dump());
    reloaded.searcher = search(20);
    reloaded.searcher->load(state);
    CHECK(reloaded.searcher->save() == state);
    if (reloaded.next == 20) {
      (void)reloaded.searcher->suggest(TrialId(20));
      CHECK(reloaded.searcher->save() == state);
    }
    CHECK(whole.step() == reloaded.step());
  }
  CHECK(whole.log == reloaded.log);
  CHECK(whole.x == reloaded.x);
}

TEST_CASE("freeze_thaw ends by the probability that a waiting trial is better in the end",
          "[freeze_thaw]") {
  const auto run = [](const Json& options) {
    OneWorker worker{search(12, {{"max_t", 27}}, options)};
    int steps = 0;
    while (worker.step()) REQUIRE(++steps < 200);
    CHECK(std::holds_alternative<Exhausted>(worker.searcher->suggest(TrialId(12))));
    CHECK(worker.iterations.size() == 12);
    std::int64_t whole = 0;
    for (const auto& [id, at] : worker.iterations) whole += at == 27 ? 1 : 0;
    return whole;
  };
  CHECK(run({{"min_probability", 0}}) == 12);
  const auto usual = run(nullptr);
  CHECK(usual >= 1);
  CHECK(usual < 12);
  CHECK(run({{"min_probability", 1}}) >= 1);  // one at least
}

TEST_CASE("No more is begun once max_total_t is used up", "[freeze_thaw]") {
  OneWorker worker{search(-1, {{"max_t", 27}, {"max_total_t", 100}})};
  int steps = 0;
  while (worker.step()) REQUIRE(++steps < 200);
  CHECK(worker.trained() >= 100);
  CHECK(worker.trained() < 100 + 9);  // the last stretch
  CHECK(std::holds_alternative<Exhausted>(worker.searcher->suggest(TrialId(worker.next))));
}

TEST_CASE("What runs may pause short of what is counted for it, and then more may be begun",
          "[freeze_thaw]") {
  auto searcher = search(2, {{"max_t", 27}, {"max_total_t", 3}});
  for (std::uint32_t id = 0; id < 2; ++id) {
    searcher->on_trial_add(TrialId(id), R"({"x": 0.5})");
    searcher->on_result(TrialId(id), {1, {-0.9}});
  }
  // Each is counted up to its next pause.
  CHECK(std::holds_alternative<NothingNow>(searcher->suggest_waiting()));
  for (std::uint32_t id = 0; id < 2; ++id) searcher->on_trial_pause(TrialId(id), {1, {-0.9}});
  CHECK(std::holds_alternative<Resume>(searcher->suggest_waiting()));
}

TEST_CASE("A training that ends before max_t is a whole one", "[freeze_thaw]") {
  auto searcher = search(3, {{"max_t", 27}}, {{"min_probability", 0.999}});
  for (std::uint32_t id = 0; id < 3; ++id) {
    searcher->on_trial_add(TrialId(id), Json{{"x", 0.2 + 0.3 * id}}.dump());
    for (std::int64_t at = 1; at <= 9; ++at) {
      searcher->on_result(TrialId(id), {at, {curve(0.2 + 0.3 * id, at)}});
    }
    searcher->on_trial_pause(TrialId(id), {9, {curve(0.2 + 0.3 * id, 9)}});
  }
  CHECK(std::holds_alternative<Resume>(searcher->suggest_waiting()));
  searcher->on_trial_resume(TrialId(2));
  searcher->on_trial_end(TrialId(2), {10, {curve(0.8, 10)}}, Ended::complete);
  CHECK(std::holds_alternative<Exhausted>(searcher->suggest_waiting()));
}

TEST_CASE("What the user has paused, and what has diverged, freeze_thaw lets lie",
          "[freeze_thaw]") {
  OneWorker worker{search(6, {{"max_t", 27}}, {{"min_probability", 0}})};
  worker.diverging = {TrialId(2)};
  while (worker.next < 5) REQUIRE(worker.step());
  worker.searcher->on_trial_hold(TrialId(4), false);
  int steps = 0;
  while (worker.step()) REQUIRE(++steps < 100);
  CHECK(worker.iterations.at(TrialId(2)) == 1);
  CHECK(worker.iterations.at(TrialId(4)) == 1);
  CHECK(worker.iterations.at(TrialId(5)) == 27);
  // Held, it may be released: the search is not over.
  CHECK(std::holds_alternative<NothingNow>(worker.searcher->suggest(TrialId(6))));
  worker.searcher->on_trial_hold(TrialId(4), true);
  while (worker.step()) REQUIRE(++steps < 100);
  CHECK(worker.iterations.at(TrialId(4)) == 27);
}

TEST_CASE("What diverges at random does not have freeze_thaw train more of the others",
          "[freeze_thaw]") {
  const auto trained = [](bool is_diverging) {
    OneWorker worker{search(40)};
    worker.diverging_from = 9;
    for (std::uint32_t id = 1; is_diverging && id < 40; id += 3) {
      worker.diverging.insert(TrialId(id));
    }
    int steps = 0;
    while (worker.step()) REQUIRE(++steps < 400);
    return worker.trained();
  };
  CHECK(trained(true) < 1.3 * static_cast<double>(trained(false)));
}

TEST_CASE("Where all trials fail behind their first result, freeze_thaw starts others",
          "[freeze_thaw]") {
  const auto searcher = search(40);
  for (std::uint32_t id = 0; id < 12; ++id) {
    const Answer answer = searcher->suggest(TrialId(id));
    REQUIRE(std::holds_alternative<Suggestion>(answer));
    searcher->on_trial_add(TrialId(id), std::get<Suggestion>(answer).config.dump());
    searcher->on_result(TrialId(id), {1, {0.5}});
    // Half of them report nothing more, half a number that is none.
    searcher->on_trial_end(TrialId(id), {1, {id % 2 == 0 ? 0.5 : nan_score}}, Ended::failed);
  }
}

TEST_CASE("freeze_thaw starts few configs where most have failed", "[freeze_thaw]") {
  OneWorker worker{search(40)};
  worker.failing_above = 0.7;
  int steps = 0;
  while (worker.step()) REQUIRE(++steps < 400);
  int failed = 0;
  double best = 0;
  for (const auto& [id, x] : worker.x) {
    failed += x > 0.7 ? 1 : 0;
    if (x <= 0.7) best = std::max(best, x);
  }
  CHECK(failed < 16);  // the curves alone say: the larger, the better
  CHECK(best > 0.65);
}

TEST_CASE("With many workers freeze_thaw does not have the same trial go on twice",
          "[freeze_thaw]") {
  auto searcher = search(8);
  std::map<TrialId, std::int64_t> at;
  for (std::uint32_t id = 0; id < 8; ++id) {
    const Json config = next_config(*searcher, id);
    REQUIRE(config.is_object());
    searcher->on_trial_add(TrialId(id), config.dump());
    at[TrialId(id)] = 1;
  }
  CHECK(std::holds_alternative<NothingNow>(searcher->suggest(TrialId(8))));
  for (std::uint32_t id = 0; id < 8; ++id) {
    searcher->on_trial_pause(TrialId(id), {1, {id / 8.0}});
  }
  std::set<TrialId> resumed;
  for (int i = 0; i < 8; ++i) {
    const Answer answer = searcher->suggest(TrialId(8));
    const auto* const resume = std::get_if<Resume>(&answer);
    if (resume == nullptr) break;
    CHECK(resumed.insert(resume->trial).second);
    searcher->on_trial_resume(resume->trial);
  }
  CHECK(!resumed.empty());
}

TEST_CASE("freeze_thaw chooses among the configs that alone can be tried", "[freeze_thaw]") {
  const SearchSpace space = space_of(unit_space);
  PolicyContext context{space, {{"loss", Mode::min}}, 10, 1};
  for (int i = 0; i < 10; ++i) context.only_configs.push_back({{"x", 0.05 + 0.1 * i}});
  OneWorker worker{all_policies().searchers.at("freeze_thaw")(nullptr, context)};
  for (int i = 0; i < 40 && worker.next < 10; ++i) REQUIRE(worker.step());
  std::set<double> tried;
  for (const auto& [id, x] : worker.x) {
    CHECK(std::abs(x * 10 - std::floor(x * 10) - 0.5) < 1e-6);
    tried.insert(x);
  }
  CHECK(tried.size() == worker.x.size());
}

TEST_CASE("The scheduler freeze_thaw tells how many have come to each decision epoch",
          "[freeze_thaw]") {
  const Json options = {{"max_t", 4}, {"grace_period", 3}};  // pauses at 3, ends at 4
  auto scheduler = make_scheduler("freeze_thaw", options);
  Trial trial = trial_number(0), other = trial_number(1);
  for (Trial* each : {&trial, &other}) {
    scheduler->on_trial_add(*each);
    each->state = TrialState::paused;
    each->iteration = each->counted_iteration = 3;
    scheduler->on_trial_wait(*each);
  }
  const Json state = scheduler->save();
  scheduler = make_scheduler("freeze_thaw", options);
  scheduler->load(state);
  scheduler->on_trial_start(trial);
  scheduler->on_trial_start(trial);  // tried once more
  trial.iteration = 4;
  scheduler->on_trial_end(trial);
  const auto rungs = scheduler->rungs().value().rungs;
  REQUIRE(rungs.size() == 2);
  CHECK(rungs[0].milestone == 3);
  CHECK(rungs[0].reached == 2);
  CHECK(rungs[0].went_on == 1);
  CHECK(rungs[0].waiting == 1);
  CHECK(rungs[1].reached == 1);
  CHECK(rungs[1].went_on == 0);
}

TEST_CASE("freeze_thaw says what goes together, and what it has no use for", "[freeze_thaw]") {
  const Json own = {{"type", "freeze_thaw"}, {"max_t", 9}};
  CHECK(refusal("freeze_thaw", nullptr, own).empty());
  CHECK_THAT(refusal("tpe", nullptr, own), Contains("leave 'searcher' out"));
  CHECK_THAT(refusal("freeze_thaw", nullptr, {{"type", "asha"}}),
             Contains("needs the scheduler 'freeze_thaw'"));
  CHECK(refusal("freeze_thaw", nullptr, {{"type", "resource_changing"}, {"base_scheduler", own}})
            .find("needs the scheduler") == std::string::npos);
  for (const Json& pace :
       {Json{{"max_concurrent", 2}}, Json{{"suggest_ahead", 1}}, Json{{"repeat", 2}}}) {
    CHECK_THAT(refusal("freeze_thaw", pace, own), Contains("whenever a place is free"));
  }
  CHECK_THAT(refusal("freeze_thaw", nullptr, {{"type", "freeze_thaw"}, {"max_t", 0}}),
             Contains("'max_t' must be at least 1"));
  CHECK_THAT(
      refusal("freeze_thaw", nullptr, {{"type", "freeze_thaw"}, {"max_t", 5}, {"grace_period", 6}}),
      Contains("at most max_t"));
  CHECK_THAT(refusal("freeze_thaw", {{"foo", 1}}, own),
             Contains("'points_to_evaluate'") && !Contains("suggest_ahead"));
  CHECK_THAT(refusal("freeze_thaw", {{"min_probability", 2}}, own), Contains("from 0 to 1"));
  const SearchSpace space = space_of(unit_space);
  PolicyContext context{space, {{"loss", Mode::min}}, 5, 1};
  context.scheduler = own;
  CHECK(choose_searcher(context).type == "freeze_thaw");
}
