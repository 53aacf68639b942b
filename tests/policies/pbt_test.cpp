#include <cmath>
#include <set>

#include "tests/policies/scheduler_helpers.h"
#include "tests/policies/scheduler_world.h"
#include "tests/support/catch.h"

using namespace tune;

namespace {

Json options(const Json& more = Json::object()) {
  Json all = {{"time_attr", "training_iteration"},
              {"perturbation_interval", 2},
              {"resample_probability", 0},
              {"hyperparam_mutations", {{"x", {{"uniform", {0, 1}}}}}}};
  all.update(more);
  return all;
}

/// `n` running trials with configs {"x": 0.1}, {"x": 0.2}, ...
std::unique_ptr<Scheduler> running(std::uint32_t n, const Json& more = Json::object()) {
  auto scheduler = make_scheduler("pbt", options(more));
  for (std::uint32_t i = 0; i < n; ++i) {
    Trial trial = trial_number(i);
    trial.config = R"({"x":0.)" + std::to_string(i + 1) + "}";
    scheduler->on_trial_add(trial);
    trial.state = TrialState::running;
    scheduler->on_trial_start(trial);
  }
  return scheduler;
}

Decision ask(Scheduler& scheduler, std::uint32_t trial, std::int64_t iteration, double loss) {
  return scheduler.on_result(trial_number(trial), result_at(iteration, loss));
}

/// It has saved, and rests.
void pause(Scheduler& scheduler, std::uint32_t id) {
  Trial trial = trial_number(id);
  trial.state = TrialState::paused;
  scheduler.on_trial_wait(trial);
}

void start(Scheduler& scheduler, std::uint32_t id) {
  Trial trial = trial_number(id);
  trial.state = TrialState::running;
  scheduler.on_trial_start(trial);
}

}  // namespace

TEST_CASE("The worst quarter exploits the best, which are asked to save", "[pbt]") {
  const auto scheduler = running(4);
  CHECK(ask(*scheduler, 0, 2, 0.1) == Decision{Action::proceed, false});  // nobody to compare with
  CHECK(ask(*scheduler, 1, 2, 0.2).action == Action::exploit);            // the worse of two
  CHECK(ask(*scheduler, 2, 2, 0.15) == Decision{Action::proceed, false});
  CHECK(ask(*scheduler, 3, 2, 0.05) == Decision{Action::proceed, true});
  // Losses are now 0.1, 0.2, 0.15, 0.05.
  CHECK(ask(*scheduler, 0, 4, 0.1) == Decision{Action::proceed, false});
  const Decision worst = ask(*scheduler, 2, 4, 0.9);
  REQUIRE(worst.action == Action::exploit);
  CHECK(worst.exploit->donor == TrialId{3});
  const double x = Json::parse(worst.exploit->config)["x"];
  CHECK((x == 0.4 * 1.2 || x == 0.4 * 0.8));
}

TEST_CASE("Nobody becomes a copy of a trial that is about to be one", "[pbt]") {
  auto scheduler = running(3);
  ask(*scheduler, 0, 2, 0.1);
  const Decision first = ask(*scheduler, 1, 2, 0.2);
  REQUIRE(first.exploit);
  ask(*scheduler, 0, 4, 0.3);  // by now the other one's score is the best, of what it gives up
  Json state = scheduler->save();
  SECTION("before that one has started") {
    SECTION("by a state of today") {}
    SECTION("or by one with the config that it starts from") {
      for (Json& member : state["members"]) member[6] = member[6] == true ? R"({"x":0.1})" : "";
    }
    const auto restored = make_scheduler("pbt", options());
    restored->load(state);
    CHECK_FALSE(ask(*restored, 2, 4, 0.9).exploit);
  }
  SECTION("but once it has") {
    Trial clone = trial_number(1);
    clone.config = first.exploit->config;
    clone.state = TrialState::running;
    scheduler->on_trial_start(clone);
    const Decision second = ask(*scheduler, 2, 4, 0.9);
    REQUIRE(second.exploit);
    CHECK(second.exploit->donor == TrialId{1});
    const double from = Json::parse(first.exploit->config)["x"];
    const double x = Json::parse(second.exploit->config)["x"];
    CHECK((x == from * 1.2 || x == from * 0.8));
  }
}

