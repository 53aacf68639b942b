// Wraps sentences as comments of a spec that is written for the user.
#pragma once

#include <cstddef>
#include <string>

namespace tune {

inline constexpr std::size_t page_columns = 100;

/// `text`, with nothing in it that a terminal obeys, as lines that begin with `indent` and "// ",
/// and end between words before `page_columns`.
std::string comment_lines(const std::string& indent, const std::string& text);

}  // namespace tune
