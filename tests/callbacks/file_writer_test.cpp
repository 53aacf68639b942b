// Writing beside the loop: order, limits, and files that fail while others go on.
#include "callbacks/file_writer.h"

#include <sys/stat.h>

#include <filesystem>

#include "tests/callbacks/callback_fixture.h"
#include "tests/support/catch.h"

using namespace tune;
using namespace tune::testing;

namespace {

std::string row(int iteration) {
  return "{\"training_iteration\":" + std::to_string(iteration) + ",\"a\":1}\n";
}

FileWriterOptions options_with(Notices& notices) {
  FileWriterOptions options;
  options.format = RowFormat::json;
  options.notice = notices.taker();
  return options;
}

}  // namespace

TEST_CASE("FileWriter carries out the operations on a file in their order", "[callbacks][writer]") {
  const TemporaryDirectory directory;
  const std::string file = directory / "trial_00000/result.json";
  Notices notices;
  {
    FileWriter writer(options_with(notices));
    for (int i = 1; i <= 5; ++i) writer.append(file, "", row(i));
    writer.cut(file, 2);
    writer.append(file, "", row(3));
    writer.mend(file, "", row(2));
    writer.mend(file, "", row(3));
    writer.flush();
    CHECK(read(file) == row(1) + row(2) + row(3));
    writer.append(file, "", row(4));
  }
  CHECK(read(file) == row(1) + row(2) + row(3) + row(4));
  CHECK(notices.all().empty());
}

TEST_CASE("FileWriter has settled when all it was given is in the files, be they few or many",
          "[callbacks][writer]") {
  const int count = GENERATE(1, 50);
  const TemporaryDirectory directory;
  Notices notices;
  FileWriterOptions options = options_with(notices);
  options.flush_period_s = 1e6;
  FileWriter writer(options);
  for (int round = 1; round <= 2; ++round) {
    for (int i = 0; i < count; ++i) {
      writer.append(directory / ("trial_" + std::to_string(i) + "/result.json"), "", row(round));
    }
    writer.flush_durable();
    for (int i = 0; i < count; ++i) {
      const std::string found = read(directory / ("trial_" + std::to_string(i) + "/result.json"));
      REQUIRE(found == (round == 1 ? row(1) : row(1) + row(2)));
    }
  }
  // What somebody has deleted since is nobody's loss.
  writer.append(directory / "trial_0/result.json", "", row(3));
  writer.flush();
  std::filesystem::remove_all(directory / "trial_0");
  writer.flush_durable();
  CHECK(notices.all().empty());
}

TEST_CASE("FileWriter that is told to stop while it settles does so the next time",
          "[callbacks][writer]") {
  const TemporaryDirectory directory;
  Notices notices;
  FileWriter writer(options_with(notices));
  writer.append(directory / "trial_0/result.json", "", row(1));
  std::stop_source stop;
  stop.request_stop();
  for (int i = 0; i < 2; ++i) {
    CHECK_THROWS_WITH(writer.flush_durable(stop.get_token()),
                      Catch::Matchers::EndsWith("was broken off"));
  }
  CHECK(read(directory / "trial_0/result.json") == row(1));
  writer.flush_durable();
}

TEST_CASE("FileWriter does not settle what it could not write or has left out",
          "[callbacks][writer]") {
  const TemporaryDirectory directory;
  const std::string file = directory / "trial_00000/result.json";
  Notices notices;
  FileWriterOptions options = options_with(notices);
  SECTION("a file that fails, until it can be written") {
    write(directory / "trial_00000", "a file where a directory should be");
    FileWriter writer(options);
    writer.append(file, "", row(1));
    CHECK_THROWS_WITH(writer.flush_durable(), Catch::Matchers::EndsWith("among them " + file));
    std::filesystem::remove(directory / "trial_00000");
    writer.flush_durable();
    CHECK(read(file) == row(1));
  }
  SECTION("rows for which there was no room") {
    options.memory_limit_bytes = 1;
    FileWriter writer(options);
    writer.append(file, "", row(1));
    CHECK_THROWS_WITH(writer.flush_durable(),
                      Catch::Matchers::StartsWith("1 rows of trials' files"));
  }
}

