// The tasks with formulas.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <utility>

#include "tests/bench/search_tasks.h"
#include "tuner/math/random.h"

namespace tune::bench {

namespace {

using Kind = SearchParam::Kind;
using std::numbers::pi;

double square(double x) { return x * x; }

std::vector<SearchParam> box(std::size_t dimensions, double low, double high) {
  std::vector<SearchParam> params;
  for (std::size_t j = 0; j < dimensions; ++j) {
    params.push_back({"x" + std::to_string(j), Kind::real, low, high});
  }
  return params;
}

/// Around 0, but with 0 in the middle of no side: who begins in the middle would be there at once.
std::vector<SearchParam> shifted_box(std::size_t dimensions, double half) {
  std::vector<SearchParam> params = box(dimensions, 0, 0);
  for (std::size_t j = 0; j < dimensions; ++j) {
    params[j].low = -half * (0.5 + 0.2 * static_cast<double>(j % 3));
    params[j].high = params[j].low + 2 * half;
  }
  return params;
}

double branin(const SearchValues& x) {
  const double a = x[1] - 5.1 / (4 * pi * pi) * x[0] * x[0] + 5 / pi * x[0] - 6;
  return a * a + 10 * (1 - 1 / (8 * pi)) * std::cos(x[0]) + 10;
}

double six_hump_camel(const SearchValues& x) {
  const double a = x[0] * x[0], b = x[1] * x[1];
  return (4 - 2.1 * a + a * a / 3) * a + x[0] * x[1] + (-4 + 4 * b) * b;
}

template <std::size_t Dimensions>
double hartmann(const SearchValues& x, const double (&a)[4][Dimensions],
                const double (&p)[4][Dimensions]) {
  constexpr double alpha[4] = {1, 1.2, 3, 3.2};
  double sum = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    double distance = 0;
    for (std::size_t j = 0; j < Dimensions; ++j) distance += a[i][j] * square(x[j] - p[i][j]);
    sum -= alpha[i] * std::exp(-distance);
  }
  return sum;
}

double hartmann3(const SearchValues& x) {
  constexpr double a[4][3] = {{3, 10, 30}, {0.1, 10, 35}, {3, 10, 30}, {0.1, 10, 35}};
  constexpr double p[4][3] = {{0.3689, 0.1170, 0.2673},
                              {0.4699, 0.4387, 0.7470},
                              {0.1091, 0.8732, 0.5547},
                              {0.03815, 0.5743, 0.8828}};
  return hartmann(x, a, p);
}

double hartmann6(const SearchValues& x) {
  constexpr double a[4][6] = {{10, 3, 17, 3.5, 1.7, 8},
                              {0.05, 10, 17, 0.1, 8, 14},
                              {3, 3.5, 1.7, 10, 17, 8},
                              {17, 8, 0.05, 10, 0.1, 14}};
  constexpr double p[4][6] = {{0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886},
                              {0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991},
                              {0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650},
                              {0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381}};
  return hartmann(x, a, p);
}

double ackley(const SearchValues& x) {
  double squares = 0, waves = 0;
  for (const double v : x) {
    squares += v * v;
    waves += std::cos(2 * pi * v);
  }
  const auto n = static_cast<double>(x.size());
  return -20 * std::exp(-0.2 * std::sqrt(squares / n)) - std::exp(waves / n) + 20 + std::exp(1.0);
}

double levy(const SearchValues& x) {
  const auto w = [&](std::size_t j) { return 1 + (x[j] - 1) / 4; };
  double sum = square(std::sin(pi * w(0)));
  for (std::size_t j = 0; j + 1 < x.size(); ++j) {
    sum += square(w(j) - 1) * (1 + 10 * square(std::sin(pi * w(j) + 1)));
  }
  const double last = w(x.size() - 1);
  return sum + square(last - 1) * (1 + square(std::sin(2 * pi * last)));
}

double rosenbrock(const SearchValues& x) {
  double sum = 0;
  for (std::size_t j = 0; j + 1 < x.size(); ++j) {
    sum += 100 * square(x[j + 1] - x[j] * x[j]) + square(1 - x[j]);
  }
  return sum;
}

double rastrigin(const SearchValues& x) {
  double sum = 0;
  for (const double v : x) sum += 10 + v * v - 10 * std::cos(2 * pi * v);
  return sum;
}

double griewank(const SearchValues& x) {
  double sum = 1, product = 1;
  for (std::size_t j = 0; j < x.size(); ++j) {
    sum += x[j] * x[j] / 4000;
    product *= std::cos(x[j] / std::sqrt(static_cast<double>(j + 1)));
  }
  return sum - product;
}

double schwefel(const SearchValues& x) {
  double sum = 0;
  for (const double v : x) sum += 418.9828872724338 - v * std::sin(std::sqrt(std::abs(v)));
  return sum;
}

double styblinski(const SearchValues& x) {
  double sum = 0;
  for (const double v : x) sum += (v * v * v * v - 16 * v * v + 5 * v) / 2;
  return sum;
}

double michalewicz(const SearchValues& x) {
  double sum = 0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    sum -= std::sin(x[j]) * std::pow(std::sin(static_cast<double>(j + 1) * x[j] * x[j] / pi), 20);
  }
  return sum;
}

