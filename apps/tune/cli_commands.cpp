#include "apps/tune/cli_commands.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <limits>

#include "apps/tune/output.h"
#include "tuner/spec/resume_changes.h"

namespace tune {

namespace {

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& what,
                      const std::string& examples) {
  CLI::App* const command = app.add_subcommand(name, what);
  command->footer("Examples:\n" + examples);
  return command;
}

CLI::Option* add_json(CLI::App& command, bool& json,
                      const std::string& what = "As one JSON object") {
  return command.add_flag("--json", json, what);
}

/// Of a command whose answers are JSON in any case, so that programs need not know which.
void add_json_in_any_case(CLI::App& command, bool& ignored) {
  add_json(command, ignored, "It is JSON in any case");
}

void add_directory(CLI::App& command, std::string& directory) {
  command.add_option("DIR", directory, "The experiment's directory")->required();
}

/// A trial as the next word, or after --trial.
CLI::Option* add_trial(CLI::App& command, std::string& trial, const std::string& what) {
  // An empty one is a shell's variable that is not set, and does not mean all trials.
  const auto look_at = [](const std::string& word) {
    if (word.empty()) throw user_error("a trial is written like 3 or trial_00003, got ''");
  };
  return command.add_option("TRIAL,--trial", trial, what)->type_name("ID")->each(look_at);
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

void add_style(CLI::App& command, RunStyle& style) {
  command
      .add_option("--progress", style.progress,
                  "A live table, plain lines, nothing, or what fits the terminal")
      ->check(CLI::IsMember({"auto", "table", "lines", "none"}))
      ->capture_default_str();
  command
      .add_option("--grace", style.grace_s,
                  "After an interrupt, the time that trials have for a last checkpoint")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  command
      .add_option("--lease-s", style.lease_s,
                  "Another host takes over once this driver has been silent for so long")
      ->type_name("SECONDS")
      ->check(CLI::Range(5.0, 1e6))
      ->capture_default_str();
  command.add_flag("--strict", style.strict,
                   "At a resume, a policy that answers differently than it did is an error");
  add_json(command, style.json,
           "How it has ended, as one JSON object; progress goes to standard error");
}

/// Those of a new experiment, or of one that is there, which keeps what it is not told.
enum class SpecFields { all, changes };

/// Whether an experiment that is there takes another value than it has.
bool may_change(std::string_view pointer) {
  const auto rules = change_rules();
  return std::none_of(rules.begin(), rules.end(), [&](const ChangeRule& rule) {
    return rule.pointer == pointer && !rule.refusal.empty();
  });
}

/// The options that say a field of the spec. One that would be refused is taken, for the sentence
/// that says why, and not shown.
void add_spec_fields(CLI::App& command, SpecSource& spec, SpecFields which = SpecFields::all) {
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
    if (option.kind == ValueKind::item || option.kind == ValueKind::variable) {
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

/// The spec's file and the options that win over it.
void add_spec(CLI::App& command, SpecSource& spec) {
  command.add_option("SPEC", spec.file,
                     "The experiment's spec, a JSON file, or a training program");
  add_spec_fields(command, spec);
}

void add_run_commands(CLI::App& app, Line& line) {
  CLI::App* const run = add_command(
      app, "run", "Start an experiment and run it to its end",
      "  tune run spec.json\n"
      "  tune run spec.json --num-samples 100 --scheduler asha --max-concurrent-trials 8\n"
      "  tune run spec.json --warm-start results/digits results/letters\n"
      "  tune run train.py --metric val_loss --mode min -p lr=loguniform:1e-5,1e-1 "
      "--num-samples 20\n"
      "  tune run --param-space space.json --metric loss --mode min --num-samples 20 \\\n"
      "           --stop training_iteration=50 -- python3 train.py --data digits\n");
  add_spec(*run, line.spec);
  add_warm_start(*run, line.spec);
  run->add_option("--resume", line.resume_mode,
                  "An experiment that is there already: never: refuse it; auto: go on with it, for "
                  "scripts that are run again; must: refuse to start a new one")
      ->check(CLI::IsMember({"auto", "never", "must"}))
      ->capture_default_str();
  add_style(*run, line.style);
  CLI::App* const resume =
      add_command(app, "resume", "Go on with an experiment whose driver ended or died",
                  "  tune resume results/digits\n"
                  "  tune resume results/digits --errored\n"
                  "  tune resume results/digits --trial 3 --trial 7\n"
                  "  tune resume results/digits --num-samples 200 --max-concurrent-trials 4\n"
                  "  tune resume results/digits --stop training_iteration=100 --finished\n"
                  "  tune resume --remote s3:bucket/prefix/digits\n"
                  "  tune resume results/digits -- ./moved/train --data digits\n");
  resume->add_option("DIR", line.resume.directory,
                     "The experiment's directory; with --remote [results/NAME]");
  resume
      ->add_option("--remote", line.resume.remote,
                   "Take it from there if it is not in DIR: s3:bucket/prefix/NAME")
      ->type_name("REMOTE");
  CLI::Option* const errored = resume->add_flag(
      "--errored", line.resume.errored, "Failed trials go on from their latest checkpoints");
  resume
      ->add_flag("--restart-errored", line.resume.restart_errored,
                 "Failed trials start from scratch; their checkpoints and results are deleted")
      ->excludes(errored);
  resume->add_flag("--salvage", line.resume.salvage,
                   "Go on from before the damage in a journal; the rest is kept beside it");
  resume
      ->add_option(
          "--trial", line.resume.trials,
          "Run only this one, also if it has ended: 3 or trial_00003; may be given several "
          "times")
      ->type_name("ID")
      ->allow_extra_args(false);
  resume->add_flag("--finished", line.resume.finished,
                   "With a longer --stop: trials that a shorter one has ended go on too");
  add_spec_fields(*resume, line.spec, SpecFields::changes);
  add_style(*resume, line.style);
}

void add_remote_commands(CLI::App& app, Line& line) {
  RemoteRequest& request = line.remote;
  CLI::App* const pull =
      add_command(app, "pull", "Take a copy of an experiment from its remote, to look at",
                  "  tune pull s3:bucket/prefix/digits\n"
                  "  tune pull s3:bucket/prefix/digits /scratch/digits\n");
  pull->add_option("REMOTE", request.remote, "Where the experiment is")->required();
  pull->add_option("DIR", request.directory, "An empty or new directory [results/NAME]");
  add_json(*pull, request.json);

  CLI::App* const push =
      add_command(app, "push", "Put on the remote what is not there, of an experiment that rests",
                  "  tune push results/digits\n"
                  "  tune push results/digits --remote s3:bucket/prefix\n");
  add_directory(*push, request.directory);
  push->add_option("--remote", request.remote, "Instead of the one in its spec")
      ->type_name("REMOTE");
  add_json(*push, request.json);

  CLI::App* const fetch =
      add_command(app, "fetch", "Bring checkpoints back that are only on the remote",
                  "  tune fetch results/digits/trial_00003/checkpoint_000001\n");
  fetch
      ->add_option("CHECKPOINT", request.checkpoints,
                   "Their directories, as tune checkpoints names them; that of a trial or an "
                   "experiment: all of theirs")
      ->required();
  fetch
      ->add_option("--to", request.to,
                   "A copy of one into this directory, also while a driver runs")
      ->type_name("DIR");
  add_json(*fetch, request.json);

  CLI::App* const remote = add_command(app, "remote", "Look at an experiment on its remote",
                                       "  tune remote verify s3:bucket/prefix/digits\n"
                                       "  tune remote verify s3:bucket/prefix/digits --read\n");
  remote->require_subcommand(1);
  CLI::App* const verify =
      add_command(*remote, "verify", "Say whether what is there is whole; exit code 3 if it is not",
                  "  tune remote verify s3:bucket/prefix/digits --read\n");
  verify->add_option("REMOTE", request.remote, "Where the experiment is")->required();
  verify->add_flag("--read", request.reads, "Read every byte, not the sizes alone");
  add_json(*verify, request.json);
}

void add_check(CLI::App& app, Line& line) {
  CheckRequest& request = line.check;
  CLI::App* const check =
      add_command(app, "check", "Play a driver with a training program, and say what does not hold",
                  "  tune check spec.json\n"
                  "  tune check spec.json --iterations 10 --tolerance 1e-6\n"
                  "  tune check --config '{\"lr\": 0.1}' -- python3 train.py\n");
  add_spec(*check, line.spec);
  check
      ->add_option("--config", request.config,
                   "Of its trials [the first that the search would try]")
      ->type_name("JSON");
  check
      ->add_option("--iterations", request.iterations,
                   "Of a whole run; it is saved, killed and restored in the middle")
      ->type_name("N")
      ->check(CLI::Range(2, 1'000'000))
      ->capture_default_str();
  check
      ->add_option("--tolerance", request.tolerance,
                   "Metrics are equal that differ by at most this part of their value; 0: not by a "
                   "bit")
      ->type_name("PART")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  check->add_option("--timeout", request.timeout_s, "For a step, and for a save")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.001, 1e9))
      ->capture_default_str();
  check->add_flag("--keep", request.keep, "Keep the directories of the trials, also if all holds");
  check->add_flag("--json", request.json, "As a JSON object a line");
}

void add_init(CLI::App& app, Line& line) {
  InitRequest& request = line.init;
  CLI::App* const init =
      add_command(app, "init", "Write a commented spec to start from",
                  "  tune init\n  tune init digits.json\n  tune init - > digits.json\n"
                  "  tune init --from train.py --metric val_loss --mode min\n"
                  "  tune init --from train.py mnist.json -- --data mnist\n"
                  "  tune init --from sweep.yaml\n"
                  "  tune init --skill ~/.skills/tune/SKILL.md\n");
  init->add_option("FILE", request.file,
                   "The file to write, -: standard output [spec.json, SKILL.md]");
  CLI::Option* const from =
      init->add_option(
              "--from", request.from,
              "A program that knows nothing of tune: it is run with --help, and the options "
              "that it names are proposed as hyperparameters; or a sweep of W&B or an experiment "
              "of "
              "Katib, FILE.yaml, that is written as a spec")
          ->type_name("PROGRAM");
  init->add_flag("--skill", request.skill,
                 "Instead of a spec, a file that tells coding agents how to use tune")
      ->excludes(from);
  init->add_option("--metric", request.metric,
                   "With --from: the metric that it prints and that counts")
      ->type_name("NAME");
  init->add_option("--mode", request.mode,
                   "With --from: which values are better [by the metric's name]")
      ->type_name("min|max")
      ->check(CLI::IsMember({"min", "max"}));
  init->add_option("--timeout", request.timeout_s, "With --from: for the program's help")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.001, 1e6))
      ->capture_default_str();
  add_json(*init, request.json, "Which file was written, as one JSON object");
}

