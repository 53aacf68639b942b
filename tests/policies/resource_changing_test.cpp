#include "tests/policies/scheduler_helpers.h"
#include "tests/support/catch.h"

using namespace tune;

namespace {

/// Trials on some cpus, driven by hand.
class CopyOnWrite {
 public:
  CopyOnWrite(double cpus, std::int64_t samples, const Json& options = nullptr,
              std::optional<std::int64_t> most = {}) {
    const SearchSpace space = space_of({{"x", {{"uniform", {0, 1}}}}});
    scheduler = all_policies().schedulers.at("resource_changing")(
        options,
        {space, {{"loss", Mode::min}}, samples, 1, {}, {{"cpu", cpus}}, {{"cpu", 1}}, most});
  }

  void add(std::uint32_t n) {
    for (std::uint32_t i = 0; i < n; ++i) {
      trials.push_back(trial_number(static_cast<std::uint32_t>(trials.size())));
      scheduler->on_trial_add(trials.back());
      start(trials.back());
    }
  }
  /// Cpus after a result: as before, or others after a pause.
  double report(std::size_t i, double loss = 1) {
    Trial& trial = trials[i];
    const Decision decision = scheduler->on_result(trial, result_at(++iteration, loss));
    CHECK((decision.action == Action::pause) == decision.resources.has_value());
    if (decision.resources) {
      trial.resources = *decision.resources;
      trial.state = TrialState::paused;
      scheduler->on_trial_wait(trial);
      start(trial);
    }
    return trial.resources.empty() ? 1 : trial.resources->at("cpu");
  }
  void end(std::size_t i) {
    trials[i].state = TrialState::terminated;
    scheduler->on_trial_end(trials[i]);
  }
  void start(Trial& trial) {
    trial.state = TrialState::running;
    scheduler->on_trial_start(trial);
  }

  std::unique_ptr<Scheduler> scheduler;
  std::vector<Trial> trials;
  std::int64_t iteration = 0;
};

}  // namespace

