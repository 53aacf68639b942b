// How many trials reached and passed each rung of successive halving, for people. Decides nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tune {

struct RungReport {
  std::int64_t bracket = 0;  ///< from 0
  double milestone = 0;      ///< in units of the time attribute
  /// Trials that were judged here, and those of them that were let go on. Nothing: not known, as
  /// the state is that of an older program.
  std::optional<std::uint64_t> reached, went_on;
  std::uint64_t waiting = 0;     ///< paused here, not judged for good
  std::optional<double> cutoff;  ///< of the metric: who is worse does not go on; nothing: none yet
};

struct RungsReport {
  std::string time_attr;
  std::string metric;
  std::vector<RungReport> rungs;  ///< by bracket, then by milestone
};

}  // namespace tune
