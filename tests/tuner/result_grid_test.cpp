#include "tuner/result_grid.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tuner/journal/journal.h"
#include "tuner/model/event.h"
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

TEST_CASE("A trial is off the front if another one is better by the last digit of a whole number",
          "[result_grid][unit]") {
  ExperimentSpec spec;
  spec.objectives = {{"loss", Mode::min}, {"speed", Mode::max}};
  const ResultGrid grid(
      ended_with(
          {R"({"loss":1,"speed":9007199254740992})", R"({"loss":1,"speed":9007199254740993})",
           R"({"loss":-9007199254740992,"speed":0})", R"({"loss":-9007199254740993,"speed":0})"}),
      spec, "results");
  CHECK(grid.pareto_front().trials == std::vector{TrialId{3}, TrialId{1}});
}

/// A trial that has ended, with these metrics in its results.
Experiment trained(const std::vector<std::string>& results) {
  Experiment experiment;
  const auto then = [&](EventBody body) {
    const std::uint64_t number = experiment.last_event() + 1;
    experiment.apply({number, static_cast<Seconds>(number), std::move(body)});
  };
  then(TrialAdded{TrialId{0}, "{}", "", ""});
  then(AttemptStarted{TrialId{0}, 1, 0, {}});
  for (const std::string& metrics : results) {
    Result result;
    result.training_iteration = experiment.trial(TrialId{0}).iteration + 1;
    result.metrics = parse_metrics(metrics);
    then(ResultReported{TrialId{0}, 1, std::move(result), {}});
  }
  then(AttemptEnded{TrialId{0}, 1, Outcome::completed, "", false, 0});
  return experiment;
}

TEST_CASE(
    "A last value is of the iteration that reported it, with all its digits, although later "
    "results lack the metric",
    "[result_grid][unit]") {
  const std::string whole = "9007199254740993";
  const ResultGrid grid(trained({"{\"loss\":1}", "{\"loss\":" + whole + "}", "{\"other\":3}"}), {},
                        "results");
  const Trial& trial = grid.experiment().trial(TrialId{0});
  const Objective loss{"loss", Mode::max};
  CHECK(value_of(trial, "loss", Mode::max, Scope::last) == 9007199254740992);
  // Without files, the last result alone is known; the iteration is not guessed.
  CHECK_FALSE(grid.last_iteration(trial, "loss").has_value());
  CHECK(grid.last_iteration(trial, "other") == 3);
  CHECK(grid.last_iteration(trial, "training_iteration") == 3);
  CHECK_FALSE(grid.last_iteration(trial, "never").has_value());
}

TEST_CASE("NaN takes a place among the last five values, and what lacks the metric takes none",
          "[result_grid][unit]") {
  std::vector<std::string> results;
  for (const char* const loss : {"7", "1", "2", "\"NaN\"", "3", "4"}) {
    results.push_back(std::string("{\"loss\":") + loss + "}");
    results.emplace_back("{}");
  }
  const Experiment experiment = trained(results);
  const Trial& trial = experiment.trial(TrialId{0});
  CHECK(value_of(trial, "loss", Mode::min, Scope::last) == 4);
  CHECK(value_of(trial, "loss", Mode::min, Scope::last_5_avg) == 2.5);
  CHECK(value_of(trial, "loss", Mode::min, Scope::avg) == 3.4);
}

TEST_CASE("A trial that has reported nothing is not best by its iterations",
          "[result_grid][unit]") {
  const ResultGrid none(trained({}), {}, "results");
  for (const char* const counter : {"training_iteration", "time_total_s"}) {
    CHECK(none.best_trials({counter, Mode::max}, Scope::all, 1).empty());
  }
  const ResultGrid one(trained({"{}"}), {}, "results");
  CHECK(one.best_trials({"training_iteration", Mode::max}, Scope::last, 1).size() == 1);
}

TEST_CASE(
    "Of a trial that goes on, rows that came after its grid was read cost no look at the past",
    "[grid][unit]") {
  const auto directory =
      std::filesystem::temp_directory_path() / ("tune_result_grid_" + std::to_string(::getpid()));
  std::filesystem::create_directories(directory / "trial_00000");
  const auto line = [](const std::string& text) {
    std::string out;
    append_journal_line(out, text);
    return out;
  };
  std::ofstream(directory / "CURRENT") << "2\n";
  Result fifth;
  fifth.training_iteration = 5;
  fifth.metrics = parse_metrics(R"({"loss":5})");
  std::string event;
  append_json(event, {9, 9, ResultReported{TrialId{0}, 1, std::move(fifth), {}}});
  std::ofstream(directory / "journal-2.jsonl")
      << line(R"({"journal":1,"generation":2,"first":9})") << line(event);
  // Whoever reads this stops.
  std::ofstream(directory / "history.jsonl") << line(R"({"history":99})");
  std::ofstream rows(directory / "trial_00000" / "result.json");
  for (int i = 1; i <= 5; ++i) {
    rows << R"({"training_iteration":)" << i << R"(,"loss":)" << 10 - i << "}\n";
  }
  rows.close();
  ExperimentSpec spec;
  spec.objectives = {{"loss", Mode::min}};
  const ResultGrid grid(trained({R"({"loss":9})", R"({"loss":8})"}), spec, directory);
  std::vector<double> seen;
  const Trial& trial = grid.experiment().trial(TrialId{0});
  REQUIRE_NOTHROW(grid.each_row(
      trial, [&](const Metrics& row) { seen.push_back(row.find("loss").value_or(0)); }));
  CHECK(seen == std::vector<double>{9, 8});
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace tune
