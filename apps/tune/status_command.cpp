// `tune status`: one experiment at one glance.
// Knows no journal: look_at has read it.
#include <algorithm>
#include <chrono>
#include <map>
#include <system_error>

#include "apps/tune/best.h"
#include "apps/tune/commands.h"
#include "apps/tune/look.h"
#include "apps/tune/output.h"
#include "apps/tune/plugins.h"
#include "apps/tune/rung_replay.h"
#include "apps/tune/running_trials.h"
#include "apps/tune/status.h"
#include "apps/tune/status_follow.h"
#include "apps/tune/trial_fields.h"
#include "tuner/ask_session.h"
#include "tuner/core/clean_text.h"
#include "tuner/core/json_limits.h"
#include "tuner/loop/make_policies.h"
#include "tuner/store/paths.h"
#include "tuner/what_ran.h"

namespace tune {

namespace {

constexpr TrialState states[] = {TrialState::pending, TrialState::running, TrialState::paused,
                                 TrialState::terminated, TrialState::error};

/// What the experiment's state takes on disk now.
std::uint64_t state_bytes(const std::filesystem::path& directory) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().native();
    const bool is_state = name.starts_with("journal-") || name.starts_with("snapshot-") ||
                          name.starts_with("trials-");
    if (!is_state) continue;
    std::error_code gone;  // a snapshot may just be replacing it
    const auto size = entry->file_size(gone);
    if (!gone) bytes += size;
  }
  return bytes;
}

