// Separates a Python interpreter and its options from the program in a command.
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
