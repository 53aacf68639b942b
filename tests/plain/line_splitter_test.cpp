// Lines out of pieces.
#include "tuner/plain/line_splitter.h"

#include <vector>

#include "tests/support/catch.h"

using namespace tune;

namespace {

/// The lines of `text`, given in pieces of `step` bytes; those that are overwritten end with '<'.
std::vector<std::string> lines_of(std::string_view text, std::size_t step) {
  std::vector<std::string> lines;
  LineSplitter splitter;
  const auto take = [&lines](std::string_view line, bool overwritten) {
    lines.push_back(std::string(line) + (overwritten ? "<" : ""));
  };
  for (std::size_t at = 0; at < text.size(); at += step) splitter.add(text.substr(at, step), take);
  splitter.finish(take);
  return lines;
}

}  // namespace

TEST_CASE("Newlines and carriage returns end lines, wherever the pieces end", "[plain][lines]") {
  for (const std::size_t step : {1, 2, 3, 100}) {
    CHECK(lines_of("a\nbc\r\n\rd\re\n\nend", step) ==
          std::vector<std::string>{"a", "bc", "d<", "e", "end"});
  }
}

TEST_CASE("What a terminal would obey is left out", "[plain][lines]") {
  for (const std::size_t step : {1, 7, 100}) {
    CHECK(lines_of("\x1b[1;32mloss\x1b[0m: \x1b]8;;http://a\x1b\\0.5\x1b]0;t\a!\x1b[K\n", step) ==
          std::vector<std::string>{"loss: 0.5!"});
  }
  for (const char* const sequence :
       {"\x1b(B", "\x1b)3", "\x1b#8", "\x1b%G", "\x1b$(C",
        "\x1b"
        "7",
        "\x1b=", "\x1b[0m", "\x1b[?25l", "\x1bP1;loss: 3\x1b\\", "\x1b_loss: 3\x1b\\",
        "\x1b^loss: 3\x1b\\", "\x1bXloss: 3\x1b\\", "\x1b]0;loss: 3\a", "\x1b]0;loss: 3\x1b[1m",
        "\x1b[1\x1b[0m", "\x1b(\x1b[1m", "\x1b\x1b[1m"}) {
    CAPTURE(std::string_view(sequence).substr(1));
    CHECK(lines_of("loss: " + std::string(sequence) + "5" + sequence + " now\n", 100) ==
          std::vector<std::string>{"loss: 5 now"});
  }
  CHECK(lines_of("loss: 5\x1b[7C3", 9) == std::vector<std::string>{"loss: 5 3"});
  CHECK(lines_of("loss: 5\x1b[1D3", 9) == std::vector<std::string>{"loss: 5\b3"});
  CHECK(lines_of("a\x1b", 9) == std::vector<std::string>{"a"});
  CHECK(lines_of("a\x1b[12", 9) == std::vector<std::string>{"a"});
}

TEST_CASE("Of a line without an end only the beginning is kept", "[plain][lines]") {
  const std::string endless(10 * LineSplitter::most_line_bytes, 'x');
  const auto lines = lines_of(endless + "\nloss: 1\n", 1000);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].size() == LineSplitter::most_line_bytes);
  CHECK(lines[1] == "loss: 1");
}
