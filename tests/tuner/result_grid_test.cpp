#include "tuner/result_grid.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tuner/model/experiment.h"

namespace tune {
namespace {

/// Trials that have ended, each with these metrics.
Experiment ended_with(const std::vector<std::string>& metrics) {
  Experiment experiment;
  const auto then = [&](EventBody body) {
    const std::uint64_t number = experiment.last_event() + 1;
    experiment.apply({number, static_cast<Seconds>(number), std::move(body)});
  };
  for (std::uint32_t i = 0; i < metrics.size(); ++i) {
    Result result;
    result.training_iteration = 1;
    result.metrics = parse_metrics(metrics[i]);
    then(TrialAdded{TrialId{i}, "{}", "", ""});
    then(AttemptStarted{TrialId{i}, 1, 0, {}});
    then(ResultReported{TrialId{i}, 1, std::move(result), {}});
    then(AttemptEnded{TrialId{i}, 1, Outcome::completed, "", false, 0});
  }
  return experiment;
}

TEST_CASE("The reference of a front is the worst of all that have ended, also of the infeasible",
          "[result_grid][unit]") {
  ExperimentSpec spec;
  spec.objectives = {{"loss", Mode::min}, {"speed", Mode::max}};
  spec.constraints = {"ms <= 3"};
  const ResultGrid grid(
      ended_with({R"({"loss":1,"speed":2,"ms":1})", R"({"loss":2,"speed":4,"ms":1})",
                  R"({"loss":5,"speed":1,"ms":9})", R"({"loss":9,"speed":"NaN","ms":1})"}),
      spec, "results");
  const ParetoFront front = grid.pareto_front();
  CHECK(front.trials == std::vector{TrialId{0}, TrialId{1}});
  CHECK(front.reference == std::vector<double>{5, 1});
  // (5 - 1) * (2 - 1) + (5 - 2) * (4 - 2)
  CHECK(front.hypervolume == Approx(10));
}

}  // namespace
}  // namespace tune
