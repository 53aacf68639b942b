// A clock that stands still until it is moved by hand.
#pragma once

#include "tuner/base/clock.h"

namespace tune {

class VirtualClock : public Clock {
 public:
  Seconds now() const override { return epoch_s + time + is_ahead_s; }
  Seconds steady() const override { return time; }

  /// The Unix time at which every simulation starts: records of equal runs are equal.
  static constexpr Seconds epoch_s = 1.7e9;
  Seconds time = 0;
  Seconds is_ahead_s = 0;  ///< of what it would say if nobody had set it
};

}  // namespace tune
