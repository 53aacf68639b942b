// Population-based training with several intervals: what migrates between sub-populations, when,
// and with whose hyperparameters. pbt_test.cpp has what holds within each.
#include <limits>
#include <map>

#include "tests/policies/scheduler_helpers.h"
#include "tests/policies/scheduler_world.h"
#include "tests/support/catch.h"

using namespace tune;

namespace {

Json options(const Json& more = Json::object()) {
  Json all = {{"time_attr", "training_iteration"},
              {"perturbation_interval", {2, 4}},
              {"resample_probability", 0},
              {"hyperparam_mutations", {{"x", {{"uniform", {0, 1}}}}}}};
  all.update(more);
  return all;
}

/// `n` running trials with configs {"x": 0.1}, {"x": 0.2}, ...; even ones have the interval 2.
class Running {
 public:
  explicit Running(std::uint32_t n, const Json& more = Json::object())
      : options_(options(more)), scheduler_(make_scheduler("pbt", options_)) {
    for (std::uint32_t i = 0; i < n; ++i) {
      configs_.push_back(R"({"x":0.)" + std::to_string(i + 1) + "}");
      scheduler_->on_trial_add(trial(i, TrialState::pending));
      start(i);
    }
  }

  Decision ask(std::uint32_t id, const Result& result) {
    Decision decision = scheduler_->on_result(trial(id, TrialState::running), result);
    if (decision.exploit) configs_[id] = decision.exploit->config;
    return decision;
  }
  Decision ask(std::uint32_t id, std::int64_t iteration, double loss) {
    return ask(id, result_at(iteration, loss));
  }
  void pause(std::uint32_t id) { scheduler_->on_trial_wait(trial(id, TrialState::paused)); }
  void start(std::uint32_t id) { scheduler_->on_trial_start(trial(id, TrialState::running)); }

  /// All come to a barrier with these losses; what comes of it, by trial.
  std::map<std::uint32_t, Exploit> orders_at(std::int64_t iteration,
                                             const std::vector<double>& losses) {
    for (std::uint32_t i = 0; i < losses.size(); ++i) {
      CHECK(ask(i, iteration, losses[i]).action == Action::pause);
      pause(i);
    }
    std::map<std::uint32_t, Exploit> orders;
    while (const auto order = scheduler_->order()) {
      const auto id = static_cast<std::uint32_t>(index_of(order->trial));
      orders.emplace(id, *order->exploit);
      configs_[id] = order->exploit->config;
      scheduler_->on_order(trial(id, TrialState::paused));
    }
    for (std::uint32_t i = 0; i < losses.size(); ++i) start(i);
    return orders;
  }

  /// All have ended, and are queued again.
  void take_up_all_at(std::int64_t iteration) {
    const auto n = static_cast<std::uint32_t>(configs_.size());
    for (std::uint32_t i = 0; i < n; ++i) {
      scheduler_->on_trial_end(trial(i, TrialState::terminated));
    }
    for (std::uint32_t i = 0; i < n; ++i) {
      Trial again = trial(i, TrialState::pending);
      again.attempt = 1;
      again.iteration = iteration;
      again.last_metrics = result_at(iteration, 0.5).metrics.text;
      scheduler_->on_trial_add(again);
    }
    for (std::uint32_t i = 0; i < n; ++i) start(i);
  }

  /// What it saves; another one that has loaded it goes on.
  Json reload() {
    const Json state = scheduler_->save();
    scheduler_ = make_scheduler("pbt", options_);
    scheduler_->load(state);
    CHECK(scheduler_->save() == state);
    return state;
  }

 private:
  Trial trial(std::uint32_t id, TrialState state) const {
    Trial trial = trial_number(id);
    trial.config = InternedJson(configs_[id]);
    trial.state = state;
    return trial;
  }

  Json options_;
  std::vector<std::string> configs_;
  std::unique_ptr<Scheduler> scheduler_;
};

double x_of(const Exploit& exploit) { return Json::parse(exploit.config)["x"]; }

std::string why_of(const Decision& decision) { return decision.why.text(); }

}  // namespace

TEST_CASE("Each sub-population exploits at its own interval, and its own best", "[pbt]") {
  Running population(6, {{"synch", true}});
  // Trials 0, 2, 4 have the interval 2. Those of the other one are better, and worse.
  auto orders = population.orders_at(2, {0.1, 0.9, 0.2, 0.7, 0.3, 0.8});
  REQUIRE(orders.size() == 1);
  CHECK(orders.at(4).donor == TrialId{0});
  CHECK((x_of(orders.at(4)) == 0.1 * 1.2 || x_of(orders.at(4)) == 0.1 * 0.8));
  orders = population.orders_at(4, {0.1, 0.09, 0.2, 0.07, 0.3, 0.08});
  CHECK(orders.at(4).donor == TrialId{0});
  CHECK(orders.at(1).donor == TrialId{3});
  CHECK((x_of(orders.at(1)) == 0.4 * 1.2 || x_of(orders.at(1)) == 0.4 * 0.8));
}

