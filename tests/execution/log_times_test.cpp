// When a log had grown to a size, as far as somebody has seen it.
#include "tuner/execution/script/log_times.h"

#include "tests/support/catch.h"

namespace tune {
namespace {

TEST_CASE("A byte of a log was printed when the log was seen first with it", "[unit][plain]") {
  LogTimes times;
  CHECK_FALSE(times.printed_ns(0, 1));
  times.note(0, 10, 100);
  times.note(0, 10, 150);
  times.note(0, 30, 200);
  CHECK(times.printed_ns(0, 1) == 100);
  CHECK(times.printed_ns(0, 10) == 100);
  CHECK(times.printed_ns(0, 11) == 200);
  CHECK(times.printed_ns(0, 30) == 200);
  CHECK_FALSE(times.printed_ns(0, 31));
  CHECK_FALSE(times.printed_ns(1, 1));
}

TEST_CASE("Of a log that has grown often nothing is claimed of its beginning", "[unit][plain]") {
  LogTimes times;
  for (std::uint64_t i = 1; i <= 3000; ++i) times.note(1, i, static_cast<std::int64_t>(i));
  CHECK(times.printed_ns(1, 3000) == 3000);
  CHECK(times.printed_ns(1, 2500) == 2500);
  CHECK_FALSE(times.printed_ns(1, 5));
}

}  // namespace
}  // namespace tune
