#include "searchers/priors.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "searchers/gp_dimensions.h"
#include "searchers/parzen.h"
#include "tests/policies/policies.h"
#include "tests/support/catch.h"

using namespace tune;

namespace {

const Json believed_space = R"({
  "lr": {"loguniform": [1e-5, 1], "prior": {"value": 1e-3, "confidence": "high"}},
  "units": {"qrandint": [8, 64, 8], "prior": 32},
  "kind": {"choice": ["a", "b", {"p": {"uniform": [0, 1], "prior": 0.25}}],
           "prior": {"value": {"p": {"uniform": [0, 1], "prior": 0.25}}}},
  "free": {"uniform": [0, 1]}, "skew": {"randn": [0, 2], "prior": 1}})"_json;

const Json line =
    R"({"x": {"uniform": [0, 1], "prior": {"value": 0.9, "confidence": "high"}}})"_json;

Json without_priors(Json space) {
  for (auto& [name, domain] : space.items()) domain.erase("prior");
  return space;
}

std::vector<std::string> searcher_names() {
  std::vector<std::string> names;
  for (const auto& [name, factory] : all_policies().searchers) {
    if (name != "grid") names.push_back(name);
  }
  return names;
}

Json quick_options_of(const std::string& name) {
  if (name == "gp") return {{"n_candidates", 16}, {"n_local_searches", 1}};
  if (name == "stages") return {{"switch_after", 12}};
  return nullptr;
}

/// Trials one after the other, and their configs; `loss_of` says what comes of them.
template <class Loss>
std::vector<Json> run(Searcher& searcher, std::uint32_t first, std::uint32_t n, Loss loss_of) {
  std::vector<Json> configs;
  for (std::uint32_t id = first; id < first + n; ++id) {
    Json config = next_config(searcher, id);
    if (config.is_null()) break;
    searcher.on_trial_add(TrialId(id), config.dump());
    searcher.on_trial_end(TrialId(id), {1, {-loss_of(config)}}, Ended::complete);
    configs.push_back(std::move(config));
  }
  return configs;
}

double x_of(const Json& config) { return config["x"].get<double>(); }

std::ptrdiff_t count_near(const std::vector<Json>& configs, double x, double by) {
  return std::count_if(configs.begin(), configs.end(),
                       [&](const Json& one) { return std::abs(x_of(one) - x) < by; });
}

}  // namespace

TEST_CASE("Every searcher tries the priors' values first, behind points that are given",
          "[searcher][contract][prior]") {
  for (const std::string& name : searcher_names()) {
    INFO(name);
    Json options = quick_options_of(name);
    const auto first = make_searcher(name, believed_space, 20, options);
    const Json config = next_config(*first);
    CHECK(config["lr"] == 1e-3);
    CHECK(config["units"] == 32);
    CHECK(config["kind"]["p"] == 0.25);
    CHECK(config["skew"] == 1);
    options["points_to_evaluate"] = Json::array({{{"lr", 0.5}}, {{"lr", 1e-3}, {"units", 64}}});
    const auto second = make_searcher(name, believed_space, 20, options);
    CHECK(next_config(*second, 0)["lr"] == 0.5);
    CHECK(next_config(*second, 1)["units"] == 64);
    const Json third = next_config(*second, 2);
    CHECK(third["lr"] == 1e-3);
    CHECK(third["units"] == 32);
  }
}

TEST_CASE("A priors' config that breaks a constraint is not tried", "[searcher][contract][prior]") {
  for (const std::string& name : searcher_names()) {
    INFO(name);
    const auto searcher = make_searcher(name, believed_space, 20, quick_options_of(name), 1,
                                        {{"loss", Mode::min}}, {"units <= 16"});
    for (std::uint32_t id = 0; id < 5; ++id) CHECK(next_config(*searcher, id)["units"] <= 16);
  }
}

