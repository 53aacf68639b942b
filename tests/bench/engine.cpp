// run_experiment with the loggers that are always there, watched by a callback.
// Knows no raw limit and no aim.
#include "tests/bench/engine.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>

#include "tests/bench/raw_limits.h"
#include "tuner/run.h"

namespace tune::bench {

namespace {

using SteadyClock = std::chrono::steady_clock;

double seconds_since(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

/// How often this thread has lost its processor against its will.
long preemptions() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

/// Times the turns, and the results from when the last trial has begun to when the first one ends.
class Probe final : public Callback {
 public:
  Probe(const Plan& plan, Measured& measured) : plan_(plan), measured_(measured) {}

  std::string name() const override { return "probe"; }

  void on_step_begin(const Experiment&) override {
    turn_begin_ = SteadyClock::now();
    preemptions_ = preemptions();
  }
  void on_step_end(const Experiment&) override {
    const double seconds = seconds_since(turn_begin_);
    measured_.worst_turn_s = std::max(measured_.worst_turn_s, seconds);
    if (seconds <= measured_.worst_own_turn_s || preemptions() != preemptions_) return;
    measured_.worst_own_turn_s = seconds;
  }
  void on_trial_result(const Trial& trial, Result& result) override {
    ++measured_.results;
    if (trial.iteration == 0 && ++begun_ == plan_.trials) {
      window_begin_ = SteadyClock::now();
      results_before_ = measured_.results;
    }
    if (result.done && measured_.results_per_s == 0 && begun_ == plan_.trials) {
      const auto results = static_cast<double>(measured_.results - results_before_);
      measured_.results_per_s = results / seconds_since(window_begin_);
    }
  }
  void on_notice(const std::string& sentence) override {
    std::fprintf(stderr, "\n%s\n", sentence.c_str());
  }

 private:
  const Plan& plan_;
  Measured& measured_;
  SteadyClock::time_point turn_begin_;
  long preemptions_ = 0;
  int begun_ = 0;
  std::uint64_t results_before_ = 0;
  SteadyClock::time_point window_begin_;
};

/// Nothing is removed between runs: ext4 avoids inodes that were freed a moment ago, one by one.
std::string unused_name(const std::filesystem::path& scratch) {
  int number = 1;
  while (std::filesystem::exists(scratch / std::to_string(number))) ++number;
  return std::to_string(number);
}

ExperimentSpec make_spec(const std::string& program, const Plan& plan,
                         const std::filesystem::path& scratch, const Catalogue& catalogue) {
  const Json json = {{"name", unused_name(scratch)},
                     {"storage_path", scratch.string()},
                     {"trainable", {{"command", {program}}}},
                     {"param_space",
                      {{"learning_rate", {{"loguniform", {1e-4, 1.0}}}},
                       {"steps", plan.steps},
                       {"period_s", plan.period_s},
                       {"duration_s", plan.duration_s},
                       {"measure", plan.measure_latency},
                       {"cpu", plan.cpu}}},
                     {"metric", "loss"},
                     {"mode", "min"},
                     {"num_samples", plan.trials},
                     {"searcher", {{"type", "random"}}},  // one that models would be measured, too
                     {"resources", {{"cpu", plan.slots}}},
                     {"seed", 1}};
  std::vector<Problem> problems;
  ExperimentSpec spec = parse_spec(json, scratch, catalogue, problems);
  for (const auto& problem : problems)
    throw std::runtime_error(problem.pointer + ": " + problem.sentence);
  return spec;
}

void require_good_end(const RunOutcome& outcome, const Plan& plan) {
  const Experiment& experiment = outcome.results.experiment();
  const auto well = experiment.count(TrialState::terminated);
  if (outcome.end.kind != LoopEnd::Kind::finished ||
      well != static_cast<std::size_t>(plan.trials)) {
    throw std::runtime_error(std::to_string(well) + " of " + std::to_string(plan.trials) +
                             " trials ended well; " + outcome.end.reason);
  }
  for (const auto& trial : experiment.trials()) {
    if (trial.failures > 0) throw std::runtime_error(to_string(trial.id) + ": " + *trial.error);
    if (plan.steps > 0 && trial.iteration != plan.steps) {
      throw std::runtime_error(to_string(trial.id) + " lacks results");
    }
  }
}

}  // namespace

Measured run_engine(const std::string& program, const Plan& plan,
                    const std::filesystem::path& scratch) {
  const Catalogue catalogue = built_in_catalogue();
  const ExperimentSpec spec = make_spec(program, plan, scratch, catalogue);
  Measured measured;
  RunOptions options;
  options.callbacks.push_back(std::make_unique<Probe>(plan, measured));
  const auto begin = SteadyClock::now();
  const CpuTime begin_cpu;
  const double begin_loop_s = cpu_s_of(RUSAGE_THREAD);
  const RunOutcome outcome = run_experiment(spec, catalogue, std::move(options));
  measured.seconds = seconds_since(begin);
  measured.cpu = CpuTime{}.since(begin_cpu);
  measured.loop_cpu_s = cpu_s_of(RUSAGE_THREAD) - begin_loop_s;
  measured.state_s = outcome.cost.write_s;
  require_good_end(outcome, plan);
  if (plan.measure_latency) {
    measured.latency_s = read_latencies(outcome.results[0].path / "work" / "latencies.txt");
  }
  return measured;
}

}  // namespace tune::bench
