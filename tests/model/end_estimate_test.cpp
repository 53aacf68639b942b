// Estimates of the end against small runs whose end is known.
#include "tuner/model/end_estimate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <vector>

#include "tests/support/catch.h"
#include "tuner/math/random.h"

using namespace tune;

namespace {

constexpr Seconds begin_s = 1'700'000'000;

/// Trials with lives that are known, so many at a time.
class Run {
 public:
  Run(std::vector<Seconds> lives, std::size_t at_once) : lives_(std::move(lives)) {
    apply(begin_s, SessionStarted{"host", 1, "0.1.0"});
    for (std::size_t i = 0; i < at_once; ++i) start_next();
  }

  /// Until `part` of the trials have ended.
  void go_on_until(double part) {
    const double wanted = part * static_cast<double>(lives_.size());
    while (static_cast<double>(experiment.count(TrialState::terminated)) < wanted) end_next();
  }
  Seconds now() const { return now_s_; }
  /// When all is over; nothing can be done afterwards.
  Seconds end() {
    while (!ends_.empty()) end_next();
    return now_s_;
  }
  EndConditions conditions() const { return {.total_trials = lives_.size()}; }

  void apply(Seconds time, EventBody body) {
    now_s_ = time;
    experiment.apply({experiment.last_event() + 1, time, std::move(body)});
  }
  void start_next() {
    if (next_ == lives_.size()) return;
    const TrialId id{static_cast<std::uint32_t>(next_)};
    apply(now_s_, TrialAdded{id, "{}", "", ""});
    apply(now_s_, AttemptStarted{id, 1, 0, {3, 4}});
    ends_.emplace(now_s_ + lives_[next_++], id);
  }

  Experiment experiment;

 private:
  void end_next() {
    const auto [time, id] = *ends_.begin();
    ends_.erase(ends_.begin());
    apply(time, AttemptEnded{id, 1, Outcome::completed});
    start_next();
  }

  std::vector<Seconds> lives_;
  std::size_t next_ = 0;
  Seconds now_s_ = begin_s;
  std::multimap<Seconds, TrialId> ends_;
};

/// How far off the estimate is once a part of the trials has ended, as a part of the whole time.
double error_at(double part, const std::vector<Seconds>& lives, std::size_t at_once) {
  Run run(lives, at_once);
  run.go_on_until(part);
  const Seconds asked_s = run.now();
  const EndEstimate estimate = estimate_end(run.experiment, run.conditions(), asked_s);
  REQUIRE(estimate.remaining_s);
  const Seconds end_s = run.end();
  return (asked_s + *estimate.remaining_s - end_s) / (end_s - begin_s);
}

/// Of successive halving: three of four end at each of 1 and 4 minutes, the others at 16.
std::vector<Seconds> halved_lives(std::size_t trials, std::uint64_t seed) {
  Random random(seed);
  std::vector<Seconds> lives;
  for (std::size_t i = 0; i < trials; ++i) {
    Seconds life_s = 60;
    while (life_s < 16 * 60 && random.uniform() < 0.25) life_s *= 4;
    lives.push_back(life_s * random.uniform(0.95, 1.05));
  }
  return lives;
}

}  // namespace

TEST_CASE("The end of equal trials is estimated roughly from the first that ends, and soon well",
          "[end_estimate]") {
  const std::vector<Seconds> lives(96, 720);
  CHECK(std::abs(error_at(0.01, lives, 4)) < 0.25);
  for (const double part : {0.25, 0.5, 0.75}) {
    INFO(part);
    CHECK(std::abs(error_at(part, lives, 4)) < 0.02);
  }
}

TEST_CASE("The end under early stopping is estimated to a quarter of the whole time",
          "[end_estimate]") {
  for (const auto& [part, most] : {std::pair(0.25, 0.28), {0.5, 0.2}, {0.75, 0.15}}) {
    double sum_of_sizes = 0;
    constexpr int runs = 40;
    for (int seed = 0; seed < runs; ++seed) {
      const auto lives = halved_lives(96, static_cast<std::uint64_t>(seed));
      sum_of_sizes += std::abs(error_at(part, lives, 4)) / runs;
    }
    INFO(part << ": mean error " << sum_of_sizes);
    CHECK(sum_of_sizes < most);
  }
}

TEST_CASE("An estimate says what it rests on", "[end_estimate]") {
  Run run(std::vector<Seconds>(96, 720), 4);
  run.go_on_until(40.0 / 96);
  CHECK(text_of(estimate_end(run.experiment, run.conditions(), run.now())) ==
        "about 2 h 50 min: 40 of 96 trials ended, 4 at a time, 12 min each");
}

TEST_CASE("Where nothing has ended, a stop rule on iterations says how long trials last",
          "[end_estimate]") {
  Run run(std::vector<Seconds>(8, 1000), 2);
  EndConditions conditions = run.conditions();
  CHECK(text_of(estimate_end(run.experiment, conditions, begin_s + 50)) ==
        "not known: no trial has ended yet");
  Result result;
  result.training_iteration = 10;
  for (const std::uint32_t i : {0U, 1U}) {
    run.apply(begin_s + 100, ResultReported{TrialId{i}, 1, result, {}});
  }
  conditions.most_iterations = 100;
  const EndEstimate estimate = estimate_end(run.experiment, conditions, begin_s + 100);
  CHECK(*estimate.remaining_s == Approx(3900));
  CHECK(estimate.reason ==
        "0 of 8 trials ended, 2 at a time, 17 min each by their pace until the stop rule");
}

