// The machine's clocks.
#pragma once

#include <cstdint>
#include <memory>

#include "tuner/base/clock.h"

namespace tune {

/// `steady` is CLOCK_MONOTONIC in seconds, the time of Executor::wait's deadlines.
std::unique_ptr<Clock> make_system_clock();

/// Nanoseconds of Unix time, to compare with what file systems say.
std::int64_t unix_ns();

}  // namespace tune
