#include <cmath>

#include "tests/policies/scheduler_helpers.h"
#include "tests/policies/scheduler_world.h"
#include "tests/support/catch.h"

using namespace tune;

namespace {

Json options(const Json& more = Json::object()) {
  Json all = {{"time_attr", "training_iteration"},
              {"perturbation_interval", 1},
              {"hyperparam_bounds", {{"x", {0, 1}}}}};
  all.update(more);
  return all;
}

/// Trials whose loss, at first 0, shrinks at each iteration by as much as `rate` of their x says.
class Population {
 public:
  using Rate = double (*)(double x, std::int64_t iteration, double loss);

  Population(std::vector<double> xs, Rate rate, const Json& more = Json::object())
      : xs_(std::move(xs)), losses_(xs_.size(), 0), rate_(rate) {
    Json all = options(more);
    all["synch"] = true;
    scheduler_ = make_scheduler("pb2", all);
    for (std::uint32_t i = 0; i < xs_.size(); ++i) scheduler_->on_trial_add(trial(i));
  }

  /// All train once; the x that were chosen for copies.
  std::vector<double> train() {
    ++iteration_;
    for (std::uint32_t i = 0; i < xs_.size(); ++i) {
      scheduler_->on_trial_start(trial(i));
      losses_[i] -= rate_(xs_[i], iteration_, losses_[i]);
      (void)scheduler_->on_result(trial(i), result_at(iteration_, losses_[i]));
      scheduler_->on_trial_wait(trial(i));
    }
    std::vector<double> chosen;
    while (const auto order = scheduler_->order()) {
      const std::size_t i = index_of(order->trial);
      xs_[i] = Json::parse(order->exploit->config)["x"];
      losses_[i] = losses_[index_of(order->exploit->donor)];
      scheduler_->on_order(trial(static_cast<std::uint32_t>(i)));
      chosen.push_back(xs_[i]);
    }
    return chosen;
  }

  void set_losses(std::vector<double> losses) { losses_ = std::move(losses); }
  Scheduler& scheduler() { return *scheduler_; }

 private:
  Trial trial(std::uint32_t i) const {
    Trial trial = trial_number(i);
    trial.config = Json{{"x", xs_[i]}, {"fixed", i}}.dump();
    return trial;
  }

  std::vector<double> xs_, losses_;
  std::unique_ptr<Scheduler> scheduler_;
  const Rate rate_;
  std::int64_t iteration_ = 0;
};

}  // namespace

TEST_CASE("pb2 learns from all trials where progress is fastest, and sends copies there",
          "[pb2][statistics]") {
  // All begin far from the best x.
  Population population(
      {10.5, 11, 11.5, 12, 18.5, 19, 19.5, 19.9},
      [](double x, std::int64_t, double) { return 1 - 0.04 * (x - 15) * (x - 15); },
      {{"hyperparam_bounds", {{"x", {10, 20}}}}});
  for (int i = 0; i < 25; ++i) population.train();
  double sum = 0;
  int count = 0;
  for (int i = 0; i < 10; ++i) {
    for (const double x : population.train()) {
      sum += std::abs(x - 15);
      ++count;
    }
  }
  REQUIRE(count >= 10);
  CHECK(sum / count < 1.2);
}

TEST_CASE("pb2 follows a best value that moves with time", "[pb2][statistics]") {
  Population population({0.1, 0.2, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9},
                        [](double x, std::int64_t t, double) {
                          const double best = t <= 20 ? 0.8 : 0.2;
                          return 1 - (x - best) * (x - best);
                        });
  const auto mean_of = [&](int rounds) {
    double sum = 0;
    int count = 0;
    for (int i = 0; i < rounds; ++i) {
      for (const double x : population.train()) sum += x, ++count;
    }
    return sum / count;
  };
  (void)mean_of(10);
  CHECK(mean_of(10) > 0.6);
  (void)mean_of(15);
  CHECK(mean_of(15) < 0.4);
}

TEST_CASE("pb2 goes by what has helped trials that stood where the copy will", "[pb2]") {
  std::vector<double> xs, losses;
  for (int i = 0; i < 16; ++i) {
    xs.push_back(0.05 + 0.06 * i);
    losses.push_back(i % 4 == 0 ? 0 : 100);
  }
  // Most are far behind and need a large x. Copies are made of those that need a small one.
  Population population(xs,
                        [](double x, std::int64_t, double loss) {
                          const double best = loss > 50 ? 0.9 : 0.1;
                          return 1 - (x - best) * (x - best);
                        },
                        {{"quantile_fraction", 0.05}});
  population.set_losses(losses);
  double sum = 0;
  int count = 0;
  for (int i = 0; i < 8; ++i) {
    for (const double x : population.train()) {
      if (i == 0) continue;  // it knows nothing yet
      sum += x;
      ++count;
    }
  }
  REQUIRE(count > 3);
  CHECK(sum / count < 0.25);
}

