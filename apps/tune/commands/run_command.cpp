// `tune run` and `tune resume`: from a spec to a driver, and what to say when it is done.
#include <unistd.h>

#include <algorithm>

#include "apps/tune/commands.h"
#include "apps/tune/dashboard_process.h"
#include "apps/tune/output.h"
#include "apps/tune/warm_start.h"
#include "callbacks/callbacks.h"
#include "callbacks/terminal.h"
#include "tuner/ask_session.h"
#include "tuner/base/clean_text.h"
#include "tuner/base/count_of.h"
#include "tuner/base/error.h"
#include "tuner/base/quoted.h"
#include "tuner/checkpoint_reference.h"
#include "tuner/journal/experiment_store.h"
#include "tuner/plugins.h"
#include "tuner/preflight.h"
#include "tuner/run.h"
#include "tuner/spec/resume_changes.h"
#include "tuner/spec_changes.h"
#include "tuner/view/best.h"
#include "tuner/view/experiment_view.h"
#include "tuner/view/status.h"
#include "tuner/view/trial_fields.h"

namespace tune {

namespace {

constexpr std::size_t most_named_failures = 10;

/// For a run without a console: warnings still reach the user.
class NoticePrinter final : public Callback {
 public:
  std::string name() const override { return "notices"; }
  void on_notice(const std::string& sentence) override {
    pump_.write("tune: notice: " + clean_text(sentence, Lines::keep) + "\n");
  }

