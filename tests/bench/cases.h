// The cases: what is measured beside which limit, and what is aimed at.
// Knows not how a limit is taken or an experiment run.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/bench/report.h"

namespace tune::bench {

/// Trials that pace themselves, as in a row of Ray Tune's published benchmarks.
struct Work {
  std::string name;
  int trials = 0;
  int slots = 0;
  std::int64_t steps = 0;
  double period_s = 0;
  bool has_aim = false;  ///< a short form tells little of a whole run's overhead

  /// What the work takes if everything besides it takes no time.
  double ideal_s() const;
};

struct Settings {
  std::string program;            ///< the trivial trainable
  std::filesystem::path scratch;  ///< a directory for experiments
  int repeat = 3;

  int launch_trials = 3000;
  int in_flight = 16;
  std::size_t heap_bytes = std::size_t{2} << 30;
  int descriptors = 1000;
  std::vector<int> children = {1, 16, 256};
  double duration_s = 3;  ///< of trials that report as fast as they can
  std::vector<Work> works;

  std::function<void(const std::string&)> progress;
};

/// Trials per second: trivial ones, beside bare processes; with much heap; with many descriptors.
void measure_launches(const Settings& settings, Report& report);
/// Results per second, beside an echo over bare sockets.
void measure_results(const Settings& settings, Report& report);
/// Time from a result to the next command, beside a bare round trip.
void measure_latency(const Settings& settings, Report& report);
/// Seconds for work whose ideal is known.
void measure_work(const Settings& settings, Report& report);

}  // namespace tune::bench
