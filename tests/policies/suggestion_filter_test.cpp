// What all searchers can do besides searching.
#include "searchers/suggestion_filter.h"

#include <cmath>
#include <deque>
#include <map>
#include <set>

#include "tests/policies/policies.h"
#include "tests/support/catch.h"
#include "tuner/base/error.h"
#include "tuner/policy/policy_state.h"

using namespace tune;

namespace {

/// Always suggests the same, and writes down what it is told.
class Stubborn : public Searcher {
 public:
  Stubborn(Json config, std::string& told) : config_(std::move(config)), told_(told) {}
  Answer suggest(TrialId) override { return Suggestion{config_, ""}; }
  void on_trial_add(TrialId id, const std::string& config) override {
    told_ += "+" + std::to_string(index_of(id)) + config;
  }
  void on_result(TrialId id, const Observation&) override {
    told_ += "." + std::to_string(index_of(id));
  }
  void on_trial_end(TrialId id, const Observation& last, Ended how) override {
    told_ += "-" + std::to_string(index_of(id)) + "=" +
             (last.scores.empty() ? "none" : Json(last.scores[0]).dump()) +
             (last.constraints.empty() ? "" : "@" + save_numbers(last.constraints).dump()) +
             (how == Ended::failed ? "!" : "");
  }
  Json save() const override { return Json::object(); }
  void load(const Json&) override {}

 private:
  const Json config_;
  std::string& told_;
};

struct Fronted {
  explicit Fronted(const Json& param_space, const Json& options, std::int64_t num_samples = -1,
                   const std::vector<std::string>& constraints = {})
      : space(space_of(param_space)) {
    PolicyContext context{space, {{"loss", Mode::min}}, num_samples, 7};
    for (const auto& text : constraints) context.constraints.push_back(space.constraint(text));
    OptionReader reader(options);
    SuggestionFilterOptions read = read_suggestion_filter(reader, context);
    reader.finish();
    Random random(3);
    searcher = make_suggestion_filter(
        space, std::make_unique<Stubborn>(space.sample(0, random), told), std::move(read));
  }
  SearchSpace space;
  std::string told;
  std::unique_ptr<Searcher> searcher;
};

const Json discrete = R"({"a": {"choice": [1, 2, 2]}, "b": {"randint": [0, 3]},
                          "c": {"choice": [{"d": {"quniform": [0, 1, 0.5]}}, 4]}})"_json;

