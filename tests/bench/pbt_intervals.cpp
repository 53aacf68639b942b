// What population-based training comes to with intervals that are too short, right, or too long for
// a task, and with several at once: the loop and the scheduler as they are, in virtual time, around
// small trainings. Prints a table for people (Markdown).
//   bench_pbt_intervals [--seeds K] [--population N] [--iterations I] [--task 0|1|2]
//                       [--asynchronous WORKERS]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "tuner/base/error.h"
#include "tuner/math/random.h"
#include "tuner/simulation/simulation.h"

namespace tune::bench {
namespace {

struct Options {
  int seeds = 10;
  std::int64_t population = 16;
  std::int64_t iterations = 256;
  int task = -1;    ///< one alone: 0, 1 or 2
  int workers = 0;  ///< asynchronous with so many; 0: synchronous
};

using Weights = std::vector<double>;

/// A training: its weights at the begin, and one iteration of it, which gives the loss.
struct Task {
  const char* name;
  Json space;
  std::function<Weights(std::uint64_t seed)> begin;
  std::function<double(Weights&, const Json& config, Random&)> train;
};

/// The toy of "Population Based Training of Neural Networks" (Jaderberg et al., 2017, figure 2):
/// what is best next is best in the end.
Task toy() {
  const Json unit = {{"uniform", {0, 1}}};
  const auto train = [](Weights& t, const Json& config, Random&) {
    t[0] -= 0.04 * config.at("h0").get<double>() * t[0];
    t[1] -= 0.04 * config.at("h1").get<double>() * t[1];
    return t[0] * t[0] + t[1] * t[1];
  };
  return {"toy", {{"h0", unit}, {"h1", unit}}, [](auto) { return Weights{0.9, 0.9}; }, train};
}

/// The noisy quadratic of "Understanding Short-Horizon Bias in Stochastic Meta-Optimization" (Wu et
/// al., 2018): curvatures 1/i, gradients with noise of the same covariance. A lower learning rate
/// lowers the loss at once, and is slower ever after. Exact expectations, by mean and variance of
/// each weight.
Task quadratic() {
  constexpr std::size_t size = 100;
  constexpr int steps = 4;
  const auto train = [](Weights& w, const Json& config, Random&) {
    const double rate = config.at("lr");
    double loss = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const double curvature = 1 / static_cast<double>(i + 1);
      double& mean = w[i];
      double& variance = w[size + i];
      for (int step = 0; step < steps; ++step) {
        mean *= 1 - rate * curvature;
        variance = std::pow(1 - rate * curvature, 2) * variance + rate * rate * curvature;
      }
      loss += 0.5 * curvature * (mean * mean + variance);
    }
    return loss;
  };
  const auto begin = [](auto) {
    Weights w(2 * size, 0);
    std::fill_n(w.begin(), size, 10.0);
    return w;
  };
  return {"noisy quadratic", {{"lr", {{"loguniform", {1e-3, 1}}}}}, begin, train};
}

/// A network of 16 hidden units learns a network of 8 from noisy examples, two at a time, by
/// stochastic gradient descent with momentum.
class Student {
 public:
  explicit Student(std::uint64_t seed) {
    Random random(seed);
    teacher_ = drawn(8, 1.5, random);
    for (int i = 0; i < 512; ++i) examples_.push_back(example(random, i < 256 ? 0.5 : 0));
  }

  static Weights begin(std::uint64_t seed) {
    Random random(seed + 1000);
    Weights w = drawn(hidden, 0.5, random);
    w.resize(2 * w.size(), 0);  // and their velocities
    return w;
  }

  double train(Weights& w, const Json& config, Random& random) const {
    const double rate = config.at("lr");
    const double momentum = config.at("momentum");
    const std::size_t size = w.size() / 2;
    Weights gradient(size);
    for (int step = 0; step < 64; ++step) {
      std::fill(gradient.begin(), gradient.end(), 0.0);
      for (int i = 0; i < 2; ++i) add_gradient(w, examples_[random.below(256)], gradient);
      for (std::size_t i = 0; i < size; ++i) {
        w[size + i] = momentum * w[size + i] - rate * gradient[i] / 2;
        w[i] += w[size + i];
      }
    }
    double loss = 0;
    for (std::size_t i = 256; i < 512; ++i) {
      const double error = output(w, hidden, examples_[i].x) - examples_[i].y;
      loss += error * error / 256;
    }
    return loss;
  }

 private:
  static constexpr std::size_t inputs = 8, hidden = 16, row = inputs + 2;
  struct Example {
    Weights x;
    double y = 0;
  };

  /// Of each unit: its inputs' weights, its bias, its output's weight.
  static Weights drawn(std::size_t units, double scale, Random& random) {
    Weights w(units * row);
    for (double& each : w) each = scale * random.normal(0, 1);
    return w;
  }
  static double unit(const Weights& w, std::size_t at, const Weights& x) {
    double sum = w[at + inputs];
    for (std::size_t i = 0; i < inputs; ++i) sum += w[at + i] * x[i];
    return std::tanh(sum);
  }
  static double output(const Weights& w, std::size_t units, const Weights& x) {
    double sum = 0;
    for (std::size_t u = 0; u < units; ++u) sum += w[u * row + row - 1] * unit(w, u * row, x);
    return sum;
  }
  Example example(Random& random, double noise) const {
    Example made{Weights(inputs), 0};
    for (double& each : made.x) each = random.normal(0, 1);
    made.y = output(teacher_, 8, made.x) + noise * random.normal(0, 1);
    return made;
  }
  static void add_gradient(const Weights& w, const Example& example, Weights& gradient) {
    const double error = output(w, hidden, example.x) - example.y;
    for (std::size_t u = 0; u < hidden; ++u) {
      const std::size_t at = u * row;
      const double h = unit(w, at, example.x);
      const double back = error * w[at + row - 1] * (1 - h * h);
      for (std::size_t i = 0; i < inputs; ++i) gradient[at + i] += back * example.x[i];
      gradient[at + inputs] += back;
      gradient[at + row - 1] += error * h;
    }
  }

