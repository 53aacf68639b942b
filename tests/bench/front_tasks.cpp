// Zitzler, Deb and Thiele's functions (2000), Deb, Thiele, Laumanns and Zitzler's (2005), a
// constrained one (Jain and Deb, 2014), and the error and the size of a network.
#include "tests/bench/front_tasks.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tune::bench {

namespace {

using std::numbers::pi;

Json box(int dimensions) {
  Json space = Json::object();
  for (int j = 0; j < dimensions; ++j) space["x" + std::to_string(j)] = {{"uniform", {0, 1}}};
  return space;
}

double negative_volume(std::vector<FrontOutcome> front, const Scores& reference) {
  std::vector<Scores> points;
  for (FrontOutcome& one : front) {
    const bool counts =
        std::all_of(one.constraints.begin(), one.constraints.end(),
                    [](double x) { return x <= 0; }) &&
        std::equal(one.losses.begin(), one.losses.end(), reference.begin(), std::less<>());
    if (!counts) continue;
    for (double& x : one.losses) x = -x;
    points.push_back(std::move(one.losses));
  }
  Scores lowest = reference;
  for (double& x : lowest) x = -x;
  return hypervolume(std::move(points), lowest);
}

/// Of zdt1, zdt2 and zdt3, `g` being 1 at the front.
double zdt(int number, double first, double g) {
  const double share = first / g;
  if (number == 1) return g * (1 - std::sqrt(share));
  if (number == 2) return g * (1 - share * share);
  return g * (1 - std::sqrt(share) - share * std::sin(10 * pi * first));
}

FrontTask zdt_task(int number, int dimensions) {
  FrontTask task{"zdt" + std::to_string(number) + "-" + std::to_string(dimensions),
                 box(dimensions),
                 [number](const FrontValues& x) {
                   double sum = 0;
                   for (std::size_t j = 1; j < x.size(); ++j) sum += x[j];
                   const double g = 1 + 9 * sum / static_cast<double>(x.size() - 1);
                   return FrontOutcome{{x[0], zdt(number, x[0], g)}, {}};
                 },
                 {1.1, 3}};
  return task;
}

/// zdt2 with whole numbers, a step and a choice.
FrontTask mixed_zdt() {
  FrontTask task = zdt_task(2, 2);
  task.name = "zdt2-mixed-5";
  task.space["x2"] = {{"randint", {0, 11}}};
  task.space["x3"] = {{"randint", {0, 101}}};
  task.space["x4"] = {{"choice", {0, 1, 2, 3}}};
  task.outcome = [](const FrontValues& x) {
    constexpr double choices[] = {0.6, 0.2, 0, 0.9};
    const double sum =
        x[1] + std::abs(x[2] - 7) / 7 + std::abs(x[3] - 20) / 80 + choices[static_cast<int>(x[4])];
    return FrontOutcome{{x[0], zdt(2, x[0], 1 + 9 * sum / 4)}, {}};
  };
  return task;
}

FrontOutcome dtlz2(const FrontValues& x, std::size_t objectives) {
  double g = 0;
  for (std::size_t j = objectives - 1; j < x.size(); ++j) g += (x[j] - 0.5) * (x[j] - 0.5);
  FrontOutcome outcome{Scores(objectives, 1 + g), {}};
  for (std::size_t i = 0; i < objectives; ++i) {
    for (std::size_t j = 0; j + 1 + i < objectives; ++j)
      outcome.losses[i] *= std::cos(x[j] * pi / 2);
    if (i > 0) outcome.losses[i] *= std::sin(x[objectives - 1 - i] * pi / 2);
  }
  return outcome;
}

/// Allowed near the ends of the front and near its middle.
FrontTask constrained_dtlz2() {
  FrontTask task{"c2-dtlz2-6",
                 box(6),
                 [](const FrontValues& x) {
                   FrontOutcome outcome = dtlz2(x, 2);
                   const auto from = [&](double a, double b) {
                     return std::hypot(outcome.losses[0] - a, outcome.losses[1] - b) - 0.2;
                   };
                   const double middle = std::sqrt(0.5);
                   outcome.constraints = {std::min({from(1, 0), from(0, 1), from(middle, middle)})};
                   return outcome;
                 },
                 {1.1, 1.1}};
  task.constraints = 1;
  return task;
}

/// What is best for the error costs time: wide layers, and many.
FrontTask network() {
  FrontTask task{
      "mixed-network-6",
      {{"activation", {{"choice", {0, 1, 2, 3}}}},
       {"dropout", {{"uniform", {0, 0.9}}}},
       {"layers", {{"randint", {1, 11}}}},
       {"lr", {{"loguniform", {1e-6, 1}}}},
       {"optimizer", {{"choice", {0, 1, 2}}}},
       {"units", {{"lograndint", {4, 2049}}}}},
      [](const FrontValues& x) {
        constexpr double activations[] = {0.1, 0, 0.04, 0.2}, best_rate[] = {-1.5, -3, -2.2};
        const double capacity = x[5] * std::sqrt(x[2]);
        const double rate =
            std::log10(x[3]) - best_rate[static_cast<int>(x[4])] + 0.25 * (x[2] - 4);
        const double error = 0.05 + 0.6 / (1 + std::pow(capacity / 64, 0.7)) + 0.1 * rate * rate +
                             (x[1] - 0.15) * (x[1] - 0.15) + activations[static_cast<int>(x[0])];
        return FrontOutcome{{error, x[5] * x[2] / 100}, {}};
      },
      {0.7, 20}};
  return task;
}

/// And memory.
FrontTask large_network() {
  FrontTask task = network();
  task.name = "mixed-network-3";
  const auto two = task.outcome;
  task.outcome = [two](const FrontValues& x) {
    FrontOutcome outcome = two(x);
    outcome.losses.push_back(x[5] * x[5] * x[2] / 1e4);
    return outcome;
  };
  task.reference = {0.7, 20, 100};
  return task;
}

/// The best by the first parameter, or by two, with all others at their optimum.
double most_of(const FrontTask& task) {
  constexpr int steps = 4000;
  std::vector<FrontOutcome> front;
  if (task.name.starts_with("mixed-network")) {
    const double growth =
        task.reference.size() == 2 ? 1 : 1.05;  // the volume of three takes longer
    for (double layers = 1; layers <= 10; ++layers) {
      for (double units = 4; units <= 2048;
           units = std::max(units + 1, std::floor(units * growth))) {
        const double lr = std::pow(10, -3 - 0.25 * (layers - 4));
        front.push_back(task.outcome({1, 0.15, layers, lr, 1, units}));
      }
    }
  }
  for (int i = 0; i <= steps; ++i) {
    const double x = static_cast<double>(i) / steps;
    if (task.name == "zdt2-mixed-5") front.push_back(task.outcome({x, 0, 7, 20, 2}));
    if (task.name == "zdt1-6") front.push_back(task.outcome({x, 0, 0, 0, 0, 0}));
    if (task.name == "zdt3-4") front.push_back(task.outcome({x, 0, 0, 0}));
    if (task.name == "c2-dtlz2-6") front.push_back(task.outcome({x, 0.5, 0.5, 0.5, 0.5, 0.5}));
  }
  if (!front.empty()) return negative_volume(std::move(front), task.reference);
  return std::pow(task.reference[0], 3) - pi / 6;  // dtlz2: all but an eighth of a ball
}

}  // namespace

FrontValues FrontTask::values_of(const Json& config) const {
  FrontValues values;
  for (const auto& [name, domain] : space.items()) values.push_back(config.at(name).get<double>());
  return values;
}

double FrontTask::covered(const std::vector<FrontOutcome>& outcomes) const {
  return negative_volume(outcomes, reference) / most;
}

std::vector<FrontTask> front_tasks() {
  FrontTask three{
      "dtlz2-6", box(6), [](const FrontValues& x) { return dtlz2(x, 3); }, {1.1, 1.1, 1.1}};
  std::vector<FrontTask> tasks = {zdt_task(1, 6),      mixed_zdt(),      zdt_task(3, 4), network(),
                                  constrained_dtlz2(), std::move(three), large_network()};
  for (FrontTask& task : tasks) task.most = most_of(task);
  return tasks;
}

}  // namespace tune::bench
