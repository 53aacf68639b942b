// Reads the state once, then applies what the stream of events gives.
#include "tuner/view/followed_experiment.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <utility>

#include "tuner/base/clean_text.h"
#include "tuner/base/error.h"
#include "tuner/journal/experiment_store.h"
#include "tuner/model/ancestry.h"
#include "tuner/model/event.h"
#include "tuner/model/trial_words.h"
#include "tuner/result_grid.h"
#include "tuner/run/commit/recovery.h"
#include "tuner/view/experiment_view.h"
#include "tuner/view/trial_fields.h"
#include "tuner/view/value_text.h"

namespace tune {

namespace {

constexpr std::size_t longest_text = 400;
constexpr std::size_t most_config = 64;  ///< as a report has at most

constexpr const char* own_columns[] = {
    "trial_id", "state", "training_iteration", "time_total_s", "attempt",    "failures",
    "started",  "ended", "duration_s",         "node",         "gpus",       "end",
    "ended_by", "why",   "paused_by",          "error",        "checkpoints"};

Json cut(const std::string& text) {
  return text.size() > longest_text ? headline(text).substr(0, longest_text) : text;
}

/// Nobody else's at this time: numbers of directories that were removed are used again.
std::string identity_of(const std::filesystem::path& directory) {
  struct statx status {};
  if (::statx(AT_FDCWD, directory.c_str(), 0, STATX_INO | STATX_BTIME, &status) != 0) {
    throw file_error("cannot look at", directory.string(), errno);
  }
  return std::to_string(status.stx_dev_major) + ':' + std::to_string(status.stx_dev_minor) + ':' +
         std::to_string(status.stx_ino) + ':' + std::to_string(status.stx_btime.tv_sec) + '.' +
         std::to_string(status.stx_btime.tv_nsec);
}

/// Whether it may be a whole number of which a double has not all digits.
bool is_beyond_doubles(double value) { return std::isfinite(value) && std::abs(value) >= 0x1p53; }

Json moment_json(Seconds time) { return time == 0 ? Json() : Json(time); }

Json own_values(const Experiment& experiment, const Trial& trial) {
  return {to_string(trial.id),
          to_string(trial.state),
          trial.iteration,
          trial.time_total_s,
          trial.attempt,
          trial.failures,
          moment_json(trial.started),
          moment_json(trial.ended),
          duration_json(experiment, trial),
          node_json(trial),
          gpus_json(trial),
          end_of(trial),
          ended_by(trial),
          cut(why_of(trial)),
          paused_by(trial),
          cut(*trial.error),
          trial.checkpoints.size()};
}

}  // namespace

FollowedExperiment::FollowedExperiment(std::filesystem::path directory)
    : directory_(std::move(directory)), files_(make_posix_file_system()) {
  require_experiment(directory_);
  identity_ = identity_of(directory_);
  std::vector<Problem> ignored;
  const ExperimentSpec spec =
      parse_recorded_spec(ExperimentStore::read_spec(*files_, directory_), Catalogue{}, ignored);
  objectives_ = spec.objectives;
  ExperimentReader reader(experiment_);
  std::vector<std::string> notices;
  ExperimentStore::read(*files_, directory_, reader, notices);
  begin_ = experiment_.last_event();
  events_.emplace(*files_, directory_, begin_ + 1);
  changed_.resize(experiment_.trials().size());
  name_config();
  look_up_digits();
}

/// What is recorded knows of bests but doubles: rows have all digits.
void FollowedExperiment::look_up_digits() {
  if (objectives_.size() != 1) return;
  const Objective& objective = objectives_.front();
  std::optional<ResultGrid> grid;
  for (const Trial& trial : experiment_.trials()) {
    const double best = value_of(trial, objective.metric, objective.mode, Scope::all);
    if (!is_beyond_doubles(best)) continue;
    if (!grid) grid.emplace(ResultGrid::load(directory_));
    if (index_of(trial.id) >= grid->experiment().trials().size()) break;
    const Trial& read = grid->experiment().trial(trial.id);
    digits_.insert_or_assign(trial.id, grid->exact_value(read, objective, Scope::all));
  }
}

void FollowedExperiment::keep_digits(TrialId id, const Metrics& metrics) {
  if (objectives_.size() != 1) return;
  const auto& [metric, mode] = objectives_.front();
  const auto exact = metrics.find_exact(metric);
  if (!exact || !is_beyond_doubles(exact->value())) return;
  const double best = value_of(experiment_.trial(id), metric, mode, Scope::all);
  if (exact->value() != best) return;
  const auto [kept, is_new] = digits_.try_emplace(id, *exact);
  const bool is_better = mode == Mode::min ? *exact < kept->second : kept->second < *exact;
  if (kept->second.value() != best || is_better) kept->second = *exact;
}

Json FollowedExperiment::best_of(const Trial& trial) const {
  const auto& [metric, mode] = objectives_.front();
  const double best = value_of(trial, metric, mode, Scope::all);
  if (!std::isfinite(best)) return nullptr;
  const auto exact = digits_.find(trial.id);
  const bool is_it = exact != digits_.end() && exact->second.value() == best;
  return is_it ? number_json(exact->second) : Json(best);
}

void FollowedExperiment::name_config() {
  if (!config_.empty() || experiment_.trials().empty()) return;
  const auto leaves = leaves_of(Json::parse(present_config(experiment_.trial(TrialId{0}))));
  for (const auto& [name, value] : leaves) {
    if (config_.size() < most_config) config_.push_back(name);
  }
}

void FollowedExperiment::read_more() {
  const auto note = [&](TrialId id, std::uint64_t event) {
    if (changed_.size() <= index_of(id)) changed_.resize(index_of(id) + 1);
    changed_[index_of(id)] = event;
  };
  if (identity_of(directory_) != identity_) {
    throw machine_error("another experiment has taken the place of " + directory_.string());
  }
  events_->read([&](std::string_view text) {
    const Event event = parse_event(text);
    if (event.number != experiment_.last_event() + 1) {
      throw machine_error("events of " + directory_.string() + " cannot be read any more");
    }
    experiment_.apply(event);
    if (const auto id = trial_of(event.body)) note(*id, event.number);
    if (const auto* const reported = std::get_if<ResultReported>(&event.body)) {
      keep_digits(reported->trial, reported->result.metrics);
    }
    if (const auto* const damaged = std::get_if<CheckpointDamaged>(&event.body)) {
      if (damaged->clone) note(*damaged->clone, event.number);
    }
  });
  name_config();
}

std::optional<std::vector<TrialId>> FollowedExperiment::changed_since(std::uint64_t event) const {
  if (event < begin_ || event > experiment_.last_event()) return std::nullopt;
  std::vector<TrialId> changed;
  for (std::size_t i = 0; i < changed_.size(); ++i) {
    if (changed_[i] > event) changed.push_back(TrialId{static_cast<std::uint32_t>(i)});
  }
  return changed;
}

std::vector<std::string> FollowedExperiment::columns() const {
  std::vector<std::string> names(std::begin(own_columns), std::end(own_columns));
  if (objectives_.size() == 1) names.push_back("best");
  for (const Objective& each : objectives_) {
    // As reports call a metric that is named like a field of the trial.
    const bool is_hidden = std::find(names.begin(), names.end(), each.metric) != names.end();
    names.push_back((is_hidden ? "metrics." : "") + each.metric);
  }
  for (std::string name : config_) {
    std::replace(name.begin(), name.end(), '/', '.');
    names.push_back("config." + name);
  }
  return names;
}

Json FollowedExperiment::row(TrialId id) const {
  const Trial& trial = experiment_.trial(id);
  Json row = own_values(experiment_, trial);
  if (objectives_.size() == 1) row.push_back(best_of(trial));
  std::optional<Metrics> metrics;
  for (const Objective& each : objectives_) {
    const double last = value_of(trial, each.metric, each.mode, Scope::last);
    if (is_beyond_doubles(last) && !metrics && !trial.last_metrics.empty()) {
      metrics = read_metrics(trial.last_metrics.text());
    }
    const auto exact = metrics ? metrics->find_exact(each.metric) : std::nullopt;
    if (exact && exact->value() == last) {
      row.push_back(number_json(*exact));
    } else {
      row.push_back(trial.summary(each.metric) == nullptr ? Json() : encode_number(last));
    }
  }
  if (config_.empty()) return row;
  const auto config = leaves_of(Json::parse(present_config(trial)));
  for (const std::string& name : config_) {
    const auto found = config.find(name);
    if (found == config.end()) {
      row.push_back(nullptr);
    } else if (found->second.is_string()) {
      row.push_back(cut(found->second.get_ref<const std::string&>()));
    } else {
      row.push_back(encode_numbers(found->second));
    }
  }
  return row;
}

Json FollowedExperiment::status() const {
  Json states = Json::object(), ends = Json::object();
  for (const auto state : {TrialState::pending, TrialState::running, TrialState::paused,
                           TrialState::terminated, TrialState::error}) {
    states[to_string(state)] = experiment_.count(state);
  }
  for (const TrialEnd end : trial_ends) ends[to_string(end)] = experiment_.count(end);
  return {{"trials", experiment_.trials().size()},
          {"states", std::move(states)},
          {"ends", std::move(ends)},
          {"results", experiment_.results()},
          {"session_end", experiment_.session_end()},
          {"is_driven", ExperimentStore::driver(*files_, directory_).has_value()}};
}

}  // namespace tune