TEST_CASE("Trials share what is free evenly, and more when others have ended", "[resources]") {
  CopyOnWrite shared(8, 4);
  shared.add(4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(shared.report(i) == 2);
  CHECK(shared.report(0) == 2);  // and that is that
  shared.end(3);
  CHECK(shared.report(0) == 3);
  CHECK(shared.report(1) == 3);
  CHECK(shared.report(2) == 2);
  shared.end(0);
  CHECK(shared.report(1) == 4);
  CHECK(shared.report(2) == 4);
  shared.end(1);
  CHECK(shared.report(2) == 8);
}

TEST_CASE("Nothing is given away while trials are to come that need it", "[resources]") {
  CopyOnWrite shared(4, 8);
  shared.add(4);
  for (int round = 0; round < 5; ++round) {
    for (std::size_t i = 0; i < 4; ++i) CHECK(shared.report(i) == 1);
  }
  shared.end(0);
  CHECK(shared.report(1) == 1);  // the place is the next one's
  shared.add(4);
  for (std::size_t i = 1; i < 6; ++i) shared.end(i);
  CHECK(shared.report(6) == 2);
  CopyOnWrite endless(4, -1);
  endless.add(1);
  CHECK(endless.report(0) == 1);
}

TEST_CASE("With fewer at once than would fit, the rest is shared at once", "[resources]") {
  CopyOnWrite shared(8, 100, nullptr, 2);
  shared.add(2);
  CHECK(shared.report(0) == 4);
  CHECK(shared.report(1) == 4);
}

TEST_CASE("Increases have their size, their number and a reserve", "[resources]") {
  CopyOnWrite shared(12, 2,
                     {{"increase_by", {{"cpu", 2}}},
                      {"increase_by_times", 2},
                      {"reserve_resources", {{"cpu", 3}}}});
  shared.add(2);
  CHECK(shared.report(0) == 5);
  CHECK(shared.report(1) == 3);  // 5 would touch the reserve
  shared.end(0);
  CHECK(shared.report(1) == 5);  // 7 would be three increases
}

TEST_CASE("What is not free yet is not given", "[resources]") {
  CopyOnWrite shared(4, 3);
  shared.add(2);
  shared.end(1);
  // A third is to come.
  CHECK(shared.report(0) == 2);
  shared.add(1);
  CHECK(shared.report(2) == 2);
  shared.end(0);
  CHECK(shared.report(2) == 4);
}

TEST_CASE("A trial that was paused for more goes on first, and is for its base what it was",
          "[resources]") {
  CopyOnWrite shared(4, 2, {{"base_scheduler", {{"type", "asha"}, {"max_t", 9}}}});
  shared.add(2);
  Experiment experiment;
  for (std::uint32_t i = 0; i < 2; ++i) {
    experiment.apply({i + 1, 1, TrialAdded{TrialId{i}, "{}", "", ""}});
  }
  const Decision decision = shared.scheduler->on_result(shared.trials[1], result_at(1, 1));
  REQUIRE(decision.resources == Resources{{"cpu", 2}});
  CHECK_FALSE(shared.scheduler->choose(experiment, 2, true) == TrialId{1});  // it still runs
  shared.trials[1].state = TrialState::paused;
  shared.scheduler->on_trial_wait(shared.trials[1]);
  CHECK(shared.scheduler->choose(experiment, 2, true) == TrialId{1});
  shared.trials[1].resources = *decision.resources;
  shared.start(shared.trials[1]);
  // The base stops who is bad, as ever.
  CHECK(shared.scheduler->on_result(shared.trials[0], result_at(1, 5)).action == Action::stop);
}

TEST_CASE("A change whose save failed is tried again with the next result", "[resources]") {
  CopyOnWrite shared(4, 1);
  shared.add(1);
  for (int i = 1; i < 4; ++i) {
    const Decision decision = shared.scheduler->on_result(shared.trials[0], result_at(i, 1));
    CHECK(decision.resources == Resources{{"cpu", 4}});
    shared.trials[0].resources = *decision.resources;
  }
}

TEST_CASE("Options of resource_changing that make no sense are refused, with their place",
          "[resources]") {
  const std::string name = "resource_changing";
  CHECK(refusal_of(name, nullptr) == "");
  CHECK(refusal_of(name, {{"base_scheduler", "asha"}}) == "");
  CHECK(refusal_of(name, {{"base_scheduler", {{"type", "asha"}, {"max_t", 0}}}})
            .starts_with("/base_scheduler/max_t"));
  for (const Json& bad : {Json("no_such"), Json(3), Json("resource_changing")}) {
    CHECK(refusal_of(name, {{"base_scheduler", bad}}).starts_with("/base_scheduler: "));
  }
  CHECK(refusal_of(name, {{"increase_by", {{"cpu", 0}}}}).starts_with("/increase_by"));
  CHECK(refusal_of(name, {{"increase_by", {{"cpu", "x"}}}}).starts_with("/increase_by"));
  CHECK(refusal_of(name, {{"increase_by", {{"gpu", 1}}}}) ==
        ": resource_changing shares out what the spec says there is: name 'gpu' in 'resources'");
}

TEST_CASE("Amounts can be a function's instead, of the trial and its result", "[resources]") {
  ResourceChangingOptions options;
  options.resources = {{"cpu", 8}};
  options.resources_per_trial = {{"cpu", 1}};
  options.allocation_function = [](const Trial&, const Result& result) {
    if (result.training_iteration < 3) return std::optional<Resources>();
    return std::optional<Resources>({{"cpu", result.training_iteration < 5 ? 4.0 : 1.0}});
  };
  CopyOnWrite shared(8, 4);
  shared.scheduler = make_resource_changing(std::move(options), make_fifo());
  shared.add(1);
  std::vector<double> cpus;
  for (int i = 0; i < 6; ++i) cpus.push_back(shared.report(0));
  CHECK(cpus == std::vector<double>{1, 1, 4, 4, 1, 1});
}
