// The stopping rules of a spec: which results end a trial, and what ends everything.
// Knows no file.
#include "tests/spec/spec_support.h"
#include "tests/support/catch.h"
#include "tuner/spec/spec.h"

using namespace tune;
using namespace tune::test;

namespace {

std::unique_ptr<Stopper> stopper_of(const Json& fields) {
  const Catalogue catalogue = small_catalogue();
  std::vector<Problem> problems;
  const ExperimentSpec spec = parse_spec(with(fields), "/specs", catalogue, problems);
  const SearchSpace space;
  const PolicyContext context{space, spec.objectives, spec.num_samples, spec.seed};
  auto stopper = make_stopper(spec, catalogue, context, problems);
  REQUIRE(problems.empty());
  return stopper;
}

/// Whether the first result of a trial ends it.
bool stops(const Json& stop, const std::vector<Metric>& metrics) {
  Result result;
  result.training_iteration = 1;
  result.metrics.numbers = metrics;
  return stopper_of({{"stop", stop}})->should_stop(Trial{}, result);
}

}  // namespace

TEST_CASE("A plain stop rule ends a trial when any of its metrics reaches its bound",
          "[spec_stop][bounds]") {
  const Json stop = {{"accuracy", 0.9}, {"reward", 100}};
  CHECK_FALSE(stops(stop, {{"accuracy", 0.89}, {"reward", 99}}));
  CHECK(stops(stop, {{"accuracy", 0.9}, {"reward", 0}}));
  CHECK(stops(stop, {{"reward", 101}}));
  CHECK_FALSE(stops(stop, {{"other", 1000}}));
}

TEST_CASE("A stop rule may name an auto-filled field", "[spec_stop][bounds]") {
  CHECK(stops({{"training_iteration", 1}}, {}));
  CHECK_FALSE(stops({{"training_iteration", 2}}, {}));
}

TEST_CASE("A bound on what is almost a field of the driver's is refused, unless it is a metric",
          "[spec_stop][bounds]") {
  const auto problems_of = [](const Json& fields) {
    std::vector<Problem> problems;
    (void)parse_spec(with(fields), "/specs", small_catalogue(), problems);
    return problems;
  };
  const auto problems = problems_of({{"stop", {{"training_iterations", 3}, {"loss", 1}}}});
  REQUIRE(problems.size() == 1);
  CHECK(problems.front().pointer == "/stop/training_iterations");
  CHECK(problems.front().sentence ==
        "unknown bound 'training_iterations', did you mean 'training_iteration'? A metric that "
        "trials report so is written {\"metric\": \"training_iterations\", \">=\": 3}");
  CHECK(problems_of({{"stop", Json::array({{{"time_total", 3}}})}}).size() == 1);
  CHECK(problems_of({{"stop", {{"epochs_total", 3}, {"time_total_s", 1}}}}).empty());
  CHECK(problems_of({{"stop", {{"metric", "time_total"}, {">=", 3}}}}).empty());
  CHECK(problems_of({{"stop", {{"time_total", 3}}}, {"metric", "time_total"}, {"mode", "min"}})
            .empty());
  std::vector<Problem> none;
  (void)parse_recorded_spec(with({{"stop", {{"time_total", 3}}}}), small_catalogue(), none);
  CHECK(none.empty());
}

TEST_CASE("Each comparison ends a trial on its own side of the bound", "[spec_stop][comparison]") {
  const auto ends_at = [](const std::string& comparison, double value) {
    return stops({{"metric", "loss"}, {comparison, 0.5}}, {{"loss", value}});
  };
  CHECK(ends_at("<", 0.4));
  CHECK_FALSE(ends_at("<", 0.5));
  CHECK(ends_at("<=", 0.5));
  CHECK_FALSE(ends_at("<=", 0.6));
  CHECK(ends_at(">=", 0.5));
  CHECK_FALSE(ends_at(">=", 0.4));
  CHECK(ends_at(">", 0.6));
  CHECK_FALSE(ends_at(">", 0.5));
}

TEST_CASE("A metric of the name metric can still be a bound", "[spec_stop][bounds]") {
  CHECK(stops({{"metric", 3}}, {{"metric", 3}}));
}

TEST_CASE("Any rule of a list ends a trial", "[spec_stop][list]") {
  const Json stop = {{{"accuracy", 0.9}}, {{"metric", "loss"}, {"<", 0.1}}};
  CHECK(stops(stop, {{"accuracy", 0.95}, {"loss", 1}}));
  CHECK(stops(stop, {{"accuracy", 0.5}, {"loss", 0.05}}));
  CHECK_FALSE(stops(stop, {{"accuracy", 0.5}, {"loss", 1}}));
}

TEST_CASE("A time budget ends everything, with or without other rules", "[spec_stop][budget]") {
  for (const Json& stop : {Json(), Json{{"accuracy", 0.9}}}) {
    const auto stopper = stopper_of({{"stop", stop}, {"time_budget_s", 60}});
    REQUIRE(stopper);
    CHECK_FALSE(stopper->should_stop_all(59));
    CHECK(stopper->should_stop_all(60));
  }
}

TEST_CASE("A rule that stays keeps what it has seen when others come, go or change",
          "[spec_stop][load]") {
  const auto stops_after = [](Stopper& stopper, double loss) {
    Result result;
    result.metrics.numbers = {{"loss", loss}};
    return stopper.should_stop(Trial{}, result);
  };
  const auto plateau = [](const std::string& metric, double std) {
    return Json{{"type", "trial_plateau"},
                {"metric", metric},
                {"std", std},
                {"num_results", 3},
                {"grace_period", 0}};
  };
  const auto before = stopper_of({{"stop", plateau("loss", 0.1)}});
  REQUIRE_FALSE(stops_after(*before, 5));
  REQUIRE_FALSE(stops_after(*before, 5));
  const auto goes_on_with = [&](const Json& stop) {
    auto stopper = stopper_of({{"stop", stop}, {"time_budget_s", 9}});
    stopper->load(before->save());
    return stopper;
  };
  CHECK(stops_after(*goes_on_with({{{"other", 1}}, plateau("loss", 0.1)}), 5));
  CHECK(stops_after(*goes_on_with({plateau("x", 1), plateau("loss", 2)}), 6));
  CHECK_FALSE(stops_after(*goes_on_with({plateau("x", 0.1)}), 5));
  CHECK_FALSE(stops_after(*goes_on_with({{"training_iteration", 9}}), 5));
}

TEST_CASE("Without a rule and a budget there is no stopper", "[spec_stop][budget]") {
  CHECK_FALSE(stopper_of(Json::object()));
  CHECK_FALSE(stopper_of({{"stop", Json::object()}}));
  CHECK_FALSE(stopper_of({{"stop", Json::array()}}));
}
