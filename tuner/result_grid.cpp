// Finds best trials, iterations and rows; what the state does not hold is read from result.json or,
// where that lacks rows, from the journal.
#include "tuner/result_grid.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "callbacks/result_rows.h"
#include "tuner/base/count_of.h"
#include "tuner/base/error.h"
#include "tuner/journal/experiment_store.h"
#include "tuner/model/ancestry.h"
#include "tuner/model/paths.h"
#include "tuner/plain/name_meant.h"
#include "tuner/remote/pull.h"
#include "tuner/run/commit/recovery.h"

namespace tune {

namespace {

constexpr std::pair<Scope, const char*> scope_names[] = {
    {Scope::last, "last"},
    {Scope::all, "all"},
    {Scope::avg, "avg"},
    {Scope::last_5_avg, "last-5-avg"},
    {Scope::last_10_avg, "last-10-avg"},
};

/// Doubles below have all digits of whole numbers.
constexpr double largest_exact = 0x1p53;

/// Only what the state needs: the recorded spec was checked when it was recorded, and its policies
/// may come from a plugin that is not here.
ExperimentSpec recorded_spec(const Json& json) {
  ExperimentSpec spec;
  std::vector<Problem> ignored;
  spec = parse_recorded_spec(json, Catalogue{}, ignored);
  return spec;
}

/// But for what the driver has in tables under names of its own.
Json reported_in(const std::string& text) {
  Json reported;
  const Json all = Json::parse(text);
  for (const auto& [name, value] : all.items()) {
    if (!is_drivers_column(name)) reported[name] = value;
  }
  return reported;
}

/// Whether only some of its results have themselves reported what each row has: the summary of that
/// is of those alone.
bool has_partial_column(const Trial& trial) {
  constexpr const char* names[] = {"time_this_iter_s", "timesteps_total", "episodes_total"};
  return std::any_of(std::begin(names), std::end(names), [&](const char* name) {
    const MetricSummary* const partial = trial.summary(name);
    return partial != nullptr &&
           std::any_of(trial.summaries.begin(), trial.summaries.end(),
                       [&](const MetricSummary& each) { return each.count > partial->count; });
  });
}

/// The trial's last result as a row, with what is known of the driver's fields.
Metrics last_row(const Trial& trial) {
  Json row = reported_in(trial.last_metrics.text());
  row["training_iteration"] = trial.iteration;
  row["time_total_s"] = trial.time_total_s;
  if (trial.timesteps_total) row["timesteps_total"] = *trial.timesteps_total;
  if (trial.episodes_total) row["episodes_total"] = *trial.episodes_total;
  return read_metrics(row.dump());
}

}  // namespace

const char* to_string(Scope scope) {
  for (const auto& [value, name] : scope_names) {
    if (value == scope) return name;
  }
  return "?";
}

std::optional<Scope> parse_scope(const std::string& text) {
  for (const auto& [value, name] : scope_names) {
    if (text == name) return value;
  }
  return std::nullopt;
}

double value_of(const Trial& trial, const std::string& metric, Mode mode, Scope scope) {
  const MetricSummary* const summary = trial.summary(metric);
  if (summary == nullptr) {
    // The driver's own counters have a last value only, and none before the first result.
    if (trial.last_metrics.empty()) return std::numeric_limits<double>::quiet_NaN();
    if (metric == "training_iteration") return static_cast<double>(trial.iteration);
    if (metric == "time_total_s") return trial.time_total_s;
    return std::numeric_limits<double>::quiet_NaN();
  }
  switch (scope) {
    case Scope::last:
      return summary->last;
    case Scope::all:
      return summary->best(mode);
    case Scope::avg:
      return summary->average();
    case Scope::last_5_avg:
      return trial.average_of_last_5(*summary);
    case Scope::last_10_avg:
      return trial.average_of_last_10(*summary);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

ResultGrid::ResultGrid(Experiment experiment, ExperimentSpec spec, std::filesystem::path directory)
    : experiment_(std::move(experiment)),
      spec_(std::move(spec)),
      directory_(std::move(directory)),
      constraints_(constraints_of(spec_)) {}

ResultGrid ResultGrid::load(const std::filesystem::path& directory) {
  const auto files = make_posix_file_system();
  const auto absolute = std::filesystem::absolute(directory);
  const Json spec = ExperimentStore::read_spec(*files, absolute);
  Experiment experiment;
  std::vector<std::string> notices;
  ExperimentReader reader(experiment);
  ExperimentStore::read(*files, absolute, reader, notices);
  return {std::move(experiment), recorded_spec(spec), absolute};
}

TrialResult ResultGrid::operator[](std::size_t i) const {
  const Trial& trial = experiment_.trials().at(i);
  TrialResult result;
  result.trial_id = to_string(trial.id);
  result.state = trial.state;
  result.end = trial.end();
  result.config = Json::parse(present_config(trial));
  result.path = paths::trial(directory_, trial.id);
  result.error = *trial.error;
  if (!trial.last_metrics.empty()) {
    result.metrics = reported_in(trial.last_metrics.text());
    result.metrics["training_iteration"] = trial.iteration;
    result.metrics["time_total_s"] = trial.time_total_s;
  }
  const std::vector<double> values = values_of(constraints_, trial);
  for (auto value = values.begin(); const Constraint& constraint : constraints_) {
    if (constraint.needs_metrics()) result.constraints[constraint.text()] = *value++;
  }
  if (const Checkpoint* const latest = trial.latest_checkpoint()) {
    result.checkpoint = paths::checkpoint(directory_, {trial.id, latest->index});
  }
  const auto present = trial.present_checkpoints();
  for (const auto position : rank_checkpoints(present, spec_.checkpoint_config)) {
    const Checkpoint& checkpoint = present[position];
    result.best_checkpoints.push_back({paths::checkpoint(directory_, {trial.id, checkpoint.index}),
                                       checkpoint.iteration, checkpoint.score,
                                       checkpoint.is_guess});
  }
  return result;
}

std::vector<TrialResult> ResultGrid::errors() const {
  std::vector<TrialResult> failed;
  for (std::size_t i = 0; i < size(); ++i) {
    if (experiment_.trials()[i].state == TrialState::error) failed.push_back((*this)[i]);
  }
  return failed;
}

std::optional<TrialId> ResultGrid::best_trial(const Objective& objective, Scope scope) const {
  const auto best = best_trials(objective, scope, 1);
  return best.empty() ? std::nullopt : std::optional(best.front());
}

std::vector<TrialId> ResultGrid::best_trials(const Objective& objective, Scope scope,
                                             std::size_t n) const {
  complete_summaries();
  std::vector<std::pair<ExactNumber, TrialId>> ranked;
  for (const auto& trial : experiment_.trials()) {
    const double value = value_of(trial, objective.metric, objective.mode, scope);
    if (!std::isfinite(value) || !is_feasible(trial)) continue;
    ranked.emplace_back(exact_value(trial, objective, scope), trial.id);
  }
  const auto end = ranked.begin() + std::min(std::ssize(ranked), static_cast<std::ptrdiff_t>(n));
  std::partial_sort(ranked.begin(), end, ranked.end(), [&](const auto& a, const auto& b) {
    if (a.first == b.first) return a.second < b.second;
    return (a.first < b.first) == (objective.mode == Mode::min);
  });
  std::vector<TrialId> best;
  std::transform(ranked.begin(), end, std::back_inserter(best),
                 [](const auto& each) { return each.second; });
  return best;
}

void ResultGrid::complete_summaries() const {
  if (std::exchange(is_settled_, true)) return;
  for (const auto& trial : experiment_.trials()) {
    if (trial.summaries_in_doubt || has_partial_column(trial)) complete_summaries(trial.id);
  }
}

void ResultGrid::each_row(const Trial& trial, const UseRow& use) const {
  // Iterations may be counted by more than one: a metric knows how many results there were.
  const auto most =
      std::max_element(trial.summaries.begin(), trial.summaries.end(),
                       [](const auto& a, const auto& b) { return a.count < b.count; });
  std::error_code ignored;
  const bool is_counted = most != trial.summaries.end() && !trial.summaries_in_doubt &&
                          std::filesystem::exists(directory_, ignored);
  std::uint32_t found = 0;
  const auto use_counted = [&](const Metrics& row) {
    if (is_counted && std::isfinite(row.find(most->name).value_or(NAN))) ++found;
    use(row);
  };
  const double last = each_row_on_disk(trial, use_counted);
  // Where it is in doubt what a restore has taken back, so are the last metrics.
  const bool has_more = last < static_cast<double>(trial.iteration) &&
                        !trial.last_metrics.empty() && !trial.summaries_in_doubt;
  if (has_more) use_counted(last_row(trial));
  if (is_counted && found < most->count) lacking_[trial.id] = most->count - found;
}

std::vector<std::string> ResultGrid::left_out() const {
  std::vector<std::string> sentences = left_out_;
  if (lacking_.empty()) return sentences;
  std::uint64_t results = 0;
  for (const auto& [id, count] : lacking_) results += count;
  const std::string whose = lacking_.size() == 1
                                ? to_string(lacking_.begin()->first)
                                : std::to_string(lacking_.size()) + " trials, such as " +
                                      to_string(lacking_.begin()->first);
  sentences.push_back(count_of(results, "result") + " of " + whose +
                      (results == 1 ? " is" : " are") +
                      " nowhere any more, neither in result.json nor in the record, and not among "
                      "what is shown");
  return sentences;
}

double ResultGrid::each_row_on_disk(const Trial& trial, const UseRow& use) const {
  auto last = static_cast<double>(first_iteration(experiment_, present_stretch(trial)));
  // A simulation has neither files nor a record on disk.
  std::error_code ignored;
  if (!std::filesystem::exists(directory_, ignored)) return last;
  // Whoever else has written into the file, an iteration comes once.
  const auto use_next = [&](const Metrics& row) {
    const double iteration = row.find("training_iteration").value_or(0);
    if (!(iteration > last && iteration <= static_cast<double>(trial.iteration))) return;
    last = iteration;
    use(row);
  };
  const auto newest_from = newest().first_iteration(trial.id);
  // A trial that goes on while this is looked at has more than this knows of.
  const double end =
      static_cast<double>(std::min(newest_from.value_or(trial.iteration + 1), trial.iteration + 1));
  const auto file = paths::trial(directory_, trial.id) / "result.json";
  const LinesRead read = read_result_rows(file, [&](const Metrics& row) {
    const double iteration = row.find("training_iteration").value_or(0);
    if (!(iteration < end)) return;
    if (iteration > last + 1) recorded().each_row(trial.id, last + 1, iteration, use_next);
    use_next(row);
  });
  const auto& rest = end > last + 1 ? recorded() : newest();
  rest.each_row(trial.id, last + 1, static_cast<double>(trial.iteration) + 1, use_next);
  if (read.too_long == 0) return last;
  const std::string sentence = file.native() + ": " + count_of(read.too_long, "line") +
                               " of more than 16 MiB that no driver wrote, left out";
  if (std::find(left_out_.begin(), left_out_.end(), sentence) == left_out_.end()) {
    left_out_.push_back(sentence);
  }
  return last;
}

const RecordedResults& ResultGrid::recorded() const {
  if (!recorded_) recorded_.emplace(directory_);
  return *recorded_;
}

/// What counts more than any file: of a copy, whose files may be older than its record, all of it.
const RecordedResults& ResultGrid::newest() const {
  if (newest_) return *newest_;
  if (read_copy_note(*make_posix_file_system(), directory_)) return recorded();
  return newest_.emplace(directory_, RecordedResults::Since::snapshot);
}

void ResultGrid::complete_summaries(TrialId id) const {
  const Trial& trial = experiment_.trial(id);
  const auto rows = [&](const Experiment::UseResult& use) { each_row_on_disk(trial, use); };
  // Files that lack rows know no more than memory does.
  const double last = each_row_on_disk(trial, [](const Metrics&) {});
  if (last == static_cast<double>(trial.iteration)) experiment_.summarise_anew(id, rows);
}

std::vector<ResultGrid::MetricRow> ResultGrid::best_rows(const Trial& trial,
                                                         const Objective& objective) const {
  const double best = value_of(trial, objective.metric, objective.mode, Scope::all);
  std::vector<MetricRow> rows;
  if (std::isnan(best)) return rows;
  each_row(trial, [&](const Metrics& row) {
    const auto at = row.find("training_iteration");
    if (!at || row.find(objective.metric) != best) return;
    const ExactNumber exact = *row.find_exact(objective.metric);
    if (!rows.empty() && !(exact == rows.front().value)) {
      const bool is_better = (exact < rows.front().value) == (objective.mode == Mode::min);
      if (!is_better) return;
      rows.clear();
    }
    rows.push_back({static_cast<std::int64_t>(*at), exact});
  });
  return rows;
}

std::vector<std::int64_t> ResultGrid::best_iterations(const Trial& trial,
                                                      const Objective& objective) const {
  std::vector<std::int64_t> iterations;
  for (const MetricRow& row : best_rows(trial, objective)) iterations.push_back(row.iteration);
  const double best = value_of(trial, objective.metric, objective.mode, Scope::all);
  const bool is_scored = spec_.checkpoint_config.checkpoint_score_attribute == objective.metric;
  // A score is a double: where that rounds, another result may be the better one.
  if (!iterations.empty() || !is_scored || !(std::abs(best) < largest_exact)) return iterations;
  const std::int64_t begin = first_iteration(experiment_, present_stretch(trial));
  for (const Checkpoint& each : trial.present_checkpoints()) {
    if (each.score == best && each.iteration > begin) iterations.push_back(each.iteration);
  }
  return iterations;
}

std::optional<ResultGrid::Earlier> ResultGrid::before_change(const Trial& trial,
                                                             const Objective& objective) const {
  if (trial.lineage.empty()) return std::nullopt;
  const std::vector<ScheduleStep> schedule = schedule_of(experiment_, trial.id);
  const auto other =
      std::find_if(schedule.rbegin(), schedule.rend(),
                   [&](const ScheduleStep& step) { return step.stretch.trial != trial.id; });
  const auto first = other.base();  // of those that it went through itself
  if (schedule.end() - first < 2) return std::nullopt;
  Earlier earlier{.until = schedule.back().from};
  const auto begin = static_cast<double>(first->from), end = static_cast<double>(earlier.until);
  read_result_rows(paths::trial(directory_, trial.id) / "result.json", [&](const Metrics& row) {
    const double iteration = row.find("training_iteration").value_or(0);
    const auto value = row.find_exact(objective.metric);
    if (!(iteration > begin && iteration <= end) || !value || std::isnan(value->value())) return;
    const bool is_better =
        !earlier.best ||
        (objective.mode == Mode::min ? *value < earlier.best->value : earlier.best->value < *value);
    if (is_better) earlier.best = MetricRow{static_cast<std::int64_t>(iteration), *value};
  });
  return earlier;
}

std::optional<std::int64_t> ResultGrid::best_iteration(const Trial& trial,
                                                       const Objective& objective) const {
  const auto iterations = best_iterations(trial, objective);
  return iterations.empty() ? std::nullopt : std::optional(iterations.front());
}

ExactNumber ResultGrid::exact_value(const Trial& trial, const Objective& objective,
                                    Scope scope) const {
  const double value = value_of(trial, objective.metric, objective.mode, scope);
  if (!std::isfinite(value) || std::abs(value) < largest_exact) return value;
  if (scope == Scope::all) {
    const auto rows = best_rows(trial, objective);
    if (!rows.empty()) return rows.front().value;
  } else if (scope == Scope::last) {
    const auto row = newest_row(trial, objective.metric);
    if (row && row->value.value() == value) return row->value;
  }
  return value;
}

std::optional<ResultGrid::MetricRow> ResultGrid::newest_row(const Trial& trial,
                                                            const std::string& metric) const {
  if (trial.last_metrics.empty()) return std::nullopt;
  const auto last = read_metrics(trial.last_metrics.text()).find_exact(metric);
  if (last) return MetricRow{trial.iteration, *last};
  if (trial.summary(metric) == nullptr) return std::nullopt;
  const auto earlier = earlier_metrics(trial);
  const auto found = earlier.find(metric);
  return found != earlier.end() ? std::optional(found->second) : std::nullopt;
}

std::map<std::string, ResultGrid::MetricRow> ResultGrid::earlier_metrics(const Trial& trial) const {
  std::map<std::string, MetricRow> earlier;
  if (trial.last_metrics.empty()) return earlier;
  std::set<std::string, std::less<>> lacking;
  for (const MetricSummary& summary : trial.summaries) lacking.emplace(summary.name);
  for (const Metric& metric : read_metrics(trial.last_metrics.text()).numbers) {
    lacking.erase(metric.name);
  }
  if (lacking.empty()) return earlier;
  each_row(trial, [&](const Metrics& row) {
    const auto at = row.find("training_iteration");
    for (const Metric& metric : row.numbers) {
      if (!at || !lacking.contains(metric.name)) continue;
      earlier.insert_or_assign(metric.name,
                               MetricRow{static_cast<std::int64_t>(*at), row.exact(metric)});
    }
  });
  return earlier;
}

std::optional<std::int64_t> ResultGrid::last_iteration(const Trial& trial,
                                                       const std::string& metric) const {
  // The driver's own counters are in no text, and in every result.
  if (trial.summary(metric) == nullptr && !std::isnan(value_of(trial, metric, {}, Scope::last))) {
    return trial.iteration;
  }
  const auto row = newest_row(trial, metric);
  return row ? std::optional(row->iteration) : std::nullopt;
}

void ResultGrid::add_best_row(TrialResult& result, const Objective& objective) const {
  const Trial& trial = experiment_.trial(*parse_trial_id(result.trial_id));
  result.best_iteration = best_iteration(trial, objective);
  if (!result.best_iteration) return;
  if (*result.best_iteration == trial.iteration) result.best_metrics = result.metrics;
  const auto wanted = static_cast<double>(*result.best_iteration);
  each_row(trial, [&](const Metrics& row) {
    if (row.find("training_iteration") != wanted) return;
    result.best_metrics = reported_in(row.text);
    result.best_metrics["training_iteration"] = *result.best_iteration;
    if (const auto total_s = row.find("time_total_s"))
      result.best_metrics["time_total_s"] = *total_s;
  });
}

bool ResultGrid::is_feasible(const Trial& trial) const {
  return !(violation(values_of(constraints_, trial)) > 0);
}

std::optional<std::string> ResultGrid::none_feasible() const {
  const Trial* nearest = nullptr;
  double least = 0;
  for (const Trial& trial : experiment_.trials()) {
    if (trial.last_metrics.empty()) continue;
    const double excess = violation(values_of(constraints_, trial));
    if (!(excess > 0)) return std::nullopt;
    if (nearest != nullptr && !(excess < least)) continue;
    nearest = &trial;
    least = excess;
  }
  if (nearest == nullptr) return std::nullopt;
  return "no trial in " + directory_.string() + " fulfils all constraints; " +
         to_string(nearest->id) + " comes nearest, " +
         (std::isfinite(least) ? "with a violation of " + Json(least).dump()
                               : "without a number for each of them");
}

TrialResult ResultGrid::best_result(std::optional<std::string> metric, std::optional<Mode> mode,
                                    Scope scope) const {
  const Objective* const own =
      metric ? find_objective(spec_.objectives, *metric) : sole(spec_.objectives);
  if (!metric && !own) {
    throw user_error(
        spec_.objectives.empty()
            ? "the experiment has no metric of its own: say which metric and which mode"
            : "the experiment has several metrics: say which one, or ask for the Pareto front");
  }
  if (!mode && !own) {
    throw user_error("say whether '" + *metric + "' is to be min or max");
  }
  const Objective objective{metric ? *metric : own->metric, mode ? *mode : own->mode};
  const auto best = best_trial(objective, scope);
  if (!best) {
    if (const auto reason = none_feasible()) throw user_error(*reason);
    std::set<std::string> reported;
    for (const Trial& trial : experiment_.trials()) {
      for (const auto& summary : trial.summaries) {
        reported.emplace(std::string_view(summary.name));
      }
    }
    const std::vector<std::string> names(reported.begin(), reported.end());
    const std::string meant = did_you_mean(objective.metric, names);
    throw user_error("no trial in " + directory_.string() + " has reported a number for '" +
                     objective.metric + "'" + (meant.empty() ? "" : ", ") + meant);
  }
  TrialResult result = (*this)[index_of(*best)];
  if (scope == Scope::all) add_best_row(result, objective);
  return result;
}

}  // namespace tune