TEST_CASE("Copies that pb2 makes at one time are not all sent to the same place", "[pb2]") {
  Population population({0.1, 0.3, 0.5, 0.6, 0.7, 0.9, 0.2, 0.8},
                        [](double x, std::int64_t, double) { return 1 + 0.01 * x; },
                        {{"quantile_fraction", 0.5}});
  double spread = 0;
  int rounds = 0;
  for (int i = 0; i < 12; ++i) {
    const auto chosen = population.train();
    if (i < 3 || chosen.size() < 3) continue;
    const auto [least, most] = std::minmax_element(chosen.begin(), chosen.end());
    spread += *most - *least;
    ++rounds;
  }
  REQUIRE(rounds > 2);
  CHECK(spread / rounds > 0.1);
}

TEST_CASE("pb2 keeps to its bounds, whole numbers stay whole, and log bounds are used evenly",
          "[pb2][statistics]") {
  const SearchSpace space = space_of({{"lr", {{"loguniform", {1e-5, 1e-1}}}},
                                      {"model", {{"units", {{"randint", {8, 64}}}}}},
                                      {"kind", {{"choice", {"a", "b"}}}}});
  const Json json = {
      {"time_attr", "training_iteration"},
      {"perturbation_interval", 1},
      {"hyperparam_bounds",
       {{"lr", {{"loguniform", {1e-5, 1e-1}}}}, {"model", {{"units", {{"randint", {8, 16}}}}}}}}};
  const auto scheduler =
      all_policies().schedulers.at("pb2")(json, {space, {{"loss", Mode::min}}, 6, 1});
  std::vector<Trial> trials;
  for (std::uint32_t i = 0; i < 6; ++i) {
    trials.push_back(trial_number(i));
    trials.back().config = R"({"lr":0.001,"model":{"units":12},"kind":"b"})";
    scheduler->on_trial_add(trials.back());
    scheduler->on_trial_start(trials.back());
  }
  Random random(1);
  int clones = 0, small = 0, wide = 0;
  for (std::int64_t t = 1; t < 40; ++t) {
    for (Trial& trial : trials) {
      const auto decision = scheduler->on_result(trial, result_at(t, random.uniform()));
      if (decision.action != Action::exploit) continue;
      trial.config = decision.exploit->config;
      scheduler->on_trial_start(trial);
      const Json config = Json::parse(decision.exploit->config);
      ++clones;
      small += config["lr"] < 1e-3 ? 1 : 0;
      wide += config["model"]["units"] >= 12 ? 1 : 0;
      CHECK(config["lr"] >= 1e-5);
      CHECK(config["lr"] <= 1e-1);
      REQUIRE(config["model"]["units"].is_number_integer());
      CHECK(config["model"]["units"] >= 8);
      CHECK(config["model"]["units"] <= 15);
      CHECK(config["kind"] == "b");
    }
  }
  CHECK(clones > 20);
  CHECK(small > clones / 5);
  CHECK(wide > clones / 5);
}

TEST_CASE("pb2 learns nothing from NaN, and a trial without a past gets values at random",
          "[pb2]") {
  Population population({0.1, 0.9}, [](double x, std::int64_t, double) {
    return x > 0.5 ? std::numeric_limits<double>::quiet_NaN() : 1.0;
  });
  CHECK(population.train().size() == 1);
  CHECK(population.scheduler().save()["explorer"]["stretches"].empty());
  population.train();
  const Json state = population.scheduler().save();
  for (const Json& stretch : state["explorer"]["stretches"]) {
    CHECK(stretch.at(3) == 1);
  }
}

TEST_CASE("pb2 keeps a bounded memory of the past", "[pb2]") {
  Population population(std::vector<double>(8, 0.5),
                        [](double x, std::int64_t, double) { return x; });
  for (int i = 0; i < 60; ++i) population.train();
  const Json explorer = population.scheduler().save()["explorer"];
  CHECK(explorer["stretches"].size() == 100);
  CHECK(explorer["round"].size() == 2);  // a quarter of them, once
}

TEST_CASE("Options of pb2 that make no sense are refused, with their place", "[pb2]") {
  CHECK(refusal_of("pb2", options()) == "");
  CHECK(refusal_of("pb2", {{"perturbation_interval", 1}}).find("hyperparam_bounds") !=
        std::string::npos);
  for (const Json& bad : {Json{1, 0}, Json{0, 1, 2}, Json{"a", "b"}, Json{{"choice", {1, 2}}},
                          Json{{"randn", {0, 1}}}}) {
    CHECK(refusal_of("pb2", options({{"hyperparam_bounds", {{"x", bad}}}})) ==
          "/hyperparam_bounds/x: expected [lower, upper], or a domain of numbers with bounds");
  }
  CHECK(refusal_of("pb2", options({{"hyperparam_bounds", {{"y", {0, 1}}}}}))
            .starts_with("/hyperparam_bounds/y"));
  CHECK(refusal_of("pb2", options({{"resample_probability", 0.5}}))
            .starts_with("/resample_probability: unknown option"));
}
