// What all searchers can do besides searching.
#include "searchers/front.h"

#include <set>

#include "tests/policies/policies.h"
#include "tests/support/catch.h"
#include "tuner/core/error.h"
#include "tuner/core/policy_state.h"

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
             (how == Ended::failed ? "!" : "");
  }
  Json save() const override { return Json::object(); }
  void load(const Json&) override {}

 private:
  const Json config_;
  std::string& told_;
};

struct Fronted {
  explicit Fronted(const Json& param_space, const Json& options, std::int64_t num_samples = -1)
      : space(space_of(param_space)) {
    const PolicyContext context{space, {{"loss", Mode::min}}, num_samples, 7};
    OptionReader reader(options);
    FrontOptions read = read_front(reader, context);
    reader.finish();
    Random random(3);
    searcher = make_front(space, std::make_unique<Stubborn>(space.sample(0, random), told),
                          std::move(read));
  }
  SearchSpace space;
  std::string told;
  std::unique_ptr<Searcher> searcher;
};

const Json discrete = R"({"a": {"choice": [1, 2, 2]}, "b": {"randint": [0, 3]},
                          "c": {"choice": [{"d": {"quniform": [0, 1, 0.5]}}, 4]}})"_json;

/// Message of the OptionError that these options bring.
std::string refusal(const Json& param_space, const Json& options, std::int64_t num_samples = -1) {
  try {
    Fronted fronted(param_space, options, num_samples);
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

TEST_CASE("Configs may come twice if the user wants that", "[searcher][front]") {
  Fronted fronted(discrete, {{"skip_duplicates", false}}, 30);
  const auto configs = all_configs(*fronted.searcher);
  CHECK(configs.size() == 30);
  CHECK(std::set<Json>(configs.begin(), configs.end()).size() == 1);
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
}

TEST_CASE("Configs that break a constraint are not suggested", "[searcher][front]") {
  Fronted fronted(discrete, {{"constraints", {"a + b - 2"}}});
  const auto configs = all_configs(*fronted.searcher, 12);
  CHECK(configs.size() == 12);
  for (const Json& config : configs) {
    CHECK(config["a"].get<int>() + config["b"].get<int>() <= 2);
  }
  CHECK_THROWS_WITH(fronted.searcher->suggest(TrialId{12}),
                    Catch::Matchers::Contains("no config with 'a + b - 2 <= 0' was found"));
  CHECK(refusal(discrete, {{"constraints", {"a +"}}}).starts_with("/constraints/0: "));
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

TEST_CASE("A searcher's pace is read, and refused where it means nothing", "[searcher][front]") {
  Fronted fronted(discrete, {{"max_concurrent", 4}, {"batch", true}, {"suggest_ahead", 2}});
  const Pace pace = fronted.searcher->pace();
  CHECK(pace.max_concurrent == 4);
  CHECK(pace.batch);
  CHECK(pace.ahead == 2);
  CHECK(refusal(discrete, {{"batch", true}}).starts_with("/batch: "));
  CHECK(refusal(R"({"a": {"grid_search": [1, 2]}})"_json, Json::object())
            .find("no use for a 'grid_search'") != std::string::npos);
}
