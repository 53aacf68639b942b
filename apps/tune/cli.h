// The command line: which command, with what.
#pragma once

#include <string>
#include <vector>

namespace tune {

/// Parses `arguments` (without the program's name), carries out the command and answers with the
/// exit code; a usage error has been printed and is 2. Throws Error.
int run_command_line(std::vector<std::string> arguments);

}  // namespace tune