  Weights teacher_;
  std::vector<Example> examples_;
};

Task network(std::uint64_t seed) {
  return {"network",
          {{"lr", {{"loguniform", {1e-4, 0.1}}}}, {"momentum", {{"uniform", {0, 0.95}}}}},
          Student::begin,
          [student = Student(seed)](Weights& w, const Json& config, Random& random) {
            return student.train(w, config, random);
          }};
}

Json scheduler_of(const Task& task, const Json& interval, const Options& options) {
  if (interval.is_null()) return {{"type", "fifo"}};
  return {{"type", "pbt"},
          {"time_attr", "training_iteration"},
          {"perturbation_interval", interval},
          {"synch", options.workers == 0},
          {"hyperparam_mutations", task.space}};
}

/// The least loss of all trials at their end.
double result_of(const Task& task, const Json& interval, std::uint64_t seed,
                 const Options& options) {
  ExperimentSpec spec;
  spec.param_space = task.space;
  spec.objectives = {{"loss", Mode::min}};
  spec.num_samples = options.population;
  spec.seed = seed;
  const std::int64_t workers = options.workers > 0 ? options.workers : options.population;
  spec.resources = {{"cpu", static_cast<double>(workers)}};
  spec.stop = {{"training_iteration", options.iterations}};
  spec.scheduler = scheduler_of(task, interval, options);
  spec.searcher = {{"type", "random"}};
  spec.checkpoint_config.num_to_keep = 1;
  std::vector<Weights> all;  // a checkpoint has the number of its weights
  SimulatedProgram program;
  program.step = [&](SimulatedRun& run) {
    Weights weights = run.state.is_null() ? task.begin(seed) : all[run.state.get<std::size_t>()];
    const auto draw = static_cast<std::uint64_t>(all.size());
    Random random(seed * 1'000'000 + draw);
    const double loss = task.train(weights, run.config, random);
    run.state = all.size();
    all.push_back(std::move(weights));
    return SimulatedStep{
        .metrics = Metrics{"{\"loss\":" + encode_number(loss).dump() + "}", {{"loss", loss}}},
        .takes_s = 10 + random.uniform()};
  };
  const RunOutcome outcome = simulate_experiment(spec, built_in_catalogue(), std::move(program));
  double best = HUGE_VAL;
  for (const Trial& trial : outcome.results.experiment().trials()) {
    ensure(trial.state == TrialState::terminated, "all trials ended well");
    const Json loss = Json::parse(trial.last_metrics.text()).at("loss");
    if (loss.is_number()) best = std::min(best, loss.get<double>());  // else it is no finite one
  }
  return best;
}

void run(const Options& options) {
  const std::vector<Json> intervals = {
      nullptr, 1, 4, 16, 64, Json{1, 4, 16, 64}, Json{1, 8, 64}, Json{1, 64}, Json{4, 16}};
  std::printf(
      "| task | perturbation_interval | least loss at the end | by that of [1, 4, 16, 64] |\n"
      "| --- | --- | --- | --- |\n");
  for (int which = 0; which < 3; ++which) {
    if (options.task >= 0 && which != options.task) continue;
    std::vector<std::vector<double>> losses(intervals.size());
    std::string name;
    for (int seed = 1; seed <= options.seeds; ++seed) {
      const auto number = static_cast<std::uint64_t>(seed);
      const Task task = which == 0 ? toy() : which == 1 ? quadratic() : network(number);
      name = task.name;
      for (std::size_t i = 0; i < intervals.size(); ++i) {
        losses[i].push_back(result_of(task, intervals[i], number, options));
      }
    }
    for (std::size_t i = 0; i < intervals.size(); ++i) {
      double log_mean = 0, ratio = 0, squares = 0;
      for (std::size_t s = 0; s < losses[i].size(); ++s) {
        const double by = std::log(losses[i][s] / losses[5][s]);
        log_mean += std::log(losses[i][s]);
        ratio += by;
        squares += by * by;
      }
      const auto n = static_cast<double>(losses[i].size());
      const double error =
          std::sqrt(std::max(0.0, squares / n - ratio * ratio / n / n) / std::max(1.0, n - 1));
      std::printf("| %s | %s | %.3g | %.2f (%.2f to %.2f) |\n", name.c_str(),
                  intervals[i].is_null() ? "none: random search" : intervals[i].dump().c_str(),
                  std::exp(log_mean / n), std::exp(ratio / n), std::exp(ratio / n - error),
                  std::exp(ratio / n + error));
    }
    std::fflush(stdout);
  }
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const int value = std::stoi(argv[i + 1]);
    if (name == "--seeds") {
      options.seeds = value;
    } else if (name == "--population") {
      options.population = value;
    } else if (name == "--iterations") {
      options.iterations = value;
    } else if (name == "--task") {
      options.task = value;
    } else if (name == "--asynchronous") {
      options.workers = value;
    } else {
      throw user_error("unknown option " + name);
    }
  }
  return options;
}

}  // namespace
}  // namespace tune::bench

int main(int argc, char** argv) {
  try {
    tune::bench::run(tune::bench::parse(argc, argv));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "bench_pbt_intervals: " << error.what() << "\n";
    return 1;
  }
}