TEST_CASE("Two that have saved nothing do not become copies of each other", "[pbt]") {
  auto scheduler = running(2, {{"quantile_fraction", 0.5}});
  ask(*scheduler, 1, 2, 0.1);
  CHECK(ask(*scheduler, 0, 2, 0.5).exploit);        // it waits for the other one's first save
  CHECK_FALSE(ask(*scheduler, 1, 4, 0.9).exploit);  // which now looks worse
}

TEST_CASE("Nothing happens before the burn-in and within an interval", "[pbt]") {
  const auto scheduler = running(2, {{"burn_in_period", 5}});
  for (std::int64_t i = 1; i < 5; ++i) {
    CHECK(ask(*scheduler, 0, i, 1) == Decision{});
    CHECK(ask(*scheduler, 1, i, 2) == Decision{});
  }
  CHECK(ask(*scheduler, 0, 5, 1) == Decision{});
  CHECK(ask(*scheduler, 1, 5, 2).action == Action::exploit);
  scheduler->on_trial_start(trial_number(1));
  CHECK(ask(*scheduler, 0, 6, 3) == Decision{});
  CHECK(ask(*scheduler, 0, 7, 3).action == Action::exploit);
}

TEST_CASE("As many exploit as are exploited: ceil(n q), at most half", "[pbt]") {
  struct Case {
    std::uint32_t n;
    double quantile;
    std::size_t size;
  };
  for (const Case& c :
       {Case{2, 0.25, 1}, Case{3, 0.5, 1}, Case{4, 0.25, 1}, Case{5, 0.25, 2}, Case{8, 0.25, 2},
        Case{10, 0.25, 3}, Case{10, 0.5, 5}, Case{25, 0.28, 7}, Case{10, 0, 0}}) {
    CAPTURE(c.n, c.quantile);
    const auto scheduler = running(c.n, {{"synch", true}, {"quantile_fraction", c.quantile}});
    for (std::uint32_t i = 0; i < c.n; ++i) {
      CHECK(ask(*scheduler, i, 2, i).action == Action::pause);
      pause(*scheduler, i);
    }
    std::set<TrialId> worst;
    while (const auto order = scheduler->order()) {
      worst.insert(order->trial);
      CHECK(index_of(order->exploit->donor) < c.size);
      scheduler->on_order(trial_number(static_cast<std::uint32_t>(index_of(order->trial))));
    }
    CHECK(worst.size() == c.size);
    for (const TrialId id : worst) CHECK(index_of(id) >= c.n - c.size);
  }
}

TEST_CASE("A trial with NaN exploits, and is never exploited", "[pbt][nan]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto scheduler = running(2);
  CHECK(ask(*scheduler, 0, 2, nan).action == Action::proceed);
  CHECK(ask(*scheduler, 1, 2, nan).action == Action::proceed);
  CHECK(ask(*scheduler, 0, 4, 1e300).action == Action::proceed);
  const Decision decision = ask(*scheduler, 1, 4, nan);
  REQUIRE(decision.action == Action::exploit);
  CHECK(decision.exploit->donor == TrialId{0});
}

