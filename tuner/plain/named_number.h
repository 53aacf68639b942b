// Numbers behind their names in lines that a program prints for people.
#pragma once

#include <cctype>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "tuner/model/metrics.h"
#include "tuner/plain/printed_number.h"

namespace tune {

/// What stands between a name and its number.
enum class NumberForm {
  colon,  ///< ':' or '=', perhaps with quotes: "loss: 0.3", "'loss'='0.3'", "loss=tensor(0.3)"
  blank,  ///< nothing but blanks, or the line between two cells: "loss 0.3", "| loss | 0.3 |"
};

/// The number that `text`, what stands behind a name, begins with.
PrintedNumber number_at(std::string_view text, NumberForm form);

struct NamedNumber {
  std::optional<std::size_t> at = {};  ///< of the name, if there is a value
  PrintedNumber number = {};
  bool is_best = false;       ///< it has a word such as "best" in front of it
  bool is_ruled_out = false;  ///< there is none but such as are no results, see no_result.h
  bool has_others = false;    ///< the name has other numbers in the line, the best so far aside

  bool is_none() const { return !number.value && !number.is_cut && !is_ruled_out; }
};

/// The number that stands behind `name` in `line`, the last one if there are several: of those with
/// no word but one for a phase in front of the name, else of those with another word ("kl loss"),
/// and one with "best" only if there is no other. If that is cut there is none, as an earlier one
/// is another result's. The name is not preceded by a letter, a digit or one of "_./-", and does
/// not go on ("mAP@0.5" in "mAP@0.5:0.95: 0.4"); the number is not followed by '/' (as in "step:
/// 3/100") or by a letter, and a whole number after a blank not by a word.
NamedNumber find_number(std::string_view line, std::string_view name, NumberForm form);

/// Its value.
std::optional<double> number_behind(std::string_view line, std::string_view name, NumberForm form);

/// Where `name` begins, of the number that number_behind would find with a colon, or without.
std::optional<std::size_t> place_of_number(std::string_view line, std::string_view name);

/// The numbers of a line that ends with a JSON object, as Syne Tune and many loggers print it;
/// nested names have slashes. A name that stands twice is in it twice.
std::optional<std::vector<Metric>> object_at_end(std::string_view line);

// Signs of names, and around them.
inline bool is_blank(char c) { return c == ' ' || c == '\t'; }
inline bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
inline bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
inline bool is_quote(char c) { return c == '\'' || c == '"'; }
inline bool is_in_name(char c) {
  constexpr std::string_view signs = "_./-";
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || signs.find(c) != signs.npos;
}

/// Takes a line between two cells of a table from the front of `text`.
bool take_bar(std::string_view& text);

}  // namespace tune
