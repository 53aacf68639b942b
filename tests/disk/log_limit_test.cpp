// The limit of a log that a process goes on writing.
#include "tuner/disk/log_limit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/catch.h"

namespace tune {
namespace {

struct Scratch {
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "tune-log-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    directory = name;
  }
  ~Scratch() { std::filesystem::remove_all(directory); }
  std::filesystem::path directory;
};

std::string content_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::uint64_t taken_by(const std::filesystem::path& file) {
  struct stat status {};
  REQUIRE(::stat(file.c_str(), &status) == 0);
  return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

constexpr std::uint64_t most = 1 << 20;

TEST_CASE("A log beyond its limit keeps its begin and its end, and its writer goes on", "[log]") {
  const Scratch scratch;
  const auto file = scratch.directory / "stdout.log";
  const int writer = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  REQUIRE(writer >= 0);
  const std::string block(1 << 16, 'x');
  REQUIRE(::write(writer, "first\n", 6) == 6);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 40; ++i) REQUIRE(::write(writer, block.data(), block.size()) > 0);
    const std::uint64_t taken = taken_by(file);
    const auto given_back = limit_log(file, most);
    CHECK(given_back == taken - taken_by(file));
    CHECK(taken_by(file) <= most);
  }
  REQUIRE(::write(writer, "last\n", 5) == 5);
  ::close(writer);
  const std::string content = content_of(file);
  CHECK(content.size() == 6 + 3 * 40 * block.size() + 5);
  CHECK(content.starts_with("first\nxxx"));
  CHECK(content.substr(0, most / 4).find('\0') == std::string::npos);
  CHECK(content.substr(content.size() - most / 2).find('\0') == std::string::npos);
  CHECK(content.ends_with("xxxlast\n"));
}

TEST_CASE("A log within its limit is left alone, and what is no log is not touched", "[log]") {
  const Scratch scratch;
  const auto file = scratch.directory / "stdout.log";
  std::ofstream(file) << std::string(most / 2, 'x');
  CHECK(limit_log(file, most) == 0);
  CHECK(content_of(file) == std::string(most / 2, 'x'));
  CHECK_FALSE(limit_log(scratch.directory / "nothing", most));
  CHECK_FALSE(limit_log(scratch.directory, most));
  std::ofstream(scratch.directory / "large") << std::string(4 * most, 'x');
  std::filesystem::create_symlink("large", scratch.directory / "link");
  CHECK_FALSE(limit_log(scratch.directory / "link", most));
  CHECK(taken_by(scratch.directory / "large") >= 4 * most);
  std::filesystem::create_hard_link(scratch.directory / "large", scratch.directory / "name");
  CHECK_FALSE(limit_log(scratch.directory / "name", most));
  CHECK(taken_by(scratch.directory / "large") >= 4 * most);
}

}  // namespace
}  // namespace tune