TEST_CASE("A trial that hangs does not move the estimate, which says that it is left out",
          "[end_estimate]") {
  std::vector<Seconds> lives(96, 720);
  lives[1] = 1e6;
  Run run(lives, 4);
  run.go_on_until(40.0 / 96);
  EndConditions conditions = run.conditions();
  conditions.hanging = {TrialId{1}};
  const EndEstimate estimate = estimate_end(run.experiment, conditions, run.now());
  // 55 are left besides it, three at a time.
  CHECK(*estimate.remaining_s == Approx(19 * 720).epsilon(0.05));
  CHECK(estimate.reason ==
        "40 of 96 trials ended, 3 at a time, 12 min each; 1 trial that hangs is left out");
}

TEST_CASE("Where all that runs hangs, nobody knows the end", "[end_estimate]") {
  Run run(std::vector<Seconds>(4, 1000), 2);
  run.go_on_until(0.25);
  EndConditions conditions = run.conditions();
  for (const TrialId id : run.experiment.running()) conditions.hanging.push_back(id);
  CHECK(estimate_end(run.experiment, conditions, run.now()).reason == "all that runs hangs");
}

TEST_CASE("A time budget ends what would last longer, and bounds what nobody knows",
          "[end_estimate]") {
  Run run(std::vector<Seconds>(8, 1000), 2);
  EndConditions conditions = run.conditions();
  conditions.time_budget_s = 600;
  EndEstimate estimate = estimate_end(run.experiment, conditions, begin_s + 100);
  CHECK(estimate.is_bound);
  CHECK(*estimate.remaining_s == Approx(500));
  run.go_on_until(0.25);
  conditions.time_budget_s = 1500;
  estimate = estimate_end(run.experiment, conditions, run.now());
  CHECK_FALSE(estimate.is_bound);
  CHECK(*estimate.remaining_s == Approx(500));
  conditions.time_budget_s = 1e6;
  CHECK(*estimate_end(run.experiment, conditions, run.now()).remaining_s == Approx(3000));
}

TEST_CASE("What nobody can know is not estimated", "[end_estimate]") {
  Run run(std::vector<Seconds>(4, 1000), 2);
  run.go_on_until(0.25);
  CHECK(estimate_end(run.experiment, {}, run.now()).reason ==
        "how many trials there will be is not known");
  run.apply(run.now() + 1, AttemptEnded{TrialId{1}, 1, Outcome::paused});
  CHECK(estimate_end(run.experiment, run.conditions(), run.now()).reason ==
        "1 trial is paused, and only the scheduler knows which go on");
  run.apply(run.now() + 1, StopRequested{"enough"});
  CHECK(estimate_end(run.experiment, run.conditions(), run.now()).reason == "it is stopping");
}

TEST_CASE("What ends an experiment comes from the spec and what was changed of it",
          "[end_estimate]") {
  const Json rules = Json::parse(R"([{"accuracy": 0.9, "training_iteration": 50},
                                     {"metric": "training_iteration", ">=": 40},
                                     {"type": "trial_plateau", "metric": "loss"}])");
  const EndConditions conditions = end_conditions(8, rules, 60, Json::object());
  CHECK(conditions.most_iterations == 40);
  CHECK(conditions.time_budget_s == 60);
  const Json changes = {{"time_budget_s", 90}, {"stop", {{"training_iteration", 7}}}};
  CHECK(end_conditions(8, rules, 60, changes).most_iterations == 7);
  CHECK(end_conditions(8, rules, 60, changes).time_budget_s == 90);
  CHECK_FALSE(end_conditions(8, nullptr, 60, {{"time_budget_s", nullptr}}).time_budget_s);
}

TEST_CASE("Who runs where and how long trials have lived outlasts a snapshot", "[end_estimate]") {
  Run run({100, 200, 300, 400}, 2);
  run.go_on_until(0.25);
  Result result;
  result.training_iteration = 1;
  run.apply(run.now() + 5, ResultReported{TrialId{1}, 1, result, {}});
  const RunningAttempt& attempt = run.experiment.attempts().at(TrialId{1});
  CHECK(attempt.since == begin_s);
  CHECK(attempt.last_result == begin_s + 105);
  Experiment loaded;
  for (const Trial& trial : run.experiment.trials()) {
    std::string line;
    run.experiment.append_trial(line, trial.id);
    loaded.load_trial(line);
  }
  loaded.load_totals(run.experiment.save_totals({}));
  CHECK(loaded.save() == run.experiment.save());
  CHECK(loaded.lifetimes().sum_s() == Approx(100));
}

TEST_CASE("A trial that is taken up again has not lived its life", "[end_estimate]") {
  Run run({100, 200}, 2);
  run.go_on_until(0.5);
  CHECK(run.experiment.lifetimes().count() == 1);
  run.apply(run.now(), TrialRequeued{TrialId{0}, false});
  CHECK(run.experiment.lifetimes().count() == 0);
  run.apply(run.now() + 10, AttemptStarted{TrialId{0}, 2, 0, {}});
  run.apply(run.now() + 50, AttemptEnded{TrialId{0}, 2, Outcome::completed});
  CHECK(run.experiment.lifetimes().sum_s() == Approx(150));
}

TEST_CASE("Durations are rough", "[end_estimate]") {
  CHECK(rough_duration(0.25) == "0.25 s");
  CHECK(rough_duration(99) == "99 s");
  CHECK(rough_duration(700) == "12 min");
  CHECK(rough_duration(11400) == "3 h 10 min");
  CHECK(rough_duration(40000) == "11 h");
  CHECK(rough_duration(3.5 * 86400) == "3 d 12 h");
}