 private:
  OutputPump pump_{STDERR_FILENO};
};

RunOptions run_options(const RunStyle& style) {
  RunOptions options;
  options.strict = style.strict;
  options.interrupt_grace_s = style.grace_s;
  options.lease_s = style.lease_s;
  options.agent_program = own_program();
  options.command_line = style.command_line;
  options.is_interrupted = [] { return InterruptsNoted::came().load(); };
  options.on_wait = [](const std::string& sentence) { complain(sentence); };
  const bool is_quiet = style.progress == "none" || (style.json && style.progress == "auto");
  if (is_quiet) {
    options.callbacks.push_back(std::make_unique<NoticePrinter>());
    return options;
  }
  ConsoleOptions console;
  if (style.progress == "table") console.style = ConsoleStyle::table;
  if (style.progress == "lines") console.style = ConsoleStyle::lines;
  if (style.json) {
    console.style = ConsoleStyle::lines;
    const auto pump = std::make_shared<OutputPump>(STDERR_FILENO);
    console.write = [pump](std::string_view text) { pump->write(text); };
  }
  options.callbacks.push_back(make_console(console));
  return options;
}

std::string title_of(const ResultGrid& results) {
  const Experiment& experiment = results.experiment();
  std::string text = count_of(results.size(), "trial");
  for (const auto& [name, number] : counts_of(experiment)) {
    text += ", " + std::to_string(number) + " " + name;
  }
  return text;
}

std::string ending(const LoopEnd& end) {
  switch (end.kind) {
    case LoopEnd::Kind::finished:
      return "finished";
    case LoopEnd::Kind::stopped:
      return end.reason.starts_with("stopped") ? end.reason : "stopped: " + end.reason;
    case LoopEnd::Kind::raised:
      return "ended at once: " + end.reason;
    case LoopEnd::Kind::interrupted:
      return "interrupted: " + end.reason;
    case LoopEnd::Kind::given_up:
      return "given up: " + end.reason;
  }
  return "";
}

void add_best(const ResultGrid& results, std::vector<std::pair<std::string, std::string>>& lines) {
  const auto& objectives = results.spec().objectives;
  if (objectives.size() > 1) lines.emplace_back("front", front_text(results));
  const Objective* const objective = sole(objectives);
  if (!objective) return;
  const auto best = results.best_trial(*objective, Scope::all);
  if (!best) {
    lines.emplace_back("best trial", no_best_text(results, *objective));
    return;
  }
  const Trial& trial = results.experiment().trial(*best);
  const TrialResult result = results[index_of(*best)];
  lines.emplace_back("best trial", named_with_state(trial));
  lines.emplace_back(objective->metric, best_and_last_text(results, trial, *objective));
  add_config(result.config, lines);
  const auto present = trial.present_checkpoints();
  const auto order = rank_checkpoints(present, results.spec().checkpoint_config);
  const Checkpoint* const kept = order.empty() ? nullptr : &present[order.front()];
  lines.emplace_back("checkpoint", checkpoint_text(results, trial, kept, *objective, Scope::all));
}

std::string failures_text(const ResultGrid& results) {
  std::string text;
  std::size_t named = 0;
  for (const auto& failed : results.errors()) {
    if (++named > most_named_failures) break;
    text += "tune: " + failed.trial_id + " failed: " + headline(failed.error) + "\n";
  }
  const std::size_t count = results.experiment().count(TrialState::error);
  if (count > most_named_failures) {
    text += "tune: and " + std::to_string(count - most_named_failures) +
            " more trials failed: tune ls " + shell_word(results.directory()) +
            " --state ERROR --columns trial_id,error\n";
  }
  return text;
}

const char* word_of(LoopEnd::Kind kind) {
  switch (kind) {
    case LoopEnd::Kind::finished:
      return "finished";
    case LoopEnd::Kind::stopped:
      return "stopped";
    case LoopEnd::Kind::raised:
      return "raised";
    case LoopEnd::Kind::interrupted:
      return "interrupted";
    case LoopEnd::Kind::given_up:
      return "given_up";
  }
  return "";
}

int exit_code_of(const RunOutcome& outcome) {
  switch (outcome.end.kind) {
    case LoopEnd::Kind::interrupted:
      return exit_interrupted;
    case LoopEnd::Kind::raised:
      return exit_raised;
    case LoopEnd::Kind::given_up:
      return exit_trials_failed;
    case LoopEnd::Kind::finished:
    case LoopEnd::Kind::stopped:
      break;
  }
  if (outcome.results.experiment().count(TrialState::error) > 0) return exit_trials_failed;
  return outcome.not_on_remote.empty() ? exit_ok : exit_not_on_remote;
}

/// The same as `tune status` says from now on, and how this session has ended.
void print_end(const std::filesystem::path& directory, const LoopEnd& end,
               const std::string& not_on_remote, int exit_code) {
  print_json({{"end", word_of(end.kind)},
              {"reason", end.reason},
              {"exit_code", exit_code},
              {"not_on_remote", not_on_remote.empty() ? Json() : Json(not_on_remote)},
              {"status", status_json(look_at_status(directory))}});
}

/// Each trial of a plain program has left within its first seconds, without a result and with an
/// exit code that is not 0: perhaps it does not know the arguments that it is given.
/// Whether `error` is about how the program was given `config`: not a mistake of the program's own,
/// which all of its trials die of alike, nor a value that it does not take.
bool is_about_arguments(const std::string& error, const Json& config) {
  const auto has = [&error](const std::string& words) {
    return error.find(words) != std::string::npos;
  };
  const bool names_a_kind = has("option") || has("flag") || has("argument") || has("verride");
  const bool is_of_a_call = has("keyword argument") || has("positional argument");
  const auto is_in = [&](const auto& leaf) {
    const std::string name = leaf.first.substr(leaf.first.rfind('/') + 1);
    if (has("argument --" + name + ":")) return false;  // it knows this one
    return has("--" + name) || (names_a_kind && !is_of_a_call && has(name));
  };
  const auto leaves = leaves_of(config);
  return has("sage: ") || std::any_of(leaves.begin(), leaves.end(), is_in);
}

bool has_refused_its_start(const ResultGrid& results) {
  constexpr Seconds first_seconds = 30;
  const Trials& trials = results.experiment().trials();
  const auto has_refused = [](const Trial& trial) {
    if (trial.attempt == 0) return true;  // it was never tried
    return trial.last_metrics.empty() && trial.occupied_s < first_seconds * trial.attempt &&
           trial.error->find(" exited with code ") != std::string::npos &&
           trial.error->find(" exited with code 0 ") == std::string::npos;
  };
  const auto is_told_so = [](const Trial& trial) {
    if (trial.attempt == 0) return false;
    const std::string said = trial.error->substr(0, trial.error->find("; see /"));
    return is_about_arguments(said, Json::parse(present_config(trial)));
  };
  return results.spec().plain && results.experiment().count(TrialState::running) == 0 &&
         std::all_of(trials.begin(), trials.end(), has_refused) &&
         std::any_of(trials.begin(), trials.end(), is_told_so);
}

void print_summary(const RunOutcome& outcome) {
  const ResultGrid& results = outcome.results;
  const std::string directory = shell_word(results.directory());
  const bool is_interrupted = outcome.end.kind == LoopEnd::Kind::interrupted;
  std::vector<std::pair<std::string, std::string>> lines = {
      {"experiment", results.spec().name + " " + ending(outcome.end)},
      {"trials", title_of(results)},
  };
  add_best(results, lines);
  if (const SaveStatistics& saves = results.experiment().saves(); saves.failed > 0) {
    lines.emplace_back("saves failed", std::to_string(saves.failed) + " of " +
                                           std::to_string(saves.failed + saves.committed) +
                                           ": tune ls " + directory +
                                           " --columns trial_id,failed_saves --sort failed_saves "
                                           "--desc");
  }
  // As the record has it, like `tune status`: the write of the session's end is not in itself.
  const Experiment& experiment = results.experiment();
  lines.emplace_back(
      "state kept",
      count_of(experiment.last_event(), "event") + ", " +
          state_cost_text(experiment.cost(), experiment.running_s(experiment.last_time())));
  if (is_finished(results.experiment())) {
    if (outcome.attempts == 0 && results.size() > 0) {
      const bool is_spent = !spent_text(results.spec(), results.experiment()).empty();
      const std::string more = "; for more of them: tune resume " + directory + " --num-samples N";
      lines.emplace_back("nothing ran",
                         is_spent ? "no trial may train more" : "all trials had ended" + more);
    }
    // What waits then waits for good, as asha_promotion means it.
    if (results.experiment().count(TrialState::paused) > 0) {
      lines.emplace_back("paused",
                         paused_text(results.spec(), results.experiment(), results.directory()));
    }
  } else if (is_interrupted || has_unfinished(results.experiment())) {
    lines.emplace_back("go on", resume_command(results));
  }
  if (!outcome.not_on_remote.empty()) {
    lines.emplace_back("remote", "not everything is there; once it can be: tune push " + directory);
  }
  if (const auto text = failed_text(results); !text.empty()) lines.emplace_back("failed", text);
  if (has_refused_its_start(results)) {
    lines.emplace_back("its config",
                       "if it does not take it as --name value: docs/plain.md, The "
                       "config, has the other ways");
  }
  lines.emplace_back("look further", "tune status " + directory);
  lines.emplace_back("", "tune ls " + directory);
  if (!results.spec().objectives.empty()) {
    lines.emplace_back("", "tune best " + directory);
  }
  print_in_passing(STDOUT_FILENO, "\n" + pairs_text(lines));
}

template <class Run>
int run_and_conclude(const std::filesystem::path& directory, const RunStyle& style,
                     const Run& run) {
  // Before the driver: it looks after the processes that are started later.
  if (style.dashboard) start_dashboard(directory, style.json);
  const RunOutcome outcome = [&] {
    try {
      return run();
    } catch (const JournalFailed& failed) {
      throw machine_error(std::string(failed.what()) +
                          "\nonce that is mended, go on with: tune resume " +
                          shell_word(directory));
    }
  }();
  const int exit_code = exit_code_of(outcome);
  if (style.json) {
    print_end(outcome.results.directory(), outcome.end, outcome.not_on_remote, exit_code);
  } else {
    print_summary(outcome);
  }
  print_in_passing(STDERR_FILENO, failures_text(outcome.results));
  if (!outcome.not_on_remote.empty()) complain(outcome.not_on_remote);
  return exit_code;
}

ResumeOptions resume_options(const ResumeRequest& request) {
  ResumeOptions options;
  if (request.errored) options.errored = ErroredTrials::go_on;
  if (request.restart_errored) options.errored = ErroredTrials::restart;
  options.finished = request.finished;
  for (const auto& text : request.trials) {
    const auto trial = parse_trial_id(text);
    if (!trial) throw user_error("--trial must be like 3 or trial_00003, got " + as_quoted(text));
    options.trials.push_back(*trial);
  }
  return options;
}

ExperimentSpec recorded_spec(const Json& json, const std::filesystem::path& directory,
                             const Catalogue& catalogue) {
  std::vector<Problem> problems;
  ExperimentSpec spec = parse_recorded_spec(json, catalogue, problems);
  if (problems.empty()) return spec;
  print_problems({json, {}, (directory / "experiment.json").string(), {}}, problems);
  throw user_error("the recorded spec of " + directory.string() + " is not right");
}

/// What a resume has to be told so that failed trials run with the command of `spec`; nothing if it
/// could not, as more has changed than a resume may.
std::optional<std::string> words_to_repeat(const std::filesystem::path& directory,
                                           ExperimentSpec spec, const Catalogue& catalogue) {
  const ExperimentSpec recorded = recorded_spec(spec_in_force(directory), directory, catalogue);
  spec.name = recorded.name;
  spec.storage_path = recorded.storage_path;
  keep_chosen_searcher(recorded, spec);
  if (!refuse_changes(recorded, spec, catalogue).empty()) return std::nullopt;
  std::string words = " --errored";
  if (spec.command == recorded.command) return words;
  words += " --";
  for (const std::string& word : spec.command) words += " " + shell_word(word);
  return words;
}

/// What to type instead of `tune run` where an experiment is already.
[[noreturn]] void refuse_existing(const std::filesystem::path& directory,
                                  const ExperimentSpec& spec, const Catalogue& catalogue) {
  const ExperimentView view = view_experiment(directory);
  const Experiment& experiment = view.grid.experiment();
  const std::string word = shell_word(directory);
  if (view.driver) {
    throw user_error(directory.string() + " holds an experiment that " + name_of(*view.driver) +
                     " is running. Either\n"
                     "  look at it:           tune status " +
                     word + "\n  or use another name:  tune run ... --name OTHER");
  }
  const bool finished = is_finished(experiment);
  const auto& trials = experiment.trials();
  const auto failed = std::count_if(trials.begin(), trials.end(), [](const Trial& trial) {
    return trial.state == TrialState::error;
  });
  const auto again = failed > 0 ? words_to_repeat(directory, spec, catalogue) : std::nullopt;
  // More trials of what has failed each time would fail as well.
  const bool is_hopeless = failed > 0 && static_cast<std::size_t>(failed) == trials.size();
  std::string ways;
  if (again) ways += "  repeat what failed:   tune resume " + word + *again + "\n";
  if (!finished) {
    ways += "  go on with it:        tune resume " + word +
            "\n  in a script:          tune run ... --resume auto\n";
  } else if (!is_hopeless && spent_text(view.grid.spec(), experiment).empty()) {
    ways += "  extend it:            tune resume " + word + " --num-samples N\n";
  }
  throw user_error(directory.string() + " holds an experiment already, which is " +
                   (finished ? "finished" : "not finished") +
                   (failed > 0 ? ", with " + count_of(static_cast<std::size_t>(failed), "trial") +
                                     " of " + std::to_string(trials.size()) + " failed"
                               : "") +
                   ". Either\n" + ways +
                   (ways.empty() ? "  use another name:     " : "  or use another name:  ") +
                   "tune run ... --name OTHER\n"
                   "  or remove it:         rm -r " +
                   word);
}

/// Goes on with the experiment in `directory` under `spec`, where that may differ from what is
/// recorded. If it was warm-started, what that gave to its searcher is.
int resume_existing(const std::filesystem::path& directory, const SpecDocument& document,
                    ExperimentSpec spec, const Catalogue& catalogue, const RunStyle& style,
                    bool was_warm) {
  const ExperimentSpec recorded = recorded_spec(spec_in_force(directory), directory, catalogue);
  // It was found by these, so they are right whatever was recorded before a move.
  spec.name = recorded.name;
  spec.storage_path = recorded.storage_path;
  // What a name meant when the experiment was started, it means for all of its trials.
  const Json named = document.json.value("resume_from_checkpoint", Json());
  if (named.is_string() && is_reference(named.get<std::string>(), document.base)) {
    spec.resume_from_checkpoint = recorded.resume_from_checkpoint;
  }
  keep_chosen_searcher(recorded, spec);
  if (was_warm && is_same_but_warmer(recorded, spec)) spec.searcher = recorded.searcher;
  const auto problems = refuse_changes(recorded, spec, catalogue);
  print_problems(document, problems);
  if (!problems.empty()) {
    throw user_error(directory.string() + " holds an experiment with another spec: put back what " +
                     "cannot change, or use another --name");
  }
  ResumeOptions options;
  if (to_json(recorded) != to_json(spec)) {
    options.change = [&spec](ExperimentSpec& changed) { changed = spec; };
  } else if (const ExperimentView view = view_experiment(directory);
             !view.driver && is_finished(view.grid.experiment())) {
    if (style.json) {
      print_end(directory, {}, "", exit_ok);
    } else {
      print(directory.string() + " is finished: " + title_of(view.grid) + "\n");
    }
    return exit_ok;
  }
  return run_and_conclude(std::filesystem::absolute(directory).lexically_normal(), style, [&] {
    return resume_experiment(directory, catalogue, run_options(style), options);
  });
}

/// The changed spec; nothing, after the problems have been printed, if it cannot be.
std::optional<ExperimentSpec> check_changes(const SpecDocument& document,
                                            const ExperimentSpec& recorded,
                                            const std::string& directory,
                                            const Catalogue& catalogue) {
  std::vector<Problem> problems;
  ExperimentSpec spec = parse_recorded_spec(document.json, catalogue, problems);
  if (problems.empty()) problems = refuse_changes(recorded, spec, catalogue);
  if (problems.empty()) {
    problems = preflight(spec, detect_resources());
    for (auto& [pointer, sentence] : problems) {
      const bool is_recorded = spec.command == recorded.command;
      if (is_recorded && pointer.starts_with("/trainable/command")) {
        sentence += "; if it has moved: tune resume " + shell_word(directory) + " -- COMMAND";
      }
    }
  }
  print_problems(document, problems);
  if (!problems.empty()) return std::nullopt;
  return spec;
}

}  // namespace

std::string own_program() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "tune" : program.string();
}

