// What of a command is the Python interpreter's, and what the program's.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tune {

/// How many words of `command` are the interpreter and its own options; behind them is a script,
/// "-m" and a module, or "-c" and code. Nothing if it runs no Python, or none of these.
std::optional<std::size_t> interpreter_words(const std::vector<std::string>& command);

}  // namespace tune