/// Message of the OptionError that these options bring.
std::string refusal(const Json& param_space, const Json& options, std::int64_t num_samples = -1,
                    const std::vector<std::string>& constraints = {}) {
  try {
    Fronted fronted(param_space, options, num_samples, constraints);
  } catch (const OptionError& error) {
    return error.pointer + ": " + error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("A discrete space is tried to its last config, none of them twice", "[searcher][front]") {
  Fronted fronted(discrete, Json::object());
  CHECK(fronted.space.size() == 2 * 3 * 4);
  CHECK(fronted.searcher->total() == 24);
  const auto configs = all_configs(*fronted.searcher);
  CHECK(configs.size() == 24);
  CHECK(std::set<Json>(configs.begin(), configs.end()).size() == 24);
}

TEST_CASE("As many trials as were asked for come of a space with fewer configs, new ones first",
          "[searcher][front]") {
  const auto [space, size] = GENERATE(table<Json, std::size_t>(
      {{R"({"lr": 0.1})"_json, 1}, {R"({"a": {"choice": [1, 2]}})"_json, 2}, {discrete, 24}}));
  Fronted fronted(space, Json::object(), 30);
  CHECK(fronted.searcher->total() == 30);
  const auto configs = all_configs(*fronted.searcher);
  CHECK(configs.size() == 30);
  const auto first = configs.begin() + static_cast<std::ptrdiff_t>(size);
  CHECK(std::set<Json>(configs.begin(), first).size() == size);
  Fronted skipping(space, {{"skip_duplicates", true}}, 30);
  CHECK(skipping.searcher->total() == size);
  CHECK(all_configs(*skipping.searcher).size() == size);
}

TEST_CASE("Repeated configs fulfil the constraints, too", "[searcher][front]") {
  Fronted fronted(R"({"n": {"randint": [0, 4]}})"_json, Json::object(), 12, {"n <= 1"});
  CHECK(fronted.searcher->total() == 12);
  const auto configs = all_configs(*fronted.searcher);
  REQUIRE(configs.size() == 12);
  for (const Json& config : configs) CHECK(config["n"] <= 1);
  CHECK(configs[0] != configs[1]);
}

TEST_CASE("Configs may come twice if the user wants that", "[searcher][front]") {
  Fronted fronted(discrete, {{"skip_duplicates", false}}, 30);
  const auto configs = all_configs(*fronted.searcher);
  CHECK(configs.size() == 30);
  CHECK(std::set<Json>(configs.begin(), configs.end()).size() == 1);
}

TEST_CASE("A searcher that repeats itself gets something new, in a continuous space, too",
          "[searcher][front]") {
  const Json continuous = R"({"a": {"uniform": [0, 1]}, "b": {"choice": [1, 2]}})"_json;
  Fronted fronted(continuous, Json::object(), 20);
  const auto configs = all_configs(*fronted.searcher);
  CHECK(configs.size() == 20);
  CHECK(std::set<Json>(configs.begin(), configs.end()).size() == 20);
  Fronted repeating(continuous, {{"skip_duplicates", false}}, 20);
  const auto repeated = all_configs(*repeating.searcher);
  CHECK(std::set<Json>(repeated.begin(), repeated.end()).size() == 1);
}

TEST_CASE("A config is compared as a whole, also after saving and loading", "[searcher][front]") {
  Fronted one(discrete, Json::object());
  all_configs(*one.searcher, 10);
  Fronted two(discrete, Json::object());
  two.searcher->load(Json::parse(one.searcher->save().dump()));
  const auto rest = all_configs(*two.searcher);
  CHECK(rest.size() == 14);
  CHECK(rest == all_configs(*one.searcher));
}

TEST_CASE("Given points come first and count as samples", "[searcher][front]") {
  const Json options = R"({"points_to_evaluate": [{"b": 2}, {"a": 1, "b": 0, "c": 4}]})"_json;
  Fronted fronted(discrete, options, 3);
  const auto configs = all_configs(*fronted.searcher);
  REQUIRE(configs.size() == 3);
  CHECK(configs[0]["b"] == 2);
  CHECK(configs[1] == R"({"a": 1, "b": 0, "c": 4})"_json);
  CHECK(refusal(discrete, options, 1) ==
        "/points_to_evaluate: 2 points to evaluate are more than num_samples = 1");
  CHECK(refusal(discrete, R"({"points_to_evaluate": [{"b": 9}]})"_json)
            .starts_with("/points_to_evaluate/0/b: "));
}

TEST_CASE("Points with rewards are told, and nobody has to try them", "[searcher][front]") {
  const Json options = R"({"points_to_evaluate": [{"a": 1, "b": 0, "c": 4}, {"b": 1}],
                           "evaluated_rewards": [0.25]})"_json;
  Fronted fronted(discrete, options, 2);
  CHECK(fronted.told == R"(+4294967295{"a":1,"b":0,"c":4}-4294967295=-0.25)");
  const auto configs = all_configs(*fronted.searcher);
  REQUIRE(configs.size() == 2);
  CHECK(configs[0]["b"] == 1);
  CHECK(refusal(discrete, R"({"points_to_evaluate": [{"b": 1}], "evaluated_rewards": [1]})"_json) ==
        "/points_to_evaluate/0: a point with a reward must be a whole config: nothing is to be "
        "drawn");
  CHECK(refusal(discrete, R"({"evaluated_rewards": [1]})"_json) ==
        "/evaluated_rewards: there are 1 rewards for 0 points_to_evaluate");
  Json stopped = options;
  stopped["evaluated_iterations"] = Json::array({0});
  CHECK(refusal(discrete, stopped).starts_with("/evaluated_iterations/0: the iteration at which"));
  stopped["evaluated_iterations"] = Json::array({3, 4});
  CHECK(refusal(discrete, stopped).starts_with("/evaluated_iterations: each of 1 evaluated"));
  stopped["evaluated_iterations"] = Json::array({nullptr});
  CHECK(refusal(discrete, stopped) == "accepted");
}