TEST_CASE("FileWriter names a file that fails once, keeps its rows, and goes on with the others",
          "[callbacks][writer]") {
  const TemporaryDirectory directory;
  const std::string good = directory / "trial_00000/result.json";
  const std::string bad = directory / "trial_00001/result.json";
  write(directory / "trial_00001", "a file where a directory should be");
  Notices notices;
  FileWriter writer(options_with(notices));
  for (int i = 1; i <= 3; ++i) {
    writer.append(bad, "", row(i));
    writer.append(good, "", row(i));
    writer.flush();
  }
  CHECK(read(good) == row(1) + row(2) + row(3));
  REQUIRE(notices.all().size() == 1);
  CHECK(notices.all()[0] == "cannot open " + bad +
                                ": Not a directory; the run goes on, and writing this file is "
                                "tried again");

  std::filesystem::remove(directory / "trial_00001");
  writer.append(bad, "", row(4));
  writer.flush();
  CHECK(read(bad) == row(1) + row(2) + row(3) + row(4));
  CHECK(writer.dropped() == 0);
}

TEST_CASE("FileWriter tells at its end what it could not write", "[callbacks][writer]") {
  const TemporaryDirectory directory;
  const std::string file = directory / "result.json";
  std::filesystem::create_directory(file);
  Notices notices;
  {
    FileWriter writer(options_with(notices));
    writer.append(file, "", row(1));
    writer.append(file, "", row(2));
  }
  REQUIRE(notices.all().size() == 2);
  CHECK(notices.all()[1] == "2 rows of 1 files could not be written, among them " + file);
}

TEST_CASE("FileWriter keeps what waits for a failing file within its limit",
          "[callbacks][writer]") {
  const TemporaryDirectory directory;
  const std::string bad = directory / "bad.json";
  const std::string good = directory / "good.json";
  std::filesystem::create_directory(bad);
  Notices notices;
  auto options = options_with(notices);
  options.memory_limit_of_failing_file_bytes = 10000;
  FileWriter writer(options);
  writer.append(bad, "", row(1));
  writer.flush();
  for (int i = 2; i <= 2000; ++i) writer.append(bad, "", row(i));
  CHECK(writer.dropped() > 1000);
  CHECK(writer.dropped() < 2000);
  for (int i = 1; i <= 2000; ++i) writer.append(good, "", row(i));
  writer.flush();
  CHECK(lines_of(read(good)).size() == 2000);
  CHECK(notices.all().size() == 1);
}

TEST_CASE("FileWriter leaves rows out rather than wait for a disk, and says so once",
          "[callbacks][writer]") {
  const TemporaryDirectory directory;
  const std::string file = directory / "result.json";
  Notices notices;
  auto options = options_with(notices);
  options.memory_limit_bytes = 2000;
  options.flush_period_s = 3600;
  FileWriter writer(options);
  for (int i = 1; i <= 500; ++i) writer.append(file, "", row(i));
  const auto dropped = writer.dropped();
  CHECK(dropped > 0);
  writer.flush();
  CHECK(lines_of(read(file)).size() == 500 - dropped);
  REQUIRE(notices.all().size() == 1);
  CHECK(notices.all()[0] ==
        "the disk does not keep up: rows are being left out, the first of them of " + file);
}

TEST_CASE("FileWriter waits for room before a run instead of leaving rows out",
          "[callbacks][writer]") {
  const TemporaryDirectory directory;
  const std::string file = directory / "result.json";
  Notices notices;
  auto options = options_with(notices);
  options.memory_limit_bytes = 2000;
  options.flush_period_s = 0;
  FileWriter writer(options);
  for (int i = 1; i <= 500; ++i) writer.mend(file, "", row(i));
  writer.flush();
  CHECK(writer.dropped() == 0);
  CHECK(lines_of(read(file)).size() == 500);
}

