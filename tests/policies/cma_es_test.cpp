#include <cmath>
#include <deque>
#include <functional>
#include <limits>

#include "tests/policies/policies.h"
#include "tests/support/catch.h"

using namespace tune;

namespace {

const Json plane = {{"x", {{"uniform", {-5, 5}}}}, {"y", {{"uniform", {-5, 5}}}}};

using Loss = std::function<double(const Json&)>;

double distance_of(const Json& config) {
  return std::hypot(config["x"].get<double>() - 1, config["y"].get<double>() + 2);
}

/// The least loss of `n` trials from number `first` on, of which `at_once` run at a time.
double minimise(Searcher& searcher, const Loss& loss, std::uint32_t first, std::uint32_t n,
                std::size_t at_once = 1) {
  double best = 1e300;
  std::deque<std::pair<std::uint32_t, double>> running;
  for (std::uint32_t id = first; id < first + n; ++id) {
    const Json config = next_config(searcher, id);
    searcher.on_trial_add(TrialId(id), config.dump());
    running.emplace_back(id, loss(config));
    best = std::min(best, running.back().second);
    if (running.size() < at_once) continue;
    const auto [ended, value] = running.front();
    running.pop_front();
    searcher.on_trial_end(TrialId(ended), {1, {-value}}, Ended::complete);
  }
  return best;
}

std::size_t population_of(const Searcher& searcher) {
  return searcher.save()["searcher"]["descent"]["distribution"]["population"].get<std::size_t>();
}

}  // namespace

TEST_CASE("cma_es finds a minimum, one by one and with many at once", "[cma_es]") {
  for (const std::size_t at_once : {1, 4, 16}) {
    INFO(at_once);
    const auto searcher = make_searcher("cma_es", plane, -1);
    CHECK(minimise(*searcher, distance_of, 0, 250, at_once) < 0.01);
  }
}

TEST_CASE("cma_es finds a learning rate in the logarithm of its range", "[cma_es]") {
  const Json space = {{"lr", {{"loguniform", {1e-6, 1}}}}, {"units", {{"lograndint", {4, 1025}}}}};
  const auto searcher = make_searcher("cma_es", space, -1);
  const auto loss = [](const Json& config) {
    return std::abs(std::log10(config["lr"].get<double>()) + 4.5) +
           std::abs(std::log2(config["units"].get<double>()) - 9);
  };
  CHECK(minimise(*searcher, loss, 0, 200) < 0.02);
}

TEST_CASE("The first configs of cma_es surround the middle, a sixth of each range away",
          "[cma_es]") {
  constexpr std::uint32_t n = 400;
  const auto searcher = make_searcher("cma_es", plane, -1);
  double sum = 0, squares = 0;
  for (std::uint32_t id = 0; id < n; ++id) {
    const double x = next_config(*searcher, id)["x"].get<double>();
    sum += x / n;
    squares += x * x / n;
  }
  CHECK(sum == Approx(0).margin(0.3));
  CHECK(std::sqrt(squares) == Approx(10.0 / 6).margin(0.3));
}

TEST_CASE("A generation of cma_es is as large as what runs at once, but not below the usual",
          "[cma_es]") {
  const auto population = [](const Json& options, std::optional<std::int64_t> at_once) {
    const SearchSpace space = space_of(plane);
    PolicyContext context{space, {{"loss", Mode::min}}, -1, 1};
    context.max_concurrent_trials = at_once;
    return population_of(*all_policies().searchers.at("cma_es")(options, context));
  };
  CHECK(population(nullptr, std::nullopt) == 6);
  CHECK(population(nullptr, 4) == 6);
  CHECK(population(nullptr, 24) == 24);
  CHECK(population({{"max_concurrent", 9}}, std::nullopt) == 9);
  CHECK(population({{"population", 11}}, 24) == 11);
}

