#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "schedulers/rungs.h"
#include "tests/policies/scheduler_helpers.h"
#include "tests/policies/scheduler_world.h"
#include "tests/support/catch.h"

using namespace tune;

namespace {

constexpr double nan_loss = std::numeric_limits<double>::quiet_NaN();

/// Brackets of 9 trials at 1, 3 and 9 iterations, of 5 at 3 and 9, of 3 at 9.
const Json nine = {{"max_t", 9}};

World::Make hyperband(const Json& options) {
  return [options] { return make_scheduler("hyperband", options); };
}

/// How many of the trials from `first` to before `end` have come to which iteration.
std::map<std::int64_t, int> iterations_of(const World& world, std::uint32_t first,
                                          std::uint32_t end) {
  std::map<std::int64_t, int> counts;
  for (std::uint32_t id = first; id < end; ++id) ++counts[world.trial(id).iteration];
  return counts;
}

using Counts = std::map<std::int64_t, int>;

}  // namespace

TEST_CASE("hyperband's brackets for max_t 81 and factor 3 are those of the literature",
          "[hyperband][unit]") {
  const auto shapes = hyperband_shapes(81, 3);
  REQUIRE(shapes.size() == 5);
  CHECK(shapes[0].sizes == std::vector<std::int64_t>{81, 27, 9, 3, 1});
  CHECK(shapes[0].milestones == std::vector<double>{1, 3, 9, 27, 81});
  CHECK(shapes[1].sizes == std::vector<std::int64_t>{34, 11, 3, 1});
  CHECK(shapes[1].milestones == std::vector<double>{3, 9, 27, 81});
  CHECK(shapes[2].sizes == std::vector<std::int64_t>{15, 5, 1});
  CHECK(shapes[2].milestones == std::vector<double>{9, 27, 81});
  CHECK(shapes[3].sizes == std::vector<std::int64_t>{8, 2});
  CHECK(shapes[3].milestones == std::vector<double>{27, 81});
  CHECK(shapes[4].sizes == std::vector<std::int64_t>{5});
  CHECK(shapes[4].milestones == std::vector<double>{81});
}

TEST_CASE("hyperband's brackets end at max_t, and each costs about the same",
          "[hyperband][property]") {
  for (const double max_t : {1.0, 2.0, 10.0, 50.0, 81.0, 100.0, 243.0, 1000.0, 3600.0}) {
    for (const double factor : {2.0, 2.5, 3.0, 4.0, 10.0}) {
      INFO(max_t << " by " << factor);
      const auto shapes = hyperband_shapes(max_t, factor);
      const double budget = static_cast<double>(shapes.size()) * max_t;
      for (const BracketShape& shape : shapes) {
        CHECK(shape.milestones.front() >= 1);
        CHECK(shape.milestones.back() == max_t);
        CHECK(shape.sizes.back() >= 1);
        double cost = 0, before = 0;
        for (std::size_t i = 0; i < shape.sizes.size(); ++i) {
          CHECK(shape.milestones[i] > before);
          cost += static_cast<double>(shape.sizes[i]) * (shape.milestones[i] - before);
          before = shape.milestones[i];
        }
        // Rounding up the first size costs one trial at most at each rung.
        CHECK(cost <= budget + max_t);
      }
    }
  }
}

TEST_CASE("hyperband trains as many trials for as long as the table says, on any number of workers",
          "[hyperband][unit]") {
  for (const std::size_t slots : {1, 2, 5, 17}) {
    INFO(slots << " at once");
    World world(hyperband(nine), 34, slots);
    world.loss = [](TrialId id, std::int64_t) { return Random(index_of(id)).uniform(); };
    world.run();
    for (const std::uint32_t band : {0u, 17u}) {
      CHECK(iterations_of(world, band, band + 9) == Counts{{1, 6}, {3, 2}, {9, 1}});
      CHECK(iterations_of(world, band + 9, band + 14) == Counts{{3, 4}, {9, 1}});
      CHECK(iterations_of(world, band + 14, band + 17) == Counts{{9, 3}});
      // And the best one has come furthest.
      const auto best_of = [&](std::uint32_t first, std::uint32_t end) {
        std::uint32_t best = first;
        for (std::uint32_t id = first; id < end; ++id) {
          if (world.loss(TrialId(id), 1) < world.loss(TrialId(best), 1)) best = id;
        }
        return best;
      };
      CHECK(world.trial(best_of(band, band + 9)).iteration == 9);
      CHECK(world.trial(best_of(band + 9, band + 14)).iteration == 9);
    }
    CHECK(world.experiment().count(TrialState::terminated) == 34);
  }
}

TEST_CASE("hyperband keeps no more than its share, whatever fails", "[hyperband][property]") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    INFO("seed " << seed);
    World world(hyperband(nine), 17, 1 + seed % 5, seed);
    world.troubles = {0.03, 0, 0.01, 0.01, 0.01};
    world.run();
    const auto further_than = [&](std::int64_t iteration, std::uint32_t first, std::uint32_t end) {
      int count = 0;
      for (std::uint32_t id = first; id < end; ++id) {
        if (world.trial(id).iteration > iteration) ++count;
      }
      return count;
    };
    CHECK(further_than(1, 0, 9) <= 3);
    CHECK(further_than(3, 0, 9) <= 1);
    CHECK(further_than(3, 9, 14) <= 1);
    CHECK(further_than(9, 0, 17) == 0);
  }
}