TEST_CASE("More trials than slots take turns, and none gets ahead by more than an interval",
          "[pbt]") {
  const bool synch = GENERATE(false, true);
  CAPTURE(synch);
  const SearchSpace space = space_of({{"x", {{"uniform", {0, 1}}}}});
  const PolicyContext seven{space, {{"loss", Mode::min}}, 7, 1};
  World world(
      [&] {
        return all_policies().schedulers.at("pbt")(
            options({{"synch", synch}, {"quantile_fraction", 0}}), seven);
      },
      7, 3);
  world.longest = 20;
  while (world.step()) {
    std::int64_t least = 20;
    std::int64_t most = 0;
    const bool all_there = world.experiment().trials().size() == 7;
    for (const Trial& trial : world.experiment().trials()) {
      least = std::min(least, trial.iteration);
      most = std::max(most, trial.iteration);
    }
    if (all_there) REQUIRE(most - least <= 4);
  }
  for (const Trial& trial : world.experiment().trials()) CHECK(trial.iteration == 20);
}

TEST_CASE("A barrier waits for the trials that there are, and not for those that never come",
          "[pbt]") {
  const std::uint64_t reload_every = GENERATE(0, 1);
  const SearchSpace space = space_of({{"x", {{"uniform", {0, 1}}}}});
  const PolicyContext eight{space, {{"loss", Mode::min}}, 8, 1};
  World world(
      [&] {
        return all_policies().schedulers.at("pbt")(options({{"synch", true}}), eight);
      },
      3, 2);
  world.longest = 20;
  world.reload_every = reload_every;
  world.run();
  for (const Trial& trial : world.experiment().trials()) CHECK(trial.iteration == 20);
  // One pause an interval, and not one a result.
  CHECK(world.starts().size() < 3 * (20 / 2 + 2));
  std::size_t clones = 0;
  for (const Trial& trial : world.experiment().trials()) clones += trial.lineage.size();
  CHECK(clones > 0);
  CHECK(world.traces().empty());
}

TEST_CASE("A clone waits among those that have trained as much as its donor", "[pbt]") {
  Experiment experiment;
  for (std::uint32_t i = 0; i < 4; ++i) {
    experiment.apply({i + 1, 1, TrialAdded{TrialId{i}, "{}", "", ""}});
  }
  experiment.apply({5, 1, AttemptStarted{TrialId{3}, 1, 0, {}}});
  const auto scheduler = running(3);
  (void)ask(*scheduler, 0, 7, 0.1);
  pause(*scheduler, 0);
  (void)ask(*scheduler, 2, 5, 0.05);
  pause(*scheduler, 2);
  const Decision decision = ask(*scheduler, 1, 10, 0.9);
  REQUIRE(decision.action == Action::exploit);
  REQUIRE(decision.exploit->donor == TrialId{2});
  pause(*scheduler, 1);
  for (const std::uint32_t next : {2, 1, 0}) {
    CHECK(scheduler->choose(experiment, 2, false) == TrialId{next});
    scheduler->on_trial_start(trial_number(next));
  }
}

TEST_CASE("A synchronous clone and its donor wait for each other's pause", "[pbt]") {
  Experiment experiment;
  for (std::uint32_t i = 0; i < 2; ++i) {
    experiment.apply({i + 1, 1, TrialAdded{TrialId{i}, "{}", "", ""}});
  }
  const bool clone_is_first = GENERATE(false, true);
  CAPTURE(clone_is_first);
  const auto scheduler = running(2, {{"synch", true}});
  CHECK(ask(*scheduler, 0, 2, 0.1).action == Action::pause);
  CHECK(ask(*scheduler, 1, 2, 0.9).action == Action::pause);
  pause(*scheduler, clone_is_first ? 1 : 0);
  CHECK_FALSE(scheduler->order());
  CHECK_FALSE(scheduler->choose(experiment, 2, false));
  pause(*scheduler, clone_is_first ? 0 : 1);
  CHECK_FALSE(scheduler->choose(experiment, 2, false));
  const auto order = scheduler->order();
  REQUIRE(order);
  CHECK(order->trial == TrialId{1});
  CHECK(order->exploit->donor == TrialId{0});
  scheduler->on_order(trial_number(1));
  CHECK(scheduler->choose(experiment, 2, false));
}