TEST_CASE("cma_es starts again when it has converged, with twice the population", "[cma_es]") {
  for (const char* const strategy : {"ipop", "bipop"}) {
    INFO(strategy);
    const auto searcher = make_searcher("cma_es", plane, -1, {{"restart_strategy", strategy}});
    // One run after the other, until the first restart.
    std::uint32_t told = 0;
    double best = std::numeric_limits<double>::infinity();
    while (searcher->save()["searcher"]["run"] == 0 && told < 1500) {
      best = std::min(best, minimise(*searcher, distance_of, told, 1));
      ++told;
    }
    CHECK(told < 1500);
    CHECK(best < 1e-6);
    CHECK(population_of(*searcher) == 12);
  }
  const auto once = make_searcher("cma_es", plane, -1, {{"restart_strategy", "none"}});
  minimise(*once, distance_of, 0, 1500);
  CHECK(once->save()["searcher"]["run"] == 0);
}

TEST_CASE("With restarts cma_es leaves a local minimum", "[cma_es][statistics]") {
  // The wide valley ends at 1, the narrow one at 0.
  const auto loss = [](const Json& config) {
    const double x = config["x"].get<double>(), y = config["y"].get<double>();
    return std::min(1 + std::hypot(x + 2, y) / 4, 2 * std::hypot(x - 4, y - 3));
  };
  int found = 0, found_without = 0;
  for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6}) {
    for (const char* const strategy : {"ipop", "none"}) {
      const auto searcher =
          make_searcher("cma_es", plane, -1, {{"restart_strategy", strategy}}, seed);
      const bool is_found = minimise(*searcher, loss, 0, 4000) < 0.5;
      (std::string(strategy) == "ipop" ? found : found_without) += is_found ? 1 : 0;
    }
  }
  CHECK(found > found_without);
}

TEST_CASE("cma_es leaves choices, and what only some configs have, to another searcher",
          "[cma_es]") {
  const Json space = R"({"x": {"uniform": [-5, 5]}, "y": {"uniform": [-5, 5]},
    "kind": {"choice": ["good", "bad", {"power": {"uniform": [0, 2]}}]}, "one": {"choice": [3]}})"_json;
  const auto loss = [](const Json& config) {
    return distance_of(config) + (config["kind"] == "good" ? 0 : 1);
  };
  std::map<std::string, int> good;
  for (const char* const independent : {"random", "tpe"}) {
    const auto searcher = make_searcher("cma_es", space, -1, {{"independent", independent}});
    CHECK(searcher->may_take_long() == (std::string(independent) == "tpe"));
    minimise(*searcher, loss, 0, 150);
    for (std::uint32_t id = 150; id < 250; ++id) {
      const Json config = next_config(*searcher, id);
      CHECK(space_of(space).check_preset(config).empty());
      good[independent] += config["kind"] == "good" ? 1 : 0;
    }
  }
  CHECK(good["random"] < 55);
  CHECK(good["tpe"] > 60);
}

TEST_CASE("cma_es begins where the best of many known trials were", "[cma_es]") {
  const auto searcher = make_searcher("cma_es", plane, -1);
  Random random(5);
  for (std::uint32_t id = 0; id < 60; ++id) {
    const Json config = {{"x", random.uniform(-5, 5)}, {"y", random.uniform(-5, 5)}};
    searcher->on_trial_add(TrialId(id), config.dump());
    searcher->on_trial_end(TrialId(id), {1, {-distance_of(config)}}, Ended::complete);
  }
  double x = 0, y = 0;
  for (std::uint32_t id = 60; id < 160; ++id) {
    const Json config = next_config(*searcher, id);
    x += config["x"].get<double>() / 100;
    y += config["y"].get<double>() / 100;
  }
  CHECK(x == Approx(1).margin(1));
  CHECK(y == Approx(-2).margin(1));
}

