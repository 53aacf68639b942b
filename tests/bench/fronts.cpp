// How much of a Pareto front searchers find, and how long they think.
//   bench_fronts [--searchers NAME|JSON,...] [--tasks NAME,...] [--budgets N,...] [--seeds N]
//                [--first-seed N] [--concurrency N,...] [--json FILE]
//   bench_fronts --outcomes          for fronts_peer.py, which asks what configs come to
// docs/performance.md says what is measured and has the figures.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <deque>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <utility>

#include "searchers/searchers.h"
#include "tests/bench/front_tasks.h"
#include "tuner/policy/policy_state.h"

namespace tune::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::vector<Json> searchers;
  std::vector<std::string> tasks;
  std::vector<int> budgets = {50, 100}, concurrency = {1, 4};
  int seeds = 10, first_seed = 0;
  std::string json;
};

struct Run {
  std::vector<double> covered;  ///< by budget
  double seconds = 0;
};

Run run_search(const Options& options, const Json& searcher, const FrontTask& task, int at_once,
               int seed) {
  const int trials = *std::max_element(options.budgets.begin(), options.budgets.end());
  std::vector<Problem> problems;
  const SearchSpace space = SearchSpace::parse(task.space, "", problems);
  std::vector<Objective> objectives;
  for (std::size_t k = 0; k < task.reference.size(); ++k) {
    objectives.push_back({"loss" + std::to_string(k), Mode::min});
  }
  PolicyContext context{space, objectives, trials, static_cast<std::uint64_t>(seed)};
  context.max_concurrent_trials = at_once;
  Catalogue catalogue;
  add_searchers(catalogue);
  Json own = searcher;
  const auto type = own.at("type").get<std::string>();
  own.erase("type");
  const auto one = catalogue.searchers.at(type)(own, context);
  Run run;
  std::deque<std::pair<std::uint32_t, FrontOutcome>> running;
  std::vector<FrontOutcome> done;
  Clock::duration spent{};
  for (int next = 0; std::ssize(done) < trials;) {
    while (next < trials && std::ssize(running) < at_once) {
      const auto id = TrialId(static_cast<std::uint32_t>(next));
      const auto start = Clock::now();
      const Answer answer = one->suggest(id);
      const Json& config = std::get<Suggestion>(answer).config;
      one->on_trial_add(id, config.dump());
      spent += Clock::now() - start;
      running.emplace_back(next++, task.outcome(task.values_of(config)));
    }
    const auto [id, outcome] = running.front();
    running.pop_front();
    Observation last{1, outcome.losses};
    for (double& x : last.scores) x = -x;
    last.constraints = outcome.constraints;
    one->on_trial_end(TrialId(id), last, Ended::complete);
    done.push_back(outcome);
    for (const int budget : options.budgets) {
      if (std::ssize(done) == budget) run.covered.push_back(task.covered(done));
    }
  }
  run.seconds = std::chrono::duration<double>(spent).count();
  return run;
}

void measure(const Options& options) {
  Json all = Json::array();
  for (const int at_once : options.concurrency) {
    for (const FrontTask& task : front_tasks()) {
      const auto& names = options.tasks;
      if (!names.empty() && std::find(names.begin(), names.end(), task.name) == names.end())
        continue;
      for (const Json& searcher : options.searchers) {
        std::vector<Run> runs;
        for (int i = 0; i < options.seeds; ++i) {
          runs.push_back(run_search(options, searcher, task, at_once, options.first_seed + i));
        }
        const auto n = static_cast<double>(runs.size());
        double seconds = 0;
        for (const Run& run : runs) seconds += run.seconds / n;
        std::printf("%d at once  %-16s %-30s", at_once, task.name.c_str(), searcher.dump().c_str());
        for (std::size_t b = 0; b < options.budgets.size(); ++b) {
          double mean = 0, squares = 0;
          Json each = Json::array();
          for (const Run& run : runs) {
            mean += run.covered[b] / n;
            each.push_back(run.covered[b]);
          }
          for (const Run& run : runs) squares += std::pow(run.covered[b] - mean, 2);
          std::printf("  %.3f ±%.3f", mean, n > 1 ? std::sqrt(squares / (n - 1) / n) : 0);
          all.push_back({{"searcher", searcher},
                         {"task", task.name},
                         {"concurrency", at_once},
                         {"trials", options.budgets[b]},
                         {"covered", each}});
        }
        std::printf("  %.2f s\n", seconds);
        std::fflush(stdout);
      }
    }
  }
  if (options.json.empty()) return;
  std::ofstream out(options.json);
  out << all.dump(1) << "\n";
}

/// A line in: a task and values, or a task and the outcomes of a run. A line out: what they come
/// to.
void answer_peer() {
  const std::vector<FrontTask> tasks = front_tasks();
  for (std::string line; std::getline(std::cin, line);) {
    const Json order = Json::parse(line);
    Json answer;
    if (!order.contains("task")) {
      for (const FrontTask& task : tasks) {
        answer.push_back({{"name", task.name},
                          {"space", task.space},
                          {"objectives", task.reference.size()},
                          {"constraints", task.constraints}});
      }
    } else {
      for (const FrontTask& task : tasks) {
        if (task.name != order.at("task")) continue;
        if (order.contains("config")) {
          const FrontOutcome outcome = task.outcome(task.values_of(order.at("config")));
          answer = {{"losses", outcome.losses}, {"constraints", outcome.constraints}};
        } else {
          std::vector<FrontOutcome> outcomes;
          for (const Json& one : order.at("outcomes")) {
            outcomes.push_back({one.at("losses"), one.at("constraints")});
          }
          answer = task.covered(outcomes);
        }
      }
    }
    std::cout << answer.dump() << std::endl;
  }
}

std::vector<std::string> list_of(const std::string& text) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  for (const char c : text) {
    depth += (c == '{') - (c == '}');
    if (c == ',' && depth == 0) {
      parts.push_back(std::exchange(part, ""));
    } else {
      part += c;
    }
  }
  parts.push_back(part);
  return parts;
}

int run(int argc, char** argv) {
  Options options;
  std::string searchers = "gp,tpe,nsga2,random";
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--outcomes") {
      answer_peer();
      return 0;
    }
    if (++i >= argc) throw std::invalid_argument(name + " needs a value");
    const std::string value = argv[i];
    const auto numbers = [&] {
      std::vector<int> all;
      for (const std::string& part : list_of(value)) all.push_back(std::stoi(part));
      return all;
    };
    if (name == "--searchers")
      searchers = value;
    else if (name == "--tasks")
      options.tasks = list_of(value);
    else if (name == "--budgets")
      options.budgets = numbers();
    else if (name == "--concurrency")
      options.concurrency = numbers();
    else if (name == "--seeds")
      options.seeds = std::stoi(value);
    else if (name == "--first-seed")
      options.first_seed = std::stoi(value);
    else if (name == "--json")
      options.json = value;
    else
      throw std::invalid_argument("there is no option " + name);
  }
  for (const std::string& part : list_of(searchers)) {
    options.searchers.push_back(part[0] == '{' ? Json::parse(part) : Json{{"type", part}});
  }
  measure(options);
  return 0;
}

}  // namespace
}  // namespace tune::bench

int main(int argc, char** argv) {
  try {
    return tune::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
