// Takes the trainable's words behind "--" off, parses the rest (CLI11), and dispatches.
#include "apps/tune/cli.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <set>

#include "apps/tune/build_info.h"
#include "apps/tune/cli_help.h"
#include "apps/tune/cli_parts.h"
#include "apps/tune/commands/cli_commands.h"
#include "apps/tune/dispatch.h"
#include "apps/tune/output.h"
#include "tuner/base/error.h"
#include "tuner/base/quoted.h"
#include "tuner/version.h"

namespace tune {

namespace {

/// In lines that a terminal takes.
std::string exit_codes_text() {
  constexpr std::size_t columns = 90;
  std::string text = "Exit codes:";
  std::size_t line_start = 0;
  for (const ExitCodeText& one : exit_codes()) {
    const std::string item = " " + std::to_string(one.code) + " " + one.brief +
                             (&one == &exit_codes().back() ? "." : ",");
    if (text.size() + item.size() - line_start > columns) {
      line_start = text.size();
      text += '\n' + item.substr(1);
    } else {
      text += item;
    }
  }
  return text;
}

/// Options of `command` that stand behind the hyphens and so go to the program, as sentences. Names
/// of one word, such as "--seed", may be meant for it.
std::vector<std::string> options_behind_hyphens(const CLI::App& command,
                                                const std::vector<std::string>& words) {
  std::vector<std::string> sentences;
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    const bool has_words = name.starts_with("--") && name.find('-', 2) != name.npos;
    if (!has_words || command.get_option_no_throw(name) == nullptr) continue;
    sentences.push_back("'" + name +
                        "' stands behind \"--\" and goes to the program: tune's own options stand "
                        "before that");
  }
  return sentences;
}

}  // namespace

int run_command_line(std::vector<std::string> arguments) {
  Line line;
  line.style.command_line = arguments;
  line.style.command_line.insert(line.style.command_line.begin(), "tune");
  // The trainable's own words are nobody else's options. Of who takes none, what stands behind the
  // hyphens are arguments that may begin with one.
  static const std::set<std::string, std::less<>> with_command = {
      "run",   "resume", "submit",  "validate", "preview",
      "check", "init",   "suggest", "simulate", "complete"};
  const auto dashes = !arguments.empty() && with_command.contains(arguments.front())
                          ? std::find(arguments.begin(), arguments.end(), "--")
                          : arguments.end();
  const bool has_command = dashes != arguments.end();
  if (has_command) line.spec.command.assign(dashes + 1, arguments.end());
  arguments.erase(dashes, arguments.end());

  CLI::App app(
      "Search for hyperparameters: many trials of a training program, steered, saved and "
      "resumable.",
      "tune");
  set_help_format(app);
  bool as_json = false;
  CLI::Option* const json =
      app.add_flag("--json", as_json, "With --version: also commit, compiler and libraries");
  json->needs(app.set_version_flag("--version", [&as_json] {
    return as_json ? build_info().dump(2) : std::string("tune ") + version();
  }));
  app.require_subcommand(1);
  app.footer(exit_codes_text() +
             "\n\n"
             "Examples:\n  tune init                 # writes spec.json: name your program in it\n"
             "  tune validate spec.json && tune run spec.json\n  tune COMMAND --help\n");
  add_commands(app, line);
  // "tune help run", as with other programs of many commands.
  if (!arguments.empty() && arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  if (arguments.empty()) {
    print(app.help());
    return exit_bad_input;
  }
  try {
    std::reverse(arguments.begin(), arguments.end());  // As this parser wants them.
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return explain(app, error, line.spec.command);
  }
  const CLI::App& command = *app.get_subcommands().front();
  if (command.get_name() == "generate") {
    write_man_pages(text_of(app), line.directory);
    return exit_ok;
  }
  if (command.get_name() == "complete") {
    std::string found;
    for (const auto& word : completions(completable_text_of(app), line.spec.command)) {
      found += word + "\n";
    }
    print_data(found);
    return exit_ok;
  }
  collect_options(command, line.spec);
  const auto is_of_jobs = [](const GivenOption& given) {
    return std::string_view(given.option->name) == "--agent-jobs";
  };
  if (std::any_of(line.spec.options.begin(), line.spec.options.end(), is_of_jobs)) {
    line.spec.sbatch = std::exchange(line.spec.command, {});
  }
  // No program is called like that.
  const auto& words = line.spec.command;
  if (command.get_name() == "resume" && !words.empty() && words.front().starts_with('-')) {
    throw user_error(as_quoted(words.front()) +
                     " stands behind '--': an option for sbatch needs --agent-jobs N before it, "
                     "also where the search has had some");
  }
  print_each_notice(options_behind_hyphens(command, line.spec.command));
  return carry_out(command.get_name(), line);
}

}  // namespace tune
