#include "tuner/lost_rows.h"

#include <unistd.h>

#include <fstream>
#include <string>

#include "tests/support/catch.h"

namespace tune {
namespace {

class TempDir {
 public:
  TempDir() { std::filesystem::create_directories(path_); }
  ~TempDir() { std::filesystem::remove_all(path_); }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  const std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("tune_lost_rows_" + std::to_string(::getpid()));
};

TEST_CASE("What a result.json has lost at its end is said", "[lost rows][unit]") {
  const TempDir dir;
  const auto write = [&](std::uint32_t trial, const std::string& file, const std::string& text) {
    const auto directory = dir.path() / to_string(TrialId{trial});
    std::filesystem::create_directories(directory);
    std::ofstream(directory / file) << text;
  };
  const std::string row = "{\"training_iteration\":2,\"loss\":1}\n";
  write(0, "result.json", row);                  // has what it had
  write(1, "result.json", "");                   // was emptied
  write(2, "result.json", row + row.substr(9));  // was cut down
  write(3, "result.json", row);                  // goes on elsewhere
  std::ofstream(dir.path() / "trial_00003.result.json") << "";
  const auto sentences =
      lost_rows(dir.path(), {{TrialId{0}, 2}, {TrialId{1}, 5}, {TrialId{2}, 3}, {TrialId{3}, 9}});
  REQUIRE(sentences.size() == 2);
  CHECK(sentences[0].starts_with(
      "result.json of trial_00001 lacks its rows up to iteration 5, which it had"));
  CHECK(sentences[1].starts_with(
      "result.json of trial_00002 lacks its rows after iteration 2 and up to iteration 3, which"));
}

TEST_CASE("Of many files that have lost rows a few are named", "[lost rows][unit]") {
  const TempDir dir;
  std::map<TrialId, std::int64_t> written;
  for (std::uint32_t trial = 0; trial < 100; ++trial) written[TrialId{trial}] = 1;
  const auto sentences = lost_rows(dir.path(), written);
  REQUIRE(sentences.size() == 6);
  CHECK(sentences.back() == "so it is with result.json of 95 more trials");
}

}  // namespace
}  // namespace tune
