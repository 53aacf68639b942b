#include <cmath>
#include <fstream>
#include <limits>
#include <random>
#include <string>

#include "searchers/tpe_model.h"
#include "tests/policies/policies.h"
#include "tests/support/catch.h"
#include "tuner/base/error.h"

namespace tune {
namespace {

const Json plain = R"({"a": {"uniform": [-5, 10]}, "b": {"loguniform": [1e-5, 1]},
                       "c": {"choice": ["x", "y", "z"]}, "d": {"randint": [3, 41]},
                       "e": {"quniform": [-1, 1, 0.125]}})"_json;
const Json conditional = R"({"a": {"uniform": [-5, 10]}, "b": {"loguniform": [1e-5, 1]},
    "c": {"choice": [{"is": "x", "c_x": {"uniform": [0, 1]}},
                     {"is": "y", "c_y": {"lograndint": [1, 501]}}, {"is": "z"}]},
    "d": {"randint": [3, 41]}, "e": {"quniform": [-1, 1, 0.125]}})"_json;

const Json interval = R"({"x": {"uniform": [0, 1]}})"_json;

/// Uniform numbers as numpy's RandomState(seed).random_sample() gives them.
Parzen::Uniforms numpy_uniforms(std::uint32_t seed) {
  return [generator = std::mt19937(seed)]() mutable {
    const std::uint32_t high = static_cast<std::uint32_t>(generator()) >> 5;
    const std::uint32_t low = static_cast<std::uint32_t>(generator()) >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0;
  };
}

/// A trial of a run of Optuna (tests/policies/optuna/make_runs.py).
struct PeerTrial {
  Json config;  ///< in our space
  Json row;
};

std::vector<PeerTrial> read_run(const std::string& name, bool is_conditional) {
  std::ifstream in(std::string(OPTUNA_RUNS) + "/" + name + ".jsonl");
  std::vector<PeerTrial> trials;
  for (std::string line; std::getline(in, line);) {
    PeerTrial trial;
    trial.row = Json::parse(line);
    trial.config = trial.row.at("p");
    if (is_conditional) {
      Json branch = {{"is", trial.config["c"]}};
      for (const char* key : {"c_x", "c_y"}) {
        if (!trial.config.contains(key)) continue;
        branch[key] = trial.config[key];
        trial.config.erase(key);
      }
      trial.config["c"] = branch;
    }
    trials.push_back(std::move(trial));
  }
  return trials;
}

void tell(TpeModel& model, TrialId id, const PeerTrial& trial) {
  model.add(id, trial.config.dump());
  const std::string how = trial.row.at("how");
  const Json& loss = trial.row.at("v");
  const double score =
      loss.is_null() ? std::numeric_limits<double>::quiet_NaN() : -loss.get<double>();
  Observation last{trial.row.value("i", std::int64_t{1}), {score}};
  if (last.iteration == 0) last.scores.clear();
  if (trial.row.contains("x")) last.constraints = trial.row["x"].get<std::vector<double>>();
  if (how == "complete") model.end(id, last, Ended::complete);
  if (how == "stopped") model.end(id, last, Ended::stopped);
  if (how == "failed") model.end(id, last, Ended::failed);
}

/// How many suggestions of the run were compared; each must be Optuna's.
int repeat_run(const std::string& name, const Json& space, TpeRules rules) {
  rules.avoid_failures = rules.equal_training = false;
  TpeModel model(History(space_of(space), 1), rules);
  const auto uniforms = numpy_uniforms(7);
  int compared = 0;
  std::uint32_t id = 0;
  for (const PeerTrial& trial : read_run(name, space == conditional)) {
    if (model.known() >= 10) {
      INFO(name << " " << id);
      const Json config = model.suggest(uniforms);
      const SearchSpace& parsed = model.history().space();
      const std::vector<Json> ours = parsed.leaf_values(config);
      const std::vector<Json> theirs = parsed.leaf_values(trial.config);
      for (std::size_t leaf = 0; leaf < ours.size(); ++leaf) {
        INFO(parsed.leaves()[leaf].pointer);
        REQUIRE(ours[leaf].is_null() == theirs[leaf].is_null());
        if (ours[leaf].is_null()) continue;
        CHECK(ours[leaf].get<double>() == Approx(theirs[leaf].get<double>()).epsilon(1e-9));
      }
      ++compared;
    }
    tell(model, TrialId(id++), trial);
  }
  return compared;
}

}  // namespace