TEST_CASE("FileWriter takes a flood of rows for many files in bounded memory",
          "[callbacks][writer][flood]") {
  const TemporaryDirectory directory;
  Notices notices;
  auto options = options_with(notices);
  options.memory_limit_bytes = 4 << 20;
  FileWriter writer(options);
  constexpr int files = 256;
  constexpr int rows = 100000;
  const std::string padding(200, 'x');
  std::vector<std::string> paths;
  for (int i = 0; i < files; ++i) paths.push_back(directory / ("result-" + std::to_string(i)));
  for (int i = 0; i < rows; ++i) {
    writer.append(paths[static_cast<std::size_t>(i % files)], "",
                  "{\"training_iteration\":" + std::to_string(i) + ",\"" + padding + "\":1}\n");
  }
  writer.flush();
  std::size_t written = 0;
  for (const auto& path : paths) {
    const auto lines = lines_of(read(path));
    for (const auto& line : lines) REQUIRE(line.ends_with(padding + "\":1}"));
    written += lines.size();
  }
  CHECK(written + writer.dropped() == rows);
  CHECK(written > 0);
}

TEST_CASE(
    "FileWriter settles though one trial's file is spoilt, whose rows go beside its directory",
    "[callbacks][writer]") {
  const TemporaryDirectory directory;
  const std::string good = directory / "trial_00000/result.json";
  const std::string bad = directory / "trial_00001/result.json";
  const std::string stand_in = directory / "trial_00001.result.json";
  Notices notices;
  FileWriterOptions options = options_with(notices);
  options.has_stand_ins = true;
  FileWriter writer(options);
  writer.append(bad, "", row(1));
  writer.flush();
  std::filesystem::rename(bad, bad + ".old");
  SECTION("a directory") { std::filesystem::create_directory(bad); }
  SECTION("a FIFO") { REQUIRE(::mkfifo(bad.c_str(), 0600) == 0); }
  SECTION("a link") { std::filesystem::create_symlink("/dev/null", bad); }
  SECTION("all of its directory") {
    std::filesystem::remove_all(directory / "trial_00001");
    write(directory / "trial_00001", "a file");
  }
  for (int i = 2; i <= 3; ++i) {
    writer.append(bad, "", row(i));
    writer.append(good, "", row(i));
    writer.flush_durable();
  }
  CHECK(read(good) == row(2) + row(3));
  CHECK(read(stand_in) == row(2) + row(3));
  CHECK(notices.all().size() == 1);
  CHECK(notices.all()[0].ends_with("from now on what belongs there goes to " + stand_in));
  writer.cut(bad, 2);
  writer.append(bad, "", row(3));
  writer.flush_durable();
  CHECK(read(stand_in) == row(2) + row(3));
  CHECK(writer.dropped() == 0);
}

TEST_CASE("FileWriter leaves nothing out where much waits for a spoilt file",
          "[callbacks][writer]") {
  const TemporaryDirectory directory;
  const std::string bad = directory / "trial_00001/result.json";
  std::filesystem::create_directories(bad);
  Notices notices;
  FileWriterOptions options = options_with(notices);
  options.has_stand_ins = true;
  options.flush_period_s = 0;
  options.memory_limit_of_failing_file_bytes = 100'000;
  FileWriter writer(options);
  writer.append(bad, "", row(1));
  writer.flush();
  for (int i = 2; i <= 2000; ++i) {
    writer.append(bad, "", row(i));
    if (i % 100 == 0) writer.flush();
  }
  writer.flush_durable();
  CHECK(writer.dropped() == 0);
  CHECK(lines_of(read(stand_in_of(bad))).size() == 2000);
}

TEST_CASE("FileWriter gives no file up while the disk is full, and is whole once it is not",
          "[callbacks][writer]") {
  const TemporaryDirectory directory;
  const std::string file = directory / "trial_00000/result.json";
  Notices notices;
  FileWriterOptions options = options_with(notices);
  options.has_stand_ins = true;
  FileWriter writer(options);
  writer.append(file, "", row(1));
  writer.flush_durable();
  {
    const FileLimit limit(1);
    writer.cut(file, 1);
    writer.append(file, "", row(2));
    CHECK_THROWS_WITH(writer.flush_durable(), Catch::Matchers::EndsWith("among them " + file));
  }
  CHECK_FALSE(std::filesystem::exists(stand_in_of(file)));
  writer.flush_durable();
  CHECK(read(file) == row(1) + row(2));
}
