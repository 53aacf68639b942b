// How good the configs are that searchers find, and how long they think, beside Optuna's.
//   bench_search_quality [--searchers NAME|JSON,...] [--tasks NAME,...] [--tables DIR]
//                        [--budgets N,...] [--seeds N] [--concurrency N,...] [--jobs N]
//                        [--peer PYTHON] [--peers SAMPLER,...] [--peer-results FILE]
//                        [--json FILE]
//   bench_search_quality --failures [--budgets N] [--seeds N] [--searchers ...] [--peer PYTHON ...]
//   bench_search_quality --timing [--observations N,...] [--searchers ...] [--peer PYTHON ...]
// --peer-results keeps what the peer has done, and without --peer shows it. docs/performance.md
// says what is measured and has the figures; search_quality_peer.py how to install the peer.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <thread>

#include "tests/bench/report.h"
#include "tests/bench/search_scores.h"
#include "tuner/run.h"

namespace tune::bench {
namespace {

struct Options {
  std::vector<Contestant> searchers;
  std::vector<std::string> peers = {"optuna-tpe", "optuna-cma", "optuna-gp"};
  std::vector<std::string> tasks;  ///< empty: all
  std::filesystem::path tables, peer_results, json;
  std::string python;
  std::vector<int> budgets = {25, 50, 100, 200};
  std::vector<int> concurrency = {1, 8};
  std::vector<int> observations = {100, 1000, 10'000};
  int seeds = 30;
  int jobs = 1;
  bool is_timing = false, is_about_failures = false;
};

struct Job {
  Contestant contestant;
  SearchCase one;
};

/// All runs, seed by seed over everything, so that there is a full picture at each moment.
std::vector<Job> jobs_of(const Options& options, const std::vector<const SearchTask*>& tasks,
                         const std::vector<Contestant>& contestants) {
  const int trials = *std::max_element(options.budgets.begin(), options.budgets.end());
  std::vector<Job> jobs;
  for (int seed = 0; seed < options.seeds; ++seed) {
    for (const int concurrency : options.concurrency) {
      for (const SearchTask* const task : tasks) {
        for (const Contestant& contestant : contestants) {
          jobs.push_back(
              {contestant, {task, trials, concurrency, static_cast<std::uint64_t>(seed)}});
        }
      }
    }
  }
  return jobs;
}

/// Works through the jobs with some threads.
class Works {
 public:
  Works(const Options& options, std::vector<Job> jobs, Scores& scores)
      : options_(options), jobs_(std::move(jobs)), scores_(scores), results_(options.peer_results) {
    std::vector<std::thread> threads;
    for (int i = 0; i < options_.jobs; ++i) threads.emplace_back([this] { work(); });
    for (std::thread& thread : threads) thread.join();
    std::fprintf(stderr, "\n");
    if (fault_) std::rethrow_exception(fault_);
  }

 private:
  void work() {
    try {
      std::unique_ptr<Peer> peer;
      while (true) {
        const std::size_t i = next_++;
        if (i >= jobs_.size() || fault_) return;
        const Job& job = jobs_[i];
        if (const auto run = run_one(job, peer)) {
          const std::lock_guard lock(mutex_);
          scores_.add(job.contestant.name, job.one, *run);
          tell(i, job);
        }
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!fault_) fault_ = std::current_exception();
    }
  }

  /// Nothing if the searcher does not take the task's space, which is said once.
  std::optional<SearchRun> run_one(const Job& job, std::unique_ptr<Peer>& peer) {
    try {
      return job.contestant.is_peer() ? run_peer(job, peer) : run_search(job.contestant, job.one);
    } catch (const OptionError& error) {
      leave_out(job, error.what());
    } catch (const PeerFailed& error) {
      leave_out(job, error.what());
    }
    return std::nullopt;
  }

  static void leave_out(const Job& job, const char* why) {
    if (job.one.seed > 0) return;
    std::fprintf(stderr, "\n%s is left out of %s: %s\n", job.contestant.name.c_str(),
                 job.one.task->name.c_str(), why);
  }

  std::optional<SearchRun> run_peer(const Job& job, std::unique_ptr<Peer>& peer) {
    auto run = results_.find(job.contestant.name, job.one);
    if (run || options_.python.empty()) return run;
    if (!peer) peer = std::make_unique<Peer>(options_.python);
    run = peer->run(job.contestant.name, job.one);
    results_.add(job.contestant.name, job.one, *run);
    return run;
  }

