// What an event costs in virtual time, with few and with very many trials: the loop, the policies,
// the committer and the checkpoint manager as they are, around trials that cost nothing. And what
// copying the scheduler for a snapshot costs.
//   bench_simulate [--scheduler NAME|JSON] [--trials N ...] [--workers W] [--iterations I]
//                  [--copy-every RESULTS]
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "tuner/base/error.h"
#include "tuner/simulation/simulation.h"

namespace tune::bench {
namespace {

struct Options {
  Json scheduler = {{"type", "fifo"}};
  std::vector<std::int64_t> trials = {1'000, 10'000, 100'000};
  int workers = 1'000;
  std::int64_t iterations = 16;
  std::int64_t copy_every = 0;  ///< results; 0: never
};

/// A scheduler that is copied now and then, as for snapshots; the copies are thrown away.
class Copied : public Scheduler {
 public:
  struct Times {
    std::vector<double> ms;
  };
  Copied(std::unique_ptr<Scheduler> inner, std::int64_t every, Times& times)
      : inner_(std::move(inner)), every_(every), times_(times) {}
  void on_trial_add(const Trial& trial) override { inner_->on_trial_add(trial); }
  void on_trial_start(const Trial& trial) override { inner_->on_trial_start(trial); }
  void on_trial_wait(const Trial& trial) override { inner_->on_trial_wait(trial); }
  void on_trial_end(const Trial& trial) override { inner_->on_trial_end(trial); }
  std::optional<Order> order() const override { return inner_->order(); }
  void on_order(const Trial& trial) override { inner_->on_order(trial); }
  std::optional<TrialId> choose(const Experiment& experiment, Seconds now,
                                bool more) const override {
    return inner_->choose(experiment, now, more);
  }
  Json save() const override { return inner_->save(); }
  void load(const Json& state) override { inner_->load(state); }
  Decision on_result(const Trial& trial, const Result& result) override {
    if (++results_ % every_ == 0) {
      const auto before = std::chrono::steady_clock::now();
      const auto copy = inner_->copy();
      const std::chrono::duration<double, std::milli> took =
          std::chrono::steady_clock::now() - before;
      times_.ms.push_back(took.count());
      ensure(copy != nullptr, "what ships can be copied");
    }
    return inner_->on_result(trial, result);
  }

 private:
  std::unique_ptr<Scheduler> inner_;
  std::int64_t every_;
  std::int64_t results_ = 0;
  Times& times_;
};

double rss_bytes() {
  ::malloc_trim(0);
  std::ifstream file("/proc/self/statm");
  double pages = 0;
  double resident = 0;
  file >> pages >> resident;
  return resident * 4096;
}

/// Of this process; other work on the machine counts less than in the time that passes.
double processor_s() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// A loss that falls towards a floor of its config's own, in steps of unequal length.
SimulatedStep step(const SimulatedRun& run) {
  const double x = run.config.at("x");
  const auto t = static_cast<double>(run.iteration);
  const double loss = std::abs(x - 0.3) + std::exp(-t * (0.1 + x)) + 0.01 * std::sin(1e4 * x + t);
  SimulatedStep done{.takes_s = 10 + 5 * std::sin(1e5 * x + 7 * t)};
  done.metrics = Metrics{"{\"loss\":" + encode_number(loss).dump() + "}", {{"loss", loss}}};
  return done;
}

struct Figures {
  std::uint64_t results = 0;
  std::uint64_t events = 0;
  double seconds = 0;
  double processor_s = 0;
  double bytes_per_trial = 0;
  std::vector<double> copies_ms;  ///< of the last quarter, shortest first
};

Figures measure(const Options& options, std::int64_t trials) {
  ExperimentSpec spec;
  spec.param_space = {{"x", {{"uniform", {0, 1}}}}, {"batch", {{"choice", {16, 32, 64}}}}};
  spec.objectives = {{"loss", Mode::min}};
  spec.num_samples = trials;
  spec.resources = {{"cpu", static_cast<double>(options.workers)}};
  spec.stop = {{"training_iteration", options.iterations}};
  spec.scheduler = options.scheduler;
  spec.searcher = {{"type", "random"}};  // the scheduler is measured, and what is around it
  spec.checkpoint_config.num_to_keep = 1;
  SimulatedProgram program;
  program.step = step;
  Catalogue catalogue = built_in_catalogue();
  Copied::Times times;
  if (options.copy_every > 0) {
    auto& factory = catalogue.schedulers.at(spec.scheduler.at("type").get<std::string>());
    factory = [&, make = factory](const Json& policy, const PolicyContext& context) {
      return std::make_unique<Copied>(make(policy, context), options.copy_every, times);
    };
  }
  const double before = rss_bytes();
  const auto started = std::chrono::steady_clock::now();
  const double processor_before = processor_s();
  const RunOutcome outcome = simulate_experiment(spec, catalogue, std::move(program));
  Figures figures;
  figures.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  figures.processor_s = processor_s() - processor_before;
  const Experiment& experiment = outcome.results.experiment();
  ensure(experiment.trials().size() == static_cast<std::size_t>(trials), "all trials were drawn");
  // Those that were never promoted stay paused.
  ensure(experiment.count(TrialState::terminated) + experiment.count(TrialState::paused) ==
             experiment.trials().size(),
         "all trials ended well");
  figures.results = experiment.results();
  figures.events = experiment.last_event();
  const auto last_quarter = std::ssize(times.ms) * 3 / 4;
  figures.copies_ms.assign(times.ms.begin() + last_quarter, times.ms.end());
  std::sort(figures.copies_ms.begin(), figures.copies_ms.end());
  figures.bytes_per_trial = (rss_bytes() - before) / static_cast<double>(trials);
  return figures;
}

void run(const Options& options) {
  std::printf("%s, %d workers, at most %lld iterations a trial\n", options.scheduler.dump().c_str(),
              options.workers, static_cast<long long>(options.iterations));
  std::printf("%10s %10s %10s %8s %12s %12s %12s\n", "trials", "results", "events", "s",
              "cpu us/event", "events/s", "bytes/trial");
  for (const std::int64_t trials : options.trials) {
    const Figures figures = measure(options, trials);
    const auto events = static_cast<double>(figures.events);
    std::printf("%10lld %10llu %10llu %8.2f %12.2f %12.0f %12.0f\n", static_cast<long long>(trials),
                static_cast<unsigned long long>(figures.results),
                static_cast<unsigned long long>(figures.events), figures.seconds,
                figures.processor_s * 1e6 / events, events / figures.seconds,
                figures.bytes_per_trial);
    if (const auto& copies = figures.copies_ms; !copies.empty()) {
      std::printf("%10s copying it took %.2f ms, at most %.2f\n", "", copies[copies.size() / 2],
                  copies.back());
    }
    std::fflush(stdout);
  }
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const std::string value = argv[i + 1];
    if (name == "--scheduler") {
      options.scheduler = value.front() == '{' ? Json::parse(value) : Json{{"type", value}};
    } else if (name == "--trials") {
      options.trials.clear();
      for (; i + 1 < argc && argv[i + 1][0] != '-'; ++i) {
        options.trials.push_back(std::stoll(argv[i + 1]));
      }
      --i;
    } else if (name == "--workers") {
      options.workers = std::stoi(value);
    } else if (name == "--copy-every") {
      options.copy_every = std::stoll(value);
    } else if (name == "--iterations") {
      options.iterations = std::stoll(value);
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
    std::cerr << "bench_simulate: " << error.what() << "\n";
    return 1;
  }
}
