// What may reach a terminal.
#include "tuner/base/clean_text.h"

#include <string>

#include "tests/support/catch.h"

using namespace tune;

TEST_CASE("Ordinary text of any language stays as it is", "[clean_text][unit]") {
  for (const std::string text :
       {"", "loss 0.5 (lr=1e-3)", "Verlust gr\u00f6\u00dfer", "\u635f\u5931", "\U0001f600"}) {
    CHECK(clean_text(text) == text);
    CHECK(clean_text(text, Lines::keep) == text);
    CHECK(is_utf8(text));
  }
}

TEST_CASE("Nothing that a terminal obeys is left", "[clean_text][unit]") {
  CHECK(clean_text("\033]0;OWNED\007\033[2J\033[31mharmless") == " ]0;OWNED  [2J [31mharmless");
  CHECK(clean_text("a\tb\nc\rd\x7f") == "a b c d ");
  CHECK(clean_text("a\tb\nc\rd\x7f", Lines::keep) == "a\tb\nc d ");
  CHECK(clean_text("\u009b31m \u0090q\u009c") == " 31m  q ");  // the same in eight bits
  CHECK(clean_text("abc\u202edcba\u2066x\u2069") == "abc dcba x ");
  CHECK(clean_text(std::string_view("a\0b", 3), Lines::keep) == "a b");
  for (unsigned code = 0; code < 0x20; ++code) {
    const std::string text(1, static_cast<char>(code));
    CHECK(clean_text(text) == " ");
  }
}

TEST_CASE("What is no UTF-8 becomes question marks", "[clean_text][unit]") {
  CHECK(clean_text("caf\xe9 noir") == "caf? noir");
  CHECK(clean_text("\x9b"
                   "31m") == "?31m");
  for (const std::string text : {"\xc3", "\x80", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80",
                                 "\xf4\x90\x80\x80", "\xff", "\xf0\x80\x80\xaf", "\xe2\x82"}) {
    CHECK_FALSE(is_utf8(text));
    CHECK(clean_text(text).find_first_not_of('?') == std::string::npos);
  }
}

TEST_CASE("The headline of a long line is its begin and its end, cut between two characters",
          "[clean_text][unit]") {
  CHECK(headline("one\ntwo") == "one\ntwo");
  std::string even, odd = "x";
  for (int i = 0; i < 600; ++i) even += "\u00e4";
  odd += even + "x";
  for (const std::string& line : {even, odd}) {
    const std::string cut = headline(line + "\nmore");
    const std::size_t gap = cut.find(" ... ");
    REQUIRE(gap != std::string::npos);
    CHECK((gap == 600 || gap == 599));
    CHECK((cut.size() == gap + 5 + 400 || cut.size() == gap + 5 + 399));
    CHECK(line.starts_with(cut.substr(0, gap)));
    CHECK(line.ends_with(cut.substr(gap + 5)));
    CHECK(is_utf8(cut));
  }
}
