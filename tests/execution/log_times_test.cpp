// When a log had grown to a size, as far as somebody has seen it.
#include "tuner/execution/plain/log_times.h"

#include <fstream>

#include "tests/execution/session.h"
#include "tests/support/catch.h"
#include "tuner/execution/plain/launch_logs.h"
#include "tuner/process/system_clock.h"

namespace tune {
namespace {

TEST_CASE("A byte of a log was printed when the log was seen first with it", "[unit][plain]") {
  LogTimes times;
  CHECK_FALSE(times.growth_to(0, 1));
  times.note(0, 10, 100);
  times.note(0, 10, 150);
  times.note(0, 30, 200);
  CHECK(times.growth_to(0, 1)->ns == 100);
  CHECK(times.growth_to(0, 10)->ns == 100);
  CHECK(times.growth_to(0, 11)->ns == 200);
  CHECK(times.growth_to(0, 30)->ns == 200);
  CHECK_FALSE(times.growth_to(0, 31));
  CHECK_FALSE(times.growth_to(1, 1));
}

TEST_CASE("Of a log that has grown often nothing is claimed of its beginning", "[unit][plain]") {
  LogTimes times;
  for (std::uint64_t i = 1; i <= 3000; ++i) times.note(1, i, static_cast<std::int64_t>(i));
  CHECK(times.growth_to(1, 3000)->ns == 3000);
  CHECK(times.growth_to(1, 2500)->ns == 2500);
  CHECK_FALSE(times.growth_to(1, 5));
}

TEST_CASE("What was printed since somebody looked last may be as old as that", "[unit][plain]") {
  const test::TempDir dir;
  const auto path = dir.path() / "log";
  std::ofstream log(path);
  LaunchLogs logs;
  logs.open(path, path);
  constexpr std::int64_t ns_per_s = 1'000'000'000;
  for (const std::int64_t gap_s : {0, 10}) {
    CAPTURE(gap_s);
    log << "loss: 1" << std::endl;
    logs.watched_until(unix_ns() - gap_s * ns_per_s);
    const auto growth = logs.times().growth_to(0, logs.look().stdout_bytes);
    REQUIRE(growth);
    CHECK(growth->lag_ns / ns_per_s >= gap_s - 1);
    if (gap_s == 0) CHECK(growth->lag_ns == 0);
  }
}

}  // namespace
}  // namespace tune