SearchParam choice(std::string name, int count) {
  return {std::move(name), Kind::choice, 0, static_cast<double>(count - 1)};
}
SearchParam under(std::size_t parent, double value, SearchParam param) {
  param.parent = parent;
  param.parent_value = value;
  return param;
}

/// A network's training: the learning rate that is best depends on the optimiser and the depth.
SearchTask network() {
  const auto loss = [](const SearchValues& x) {
    constexpr double activations[] = {0.4, 0, 0.15, 0.7}, best_rate[] = {-1.5, -3, -2.2};
    constexpr double optimizers[] = {0.2, 0, 0.3};
    const auto optimizer = static_cast<std::size_t>(x[5]);
    const double rate = std::log10(x[0]) - best_rate[optimizer] + 0.25 * (x[2] - 4);
    return square(rate) + 0.1 * square(std::log2(x[1]) - 7) + 0.05 * square(x[2] - 4) +
           2 * square(x[3] - 0.15) + activations[static_cast<std::size_t>(x[4])] +
           optimizers[optimizer];
  };
  return {"mixed-network",
          {{"lr", Kind::real, 1e-6, 1, true},
           {"units", Kind::whole, 4, 2048, true},
           {"layers", Kind::whole, 1, 10},
           {"dropout", Kind::real, 0, 0.9, false, 0.05},
           choice("activation", 4),
           choice("optimizer", 3)},
          loss};
}

/// Waves over reals and integers; which way they go depends on a choice.
SearchTask mixed_waves() {
  const auto loss = [](const SearchValues& x) {
    constexpr double centres[] = {0.3, 0.7, 0.5, 0.15};
    constexpr double floors[] = {0.5, 0, 0.3, 0.8};
    const auto which = static_cast<std::size_t>(x[6]);
    double sum = floors[which];
    for (std::size_t j = 0; j < 3; ++j) {
      const double z = x[j] - centres[which];
      sum += 4 * z * z + 0.1 * (1 - std::cos(6 * pi * z));
    }
    for (std::size_t j = 3; j < 6; ++j) {
      const double z = (x[j] - 12 - 2 * static_cast<double>(j)) / 10;
      sum += z * z + 0.1 * (1 - std::cos(2 * pi * 10 * z / 5));
    }
    return sum;
  };
  SearchTask task{"mixed-waves", box(3, 0, 1), loss};
  for (const char* const name : {"a", "b", "c"}) task.params.push_back({name, Kind::whole, 0, 60});
  task.params.push_back(choice("which", 4));
  return task;
}

SearchTask integers() {
  const auto loss = [](const SearchValues& x) {
    double sum = 0, total = 0;
    for (std::size_t j = 0; j < x.size(); ++j) {
      const double z = x[j] - static_cast<double>((3 * j + 4) % 11);
      sum += std::abs(z);
      total += z;
    }
    return sum + 0.5 * std::abs(total);
  };
  SearchTask task{"integers-10", {}, loss};
  for (int j = 0; j < 10; ++j) {
    task.params.push_back({"n" + std::to_string(j), Kind::whole, 0, 10});
  }
  return task;
}

/// Eight choices of five values; what is good depends on the neighbour too. 0 is planted.
SearchTask chain() {
  constexpr std::size_t length = 8, count = 5;
  Random random(8);
  std::vector<double> alone(length * count), pairs(length * count * count);
  for (double& x : alone) x = random.uniform(0.1, 1);
  for (double& x : pairs) x = random.uniform(0, 1);
  std::vector<std::size_t> best;
  for (std::size_t j = 0; j < length; ++j) best.push_back(random.below(count));
  for (std::size_t j = 0; j < length; ++j) {
    alone[j * count + best[j]] = 0;
    pairs[(j * count + best[j]) * count + best[(j + 1) % length]] = 0;
  }
  SearchTask task{"choices-8", {}, [alone, pairs](const SearchValues& x) {
                    double sum = 0;
                    for (std::size_t j = 0; j < length; ++j) {
                      const auto here = j * count + static_cast<std::size_t>(x[j]);
                      const auto next = static_cast<std::size_t>(x[(j + 1) % length]);
                      sum += alone[here] + pairs[here * count + next];
                    }
                    return sum;
                  }};
  for (std::size_t j = 0; j < length; ++j) {
    task.params.push_back(choice("c" + std::to_string(j), count));
  }
  return task;
}