void add_schema(CLI::App& app, Line& line) {
  CLI::App* const schema =
      add_command(app, "schema", "Print the JSON schema of a spec, or of a command's --json",
                  "  tune schema > experiment.schema.json\n"
                  "  tune schema status\n"
                  "  tune schema remote verify\n"
                  "  tune schema exit-codes\n");
  schema->add_option("COMMAND", line.schema_of,
                     "The command; exit-codes: what each exit code means [spec]");
  add_json_in_any_case(*schema, line.json);
}

void add_spec_commands(CLI::App& app, Line& line) {
  CLI::App* const validate =
      add_command(app, "validate", "Check a spec, and say everything that is wrong with it",
                  "  tune validate spec.json\n"
                  "  tune validate spec.json --searcher '{\"type\": \"random\"}'\n");
  add_spec(*validate, line.spec);
  add_json(*validate, line.json);
  CLI::App* const preview =
      add_command(app, "preview", "Show what a run would do: configs, resources; runs nothing",
                  "  tune preview spec.json\n"
                  "  tune preview spec.json --seed 7 --json\n");
  add_spec(*preview, line.spec);
  add_json(*preview, line.json);
  add_check(app, line);
  add_init(app, line);
  add_schema(app, line);
}

/// The library's own check names the largest number there is.
CLI::Validator above_zero() {
  return {[](std::string& text) {
            std::uint64_t value = 0;
            const char* const end = text.data() + text.size();
            const auto [stop, error] = std::from_chars(text.data(), end, value);
            const bool is_good = error == std::errc() && stop == end && value > 0;
            return is_good ? "" : text + " is no whole number above 0";
          },
          ""};
}