  void tell(std::size_t i, const Job& job) {
    const auto now = std::chrono::steady_clock::now();
    if (now - told_ < std::chrono::seconds(2)) return;
    told_ = now;
    std::fprintf(stderr, "\r%zu of %zu: seed %llu, %d at once, %s, %s            ", i, jobs_.size(),
                 static_cast<unsigned long long>(job.one.seed), job.one.concurrency,
                 job.one.task->name.c_str(), job.contestant.name.c_str());
  }

  const Options& options_;
  const std::vector<Job> jobs_;
  Scores& scores_;
  PeerResults results_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::exception_ptr fault_;
  std::chrono::steady_clock::time_point told_;
};

std::vector<Contestant> contestants_of(const Options& options) {
  std::vector<Contestant> all = options.searchers;
  if (options.python.empty() && options.peer_results.empty()) return all;
  for (const std::string& name : options.peers) all.push_back({name});
  return all;
}

void measure_quality(const Options& options) {
  std::vector<SearchTask> known = synthetic_tasks();
  if (options.tables.empty()) {
    std::fprintf(stderr, "without --tables DIR there are no tasks with tables\n");
  } else {
    for (SearchTask& task : table_tasks(options.tables)) known.push_back(std::move(task));
  }
  std::vector<const SearchTask*> tasks;
  for (const SearchTask& task : known) {
    const auto& names = options.tasks;
    if (names.empty() || std::find(names.begin(), names.end(), task.name) != names.end()) {
      tasks.push_back(&task);
    }
  }
  if (tasks.empty() || (!options.tasks.empty() && tasks.size() != options.tasks.size())) {
    std::string message = "there are these tasks:";
    for (const SearchTask& task : known) message += " " + task.name;
    throw std::invalid_argument(message);
  }
  const std::vector<Contestant> contestants = contestants_of(options);
  Scores scores(tasks, contestants);
  Works(options, jobs_of(options, tasks, contestants), scores);
  for (const int concurrency : options.concurrency) {
    for (const int budget : options.budgets) scores.print(std::cout, concurrency, budget);
  }
  if (options.json.empty()) return;
  std::ofstream out(options.json);
  out << scores.to_json(options.budgets).dump(1) << "\n";
  if (!out.flush()) throw std::runtime_error("cannot write " + options.json.string());
}

/// Ten dimensions of all sorts.
SearchTask timing_task() {
  using Kind = SearchParam::Kind;
  SearchTask task;
  task.name = "mixed-10";
  for (const char* const name : {"a", "b", "c", "d"}) task.params.push_back({name});
  task.params.push_back({"lr", Kind::real, 1e-5, 1, true});
  task.params.push_back({"units", Kind::whole, 8, 1024, true});
  task.params.push_back({"layers", Kind::whole, 1, 8});
  task.params.push_back({"dropout", Kind::real, 0, 0.5, false, 0.05});
  task.params.push_back({"activation", Kind::choice, 0, 3});
  task.params.push_back({"optimizer", Kind::choice, 0, 2});
  task.loss = [](const SearchValues& x) {
    double loss = 0.1 * x[8] + 0.2 * x[9] + x[7];
    for (std::size_t j = 0; j < 4; ++j) loss += (x[j] - 0.3) * (x[j] - 0.3);
    return loss + 1e-3 * x[5] / x[6] + x[4];
  };
  return task;
}

void measure_times(const Options& options) {
  constexpr int suggestions = 20;
  const SearchTask task = timing_task();
  std::vector<std::vector<std::string>> lines{{"searcher"}};
  for (const int n : options.observations) lines[0].push_back("after " + std::to_string(n));
  Json all = Json::array();
  for (const Contestant& one : contestants_of(options)) {
    if (one.is_peer() && options.python.empty()) continue;
    lines.push_back({one.name});
    for (const int n : options.observations) {
      std::fprintf(stderr, "\r%s after %d            ", one.name.c_str(), n);
      std::vector<double> times;
      const bool is_hopeless = one.name == "optuna-gp" && n > 1000;  // minutes and gigabytes
      if (is_hopeless) {
        lines.back().push_back("not tried");
        continue;
      }
      times = one.is_peer() ? Peer(options.python).time(one.name, task, n, suggestions)
                            : time_suggestions(one, task, n, suggestions);
      lines.back().push_back(short_number(median(times)) + " us");
      all.push_back({{"searcher", one.name}, {"observations", n}, {"microseconds", times}});
    }
  }
  std::fprintf(stderr, "\n");
  std::cout << "Time for a suggestion and what is told of it, median of " << suggestions << "\n\n";
  print_table(std::cout, lines);
  if (!options.json.empty()) std::ofstream(options.json) << all.dump(1) << "\n";
}

std::string mean_text(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  double mean = 0, square = 0;
  for (const double value : values) mean += value / n;
  for (const double value : values) square += (value - mean) * (value - mean) / n;
  char text[64];
  std::snprintf(text, sizeof text, "%.3g +- %.2g", mean, std::sqrt(square / std::max(1.0, n - 1)));
  return text;
}

/// How many of the last 30 trials fail where some configs do, and what is found beside.
void measure_failures(const Options& options) {
  constexpr int last = 30;
  const int trials = options.budgets.back();
  std::cout << "Failed among the last " << last << " of " << trials
            << " trials, and the best loss above the optimum: means over " << options.seeds
            << " seeds with standard errors\n\n";
  std::vector<std::vector<std::string>> lines{{"searcher"}};
  const std::vector<SearchTask> tasks = failing_tasks();
  for (const SearchTask& task : tasks) {
    lines[0].push_back(task.name + ": failed");
    lines[0].push_back("best");
  }
  std::unique_ptr<Peer> peer;
  if (!options.python.empty()) peer = std::make_unique<Peer>(options.python);
  for (const Contestant& one : contestants_of(options)) {
    if (one.is_peer() && !peer) continue;
    std::fprintf(stderr, "\r%s            ", one.name.c_str());
    lines.push_back({one.name});
    for (const SearchTask& task : tasks) {
      std::vector<double> failed, best;
      for (int seed = 0; seed < options.seeds; ++seed) {
        const SearchCase what{&task, trials, 1, static_cast<std::uint64_t>(seed)};
        const SearchRun run = one.is_peer() ? peer->run(one.name, what) : run_search(one, what);
        failed.push_back(run.failed_among_last(last));
        best.push_back(run.best_after(trials) - task.optimum);
      }
      lines.back().push_back(mean_text(failed));
      lines.back().push_back(mean_text(best));
    }
  }
  std::fprintf(stderr, "\n");
  print_table(std::cout, lines);
}

/// At the commas that are not within braces.
std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : list) {
    if (c == '{') ++depth;
    if (c == '}') --depth;
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::vector<int> numbers_of(const std::string& list) {
  std::vector<int> numbers;
  for (const std::string& part : split(list)) {
    numbers.push_back(std::stoi(part));
    if (numbers.back() < 1) throw std::invalid_argument("not above 0: " + part);
  }
  return numbers;
}

std::vector<Contestant> searchers_of(const std::string& list) {
  std::vector<Contestant> all;
  for (const std::string& part : split(list)) {
    all.push_back({part, part.front() == '{' ? Json::parse(part) : Json{{"type", part}}});
  }
  return all;
}

Options parse(int argc, char** argv) {
  Options options;
  for (const auto& [name, factory] : built_in_catalogue().searchers) {
    if (name != "grid" && name != "program") options.searchers.push_back({name, {{"type", name}}});
  }
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--timing") {
      options.is_timing = true;
      continue;
    }
    if (name == "--failures") {
      options.is_about_failures = true;
      continue;
    }
    if (++i == argc) throw std::invalid_argument(name + " needs a value");
    const std::string value = argv[i];
    if (name == "--searchers") {
      options.searchers = value == "none" ? std::vector<Contestant>() : searchers_of(value);
    } else if (name == "--peers") {
      options.peers = split(value);
    } else if (name == "--tasks") {
      options.tasks = split(value);
    } else if (name == "--tables") {
      options.tables = value;
    } else if (name == "--budgets") {
      options.budgets = numbers_of(value);
    } else if (name == "--concurrency") {
      options.concurrency = numbers_of(value);
    } else if (name == "--observations") {
      options.observations = numbers_of(value);
    } else if (name == "--seeds") {
      options.seeds = std::stoi(value);
    } else if (name == "--jobs") {
      options.jobs = std::max(1, std::stoi(value));
    } else if (name == "--peer") {
      options.python = value;
    } else if (name == "--peer-results") {
      options.peer_results = value;
    } else if (name == "--json") {
      options.json = value;
    } else {
      throw std::invalid_argument("unknown option " + name);
    }
  }
  return options;
}

}  // namespace
}  // namespace tune::bench

int main(int argc, char** argv) {
  try {
    const auto options = tune::bench::parse(argc, argv);
    if (options.is_timing) {
      tune::bench::measure_times(options);
    } else if (options.is_about_failures) {
      tune::bench::measure_failures(options);
    } else {
      tune::bench::measure_quality(options);
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "bench_search_quality: " << error.what() << "\n";
    return 1;
  }
}