/// Three models with hyperparameters of their own; the third can be best.
SearchTask models() {
  const auto loss = [](const SearchValues& x) {
    const double scaled = x[1] == 1 ? 0 : 0.3;
    if (x[0] == 0) {
      return 0.6 + scaled + 0.2 * square(std::log10(x[2]) - 1) + 0.2 * square(std::log10(x[3]) + 2);
    }
    if (x[0] == 1) {
      return 0.4 + 0.1 * square(std::log2(x[4]) - 8) + 0.02 * square(x[5] - 9);
    }
    return scaled + square(std::log10(x[6]) + 2.5) + 0.05 * square(x[7] - 3) +
           0.1 * square(std::log2(x[8]) - 6) + 3 * square(x[9] - 0.2);
  };
  return {
      "conditional-models",
      {choice("model", 3), choice("scaling", 2), under(0, 0, {"c", Kind::real, 1e-3, 1e3, true}),
       under(0, 0, {"gamma", Kind::real, 1e-5, 10, true}),
       under(0, 1, {"trees", Kind::whole, 8, 2048, true}),
       under(0, 1, {"depth", Kind::whole, 1, 30}), under(0, 2, {"lr", Kind::real, 1e-6, 1, true}),
       under(0, 2, {"layers", Kind::whole, 1, 8}),
       under(0, 2, {"units", Kind::whole, 4, 1024, true}),
       under(0, 2, {"dropout", Kind::real, 0, 0.8})},
      loss};
}

/// What all configs have, an optimiser's own, and a schedule's within one of them.
SearchTask schedules() {
  const auto loss = [](const SearchValues& x) {
    const double common = square(std::log10(x[0]) + 4) * 0.3 + square(x[1] - 0.4);
    if (x[2] == 0) {
      return common + 0.1 + square(std::log10(x[3]) + 3) + 2 * square(x[4] - 0.9);
    }
    const double adam = common + square(std::log10(x[3]) + 2);
    if (x[5] == 0) return adam + 0.25;
    if (x[5] == 1) return adam + 0.1 + square(x[6] - 0.5);
    return adam + 2 * square(x[7] - 0.1) + 0.01 * std::abs(x[8] - 12);
  };
  return {"conditional-schedules",
          {{"decay", Kind::real, 1e-8, 1e-1, true},
           {"mix", Kind::real, 0, 1},
           choice("optimizer", 2),
           {"lr", Kind::real, 1e-5, 1, true},
           under(2, 0, {"momentum", Kind::real, 0, 1}),
           under(2, 1, choice("schedule", 3)),
           under(5, 1, {"factor", Kind::real, 0, 1}),
           under(5, 2, {"warm", Kind::real, 0, 1}),
           under(5, 2, {"period", Kind::whole, 1, 50})},
          loss};
}

}  // namespace

std::vector<SearchTask> synthetic_tasks() {
  SearchTask camel{"camel-2", box(2, -3, 3), six_hump_camel, -1.0316284534898774};
  camel.params[1] = {"x1", Kind::real, -2, 2};
  SearchTask branin_task{"branin-2", box(2, -5, 10), branin, 0.39788735772973816};
  branin_task.params[1] = {"x1", Kind::real, 0, 15};
  return {std::move(branin_task),
          std::move(camel),
          {"hartmann-3", box(3, 0, 1), hartmann3, -3.86278214782076},
          {"hartmann-6", box(6, 0, 1), hartmann6, -3.32236801141551},
          {"levy-5", box(5, -10, 10), levy},
          {"levy-20", box(20, -10, 10), levy},
          {"rosenbrock-5", box(5, -5, 10), rosenbrock},
          {"ackley-5", shifted_box(5, 32.768), ackley},
          {"ackley-10", shifted_box(10, 32.768), ackley},
          {"rastrigin-5", shifted_box(5, 5.12), rastrigin},
          {"griewank-8", shifted_box(8, 600), griewank},
          {"schwefel-5", box(5, -500, 500), schwefel},
          {"styblinski-8", box(8, -5, 5), styblinski, -39.16616570377142 * 8},
          {"michalewicz-5", box(5, 0, pi), michalewicz, -4.687658179088149},
          network(),
          mixed_waves(),
          integers(),
          chain(),
          models(),
          schedules()};
}

std::vector<SearchTask> failing_tasks() {
  constexpr double dies = std::numeric_limits<double>::infinity();
  constexpr double diverges = std::numeric_limits<double>::quiet_NaN();
  // The larger the model and the batch the better, until they are out of memory.
  SearchTask memory{"out-of-memory", box(3, 0, 1), [](const SearchValues& x) {
                      return x[0] + x[1] > 1 ? dies : -x[0] - x[1] + square(x[2] - 0.3);
                    }};
  memory.optimum = -1;
  // The best learning rate is a fourth of the first one that diverges.
  SearchTask corner{"diverging-corner",
                    {{"lr", Kind::real, 1e-5, 1, true}, {"momentum", Kind::real, 0, 0.99}},
                    [](const SearchValues& x) {
                      const double pace = std::log10(x[0] / (1 - x[1]));
                      if (pace > -0.5) return diverges;
                      return square(pace + 1.1) + 0.3 * square(x[1] - 0.9);
                    }};
  // Three in ten, whatever they are.
  SearchTask luck{"three-in-ten", box(3, 0, 1), [](const SearchValues& x) {
                    std::uint64_t bits = 0;
                    for (const double value : x) {
                      bits = 0x9e3779b97f4a7c15u * (bits ^ std::bit_cast<std::uint64_t>(value));
                    }
                    return Random(bits).uniform() < 0.3 ? dies : hartmann3(x);
                  }};
  luck.optimum = -3.86278214782076;
  return {std::move(memory), std::move(corner), std::move(luck)};
}

}  // namespace tune::bench