TEST_CASE("A run of Optuna's multivariate TPE is repeated number by number", "[tpe][unit]") {
  CHECK(repeat_run("multivariate", plain, {}) == 24);
}

TEST_CASE("A run of Optuna's univariate TPE with other options is repeated number by number",
          "[tpe][unit]") {
  TpeRules rules;
  rules.multivariate = false;
  rules.constant_liar = false;
  rules.parzen.endpoints = true;
  rules.parzen.prior_weight = 0.5;
  CHECK(repeat_run("univariate", plain, rules) == 18);
}

TEST_CASE("A run of Optuna's TPE on a conditional space is repeated number by number",
          "[tpe][unit]") {
  CHECK(repeat_run("conditional", conditional, {}) == 30);
}

TEST_CASE("A run of Optuna's TPE whose trials are all stopped is repeated number by number",
          "[tpe][unit]") {
  CHECK(repeat_run("stopped", plain, {}) == 20);
}

TEST_CASE("A run of Optuna's TPE with constraints is repeated number by number", "[tpe][unit]") {
  CHECK(repeat_run("constrained", plain, {}) == 48);
}

TEST_CASE("A run of Optuna's TPE in groups is repeated number by number", "[tpe][unit]") {
  TpeRules rules;
  rules.group = true;
  rules.parzen.magic_clip = false;
  CHECK(repeat_run("grouped", conditional, rules) == 30);
}

TEST_CASE("What failed leaves no trace in the model if failures are not to be avoided",
          "[tpe][unit]") {
  TpeRules rules;
  rules.avoid_failures = false;
  TpeModel one(History(space_of(plain), 1), rules), two = one;
  const auto run = read_run("multivariate", false);
  for (std::uint32_t id = 0; id < 20; ++id) {
    tell(one, TrialId(id), run[id]);
    tell(two, TrialId(id), run[id]);
    two.add(TrialId(100 + id), run[20 + id % 10].config.dump());
    const double score = id % 2 == 0 ? 5.0 : std::numeric_limits<double>::quiet_NaN();
    two.end(TrialId(100 + id), {3, {score}}, id % 2 == 0 ? Ended::failed : Ended::complete);
  }
  CHECK(one.suggest(numpy_uniforms(1)) == two.suggest(numpy_uniforms(1)));
}

TEST_CASE("A trial counts with its last config and its last end", "[tpe][unit]") {
  TpeModel one(History(space_of(plain), 1), {}), two = one;
  const auto run = read_run("multivariate", false);
  for (std::uint32_t id = 0; id < 20; ++id) {
    two.add(TrialId(id), run[(id + 7) % 20].config.dump());
    if (id % 3 == 0) two.end(TrialId(id), {2, {7.0}}, Ended::complete);
    if (id % 3 == 1) two.end(TrialId(id), {2, {7.0}}, Ended::stopped);
  }
  for (std::uint32_t id = 0; id < 20; ++id) {
    tell(one, TrialId(id), run[id]);
    tell(two, TrialId(id), run[id]);
  }
  CHECK(one.history().save() == two.history().save());
  CHECK(one.suggest(numpy_uniforms(1)) == two.suggest(numpy_uniforms(1)));
}

TEST_CASE("A model that was saved and loaded suggests the same", "[tpe][unit]") {
  TpeModel one(History(space_of(conditional), 1), {}), two = one;
  std::uint32_t id = 0;
  for (const PeerTrial& trial : read_run("conditional", true)) tell(one, TrialId(id++), trial);
  two.load(Json::parse(one.history().save().dump()));
  CHECK(two.history().save() == one.history().save());
  CHECK(one.suggest(numpy_uniforms(1)) == two.suggest(numpy_uniforms(1)));
}

