// Reads state, lock and spec of an experiment together, and asks its driver over the control
// socket.
#include "tuner/view/experiment_view.h"

#include <algorithm>
#include <cmath>
#include <system_error>

#include "searchers/searchers.h"
#include "tuner/ask_session.h"
#include "tuner/base/count_of.h"
#include "tuner/base/error.h"
#include "tuner/base/nearest_name.h"
#include "tuner/base/quoted.h"
#include "tuner/base/whole_number.h"
#include "tuner/checkpoints/evicted.h"
#include "tuner/control/control_client.h"
#include "tuner/journal/experiment_store.h"
#include "tuner/policy/decision_epochs.h"
#include "tuner/process/process_stat.h"
#include "tuner/process/system_clock.h"
#include "tuner/run/commit/recovery.h"
#include "tuner/spec_changes.h"
#include "tuner/view/trial_fields.h"
#include "tuner/view/value_text.h"

namespace tune {

void require_experiment(const std::filesystem::path& directory) {
  if (directory.empty()) {
    throw user_error(
        "name the experiment's directory: what was given is empty, perhaps a variable "
        "that is not set");
  }
  std::error_code ignored;
  if (std::filesystem::is_regular_file(directory, ignored)) {
    throw user_error(directory.string() +
                     " is a file: name the experiment's directory, or start one: tune run " +
                     shell_word(directory));
  }
  const auto files = make_posix_file_system();
  if (ExperimentStore::exists(*files, directory)) return;
  throw no_experiment(*files, std::filesystem::absolute(directory).lexically_normal());
}

bool is_experiment(const std::filesystem::path& directory) {
  return ExperimentStore::exists(*make_posix_file_system(), directory);
}

/// One that cannot be looked into may be one: who lists it will say what is wrong.
bool may_be_experiment(const std::filesystem::path& directory) {
  try {
    return is_experiment(directory);
  } catch (const Error&) {
    return true;
  }
}

std::vector<std::filesystem::path> experiments_in(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> found;
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code ignored;
    if (at->is_directory(ignored) && may_be_experiment(at->path())) found.push_back(at->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

ExperimentView view_experiment(const std::filesystem::path& directory,
                               const MakeReader& make_reader) {
  require_experiment(directory);
  const auto files = make_posix_file_system();
  auto absolute = std::filesystem::absolute(directory).lexically_normal();
  if (!absolute.has_filename()) absolute = absolute.parent_path();
  const Json json = ExperimentStore::read_spec(*files, absolute);
  // Without a catalogue: policies may come from a plugin that nobody needs for looking. What they
  // lack is a problem only for who wants to run them.
  std::vector<Problem> ignored;
  const Catalogue none;
  Experiment experiment;
  std::vector<std::string> notices;
  const ExperimentSpec recorded = parse_recorded_spec(json, none, ignored);
  const auto reader = make_reader ? make_reader(experiment, recorded)
                                  : std::make_unique<ExperimentReader>(experiment);
  ExperimentStore::read(*files, absolute, *reader, notices);
  ExperimentSpec spec = with_changes(recorded, experiment.spec_changes(), none, ignored);
  auto driver = ExperimentStore::driver(*files, absolute);
  if (driver) notices.clear();
  auto copy = driver ? std::nullopt : read_copy_note(*files, absolute);
  if (copy && experiment.last_time() > copy->time) copy.reset();
  std::uint64_t kept = 0;
  for (const auto& trial : experiment.trials()) kept += trial.checkpoints.size();
  return {ResultGrid(std::move(experiment), std::move(spec), absolute), kept, std::move(driver),
          std::move(copy), std::move(notices)};
}

namespace {

constexpr Seconds patience_s = 2;

/// By a signal or a debugger, which it cannot answer from.
bool is_stopped(const Driver& driver) {
  const auto stat = read_process_stat(static_cast<pid_t>(driver.pid));
  return stat && stat->start_ticks == driver.start_ticks &&
         (stat->state == 'T' || stat->state == 't');
}

}  // namespace

Json Awaited::answers_json() const {
  if (answer) return true;
  return silence.empty() ? Json() : Json(false);
}

Awaited ask_what_is_awaited(const ExperimentView& view, std::optional<TrialId> trial) {
  if (!view.driver || !view.driver->is_here) return {};
  const std::string pid = std::to_string(view.driver->pid);
  if (is_stopped(*view.driver)) {
    return {{},
            "the driver (pid " + pid + ") is stopped and does not answer: kill -CONT " + pid +
                " lets it go on"};
  }
  const auto clock = make_system_clock();
  const Seconds until_s = clock->steady() + patience_s;
  try {
    auto client = ControlClient::connect(view.grid.directory(), patience_s);
    if (!client) return {};
    ControlAnswer answer = client->ask({.kind = ControlRequest::Kind::waits, .trial = trial},
                                       until_s - clock->steady());
    // One of an older program, or one that is leaving, may refuse, but lives.
    if (!answer.accepted) answer = ControlAnswer{};
    return {std::move(answer), ""};
  } catch (const NoAnswer& error) {
    return {{}, error.what()};
  } catch (const Error&) {
    return {};  // gone by now, or another user's
  }
}

std::vector<std::pair<std::string, std::size_t>> counts_of(const Experiment& experiment) {
  std::vector<std::pair<std::string, std::size_t>> counts;
  const auto add = [&](auto of) {
    if (const std::size_t count = experiment.count(of)) counts.emplace_back(to_string(of), count);
  };
  for (const TrialEnd end : trial_ends) add(end);
  for (const auto state : {TrialState::pending, TrialState::running, TrialState::paused}) {
    add(state);
  }
  return counts;
}

bool has_unfinished(const Experiment& experiment) {
  return experiment.count(TrialState::pending) > 0 || experiment.count(TrialState::running) > 0 ||
         experiment.count(TrialState::paused) > 0;
}

bool is_finished(const Experiment& experiment) {
  return experiment.session_ended() == SessionEnd::finished &&
         experiment.count(TrialState::pending) == 0;
}

std::string resume_command(const ResultGrid& grid) {
  const Seconds budget_s = grid.spec().time_budget_s.value_or(0);
  std::string command = "tune resume " + shell_word(grid.directory());
  const Seconds used_s = grid.experiment().running_s(grid.experiment().last_time());
  if (budget_s > 0 && used_s >= budget_s) {
    // A budget may have been set that was used up long before.
    const double times = std::floor(used_s / budget_s) + 1;
    command += " --time-budget-s " + format_metric(times * budget_s);
  }
  return command;
}

std::string why_given_up(const Experiment& experiment) {
  if (experiment.session_ended() != SessionEnd::given_up) return "";
  const std::string& end = experiment.session_end();
  return end.starts_with(given_up_word) ? end.substr(given_up_word.size()) : end;
}

namespace {

/// How many trials are PENDING whose last attempt has failed.
std::size_t waiting_after_failure(const Experiment& experiment) {
  std::size_t count = 0;
  for (const auto& [place, id] : experiment.pending()) {
    count += experiment.trial(id).error->empty() ? 0 : 1;
  }
  return count;
}

/// Whether no trial has spoken the protocol: that its program does is what its spec says.
bool are_all_silent(const ResultGrid& grid) {
  if (grid.spec().plain) return false;
  const Trials& trials = grid.experiment().trials();
  return std::all_of(trials.begin(), trials.end(), [](const Trial& trial) {
    return trial.state != TrialState::error ||
           trial.error->find("before it said hello") != std::string::npos;
  });
}

/// Whether all that failed did so for want of a metric that no trial has had.
bool lack_metric(const ResultGrid& grid) {
  const Trials& trials = grid.experiment().trials();
  return std::all_of(trials.begin(), trials.end(), [](const Trial& trial) {
    return trial.last_metrics.empty() &&
           (trial.state != TrialState::error ||
            trial.error->find("never had a number for the metric") != std::string::npos);
  });
}

}  // namespace

std::string failed_text(const ResultGrid& grid) {
  const std::size_t count = grid.experiment().count(TrialState::error);
  if (is_told(grid.spec())) return "";
  if (const std::size_t waiting = waiting_after_failure(grid.experiment());
      waiting > 0 && !why_given_up(grid.experiment()).empty()) {
    return count_of(waiting, "trial has", "trials have") +
           " failed and will be tried again (PENDING); once the cause is mended: " +
           resume_command(grid) + (count > 0 ? " --errored" : "");
  }
  if (count == 0) return "";
  if (are_all_silent(grid)) {
    return count_of(count, "trial") +
           ", which never said hello; what kind of program it is no resume changes: mend the "
           "command, and run it under another --name";
  }
  if (lack_metric(grid)) {
    const Objective* const objective = sole(grid.spec().objectives);
    const std::string metric =
        objective != nullptr ? as_quoted(objective->metric) : "a metric of those that count";
    return count_of(count, "trial") + ", which never printed " + metric +
           "; to try the same again ends the same: run it under another --name with a --metric "
           "that it prints, or say with trainable/plain/metrics how " +
           (objective != nullptr ? metric : "that one") + " is read (docs/plain.md)";
  }
  const bool ended_all = grid.spec().failure_config.fail_fast != FailFast::no;
  return count_of(count, "trial") + "; to try again: tune resume " + shell_word(grid.directory()) +
         " --errored" + (ended_all ? "; without it, only what has not begun goes on" : "");
}

std::string spent_text(const ExperimentSpec& spec, const Experiment& experiment) {
  const Json* const scheduler = find_freeze_thaw(spec.scheduler);
  if (scheduler == nullptr || !scheduler->is_object()) return "";
  return spent_text(whole_number<std::int64_t>(scheduler->value("max_total_t", Json())),
                    experiment);
}

std::string paused_text(const ExperimentSpec& spec, const Experiment& experiment,
                        const std::filesystem::path& directory) {
  const std::string spent = spent_text(spec, experiment);
  if (!spent.empty()) return spent;
  const std::string held = held_text(experiment);
  if (held.empty()) {
    return "they would go on after results of new trials only: tune resume " +
           shell_word(directory) + " --num-samples N";
  }
  return "by hand; to go on: tune resume " + shell_word(directory) + held;
}

std::string held_text(const Experiment& experiment) {
  std::string text;
  for (const auto& [place, id] : experiment.paused()) {
    if (experiment.trial(id).held) text += " --trial " + std::to_string(index_of(id));
  }
  return text;
}

std::string front_text(const ResultGrid& grid) {
  const ParetoFront front = grid.pareto_front();
  if (const auto reason = grid.none_feasible()) return *reason;
  std::string text = count_of(front.trials.size(), "trial") + " that no other dominates";
  if (front.reference.empty()) return text;
  text += ", hypervolume " + format_metric(front.hypervolume) + " from ";
  for (std::size_t j = 0; j < front.reference.size(); ++j) {
    text += (j == 0 ? "" : ", ") + grid.spec().objectives[j].metric + " " +
            format_metric(front.reference[j]);
  }
  return text;
}

namespace {

/// The name of the directory of a trial that `text` is, if it is one of this experiment: what other
/// commands print is pasted.
std::string name_of_trial(const ResultGrid& grid, const std::string& text) {
  if (text.find('/') == text.npos) return text;
  auto path = std::filesystem::absolute(text).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  std::error_code ignored;
  const bool is_in_it = path.parent_path() == grid.directory() ||
                        std::filesystem::equivalent(path.parent_path(), grid.directory(), ignored);
  return is_in_it ? path.filename().string() : text;
}

}  // namespace

const Trial& find_trial(const ResultGrid& grid, const std::string& text) {
  const auto id = parse_trial_id(name_of_trial(grid, text));
  if (!id || index_of(*id) >= grid.size()) {
    throw user_error("there is no trial " + as_quoted(text) + " in " + grid.directory().string() +
                     ", which has " + count_of(grid.size(), "trial") + " from trial_00000");
  }
  return grid.experiment().trial(*id);
}

CheckpointPlace checkpoint_place(const std::filesystem::path& checkpoint) {
  const auto files = make_posix_file_system();
  if (find_evicted(*files, checkpoint)) return CheckpointPlace::remote;
  return files->exists(checkpoint) ? CheckpointPlace::here : CheckpointPlace::missing;
}

const char* to_string(CheckpointPlace place) {
  switch (place) {
    case CheckpointPlace::here:
      return "here";
    case CheckpointPlace::remote:
      return "remote";
    case CheckpointPlace::missing:
      break;
  }
  return "missing";
}

const char* place_remark(const std::filesystem::path& checkpoint) {
  switch (checkpoint_place(checkpoint)) {
    case CheckpointPlace::here:
      return "";
    case CheckpointPlace::remote:
      return ", only on the remote";
    case CheckpointPlace::missing:
      break;
  }
  return ", missing: it is neither here nor known to be on a remote";
}

std::string where_running_breaks_off(const ExperimentView& view) {
  const bool runs = view.grid.experiment().count(TrialState::running) > 0;
  if (!runs || view.driver || view.copy || is_told(view.grid.spec())) return "";
  return "where the record breaks off (the driver was killed, or could not write)";
}

Scope checked_scope(const std::string& name) {
  if (const auto scope = parse_scope(name)) return *scope;
  const std::vector<std::string> known = {"last", "all", "avg", "last-5-avg", "last-10-avg"};
  throw user_error(unknown_name("scope", name, known));
}

bool is_last_value_only(std::string_view metric) {
  return metric == "training_iteration" || metric == "time_total_s";
}

namespace {

/// Error (user) if something else of the trials has the name: no trial is best by that.
void refuse_no_metric(const ResultGrid& grid, const TrialFields& fields, const std::string& given) {
  TrialFields::Field field;
  try {
    field = fields.find("metric", given);
  } catch (const Error&) {
    return;  // nothing has it
  }
  if (field.source == TrialFields::Field::Source::metric) return;
  const bool is_of_config = field.source == TrialFields::Field::Source::config;
  throw user_error(as_quoted(given) + " is " +
                   (is_of_config ? "a hyperparameter" : "what tune knows of a trial") +
                   ", and no metric that the program reports: tune ls " +
                   shell_word(grid.directory()) + " --sort " + shell_word(given) +
                   " sorts the trials by it");
}

/// The metric's own name, however it is written; empty if none is given.
std::string metric_meant_by(const ResultGrid& grid, const std::string& given) {
  const auto& objectives = grid.spec().objectives;
  if (given.empty() || find_objective(objectives, given) != nullptr) return given;
  const TrialFields fields({{&grid, ""}});
  try {
    return fields.find_metric(given);
  } catch (const Error& unknown) {
    refuse_no_metric(grid, fields, given);
    if (!grid.spec().plain) throw;
    throw user_error(std::string(unknown.what()) +
                     "; of what a plain program prints only what is listed is read: tune run --set "
                     "'trainable/plain/metrics=[" +
                     Json(given).dump(-1, ' ', false, Json::error_handler_t::replace) +
                     "]' (docs/plain.md)");
  }
}

}  // namespace

Objective objective_for(const ResultGrid& grid, const std::string& given, const std::string& mode) {
  const auto& objectives = grid.spec().objectives;
  const std::string metric = metric_meant_by(grid, given);
  const Objective* const own =
      metric.empty() ? sole(objectives) : find_objective(objectives, metric);
  if (metric.empty() && !own) {
    throw user_error(objectives.empty()
                         ? "the experiment has no metric of its own: give --metric and --mode"
                         : "the experiment has several metrics: say which one with --metric");
  }
  const std::string name = metric.empty() ? own->metric : metric;
  if (mode.empty()) {
    if (own) return *own;
    throw user_error("give --mode too: it is not known whether a small or a large " +
                     as_quoted(name) + " is better");
  }
  const auto parsed = parse_mode(mode);
  if (!parsed) throw user_error("--mode must be min or max, got " + as_quoted(mode));
  return {name, *parsed};
}

}  // namespace tune