TEST_CASE("With priors every searcher has the same future after saving and loading",
          "[searcher][contract][prior]") {
  const auto loss = [](const Json& config) { return config["free"].get<double>(); };
  for (const std::string& name : searcher_names()) {
    INFO(name);
    const auto one = make_searcher(name, believed_space, 24, quick_options_of(name));
    run(*one, 0, 13, loss);
    const auto two = make_searcher(name, believed_space, 24, quick_options_of(name), 99);
    two->load(Json::parse(one->save().dump()));
    const auto future = run(*one, 13, 100, loss);
    CHECK(future.size() == 11);
    CHECK(future == run(*two, 13, 100, loss));
    CHECK(two->save() == one->save());
  }
}

TEST_CASE("What is drawn before anything is known is from the priors by half",
          "[searcher][prior][statistics]") {
  const Json space = without_priors(line);
  for (const char* const name :
       {"random", "sobol", "latin_hypercube", "tpe", "bohb", "nsga2", "gp", "freeze_thaw"}) {
    INFO(name);
    const bool is_gp = std::string(name) == "gp";
    const Json options = is_gp ? Json{{"n_startup_trials", 1000}} : Json();
    const auto with = all_configs(*make_searcher(name, line, 400, options));
    const auto without = all_configs(*make_searcher(name, space, 400, options));
    REQUIRE(with.size() == 400);
    // A fifth of the space, and 64 % of the prior.
    CHECK(std::abs(static_cast<double>(count_near(with, 0.9, 0.1)) - 400 * (0.1 + 0.36)) < 45);
    CHECK(std::abs(static_cast<double>(count_near(without, 0.9, 0.1)) - 80) < 40);
    // Nothing is ruled out.
    CHECK(count_near(with, 0.1, 0.1) > 15);
  }
}

TEST_CASE("A choice's prior is drawn so many times as often as each other value", "[prior][unit]") {
  const SearchSpace space = space_of(
      {{"c", {{"choice", {1, 2, 3, 4}}, {"prior", {{"value", 3}, {"confidence", "high"}}}}}});
  const Priors priors(space);
  std::vector<int> counts(4);
  Random random(7);
  constexpr int drawn = 11'000;
  for (int i = 0; i < drawn; ++i) {
    ++counts[priors.draw(0, DrawnFrom::priors, random).get<std::size_t>()];
  }
  CHECK(std::abs(counts[2] - 8000) < 200);
  for (const std::size_t other : {0, 1, 3}) CHECK(std::abs(counts[other] - 1000) < 150);
}

TEST_CASE("A prior's density is one of its draws, and its slope is that of the density",
          "[prior][unit]") {
  const SearchSpace space = space_of(believed_space);
  const Priors priors(space);
  const auto axes = axes_of(space);
  for (std::size_t leaf = 0; leaf < axes.size(); ++leaf) {
    INFO(space.leaves()[leaf].pointer);
    if (!priors.has(leaf) || axes[leaf].is_choice() || !axes[leaf].bounded) continue;
    const double range = axes[leaf].high - axes[leaf].low;
    constexpr int steps = 1000;
    double mass = 0, below = 0;
    for (int i = 0; i < steps; ++i) {
      const double x = axes[leaf].low + range * (i + 0.5) / steps;
      const double density = std::exp(priors.log_ratio(leaf, x)) / steps;
      mass += density;
      if (x < priors.quantile(leaf, 0.3)) below += density;
      for (const bool believed : {false, true}) {
        const auto at = [&](double where, double* slope) {
          return believed ? priors.log_believed(leaf, where, slope)
                          : priors.log_ratio(leaf, where, slope);
        };
        double slope = 0;
        at(x, &slope);
        const double h = range * 1e-6;
        CHECK(slope * range ==
              Approx((at(x + h, nullptr) - at(x - h, nullptr)) / 2e-6).margin(1e-4));
      }
      CHECK(priors.log_believed(leaf, x) > std::log(0.5));
    }
    CHECK(mass == Approx(1).epsilon(1e-3));
    CHECK(below == Approx(0.3).margin(5e-3));
  }
}

