// What holds for every scheduler in the catalogue, whatever it is.
#include <cmath>
#include <limits>

#include "tests/policies/scheduler_helpers.h"
#include "tests/policies/scheduler_world.h"
#include "tests/support/catch.h"
#include "tuner/base/error.h"

using namespace tune;

namespace {

/// Options under which things happen within few iterations.
Json options_of(const std::string& name) {
  if (name == "asha" || name == "asha_promotion") {
    return {{"max_t", 9}, {"reduction_factor", 2}, {"brackets", 2}};
  }
  if (name == "hyperband" || name == "bohb" || name == "freeze_thaw") return {{"max_t", 9}};
  if (name == "median_stopping") return {{"time_attr", "training_iteration"}, {"grace_period", 2}};
  if (name == "pbt_replay") {
    const Json rows = {{"a", "b", 9, 2, {{"x", 0.1}}, {{"x", 0.2}}},
                       {"c", "a", 9, 5, {{"x", 0.2}}, {{"x", 0.3}}}};
    return {{"policy", rows}};
  }
  if (name == "pbt") {
    return {{"time_attr", "training_iteration"},
            {"perturbation_interval", 2},
            {"hyperparam_mutations", {{"x", {{"uniform", {0, 1}}}}}}};
  }
  if (name == "pb2") {
    return {{"time_attr", "training_iteration"},
            {"perturbation_interval", 2},
            {"hyperparam_bounds", {{"x", {0, 1}}}}};
  }
  return nullptr;
}

struct Named {
  std::string name;
  World::Make make;
};

std::vector<Named> all_schedulers(std::uint64_t seed = 1) {
  std::vector<Named> all;
  for (const auto& [name, factory] : all_policies().schedulers) {
    all.push_back(
        {name, [name = name, seed] { return make_scheduler(name, options_of(name), seed); }});
  }
  for (const std::string name : {"pbt", "pb2"}) {
    all.push_back({name + ", synch", [name, seed] {
                     Json options = options_of(name);
                     options["synch"] = true;
                     return make_scheduler(name, options, seed);
                   }});
  }
  for (const std::string name : {"pbt", "pb2"}) {
    for (const bool synch : {false, true}) {
      all.push_back({name + " with several intervals" + (synch ? ", synch" : ""), [=] {
                       Json options = options_of(name);
                       options["perturbation_interval"] = {1, 2, 5};
                       options["synch"] = synch;
                       return make_scheduler(name, options, seed);
                     }});
    }
  }
  for (const std::string base : {"asha_promotion", "hyperband", "median_stopping", "pbt"}) {
    all.push_back({"resource_changing of " + base, [base, seed] {
                     Json typed = options_of(base);
                     typed["type"] = base;
                     return make_scheduler("resource_changing", {{"base_scheduler", typed}}, seed);
                   }});
  }
  return all;
}

World world_of(const World::Make& make, std::uint32_t trials, std::size_t slots,
               std::uint64_t seed = 1) {
  World world(make, trials, slots, seed);
  world.longest = 12;
  return world;
}

constexpr Troubles all_troubles{0.02, 0.05, 0.01, 0.005, 0.01};

}  // namespace

TEST_CASE("Every scheduler gives the same answers to the same seed", "[scheduler][contract]") {
  for (const auto& [name, make] : all_schedulers()) {
    INFO(name);
    World one = world_of(make, 30, 4);
    World two = world_of(make, 30, 4);
    one.troubles = two.troubles = all_troubles;
    one.run();
    two.run();
    CHECK(one.events().size() > 150);
    CHECK(one.events() == two.events());
  }
}

TEST_CASE(
    "Every scheduler has the same future after saving and loading, and asking leaves no trace",
    "[scheduler][contract][minutes]") {
  for (const auto& [name, make] : all_schedulers()) {
    INFO(name);
    World once = world_of(make, 60, 4);
    World reloaded = world_of(make, 60, 4);
    once.troubles = reloaded.troubles = all_troubles;
    reloaded.reload_every = 5;
    once.run();
    reloaded.run();
    CHECK(reloaded.events() == once.events());
    CHECK(reloaded.traces() == std::vector<std::string>{});
  }
}

TEST_CASE("A copy of every scheduler saves what it was, and the scheduler goes on as without",
          "[scheduler][contract][minutes]") {
  for (const auto& [name, make] : all_schedulers()) {
    INFO(name);
    World alone = world_of(make, 150, 20);
    World copied = world_of(make, 150, 20);
    alone.troubles = copied.troubles = all_troubles;
    copied.copy_every = 5;
    alone.run();
    copied.run();
    CHECK(copied.events() == alone.events());
    CHECK(copied.traces() == std::vector<std::string>{});
    CHECK(copied.scheduler().copy() != nullptr);
  }
}

TEST_CASE("No scheduler stalls, whatever fails, ends or is stopped at any moment",
          "[scheduler][contract][minutes]") {
  for (const auto& [name, make] : all_schedulers()) {
    for (std::uint64_t seed = 1; seed <= 24; ++seed) {
      INFO(name << ", seed " << seed);
      const auto slots = static_cast<std::size_t>(1 + seed % 7);
      World world = world_of(make, 40, slots, seed);
      world.troubles = all_troubles;
      if (seed % 4 == 0) world.troubles = {};
      int steps = 0;
      while (steps < 100000 && world.step()) ++steps;
      REQUIRE(steps < 100000);
      REQUIRE(world.experiment().trials().size() == 40);
      // Those that wait for a promotion for good are no stall; nor, without its searcher, those
      // that it would have go on.
      const bool may_wait = name.ends_with("asha_promotion") || name == "freeze_thaw";
      const auto& experiment = world.experiment();
      if (!may_wait) CHECK(experiment.paused().empty());
      if (!may_wait) CHECK(experiment.pending().empty());
      CHECK(experiment.running().empty());
    }
  }
}