TEST_CASE("A better model of a longer interval comes with its hyperparameters", "[pbt]") {
  Running population(6, {{"synch", true}});
  const auto orders = population.orders_at(2, {0.1, 0.09, 0.2, 0.01, 0.3, 0.08});
  CHECK(orders.size() == 2);
  REQUIRE(orders.contains(2));  // the one in the middle, and not the worst one
  CHECK(orders.at(2).donor == TrialId{3});
  CHECK(x_of(orders.at(2)) == 0.4);
}

TEST_CASE("A better model of a shorter interval goes on with the hyperparameters that it finds",
          "[pbt]") {
  Running population(6, {{"synch", true}});
  // Not at the end of an interval of the others alone.
  CHECK(population.orders_at(2, {0.1, 0.9, 0.2, 0.7, 0.3, 0.8}).size() == 1);
  const auto orders = population.orders_at(4, {0.1, 0.9, 0.2, 0.7, 0.3, 0.8});
  CHECK(orders.size() == 3);
  REQUIRE(orders.contains(5));
  CHECK(orders.at(5).donor == TrialId{0});
  CHECK(x_of(orders.at(5)) == 0.6);
}

TEST_CASE("Nobody is replaced by a model that is no better, or has no number", "[pbt][nan]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Running population(6, {{"synch", true}});
  SECTION("as good") {
    CHECK_FALSE(population.orders_at(2, {0.1, 0.3, 0.2, 0.2, 0.3, 0.3}).contains(2));
  }
  SECTION("NaN") { CHECK(population.orders_at(2, {nan, nan, nan, nan, nan, nan}).empty()); }
  SECTION("but NaN itself is") {
    const auto orders = population.orders_at(2, {0.1, 0.3, nan, 0.2, nan, 0.3});
    REQUIRE(orders.contains(2));
    CHECK(orders.at(2).donor == TrialId{3});
  }
}

TEST_CASE("Of several sub-populations the best model migrates", "[pbt]") {
  Running population(9, {{"synch", true}, {"perturbation_interval", {2, 4, 8}}});
  // Trials 0, 3, 6; 1, 4, 7; 2, 5, 8.
  const auto orders = population.orders_at(2, {0.5, 0.4, 0.3, 0.6, 0.7, 0.7, 0.7, 0.7, 0.7});
  REQUIRE(orders.contains(3));
  CHECK(orders.at(3).donor == TrialId{2});
}

TEST_CASE("Without barriers, who has no score since a trial's last interval does not replace it",
          "[pbt]") {
  Running population(6);
  const auto in_the_middle = [&](std::int64_t iteration) {
    CHECK_FALSE(population.ask(0, iteration, 0.1).exploit);  // the best of its own
    (void)population.ask(4, iteration, 0.9);
    population.start(4);
    return population.ask(2, iteration, 0.2);
  };
  CHECK_FALSE(in_the_middle(2).exploit);
  for (const std::uint32_t id : {1, 3, 5}) {
    CHECK(population.ask(id, 3, 0.01) == Decision{});
    (void)population.ask(id, 4, 0.01 + 0.001 * id);
    population.start(id);
  }
  SECTION("one has") {
    const Decision decision = in_the_middle(4);
    REQUIRE(decision.exploit);
    CHECK(decision.exploit->donor == TrialId{1});
    CHECK(x_of(*decision.exploit) == 0.2);
    CHECK(why_of(decision) ==
          R"({"interval":2,"time":4,"score":0.2,"place":2,"of":3,"quantile":1,"migrant_of":4})");
  }
  SECTION("it has not") {
    CHECK_FALSE(population.ask(0, 4, 0.1).exploit);
    CHECK_FALSE(population.ask(2, 4, 0.001).exploit);
    CHECK_FALSE(in_the_middle(6).exploit);
  }
}

TEST_CASE("With a longer interval, trials take turns with those of the shortest", "[pbt]") {
  const SearchSpace space = space_of({{"x", {{"uniform", {0, 1}}}}});
  const PolicyContext twelve{space, {{"loss", Mode::min}}, 12, 1};
  World world(
      [&] {
        return all_policies().schedulers.at("pbt")(
            options({{"perturbation_interval", {2, 16}}, {"quantile_fraction", 0}}), twelve);
      },
      12, 4);
  world.longest = 40;
  while (world.step()) {
    std::int64_t least = 40;
    std::int64_t most = 0;
    for (const Trial& trial : world.experiment().trials()) {
      least = std::min(least, trial.iteration);
      most = std::max(most, trial.iteration);
    }
    if (world.experiment().trials().size() == 12) REQUIRE(most - least <= 4);
  }
  for (const Trial& trial : world.experiment().trials()) CHECK(trial.iteration == 40);
}