TEST_CASE("gp goes to the priors while nothing is known, and leaves them where others are better",
          "[gp][prior]") {
  // How far from the prior it goes in the mean, after so many trials with a slope and noise.
  const auto far = [](const Json& space, std::uint32_t known, double slope) {
    const auto searcher = make_searcher("gp", space, -1, {{"skip_duplicates", false}});
    const auto spread = make_searcher("sobol", without_priors(line), -1);
    Random random(5);
    for (std::uint32_t id = 0; id < known; ++id) {
      const Json config = next_config(*spread, id);
      searcher->on_trial_add(TrialId(id), config.dump());
      const double score = random.normal(0, 0.1) - slope * x_of(config);
      searcher->on_trial_end(TrialId(id), {1, {score}}, Ended::complete);
    }
    (void)next_config(*searcher, known);  // the priors' own values
    double sum = 0;
    for (std::uint32_t i = 1; i <= 8; ++i) {
      sum += std::abs(x_of(next_config(*searcher, known + i)) - 0.9);
    }
    return sum / 8;
  };
  CHECK(far(line, 10, 0) < 0.15);
  CHECK(far(line, 10, 0) < far(without_priors(line), 10, 0));
  CHECK(far(line, 100, 1) > 0.7);
}

TEST_CASE("gp adds what priors say of what a config has, with its gradient", "[gp][prior][unit]") {
  const SearchSpace space = space_of(believed_space);
  const auto axes = axes_of(space);
  const GpDimensions dimensions(space, axes);
  const Priors priors(space);
  const auto all =
      coordinates_of(space, axes, priors.sample(DrawnFrom::values, *std::make_unique<Random>(1)));
  auto point = dimensions.point_of(all);
  GpDimensions::Point gradient(dimensions.size(), 0);
  const double there = dimensions.log_believed(priors, point, 2, &gradient);
  double expected = 0;
  for (std::size_t leaf = 0; leaf < axes.size(); ++leaf) {
    expected += 2 * priors.log_believed(leaf, all[leaf]);
  }
  CHECK(there == Approx(expected));
  for (std::size_t j = 0; j < dimensions.size(); ++j) {
    if (dimensions.categorical()[j]) continue;
    auto up = point, down = point;
    up[j] += 1e-6;
    down[j] -= 1e-6;
    const double slope = (dimensions.log_believed(priors, up, 2, nullptr) -
                          dimensions.log_believed(priors, down, 2, nullptr)) /
                         2e-6;
    CHECK(gradient[j] == Approx(slope).margin(1e-4));
  }
  // The first value of the choice has no p: nothing is believed of it.
  auto other = all;
  for (std::size_t leaf = 0; leaf < axes.size(); ++leaf) {
    if (space.leaves()[leaf].pointer == "/kind") other[leaf] = 0;
  }
  auto lacking = dimensions.point_of(other), elsewhere = lacking;
  for (std::size_t j = 0; j < dimensions.size(); ++j) {
    if (lacking[j] != point[j] || dimensions.categorical()[j]) continue;
    if (point[j] == Approx(0.25)) elsewhere[j] = 0.9;
  }
  CHECK(elsewhere != lacking);
  CHECK(dimensions.log_believed(priors, lacking, 2, nullptr) ==
        Approx(dimensions.log_believed(priors, elsewhere, 2, nullptr)));
}

TEST_CASE("What is believed is a kernel of a Parzen model, which stays a density",
          "[tpe][prior][unit]") {
  const SearchSpace space = space_of(line);
  const auto axes = axes_of(space);
  ParzenColumn column{&axes[0], {0.1, 0.2}, {0, 1}};
  const Parzen without({column}, {1, 1}, {});
  column.belief = ParzenColumn::Belief{0.9, 0.05};
  const Parzen with({column}, {1, 1}, {});
  std::vector<double> points(1000);
  for (std::size_t i = 0; i < points.size(); ++i) points[i] = (static_cast<double>(i) + 0.5) / 1000;
  const auto mass = [&](const Parzen& model, double from) {
    const auto logs = model.log_density(points);
    double sum = 0;
    for (std::size_t i = 0; i < logs.size(); ++i)
      sum += points[i] >= from ? std::exp(logs[i]) / 1000 : 0;
    return sum;
  };
  CHECK(mass(with, 0) == Approx(1).epsilon(1e-3));
  CHECK(mass(with, 0.8) > mass(without, 0.8) + 0.15);
  Random random(3);
  const auto drawn = with.sample(4000, [&] { return random.uniform(); });
  const auto near = std::count_if(drawn.begin(), drawn.end(), [](double x) { return x >= 0.8; });
  CHECK(std::abs(static_cast<double>(near) / 4000 - mass(with, 0.8)) < 0.03);
}

