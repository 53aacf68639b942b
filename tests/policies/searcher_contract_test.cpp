// What holds for every searcher in the catalogue, whatever it is.
#include <limits>
#include <set>

#include "tests/policies/policies.h"
#include "tests/support/catch.h"
#include "tuner/base/error.h"

using namespace tune;

namespace {

const Json mixed_space = R"({
  "lr": {"loguniform": [1e-5, 1]}, "units": {"qrandint": [8, 64, 8]},
  "layers": [{"choice": [{"kind": "a", "p": {"uniform": [0, 1]}}, {"kind": "b"}]}],
  "decay": {"expr": "lr / 10"}, "batch": {"grid_search": [16, 32, 64]}, "fixed": true})"_json;

/// What those get that go through no grid: 3 times as many samples then.
const Json gridless_space = R"({
  "lr": {"loguniform": [1e-5, 1]}, "units": {"qrandint": [8, 64, 8]},
  "layers": [{"choice": [{"kind": "a", "p": {"uniform": [0, 1]}}, {"kind": "b"}]}],
  "decay": {"expr": "lr / 10"}, "batch": {"choice": [16, 32, 64]}, "fixed": true,
  "skew": {"qrandn": [0, 2, 0.5]}, "steps": {"lograndint": [1, 1000]}})"_json;

bool goes_through_grids(const std::string& name) {
  return name == "random" || name == "grid" || name == "auto";
}

const Json& space_for(const std::string& name) {
  return goes_through_grids(name) ? mixed_space : gridless_space;
}

/// Options under which those that think long do not.
Json quick_options_of(const std::string& name) {
  if (name == "gp") return {{"n_candidates", 16}, {"n_local_searches", 1}};
  if (name == "stages") return {{"switch_after", 15}};
  return nullptr;
}

/// One that makes 3 times `samples` suggestions.
std::unique_ptr<Searcher> make(const std::string& name, std::int64_t samples,
                               std::uint64_t seed = 1) {
  return make_searcher(name, space_for(name), goes_through_grids(name) ? samples : 3 * samples,
                       quick_options_of(name), seed);
}

std::vector<std::string> searcher_names() {
  std::vector<std::string> names;
  for (const auto& [name, factory] : all_policies().searchers) names.push_back(name);
  return names;
}

/// Tells the searcher that a trial with this config ended with this score.
void tell(Searcher& searcher, std::uint32_t id, const Json& config, double score) {
  searcher.on_trial_add(TrialId(id), config.dump());
  searcher.on_result(TrialId(id), {1, {score / 2}});
  searcher.on_trial_end(TrialId(id), {2, {score}}, Ended::complete);
}

/// Runs `n` trials one after the other and returns their configs.
std::vector<Json> run(Searcher& searcher, std::uint32_t first, std::uint32_t n) {
  std::vector<Json> configs;
  for (std::uint32_t id = first; id < first + n; ++id) {
    const Json config = next_config(searcher, id);
    if (config.is_null()) break;
    tell(searcher, id, config, config["lr"].get<double>());
    configs.push_back(config);
  }
  return configs;
}

}  // namespace

TEST_CASE("Every searcher gives the same answers to the same seed and others to another",
          "[searcher][contract]") {
  for (const std::string& name : searcher_names()) {
    INFO(name);
    const auto one = make(name, 10, 1);
    const auto two = make(name, 10, 1);
    const auto other = make(name, 10, 2);
    const auto configs = run(*one, 0, 20);
    REQUIRE(configs.size() == 20);
    CHECK(configs == run(*two, 0, 20));
    CHECK(configs != run(*other, 0, 20));
  }
}

TEST_CASE("Every searcher has the same future after saving and loading", "[searcher][contract]") {
  for (const std::string& name : searcher_names()) {
    INFO(name);
    const auto one = make(name, 10);
    run(*one, 0, 13);
    const Json state = Json::parse(one->save().dump());
    const auto two = make(name, 10, 99);
    two->load(state);
    CHECK(two->save() == one->save());
    const auto future = run(*one, 13, 100);
    CHECK(future.size() == 17);
    CHECK(future == run(*two, 13, 100));
    CHECK(two->save() == one->save());
  }
}

TEST_CASE("Every searcher refuses a state that is not its own and keeps what it has",
          "[searcher][contract]") {
  for (const std::string& name : searcher_names()) {
    INFO(name);
    const auto searcher = make(name, 10);
    run(*searcher, 0, 5);
    const Json before = searcher->save();
    for (const Json& bad : {Json(nullptr), Json(3), Json::object(), Json{{"sample", "x"}}}) {
      CHECK_THROWS_AS(searcher->load(bad), Error);
      CHECK(searcher->save() == before);
    }
    // Cut off anywhere, a state is no state.
    for (const auto& [key, value] : before.items()) {
      Json part = before;
      part.erase(key);
      INFO(key);
      CHECK_THROWS_AS(searcher->load(part), Error);
      CHECK(searcher->save() == before);
    }
  }
}