int run_command(const SpecSource& source, const RunStyle& style, const std::string& resume) {
  const SpecDocument document = assemble_spec(source);
  const Catalogue catalogue = warmed(catalogue_with(plugins_of(document)), source.warm_start);
  auto spec = check_spec(document, catalogue);
  if (!spec) return exit_bad_input;
  const auto directory = experiment_directory(*spec);
  TakenOver taken;
  if (resume != "never") taken = take_if_on_remote(*spec, directory, style.lease_s);
  if (ExperimentStore::exists(*make_posix_file_system(), directory)) {
    if (resume == "never") refuse_existing(directory, *spec, catalogue);
    return resume_existing(directory, document, *spec, catalogue, style,
                           !source.warm_start.empty());
  }
  if (resume == "must") {
    throw user_error("there is no experiment in " + directory.string() +
                     " to go on with: leave '--resume must' out to start one");
  }
  if (!source.warm_start.empty()) warm_start(*spec, source.warm_start);
  return run_and_conclude(directory, style,
                          [&] { return run_experiment(*spec, catalogue, run_options(style)); });
}

int resume_command(const ResumeRequest& given, const SpecSource& given_changes,
                   const RunStyle& style) {
  ResumeRequest request = given;
  SpecSource changes = given_changes;
  ResumeOptions options = resume_options(request);
  TakenOver taken;
  if (!request.remote.empty()) taken = take_from_remote(request, changes, style.lease_s);
  require_experiment(request.directory);
  const std::filesystem::path directory = request.directory;
  const Json recorded = spec_in_force(directory);
  auto document = assemble_changes(recorded, (directory / "experiment.json").string(), changes);
  std::vector<Problem> problems;
  // What is recorded is a directory, which may have gone.
  if (document.json.value("resume_from_checkpoint", Json()) !=
      recorded.value("resume_from_checkpoint", Json())) {
    document.json = with_checkpoint_found(document.json, document.base, problems);
  }
  print_problems(document, problems);
  if (!problems.empty()) return exit_bad_input;
  const Catalogue catalogue = catalogue_with(plugins_of(document));
  const auto before = recorded_spec(recorded, directory, catalogue);
  if (is_told(before) && changes.command.empty()) {
    throw user_error("the trials of " + request.directory +
                     " are run by whoever asks, with tune suggest and tune tell; for more of them: "
                     "tune suggest " +
                     shell_word(request.directory) +
                     " --num-samples N; to have tune run them: tune resume " +
                     shell_word(request.directory) + " -- COMMAND");
  }
  const auto after = check_changes(document, before, request.directory, catalogue);
  if (!after) return exit_bad_input;
  if (to_json(before) != to_json(*after)) {
    options.change = [&after](ExperimentSpec& spec) { spec = *after; };
  }
  return run_and_conclude(std::filesystem::absolute(directory).lexically_normal(), style, [&] {
    RunOptions running = run_options(style);
    running.salvage = request.salvage;
    return resume_experiment(directory, catalogue, std::move(running), options);
  });
}

}  // namespace tune
