// The command line of tune: its commands and options, with the texts that --help, the manual and
// the completion show.
#pragma once

#include "apps/tune/dispatch.h"

namespace CLI {
class App;
}

namespace tune {

/// All commands; what is given to them comes into `line`, which has to outlive `app`.
void add_commands(CLI::App& app, Line& line);

/// What was given of `spec_options`, if the command has them; several words of one option are
/// several options.
void collect_options(const CLI::App& command, SpecSource& spec);

}  // namespace tune
