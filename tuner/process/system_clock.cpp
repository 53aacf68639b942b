// std::chrono's clocks as a Clock.
#include "tuner/process/system_clock.h"

#include <chrono>

namespace tune {
namespace {

template <class StdClock>
Seconds read() {
  return std::chrono::duration<Seconds>(StdClock::now().time_since_epoch()).count();
}

class SystemClock final : public Clock {
 public:
  Seconds now() const override { return read<std::chrono::system_clock>(); }
  Seconds steady() const override { return read<std::chrono::steady_clock>(); }
};

}  // namespace

std::unique_ptr<Clock> make_system_clock() { return std::make_unique<SystemClock>(); }

std::int64_t unix_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace tune
