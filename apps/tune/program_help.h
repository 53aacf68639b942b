// Asks a program for help, and is not impressed by one that trains instead, floods or hangs.
#pragma once

#include <string>
#include <vector>

#include "tuner/base/clock.h"

namespace tune {

/// What a program has printed, and how it has ended.
struct Printed {
  std::string text;      ///< standard output and error in one, at most `most_help_bytes`
  int exit_code = 0;     ///< if it has ended by itself
  int signal = 0;        ///< that has ended it; 0: none
  bool is_cut = false;   ///< it printed more, and was killed
  bool is_late = false;  ///< it did not end within the limit, and was killed
};

inline constexpr std::size_t most_help_bytes = std::size_t{1} << 20;

/// Runs `argv` where we are, without standard input and as a process group of its own, all of which
/// is killed in the end: once the program has ended, is late or has printed too much, or when we
/// are interrupted. Says that it waits if that takes a moment. Error (user) if it cannot be
/// started.
Printed printed_by(const std::vector<std::string>& argv, Seconds limit_s);

}  // namespace tune
