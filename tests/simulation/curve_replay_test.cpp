// Curves as the trials of a simulation.
#include "tuner/simulation/curve_replay.h"

#include <cmath>
#include <limits>
#include <set>

#include "searchers/searchers.h"
#include "tests/support/catch.h"
#include "tuner/base/error.h"

using namespace tune;

namespace {

/// Curve i of n reaches i in its last of four iterations, one second each.
CurveTable rising(int n) {
  CurveTable table;
  table.metrics = {"score"};
  for (int i = 1; i <= n; ++i) {
    table.curves.push_back({Json{{"x", i}},
                            "x=" + std::to_string(i),
                            {1, 1, 1, 1},
                            {0.25 * i, 0.5 * i, 0.75 * i, 1.0 * i}});
  }
  return table;
}

ExperimentSpec spec_with(double workers) {
  ExperimentSpec spec;
  spec.objectives = {{"score", Mode::max}};
  spec.resources = {{"cpu", workers}};
  return spec;
}

const Catalogue catalogue = built_in_catalogue();

/// Makes each trial but the first, at its second result, a copy of the first.
class CopyFirst : public Scheduler {
 public:
  explicit CopyFirst(std::string config) : config_(std::move(config)) {}
  Decision on_result(const Trial& trial, const Result& result) override {
    if (trial.id == TrialId{0}) return {.action = Action::proceed, .checkpoint = true};
    if (result.training_iteration != 2 || !trial.lineage.empty()) return {};
    return {.action = Action::exploit, .exploit = Exploit{TrialId{0}, config_, ""}};
  }

 private:
  std::string config_;
};

}  // namespace

TEST_CASE("Without a budget every curve is trained to its end") {
  const CurveTable table = rising(10);
  const auto marks = replay_curves(spec_with(2), catalogue, table, {.target = 9.5});
  REQUIRE(marks.size() == 1);
  CHECK_FALSE(marks[0].budget_s);
  CHECK(marks[0].best == 10);
  CHECK(marks[0].trials == 10);
  CHECK(marks[0].iterations == 40);
  CHECK(marks[0].time_s == Approx(20).margin(0.01));
  REQUIRE(marks[0].target_s);
  CHECK(std::fmod(*marks[0].target_s + 0.5, 4) == Approx(0.5).margin(0.01));
  CHECK(best_in(table, {"score", Mode::max}) == 10);
  CHECK(best_in(table, {"score", Mode::min}) == 0.25);
}

TEST_CASE("A mark at a budget knows nothing of what comes after it") {
  const CurveTable table = rising(10);
  // One worker: a trial every four seconds.
  const auto marks = replay_curves(spec_with(1), catalogue, table, {.budgets = {2.5, 4.5, 9.5}});
  REQUIRE(marks.size() == 3);
  CHECK(marks[0].budget_s == 2.5);
  CHECK(marks[0].iterations == 2);
  CHECK(marks[0].trials == 1);
  CHECK(marks[1].iterations == 4);
  CHECK(marks[1].trials == 2);
  CHECK(marks[2].iterations == 9);
  CHECK(marks[2].trials == 3);
  CHECK(marks[0].best == Approx(marks[1].best / 2));
  CHECK_FALSE(marks[2].target_s);
}

TEST_CASE("The seed decides the order in which configs are drawn, each once") {
  const CurveTable table = rising(20);
  const auto best_of_five = [&](std::uint64_t seed) {
    return replay_curves(spec_with(1), catalogue, table, {.seed = seed, .configs = 5})[0].best;
  };
  CHECK(best_of_five(3) == best_of_five(3));
  std::set<double> found;
  for (std::uint64_t seed = 0; seed < 20; ++seed) found.insert(best_of_five(seed));
  CHECK(found.size() > 3);
  for (const double best : found) CHECK(best >= 5);
}

