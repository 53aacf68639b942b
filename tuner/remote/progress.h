// Tells a transfer that is slow from one that stands still.
#pragma once

#include <cstdint>
#include <string>

#include "tuner/disk/liveness.h"
#include "tuner/remote/rcd.h"

namespace tune {

/// Of one transfer, from now on.
class Progress {
 public:
  /// Longer than rclone waits for a store that is silent.
  static constexpr Seconds stalled_s = 120;

  /// `moved_bytes`: by now. RemoteError (unreachable) if they have been as many for too long.
  void require(const std::string& doing, std::uint64_t moved_bytes) {
    const Seconds now = seconds_since_boot();
    if (moved_bytes != moved_bytes_) {
      moved_bytes_ = moved_bytes;
      moved_at_ = now;
    } else if (now - moved_at_ > stalled_s) {
      throw RemoteError(
          RemoteError::Kind::unreachable,
          doing + ": nothing has moved for " + std::to_string(static_cast<int>(stalled_s)) + " s");
    }
  }

 private:
  std::uint64_t moved_bytes_ = 0;
  Seconds moved_at_ = seconds_since_boot();
};

}  // namespace tune