TEST_CASE("cma_es begins with the shape of the best known trials", "[cma_es]") {
  const auto searcher = make_searcher("cma_es", plane, -1);
  // Of twenty the best two, at the shares (0.3, 0.4) and (0.7, 0.6) of the ranges.
  for (std::uint32_t id = 0; id < 20; ++id) {
    const Json config = id == 3   ? Json{{"x", -2}, {"y", -1}}
                        : id == 8 ? Json{{"x", 2}, {"y", 1}}
                                  : Json{{"x", 0.2 * id}, {"y", 4 - 0.3 * id}};
    searcher->on_trial_add(TrialId(id), config.dump());
    const double score = id == 3 || id == 8 ? 10 : -1.0 * id;
    searcher->on_trial_end(TrialId(id), {1, {score}}, Ended::complete);
  }
  (void)next_config(*searcher, 20);
  const Json distribution = searcher->save()["searcher"]["descent"]["distribution"];
  CHECK(distribution["mean"][0].get<double>() == Approx(0.5));
  CHECK(distribution["mean"][1].get<double>() == Approx(0.5));
  // Their covariance, in units of the start's variance of 0.01, and one more of each axis.
  const double expected[] = {1 + 0.04 / 0.01, 0.02 / 0.01, 0.02 / 0.01, 1 + 0.01 / 0.01};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(distribution["covariance"][i].get<double>() == Approx(expected[i]));
  }
}

TEST_CASE("cma_es learns from trials that it did not suggest", "[cma_es]") {
  const auto alone = make_searcher("cma_es", plane, -1);
  const auto helped = make_searcher("cma_es", plane, -1);
  for (Searcher* const searcher : {alone.get(), helped.get()}) (void)next_config(*searcher, 1000);
  for (std::uint32_t id = 0; id < 12; ++id) {
    const Json config = {{"x", 4.5}, {"y", 4.5 - 0.1 * id}};
    helped->on_trial_add(TrialId(id), config.dump());
    helped->on_trial_end(TrialId(id), {1, {1.0}}, Ended::complete);
  }
  double x = 0, x_alone = 0;
  for (std::uint32_t id = 20; id < 120; ++id) {
    x += next_config(*helped, id)["x"].get<double>() / 100;
    x_alone += next_config(*alone, id)["x"].get<double>() / 100;
  }
  CHECK(x > x_alone + 1);
}

TEST_CASE("What a scheduler gave another config counts where it was at the end", "[cma_es]") {
  const auto searcher = make_searcher("cma_es", plane, -1, {{"population", 4}});
  for (std::uint32_t id = 0; id < 8; ++id) {
    searcher->on_trial_add(TrialId(id), next_config(*searcher, id).dump());
    searcher->on_trial_add(TrialId(id), Json{{"x", 3}, {"y", 3}}.dump());
    searcher->on_trial_end(TrialId(id), {1, {1}}, Ended::complete);
  }
  const auto mean = searcher->save()["searcher"]["descent"]["distribution"]["mean"];
  CHECK(mean[0].get<double>() > 0.6);
  CHECK(mean[1].get<double>() > 0.6);
}

TEST_CASE("A space without a number that every config has is nothing for cma_es", "[cma_es]") {
  const Json space =
      R"({"a": {"choice": [1, 2]}, "b": {"randint": [3, 4]},
          "c": {"choice": [{"d": {"uniform": [0, 1]}}]}})"_json;
  CHECK_THROWS_WITH(make_searcher("cma_es", space, 1), Catch::Matchers::Contains("use 'tpe'"));
  CHECK_THROWS_AS(make_searcher("cma_es", plane, 1, {{"population", 3}}), OptionError);
  CHECK_THROWS_AS(make_searcher("cma_es", plane, 1, {{"sigma0", 0}}), OptionError);
  CHECK_THROWS_AS(make_searcher("cma_es", plane, 1, {{"restart_strategy", "often"}}), OptionError);
  CHECK_THROWS_AS(make_searcher("cma_es", plane, 1, {{"independent", "gp"}}), OptionError);
  const SearchSpace parsed = space_of(plane);
  CHECK_THROWS_AS(all_policies().searchers.at("cma_es")(nullptr, {parsed, {}, 1, 1}), OptionError);
}
