// What can be told of a command line without carrying it out: manual pages, and how a word may go
// on.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tune {

struct OptionText {
  std::vector<std::string> names;   ///< "-f", "--follow"; of a positional argument "DIR"
  std::string placeholder;          ///< "SECONDS", "auto|table"; empty: it takes no value
  std::vector<std::string> values;  ///< to choose from, beside those in the placeholder
  std::string what;
  std::string default_value;  ///< empty: none is said
  std::string group;
  bool is_positional = false;
  bool is_required = false;
};

/// What the help says, and the order in which it does.
struct CommandText {
  std::string name;
  std::string what;
  std::string footer;  ///< notes, "Examples:" and those
  std::vector<OptionText> options;
  std::vector<CommandText> commands;
};

/// Writes tune.1 and a page for each command (tune-run.1) into `directory`, which is made if it is
/// not there. The same text each time. Error (machine) if that fails.
void write_man_pages(const CommandText& program, const std::filesystem::path& directory);

/// What the last of `words` (those after the program's name) may become: commands, options, their
/// values, trials; directories, with a slash at the end unless an experiment is in them. Nothing
/// if a file is wanted or there is no telling. Reads only names of directories.
std::vector<std::string> completions(const CommandText& program, std::vector<std::string> words);

}  // namespace tune
