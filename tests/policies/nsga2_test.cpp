// NSGA-II: what its children are like, and how far it comes.
#include <cmath>
#include <limits>
#include <set>

#include "tests/policies/policies.h"
#include "tests/support/catch.h"
#include "tuner/math/pareto.h"

namespace tune {
namespace {

const std::vector<Objective> two_objectives = {{"a", Mode::min}, {"b", Mode::min}};

std::unique_ptr<Searcher> make(const Json& space, const Json& options, std::uint64_t seed = 1) {
  return make_searcher("nsga2", space, -1, options, seed, two_objectives);
}

void tell(Searcher& searcher, std::uint32_t id, const Json& config, std::vector<double> scores,
          Ended how = Ended::complete) {
  searcher.on_trial_add(TrialId(id), config.dump());
  searcher.on_trial_end(TrialId(id), {1, std::move(scores)}, how);
}

/// Zitzler, Deb and Thiele's first problem, with 10 dimensions; both are to be small.
Scores zdt1(const Json& config) {
  double sum = 0;
  for (const auto& [name, x] : config.items()) sum += x.get<double>();
  const double first = config["x0"].get<double>();
  const double g = 1 + 9 * (sum - first) / 9;
  return {-first, -g * (1 - std::sqrt(first / g))};
}

/// What 400 trials, one after the other, cover.
double covered(const std::string& name, std::uint64_t seed) {
  Json space = Json::object();
  for (int i = 0; i < 10; ++i) space["x" + std::to_string(i)] = {{"uniform", {0, 1}}};
  const auto searcher = make_searcher(name, space, 400, nullptr, seed, two_objectives);
  std::vector<Scores> points;
  for (std::uint32_t id = 0; id < 400; ++id) {
    const Json config = next_config(*searcher, id);
    points.push_back(zdt1(config));
    tell(*searcher, id, config, points.back());
  }
  const Scores reference = {-1, -11};
  std::erase_if(points, [&](const Scores& point) { return point[1] < reference[1]; });
  return hypervolume(std::move(points), reference);
}

}  // namespace

TEST_CASE("It covers more of ZDT1 than random search with every seed, by far on average",
          "[nsga2][unit][statistics]") {
  double ours = 0, random = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const double nsga2 = covered("nsga2", seed), other = covered("random", seed);
    CHECK(nsga2 > other);
    ours += nsga2 / 10;
    random += other / 10;
  }
  // Up to the true front it would be 10.66.
  INFO(ours << " " << random);
  CHECK(10.66 - ours < (10.66 - random) / 2);
}

TEST_CASE("Failures and trials without a number for each metric have no children",
          "[nsga2][unit]") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Json space = R"({"x": {"choice": ["good", "bad"]}, "y": {"uniform": [0, 1]}})"_json;
  const auto searcher =
      make(space, {{"population", 2}, {"mutation_prob", 0}, {"skip_duplicates", false}});
  std::uint32_t id = 0;
  for (const double y : {0.125, 0.25, 0.375}) {
    tell(*searcher, id++, {{"x", "bad"}, {"y", y}}, {nan, 9});
    tell(*searcher, id++, {{"x", "bad"}, {"y", y}}, {9, infinity});
    tell(*searcher, id++, {{"x", "bad"}, {"y", y}}, {9, 9}, Ended::failed);
  }
  tell(*searcher, id++, {{"x", "good"}, {"y", 0.5}}, {1, 2});
  std::set<std::string> drawn;  // from the space, as there is only one parent
  for (int i = 0; i < 20; ++i) drawn.insert(next_config(*searcher)["x"].get<std::string>());
  CHECK(drawn.size() == 2);
  tell(*searcher, id++, {{"x", "good"}, {"y", 0.75}}, {2, 1});
  for (int i = 0; i < 20; ++i) {
    const Json config = next_config(*searcher);
    CHECK(config["x"] == "good");
    CHECK((config["y"] == 0.5 || config["y"] == 0.75));
  }
}

TEST_CASE("Who violates constraints has children only where others are too few, the least first",
          "[nsga2][unit]") {
  const Json space = R"({"x": {"uniform": [0, 100]}})"_json;
  const auto parents = [&](const std::vector<double>& violations) {
    const auto searcher =
        make(space, {{"population", 2}, {"mutation_prob", 0}, {"skip_duplicates", false}});
    std::uint32_t id = 0;
    for (const double violation : violations) {
      searcher->on_trial_add(TrialId(id), Json{{"x", id}}.dump());
      const auto score = static_cast<double>(id);  // later ones would be better
      searcher->on_trial_end(TrialId(id++), {1, {score, score}, {violation, -3}}, Ended::complete);
    }
    std::set<int> drawn;
    for (int i = 0; i < 30; ++i)
      drawn.insert(static_cast<int>(next_config(*searcher)["x"].get<double>()));
    return drawn;
  };
  CHECK(parents({0, -1, 0.5, 2, 1}) == std::set<int>{0, 1});
  CHECK(parents({3, 0, 0.5, 2, 1}) == std::set<int>{1, 2});
  CHECK(parents({3, 4, 5, 2, 9}) == std::set<int>{0, 3});
}