double mean(double sum, std::uint64_t count) {
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

Seconds now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Of a running experiment up to now, else up to its last event.
double running_s(const Look& look) {
  const Experiment& experiment = look.grid.experiment();
  return experiment.running_s(look.driver ? now_s() : experiment.last_time());
}

Json best_json(const ResultGrid& grid) {
  const Objective* const objective = sole(grid.spec().objectives);
  const auto best = objective ? grid.best_trial(*objective, Scope::all) : std::nullopt;
  if (!best) return nullptr;
  const Trial& trial = grid.experiment().trial(*best);
  const auto iteration = grid.best_iteration(trial, *objective);
  return {{"trial_id", to_string(trial.id)},
          {"state", to_string(trial.state)},
          {"end", end_of(trial)},
          {"metric", objective->metric},
          {"mode", to_string(objective->mode)},
          {"scope", to_string(Scope::all)},
          {"value", number_json(grid.exact_value(trial, *objective, Scope::all))},
          {"best_iteration", iteration ? Json(*iteration) : Json()},
          {"last", number_json(grid.exact_value(trial, *objective, Scope::last))},
          {"training_iteration", trial.iteration},
          {"tag", trial.tag}};
}

/// null unless there are several metrics.
Json front_json(const ResultGrid& grid) {
  const auto& objectives = grid.spec().objectives;
  if (objectives.size() < 2) return nullptr;
  const ParetoFront front = grid.pareto_front();
  Json reference;
  for (std::size_t j = 0; j < front.reference.size(); ++j) {
    reference[objectives[j].metric] = front.reference[j];
  }
  return {{"trials", front.trials.size()},
          {"hypervolume", front.hypervolume},
          {"reference", reference}};
}

/// The rank that answered last most often, and how often.
std::optional<std::pair<int, std::uint64_t>> slowest_rank(const SaveStatistics& saves) {
  if (saves.slowest.empty()) return std::nullopt;
  return *std::max_element(saves.slowest.begin(), saves.slowest.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
}

std::string slowest_rank_text(const SaveStatistics& saves) {
  const auto slowest = slowest_rank(saves);
  if (!slowest) return "";
  return ", rank " + std::to_string(slowest->first) + " was the slowest in " +
         std::to_string(slowest->second) + " of " + std::to_string(saves.committed);
}

Json checkpoints_json(const Look& look) {
  const SaveStatistics& saves = look.grid.experiment().saves();
  return {{"committed", saves.committed},
          {"kept", look.kept_checkpoints},
          {"failed", saves.failed},
          {"bytes", saves.bytes},
          {"save_s_mean", mean(saves.save_s, saves.committed)},
          {"save_s_max", saves.max_save_s},
          {"commit_s_mean", mean(saves.commit_s, saves.committed)},
          {"commit_s_max", saves.max_commit_s},
          {"slowest_rank", slowest_rank(saves) ? Json(slowest_rank(saves)->first) : Json()}};
}

/// What its last driver has said of its remote; null if it has none.
Json remote_json(const Look& look) {
  if (look.grid.spec().remote.path.empty()) return nullptr;
  const auto file = look.grid.directory() / "remote" / "status.json";
  const auto files = make_posix_file_system();
  if (!files->exists(file)) return nullptr;
  Json json = parse_shallow(files->read(file));
  return json.is_object() ? json : Json();
}

Json state_cost_json(const Look& look) {
  const StateCost cost = look.grid.experiment().cost();
  Json json = to_json(cost);
  json["share_of_running_time"] = share_of(cost, running_s(look));
  return json;
}

/// "12 done, 3 scheduler"; how many were ended by whom.
std::map<std::string, std::size_t> ends_of(const Experiment& experiment) {
  std::map<std::string, std::size_t> counts;
  for (const Trial& trial : experiment.trials()) {
    const bool is_known = is_final(trial.state) && trial.ended_by != EndedBy::nobody;
    if (is_known) ++counts[to_string(trial.ended_by)];
  }
  return counts;
}

Json ends_json(const Experiment& experiment) {
  Json counts;
  for (const TrialEnd end : trial_ends) counts[to_string(end)] = experiment.count(end);
  return counts;
}

/// How many trials there will be; nothing if that is not known, as for a plugin's searcher.
std::optional<std::uint64_t> total_of(const ResultGrid& grid) {
  const ExperimentSpec& spec = grid.spec();
  const Catalogue catalogue = catalogue_with({});
  std::vector<Problem> problems;
  const SearchSpace space = SearchSpace::parse(spec.param_space, "", problems);
  const Policies policies = make_policies(spec, space, catalogue, problems);
  return problems.empty() ? policies.total_trials(grid.experiment()) : std::nullopt;
}

/// null unless it is a copy of one that goes on elsewhere.
Json copy_json(const Look& look) {
  if (!look.copy) return nullptr;
  return {{"of", look.copy->of}, {"time", look.copy->time}};
}

/// When it will be over; nothing if nobody drives it.
std::optional<EndEstimate> end_of(const Look& look) {
  if (!look.driver || is_told(look.grid.spec())) return std::nullopt;
  const ExperimentSpec& spec = look.grid.spec();
  const EndConditions conditions =
      end_conditions(total_of(look.grid), spec.stop, spec.time_budget_s, Json::object());
  return estimate_end(look.grid.experiment(), conditions, now_s());
}

Json end_json(const Look& look) {
  const auto end = end_of(look);
  if (!end) return nullptr;
  return {{"remaining_s", end->remaining_s ? Json(*end->remaining_s) : Json()},
          {"is_upper_bound", end->is_bound},
          {"reason", end->reason}};
}

Json budget_json(const Look& look) {
  const auto& budget_s = look.grid.spec().time_budget_s;
  if (!budget_s) return nullptr;
  return std::max(0.0, *budget_s - running_s(look));
}

std::string driver_text(const Look& look) {
  if (look.driver) {
    if (look.driver->pid == 0) return name_of(*look.driver);
    const std::string text = "process " + std::to_string(look.driver->pid) + " on " +
                             look.driver->host + " since " + format_time(look.driver->since);
    if (look.driver->is_seen) return text;
    return text + ", if it lives: its last sign of life was " + format_time(look.driver->last_sign);
  }
  if (is_told(look.grid.spec())) {
    return "none; its trials are run by whoever asks: tune suggest " +
           shell_word(look.grid.directory());
  }
  const Experiment& experiment = look.grid.experiment();
  if (look.copy) {
    return "none here: this is a copy of " + look.copy->of + " as of " +
           format_time(look.copy->time);
  }
  if (!has_unfinished(experiment) || is_finished(experiment)) return "none";
  return "none; to go on: " + resume_command(look.grid);
}

std::string states_text(const Look& look) {
  const Experiment& experiment = look.grid.experiment();
  std::string text;
  for (const auto& [name, count] : counts_of(experiment)) {
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + name;
    // Whatever ends a driver in good order, or by a fault, takes what runs out of the record.
    if (name == to_string(TrialState::running) && !look.driver && !look.copy &&
        !is_told(look.grid.spec())) {
      text += " where the record breaks off (the driver was killed, or could not write)";
    }
  }
  const std::uint64_t total = total_of(look.grid).value_or(0);
  const std::uint64_t not_begun = total - std::min<std::uint64_t>(total, look.grid.size());
  if (not_begun > 0) {
    text += (text.empty() ? "none yet, " : ", ") + std::to_string(not_begun) + " not begun";
  }
  return text.empty() ? "none yet" : text;
}

std::string ends_text(const std::map<std::string, std::size_t>& ends) {
  std::string text;
  for (const auto& [by, count] : ends) {
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + by;
  }
  return text;
}

std::string best_text(const ResultGrid& grid) {
  const Json best = best_json(grid);
  if (best.is_null()) {
    if (grid.spec().objectives.empty()) return "the spec names no metric";
    return grid.none_feasible().value_or("no result yet");
  }
  const std::string tag = best["tag"];
  const Trial& trial =
      grid.experiment().trial(*parse_trial_id(best["trial_id"].get<std::string>()));
  return named_with_state(trial) + ", " + best["metric"].get<std::string>() + " " +
         best_and_last_text(grid, trial, *sole(grid.spec().objectives)) +
         (tag.empty() ? "" : " (" + tag + ")");
}

/// "tune run spec.json in /home/ada"; empty if that is not known.
std::string command_line_text(const Experiment& experiment) {
  const Json ran = Json::parse(experiment.ran(), nullptr, false);
  if (!ran.is_object() || !ran.contains("command_line")) return "";
  std::string text;
  for (const Json& word : ran.at("command_line")) {
    text += (text.empty() ? "" : " ") + shell_word(word.get<std::string>());
  }
  return text + " in " + ran.value("directory", std::string("?"));
}

std::string saves_text(const Look& look) {
  const SaveStatistics& saves = look.grid.experiment().saves();
  if (saves.committed + saves.failed == 0) return "none";
  const auto mean_bytes = mean(static_cast<double>(saves.bytes), saves.committed);
  return std::to_string(saves.committed) + " saved, " + std::to_string(look.kept_checkpoints) +
         " kept, " + std::to_string(saves.failed) + " failed; " +
         format_bytes(static_cast<double>(saves.bytes)) + " written, " + format_bytes(mean_bytes) +
         " each";
}

std::string remote_text(const Json& remote) {
  std::string text = remote.value("remote", "") + ": ";
  const Json state = remote.value("state_time", Json());
  text += state.is_number() ? "state of " + format_time(state.get<double>()) : "no state yet";
  text += ", " + count_of(remote.value("checkpoints_up", std::uint64_t{0}), "checkpoint");
  const auto waiting = remote.value("checkpoints_waiting", std::uint64_t{0});
  if (waiting > 0) text += ", " + std::to_string(waiting) + " more wait";
  if (remote.value("all_up", false)) text += ", all is there";
  return text;
}

void add_what_is_awaited(const Look& look,
                         std::vector<std::pair<std::string, std::string>>& lines) {
  const auto answer = ask_what_is_awaited(look);
  if (!answer) return;
  if (!answer->sentence.empty()) lines.emplace_back("waits for", clean_text(answer->sentence));
  for (const auto& sentence : answer->notices) lines.emplace_back("hangs", clean_text(sentence));
}

std::string seconds_text(double sum, std::uint64_t count, double largest) {
  return "mean " + format_seconds(mean(sum, count)) + ", max " + format_seconds(largest);
}

}  // namespace

Json status_json(const RungLook& seen) {
  const Look& look = seen.look;
  const Experiment& experiment = look.grid.experiment();
  Json counts = Json::object();
  for (const auto state : states) counts[to_string(state)] = experiment.count(state);
  const auto total = total_of(look.grid);
  const std::string given_up = why_given_up(experiment);
  const ControlAnswer awaited = ask_what_is_awaited(look).value_or(ControlAnswer{});
  Json driver;
  if (look.driver) {
    driver = {{"host", look.driver->host},
              {"pid", look.driver->pid},
              {"since", look.driver->since},
              {"seen", look.driver->is_seen},
              {"last_sign", look.driver->last_sign}};
  }
  return {{"name", look.grid.spec().name},
          {"directory", look.grid.directory().string()},
          {"trials", look.grid.size()},
          {"total_trials", total ? Json(*total) : Json()},
          {"states", counts},
          {"ends", ends_json(experiment)},
          {"ended_by", ends_of(experiment)},
          {"best", best_json(look.grid)},
          {"front", front_json(look.grid)},
          {"driver", driver},
          {"copy", copy_json(look)},
          {"waits_for", awaited.sentence.empty() ? Json() : Json(awaited.sentence)},
          {"hangs", awaited.notices},
          {"end_estimate", end_json(look)},
          {"time_budget_left_s", budget_json(look)},
          {"running", running_json(look, now_s())},
          {"rungs", to_json(seen.rungs)},
          {"stop_reason", experiment.stop_reason()},
          {"given_up", given_up.empty() ? Json() : Json(given_up)},
          {"session_end", experiment.session_end()},
          {"started", experiment.started()},
          {"running_s", running_s(look)},
          {"sessions", experiment.sessions()},
          {"results", experiment.results()},
          {"events", experiment.last_event()},
          {"state_bytes", state_bytes(look.grid.directory())},
          {"state_cost", state_cost_json(look)},
          {"checkpoints", checkpoints_json(look)},
          {"remote", remote_json(look)},
          {"ran", experiment.ran().empty() ? Json() : Json::parse(experiment.ran())},
          {"notices", look.notices}};
}

namespace {

std::vector<std::pair<std::string, std::string>> status_lines(const RungLook& seen) {
  const Look& look = seen.look;
  const Experiment& experiment = look.grid.experiment();
  const SaveStatistics& saves = experiment.saves();
  std::vector<std::pair<std::string, std::string>> lines = {
      {"experiment", look.grid.spec().name + " in " + look.grid.directory().string()},
      {"trials", states_text(look)},
      look.grid.spec().objectives.size() > 1 ? std::pair("front", front_text(look.grid))
                                             : std::pair("best", best_text(look.grid)),
      {"driver", driver_text(look)},
  };
  if (const auto ends = ends_of(experiment); !ends.empty()) {
    lines.insert(lines.begin() + 2, {"ended by", ends_text(ends)});
  }
  add_what_is_awaited(look, lines);
  if (const auto end = end_of(look)) lines.emplace_back("ends in", text_of(*end));
  if (const auto text = running_text(look, now_s()); !text.empty()) {
    lines.emplace_back("running", text);
  }
  if (seen.rungs) lines.emplace_back("rungs", text_of(*seen.rungs));
  const std::string held = held_text(experiment);
  if (!look.driver && is_finished(experiment) && experiment.count(TrialState::paused) > 0) {
    lines.emplace_back("paused", paused_text(experiment, look.grid.directory()));
  } else if (!held.empty()) {
    const std::string place = shell_word(look.grid.directory());
    const std::string first = held.substr(0, held.find(" --", 1));
    lines.emplace_back("paused", "by hand:" + held + "; to go on: " +
                                     (look.driver ? "tune unpause " + place + first
                                                  : "tune resume " + place + held));
  }
  if (const auto text = failed_text(look.grid); !look.driver && !text.empty()) {
    lines.emplace_back("failed", text);
  }
  if (const auto why = why_given_up(experiment); !why.empty()) lines.emplace_back("given up", why);
  if (!experiment.stop_reason().empty())
    lines.emplace_back("stop reason", experiment.stop_reason());
  if (const std::string& end = experiment.session_end(); !look.driver && !end.empty() &&
                                                         end != experiment.stop_reason() &&
                                                         !end.ends_with("finished")) {
    lines.emplace_back("ended because", end);
  }
  for (const auto& notice : look.notices) lines.emplace_back("notice", notice);
  if (const auto text = command_line_text(experiment); !text.empty()) {
    lines.emplace_back("started by", text);
  }
  if (const auto text = program_text(experiment.ran()); !text.empty()) {
    lines.emplace_back("program", text);
  }
  lines.emplace_back("running time",
                     format_duration(running_s(look)) + " in " +
                         count_of(static_cast<std::uint64_t>(experiment.sessions()), "session"));
  lines.emplace_back("results", std::to_string(experiment.results()));
  lines.emplace_back("state",
                     count_of(experiment.last_event(), "event") + ", " +
                         format_bytes(static_cast<double>(state_bytes(look.grid.directory()))) +
                         " on disk");
  lines.emplace_back("  keeping it", state_cost_text(experiment.cost(), running_s(look)));
  lines.emplace_back("checkpoints", saves_text(look));
  if (saves.committed > 0) {
    lines.emplace_back("  saving", seconds_text(saves.save_s, saves.committed, saves.max_save_s) +
                                       slowest_rank_text(saves));
    lines.emplace_back("  committing",
                       seconds_text(saves.commit_s, saves.committed, saves.max_commit_s));
  }
  if (const Json remote = remote_json(look); remote.is_object()) {
    lines.emplace_back("remote", remote_text(remote));
    std::string fetching;
    for (const Json& name : remote.value("fetching", Json::array())) {
      fetching += (fetching.empty() ? "" : ", ") + name.get<std::string>();
    }
    if (!fetching.empty()) lines.emplace_back("  waited for", fetching);
    const Json since = remote.value("unreachable_since", Json());
    const auto failures = remote.value("failures", std::uint64_t{0});
    if (failures > 0) {
      lines.emplace_back(
          since.is_number() ? "  not reached" : "  trouble",
          (since.is_number() ? "since " + format_time(since.get<double>()) + ", " : "") +
              count_of(failures, "failure") + ": " + remote.value("last_error", std::string()));
    }
  }
  return lines;
}

/// That of the run, as far as the record knows it.
/// By a signal, or by `tune pause`.
bool was_interrupted(const std::string& session_end) {
  return session_end.starts_with("received SIG") || session_end.starts_with("paused by the user");
}

int exit_code_of(const Look& look) {
  const Experiment& experiment = look.grid.experiment();
  const bool has_ended = !look.driver && !experiment.session_end().empty();
  if (!has_ended || was_interrupted(experiment.session_end())) return exit_interrupted;
  const bool is_bad = experiment.count(TrialState::error) > 0 || !why_given_up(experiment).empty();
  return is_bad ? exit_trials_failed : exit_ok;
}

/// "2 RUNNING, 3 TERMINATED | best ... | about 40 s left".
std::string line_of(const Look& look, bool with_end) {
  std::string text = states_text(look) + " | " +
                     (look.grid.spec().objectives.size() > 1 ? front_text(look.grid)
                                                             : "best " + best_text(look.grid));
  const auto end = with_end ? end_of(look) : std::nullopt;
  if (end) text += " | ends in " + text_of(*end);
  if (!look.driver) text += " | driver: " + driver_text(look);
  return text;
}

StatusFrame frame_of(const StatusRequest& request) {
  const RungLook seen = look_at_rungs(request.directory);
  const std::string key = line_of(seen.look, false);
  const std::string line =
      request.json ? encode_numbers(status_json(seen)).dump() : line_of(seen.look, true);
  return {.screen = pairs_text(status_lines(seen)),
          .line = line,
          .is_data = request.json,
          .key = key,
          .is_driven = seen.look.driver.has_value(),
          .exit_code = exit_code_of(seen.look)};
}

}  // namespace

int status_command(const StatusRequest& request) {
  if (request.follow) return follow_status([&] { return frame_of(request); });
  const RungLook seen = look_at_rungs(request.directory);
  if (request.json) {
    print_json(status_json(seen));
  } else {
    print_pairs(status_lines(seen));
  }
  return exit_ok;
}

}  // namespace tune