void add_list(CLI::App& app, Line& line) {
  CLI::App* const list =
      add_command(app, "ls", "List the trials, or a folder's experiments",
                  "  tune ls results\n"
                  "  tune ls results/digits --sort accuracy --desc --limit 10\n"
                  "  tune ls results/digits --filter 'accuracy > 0.9 && optimizer == \"adam\"'\n"
                  "  tune ls results/digits --state ERROR --columns trial_id,failures,error\n"
                  "  tune ls results/digits --columns trial_id,best,best_iteration,gpus,started\n"
                  "  tune ls results/digits results/more --sort best\n"
                  "  tune ls results/digits --over seed\n"
                  "  tune ls results/digits --csv > trials.csv\n");
  ListRequest& request = line.list;
  list->add_option("DIR", request.directories,
                   "The experiment's directory; the trials of several are one table")
      ->required();
  list->add_option("--sort", request.sort, "Metric, config value or field to sort by")
      ->type_name("NAME");
  list->add_flag("--desc", request.descending, "Largest first");
  list->add_option("--filter", request.filter,
                   "Only trials of which this is true: an expression over metrics, config values "
                   "and fields; '.' stands for '/'")
      ->type_name("EXPR");
  list->add_option("--state", request.states, "Only trials in these states")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("STATE,...");
  list->add_option("--columns", request.columns, "What to show of each trial")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...");
  list->add_option("--over", request.over,
                   "One row for all trials whose configs differ in these hyperparameters alone "
                   "(seeds, folds): how many, mean, standard deviation")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...");
  list->add_option("--limit", request.limit, "At most so many trials")
      ->type_name("N")
      ->check(above_zero());
  CLI::Option* const json = list->add_flag("--json", request.json, "As a JSON list of objects");
  list->add_flag("--csv", request.csv, "As CSV, with all there is unless --columns says less")
      ->excludes(json);
}

