// Which trials a resume takes up again.
#include "tuner/run/resume_plan.h"

#include "tests/support/catch.h"
#include "tuner/base/error.h"

using namespace tune;
using Catch::Matchers::Contains;

namespace {

struct NoMax : Scheduler {
  Decision on_result(const Trial&, const Result&) override { return {}; }
};

/// Trial 0 has failed at iteration 4 with a checkpoint at 3. Trials 1 and 2 were ended by a rule at
/// iteration 5, 1 with a checkpoint. Trial 3 ended by itself at iteration 2, with a checkpoint.
/// Trial 4 waits.
Experiment an_experiment() {
  Experiment experiment;
  const auto then = [&](EventBody body) {
    experiment.apply({experiment.last_event() + 1, 1, std::move(body)});
  };
  const auto report = [&](TrialId trial, std::int64_t iteration, Decision decision = {}) {
    Result result;
    result.training_iteration = iteration;
    result.metrics = parse_metrics(R"({"loss":0.5})");
    then(ResultReported{trial, 1, result, decision});
  };
  const auto save = [&](TrialId trial, std::int64_t iteration) {
    Checkpoint checkpoint;
    checkpoint.index = 1;
    checkpoint.iteration = iteration;
    then(CheckpointCommitted{trial, checkpoint});
  };
  for (std::uint32_t i = 0; i < 5; ++i) then(TrialAdded{TrialId{i}, "{}", "", ""});
  for (std::uint32_t i = 0; i < 4; ++i) then(AttemptStarted{TrialId{i}, 1, 0, {}});
  report(TrialId{0}, 3);
  save(TrialId{0}, 3);
  report(TrialId{0}, 4);
  then(AttemptEnded{TrialId{0}, 1, Outcome::failed, "it broke"});
  const Decision by_rule{.action = Action::stop, .by_rule = true};
  report(TrialId{1}, 5, by_rule);
  save(TrialId{1}, 5);
  report(TrialId{2}, 5, by_rule);
  report(TrialId{3}, 2);
  save(TrialId{3}, 2);
  for (std::uint32_t i = 1; i < 4; ++i) then(AttemptEnded{TrialId{i}, 1, Outcome::completed});
  return experiment;
}

/// "0 1!" : trial 0 goes on, trial 1 starts from scratch.
std::string plan(const ResumeOptions& options, std::int64_t iterations = 5) {
  const auto rule = make_max_iteration(iterations);
  std::string text;
  const Experiment experiment = an_experiment();
  for (const auto& [trial, from_scratch] :
       plan_resume(experiment, options, rule.get(), true, NoMax()).requeued) {
    if (!text.empty()) text += ' ';
    text += std::to_string(index_of(trial)) + (from_scratch ? "!" : "");
  }
  return text;
}

}  // namespace

TEST_CASE("A resume takes up nothing that has ended unless asked to", "[resume]") {
  CHECK(plan({}).empty());
  CHECK(plan({}, 10).empty());
}

TEST_CASE("Errored trials go on or start from scratch", "[resume]") {
  CHECK(plan({.errored = ErroredTrials::go_on}) == "0");
  CHECK(plan({.errored = ErroredTrials::restart}) == "0!");
}

TEST_CASE("A longer stop takes up the trials that a shorter one has ended and that can go on",
          "[resume]") {
  CHECK(plan({.finished = true}, 5).empty());
  CHECK(plan({.finished = true}, 4).empty());
  CHECK(plan({.finished = true}, 6) == "1");
  CHECK(plan({.errored = ErroredTrials::go_on, .finished = true}, 6) == "0 1");
  const Experiment experiment = an_experiment();
  CHECK(plan_resume(experiment, {}, nullptr, false, NoMax()).notices.empty());
  const auto unasked = plan_resume(experiment, {}, nullptr, true, NoMax());
  REQUIRE(unasked.notices.size() == 1);
  CHECK_THAT(unasked.notices[0], Contains("1 finished trial") && Contains("--finished") &&
                                     Contains("1 cannot: it has no checkpoint"));
}

TEST_CASE("Trials that are named are taken up if they can go on", "[resume]") {
  CHECK(plan({.trials = {TrialId{0}}}) == "0");
  CHECK(plan({.errored = ErroredTrials::restart, .trials = {TrialId{0}}}) == "0!");
  CHECK(plan({.trials = {TrialId{4}}}).empty());  // it waits, and simply runs
  CHECK(plan({.trials = {TrialId{3}}}) == "3");
  CHECK(plan({.trials = {TrialId{1}, TrialId{0}, TrialId{1}}}, 6) == "0 1");
  // Errored trials that are not named are left alone.
  CHECK(plan({.errored = ErroredTrials::go_on, .trials = {TrialId{3}}}) == "3");
}

