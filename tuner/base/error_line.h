// The line of a program's stderr that says why it failed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tune {

struct ErrorLine {
  std::string text;       ///< clean, at most `most_error_line_bytes`; empty: nothing was said
  bool is_last = false;   ///< it is the last line that says anything
  bool is_error = false;  ///< its form says that it is an error's; else it is only the last line
};

inline constexpr std::size_t most_error_line_bytes = 200;

/// The error in the last output of a program: mostly the last line. Where libraries add a hint, a
/// summary or a box, the exception of the last traceback, or the error in front of a usage. An
/// exception that only says that a child process has failed gives way to the child's.
ErrorLine error_line(std::string_view text);

/// The error in a program's standard output: the argument that it refuses, or the first line of its
/// usage, which is all that some programs print. Empty if there is neither.
std::string usage_line(std::string_view text);

}  // namespace tune
