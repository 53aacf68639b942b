// Numbers in all forms that programs print, and where they end.
#include "tuner/plain/printed_number.h"

#include <cmath>
#include <string>

#include "tests/support/catch.h"

using namespace tune;

namespace {

/// What `text` begins with: "cut", "none", or the number.
std::string read(std::string_view text) {
  std::string_view behind = text;
  const auto value = take_number(behind);
  if (!value) return "none";
  if (goes_on(text.substr(0, text.size() - behind.size()), behind)) return "cut";
  std::string shown = std::to_string(*value);
  return shown.substr(0, shown.find_last_not_of('0') + 1);
}

}  // namespace

TEST_CASE("What the C runtime of Windows printed for NaN and infinities is read as such",
          "[plain][metrics]") {
  CHECK(read("1.#INF") == "inf");
  CHECK(read("-1.#INF00,") == "-inf");
  CHECK(std::string(read("1.#IND")).ends_with("nan"));
  CHECK(std::string(read("-1.#IND00")).ends_with("nan"));
  CHECK(std::string(read("1.#QNAN0")).ends_with("nan"));
  CHECK(read("1.#J") == "cut");  // %.2f of an infinity: its letters are rounded
  CHECK(read("1.$") == "cut");
}

TEST_CASE("A number is not read in part, whatever sign or digit it goes on with",
          "[plain][metrics]") {
  using namespace std::string_view_literals;
  for (const std::string_view text : {"1٢"sv,
                                      "12௧"sv,
                                      "1.５"sv,
                                      "0.5٣"sv,
                                      "5½"sv,
                                      "5 ½"sv,
                                      "1²"sv,
                                      "0;5"sv,
                                      "5 e-3"sv,
                                      "5 E3"sv,
                                      "1`000"sv,
                                      "1´000"sv,
                                      "1ʹ000"sv,
                                      "1ʼ000"sv,
                                      "1′000"sv,
                                      "1\u2008000"sv,
                                      "5–6"sv,
                                      "5~6"sv,
                                      "5+6"sv,
                                      "0.3 + 0.2"sv,
                                      "5#3"sv,
                                      "5@3"sv,
                                      "5\\3"sv,
                                      "5=3"sv,
                                      "5(3)e-2"sv,
                                      "5(3)×10⁻²"sv,
                                      "5 10⁻³"sv,
                                      "5 × 10^3"sv,
                                      "5\0006"sv,
                                      "5\x08\x08 60"sv,
                                      "5\xff"sv,
                                      "5\xff\x36"sv,
                                      "5\x1b"
                                      "6"sv,
                                      "12ミリ秒"sv,
                                      "0.01.ckpt"sv,
                                      "0.01&b=2"sv,
                                      "0.5 -> 0.4"sv,
                                      "0.5→0.4"sv,
                                      "0.5 --> .4"sv}) {
    CAPTURE(text);
    CHECK(read(text) == "cut");
  }
}

TEST_CASE("A number ends before punctuation and symbols that part it from what follows",
          "[plain][metrics]") {
  using namespace std::string_view_literals;
  for (const std::string_view text :
       {"0.5"sv,        "0.5;acc"sv,     "0.5; 1"sv,      "0.5±0.1"sv,      "0.5│7"sv,
        "0.5，acc"sv,   "0.5（0.6）"sv,  "0.5✓"sv,        "0.5 ⭐"sv,        "0.5↓"sv,
        "0.5…"sv,       "0.5°"sv,        "0.5€"sv,        "0.5. Done"sv,    "0.5 -> saved"sv,
        "0.5 - 12ms"sv, "0.5(3)"sv,      "0.5\u00a0ok"sv, "0.5\b\b\b \b"sv, "0.5\0"sv,
        "0.5 eval"sv,   "0.5 +/- 0.1"sv, "0.5\u200b"sv,   "0.5%"sv,         "0.5 |"sv}) {
    CAPTURE(text);
    CHECK(read(text) == "0.5");
  }
}