TEST_CASE("A model that died in its save at a synchronous barrier is nobody's donor", "[pbt]") {
  const bool others_rest = GENERATE(false, true);
  CAPTURE(others_rest);
  const auto scheduler = running(3, {{"synch", true}});
  CHECK(ask(*scheduler, 0, 2, 0.1).action == Action::pause);
  CHECK(ask(*scheduler, 1, 2, 0.5).action == Action::pause);
  CHECK(ask(*scheduler, 2, 2, 0.9).action == Action::pause);
  if (others_rest) {
    for (const std::uint32_t id : {1, 2}) pause(*scheduler, id);
  }
  Trial best = trial_number(0);
  best.state = TrialState::pending;
  best.iteration = 2;  // and no checkpoint
  scheduler->on_trial_wait(best);
  if (!others_rest) {
    for (const std::uint32_t id : {1, 2}) pause(*scheduler, id);
  }
  CHECK_FALSE(scheduler->order());

  // It comes to the barrier once more, with another score.
  start(*scheduler, 0);
  CHECK(ask(*scheduler, 0, 1, 0.1).action == Action::proceed);
  CHECK(ask(*scheduler, 0, 2, 0.7).action == Action::pause);
  CHECK_FALSE(scheduler->order());
  pause(*scheduler, 0);
  const auto order = scheduler->order();
  REQUIRE(order);
  CHECK(order->trial == TrialId{2});
  CHECK(order->exploit->donor == TrialId{1});
}

TEST_CASE("Who dies at a synchronous barrier with its save made has come there", "[pbt]") {
  const auto scheduler = running(2, {{"synch", true}});
  CHECK(ask(*scheduler, 0, 2, 0.1).action == Action::pause);
  CHECK(ask(*scheduler, 1, 2, 0.9).action == Action::pause);
  Trial best = trial_number(0);
  best.state = TrialState::pending;
  best.iteration = 2;
  best.checkpoints.push_back({.index = 1, .iteration = 2});
  scheduler->on_trial_wait(best);
  pause(*scheduler, 1);
  const auto order = scheduler->order();
  REQUIRE(order);
  CHECK(order->exploit->donor == TrialId{0});
}

TEST_CASE(
    "Who has come to where a synchronous population waits is not started before the others come",
    "[pbt]") {
  Experiment experiment;
  std::uint64_t events = 0;
  const auto then = [&](EventBody body) { experiment.apply({++events, 1, std::move(body)}); };
  for (std::uint32_t i = 0; i < 3; ++i) then(TrialAdded{TrialId{i}, "{}", "", ""});
  const auto scheduler = running(3, {{"synch", true}});
  CHECK(ask(*scheduler, 0, 2, 0.1).action == Action::pause);
  pause(*scheduler, 0);
  then(AttemptStarted{TrialId{1}, 1, 0, {}});
  CHECK_FALSE(scheduler->choose(experiment, 2, false));

  // Nor where nobody runs, as long as one comes yet: somebody has paused it by hand.
  Trial held = trial_number(1);
  then(TrialHeld{TrialId{1}, false});
  then(AttemptEnded{TrialId{1}, 1, Outcome::interrupted, ""});
  held.state = TrialState::pending;
  scheduler->on_trial_wait(held);
  REQUIRE(experiment.running().empty());
  REQUIRE(experiment.trial(TrialId{1}).held);
  CHECK_FALSE(scheduler->choose(experiment, 2, false));
  then(TrialHeld{TrialId{1}, true});
  CHECK(scheduler->choose(experiment, 2, false) == TrialId{1});
}

