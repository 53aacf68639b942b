// Skips the interpreter's own options (-u, -X ...) up to the script, -m or -c.
#include "tuner/spec/python_command.h"

#include <algorithm>
#include <filesystem>

namespace tune {

std::optional<std::size_t> interpreter_words(const std::vector<std::string>& command) {
  if (command.empty()) return std::nullopt;
  if (!std::filesystem::path(command[0]).filename().string().starts_with("python")) {
    return std::nullopt;
  }
  for (std::size_t at = 1; at < command.size(); ++at) {
    const std::string& word = command[at];
    if (word == "-m" || word == "-c") {
      return at + 1 < command.size() ? std::optional(at) : std::nullopt;
    }
    if (word.empty() || word == "-" || word.starts_with("--")) return std::nullopt;
    if (word.front() != '-') return at;
    // The two options that take a value, in the same word or in the next one.
    const std::size_t takes_value = word.find_first_of("WX");
    const std::string flags =
        word.substr(1, takes_value == word.npos ? word.npos : takes_value - 1);
    const auto is_known = [](char flag) {
      return std::string_view("BEIOPRSbdqsuv").find(flag) != std::string_view::npos;
    };
    if (!std::all_of(flags.begin(), flags.end(), is_known)) return std::nullopt;
    if (takes_value != word.npos && takes_value + 1 == word.size()) ++at;
  }
  return std::nullopt;
}

}  // namespace tune
