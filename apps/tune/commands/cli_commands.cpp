// Registers all commands with the parser, in the groups in which --help lists them.
#include "apps/tune/commands/cli_commands.h"

#include <CLI/CLI.hpp>

#include "apps/tune/cli_parts.h"
#include "apps/tune/spec_options.h"
#include "tuner/spec/resume_changes.h"

namespace tune {

namespace {

void add_control_commands(CLI::App& app, Line& line) {
  ControlOptions& options = line.control;
  CLI::App* const stop =
      add_command(app, "stop", "End a running experiment, or one of its trials, in good order",
                  "  tune stop results/digits\n"
                  "  tune stop results/digits --wait\n"
                  "  tune stop results/digits --trial 3\n");
  add_directory(*stop, options.directory);
  CLI::Option* const one = add_trial(*stop, options.trial, "Only this trial: 3 or trial_00003");
  stop->add_flag("--wait", options.wait, "Return when the driver has left")->excludes(one);
  add_json(*stop, options.json);
  stop->callback([&options] { options.kind = ControlRequest::Kind::stop; });

  CLI::App* const pause =
      add_command(app, "pause", "Save all running trials and make the driver leave; resume goes on",
                  "  tune pause results/digits --wait && tune resume results/digits\n"
                  "  tune pause results/digits --trial 3\n");
  add_directory(*pause, options.directory);
  CLI::Option* const paused =
      add_trial(*pause, options.trial,
                "Only this trial is saved and waits, until tune unpause: 3 or trial_00003");
  pause->add_flag("--wait", options.wait, "Return when the driver has left")->excludes(paused);
  add_json(*pause, options.json);
  pause->callback([&options] { options.kind = ControlRequest::Kind::pause; });

  CLI::App* const unpause = add_command(app, "unpause", "Go on with a trial that was paused",
                                        "  tune unpause results/digits --trial 3\n");
  add_directory(*unpause, options.directory);
  add_trial(*unpause, options.trial, "The trial: 3 or trial_00003")->required();
  add_json(*unpause, options.json);
  unpause->callback([&options] { options.kind = ControlRequest::Kind::unpause; });

  CLI::App* const add =
      add_command(app, "add", "Run a trial with a config of your own, next",
                  "  tune add results/digits '{\"learning_rate\": 0.01, \"hidden\": 64}'\n");
  add_directory(*add, options.directory);
  add->add_option("CONFIG", options.config,
                  "JSON object with values of the param space; what it leaves out is drawn")
      ->required();
  add_json(*add, options.json);
  add->callback([&options] { options.kind = ControlRequest::Kind::add; });

  CLI::App* const checkpoint =
      add_command(app, "checkpoint", "Have running trials saved at their next result",
                  "  tune checkpoint results/digits\n"
                  "  tune checkpoint results/digits --trial 3\n");
  add_directory(*checkpoint, options.directory);
  add_trial(*checkpoint, options.trial, "Only this trial: 3 or trial_00003");
  add_json(*checkpoint, options.json);
  checkpoint->callback([&options] { options.kind = ControlRequest::Kind::checkpoint; });

  CLI::App* const set = add_command(
      app, "set", "Change the number of trials, and more, of a running experiment",
      "  tune set results/digits num_samples=100 max_concurrent_trials=4\n"
      "  tune set results/digits time_budget_s=3600 'stop={\"training_iteration\": 50}'\n");
  add_directory(*set, options.directory);
  std::string fields;
  for (const std::string& name : fields_while_running()) {
    fields += (fields.empty() ? "Fields of the spec: " : ", ") + name;
  }
  set->add_option("CHANGE", options.fields, "Like num_samples=100. " + fields)->required();
  add_json(*set, options.json);
  set->callback([&options] { options.kind = ControlRequest::Kind::set; });
}

struct CommandGroup {
  const char* title;
  std::vector<const char*> commands;
};

/// As docs/cli.md has them. Within a group they stand in the order in which they are registered.
void group_commands(CLI::App& app) {
  static const CommandGroup groups[] = {
      {"Prepare a search", {"init", "validate", "preview", "check", "schema"}},
      {"Run it", {"run", "resume", "agent"}},
      {"Steer it while it runs", {"stop", "pause", "unpause", "add", "set", "checkpoint"}},
      {"Look at it",
       {"status", "ls", "show", "compare", "note", "logs", "events", "best", "importance",
        "lineage", "report", "plot", "dashboard"}},
      {"Checkpoints", {"checkpoints", "diff"}},
      {"Copies on a remote store", {"pull", "push", "fetch", "remote"}},
      {"Trials that you run yourself", {"suggest", "tell"}},
      {"Compare schedulers on known curves", {"export", "simulate"}},
  };
  for (const CommandGroup& group : groups) {
    for (const char* command : group.commands) app.get_subcommand(command)->group(group.title);
  }
}

/// What packages and shells ask for; nobody else has to see it.
void add_hidden_commands(CLI::App& app, Line& line) {
  app.add_subcommand("generate", "Write the manual pages")
      ->group("")
      ->add_option("--man", line.directory, "The directory to write them to")
      ->required();
  app.add_subcommand("complete", "Print what the last word after -- may become")->group("");
}

}  // namespace

void add_commands(CLI::App& app, Line& line) {
  add_spec_commands(app, line);
  add_run_commands(app, line);
  add_control_commands(app, line);
  add_look_commands(app, line);
  add_importance(app, line);
  add_lineage(app, line);
  add_report(app, line);
  add_plot(app, line);
  add_dashboard(app, line);
  add_remote_commands(app, line);
  add_ask_commands(app, line);
  add_export(app, line);
  add_simulate(app, line);
  group_commands(app);
  add_hidden_commands(app, line);
}

void collect_options(const CLI::App& command, SpecSource& spec) {
  for (const auto& option : spec_options()) {
    const CLI::Option* const given = command.get_option_no_throw(option.name);
    // The time of a job that runs a whole search is another.
    const bool is_other =
        command.get_name() == "submit" && std::string_view(option.pointer) == "/cluster/time";
    if (given == nullptr || is_other) continue;
    for (const auto& value : given->results()) spec.options.push_back({&option, value});
  }
}

}  // namespace tune