TEST_CASE("hyperband makes do with those that have come when no more will", "[hyperband][unit]") {
  World world(hyperband(nine), 4, 2);
  world.loss = [](TrialId id, std::int64_t) { return index_of(id) == 2 ? 0.0 : 1.0; };
  world.run();
  CHECK(iterations_of(world, 0, 4) == Counts{{1, 3}, {9, 1}});
  CHECK(world.trial(2).iteration == 9);
  CHECK(world.experiment().count(TrialState::terminated) == 4);
  CHECK(world.trial(0).why == "rung 1, score 1, cutoff 0, kept 1, of 4, bracket 0");
}

TEST_CASE("hyperband starts no loser of an unfilled bracket while the best one still saves",
          "[hyperband][unit]") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    INFO("seed " << seed);
    World world(hyperband(nine), 4, 2, seed);
    world.loss = [](TrialId id, std::int64_t) { return 3.0 - static_cast<double>(index_of(id)); };
    world.run();
    for (const std::uint32_t loser : {0u, 1u, 2u}) {
      CHECK(std::count(world.starts().begin(), world.starts().end(), TrialId(loser)) == 1);
    }
  }
}

TEST_CASE("hyperband's halvings that come to one time are one", "[hyperband][unit]") {
  // Four trials, then two and then one of them until 1, one until 2 and one until 4.
  const Json small = {{"max_t", 4}, {"reduction_factor", 1.5}};
  REQUIRE(hyperband_shapes(4, 1.5)[0].milestones == std::vector<double>{1, 1, 2, 4});
  World world(hyperband(small), 4, 2);
  world.loss = [](TrialId id, std::int64_t) { return static_cast<double>(index_of(id)); };
  world.run();
  CHECK(iterations_of(world, 0, 4) == Counts{{1, 3}, {4, 1}});
}

TEST_CASE("hyperband does not wait for the dead", "[hyperband][unit]") {
  World world(hyperband(nine), 9, 9);
  world.loss = [](TrialId id, std::int64_t) { return static_cast<double>(index_of(id)); };
  // Each but the last comes to the barrier and waits there.
  const auto waiting = [&] { return world.experiment().paused().size(); };
  world.stuck = TrialId(0);
  for (int i = 0; i < 1000 && waiting() < 8; ++i) world.step();
  REQUIRE(waiting() == 8);
  CHECK(world.scheduler().choose(world.experiment(), 1e9, false) == std::nullopt);
  world.fail(TrialId(0));
  CHECK(world.scheduler().choose(world.experiment(), 1e9, true) == TrialId(1));
  world.stuck.reset();
  world.run();
  CHECK(world.trial(0).state == TrialState::error);
  // 3 of 9, the dead one counting among the losers.
  CHECK(iterations_of(world, 0, 9) == Counts{{0, 1}, {1, 5}, {3, 2}, {9, 1}});
  CHECK(world.trial(1).iteration == 9);
}

TEST_CASE("hyperband lets nothing go on that is NaN", "[hyperband][nan]") {
  World world(hyperband(nine), 9, 3);
  world.loss = [](TrialId id, std::int64_t) { return index_of(id) == 4 ? 1e300 : nan_loss; };
  world.run();
  CHECK(iterations_of(world, 0, 9) == Counts{{1, 8}, {9, 1}});
  World only_nan(hyperband(nine), 9, 3);
  only_nan.loss = [](TrialId, std::int64_t) { return nan_loss; };
  only_nan.run();
  CHECK(iterations_of(only_nan, 0, 9) == Counts{{1, 9}});
  CHECK(only_nan.experiment().count(TrialState::terminated) == 9);
}

TEST_CASE("hyperband pauses again a trial whose save has failed, and stops one that has lost",
          "[hyperband][unit]") {
  const auto scheduler = make_scheduler("hyperband", {{"max_t", 3}});  // 3 at 1 and 3
  const auto report = [&](std::uint32_t id, std::int64_t iteration, double loss) {
    return scheduler->on_result(trial_number(id), result_at(iteration, loss)).action;
  };
  for (const std::uint32_t id : {0, 1, 2}) scheduler->on_trial_add(trial_number(id));
  CHECK(report(0, 1, 0.5) == Action::pause);
  CHECK(report(0, 2, 0.1) == Action::pause);
  CHECK(report(1, 1, 0.4) == Action::pause);
  CHECK(scheduler->order() == std::nullopt);
  CHECK(report(2, 1, 0.3) == Action::proceed);
  // The other two have lost, and are stopped one after the other.
  REQUIRE(scheduler->order());
  CHECK(scheduler->order()->trial == TrialId(0));
  scheduler->on_order(trial_number(0));
  CHECK(scheduler->order()->trial == TrialId(1));
  scheduler->on_order(trial_number(1));
  CHECK_FALSE(scheduler->order());
  CHECK(report(1, 2, 0.01) == Action::stop);
  CHECK(report(2, 3, 0.3) == Action::stop);  // max_t
}

TEST_CASE("hyperband lets the last ones go on beyond max_t if it is told to", "[hyperband][unit]") {
  World world(hyperband({{"max_t", 9}, {"stop_last_trials", false}}), 9, 3);
  world.longest = 20;
  world.run();
  CHECK(iterations_of(world, 0, 9) == Counts{{1, 6}, {3, 2}, {20, 1}});
}

TEST_CASE("hyperband refuses options that make no sense", "[hyperband][options]") {
  for (const char* const name : {"hyperband", "bohb"}) {
    CHECK(refusal_of(name, {{"max_t", 0.5}}) == "/max_t: 'max_t' must be at least 1, got 0.5");
    CHECK(refusal_of(name, {{"reduction_factor", 1}}) ==
          "/reduction_factor: 'reduction_factor' must be at least 1.1, got 1");
    CHECK(refusal_of(name, nullptr, {}).find(": this scheduler compares") == 0);
  }
}