TEST_CASE("With every scheduler, trials that report NaN train no longer than others",
          "[scheduler][contract][nan]") {
  for (const auto& [name, make] : all_schedulers()) {
    INFO(name);
    World world = world_of(make, 80, 3);
    const auto loss = world.loss;
    world.loss = [&](TrialId id, std::int64_t iteration) {
      const bool is_nan = index_of(id) % 2 == 1;
      return is_nan ? std::numeric_limits<double>::quiet_NaN() : loss(id, iteration);
    };
    world.run();
    double numbers = 0, nans = 0;
    std::int64_t longest_nan = 0, longest_number = 0;
    for (const Trial& trial : world.experiment().trials()) {
      const bool is_nan = index_of(trial.id) % 2 == 1;
      (is_nan ? nans : numbers) += static_cast<double>(trial.iteration);
      auto& longest = is_nan ? longest_nan : longest_number;
      longest = std::max(longest, trial.iteration);
    }
    CHECK(nans <= numbers);
    CHECK(longest_nan <= longest_number);
    // One that stops trials at all throws them out early.
    const bool throws_out =
        name != "fifo" && name != "resource_changing" && name.find("pb") == std::string::npos &&
        name != "freeze_thaw";  // alone it has nobody go on, so all train to the first pause
    if (throws_out) CHECK(nans < 0.75 * numbers);
  }
}

TEST_CASE("Every scheduler takes any number and none", "[scheduler][contract][nan]") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const auto& [name, make] : all_schedulers()) {
    INFO(name);
    World world = world_of(make, 25, 3);
    world.reload_every = 3;
    world.loss = [&](TrialId id, std::int64_t iteration) {
      const double strange[] = {infinity, -infinity, 1e308,
                                -1e308,   0,         std::numeric_limits<double>::quiet_NaN()};
      return strange[(index_of(id) * 7 + static_cast<std::size_t>(iteration)) % 6];
    };
    world.run();
    CHECK(world.experiment().running().empty());
    CHECK(world.traces() == std::vector<std::string>{});
  }
}

TEST_CASE("Every scheduler refuses a state that is not its own and keeps what it has",
          "[scheduler][contract]") {
  for (const auto& [name, make] : all_schedulers()) {
    if (name == "fifo") continue;  // has none
    INFO(name);
    World world = world_of(make, 20, 4);
    for (int i = 0; i < 60; ++i) world.step();
    Scheduler& scheduler = world.scheduler();
    const Json before = scheduler.save();
    for (const Json& bad : {Json(nullptr), Json(3), Json::object(), Json{{"random", "x"}}}) {
      CHECK_THROWS_AS(scheduler.load(bad), Error);
      CHECK(scheduler.save() == before);
    }
    // Cut off anywhere, a state is no state.
    for (const auto& [key, value] : before.items()) {
      Json part = before;
      part.erase(key);
      INFO(key);
      // Snapshots of before there were tallies lack them.
      if (key != "tallies") CHECK_THROWS_AS(scheduler.load(part), Error);
      part[key] = "nonsense";
      CHECK_THROWS_AS(scheduler.load(part), Error);
      CHECK(scheduler.save() == before);
    }
  }
}

TEST_CASE("Every scheduler refuses an unknown option by name", "[scheduler][contract]") {
  for (const auto& [name, factory] : all_policies().schedulers) {
    Json options = options_of(name);
    options["no_such_option"] = 1;
    CHECK(refusal_of(name, options).find("/no_such_option: unknown option 'no_such_option'") == 0);
  }
}

TEST_CASE("Numbers at the ends of what an option may be are taken, and none beyond",
          "[scheduler][options]") {
  struct Ends {
    const char* scheduler;
    const char* option;
    std::vector<double> good, bad;
  };
  const std::vector<Ends> all = {
      {"asha", "reduction_factor", {1.1}, {1.09}},
      {"asha", "brackets", {1}, {0}},
      {"asha", "grace_period", {0.1, 100}, {0, 100.1}},
      {"hyperband", "max_t", {1}, {0.99}},
      {"hyperband", "reduction_factor", {1.1}, {1.09}},
      {"median_stopping", "grace_period", {0}, {-0.1}},
      {"median_stopping", "min_samples_required", {1}, {0}},
      {"median_stopping", "min_time_slice", {0}, {-0.1}},
      {"pbt", "perturbation_interval", {0.1}, {0}},
      {"pbt", "burn_in_period", {0}, {-0.1}},
      {"pbt", "quantile_fraction", {0, 0.5}, {-0.01, 0.51}},
      {"pbt", "resample_probability", {0, 1}, {-0.01, 1.01}},
  };
  for (const Ends& ends : all) {
    CAPTURE(ends.scheduler, ends.option);
    Json options = Json::object();
    if (std::string(ends.scheduler) == "pbt") options["hyperparam_mutations"]["x"] = {0.1, 0.9};
    const auto refusal = [&](double number) {
      const bool is_whole = number == std::floor(number);
      options[ends.option] = is_whole ? Json(static_cast<int>(number)) : Json(number);
      return refusal_of(ends.scheduler, options);
    };
    for (const double number : ends.good) CHECK(refusal(number) == "");
    for (const double number : ends.bad) {
      CHECK(refusal(number).starts_with("/" + std::string(ends.option) + ": "));
    }
  }
}