TEST_CASE("Configs that break a constraint are not suggested", "[searcher][front]") {
  Fronted fronted(discrete, Json::object(), -1, {"a + b <= 2", "ms <= 3"});
  CHECK(fronted.searcher->total() == 12);
  const auto configs = all_configs(*fronted.searcher);
  CHECK(configs.size() == 12);
  for (const Json& config : configs) {
    CHECK(config["a"].get<int>() + config["b"].get<int>() <= 2);
  }
  CHECK(Fronted(discrete, Json::object(), 5, {"ms <= 3"}).searcher->total() == 5);
}

TEST_CASE("Configs in which an expression has no value are not suggested, nor counted",
          "[searcher][front]") {
  const Json space = R"({"a": {"randint": [-2, 3]}, "b": {"choice": [1, 2]},
                         "x": {"expr": "b / a"}})"_json;
  Fronted fronted(space, Json::object());
  CHECK(fronted.searcher->total() == 8);
  const auto configs = all_configs(*fronted.searcher);
  CHECK(configs.size() == 8);
  for (const Json& config : configs) CHECK(config["a"] != 0);
  CHECK(refusal(space, R"({"points_to_evaluate": [{"a": 0, "b": 1}]})"_json) ==
        "/points_to_evaluate/0: cannot evaluate /x = 'b / a': the result is not a finite number");
}

TEST_CASE("A constraint that leaves nothing ends the search with a sentence", "[searcher][front]") {
  const Json line = R"({"x": {"uniform": [0, 1]}})"_json;
  for (const Json& space : {discrete, line}) {
    Fronted fronted(space, Json::object(), 5, {space == line ? "x >= 2" : "b >= 3"});
    CHECK_THROWS_WITH(fronted.searcher->suggest(TrialId{0}),
                      Catch::Matchers::Contains("no config with '") &&
                          Catch::Matchers::Contains("was found among 1000 drawn at random"));
  }
  CHECK(refusal(line, {{"points_to_evaluate", {{{"x", 0.5}}}}}, 5, {"x >= 0.6"}) ==
        "/points_to_evaluate/0: the config breaks the constraint 'x >= 0.6'");
}

TEST_CASE("What a given point leaves open is drawn until the constraints are fulfilled",
          "[searcher][front]") {
  Fronted fronted(discrete, R"({"points_to_evaluate": [{"a": 2}, {"a": 2}, {"a": 2}]})"_json, 3,
                  {"a + b <= 2"});
  for (const Json& config : all_configs(*fronted.searcher)) CHECK(config["b"] == 0);
}

TEST_CASE("Points with rewards need the values of the constraints with metrics",
          "[searcher][front]") {
  const Json points = R"([{"a": 1, "b": 0, "c": 4}, {"a": 2, "b": 0, "c": 4}])"_json;
  const std::vector<std::string> constraints = {"a + b <= 2", "ms <= 3", "kb <= 3"};
  const auto options = [&](const Json& values) {
    return Json{{"points_to_evaluate", points},
                {"evaluated_rewards", {1, 2}},
                {"evaluated_constraints", values}};
  };
  Fronted fronted(discrete, options(R"([[-1, 2], [0.5, "NaN"]])"_json), 2, constraints);
  CHECK(fronted.told.ends_with("=-1.0@[-1.0,2.0]+4294967294" + encode_numbers(points[1]).dump() +
                               R"(-4294967294=-2.0@[0.5,"NaN"])"));
  CHECK(refusal(discrete, options({{1, 2}}), -1, constraints) ==
        "/evaluated_constraints: each of 2 evaluated_rewards needs the values of 2 constraints "
        "with metrics, got values for 1");
  CHECK(refusal(discrete, options({{1, 2}, 3}), -1, constraints) ==
        "/evaluated_constraints/1: a point with a reward needs the value of each constraint with a "
        "metric, 2 in all, got 3");
  CHECK(refusal(discrete, options({1, 2})).starts_with("/evaluated_constraints: "));
}