TEST_CASE("A child has each value of one of its parents, and what belongs to it of a condition",
          "[nsga2][unit]") {
  const Json space = R"({
    "x": {"uniform": [0, 1]}, "n": {"randint": [0, 100]},
    "kind": {"choice": [{"name": "a", "depth": {"randint": [1, 9]}}, {"name": "b"}]}})"_json;
  const auto searcher =
      make(space, {{"population", 2}, {"mutation_prob", 0}, {"skip_duplicates", false}});
  const Json one = R"({"x": 0.25, "n": 7, "kind": {"name": "a", "depth": 3}})"_json;
  const Json other = R"({"x": 0.75, "n": 70, "kind": {"name": "b"}})"_json;
  tell(*searcher, 0, one, {1, 2});
  tell(*searcher, 1, other, {2, 1});
  std::set<Json> children;
  for (int i = 0; i < 200; ++i) children.insert(next_config(*searcher));
  // All combinations, neither parent itself: that would have been tried.
  CHECK(children.size() == 6);
  for (const Json& child : children) {
    for (const char* const name : {"x", "n", "kind"}) {
      INFO(child);
      CHECK((child[name] == one[name] || child[name] == other[name]));
    }
  }
}

TEST_CASE("A mutation stays within its domain, near the old value, and changes it",
          "[nsga2][unit]") {
  const Json space = R"({"x": {"uniform": [0, 1]}, "n": {"randint": [0, 3]},
    "q": {"qloguniform": [1, 64, 1]}, "r": {"randn": [0, 1]}, "c": {"choice": [1, 2, 3]}})"_json;
  const auto searcher = make(space, {{"population", 2}, {"mutation_prob", 1}});
  const Json parent = R"({"x": 0.99, "n": 2, "q": 1, "r": 3.5, "c": 1})"_json;
  tell(*searcher, 0, parent, {1, 2});
  tell(*searcher, 1, parent, {2, 1});
  double distance = 0;
  std::set<Json> choices;
  constexpr int n = 300;
  for (int i = 0; i < n; ++i) {
    const Json child = next_config(*searcher);
    const double x = child["x"].get<double>();
    CHECK((x >= 0 && x <= 1));
    CHECK(child["n"] == 1);
    CHECK(child["q"].get<double>() >= 2);
    CHECK(child["r"] != 3.5);
    distance += std::abs(x - 0.99) / n;
    choices.insert(child["c"]);
  }
  CHECK(distance < 0.1);
  CHECK(choices.size() == 3);
}

TEST_CASE("With several metrics, searchers that know one say so, and who knows more",
          "[searcher][unit]") {
  const Json space = R"({"x": {"uniform": [0, 1]}})"_json;
  for (const auto& [name, factory] : all_policies().searchers) {
    INFO(name);
    const bool knows_one =
        name == "bohb" || name == "cma_es" || name == "freeze_thaw" || name == "stages";
    std::string refusal;
    try {
      if (name != "grid") make_searcher(name, space, 100, nullptr, 1, two_objectives);
    } catch (const OptionError& error) {
      refusal = error.what();
    }
    const std::string first =
        "the searcher '" + name + "' knows one metric, and the experiment has several: ";
    // What freeze_thaw needs beside it is named with it.
    const std::string advice = name == "freeze_thaw"
                                   ? "name the one that counts, or leave 'searcher' out and take "
                                     "the scheduler 'fifo'"
                                   : "use 'tpe', 'nsga2', 'sobol', 'latin_hypercube', 'random' or "
                                     "'grid'";
    CHECK(refusal == (knows_one ? first + advice : ""));
  }
}

TEST_CASE("Rewards of points are one for each metric, better by its mode", "[searcher][unit]") {
  const Json space = R"({"x": {"uniform": [0, 1]}})"_json;
  const auto with_rewards = [&](const Json& reward) {
    return make_searcher("nsga2", space, 10,
                         {{"points_to_evaluate", {{{"x", 0.5}}}}, {"evaluated_rewards", {reward}}},
                         1, {{"a", Mode::min}, {"b", Mode::max}});
  };
  const Json state = with_rewards({3, 4})->save();
  CHECK(state.at("searcher").at("history").at("scores") == Json{-3.0, 4.0});
  CHECK_THROWS_WITH(with_rewards(3), "a point needs one reward for each metric, 2 in all, got 3");
}

}  // namespace tune