TEST_CASE("Barriers are at the multiples of all intervals, each once", "[pbt]") {
  Running population(6, {{"synch", true},
                         {"time_attr", "t"},
                         {"quantile_fraction", 0},
                         {"perturbation_interval", {0.1, 0.3}}});
  std::vector<double> barriers;
  for (int tenth = 1; tenth <= 7; ++tenth) {
    for (const double time : {tenth / 10.0 - 0.05, tenth / 10.0 + 1e-12}) {
      bool all_pause = true;
      for (std::uint32_t id = 0; id < 6; ++id) {
        Result result = result_at(tenth, 0.5);
        result.metrics.numbers.push_back({"t", time});
        const bool pauses = population.ask(id, result).action == Action::pause;
        if (pauses) population.pause(id);
        all_pause = all_pause && pauses;
      }
      if (!all_pause) continue;
      barriers.push_back(time);
      for (std::uint32_t id = 0; id < 6; ++id) population.start(id);
      // The turns of a sub-population are in what is saved.
      CHECK(population.reload().at("turns").size() == 2);
    }
  }
  CHECK(barriers.size() == 7);
}

TEST_CASE("With several intervals, all begin at the end of the burn-in", "[pbt]") {
  Running population(6, {{"synch", true}, {"burn_in_period", 5}});
  const std::vector<double> losses = {0.1, 0.1, 0.2, 0.2, 0.3, 0.3};
  CHECK(population.ask(0, 4, 0.1) == Decision{});
  const auto exploits_at = [&](std::int64_t iteration) {
    std::vector<std::uint32_t> trials;
    for (const auto& [id, order] : population.orders_at(iteration, losses)) trials.push_back(id);
    return trials;
  };
  CHECK(exploits_at(5) == std::vector<std::uint32_t>{2, 3, 4, 5});
  CHECK(exploits_at(7) == std::vector<std::uint32_t>{2, 4});
  CHECK(exploits_at(9) == std::vector<std::uint32_t>{2, 3, 4, 5});
}

TEST_CASE("A population that is taken up again has the turns that are before it", "[pbt]") {
  Running population(6, {{"synch", true}});
  population.take_up_all_at(5);
  const std::vector<double> losses = {0.1, 0.1, 0.2, 0.2, 0.3, 0.3};
  CHECK_FALSE(population.orders_at(6, losses).contains(5));
  CHECK(population.orders_at(8, losses).contains(5));
}

TEST_CASE("Reasons at a barrier say whose interval it is", "[pbt]") {
  Running population(6, {{"synch", true}});
  CHECK(why_of(population.ask(1, 2, 0.5)) == R"({"interval":4,"time":2,"score":0.5,"sync":2})");
}

TEST_CASE("Intervals of pbt that make no sense are refused, with their place", "[pbt]") {
  const SearchSpace space = space_of({{"x", {{"uniform", {0, 1}}}}});
  const auto refusal = [&](const Json& more, std::int64_t trials = 12) -> std::string {
    PolicyContext context{space, {{"loss", Mode::min}}, trials, 1};
    context.is_new = true;
    try {
      all_policies().schedulers.at("pbt")(options(more), context);
    } catch (const OptionError& error) {
      return error.pointer + ": " + error.what();
    }
    return "";
  };
  const auto intervals = [&](const Json& list, std::int64_t trials = 12) {
    return refusal({{"perturbation_interval", list}}, trials);
  };
  const std::string option = "/perturbation_interval: 'perturbation_interval' must be ";
  CHECK(intervals({1, 4, 16}) == "");
  CHECK(intervals(Json::array({5}), 1) == "");
  CHECK(intervals("x") == option + "a number or a list of numbers, got \"x\"");
  CHECK(intervals(Json::array()) == option + "a number or a list of numbers, got []");
  CHECK(intervals({1, "x"}) == option + "a number or a list of numbers, got [1,\"x\"]");
  CHECK(intervals({0, 2}) == option + "above 0, got [0,2]");
  CHECK(intervals({4, 1}) == option + "in ascending order, no interval twice, got [4,1]");
  CHECK(intervals({4, 4}) == option + "in ascending order, no interval twice, got [4,4]");
  CHECK(intervals({1, 4, 16}, 9) == "");
  CHECK(intervals({1, 4, 16}, 8) ==
        option +
            "a number, or a list with at least 3 trials for each interval, of which this search "
            "has 8, got [1,4,16]");
  CHECK(intervals({1, 4, 16}, -1) == "");  // no end of them
  CHECK(refusal({{"quantile_fraction", 0.5}}, 10) == "");
  CHECK(refusal({{"quantile_fraction", 0.5}}) ==
        "/quantile_fraction: 'quantile_fraction' must be so small that somebody is left between "
        "the best and the worst of the 6 trials for an interval, got 0.5");
}
