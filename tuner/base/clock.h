// Time as a value. Code that needs the time is given a Clock or a time; the model and the policies
// read no clock.
#pragma once

#include <limits>

namespace tune {

/// Seconds; as a point in time, seconds since the Unix epoch.
using Seconds = double;

/// A point in time that is never reached.
inline constexpr Seconds never_s = std::numeric_limits<Seconds>::infinity();

class Clock {
 public:
  virtual ~Clock() = default;
  /// Unix time, for people and records. May jump.
  virtual Seconds now() const = 0;
  /// Time that never goes back, for deadlines and durations.
  virtual Seconds steady() const = 0;
};

}  // namespace tune
