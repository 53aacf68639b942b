// Turns the parser's options into texts, and its errors into a sentence with a suggestion ("did you
// mean ...").
#include "apps/tune/cli_help.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "apps/tune/cli_parts.h"
#include "apps/tune/commands.h"
#include "apps/tune/output.h"
#include "apps/tune/schemas.h"
#include "apps/tune/spec_document.h"
#include "tuner/base/clean_text.h"
#include "tuner/base/nearest_name.h"
#include "tuner/base/quoted.h"
#include "tuner/plugins.h"
#include "tuner/spec/foreign_fields.h"

namespace tune {

namespace {

std::vector<const CLI::App*> shown_commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); });
}

/// "auto|table", "SECONDS", without what the parser says of ranges.
std::string placeholder_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const auto colon = type.find(':');
  if (colon == std::string::npos || type.compare(colon, 2, ":{") != 0) return type.substr(0, colon);
  std::string values = type.substr(colon + 2, type.find('}') - colon - 2);
  std::replace(values.begin(), values.end(), ',', '|');
  return values;
}

OptionText text_of(const CLI::Option& option, bool as_positional) {
  OptionText text;
  text.is_positional = as_positional;
  if (as_positional) {
    text.names.push_back(option.get_name(true));
  } else {
    for (const auto& name : option.get_snames()) text.names.push_back("-" + name);
    for (const auto& name : option.get_lnames()) text.names.push_back("--" + name);
  }
  text.what = option.get_description();
  text.group = option.get_group();
  text.is_required = option.get_required();
  if (!as_positional && option.get_positional()) {
    text.what = same_as_positional(option);
    text.is_required = false;
  }
  if (option.get_items_expected_max() > 0) {
    text.placeholder = placeholder_of(option);
    text.default_value = option.get_default_str();
  }
  return text;
}

/// What somebody may mean by `name`: what begins so, what one slip makes of it, our word for
/// another tool's, or the nearest; empty if there is no telling.
std::vector<std::string> meant_by(const std::string& name, const std::vector<std::string>& known) {
  constexpr std::size_t most_offered = 5;
  std::vector<std::string> begun;
  for (const std::string& one : known) {
    if (one.starts_with(name)) begun.push_back(one);
  }
  if (!begun.empty() && begun.size() <= most_offered) return begun;
  const auto nearest = nearest_name(name, known);
  if (nearest && edit_distance(name, *nearest) == 1) return {*nearest};
  std::string ours = "--" + field_of_others(name);
  std::replace(ours.begin(), ours.end(), '_', '-');
  if (std::find(known.begin(), known.end(), ours) != known.end()) return {ours};
  return nearest ? std::vector{*nearest} : std::vector<std::string>();
}

/// What is given as the spec, and is no JSON; empty if nothing is.
std::string program_in(const CLI::App& command) {
  const auto* const spec = command.get_option_no_throw("SPEC");
  if (spec == nullptr || spec->results().empty()) return "";
  const std::string given = spec->results().front();
  return std::filesystem::path(given).extension() == ".json" ? "" : given;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + shell_word(word);
  return text;
}

/// An option that may be the program's own, with its value, where that stands. `behind`: what
/// stands behind "--".
std::string behind_hyphens(const CLI::App& command, const std::vector<std::string>& extra,
                           const std::vector<std::string>& behind) {
  const std::string program = program_in(command);
  if (program.empty() && behind.empty()) return "";
  const std::string sentence = ". An option of the program itself stands behind '--'";
  // "--epochs 3": the parser may have taken the 3 for the spec.
  const bool is_program = program.empty() || !start_of_program(program).empty();
  std::vector<std::string> words = {extra.front()};
  const bool has_value = extra.front().find('=') != std::string::npos;
  if (!has_value && !is_program) words.push_back(program);
  if (!has_value && is_program && extra.size() > 1 && !extra[1].starts_with('-')) {
    words.push_back(extra[1]);
  }
  const std::string start = sentence + ": tune " + command.get_name();
  if (!behind.empty()) return start + " ... -- " + joined(behind) + " " + joined(words);
  return is_program ? start + " " + shell_word(program) + " -- " + joined(words) : sentence;
}

/// Where people look for the CSV of `tune export`, and for the options of their own program.
std::string hint_for(const CLI::App& command, const std::vector<std::string>& extra,
                     const std::vector<std::string>& behind) {
  if (command.get_name() == "export" && extra.front() == "--csv") {
    return ". Learning curves go to --curves FILE; tune ls DIR --csv writes a row for each trial";
  }
  return behind_hyphens(command, extra, behind);
}

/// Where people look for the value of `tune tell`.
std::string way_to_tell(const CLI::App& command, const std::string& word) {
  const char* const option = word.starts_with('{') ? "--metrics" : "--value";
  return command.get_name() == "tell"
             ? std::string("; what it has come to is an option: ") + option + " " + shell_word(word)
             : "";
}

/// A word behind a spec of JSON.
std::string beside_spec(const CLI::App& command) {
  const std::string& name = command.get_name();
  if (name != "run" && name != "validate" && name != "preview") return "";
  return "; tune " + name + " takes one spec, and the words of a command behind '--'";
}

