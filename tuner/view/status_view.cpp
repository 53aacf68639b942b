// Collects everything for `tune status` in one place, for text and JSON alike.
#include "tuner/view/status_view.h"

#include <algorithm>
#include <system_error>

#include "tuner/ask_session.h"
#include "tuner/base/json_limits.h"
#include "tuner/disk/lines.h"
#include "tuner/model/ancestry.h"
#include "tuner/plugins.h"
#include "tuner/process/system_clock.h"
#include "tuner/run/commit/make_policies.h"
#include "tuner/view/trial_fields.h"

namespace tune {

namespace {

constexpr std::size_t most_remote_status_bytes = 1 << 20;

std::optional<std::uint64_t> total_of(const ResultGrid& grid) {
  const ExperimentSpec& spec = grid.spec();
  const Catalogue catalogue = catalogue_with({});
  std::vector<Problem> problems;
  const SearchSpace space = SearchSpace::parse(spec.param_space, "", problems);
  const Policies policies = make_policies(spec, space, catalogue, problems);
  return problems.empty() ? policies.total_trials(grid.experiment()) : std::nullopt;
}

std::optional<EndEstimate> end_of(const StatusView& seen) {
  if (!seen.view.driver || is_told(seen.grid().spec())) return std::nullopt;
  const ExperimentSpec& spec = seen.grid().spec();
  EndConditions conditions =
      end_conditions(seen.total, spec.stop, spec.time_budget_s, Json::object());
  if (seen.awaited.answer) conditions.hanging = seen.awaited.answer->trials;
  return estimate_end(seen.experiment(), conditions, seen.now);
}

}  // namespace

Seconds StatusView::running_s() const {
  return experiment().running_s(view.driver ? now : experiment().last_time());
}

std::vector<std::string> StatusView::notices() const {
  std::vector<std::string> all = view.notices;
  if (!awaited.silence.empty()) all.push_back(awaited.silence);
  const auto left_out = grid().left_out();
  all.insert(all.end(), left_out.begin(), left_out.end());
  return all;
}

StatusView look_at_status(const std::filesystem::path& directory) {
  RungLook with_rungs = look_at_rungs(directory);
  StatusView seen{std::move(with_rungs.view), std::move(with_rungs.rungs)};
  seen.now = make_system_clock()->now();
  seen.awaited = ask_what_is_awaited(seen.view);
  seen.total = total_of(seen.grid());
  seen.end = end_of(seen);
  return seen;
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
          {"iteration_is_guess", trial.is_at_guess()},
          {"best_iteration_is_guess", iteration && trial.is_guess(*iteration)},
          {"tag", present_tag(trial)}};
}

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

std::map<std::string, std::size_t> ends_of(const Experiment& experiment) {
  std::map<std::string, std::size_t> counts;
  for (const Trial& trial : experiment.trials()) {
    const bool is_known = is_final(trial.state) && trial.ended_by != EndedBy::nobody;
    if (is_known) ++counts[to_string(trial.ended_by)];
  }
  return counts;
}

Json remote_json(const ExperimentView& view) {
  if (view.grid.spec().remote.path.empty()) return nullptr;
  const auto file = view.grid.directory() / "remote" / "status.json";
  Json json = parse_shallow(read_small(file, most_remote_status_bytes).value_or(""));
  return json.is_object() ? json : Json();
}

std::optional<std::pair<int, std::uint64_t>> slowest_rank(const SaveStatistics& saves) {
  if (saves.slowest.empty()) return std::nullopt;
  return *std::max_element(saves.slowest.begin(), saves.slowest.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
}

double mean_of(double sum, std::uint64_t count) {
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

}  // namespace tune