TEST_CASE("A synchronous population that is taken up again waits where its own barriers are",
          "[pbt]") {
  const auto scheduler = running(3, {{"synch", true}});
  const auto end = [&](std::uint32_t id) { scheduler->on_trial_end(trial_number(id)); };
  const auto take_up = [&](std::uint32_t id, const Result& last) {
    Trial trial = trial_number(id);
    trial.attempt = 1;
    trial.iteration = last.training_iteration;
    trial.last_metrics = last.metrics.text;
    scheduler->on_trial_add(trial);
    trial.state = TrialState::running;
    scheduler->on_trial_start(trial);
  };
  // Two fail, and the last one comes to a barrier that only it has passed.
  end(1);
  end(2);
  for (const std::int64_t barrier : {2, 4, 6}) {
    CHECK(ask(*scheduler, 0, barrier, 0.1).action == Action::pause);
    pause(*scheduler, 0);
    start(*scheduler, 0);
  }
  end(0);
  SECTION("at the first one") {
    take_up(1, result_at(1, 0.5));
    take_up(2, result_at(1, 0.6));
    CHECK(ask(*scheduler, 1, 2, 0.5).action == Action::pause);
    CHECK(ask(*scheduler, 2, 2, 0.6).action == Action::pause);
    for (const std::uint32_t id : {1, 2}) pause(*scheduler, id);
    for (const std::uint32_t id : {1, 2}) start(*scheduler, id);
    CHECK(ask(*scheduler, 1, 3, 0.5).action == Action::proceed);
    CHECK(ask(*scheduler, 1, 4, 0.5).action == Action::pause);
  }
  SECTION("or at the one that all have before them") {
    take_up(1, result_at(1, 0.5));
    take_up(2, result_at(5, 0.6));
    CHECK(ask(*scheduler, 1, 4, 0.5).action == Action::proceed);
    CHECK(ask(*scheduler, 1, 6, 0.5).action == Action::pause);
    CHECK(ask(*scheduler, 2, 6, 0.6).action == Action::pause);
  }
}

TEST_CASE("Clones have their donors' configs, changed, and a lineage that says so", "[pbt]") {
  const bool synch = GENERATE(false, true);
  World world([&] { return make_scheduler("pbt", options({{"synch", synch}})); }, 8, 8);
  world.longest = 20;
  world.run();
  int clonings = 0;
  for (const Trial& trial : world.experiment().trials()) {
    CHECK(trial.state == TrialState::terminated);
    CHECK(trial.iteration == 20);
    for (const Cloning& cloning : trial.lineage) {
      ++clonings;
      CHECK(cloning.donor != trial.id);
    }
  }
  CHECK(clonings > 5);
}

TEST_CASE("Options of pbt that make no sense are refused, with their place", "[pbt]") {
  CHECK(refusal_of("pbt", {{"perturbation_interval", 1}}).find("hyperparam_mutations") !=
        std::string::npos);
  CHECK(refusal_of("pbt", options({{"quantile_fraction", 0.6}})).starts_with("/quantile_fraction"));
  CHECK(refusal_of("pbt", options({{"perturbation_interval", 0}}))
            .starts_with("/perturbation_interval"));
  CHECK(refusal_of("pbt", options({{"perturbation_factors", "x"}}))
            .starts_with("/perturbation_factors"));
  CHECK(refusal_of("pbt", options({{"hyperparam_mutations", {{"x", 3}}}}))
            .starts_with("/hyperparam_mutations/x"));
  CHECK(refusal_of("pbt", options({{"hyperparam_mutations", {{"y", {1, 2}}}}})) ==
        "/hyperparam_mutations/y: the param space has no such hyperparameter");
  CHECK(refusal_of("pbt", options()) == "");
}