TEST_CASE("Every searcher suggests configs of the space, with a tag", "[searcher][contract]") {
  for (const std::string& name : searcher_names()) {
    INFO(name);
    const SearchSpace space = space_of(space_for(name));
    const auto searcher = make(name, 20);
    for (std::uint32_t id = 0; id < 60; ++id) {
      const Answer answer = searcher->suggest(TrialId(id));
      REQUIRE(std::holds_alternative<Suggestion>(answer));
      const auto& suggestion = std::get<Suggestion>(answer);
      CHECK(space.check_preset(suggestion.config).empty());
      CHECK(space.leaf_values(suggestion.config)[0].is_number());
      CHECK(suggestion.config["decay"].get<double>() ==
            Approx(suggestion.config["lr"].get<double>() / 10));
      CHECK(suggestion.tag == space.tag(suggestion.config));
      tell(*searcher, id, suggestion.config, id);
    }
  }
}

TEST_CASE("Values that are written differently are tried as many as were written",
          "[searcher][contract]") {
  const Json values = R"([1, 1.0, 0.5, "sqrt", 1, "1"])"_json;
  for (const std::string& name : searcher_names()) {
    if (name == "cma_es") continue;  // it needs a number in each config
    INFO(name);
    const bool is_grid = name == "grid";
    Json options = quick_options_of(name);
    if (!is_grid) options["skip_duplicates"] = true;
    const auto searcher =
        make_searcher(name, {{"depth", {{is_grid ? "grid_search" : "choice", values}}}},
                      is_grid ? 1 : 50, options);
    std::set<std::string> texts;
    std::size_t asked = 0;
    for (std::uint32_t id = 0; id < 50; ++id, ++asked) {
      const Json config = next_config(*searcher, id);
      if (config.is_null()) break;
      tell(*searcher, id, config, id);
      texts.insert(config.dump());
    }
    CHECK(texts.size() == 5);
    CHECK(asked == (is_grid ? 6 : 5));
  }
}

TEST_CASE("Every searcher ends where its total says, and asking on leaves no trace",
          "[searcher][contract]") {
  for (const std::string& name : searcher_names()) {
    INFO(name);
    const auto searcher = make(name, 4);
    REQUIRE(searcher->total() == 12);
    CHECK(run(*searcher, 0, 100).size() == 12);
    const Json before = searcher->save();
    for (int i = 0; i < 5; ++i) {
      CHECK_FALSE(std::holds_alternative<Suggestion>(searcher->suggest(TrialId(12))));
      CHECK(searcher->save() == before);
    }
    CHECK(searcher->total() == 12);
  }
}

TEST_CASE("Searchers that go through no grid say so, and what to write instead",
          "[searcher][contract]") {
  for (const std::string& name : searcher_names()) {
    if (goes_through_grids(name)) continue;
    INFO(name);
    try {
      make_searcher(name, mixed_space, 1);
      FAIL("it was accepted");
    } catch (const OptionError& error) {
      CHECK_THAT(error.what(), Catch::Matchers::Contains("'grid_search'") &&
                                   Catch::Matchers::Contains("write 'choice'"));
    }
  }
}

TEST_CASE(
    "Every searcher goes on after trials that failed, were stopped, are running or came from "
    "elsewhere, and with any score",
    "[searcher][contract]") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const std::string& name : searcher_names()) {
    INFO(name);
    const SearchSpace space = space_of(space_for(name));
    const auto searcher = make(name, 40);
    for (std::uint32_t id = 0; id < 40; ++id) {
      const Json config = next_config(*searcher, id);
      REQUIRE(space.check_preset(config).empty());
      const auto trial = TrialId(id);
      searcher->on_trial_add(trial, config.dump());
      searcher->on_result(trial, {1, {nan}});
      const double score = config["lr"].get<double>();
      if (id % 10 == 0) searcher->on_trial_end(trial, {0, {nan}}, Ended::failed);
      if (id % 10 == 1) searcher->on_trial_end(trial, {2, {nan}}, Ended::complete);
      if (id % 10 == 2) searcher->on_trial_end(trial, {2, {nan}}, Ended::stopped);
      if (id % 10 == 3) searcher->on_trial_end(trial, {1, {score}}, Ended::stopped);
      if (id % 10 == 4) searcher->on_trial_end(trial, {9, {infinity}}, Ended::complete);
      if (id % 10 == 5) searcher->on_trial_end(trial, {9, {-infinity}}, Ended::complete);
      if (id % 10 > 6) searcher->on_trial_end(trial, {9, {score}}, Ended::complete);
      if (id % 20 == 7) {  // once more, with another config, and it ends again
        searcher->on_trial_add(trial, next_config(*searcher, id).dump());
        searcher->on_trial_end(trial, {12, {score / 2}}, Ended::complete);
      }
    }
    const Json state = Json::parse(searcher->save().dump());
    const auto other = make(name, 40, 5);
    other->load(state);
    CHECK(other->save() == searcher->save());
    CHECK(next_config(*other, 200) == next_config(*searcher, 200));
  }
}