TEST_CASE("Running trials push suggestions away, unless that is turned off", "[tpe][unit]") {
  const auto near_running = [&](bool constant_liar) {
    TpeRules rules;
    rules.constant_liar = constant_liar;
    TpeModel model(History(space_of(interval), 1), rules);
    std::uint32_t id = 0;
    for (double x = 0.025; x < 1; x += 0.05) {
      model.add(TrialId(id), Json{{"x", x}}.dump());
      model.end(TrialId(id++), {1, {-std::abs(x - 0.5)}}, Ended::complete);
    }
    for (int i = 0; i < 10; ++i) model.add(TrialId(id++), R"({"x": 0.5})");
    const auto uniforms = numpy_uniforms(4);
    int near = 0;
    for (int i = 0; i < 300; ++i) {
      if (std::abs(model.suggest(uniforms)["x"].get<double>() - 0.5) < 0.03) ++near;
    }
    return near;
  };
  CHECK(near_running(false) > 3 * near_running(true));
}

TEST_CASE("Of several objectives, suggestions go to where no trial dominates", "[tpe][unit]") {
  const Json square = R"({"x": {"uniform": [0, 1]}, "y": {"uniform": [0, 1]}})"_json;
  TpeModel model(History(space_of(square), 2), {});
  Random random(1);
  double distance = 0;
  const int startup = 20, n = 100;
  for (int i = 0; i < n; ++i) {
    const auto id = TrialId(static_cast<std::uint32_t>(i));
    const Json config = i < startup ? model.history().space().sample(0, random)
                                    : model.suggest([&] { return random.uniform(); });
    const double x = config["x"].get<double>(), y = config["y"].get<double>();
    const double off = (y - 0.25) * (y - 0.25);
    model.add(id, config.dump());
    model.end(id, {1, {-x * x - off, -(x - 1) * (x - 1) - off}}, Ended::complete);
    if (i >= n / 2) distance += std::abs(y - 0.25);
  }
  // 0.3125 if it were random.
  CHECK(distance / (n / 2) < 0.15);
}

namespace {

struct LineTrial {
  double x;
  Observation last;
  Ended how = Ended::complete;
};

/// Whether these trials are split alike: each model suggests the same by the same numbers.
bool are_alike(const std::vector<LineTrial>& some, const std::vector<LineTrial>& others,
               std::size_t objectives = 1) {
  std::vector<Json> suggested;
  for (const auto* const trials : {&some, &others}) {
    TpeRules rules;
    rules.gamma = 0.4;
    TpeModel model(History(space_of(interval), objectives), rules);
    std::uint32_t id = 0;
    for (const LineTrial& trial : *trials) {
      model.add(TrialId(id), Json{{"x", trial.x}}.dump());
      model.end(TrialId(id++), trial.last, trial.how);
    }
    const auto uniforms = numpy_uniforms(3);
    Json& all = suggested.emplace_back();
    for (int i = 0; i < 20; ++i) all.push_back(model.suggest(uniforms));
  }
  return suggested[0] == suggested[1];
}

}  // namespace