TEST_CASE("A changed config that breaks a constraint is drawn again, or stays as it is", "[pbt]") {
  const SearchSpace space = space_of({{"x", {{"uniform", {0, 1}}}}});
  for (const std::string constraint : {"x <= 0.5", "x <= 0.25"}) {
    PolicyContext context{space, {{"loss", Mode::min}}, 2, 1};
    context.constraints.push_back(space.constraint(constraint));
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      context.seed = seed;
      const auto scheduler = all_policies().schedulers.at("pbt")(
          options({{"hyperparam_mutations", {{"x", {{"uniform", {0.25001, 1}}}}}},
                   {"resample_probability", 1}}),
          context);
      for (std::uint32_t i = 0; i < 2; ++i) {
        Trial trial = trial_number(i);
        trial.config = InternedJson(R"({"x":0.125})");
        scheduler->on_trial_add(trial);
        scheduler->on_trial_start(trial);
      }
      CHECK(ask(*scheduler, 0, 2, 1).action == Action::proceed);
      const Decision decision = ask(*scheduler, 1, 2, 2);
      REQUIRE(decision.action == Action::exploit);
      const double x = Json::parse(decision.exploit->config)["x"].get<double>();
      const bool is_possible = constraint == "x <= 0.5";
      CHECK((is_possible ? x > 0.25 && x <= 0.5 : x == 0.125));
    }
  }
}

namespace {

/// The config of a copy of {"e": -2, "k": 1, ...} that a `scheduler` over a space with expressions
/// makes.
Json copied(const std::string& scheduler, Json mutations, std::uint64_t seed,
            const std::vector<std::string>& constraints = {}) {
  const SearchSpace space = space_of(R"({"e": {"uniform": [-3, 0]}, "a": {"expr": "10 ** e"},
                                         "k": {"randint": [0, 5]}, "h": {"expr": "8 // k"}})"_json);
  PolicyContext context{space, {{"loss", Mode::min}}, 2, seed};
  for (const auto& text : constraints) context.constraints.push_back(space.constraint(text));
  Json given = {{"time_attr", "training_iteration"}, {"perturbation_interval", 2}};
  given[scheduler == "pbt" ? "hyperparam_mutations" : "hyperparam_bounds"] = std::move(mutations);
  const auto made = all_policies().schedulers.at(scheduler)(given, context);
  for (std::uint32_t i = 0; i < 2; ++i) {
    Trial trial = trial_number(i);
    trial.config = InternedJson(R"({"a":0.01,"e":-2,"h":8,"k":1})");
    made->on_trial_add(trial);
    made->on_trial_start(trial);
  }
  (void)ask(*made, 0, 2, 1);
  const Decision decision = ask(*made, 1, 2, 2);
  REQUIRE(decision.action == Action::exploit);
  return Json::parse(decision.exploit->config);
}

}  // namespace

TEST_CASE("The expressions of a copy are those of its changed values, by which it is judged",
          "[pbt][pb2]") {
  const std::string scheduler = GENERATE("pbt", "pb2");
  const Json mutations = {{"e", {{"uniform", {-3, 0}}}}, {"k", {{"randint", {0, 5}}}}};
  CAPTURE(scheduler);
  int changed = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const Json config = copied(scheduler, mutations, seed, {"a <= 0.5"});
    CAPTURE(seed, config.dump());
    CHECK(config["a"].get<double>() == Approx(std::pow(10, config["e"].get<double>())));
    CHECK(config["a"] <= 0.5);
    REQUIRE(config["k"] != 0);  // there, an expression has no value
    CHECK(config["h"] == 8 / config["k"].get<int>());
    changed += config["e"] != -2 ? 1 : 0;
  }
  CHECK(changed > 20);
}

TEST_CASE("A copy keeps its donor's config where no changed one has values of its expressions",
          "[pbt]") {
  CHECK(copied("pbt", {{"k", Json::array({0})}}, 1) ==
        R"({"a": 0.01, "e": -2, "h": 8, "k": 1})"_json);
}

TEST_CASE("The value of an expression cannot be mutated", "[pbt][pb2]") {
  const std::string sentence =
      "an expression gives this value: name what it is calculated from instead";
  CHECK_THROWS_WITH(copied("pbt", {{"a", {0.1, 0.2}}}, 1), sentence);
  CHECK_THROWS_WITH(copied("pb2", {{"a", {0.1, 0.2}}}, 1), sentence);
}