/// Which values of the trials count.
template <class Request>
void add_metric(CLI::App& command, Request& request) {
  command.add_option("--metric", request.metric, "Instead of the experiment's own")
      ->type_name("NAME");
  command.add_option("--mode", request.mode, "Which values are better")->type_name("min|max");
  command
      .add_option("--scope", request.scope,
                  "Over which of a trial's results: last, all, avg, last-5-avg, last-10-avg")
      ->type_name("SCOPE")
      ->default_str(request.scope.empty() ? "all; of several metrics last" : request.scope);
}

void add_compare(CLI::App& app, Line& line) {
  CompareRequest& request = line.compare;
  CLI::App* const compare = add_command(app, "compare", "Show how trials differ, side by side",
                                        "  tune compare results/digits 3 7\n"
                                        "  tune compare results/digits:3 results/more:7 --json\n");
  compare
      ->add_option("DIR", request.words,
                   "An experiment's directory, and trials of it: DIR 3 7, or DIR:3 OTHER:7")
      ->required();
  compare->add_option("--metric", request.metric, "Instead of the experiment's own")
      ->type_name("NAME");
  compare->add_option("--mode", request.mode, "Which values are better")->type_name("min|max");
  compare->add_flag("--all", request.all, "Also hyperparameters that are equal");
  add_json(*compare, request.json);
}

void add_note(CLI::App& app, Line& line) {
  NoteRequest& request = line.note;
  CLI::App* const note =
      add_command(app, "note", "Write a note about a trial, or give it tags",
                  "  tune note results/digits 3 \"loss jumps at 40, but comes back\"\n"
                  "  tune note results/digits 3 --tag good,final\n"
                  "  tune note results/digits 3 --untag final\n"
                  "  tune ls results/digits --filter 'tags == \"good\"'\n");
  add_directory(*note, request.directory);
  add_trial(*note, request.trial, "Which one: 3 or trial_00003")->required();
  note->add_option("TEXT", request.text, "A note to add; without any, what there is is printed");
  const auto add_tags = [&](const char* name, std::vector<std::string>& tags, const char* what) {
    note->add_option(name, tags, what)
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name("TAG,...");
  };
  add_tags("--tag", request.tags, "Tags to give it");
  add_tags("--untag", request.removed_tags, "Tags to take away");
  note->add_flag("--clear", request.clear, "Remove the notes that there are");
  add_json(*note, request.json);
}

