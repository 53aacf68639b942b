// `tune status` for people.
#include "tuner/view/status_text.h"

#include <algorithm>

#include "tuner/ask_session.h"
#include "tuner/base/clean_text.h"
#include "tuner/base/count_of.h"
#include "tuner/base/quoted.h"
#include "tuner/model/paths.h"
#include "tuner/provenance.h"
#include "tuner/view/best.h"
#include "tuner/view/running_trials.h"
#include "tuner/view/trial_fields.h"
#include "tuner/view/value_text.h"

namespace tune {

namespace {

std::string slowest_rank_text(const SaveStatistics& saves) {
  const auto slowest = slowest_rank(saves);
  if (!slowest) return "";
  return ", rank " + std::to_string(slowest->first) + " was the slowest in " +
         std::to_string(slowest->second) + " of " + std::to_string(saves.committed);
}

std::string driver_text(const ExperimentView& view) {
  if (view.driver) {
    if (view.driver->pid == 0) return name_of(*view.driver);
    const std::string text = "process " + std::to_string(view.driver->pid) + " on " +
                             view.driver->host + " since " + format_time(view.driver->since);
    if (view.driver->is_seen) return text;
    return text + ", if it lives: its last sign of life was " + format_time(view.driver->last_sign);
  }
  if (is_told(view.grid.spec())) {
    return "none; its trials are run by whoever asks: tune suggest " +
           shell_word(view.grid.directory());
  }
  const Experiment& experiment = view.grid.experiment();
  if (view.copy) {
    return "none here: this is a copy of " + view.copy->of + " as of " +
           format_time(view.copy->time);
  }
  if (!has_unfinished(experiment) || is_finished(experiment)) return "none";
  return "none; to go on: " + resume_command(view.grid);
}

std::string states_text(const StatusView& seen) {
  const ExperimentView& view = seen.view;
  const Experiment& experiment = view.grid.experiment();
  std::string text;
  for (const auto& [name, count] : counts_of(experiment)) {
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + name;
    if (name != to_string(TrialState::running)) continue;
    const std::string where = where_running_breaks_off(view);
    text += (where.empty() ? "" : " ") + where;
  }
  const std::uint64_t total = seen.total.value_or(0);
  const std::uint64_t not_begun = total - std::min<std::uint64_t>(total, view.grid.size());
  if (not_begun > 0) {
    text += (text.empty() ? "none yet, " : ", ") + std::to_string(not_begun) + " not begun";
  }
  return text.empty() ? "none yet" : text;
}

/// Of the trials that have failed for good, what the first one said.
std::string first_failure(const Experiment& experiment) {
  if (experiment.count(TrialState::error) == 0) return "";
  const Trials& all = experiment.trials();
  const auto first = std::find_if(
      all.begin(), all.end(), [](const Trial& trial) { return trial.state == TrialState::error; });
  return to_string(first->id) + ": " + clean_text(headline(*first->error));
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
    return no_best_text(grid, *sole(grid.spec().objectives));
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

std::string saves_text(const ExperimentView& view) {
  const SaveStatistics& saves = view.grid.experiment().saves();
  if (saves.committed + saves.failed == 0) return "none";
  const auto mean_bytes = mean_of(static_cast<double>(saves.bytes), saves.committed);
  const std::string why = last_save_error(view.grid.experiment());
  return std::to_string(saves.committed) + " saved, " + std::to_string(view.kept_checkpoints) +
         " kept, " + std::to_string(saves.failed) + " failed" +
         (why.empty() ? "" : " (" + why + ")") + "; " +
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

std::string seconds_text(double sum, std::uint64_t count, double largest) {
  return "mean " + format_seconds(mean_of(sum, count)) + ", max " + format_seconds(largest);
}

std::vector<std::string> hangs_of(const Awaited& awaited) {
  std::vector<std::string> sentences;
  if (!awaited.answer) return sentences;
  for (const auto& sentence : awaited.answer->notices) sentences.push_back(clean_text(sentence));
  return sentences;
}

bool is_finished_session(const Experiment& experiment) {
  const auto how = experiment.session_ended();
  return how == SessionEnd::finished || how == SessionEnd::named_finished;
}

/// "2 RUNNING, 3 TERMINATED | best ...".
std::string main_text(const StatusView& seen) {
  return states_text(seen) + " | " +
         (seen.grid().spec().objectives.size() > 1 ? front_text(seen.grid())
                                                   : "best " + best_text(seen.grid()));
}

}  // namespace

std::vector<std::pair<std::string, std::string>> status_lines(const StatusView& seen) {
  const ExperimentView& view = seen.view;
  const Experiment& experiment = view.grid.experiment();
  const SaveStatistics& saves = experiment.saves();
  std::vector<std::pair<std::string, std::string>> lines = {
      {"experiment", view.grid.spec().name + " in " + view.grid.directory().string()},
      {"trials", states_text(seen)},
      view.grid.spec().objectives.size() > 1 ? std::pair("front", front_text(view.grid))
                                             : std::pair("best", best_text(view.grid)),
      {"driver", driver_text(view)},
  };
  if (!seen.awaited.silence.empty()) lines.emplace_back("no answer", seen.awaited.silence);
  if (const auto ends = ends_of(experiment); !ends.empty()) {
    lines.insert(lines.begin() + 2, {"ended by", ends_text(ends)});
  }
  if (seen.awaited.answer && !seen.awaited.answer->sentence.empty()) {
    lines.emplace_back("waits for", clean_text(seen.awaited.answer->sentence));
  }
  for (const auto& sentence : hangs_of(seen.awaited)) lines.emplace_back("hangs", sentence);
  if (seen.awaited.answer) {
    for (const auto& node : seen.awaited.answer->left_out) {
      lines.emplace_back("left out", "node " + clean_text(node));
    }
  }
  if (seen.end) lines.emplace_back("ends in", text_of(*seen.end));
  if (const auto text = running_text(view, seen.now); !text.empty()) {
    lines.emplace_back("running", text);
  }
  if (seen.rungs) lines.emplace_back("rungs", text_of(*seen.rungs));
  const std::string held = held_text(experiment);
  if (!view.driver && is_finished(experiment) && experiment.count(TrialState::paused) > 0) {
    lines.emplace_back("paused", paused_text(view.grid.spec(), experiment, view.grid.directory()));
  } else if (!held.empty()) {
    const std::string place = shell_word(view.grid.directory());
    const std::string first = held.substr(0, held.find(" --", 1));
    lines.emplace_back("paused", "by hand:" + held + "; to go on: " +
                                     (view.driver ? "tune unpause " + place + first
                                                  : "tune resume " + place + held));
  }
  if (const auto text = failed_text(view.grid); !view.driver && !text.empty()) {
    lines.emplace_back("failed", text);
  }
  if (const std::string first = first_failure(experiment); !first.empty()) {
    lines.emplace_back("first failure", first);
  }
  if (const auto why = why_given_up(experiment); !why.empty()) lines.emplace_back("given up", why);
  if (!experiment.stop_reason().empty())
    lines.emplace_back("stop reason", experiment.stop_reason());
  if (const std::string& end = experiment.session_end(); !view.driver && !end.empty() &&
                                                         end != experiment.stop_reason() &&
                                                         !is_finished_session(experiment)) {
    lines.emplace_back("ended because", end);
  }
  for (const auto& notice : seen.notices()) {
    if (notice != seen.awaited.silence) lines.emplace_back("notice", notice);
  }
  if (seen.awaited.answer) {
    for (const auto& sentence : seen.awaited.answer->said) {
      lines.emplace_back("has said", clean_text(sentence));
    }
  }
  if (const auto text = command_line_text(experiment); !text.empty()) {
    lines.emplace_back("started by", text);
  }
  if (const auto text = program_text(experiment.ran()); !text.empty()) {
    lines.emplace_back("program", text);
  }
  lines.emplace_back("running time",
                     format_duration(seen.running_s()) + " in " +
                         count_of(static_cast<std::uint64_t>(experiment.sessions()), "session"));
  // What a restart has taken back was accepted, and is in no other command.
  const auto& trials = experiment.trials();
  const bool has_restarted = std::any_of(trials.begin(), trials.end(),
                                         [](const Trial& trial) { return trial.attempt > 1; });
  lines.emplace_back(
      "results", std::to_string(experiment.results()) +
                     (has_restarted ? " accepted, those that a restart took back included" : ""));
  lines.emplace_back("state",
                     count_of(experiment.last_event(), "event") + ", " +
                         format_bytes(static_cast<double>(state_bytes(view.grid.directory()))) +
                         " on disk");
  lines.emplace_back("  keeping it", state_cost_text(experiment.cost(), seen.running_s()));
  lines.emplace_back("checkpoints", saves_text(view));
  if (saves.committed > 0) {
    lines.emplace_back("  saving", seconds_text(saves.save_s, saves.committed, saves.max_save_s) +
                                       slowest_rank_text(saves));
    lines.emplace_back("  committing",
                       seconds_text(saves.commit_s, saves.committed, saves.max_commit_s));
  }
  if (const Json remote = remote_json(view); remote.is_object()) {
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

std::string status_line_of(const StatusView& seen) {
  std::string text = main_text(seen);
  for (const auto& sentence : hangs_of(seen.awaited)) text += " | hangs: " + sentence;
  if (seen.end) text += " | ends in " + text_of(*seen.end);
  if (!seen.view.driver) text += " | driver: " + driver_text(seen.view);
  if (!seen.awaited.silence.empty()) text += " | " + seen.awaited.silence;
  return text;
}

std::string status_key_of(const StatusView& seen) {
  std::string key = main_text(seen);
  if (!seen.view.driver) key += " | driver: " + driver_text(seen.view);
  if (!seen.awaited.silence.empty()) key += " | silent";
  if (!seen.awaited.answer) return key;
  key += " | " + std::to_string(seen.awaited.answer->notices.size()) + " hang";
  for (const TrialId id : seen.awaited.answer->trials) key += " " + to_string(id);
  return key;
}

}  // namespace tune
