// What the machine itself can do: start and reap processes, echo lines. The denominators.
// Knows nothing of the engine.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/bench/cpus.h"

namespace tune::bench {

struct RawSpawns {
  double per_s = 0;
  CpuTime cpu;
};

/// `trials` times posix_spawn and reap of `program --exit`, `in_flight` at a time.
RawSpawns raw_spawns(const std::string& program, int trials, int in_flight);

struct RawEcho {
  double per_s = 0;               ///< round trips, while all children were at it
  std::vector<double> latency_s;  ///< as the children saw them, unordered; of one child only
};

/// `children` processes that send a line of a result's size and wait for one of a step's, over
/// socketpairs on one epoll, for `duration_s` each, on `cpu`.
RawEcho raw_echo(const std::string& program, int children, double duration_s,
                 const std::filesystem::path& scratch, int cpu = any_cpu);

/// The nanoseconds in the lines of `file`, as seconds.
std::vector<double> read_latencies(const std::filesystem::path& file);

}  // namespace tune::bench