void add_look_commands(CLI::App& app, Line& line) {
  CLI::App* const status = add_command(app, "status", "Show how an experiment is doing",
                                       "  tune status results/digits\n"
                                       "  tune status results/digits --follow\n"
                                       "  tune status results/digits --json\n");
  add_directory(*status, line.status.directory);
  status->add_flag("-f,--follow", line.status.follow,
                   "Again and again, until its driver has ended; in a pipe a line for each change");
  add_json(*status, line.status.json);

  add_list(app, line);

  CLI::App* const show = add_command(app, "show", "Show all there is about one trial",
                                     "  tune show results/digits 3\n"
                                     "  tune show results/digits trial_00003 --json\n");
  add_directory(*show, line.show.directory);
  add_trial(*show, line.show.trial, "Which one: 3 or trial_00003")->required();
  add_json(*show, line.show.json);

  add_compare(app, line);
  add_note(app, line);

  CLI::App* const logs = add_command(app, "logs", "Print what a trial's program prints",
                                     "  tune logs results/digits 3\n"
                                     "  tune logs results/digits 3 --stderr --follow\n");
  add_directory(*logs, line.logs.directory);
  add_trial(*logs, line.logs.trial, "Which one: 3 or trial_00003")->required();
  logs->add_flag("--stderr", line.logs.is_stderr, "Its standard error instead");
  logs->add_option("--rank", line.logs.rank, "Of several workers, which one's")
      ->type_name("N")
      ->check(CLI::Range(0, 999))
      ->capture_default_str();
  logs->add_flag("-f,--follow", line.logs.follow, "Go on as more comes, until the trial has ended");

  CLI::App* const events =
      add_command(app, "events", "Print everything that has happened, a JSON object a line",
                  "  tune events results/digits | jq -c 'select(.e == \"result\")'\n"
                  "  tune events results/digits --follow --from 1000\n");
  add_directory(*events, line.events.directory);
  events->add_option("--from", line.events.from, "Number of the first event to print")
      ->type_name("N")
      ->check(above_zero())
      ->capture_default_str();
  events->add_flag("-f,--follow", line.events.follow,
                   "Go on as more happens, until the experiment is finished or its driver leaves");
  add_json_in_any_case(*events, line.json);

  CLI::App* const best =
      add_command(app, "best", "Show the best trial, or the Pareto front of several metrics",
                  "  tune best results/digits\n"
                  "  tune best results/digits --metric loss --mode min --scope last\n"
                  "  tune best results/digits -n 5\n"
                  "  tune best results/digits --over-time\n"
                  "  cp -r \"$(tune best results/digits --json | jq -r "
                  "'.best_checkpoints[0].path')\" model\n");
  add_directory(*best, line.best.directory);
  add_metric(*best, line.best);
  CLI::Option* const count = best->add_option("-n", line.best.count, "List the K best trials")
                                 ->type_name("K")
                                 ->check(above_zero());
  best->add_flag("--over-time", line.best.over_time,
                 "List the moments at which there was a better one")
      ->excludes(count);
  best->add_flag("--json", line.best.json,
                 "As a JSON object, or a list with -n and of several metrics");

  CLI::App* const checkpoints =
      add_command(app, "checkpoints", "List the checkpoints, and verify them",
                  "  tune checkpoints results/digits --trial 3\n"
                  "  tune checkpoints results/digits --verify\n"
                  "  tune checkpoints results/digits --trial 3 --blobs\n");
  add_directory(*checkpoints, line.checkpoints.directory);
  add_trial(*checkpoints, line.checkpoints.trial, "Of this trial only: 3 or trial_00003");
  checkpoints->add_flag("--verify", line.checkpoints.verify,
                        "Compare every file with its checksum; exit code 3 if any is damaged");
  checkpoints->add_flag("--blobs", line.checkpoints.blobs,
                        "List the tensors in their *.safetensors files");
  checkpoints->add_flag("--json", line.checkpoints.json, "As a JSON list of objects");

  CLI::App* const diff = add_command(
      app, "diff", "Show which tensors of two checkpoints differ; exit code 0: none, 1: some",
      "  tune diff results/digits:3@5 results/digits:3\n"
      "  tune diff digits:best ./pretrained\n");
  for (const auto& [name, text] :
       {std::pair("BEFORE", &line.diff.before), std::pair("AFTER", &line.diff.after)}) {
    diff->add_option(name, *text,
                     "A checkpoint: a directory or file, digits:3, digits:3@10, digits:best")
        ->type_name("CHECKPOINT")
        ->required();
  }
  diff->add_flag("--json", line.diff.json, "As a JSON object");
}