TEST_CASE("Trials that are named and cannot go on are refused with the reason", "[resume]") {
  CHECK_THROWS_WITH(plan({.trials = {TrialId{9}}}),
                    Contains("no trial_00009") && Contains("5 trials") && Contains("trial_00004"));
  CHECK_THROWS_WITH(plan({.trials = {TrialId{1}}}),
                    Contains("trial_00001 has finished") && Contains("iteration 5"));
  CHECK_THROWS_WITH(plan({.trials = {TrialId{2}}}, 6), Contains("no checkpoint"));
}

TEST_CASE("A resume says which trials have no checkpoint to go on from", "[resume]") {
  Experiment experiment = an_experiment();
  const auto then = [&](EventBody body) {
    experiment.apply({experiment.last_event() + 1, 1, std::move(body)});
  };
  Result result;
  result.training_iteration = 7;
  result.metrics = parse_metrics(R"({"loss":0.5})");
  then(AttemptStarted{TrialId{4}, 1, 0, {}});
  then(ResultReported{TrialId{4}, 1, result, {}});
  const auto notices = [&](const ResumeOptions& options) {
    const auto rule = make_max_iteration(6);
    return plan_resume(experiment, options, rule.get(), false, NoMax()).notices;
  };
  const std::string on = "1 failed trial goes on from its latest checkpoint";
  const std::string anew = "1 failed trial starts from the beginning";
  using Notices = std::vector<std::string>;

  const std::string lost =
      "1 trial has no checkpoint and begins anew: 7 iterations of work are lost";
  CHECK(notices({}) == Notices{lost});
  CHECK(notices({.errored = ErroredTrials::go_on}) == Notices{on, lost});
  CHECK(notices({.errored = ErroredTrials::restart}) == Notices{anew, lost});
  CHECK(notices({.trials = {TrialId{0}}}).empty());
  CHECK(notices({.trials = {TrialId{4}}}) == Notices{lost});
  const auto budget = make_time_budget(0);  // used up: nothing begins anew
  CHECK(plan_resume(experiment, {}, budget.get(), false, NoMax()).notices.empty());
  CHECK(notices({.finished = true})[0] ==
        "1 finished trial goes on under this stop rule; 1 cannot: it has no checkpoint to go on "
        "from");

  then(AttemptEnded{TrialId{4}, 1, Outcome::failed, "it broke"});
  CHECK(notices({}).empty());
  CHECK(notices({.errored = ErroredTrials::go_on}) == Notices{on, anew, lost});
  CHECK(notices({.errored = ErroredTrials::restart}) ==
        Notices{"2 failed trials start from the beginning"});
}

TEST_CASE("A resume says how many finished trials the stop rule leaves no further to go",
          "[resume]") {
  const Experiment experiment = an_experiment();
  const auto rule = make_max_iteration(5);
  const auto plan = plan_resume(experiment, {.finished = true}, rule.get(), true, NoMax());
  CHECK(plan.notices == std::vector<std::string>{
                            "no finished trial goes on under this stop rule; 2 are already where "
                            "this stop rule ends them"});
}

TEST_CASE("A resume says that no stop rule has ended any trial", "[resume]") {
  const Experiment experiment;
  const auto rule = make_max_iteration(5);
  const auto plan = plan_resume(experiment, {.finished = true}, rule.get(), true, NoMax());
  CHECK(plan.notices == std::vector<std::string>{
                            "no trial has been ended by a stop rule, so none goes on under this "
                            "one"});
}

TEST_CASE("A rule about a metric is asked of a finished trial's last result", "[resume_plan]") {
  const Experiment experiment = an_experiment();
  const auto taken_up = [&](double bound) {
    const auto rule = make_metric_bound("loss", Comparison::less, bound);
    return plan_resume(experiment, {.finished = true}, rule.get(), true, NoMax()).requeued.size();
  };
  CHECK(taken_up(0.6) == 0);  // 0.5 is below it: there they end
  CHECK(taken_up(0.4) == 1);
}

TEST_CASE("A trial that has come as far as its scheduler lets any is not taken up again",
          "[resume]") {
  struct Five : NoMax {
    bool is_at_max(const Trial& trial) const override { return trial.iteration >= 5; }
  };
  const Experiment experiment = an_experiment();
  const auto rule = make_max_iteration(10);
  CHECK_THROWS_WITH(
      plan_resume(experiment, {.trials = {TrialId{1}}}, rule.get(), true, Five()),
      Contains(
          "trial_00001 has finished and cannot go on: it has reached max_t of its scheduler") &&
          Contains("at iteration 5"));
  CHECK(
      plan_resume(experiment, {.trials = {TrialId{3}}}, rule.get(), true, Five()).requeued.size() ==
      1);
  const auto all = plan_resume(experiment, {.finished = true}, rule.get(), true, Five());
  CHECK(all.requeued.empty());
  CHECK_THAT(all.notices.at(0), Contains("no finished trial goes on") &&
                                    Contains("2 have reached max_t of the scheduler"));
}
