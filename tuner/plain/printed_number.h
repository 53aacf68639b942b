// Numbers as programs print them, and where they end.
#pragma once

#include <optional>
#include <string_view>

namespace tune {

/// What typesetters write for a minus.
inline constexpr std::string_view unicode_minus = "\u2212";

/// Takes a number from the front of `text`, NaN and infinities too, as C, Python and Java write
/// them, and "1.#INF" of older programs for Windows; nothing if there is none.
std::optional<double> take_number(std::string_view& text);

/// Whether a number goes on in `behind`, and `number` is a part of it only: "1" of "1,000",
/// "1'000", "1_000", "1 000", "1·5", "10^3" and "1.5 × 10³"; or may: at any letter or digit that is
/// no ASCII, at a control character, and at most signs between two digits. Whole numbers with a
/// blank between them that may be one number or two, such as "12 500", count as one.
bool goes_on(std::string_view number, std::string_view behind);

/// What stands where a number is awaited.
struct PrintedNumber {
  std::optional<double> value = {};
  bool is_cut = false;       ///< there is no value, as the number goes on in a way that is not read
  bool is_source = false;    ///< there is none, as it is part of a term: "loss = 0.5 * x"
  bool has_another = false;  ///< one in brackets behind the value: "0.5 (0.6)"
};

/// The number that the whole of `text` is.
PrintedNumber number_of_cell(std::string_view text);

}  // namespace tune
