// What schedulers say of their rungs, against decisions that were counted by hand.
#include <cmath>
#include <limits>

#include "tests/policies/scheduler_helpers.h"
#include "tests/policies/scheduler_world.h"
#include "tests/support/catch.h"
#include "tuner/model/result.h"

using namespace tune;

namespace {

/// As a snapshot and a fresh scheduler make of it.
std::unique_ptr<Scheduler> reloaded(const std::string& name, const Json& options,
                                    const Scheduler& scheduler) {
  auto fresh = make_scheduler(name, options);
  fresh->load(Json::parse(encode_numbers(scheduler.save()).dump()));
  return fresh;
}

}  // namespace

TEST_CASE("asha tells how many reached each rung, how many went on, and its cutoff",
          "[rungs_report]") {
  const Json halves = {{"max_t", 4}, {"reduction_factor", 2}};
  const auto asha = make_scheduler("asha", halves);
  for (const auto& [id, loss] : {std::pair(0, 0.5), {1, 0.6}, {2, 0.4}, {3, 0.5}, {4, 0.51}}) {
    (void)train(*asha, static_cast<std::uint32_t>(id), 1, loss);
  }
  (void)asha->on_result(trial_number(0), result_at(2, 0.45));
  (void)asha->on_result(trial_number(5), result_at(1, 1));  // nobody has added it
  const auto reload = reloaded("asha", halves, *asha);
  for (const Scheduler* const one : {asha.get(), reload.get()}) {
    const auto report = one->rungs();
    REQUIRE(report);
    CHECK(report->time_attr == "training_iteration");
    CHECK(report->metric == "loss");
    REQUIRE(report->rungs.size() == 3);
    const RungReport& first = report->rungs[0];
    CHECK(first.milestone == 1);
    CHECK(first.reached == 5);
    CHECK(first.went_on == 3);  // 0.5, 0.4, 0.5
    CHECK(first.cutoff == Approx(0.5));
    CHECK(report->rungs[1].reached == 1);
    CHECK(report->rungs[1].went_on == 1);
    CHECK(report->rungs[2].reached == 0);
    CHECK_FALSE(report->rungs[2].cutoff);
  }
}

TEST_CASE("asha does not tell how many went on where an older program has not counted",
          "[rungs_report]") {
  const auto asha = make_scheduler("asha");
  (void)train(*asha, 0, 1, 0.5);
  Json state = encode_numbers(asha->save());
  state.erase("tallies");
  const auto loaded = make_scheduler("asha");
  loaded->load(state);
  CHECK_FALSE(loaded->rungs()->rungs[0].reached);
  CHECK(loaded->rungs()->rungs[0].cutoff == Approx(0.5));
  CHECK_FALSE(reloaded("asha", nullptr, *loaded)->rungs()->rungs[0].went_on);
}

TEST_CASE("asha_promotion tells who waits for a promotion", "[rungs_report]") {
  const auto asha = make_scheduler("asha_promotion", {{"max_t", 8}, {"reduction_factor", 2}});
  for (const auto& [id, loss] : {std::pair(0, 0.5), {1, 0.4}, {2, 0.6}}) {
    Trial trial = trial_number(static_cast<std::uint32_t>(id));
    asha->on_trial_add(trial);
    const bool pauses = asha->on_result(trial, result_at(1, loss)).action == Action::pause;
    trial.state = TrialState::paused;
    if (pauses) asha->on_trial_wait(trial);
  }
  const auto report = asha->rungs();
  CHECK(report->rungs[0].reached == 3);
  CHECK(report->rungs[0].went_on == 1);
  CHECK(report->rungs[0].waiting == 2);
  CHECK(report->rungs[0].cutoff == Approx(0.4));
}