TEST_CASE("Every searcher refuses an unknown option by name", "[searcher][contract]") {
  for (const std::string& name : searcher_names()) {
    INFO(name);
    try {
      make_searcher(name, space_for(name), 1, {{"no_such_option", 1}});
      FAIL("it was accepted");
    } catch (const OptionError& error) {
      CHECK(error.pointer == "/no_such_option");
      CHECK(std::string(error.what()).find("unknown option 'no_such_option'") == 0);
    }
  }
}

TEST_CASE(
    "Every searcher suggests nothing that breaks a constraint, and learns of values of others",
    "[searcher][contract]") {
  for (const std::string& name : searcher_names()) {
    INFO(name);
    const auto make_one = [&](std::uint64_t seed) {
      return make_searcher(name, space_for(name), 40, quick_options_of(name), seed,
                           {{"loss", Mode::min}},
                           {"units * batch <= 1024", "lr >= 1e-4", "layers.0.p <= 0.5", "ms <= 3"});
    };
    const auto searcher = make_one(1);
    std::uint32_t id = 0;
    for (; id < 40; ++id) {
      const Json config = next_config(*searcher, id);
      if (config.is_null()) break;
      CHECK(config["units"].get<int>() * config["batch"].get<int>() <= 1024);
      CHECK(config["lr"].get<double>() >= 1e-4);
      if (config["layers"][0].contains("p")) CHECK(config["layers"][0]["p"].get<double>() <= 0.5);
      searcher->on_trial_add(TrialId(id), config.dump());
      const double score = config["lr"].get<double>();
      const double excess = id % 7 == 0 ? std::numeric_limits<double>::quiet_NaN() : 5.0 - id;
      searcher->on_result(TrialId(id), {1, {score}, {excess}});
      searcher->on_trial_end(TrialId(id), {9, {score}, {excess}},
                             id % 5 == 0 ? Ended::stopped : Ended::complete);
    }
    CHECK(id >= 40);
    const auto other = make_one(5);
    other->load(Json::parse(searcher->save().dump()));
    CHECK(other->save() == searcher->save());
    CHECK(next_config(*other, 50) == next_config(*searcher, 50));
  }
}

TEST_CASE("No searcher learns anything from a seed: it is drawn evenly, whatever comes of it",
          "[searcher][contract][statistics]") {
  const Json space = {{"x", {{"uniform", {0, 1}}}},
                      {"y", {{"choice", {1, 2, 3}}}},
                      {"seed", {{"randseed", {0, 1000}}}}};
  for (const std::string& name : searcher_names()) {
    if (name == "grid") continue;
    INFO(name);
    const auto searcher = make_searcher(name, space, 60, quick_options_of(name), 1);
    double low = 0, high = 0;
    std::set<std::int64_t> late;
    for (std::uint32_t id = 0; id < 60; ++id) {
      const Json config = next_config(*searcher, id);
      REQUIRE_FALSE(config.is_null());
      const auto seed = config["seed"].get<std::int64_t>();
      REQUIRE((seed >= 0 && seed < 1000));
      (seed < 500 ? low : high) += 1;
      if (id >= 30) late.insert(seed);
      tell(*searcher, id, config, seed < 500 ? 1 : 0);  // as if all depended on it
    }
    CHECK(low >= 15);
    CHECK(high >= 15);
    CHECK(late.size() >= 25);
  }
}

TEST_CASE("What a model knows of a paused trial is its last result, until it ends",
          "[searcher][contract]") {
  for (const std::string name : {"gp", "tpe", "nsga2"}) {
    INFO(name);
    const auto told = [&](bool pauses, bool ends) {
      auto searcher = make(name, 100);
      for (std::uint32_t id = 0; id < 14; ++id) {
        const Json config = next_config(*searcher, id);
        searcher->on_trial_add(TrialId(id), config.dump());
        const double score = config["lr"];
        if (pauses) searcher->on_trial_pause(TrialId(id), {2, {ends ? 0 : score}});
        if (ends) searcher->on_trial_end(TrialId(id), {2, {score}}, Ended::stopped);
      }
      return searcher->save();
    };
    CHECK(told(true, false) == told(false, true));
    // tpe compares trials at what each has reported on its way, too.
    if (name != "tpe") CHECK(told(true, true) == told(false, true));
    CHECK(told(false, false) != told(false, true));
  }
}
