// Whether configs have an effect: who is told that they seem to have none, and who is not.
#include "tuner/run/trials/config_effect.h"

#include <algorithm>
#include <cmath>

#include "tests/loop/harness.h"
#include "tests/support/catch.h"

namespace tune {

namespace {

struct Course {
  Json config;
  std::vector<double> losses;
  int extra = 0;  ///< another metric, the same in all of its results
};

/// What is said once the trials have come to that, one after the other.
std::string said_of(const std::vector<Course>& courses, const char* other = "epochs",
                    bool is_plain = false) {
  ExperimentSpec spec;
  if (is_plain) spec.plain.emplace();
  spec.objectives = {{"loss", Mode::min}};
  ConfigEffect effect(spec);
  std::string said;
  for (std::size_t i = 0; i < courses.size(); ++i) {
    Trial trial;
    trial.id = static_cast<TrialId>(i);
    trial.config = InternedJson(courses[i].config.dump());
    for (const double loss : courses[i].losses) {
      Result result;
      result.training_iteration = trial.iteration + 1;
      result.metrics = parse_metrics(Json{{"loss", loss}, {other, courses[i].extra}}.dump());
      effect.on_result(trial, result);
      trial.iteration = trial.counted_iteration = result.training_iteration;
    }
    said += effect.on_end(trial);
  }
  return said;
}

const std::vector<double> falling = {0.9, 0.5, 0.41};

}  // namespace

TEST_CASE("Three trials with other configs and equal curves say that configs are ignored",
          "[loop][config]") {
  const std::string said = said_of({{{{"lr", 1}}, falling},
                                    {{{"lr", 2}}, falling},
                                    {{{"lr", 3}}, falling},
                                    {{{"lr", 4}}, falling}});
  CHECK(said.starts_with("trial_00000, trial_00001 and trial_00002 have different configs"));
  CHECK(said.find("trial_00003") == std::string::npos);
}

TEST_CASE("Configs are not said to be ignored where curves or configs leave it open",
          "[loop][config]") {
  const auto of_losses = [](const std::vector<double>& a, const std::vector<double>& b,
                            const std::vector<double>& c) {
    return said_of({{{{"lr", 1}}, a}, {{{"lr", 2}}, b}, {{{"lr", 3}}, c}});
  };
  CHECK(!of_losses(falling, {0.9, 0.5, 0.41, 0.40}, falling).empty());
  // Two trials.
  CHECK(said_of({{{{"lr", 1}}, falling}, {{{"lr", 2}}, falling}}).empty());
  // One digit.
  CHECK(of_losses(falling, falling, {0.9, 0.5, 0.41000000000000003}).empty());
  // What all begin with, and those that were ended early by it.
  CHECK(of_losses({0.9}, {0.9}, {0.9}).empty());
  CHECK(of_losses({0.9, 0.9, 0.9}, {0.9, 0.9, 0.9}, {0.9, 0.9, 0.9}).empty());
  CHECK(of_losses({0.9, NAN, 0.9, NAN}, {0.9, NAN, 0.9, NAN}, {0.9, NAN, 0.9, NAN}).empty());
  // The same config, by itself and as a repetition.
  CHECK(said_of({{{{"lr", 1}}, falling}, {{{"lr", 1}}, falling}, {{{"lr", 2}}, falling}}).empty());
  const auto repetition = [](int n) { return Json{{"lr", 1}, {"repeat_index", n}}; };
  CHECK(said_of({{repetition(0), falling}, {repetition(1), falling}, {repetition(2), falling}})
            .empty());
  // What a program that knows nothing of tune is not given.
  const auto helped = [](int n) { return Json{{"lr", 1}, {"_draw", n}}; };
  const std::vector<Course> courses = {
      {helped(0), falling}, {helped(1), falling}, {helped(2), falling}};
  CHECK(said_of(courses, "epochs", true).empty());
  CHECK_FALSE(said_of(courses).empty());
}

TEST_CASE("Of programs with one result five equal ones of many digits say that configs are ignored",
          "[loop][config]") {
  const auto of_losses = [](double loss, int trials) {
    std::vector<Course> courses;
    for (int i = 0; i < trials; ++i) courses.push_back({{{"lr", i}}, {loss}});
    return said_of(courses);
  };
  CHECK(of_losses(0.12345678, 5).find("ignore its config") != std::string::npos);
  CHECK(of_losses(1.2345678e-9, 5).find("ignore its config") != std::string::npos);
  CHECK(of_losses(0.12345678, 4).empty());
  // An accuracy in percent.
  CHECK(of_losses(82.963, 10).find("ignore its config") != std::string::npos);
  CHECK(of_losses(82.963, 9).empty());
  // A share of few samples, and an end that fails.
  CHECK(of_losses(0.9125, 20).empty());
  CHECK(of_losses(0.00009125, 20).empty());
  CHECK(of_losses(1e12, 20).empty());
  CHECK(of_losses(INFINITY, 20).empty());
}

TEST_CASE("All metrics of a program count in whether configs are ignored, but times",
          "[loop][config]") {
  const std::vector<Course> courses = {
      {{{"lr", 1}}, falling, 1}, {{{"lr", 2}}, falling, 2}, {{{"lr", 3}}, falling, 3}};
  CHECK(said_of(courses, "accuracy").empty());
  CHECK(!said_of(courses, "epoch_time").empty());
}

TEST_CASE("A run says once that configs seem to be ignored", "[loop][config]") {
  Harness harness;
  harness.trials = 8;
  harness.spec.objectives = {{"loss", Mode::min}};
  const bool is_ignored = GENERATE(true, false);
  harness.program.step = [is_ignored](const Json& config, std::int64_t iteration) {
    const double loss = 1.0 / static_cast<double>(iteration);
    return FakeStep{.metrics =
                        Json{{"loss", loss + (is_ignored ? 0 : config["x"].get<double>())}}.dump()};
  };
  (void)harness.run();
  const auto said = std::count_if(harness.told.begin(), harness.told.end(), [](const auto& line) {
    return line.find("seems to ignore its config") != std::string::npos;
  });
  CHECK(said == (is_ignored ? 1 : 0));
}

}  // namespace tune