TEST_CASE("Trials that violate constraints are good last, those with the least violation first",
          "[tpe][unit]") {
  // 0.4 of five are two good ones.
  const std::vector<LineTrial> trials = {{0.1, {1, {9}, {2, -1}}},
                                         {0.3, {1, {8}, {0.5, 0.5}}},
                                         {0.5, {1, {1}, {-1, 0}}},
                                         {0.7, {1, {7}, {NAN, -9}}},
                                         {0.9, {1, {6}, {1.5, -9}}}};
  const auto with_scores = [&](const std::vector<double>& scores, Ended how_of_last = {}) {
    std::vector<LineTrial> others = trials;
    for (std::size_t i = 0; i < others.size(); ++i) others[i].last = {1, {scores[i]}};
    others.back().how = how_of_last;
    return others;
  };
  CHECK(are_alike(trials, with_scores({0, 4, 5, 0, 0})));
  CHECK_FALSE(are_alike(trials, with_scores({5, 4, 0, 0, 0})));
  // A stopped one that violates nothing comes before them.
  auto stopped = trials;
  stopped.back() = {0.9, {1, {0}, {-1, -1}}, Ended::stopped};
  CHECK(are_alike(stopped, with_scores({0, 0, 5, 0, 4})));
  // And one that violates them behind complete ones that do so less.
  stopped.back() = {0.9, {7, {10}, {3, 0}}, Ended::stopped};
  CHECK(are_alike(stopped, with_scores({0, 4, 5, 0, 0})));
}

TEST_CASE("Of several objectives too, the good ones are first those that violate nothing",
          "[tpe][unit]") {
  const std::vector<LineTrial> trials = {{0.1, {1, {9, 9}, {2}}},
                                         {0.3, {1, {8, 8}, {1}}},
                                         {0.5, {1, {1, 1}, {-1}}},
                                         {0.7, {1, {0, 0}, {0}}},
                                         {0.9, {1, {6, 6}, {3}}}};
  auto others = trials;
  for (LineTrial& trial : others) {
    if (trial.last.constraints[0] > 0) trial.last.scores = {-1, -1};
    trial.last.constraints.clear();
  }
  CHECK(are_alike(trials, others, 2));
  for (LineTrial& trial : others) trial.last.scores = {-trial.last.scores[0], 0};
  CHECK_FALSE(are_alike(trials, others, 2));
}

TEST_CASE("Of the front that has too many for the good ones some are taken", "[tpe][unit]") {
  // 0.4 of seven are three: two that nobody dominates, and one of the two that only they do.
  const auto with_scores = [](const std::vector<std::vector<double>>& scores) {
    std::vector<LineTrial> trials;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      trials.push_back({0.05 + 0.14 * static_cast<double>(i), {1, scores[i]}});
    }
    return trials;
  };
  const auto trials =
      with_scores({{0, 0}, {10, 5}, {4.9, 4.9}, {0.1, 0}, {5, 10}, {9, 1}, {0.2, 0}});
  const auto first = with_scores({{0, 0}, {10, 5}, {7, 7}, {0.1, 0}, {5, 10}, {0.3, 0}, {0.2, 0}});
  const auto second = with_scores({{0, 0}, {10, 5}, {0.3, 0}, {0.1, 0}, {5, 10}, {7, 7}, {0.2, 0}});
  CHECK(are_alike(trials, first, 2) != are_alike(trials, second, 2));
}

TEST_CASE("Values of constraints are saved with a model, and states from before have none",
          "[tpe][unit]") {
  TpeModel one(History(space_of(interval), 1), {}), two = one;
  for (std::uint32_t id = 0; id < 6; ++id) {
    one.add(TrialId(id), Json{{"x", 0.1 * id}}.dump());
    if (id != 2) one.end(TrialId(id), {1, {1.0 * id}, {3.0 - id, NAN}}, Ended::complete);
  }
  const Json state = Json::parse(one.history().save().dump());
  two.load(state);
  CHECK(two.history().save() == one.history().save());
  CHECK(two.history().rows()[1].constraints[0] == 2);
  CHECK(two.history().rows()[2].constraints.empty());
  CHECK(one.suggest(numpy_uniforms(1)) == two.suggest(numpy_uniforms(1)));
  Json before = state;
  before.erase("constraints");
  two.load(before);
  CHECK(two.history().rows()[1].constraints.empty());
}

