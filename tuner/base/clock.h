// Time as a value. Whoever needs the time is given a Clock or a time; nothing in core reads one.
#pragma once

#include <limits>

namespace tune {

/// Seconds; as a point in time, seconds since the Unix epoch.
using Seconds = double;

/// A moment that does not come.
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