TEST_CASE("A config is repeated, and the searcher learns the mean of its trials",
          "[searcher][front]") {
  Fronted fronted(R"({"x": {"uniform": [0, 1]}})"_json, {{"repeat", 3}}, 2);
  Searcher& searcher = *fronted.searcher;
  CHECK(searcher.total() == 6);
  std::vector<Json> configs;
  for (std::uint32_t id = 0; id < 6; ++id) {
    configs.push_back(next_config(searcher, id));
    searcher.on_trial_add(TrialId{id}, configs.back().dump());
    CHECK(configs[id]["repeat_index"] == id % 3);
    CHECK(configs[id]["x"] == configs[id - id % 3]["x"]);
  }
  CHECK(next_config(searcher, 6).is_null());
  fronted.told.clear();
  const auto end = [&](std::uint32_t id, double score, Ended how = Ended::complete) {
    searcher.on_trial_end(TrialId{id}, {1, {score}}, how);
  };
  end(0, 1);
  end(4, 5);
  end(2, 3);
  searcher.on_result(TrialId{1}, {1, {9}});
  CHECK(fronted.told.empty());
  const Json state = Json::parse(searcher.save().dump());
  searcher.load(state);
  CHECK(searcher.save() == state);
  end(1, 5);
  CHECK(fronted.told == "-0=3.0");
  // One that failed does not count, the later end of one that was queued again does.
  end(3, 100, Ended::failed);
  end(5, 7);
  CHECK(fronted.told == "-0=3.0-3=6.0");
  end(3, 0);
  CHECK(fronted.told == "-0=3.0-3=6.0-3=4.0");
}

namespace {

/// Suggests x = 0, 1, 2 ..., three of them.
class Counting : public Searcher {
 public:
  explicit Counting(std::map<int, double>& told) : told_(told) {}
  Answer suggest(TrialId id) override {
    if (next_ == 3) return Exhausted{};
    xs_[id] = next_;
    return Suggestion{{{"x", next_++}}, ""};
  }
  void on_trial_end(TrialId id, const Observation& last, Ended how) override {
    told_[xs_.at(id)] = how == Ended::failed ? NAN : last.scores[0];
  }
  Json save() const override { return next_; }
  void load(const Json& state) override { next_ = state.get<int>(); }

 private:
  int next_ = 0;
  std::map<TrialId, int> xs_;
  std::map<int, double>& told_;
};

/// Plays `repeat` of 8 tries at least 3, so many at a time, each try scored by its config and
/// number; answers how many tries each x got. The state is saved and loaded all the time.
std::map<int, int> tries_in_race(std::size_t at_a_time, double (*score)(int x, int number),
                                 std::map<int, double>& told) {
  const auto searcher = make_repeat(std::make_unique<Counting>(told), {{}, 8, 3, "seed"});
  std::map<int, int> tries;
  std::deque<std::pair<TrialId, Json>> running;
  for (std::uint32_t id = 0;;) {
    searcher->load(Json::parse(searcher->save().dump()));
    Answer answer = NothingNow{};
    if (running.size() < at_a_time) answer = searcher->suggest(TrialId{id});
    if (const auto* const suggestion = std::get_if<Suggestion>(&answer)) {
      const Json config = suggestion->config;
      CHECK(config.at("seed") == tries[config.at("x")]++);
      running.emplace_back(TrialId{id++}, config);
      continue;
    }
    if (running.empty()) {
      CHECK(std::holds_alternative<Exhausted>(answer));
      return tries;
    }
    const auto [trial, config] = running.front();
    running.pop_front();
    const double value = score(config.at("x"), config.at("seed"));
    searcher->on_trial_end(trial, {1, {value}},
                           std::isnan(value) ? Ended::failed : Ended::complete);
  }
}

}  // namespace

