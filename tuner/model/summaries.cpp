// Experiment: what trials have come to, metric by metric, and what of it is taken back where they
// go back to a checkpoint.
//
// A row of result.json counts, and nothing else does. So each trial keeps marks: its summaries as
// of the results that it may go back to. These are its two newest checkpoints (the second one,
// should the first be damaged), and results whose save is still under way. Others would cost memory
// for each checkpoint that is kept, for ever, and nobody goes back there.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "tuner/model/experiment.h"
#include "tuner/model/own_checkpoint.h"

namespace tune {

namespace {

/// Saves that are under way or may have been in vain; the loop has two under way at most.
constexpr std::size_t most_unsaved = 4;
/// Of a program that saves when it likes: as many results back as its checkpoint may be of. Fewer
/// with many metrics.
constexpr std::size_t most_unsaved_by_itself = 64;
constexpr std::size_t most_unsaved_values = 2048;

void add(MetricSummary& summary, double value) {
  summary.last = value;
  if (!std::isfinite(value)) return;
  summary.min = summary.count == 0 ? value : std::min(summary.min, value);
  summary.max = summary.count == 0 ? value : std::max(summary.max, value);
  WideSum total = summary.total();
  total.add(value);
  summary.set_total(total);
  ++summary.count;
}

}  // namespace

void Experiment::add(Trial& trial, const Metrics& metrics) {
  trial.summaries.reserve(metrics.numbers.size());
  trial.recent.reserve(metrics.numbers.size());
  std::size_t next = 0;  // results mostly repeat their order
  for (const auto& metric : metrics.numbers) {
    const std::size_t i = position_of(trial, metric.name, next);
    if (i == trial.summaries.size()) {
      if (i >= most_summaries || is_drivers_column(metric.name)) continue;
      trial.summaries.push_back({.name = kept_name(metric.name)});
      const auto wide = positions_.find(trial.id);
      if (wide != positions_.end()) wide->second.emplace(trial.summaries.back().name, i);
    }
    if (i >= trial.recent.size()) trial.recent.resize(trial.summaries.size());
    tune::add(trial.summaries[i], metric.value);
    trial.recent[i].add(metric.value);
    next = i + 1;
  }
}

/// Where the summary of `metric` is, tried at `hint` first, or will be.
std::size_t Experiment::position_of(const Trial& trial, std::string_view metric, std::size_t hint) {
  constexpr std::size_t few = 64;  ///< are looked at one by one
  const auto& summaries = trial.summaries;
  if (hint < summaries.size() && summaries[hint].name == metric) return hint;
  if (summaries.size() <= few) {
    std::size_t i = 0;
    while (i < summaries.size() && summaries[i].name != metric) ++i;
    return i;
  }
  // With very many metrics a linear search would make a result cost their number squared; the index
  // is built when first needed.
  auto& positions = positions_[trial.id];
  if (positions.size() != summaries.size()) {
    positions.clear();
    positions.reserve(2 * summaries.size());
    for (std::size_t i = 0; i < summaries.size(); ++i) positions.emplace(summaries[i].name, i);
  }
  const auto found = positions.find(metric);
  return found != positions.end() ? found->second : summaries.size();
}

const std::string& Experiment::kept_name(std::string_view name) {
  const auto known = names_.find(name);
  return known != names_.end() ? *known : *names_.emplace(name).first;
}

/// Its averages instead of the values that they are of, which take most of the room.
void Experiment::drop_recent(std::vector<MetricSummary>& summaries,
                             std::vector<RecentValues>& recent) {
  for (std::size_t i = 0; i < std::min(recent.size(), summaries.size()); ++i) {
    if (recent[i].seen == 0) continue;
    summaries[i].ended_average_5 = recent[i].average_of_last(5);
    summaries[i].ended_average_10 = recent[i].average_of_last(10);
  }
  recent.clear();
  recent.shrink_to_fit();
  summaries.shrink_to_fit();
}

/// The summaries as they are belong to the result of `iteration`.
void Experiment::set_mark(Trial& trial, std::int64_t iteration) {
  auto& marks = trial.marks;
  std::erase_if(marks, [&](const SummaryMark& mark) { return mark.iteration >= iteration; });
  SummaryMark& mark = marks.emplace_back();
  mark.iteration = iteration;
  mark.summaries = trial.summaries;
  mark.recent = trial.recent;
  mark.last_metrics = trial.last_metrics;
  shapes_.make_compact(mark.last_metrics);
  thin_marks(trial);
}

/// Leaves those that it may go back to.
void Experiment::thin_marks(Trial& trial) const {
  auto& marks = trial.marks;
  if (marks.empty()) return;
  const bool runs = trial.state == TrialState::running;
  const bool rests = trial.state == TrialState::paused || is_final(trial.state);
  const auto from_the_end = [&trial](std::size_t back) -> std::int64_t {
    const auto& checkpoints = trial.checkpoints;
    if (back >= checkpoints.size()) return 0;
    const Checkpoint& checkpoint = checkpoints[checkpoints.size() - 1 - back];
    return is_of_present(trial, checkpoint) ? checkpoint.iteration : 0;
  };
  const std::int64_t newest = from_the_end(0);
  const std::int64_t before = rests ? 0 : from_the_end(1);
  std::erase_if(marks, [&](const SummaryMark& mark) {
    // What the trial is anyway needs no mark while it does not change.
    if (!runs && (mark.iteration == trial.iteration || mark.iteration > newest)) return true;
    return mark.iteration <= newest && mark.iteration != newest && mark.iteration != before;
  });
  const auto first_unsaved = std::find_if(
      marks.begin(), marks.end(), [&](const SummaryMark& mark) { return mark.iteration > newest; });
  const std::size_t of_results =
      trial.saves_itself
          ? std::clamp(most_unsaved_values / std::max<std::size_t>(trial.summaries.size(), 1),
                       most_unsaved, most_unsaved_by_itself)
          : most_unsaved;
  const auto unsaved = static_cast<std::size_t>(marks.end() - first_unsaved);
  if (unsaved > of_results) {
    marks.erase(first_unsaved, first_unsaved + static_cast<std::ptrdiff_t>(unsaved - of_results));
  }
  if (is_final(trial.state)) {
    for (SummaryMark& mark : marks) drop_recent(mark.summaries, mark.recent);
  }
  if (!runs) marks.shrink_to_fit();
}

/// As if it had reported nothing.
void Experiment::forget_summaries(Trial& trial) {
  trial.summaries.clear();
  trial.recent.clear();
  trial.marks.clear();
  trial.last_metrics = "";
  trial.summaries_in_doubt = false;
  positions_.erase(trial.id);
}

/// The trial is about to go on from this checkpoint, and is still where it was before.
void Experiment::rewind_summaries(Trial& trial, TrialId owner, const Checkpoint* checkpoint) {
  const bool is_own = checkpoint != nullptr && checkpoint->iteration > 0 && owner == trial.id &&
                      is_of_present(trial, *checkpoint);
  if (!is_own) {
    forget_summaries(trial);
    return;
  }
  const std::int64_t iteration =
      is_ahead_of(*checkpoint, owner, trial) ? trial.iteration : checkpoint->iteration;
  if (iteration != trial.iteration) {
    auto& marks = trial.marks;
    std::erase_if(marks, [&](const SummaryMark& mark) { return mark.iteration > iteration; });
    if (!marks.empty() && marks.back().iteration == iteration) {
      trial.summaries = marks.back().summaries;
      trial.recent = marks.back().recent;
      trial.last_metrics = marks.back().last_metrics;
      positions_.erase(trial.id);
    } else {
      trial.summaries_in_doubt = true;
    }
  }
  // It had ended: which values its averages are of is known to its result.json alone.
  if (trial.recent.empty() && !trial.summaries.empty()) trial.summaries_in_doubt = true;
  set_mark(trial, iteration);
}

void Experiment::summarise_anew(TrialId id,
                                const std::function<void(const UseResult&)>& each_result) {
  Trial& trial = find(id);
  std::set<std::string, std::less<>> known;
  for (const MetricSummary& summary : trial.summaries) known.emplace(summary.name);
  InternedJson last_metrics = std::move(trial.last_metrics);
  forget_summaries(trial);
  each_result([&](const Metrics& metrics) {
    // A row of a table has columns of the driver's, too.
    Metrics own;
    std::copy_if(metrics.numbers.begin(), metrics.numbers.end(), std::back_inserter(own.numbers),
                 [&](const Metric& metric) { return known.contains(metric.name); });
    add(trial, own);
  });
  trial.last_metrics = std::move(last_metrics);
  if (is_final(trial.state)) drop_recent(trial.summaries, trial.recent);
}

}  // namespace tune