TEST_CASE(
    "tpe's model of good trials has the priors, and leaves them if none of these is from there",
    "[tpe][prior]") {
  const auto near_prior = [](const Json& space, std::uint32_t known, double best_at) {
    // Of one candidate each, so that what the model draws is what is suggested.
    const auto searcher = make_searcher("tpe", space, -1, {{"n_ei_candidates", 1}});
    const auto spread = make_searcher("sobol", without_priors(line), -1);
    for (std::uint32_t id = 0; id < known; ++id) {
      const Json config = next_config(*spread, id);
      searcher->on_trial_add(TrialId(id), config.dump());
      const double score = -std::abs(x_of(config) - best_at);
      searcher->on_trial_end(TrialId(id), {1, {score}}, Ended::complete);
    }
    std::vector<Json> configs;
    for (std::uint32_t i = 0; i < 200; ++i) configs.push_back(next_config(*searcher, known + i));
    return count_near(configs, 0.9, 0.1);
  };
  CHECK(near_prior(line, 10, 0.85) > near_prior(without_priors(line), 10, 0.85) + 15);
  // A fifth of the wide kernel is there anyway, which is 8 of these.
  CHECK(near_prior(line, 40, 0.1) < 20);
}

TEST_CASE("A share of priors falls where the best are elsewhere", "[prior][unit]") {
  const SearchSpace space = space_of(line);
  const Priors priors(space);
  CHECK(prior_share(space, priors, {}) == 1);
  CHECK(prior_share(space, priors, {{0.9}, {0.85}}) > 0.5);
  CHECK(prior_share(space, priors, {{0.1}, {0.2}}) < 0.01);
}

TEST_CASE("Where priors have led nowhere, bohb's random draws leave them", "[bohb][prior]") {
  const auto near_prior = [](double best_at) {
    const auto searcher = make_searcher("bohb", line, -1, {{"random_fraction", 1}, {"max_t", 1}});
    const auto configs = run(*searcher, 0, 200,
                             [&](const Json& config) { return std::abs(x_of(config) - best_at); });
    return count_near({configs.begin() + 50, configs.end()}, 0.9, 0.1);
  };
  CHECK(near_prior(0.9) > 55);
  CHECK(near_prior(0.1) < 35);
}

TEST_CASE("cma_es begins where the priors are", "[cma_es][prior]") {
  const Json space = {{"x", line["x"]}, {"y", {{"uniform", {0, 1}}}}};
  const auto searcher = make_searcher("cma_es", space, -1);
  double x = 0, y = 0;
  constexpr std::uint32_t n = 200;
  for (std::uint32_t id = 0; id < n; ++id) {
    const Json config = next_config(*searcher, id);
    x += x_of(config) / n;
    y += config["y"].get<double>() / n;
  }
  CHECK(x > 0.8);
  CHECK(std::abs(y - 0.5) < 0.1);
}

TEST_CASE("A mutation takes no prior", "[pbt][prior]") {
  const SearchSpace space = space_of(line);
  PolicyContext context{space, {{"loss", Mode::min}}, 4, 1};
  const Json options = {{"hyperparam_mutations", {{"x", line["x"]}}}};
  CHECK_THROWS_WITH(all_policies().schedulers.at("pbt")(options, context),
                    Catch::Matchers::Contains("a mutation takes no prior"));
  const Json among_values = {{"hyperparam_mutations", {{"x", Json::array({0.1, line["x"]})}}}};
  CHECK_THROWS_WITH(all_policies().schedulers.at("pbt")(among_values, context),
                    Catch::Matchers::Contains("a domain stands alone"));
}
