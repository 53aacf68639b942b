// Makes text of trials and users safe to print on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace tune {

/// Whether `text` is well-formed UTF-8.
bool is_utf8(std::string_view text);

enum class Lines {
  join,  ///< a newline becomes a space, too
  keep,  ///< newlines and tabs stay
};

/// `text` with nothing in it that a terminal obeys: each control character, of eight bits too, and
/// each that turns the direction of writing, becomes a space; what is no UTF-8 becomes "?".
std::string clean_text(std::string_view text, Lines lines = Lines::join);

/// `text` if it has at most 1,000 bytes, else its first line, and of a longer line beginning and
/// end. For messages about a failure, which may bring a trace, and whose first line ends with where
/// the log is.
std::string headline(std::string_view text);

/// Without the blanks around it.
std::string trimmed(const std::string& text);

}  // namespace tune