/// The ways that a program is given, where its words stand in the spec's place.
std::string with_its_program(const CLI::App& command, const std::vector<std::string>& extra) {
  const std::string given = program_in(command);
  if (given.empty()) return beside_spec(command);
  std::vector<std::string> whole = start_of_program(given);
  const bool is_script = whole.size() > 1;
  // What was found in PATH, or here, stays as it was typed.
  if (!is_script) whole = {given};
  whole.insert(whole.end(), extra.begin(), extra.end());
  const std::string start = "tune " + command.get_name() + " ";
  const std::string sentence = "; " + start +
                               "takes a spec, or a whole command behind '--': " + start + "-- " +
                               joined(whole);
  std::error_code ignored;
  const bool is_interpreter =
      !is_script && std::filesystem::is_regular_file(extra.front(), ignored);
  if (!is_script && !is_interpreter) return sentence;
  std::vector<std::string> alone = extra;
  if (is_script) alone.insert(alone.begin(), given);
  const std::vector<std::string> arguments(alone.begin() + 1, alone.end());
  return sentence + "; a program that only prints its metrics stands alone: " + start +
         shell_word(alone.front()) + (arguments.empty() ? "" : " -- " + joined(arguments));
}

/// "--num-sampels" as the sentence that helps, without a list of all that there is.
std::string about_unknown(const CLI::App& app, const std::vector<std::string>& extra,
                          const std::vector<std::string>& behind) {
  const std::string& word = extra.front();
  const bool is_option = word.starts_with("-");
  std::vector<std::string> known;
  const auto chosen = app.get_subcommands();
  if (is_option) {
    for (const auto* const option : (chosen.empty() ? &app : chosen.front())->get_options()) {
      if (!option->get_lnames().empty()) known.push_back("--" + option->get_lnames().front());
    }
  } else if (chosen.empty()) {
    for (const auto* const command : shown_commands(app)) known.push_back(command->get_name());
  } else {
    return "unexpected argument " + as_quoted(word) + way_to_tell(*chosen.front(), word) +
           with_its_program(*chosen.front(), extra);
  }
  const std::string name = word.substr(0, word.find('='));
  std::string sentence =
      std::string("unknown ") + (is_option ? "option" : "command") + " " + as_quoted(name);
  const auto meant = meant_by(name, known);
  for (const std::string& one : meant) {
    sentence += (&one == &meant.front() ? ", did you mean '" : "' or '") + one;
  }
  const std::string hint =
      is_option && !chosen.empty() ? hint_for(*chosen.front(), extra, behind) : std::string();
  if (!meant.empty()) return sentence + (hint.starts_with('.') ? "'?" + hint.substr(1) : "'?");
  return sentence + hint;
}

/// The parser repeats what it cannot read, however long that is.
std::string with_short_words(const std::string& sentence) {
  std::string text;
  for (std::size_t begin = 0; begin <= sentence.size();) {
    const std::size_t end = std::min(sentence.find(' ', begin), sentence.size());
    text +=
        (begin == 0 ? "" : " ") + shortened(std::string_view(sentence).substr(begin, end - begin));
    begin = end + 1;
  }
  return text;
}

/// "TRIAL is required", where the parser would say --trial.
std::optional<std::string> what_is_missing(const CLI::App& command) {
  for (const auto* const option : command.get_options()) {
    if (option->get_required() && option->count() == 0) {
      return option->get_name(option->get_positional()) + " is required";
    }
  }
  return std::nullopt;
}

}  // namespace

CommandText text_of(const CLI::App& app) {
  CommandText text{app.get_name(), app.get_description(), app.get_footer(), {}, {}};
  for (const auto* const option : app.get_options()) {
    if (option->get_group().empty()) continue;
    if (option->get_positional()) text.options.push_back(text_of(*option, true));
    if (option->nonpositional()) text.options.push_back(text_of(*option, false));
  }
  for (const auto* const command : shown_commands(app)) text.commands.push_back(text_of(*command));
  return text;
}

CommandText completable_text_of(const CLI::App& app) {
  const Catalogue catalogue = catalogue_with({});
  const auto names_in = [](const auto& factories) {
    std::vector<std::string> names;
    for (const auto& [name, factory] : factories) names.push_back(name);
    return names;
  };
  const std::map<std::string, std::vector<std::string>> values = {
      {"--searcher", names_in(catalogue.searchers)},
      {"--scheduler", names_in(catalogue.schedulers)},
      {"--callback", names_in(catalogue.callbacks)},
      {"COMMAND", schema_names()}};  // of tune schema
  CommandText text = text_of(app);
  for (CommandText& command : text.commands) {
    for (OptionText& option : command.options) {
      const auto found = values.find(option.names.front());
      if (found != values.end()) option.values = found->second;
    }
  }
  return text;
}

int explain(const CLI::App& app, const CLI::ParseError& error,
            const std::vector<std::string>& behind) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);
  const auto chosen = app.get_subcommands();
  const std::string help =
      "tune " + (chosen.empty() ? "" : chosen.front()->get_name() + " ") + "--help";
  std::vector<std::string> extra = app.remaining(true);
  std::string sentence = error.what();
  if (error.get_name() == "RequiredError" && !chosen.empty()) {
    sentence = what_is_missing(*chosen.front()).value_or(sentence);
  }
  if (!extra.empty()) sentence = about_unknown(app, extra, behind);
  if (app.count("--json") > 0) {
    sentence = "--json goes before a command only with --version: write tune COMMAND --json";
  }
  complain(headline(with_short_words(sentence)) + "\nsee: " + help);
  return exit_bad_input;
}

}  // namespace tune
