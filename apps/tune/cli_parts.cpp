// Options that several commands share: --json, the directory, the trial, plugins, and the fields of
// a spec.
#include "apps/tune/cli_parts.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <sstream>

#include "apps/tune/spec_options.h"
#include "tuner/base/error.h"
#include "tuner/spec/resume_changes.h"

namespace tune {

namespace {

/// What may be given in two ways is explained once, and required once.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    const bool is_said = !is_positional && option->get_positional();
    if (!is_said) return CLI::Formatter::make_option(option, is_positional);
    std::ostringstream out;
    CLI::detail::format_help(out, make_option_name(option, false) + " " + option->get_type_name(),
                             same_as_positional(*option), column_width_);
    return out.str();
  }
};

}  // namespace

std::string same_as_positional(const CLI::Option& option) {
  return "The same as " + option.get_name(true);
}

void set_help_format(CLI::App& app) { app.formatter(std::make_shared<HelpFormatter>()); }

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& what,
                      const std::string& examples) {
  CLI::App* const command = app.add_subcommand(name, what);
  command->footer("Examples:\n" + examples);
  return command;
}

CLI::Option* add_json(CLI::App& command, bool& json, const std::string& what) {
  return command.add_flag("--json", json, what);
}

void add_json_in_any_case(CLI::App& command, bool& ignored) {
  add_json(command, ignored, "It is JSON in any case");
}

void add_directory(CLI::App& command, std::string& directory) {
  command.add_option("DIR", directory, "The experiment's directory")->required();
}

CLI::Option* add_trial(CLI::App& command, std::string& trial, const std::string& what) {
  // An empty one is a shell's variable that is not set, and does not mean all trials.
  const auto view_experiment = [](const std::string& word) {
    if (word.empty()) throw user_error("a trial is written like 3 or trial_00003, got ''");
  };
  return command.add_option("TRIAL,--trial", trial, what)->type_name("ID")->each(view_experiment);
}

void add_plugins(CLI::App& command, std::vector<std::string>& plugins) {
  command
      .add_option("--plugin", plugins,
                  "A shared library with more searchers, schedulers, stoppers or callbacks; may be "
                  "given several times")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

void add_warm_start(CLI::App& command, SpecSource& spec) {
  command
      .add_option("--warm-start", spec.warm_start,
                  "Let the searcher of a new experiment know what came out in these ones")
      ->type_name("DIR...");
}

namespace {

/// Whether an experiment that is there takes another value than it has.
bool may_change(std::string_view pointer) {
  const auto rules = change_rules();
  return std::none_of(rules.begin(), rules.end(), [&](const ChangeRule& rule) {
    return rule.pointer == pointer && !rule.refusal.empty();
  });
}

}  // namespace

void add_spec_fields(CLI::App& command, SpecSource& spec, SpecFields which) {
  const bool is_change = which == SpecFields::changes;
  const std::string group = is_change ? "Changes of the spec" : "Spec";
  command.add_option("--param-space", spec.param_space, "A JSON file with the param space alone")
      ->type_name("FILE")
      ->group(is_change ? "" : "Options");
  command
      .add_option("-p,--param", spec.domains,
                  "One hyperparameter: lr=loguniform:1e-5,1e-1, batch=choice:16,32, layers=4; may "
                  "be given several times")
      ->type_name("NAME=DOMAIN")
      ->allow_extra_args(false)
      ->group(is_change ? "" : "Options");
  for (const auto& option : spec_options()) {
    // A job that runs a whole search has a time of its own.
    if (command.get_option_no_throw(option.name) != nullptr) continue;
    // Of a resume, it says where the experiment is.
    if (is_change && std::string_view(option.pointer) == "/remote/path") continue;
    const std::string shown_in = !is_change || may_change(option.pointer) ? group : "";
    // The defaults of new ones stand in brackets, at the end.
    const std::string help = option.help;
    const std::string text = is_change ? help.substr(0, help.rfind(" [")) : help;
    if (option.kind == ValueKind::flag) {
      command.add_flag(option.name, text)->group(shown_in);
      continue;
    }
    CLI::Option* const added = command.add_option(option.name, text);
    added->type_name(option.placeholder)->group(shown_in);
    if (option.kind == ValueKind::item || option.kind == ValueKind::variable ||
        option.kind == ValueKind::rules) {
      added->expected(1, -1)->allow_extra_args(false);
    } else {
      added->expected(1);
    }
  }
  command
      .add_option("--set", spec.settings,
                  "Anything in the spec: searcher/gamma=0.25, param_space/lr={\"uniform\":[0,1]}; "
                  "may be given several times")
      ->type_name("PATH=JSON")
      ->allow_extra_args(false)
      ->group(group);
  add_plugins(command, spec.plugins);
}

void add_spec(CLI::App& command, SpecSource& spec) {
  command.add_option("SPEC", spec.file,
                     "The experiment's spec, a JSON file, or a training program");
  add_spec_fields(command, spec);
}

}  // namespace tune
