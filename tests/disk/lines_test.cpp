// What is read of files that nobody vouches for, and that it takes no more memory than a line.
#include "tuner/disk/lines.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/disk/place.h"
#include "tests/support/catch.h"
#include "tuner/disk/regular_file.h"

using namespace tune;
using namespace tune::test;

namespace {

long peak_kib() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return used.ru_maxrss;
}

}  // namespace

TEST_CASE("The first lines are read however long the file goes on", "[lines]") {
  const Place place;
  std::ofstream(place / "file") << "one\n\nthree\nfour";
  using Lines = std::vector<std::string>;
  CHECK(first_lines(place / "file", 2, 100) == Lines{"one", ""});
  CHECK(first_lines(place / "file", 9, 100) == Lines{"one", "", "three"});
  CHECK(first_lines(place / "file", 2, 2).empty());
  CHECK(first_lines(place / "none", 2, 100).empty());
}

TEST_CASE("Lines come with their numbers, and the last one says that it lacks its end", "[lines]") {
  const Place place;
  std::ofstream(place / "file") << "one\n\nthree";
  std::vector<std::string> seen;
  const LinesRead read = read_lines(place / "file", 10, [&](const FileLine& line) {
    seen.push_back(std::to_string(line.number) + std::string(line.text) +
                   (line.is_ended ? "." : ""));
  });
  CHECK(seen == std::vector<std::string>{"1one.", "2.", "3three"});
  CHECK(read.is_there);
  CHECK(read.too_long == 0);
}

TEST_CASE("A line that is too long is left out, wherever blocks of the file end", "[lines]") {
  const Place place;
  const std::string longest(100'000, 'a');
  std::ofstream(place / "file") << longest << "\n" << longest << "b\nshort\n" << longest << "bc";
  std::vector<std::size_t> sizes;
  const LinesRead read = read_lines(place / "file", longest.size(), [&](const FileLine& line) {
    sizes.push_back(line.text.size());
  });
  CHECK(sizes == std::vector<std::size_t>{100'000, 5});
  CHECK(read.too_long == 2);
}

TEST_CASE("A line of any size takes no memory", "[lines]") {
  const Place place;
  std::ofstream(place / "file") << "first\n";
  std::filesystem::resize_file(place / "file", std::uintmax_t{1} << 28);  // a hole, read as zeros
  const long before = peak_kib();
  std::size_t lines = 0;
  const LinesRead read = read_lines(place / "file", 1000, [&](const FileLine&) { ++lines; });
  CHECK(lines == 1);
  CHECK(read.too_long == 1);
  CHECK_FALSE(read_small(place / "file", 1000));
  CHECK(peak_kib() - before < 8 * 1024);
}

TEST_CASE("Nobody waits for what is no file, and nothing is there where there is none", "[lines]") {
  const Place place;
  REQUIRE(::mkfifo((place / "fifo").c_str(), 0600) == 0);
  const auto ignore = [](const FileLine&) {};
  CHECK_THROWS_AS(read_lines(place / "fifo", 10, ignore), NotRegular);
  CHECK_FALSE(read_lines(place / "none", 10, ignore).is_there);
  CHECK_FALSE(read_small(place / "fifo", 10));
  CHECK_FALSE(read_small(place / "none", 10));
  std::ofstream(place / "small") << "0123456789";
  CHECK(read_small(place / "small", 10) == "0123456789");
  CHECK_FALSE(read_small(place / "small", 9));
}