TEST_CASE("A searcher decides which curve comes next, each once, and learns from it") {
  const CurveTable table = rising(2'000);
  ExperimentSpec spec = spec_with(2);
  spec.param_space = {{"x", {{"randint", {1, 2'001}}}}};
  const auto best_of_thirty = [&](const Json& searcher) {
    double sum = 0;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      const auto marks = replay_curves(spec, catalogue, table,
                                       {.seed = seed, .configs = 30, .searcher = searcher});
      CHECK(marks[0].trials == 30);
      sum += marks[0].best;
    }
    return sum / 10;
  };
  CHECK(best_of_thirty({{"type", "tpe"}}) > 1'990);
  CHECK(best_of_thirty({{"type", "cma_es"}}) > 1'990);
  CHECK(best_of_thirty(nullptr) < 1'980);
}

TEST_CASE("Tries of a config that no curve has are refused, those of a seed are other curves") {
  const CurveTable table = rising(20);
  ExperimentSpec spec = spec_with(2);
  spec.param_space = {{"x", {{"randint", {1, 21}}}}};
  Json searcher = {{"type", "random"}, {"repeat", 3}, {"repeat_at_least", 2}};
  REQUIRE_THROWS_WITH(replay_curves(spec, catalogue, table, {.searcher = searcher}),
                      Catch::Matchers::Contains("another try would be another config"));
  searcher["repeat_key"] = "x";
  CHECK(replay_curves(spec, catalogue, table, {.searcher = searcher})[0].trials == 20);
}

TEST_CASE("The configs nearest to a searcher's wishes come each once, until there is none left") {
  std::vector<Problem> problems;
  const auto space = SearchSpace::parse({{"x", {{"uniform", {1, 50}}}}}, "", problems);
  std::vector<Suggestion> rows;
  for (int x = 1; x <= 50; ++x) rows.push_back({Json{{"x", x}}, ""});
  std::vector<std::size_t> taken(rows.size(), 99);
  const auto searcher = make_nearest_rows(
      space, rows, taken, catalogue.searchers.at("sobol")(Json::object(), {space, {}, 100}));
  std::set<Json> seen;
  for (std::uint32_t id = 0; id < 50; ++id) {
    const Answer answer = searcher->suggest(TrialId(id));
    const Json& config = std::get<Suggestion>(answer).config;
    CHECK(rows[taken[id]].config == config);
    CHECK(seen.insert(config).second);
  }
  CHECK(std::holds_alternative<Exhausted>(searcher->suggest(TrialId(50))));
}

TEST_CASE("A searcher of a space that the curves are not in is refused") {
  const CurveTable table = rising(3);
  ExperimentSpec spec = spec_with(1);
  spec.param_space = {{"x", {{"randint", {1, 4}}}}, {"y", {{"uniform", {0, 1}}}}};
  REQUIRE_THROWS_WITH(replay_curves(spec, catalogue, table, {.searcher = {{"type", "tpe"}}}),
                      Catch::Matchers::Contains("/y") &&
                          Catch::Matchers::Contains("has no such value in the config {\"x\":1}"));
}

TEST_CASE("Starts and saves take their time in a replay too") {
  const CurveTable table = rising(2);
  ExperimentSpec spec = spec_with(1);
  spec.checkpoint_config.checkpoint_frequency = 2;
  const auto marks = replay_curves(spec, catalogue, table, {.launch_s = 3, .save_s = 0.5});
  CHECK(marks[0].time_s == Approx(2 * (3 + 4) + 3 * 0.5).margin(0.01));
}

TEST_CASE("NaN in a curve is an ordinary value that is never best") {
  CurveTable table = rising(2);
  table.curves[1].values = {std::nan(""), std::nan(""), std::nan(""), std::nan("")};
  const auto marks = replay_curves(spec_with(1), catalogue, table, {});
  CHECK(marks[0].best == 1);
  CHECK(marks[0].iterations == 8);
}

TEST_CASE("Asynchronous halving trains less than all of the curves and finds the best") {
  CurveTable table = rising(64);
  ExperimentSpec spec = spec_with(8);
  spec.scheduler = Json::parse(R"({"type": "asha", "max_t": 4, "grace_period": 1,
                                   "reduction_factor": 2})");
  const auto marks = replay_curves(spec, catalogue, table, {.seed = 1});
  CHECK(marks[0].best == 64);
  CHECK(marks[0].trials == 64);
  CHECK(marks[0].iterations < 64 * 4 * 3 / 4);
}

TEST_CASE("A metric that the curves lack is refused with the nearest that there is") {
  const CurveTable table = rising(2);
  ExperimentSpec spec = spec_with(1);
  spec.objectives[0].metric = "scor";
  REQUIRE_THROWS_WITH(replay_curves(spec, catalogue, table, {}),
                      Catch::Matchers::Contains("'scor', did you mean 'score'?"));
}

TEST_CASE("A scheduler that makes configs which no curve knows ends a replay with an error") {
  const CurveTable table = rising(2);
  Catalogue with_copies = built_in_catalogue();
  add_factory(with_copies.schedulers, "copy_first", [](const Json&, const PolicyContext&) {
    return std::make_unique<CopyFirst>(R"({"x": 1.5})");
  });
  ExperimentSpec spec = spec_with(2);
  spec.scheduler = {{"type", "copy_first"}};
  REQUIRE_THROWS_WITH(replay_curves(spec, with_copies, table, {}),
                      Catch::Matchers::Contains("has changed the config of trial_00001"));
}
