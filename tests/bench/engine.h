// One experiment of the trivial trainable, run in this process by the engine as users get it.
// Knows no raw limit and no aim.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/bench/cpus.h"

namespace tune::bench {

/// What the trials do; see trivial_trainable.cpp.
struct Plan {
  int trials = 1;
  int slots = 1;           ///< trials at a time
  std::int64_t steps = 0;  ///< results of a trial; 0: as many as there are
  double period_s = 0;     ///< between results; 0: none
  double duration_s = 0;   ///< of a trial; 0: until `steps`
  bool measure_latency = false;
  int cpu = any_cpu;  ///< that the trials are to run on
};

struct Measured {
  double seconds = 0;  ///< of the whole run, from spec to result grid
  std::uint64_t results = 0;
  double results_per_s = 0;     ///< while all trials were running; 0 if they never were
  double worst_turn_s = 0;      ///< of the loop, outside of the wait for events
  double worst_own_turn_s = 0;  ///< the same, of those in which no other work took the processor
  CpuTime cpu;                  ///< of the whole run
  double loop_cpu_s = 0;        ///< processor time of the loop's thread in the whole run
  double state_s = 0;           ///< spent on the loop to format and write the journal
  std::vector<double> latency_s;
};

/// Throws if a single trial did not end well.
Measured run_engine(const std::string& program, const Plan& plan,
                    const std::filesystem::path& scratch);

}  // namespace tune::bench