void add_lineage(CLI::App& app, Line& line) {
  CLI::App* const lineage = add_command(
      app, "lineage", "Show which trials went on as copies of which, and the best one's schedule",
      "  tune lineage results/digits\n"
      "  tune lineage results/digits --trial 3 --all\n"
      "  tune lineage results/digits --json | jq .schedule.steps\n");
  add_directory(*lineage, line.lineage.directory);
  add_trial(*lineage, line.lineage.trial,
            "Show the schedule of this one instead of the best: 3 or trial_00003");
  lineage->add_flag("--all", line.lineage.all, "Also what has no descendants any more");
  add_json(*lineage, line.lineage.json);
}

void add_importance(CLI::App& app, Line& line) {
  ImportanceRequest& request = line.importance;
  CLI::App* const importance =
      add_command(app, "importance", "Show which hyperparameters mattered",
                  "  tune importance results/digits\n"
                  "  tune importance results/digits --slice learning_rate\n"
                  "  tune importance results/digits --method ped_anova --top 0.2 --json\n");
  add_directory(*importance, request.directory);
  add_metric(*importance, request);
  importance
      ->add_option("--method", request.method,
                   "fanova: of the metric's variance; ped_anova: for being among the best")
      ->type_name("METHOD")
      ->check(CLI::IsMember({"fanova", "ped_anova"}))
      ->capture_default_str();
  importance
      ->add_option("--at", request.iteration,
                   "Compare values at this iteration; without it, at one that nine of ten trials "
                   "have reached, if trials were cut short")
      ->type_name("ITERATION")
      ->check(CLI::Range(1, std::numeric_limits<int>::max()));
  importance
      ->add_option("--slice", request.slice,
                   "Show how the metric is along one hyperparameter, and which part is good")
      ->type_name("NAME");
  importance
      ->add_option("--top", request.top,
                   "Of ped_anova: the part of the trials that counts as the best ones")
      ->type_name("PART")
      ->check(CLI::Range(1e-6, 0.999))
      ->capture_default_str();
  add_json(*importance, request.json);
}

void add_wait(CLI::App& command, double& wait_s) {
  command.add_option("--wait", wait_s, "For another process that is asking or telling just now")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
}

void add_ask_commands(CLI::App& app, Line& line) {
  CLI::App* const suggest =
      add_command(app, "suggest", "Print the next config, for a trial that you run yourself",
                  "  tune suggest results/mine --spec spec.json\n"
                  "  tune suggest results/mine -n 8\n"
                  "  tune suggest results/mine --param-space space.json --metric loss --mode min "
                  "--searcher tpe\n");
  add_directory(*suggest, line.ask.directory);
  suggest->add_option("--spec", line.spec.file, "With this spec, if there is no experiment yet")
      ->type_name("FILE");
  suggest->add_option("-n,--count", line.ask.count, "How many, a line each")
      ->type_name("K")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  add_wait(*suggest, line.ask.wait_s);
  add_json_in_any_case(*suggest, line.json);
  add_warm_start(*suggest, line.spec);
  add_spec_fields(*suggest, line.spec);

  TellRequest& request = line.tell;
  CLI::App* const tell = add_command(
      app, "tell", "Take in how a trial has ended that tune suggest has suggested",
      "  tune tell results/mine 3 --value 0.25\n"
      "  tune tell results/mine 3 --metrics '{\"loss\": 0.25, \"training_iteration\": 20}'\n"
      "  tune tell results/mine 3 --failed --reason 'out of memory'\n"
      "  echo '{\"trial_id\": \"trial_00003\", \"value\": 0.25}' | tune tell results/mine -\n");
  add_directory(*tell, request.directory);
  add_trial(*tell, request.trial, "Which one: 3 or trial_00003; -: JSON lines on standard input")
      ->required();
  CLI::Option* const value =
      tell->add_option("--value", request.value, "Of the experiment's metric")->type_name("X");
  CLI::Option* const metrics =
      tell->add_option("--metrics", request.metrics, "All metrics, as a JSON object")
          ->type_name("JSON")
          ->excludes(value);
  CLI::Option* const failed = tell->add_flag("--failed", request.failed, "It has failed for good")
                                  ->excludes(value)
                                  ->excludes(metrics);
  tell->add_option("--reason", request.reason, "Why it has failed")
      ->type_name("TEXT")
      ->needs(failed);
  add_wait(*tell, request.wait_s);
  add_json_in_any_case(*tell, line.json);
  add_plugins(*tell, request.plugins);
}

