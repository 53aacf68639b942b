// What several commands of the command line have in common.
#pragma once

#include <string>
#include <vector>

#include "apps/tune/dispatch.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tune {

/// How the help of all commands looks that are added after it.
void set_help_format(CLI::App& app);
/// What is said of an option that is a positional argument, too.
std::string same_as_positional(const CLI::Option& option);

/// A command with its line in the list of commands, and with lines of examples.
CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& what,
                      const std::string& examples);

CLI::Option* add_json(CLI::App& command, bool& json,
                      const std::string& what = "As one JSON object");
/// Of a command whose answers are JSON in any case, so that programs need not know which.
void add_json_in_any_case(CLI::App& command, bool& ignored);

void add_directory(CLI::App& command, std::string& directory);
/// A trial as the next word, or after --trial.
CLI::Option* add_trial(CLI::App& command, std::string& trial, const std::string& what);
void add_plugins(CLI::App& command, std::vector<std::string>& plugins);
void add_warm_start(CLI::App& command, SpecSource& spec);

/// Those of a new experiment, or of one that is there, which keeps what it is not told.
enum class SpecFields { all, changes };
/// The options that say a field of the spec. One that would be refused is taken, for the sentence
/// that says why, and not shown.
void add_spec_fields(CLI::App& command, SpecSource& spec, SpecFields which = SpecFields::all);
/// The spec's file and the options that win over it.
void add_spec(CLI::App& command, SpecSource& spec);

/// Each group of commands, in the order in which the help lists them; see add_commands.
void add_run_commands(CLI::App& app, Line& line);
void add_remote_commands(CLI::App& app, Line& line);
void add_spec_commands(CLI::App& app, Line& line);
void add_look_commands(CLI::App& app, Line& line);
void add_ask_commands(CLI::App& app, Line& line);
void add_importance(CLI::App& app, Line& line);
void add_lineage(CLI::App& app, Line& line);
void add_report(CLI::App& app, Line& line);
void add_plot(CLI::App& app, Line& line);
void add_dashboard(CLI::App& app, Line& line);
void add_export(CLI::App& app, Line& line);
void add_simulate(CLI::App& app, Line& line);

}  // namespace tune
