// Logs that others cut down, rename or remove while their program writes to them.
#include "tuner/execution/plain/launch_logs.h"

#include <array>
#include <fstream>

#include "tests/execution/session.h"
#include "tests/support/catch.h"
#include "tuner/execution/plain/plain_session.h"

namespace tune {
namespace {

using test::TempDir;

void print(const std::filesystem::path& log, const std::string& line) {
  std::ofstream(log, std::ios::app) << line << std::endl;
}

TEST_CASE("What comes after a log was cut down stands behind all that it had", "[unit][plain]") {
  const TempDir dir;
  const auto log = dir.path() / "log";
  print(log, "0123456789");
  LaunchLogs logs;
  logs.open(log, log);
  std::array<char, 64> block{};
  std::uint64_t at = 0;
  CHECK(logs.read(0, at, block).bytes == 11);
  at += 11;
  std::filesystem::resize_file(log, 0);
  print(log, "abc");
  CHECK(logs.look().stdout_bytes == 16);
  const auto read = logs.read(0, at, block);
  CHECK(read.is_behind_cut);
  CHECK(std::string(block.data(), read.bytes) == "abc\n");
  CHECK(at == 12);
  at += read.bytes;
  CHECK_FALSE(logs.read(0, at, block).is_behind_cut);
  CHECK(logs.before(0, at, 100) == "abc\n");
}

TEST_CASE("What is left of a log that was cut down is not read again", "[unit][plain]") {
  const TempDir dir;
  const auto log = dir.path() / "log";
  print(log, "loss: 1\nloss: 2\nloss: 3");
  LaunchLogs logs;
  logs.open(log, log);
  std::array<char, 64> block{};
  std::uint64_t at = 0;
  const std::size_t has_read = GENERATE(24, 8);
  at += logs.read(0, at, std::span(block).first(has_read)).bytes;
  std::filesystem::resize_file(log, 13);
  CHECK(logs.look().stdout_bytes > 24);
  print(log, "loss: 4");
  const auto read = logs.read(0, at, block);
  CHECK(read.is_behind_cut);
  CHECK_FALSE(read.is_read_again);
  CHECK(std::string(block.data(), read.bytes) == (has_read == 24 ? "loss: 4\n" : "loss:loss: 4\n"));
  at += read.bytes;
  CHECK_FALSE(logs.read(0, at, block).is_behind_cut);
}

TEST_CASE("A log that was cut down and begins otherwise is read from its begin", "[unit][plain]") {
  const TempDir dir;
  const auto log = dir.path() / "log";
  print(log, "loss: 1\nloss: 2\nloss: 3");
  LaunchLogs logs;
  logs.open(log, log);
  std::array<char, 64> block{};
  std::uint64_t at = 0;
  at += logs.read(0, at, block).bytes;
  std::filesystem::resize_file(log, 0);
  print(log, "loss: 4");
  const auto read = logs.read(0, at, block);
  CHECK(read.is_read_again);
  CHECK(std::string(block.data(), read.bytes) == "loss: 4\n");
}

TEST_CASE("A log that is renamed or removed is the same one", "[unit][plain]") {
  const TempDir dir;
  const auto log = dir.path() / "log";
  print(log, "012");
  LaunchLogs logs;
  logs.open(log, log);
  std::filesystem::rename(log, dir.path() / "log.1");
  print(log, "");
  print(dir.path() / "log.1", "3456");
  CHECK(logs.look().stdout_bytes == 9);
  std::filesystem::remove(dir.path() / "log.1");
  CHECK(logs.look().stdout_bytes == 9);
}

TEST_CASE("Results go on where a log was cut down, and what is saved from then on is a guess",
          "[unit][plain]") {
  const TempDir dir;
  PlainHabits habits;
  const auto log = dir.path() / "log";
  print(log, "");
  const bool counts = GENERATE(false, true);
  PlainReading reading{{{"loss", ""}, {"training_iteration", ""}},
                       {"loss"},
                       PlainWatch{.root = dir.path(), .pattern = "last"}};
  reading.checkpoints->saved = SavedWhen::after_result;
  PlainSession session(LaunchId(1), reading, habits, log, log);
  session.begin(0, 0);
  session.on_command(protocol::Start{});
  std::vector<Wakeup> said;
  const auto print_result = [&](int i) {
    print(log, (counts ? "training_iteration: " + std::to_string(i) + " " : "") +
                   "loss: " + std::to_string(i));
    session.read();
    const std::int64_t now_ns = unix_ns();
    session.find({{dir.path(), "last", true, {{"", 1, 1, now_ns}}}, session.logs()->look(), now_ns},
                 false);
    session.on_command(protocol::Step{});
    session.say(said);
  };
  print_result(1);
  print_result(2);
  std::filesystem::resize_file(log, 0);
  print_result(3);
  print_result(4);
  std::vector<double> losses;
  std::vector<std::int64_t> iterations;
  std::vector<bool> guesses;
  int remarks = 0;
  for (const Wakeup& wakeup : said) {
    if (const auto* const reported = std::get_if<Reported>(&wakeup)) {
      losses.push_back(reported->metrics->find("loss").value());
    } else if (const auto* const found = std::get_if<CheckpointFound>(&wakeup)) {
      iterations.push_back(found->iteration);
      guesses.push_back(found->is_guess);
    } else if (const auto* const remark = std::get_if<LaunchAdvisory>(&wakeup)) {
      remarks += remark->what == LaunchAdvisory::What::log_cut ? 1 : 0;
    }
  }
  CHECK(losses == std::vector<double>{1, 2, 3, 4});
  CHECK(iterations == std::vector<std::int64_t>{1, 2, 3, 4});
  // Who prints its iterations misses none unseen.
  CHECK(guesses == std::vector<bool>{false, false, !counts, !counts});
  CHECK(remarks == 1);
}

}  // namespace
}  // namespace tune