void add_simulate(CLI::App& app, Line& line) {
  SimulateRequest& request = line.simulate;
  CLI::App* const simulate = add_command(
      app, "simulate", "Compare schedulers on learning curves that are known; runs nothing",
      "  tune simulate spec.json --curves sweep.csv --workers 4,400\n"
      "  tune simulate spec.json --curves a.csv b.csv --scheduler fifo,asha --seeds 30\n"
      "  tune simulate --curves sweep.csv --metric accuracy --mode max --csv \\\n"
      "                --scheduler 'asha,{\"type\":\"asha\",\"brackets\":3}' --time-budget-s "
      "600,3600\n");
  add_spec(*simulate, line.spec);
  simulate
      ->add_option("--curves", request.curves, "CSV files of curves, as tune export writes them")
      ->type_name("FILE")
      ->required();
  simulate->add_option("--workers", request.workers, "Trials at one time, to be compared")
      ->type_name("N,...")
      ->capture_default_str();
  simulate->add_option("--seeds", request.seeds, "Simulations of each, from --seed on")
      ->type_name("K")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  simulate
      ->add_option("--target", request.target,
                   "Of the metric, to be reached [within 1 % of the best in the curves]")
      ->type_name("VALUE");
  simulate->add_option("--launch-s", request.launch_s, "What each start of a trial costs")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  simulate->add_option("--save-s", request.save_s, "What each checkpoint costs")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  simulate->add_flag("--allow-short", request.allow_short,
                     "Curves that end before the others are over there");
  simulate
      ->add_option("--dir", request.directory,
                   "Keep each simulation's journal in a directory of its own in there")
      ->type_name("DIR");
  CLI::Option* const json = simulate->add_flag("--json", request.json, "As one JSON object");
  simulate->add_flag("--csv", request.csv, "As CSV")->excludes(json);
}

void add_export(CLI::App& app, Line& line) {
  CLI::App* const command =
      add_command(app, "export", "Write the learning curves of an experiment, for tune simulate",
                  "  tune export results/digits --curves curves.csv\n"
                  "  tune export results/population --curves curves.csv --lineage\n"
                  "  tune export results/digits --curves - | head\n");
  add_directory(*command, line.exported.directory);
  command->add_option("--curves", line.exported.curves, "The CSV file to write; -: standard output")
      ->type_name("FILE")
      ->required();
  command->add_flag("--lineage", line.exported.lineage,
                    "Of clones, what their models went through, over all whose copies they are");
  add_json(*command, line.exported.json, "What was written, as one JSON object");
}

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
  add_run_commands(app, line);
  add_remote_commands(app, line);
  add_spec_commands(app, line);
  add_control_commands(app, line);
  add_look_commands(app, line);
  add_ask_commands(app, line);
  add_importance(app, line);
  add_lineage(app, line);
  add_export(app, line);
  add_simulate(app, line);
  add_hidden_commands(app, line);
}

void collect_options(const CLI::App& command, SpecSource& spec) {
  for (const auto& option : spec_options()) {
    const CLI::Option* const given = command.get_option_no_throw(option.name);
    if (given == nullptr) continue;
    for (const auto& value : given->results()) spec.options.push_back({&option, value});
  }
}

}  // namespace tune