TEST_CASE("In a race a config gets its further tries only while it may be the best",
          "[searcher][front]") {
  for (const std::size_t at_a_time : {1, 2, 5}) {
    CAPTURE(at_a_time);
    std::map<int, double> told;
    // Seeds differ by more than configs do, but are the same for all.
    const auto far = [](int x, int number) { return 10.0 * (number % 4) - x; };
    CHECK(tries_in_race(at_a_time, far, told) == std::map<int, int>{{0, 8}, {1, 3}, {2, 3}});
    CHECK(told == std::map<int, double>{{0, 15}, {1, 9}, {2, 8}});
    const auto alike = [](int x, int number) { return number % 2 == x % 2 ? 1.0 : 0.9; };
    CHECK(tries_in_race(at_a_time, alike, told) == std::map<int, int>{{0, 8}, {1, 8}, {2, 8}});
    const auto failing = [](int x, int) -> double { return x == 0 ? NAN : x; };
    const auto tries = tries_in_race(at_a_time, failing, told);
    CHECK(tries.at(0) == 3);
    CHECK(tries.at(2) == 8);
    CHECK(std::isnan(told.at(0)));
  }
}

TEST_CASE("A race needs two tries, and fewer than all", "[searcher][front]") {
  CHECK(refusal(discrete, {{"repeat", 3}, {"repeat_at_least", 1}}).starts_with("/repeat_at_least"));
  CHECK(refusal(discrete, {{"repeat", 3}, {"repeat_at_least", 4}}).starts_with("/repeat_at_least"));
  Fronted fronted(discrete, {{"repeat", 3}, {"repeat_at_least", 2}}, 2);
  CHECK_FALSE(fronted.searcher->total());
}

TEST_CASE("The mean of a config's tries is right where their sum cancels, or no double holds it",
          "[searcher][front]") {
  Fronted fronted(R"({"x": {"uniform": [0, 1]}})"_json, {{"repeat", 3}}, 2);
  Searcher& searcher = *fronted.searcher;
  for (std::uint32_t id = 0; id < 6; ++id) {
    searcher.on_trial_add(TrialId{id}, next_config(searcher, id).dump());
  }
  fronted.told.clear();
  const std::vector<double> scores = {1e16, 1.5, -1e16, 1.7e308, 1.7e308, -1.7e308};
  for (std::uint32_t id = 0; id < 6; ++id) {
    searcher.on_trial_end(TrialId{id}, {1, {scores[id]}, {1e16, scores[id]}}, Ended::complete);
  }
  CHECK(fronted.told.starts_with("-0=0.5@[1e+16,0.5]-3=5.66666666666666"));
}

TEST_CASE("Of a config that is repeated, the searcher learns the mean of its constraints",
          "[searcher][front]") {
  Fronted fronted(R"({"x": {"uniform": [0, 1]}})"_json, {{"repeat", 2}}, 2);
  Searcher& searcher = *fronted.searcher;
  for (std::uint32_t id = 0; id < 4; ++id) {
    searcher.on_trial_add(TrialId{id}, next_config(searcher, id).dump());
  }
  fronted.told.clear();
  searcher.on_trial_end(TrialId{0}, {1, {1}, {1, -2}}, Ended::complete);
  searcher.load(Json::parse(searcher.save().dump()));
  searcher.on_trial_end(TrialId{1}, {1, {2}, {0, -1}}, Ended::complete);
  CHECK(fronted.told == "-0=1.5@[0.5,-1.5]");
  fronted.told.clear();
  searcher.on_trial_end(TrialId{2}, {0, {0}, {9, 9}}, Ended::failed);
  searcher.on_trial_end(TrialId{3}, {1, {2}, {NAN, -1}}, Ended::complete);
  CHECK(fronted.told == R"(-2=2.0@["NaN",-1.0])");
}

TEST_CASE("A searcher's pace is read, and refused where it means nothing", "[searcher][front]") {
  Fronted fronted(discrete, {{"max_concurrent", 4}, {"batch", true}, {"suggest_ahead", 2}});
  const SuggestionLimits limits = fronted.searcher->limits();
  CHECK(limits.max_concurrent == 4);
  CHECK(limits.batch);
  CHECK(limits.ahead == 2);
  CHECK(refusal(discrete, {{"batch", true}}).starts_with("/batch: "));
  CHECK(refusal(R"({"a": {"grid_search": [1, 2]}})"_json, Json::object())
            .find("no use for a 'grid_search'") != std::string::npos);
}