TEST_CASE("asha_promotion counts those that wait with NaN, and promotes none of them",
          "[rungs_report][nan]") {
  const Json halves = {{"max_t", 4}, {"reduction_factor", 2}};
  const auto asha = make_scheduler("asha_promotion", halves);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [id, loss] : {std::pair(0, nan), {1, nan}, {2, nan}, {3, 0.5}}) {
    Trial trial = trial_number(static_cast<std::uint32_t>(id));
    asha->on_trial_add(trial);
    const bool pauses = asha->on_result(trial, result_at(1, loss)).action == Action::pause;
    CHECK(pauses == (id < 3));
    trial.state = TrialState::paused;
    if (pauses) asha->on_trial_wait(trial);
  }
  CHECK(asha->rungs()->rungs[0].waiting == 3);
  const auto reload = reloaded("asha_promotion", halves, *asha);
  CHECK(reload->rungs()->rungs[0].waiting == 3);
  // Two of four may go on, and one has a number.
  CHECK(asha->on_result(trial_number(0), result_at(1, nan)).action == Action::pause);
  asha->on_trial_end(trial_number(1));
  CHECK(asha->rungs()->rungs[0].waiting == 1);
}

TEST_CASE("hyperband's rungs have as many as its brackets are wide", "[rungs_report]") {
  const Json nine = {{"max_t", 9}};
  World world([&] { return make_scheduler("hyperband", nine); }, 17, 4);
  world.loss = [](TrialId id, std::int64_t) { return static_cast<double>(index_of(id)); };
  world.reload_every = 7;
  world.run();
  const auto report = world.scheduler().rungs();
  REQUIRE(report);
  // Brackets of 9, 3, 1 trials at 1, 3, 9 iterations; of 5, 1 at 3, 9; of 3 at 9.
  const std::vector<std::uint64_t> reached = {9, 3, 1, 5, 1, 3};
  const std::vector<std::uint64_t> went_on = {3, 1, 0, 1, 0, 0};
  REQUIRE(report->rungs.size() == reached.size());
  for (std::size_t i = 0; i < reached.size(); ++i) {
    INFO(i);
    CHECK(report->rungs[i].reached == reached[i]);
    CHECK(report->rungs[i].went_on == went_on[i]);
    CHECK(report->rungs[i].waiting == 0);
  }
  CHECK(report->rungs[0].cutoff == Approx(2));
  CHECK(report->rungs[3].cutoff == Approx(9));
  CHECK(report->rungs[0].bracket == 0);
  CHECK(report->rungs[5].bracket == 2);
}

TEST_CASE("hyperband counts who was done at a milestone among those that reached it",
          "[rungs_report]") {
  const Json nine = {{"max_t", 9}};
  World world([&] { return make_scheduler("hyperband", nine); }, 17, 4);
  world.loss = [](TrialId id, std::int64_t) { return static_cast<double>(index_of(id)); };
  world.longest = 3;
  world.run();
  const auto report = world.scheduler().rungs();
  const std::vector<std::uint64_t> reached = {9, 3, 0, 5, 0, 0};
  REQUIRE(report->rungs.size() == reached.size());
  for (std::size_t i = 0; i < reached.size(); ++i) {
    INFO(i);
    CHECK(report->rungs[i].reached == reached[i]);
  }
}

TEST_CASE("hyperband has a rung once where several halvings come to one milestone",
          "[rungs_report]") {
  const Json small_factor = {{"max_t", 12}, {"reduction_factor", 1.6}};
  World world([&] { return make_scheduler("hyperband", small_factor); }, 17, 4);
  world.loss = [](TrialId id, std::int64_t) { return static_cast<double>(index_of(id)); };
  world.run();
  const auto report = world.scheduler().rungs();
  std::vector<double> milestones;
  for (const RungReport& rung : report->rungs) {
    if (rung.bracket == 0) milestones.push_back(rung.milestone);
  }
  CHECK(milestones == std::vector<double>{1, 2, 4, 7, 12});
  CHECK(report->rungs[0].reached.value() >= report->rungs[1].reached.value());
}

TEST_CASE("Who has no rungs tells of none, and who wraps one that has, of those",
          "[rungs_report]") {
  CHECK_FALSE(make_scheduler("fifo")->rungs());
  CHECK_FALSE(make_scheduler("median_stopping")->rungs());
  CHECK(make_scheduler("resource_changing", {{"base_scheduler", {{"type", "asha"}}}})->rungs());
}
