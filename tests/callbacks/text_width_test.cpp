// How many columns texts take, and where they are cut.
#include "callbacks/text_width.h"

#include <clocale>
#include <string>
#include <vector>

#include "callbacks/console_table.h"
#include "tests/support/catch.h"

using namespace tune;

TEST_CASE("Wide characters take two columns, and combining marks none", "[callbacks][width]") {
  CHECK(width_of("") == 0);
  CHECK(width_of("lr=0.1") == 6);
  CHECK(width_of("\u00fc\u2026") == 2);
  CHECK(width_of("\u5b66\u7fd2\u7387") == 6);  // of Chinese
  CHECK(width_of("\U0001F680") == 2);          // an emoji
  CHECK(width_of("e\u0301") == 1);             // an accent of its own
}

TEST_CASE("Widths do not depend on the locale of the process", "[callbacks][width]") {
  std::setlocale(LC_ALL, "C");
  CHECK(width_of("\u5b66\u7fd2") == 4);
}

TEST_CASE("A text is cut before a character that has no room, and behind its marks",
          "[callbacks][width]") {
  CHECK(first_columns("\u5b66\u7fd2\u7387", 3) == "\u5b66");
  CHECK(first_columns("e\u0301a", 1) == "e\u0301");
  CHECK(first_columns("abc", 2) == "ab");
  CHECK(first_columns("abc", 9) == "abc");
}

TEST_CASE("Columns of a table stand below each other whatever is in them", "[callbacks][width]") {
  const std::vector<std::string> lines = render_table(
      {{"optimizer"}, {"loss", true}},
      {{"\u5b66\u7fd2", "1"}, {"\U0001F680 go", "20"}, {"ade\u0301", "300"}}, {80, true});
  REQUIRE(lines.size() == 4);
  for (const std::string& line : lines) {
    INFO(line);
    CHECK(width_of(line) == 15);
  }
  for (int width = 1; width < 15; ++width) {
    for (const std::string& line :
         render_table({{"a"}, {"b"}}, {{"\u5b66\u7fd2\u7387", "\u7387"}}, {width, true})) {
      CHECK(width_of(line) <= static_cast<std::size_t>(width));
    }
  }
}