namespace {

double branin(double x, double y) {
  const double pi = std::acos(-1.0);
  const double bend = y - 5.1 / (4 * pi * pi) * x * x + 5 / pi * x - 6;
  return bend * bend + 10 * (1 - 1 / (8 * pi)) * std::cos(x) + 10;
}

/// The least value in 60 trials, one after the other.
double best_of_branin(const std::string& searcher, std::uint64_t seed) {
  const Json space = R"({"x": {"uniform": [-5, 10]}, "y": {"uniform": [0, 15]}})"_json;
  const auto search = make_searcher(searcher, space, 60, nullptr, seed);
  double best = std::numeric_limits<double>::infinity();
  for (std::uint32_t id = 0; id < 60; ++id) {
    const Json config = next_config(*search, id);
    const double value = branin(config["x"].get<double>(), config["y"].get<double>());
    search->on_trial_add(TrialId(id), config.dump());
    search->on_trial_end(TrialId(id), {1, {-value}}, Ended::complete);
    best = std::min(best, value);
  }
  return best;
}

}  // namespace

TEST_CASE(
    "It comes closer to Branin's minimum than random search, on most seeds and by far on "
    "average",
    "[tpe][unit][statistics]") {
  double ours = 0, random = 0;
  int wins = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const double tpe = best_of_branin("tpe", seed), other = best_of_branin("random", seed);
    if (tpe < other) ++wins;
    ours += (tpe - 0.397887) / 20;
    random += (other - 0.397887) / 20;
  }
  INFO(ours << " " << random << " " << wins);
  CHECK(wins >= 14);
  CHECK(ours < random / 2);
}

TEST_CASE("Options that make no sense are refused with their place", "[tpe][unit]") {
  const auto complaint = [](const Json& options) {
    try {
      make_searcher("tpe", plain, 10, options);
    } catch (const OptionError& error) {
      return error.pointer + ": " + error.what();
    }
    return std::string("none");
  };
  CHECK(complaint(nullptr) == "none");
  CHECK(complaint({{"gamma", 1}}) == "/gamma: 'gamma' must be above 0 and below 1, got 1");
  CHECK(complaint({{"n_ei_candidates", 0}}) ==
        "/n_ei_candidates: 'n_ei_candidates' must be from 1 to 10000, got 0");
  CHECK(complaint({{"prior_weight", 0}}) == "/prior_weight: 'prior_weight' must be above 0, got 0");
  CHECK(complaint({{"group", true}, {"multivariate", false}}) ==
        "/group: 'group' needs 'multivariate': a group is modelled together");
}

TEST_CASE(
    "Trials are compared after equal training, so that the first one is no good one by itself",
    "[tpe][unit]") {
  // The first three have trained on, as nobody was there to compare them with; they are bad ones.
  const Json space = {{"x", {{"uniform", {0, 1}}}}};
  const auto mean_of_next = [&](bool equal_training) {
    TpeRules rules;
    rules.equal_training = equal_training;
    TpeModel model(History(space_of(space), 1), rules);
    for (std::uint32_t id = 0; id < 40; ++id) {
      const double x = id < 3 ? 0.9 + 0.03 * id : (id + 0.5) / 50;
      model.add(TrialId(id), Json{{"x", x}}.dump());
      const std::int64_t trained = id < 3 ? 50 : 1;
      for (std::int64_t i = 1; i < trained; ++i) model.note(TrialId(id), {i, {-x}});
      model.end(TrialId(id), {trained, {-x}}, Ended::stopped);
    }
    // It is the same after a restart.
    TpeModel again(History(space_of(space), 1), rules);
    again.load(Json::parse(model.history().save().dump()), Json::parse(model.save_curves().dump()));
    Random random(5), other(5);
    double sum = 0;
    for (int i = 0; i < 20; ++i) {
      const Json config = model.suggest([&] { return random.uniform(); });
      CHECK(again.suggest([&] { return other.uniform(); }) == config);
      sum += config["x"].get<double>() / 20;
    }
    return sum;
  };
  CHECK(mean_of_next(true) < 0.4);
  CHECK(mean_of_next(false) > 0.6);
}

}  // namespace tune
