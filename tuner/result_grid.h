// The results of an experiment: one for each trial, and the best of them.
// It is made from the experiment's state and directory alone, and needs no running driver.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tuner/model/experiment.h"
#include "tuner/model/metrics.h"
#include "tuner/model/objective.h"
#include "tuner/recorded_results.h"
#include "tuner/spec/spec.h"

namespace tune {

/// Which of a trial's results a metric is aggregated over.
enum class Scope {
  last,         ///< the last value: of the newest result that has the metric
  all,          ///< the best of all results (min or max, by mode)
  avg,          ///< the mean of all values
  last_5_avg,   ///< the mean of the numbers among the last five values, be some of them NaN
  last_10_avg,  ///< the same of the last ten
};
const char* to_string(Scope scope);  ///< "last", "all", "avg", "last-5-avg", "last-10-avg"
std::optional<Scope> parse_scope(const std::string& text);

/// `metric` of `trial` in `scope`; NaN if it was never reported as a number.
/// Whole numbers beyond 2^53 are rounded, as policies see them: ResultGrid::exact_value is not.
double value_of(const Trial& trial, const std::string& metric, Mode mode, Scope scope);

struct CheckpointPath {
  std::filesystem::path path;
  std::int64_t iteration = 0;
  double score = 0;       ///< of checkpoint_score_attribute; NaN if there is none
  bool is_guess = false;  ///< it may be of a later iteration
};

/// One trial's outcome.
struct TrialResult {
  std::string trial_id;
  TrialState state = TrialState::pending;
  std::optional<TrialEnd> end;  ///< nothing: it has not ended
  Json config;
  Json metrics;  ///< of the last result, with training_iteration and time_total_s; null: none
  /// The same of the best one, where one trial was asked for as the best of all results; null: its
  /// result.json is not there.
  Json best_metrics;
  std::optional<std::int64_t> best_iteration;       ///< of that
  std::optional<std::filesystem::path> checkpoint;  ///< the latest
  std::vector<CheckpointPath>
      best_checkpoints;        ///< what retention kept of what it is now, best first
  std::string error;           ///< of the last failure; empty if it ended well
  std::filesystem::path path;  ///< the trial's directory
  /// By text the value of each constraint that needs metrics, at the last result: fulfilled at 0
  /// and below; NaN without it.
  std::map<std::string, double> constraints;
};

/// What came out of an experiment with several metrics. Only trials with a finite number for each
/// of them count, and that fulfil all constraints.
struct ParetoFront {
  std::vector<TrialId> trials;  ///< those that no other one dominates, best first metric first
  /// By metric the worst value of the trials that have ended, also of those that break a
  /// constraint; empty: none has.
  std::vector<double> reference;
  double hypervolume = 0;  ///< of what the front covers up to the reference
};

class ResultGrid {
 public:
  ResultGrid(Experiment experiment, ExperimentSpec spec, std::filesystem::path directory);

  /// Reads a finished or running experiment; changes nothing. Error if there is none.
  static ResultGrid load(const std::filesystem::path& directory);

  std::size_t size() const { return experiment_.trials().size(); }
  TrialResult operator[](std::size_t i) const;
  std::vector<TrialResult> errors() const;  ///< trials in state ERROR

  /// The trial with the best value of those whose last result fulfils all constraints; NaN and
  /// missing are worst. Metric and mode default to the experiment's own; Error (user) if there are
  /// none, or if there is no such trial.
  TrialResult best_result(std::optional<std::string> metric = {}, std::optional<Mode> mode = {},
                          Scope scope = Scope::all) const;
  /// The same as an id; nothing if no trial has a number there.
  std::optional<TrialId> best_trial(const Objective& objective, Scope scope) const;
  /// At most `n` of them, best first; of equal ones the one with the lower number first.
  std::vector<TrialId> best_trials(const Objective& objective, Scope scope, std::size_t n) const;
  /// Fills in `best_metrics` and `best_iteration`.
  void add_best_row(TrialResult& result, const Objective& objective) const;
  /// Of which iteration the best of all results of the trial is, the first of equal ones; nothing
  /// if none of the rows that are left has it.
  std::optional<std::int64_t> best_iteration(const Trial& trial, const Objective& objective) const;
  /// The iterations of all results that are as good as the best, by all digits, ascending: from
  /// result.json or, where that lacks them, from the last result and the scores of checkpoints.
  /// Empty if none of these has the best value.
  std::vector<std::int64_t> best_iterations(const Trial& trial, const Objective& objective) const;

  /// Of which iteration the last value of a metric is, of the trial's last one if every result has
  /// it. Nothing if it was never reported as a number, or if that row is nowhere any more.
  std::optional<std::int64_t> last_iteration(const Trial& trial, const std::string& metric) const;

  /// A metric in one result of a trial.
  struct MetricRow {
    std::int64_t iteration = 0;
    ExactNumber value;
  };
  /// What a trial has reported before it went on with another config from a checkpoint of its own,
  /// since it last became a copy of another trial. That is of another config than the trial has,
  /// so nothing else counts it.
  struct Earlier {
    std::int64_t until = 0;         ///< the iteration with which the config changed
    std::optional<MetricRow> best;  ///< nothing if no row of it is left
  };
  /// Nothing if it has not.
  std::optional<Earlier> before_change(const Trial& trial, const Objective& objective) const;
  /// By name the last value of each metric that the trial's last result lacks; without those whose
  /// rows are nowhere any more.
  std::map<std::string, MetricRow> earlier_metrics(const Trial& trial) const;

  /// `value_of` with all digits that the trial has reported, for whoever shows it: a whole number
  /// of 64 bits is looked up in the rows of the trial. Means are doubles.
  ExactNumber exact_value(const Trial& trial, const Objective& objective, Scope scope) const;

  /// By the experiment's own metrics.
  ParetoFront pareto_front(Scope scope = Scope::last) const;

  /// Whether the last result of a trial fulfils all constraints.
  bool is_feasible(const Trial& trial) const;
  /// If no trial with a result does: that, as a sentence with the one that comes nearest.
  std::optional<std::string> none_feasible() const;

  /// Takes one result, with the driver's own fields among its numbers.
  using UseRow = std::function<void(const Metrics&)>;

  /// The trial's results that count, by iteration: what it has reported since it last became a copy
  /// of another one, and not what a restore has taken back. Those since the newest snapshot are
  /// from the record, as a driver that was killed may not have written their rows; those before
  /// from result.json and what stands in for it, and from the record what these lack. The last one
  /// is known even where none of them has it. Error if the record cannot be read.
  void each_row(const Trial& trial, const UseRow& use) const;
  /// What each_row has left out so far of files that trials can write to, and what it has found
  /// nowhere, as sentences.
  std::vector<std::string> left_out() const;

  /// Recomputes summaries from result.json where those in memory are not right
  /// (Trial::summaries_in_doubt). The members for the best trial call it themselves.
  void complete_summaries() const;

  const Experiment& experiment() const { return experiment_; }
  const ExperimentSpec& spec() const { return spec_; }
  const std::filesystem::path& directory() const { return directory_; }

 private:
  void complete_summaries(TrialId id) const;
  /// All that are as good as the best; empty if none of the rows that are left has it.
  std::vector<MetricRow> best_rows(const Trial& trial, const Objective& objective) const;
  /// The newest one that has the metric; looks for it where the last result lacks it.
  std::optional<MetricRow> newest_row(const Trial& trial, const std::string& metric) const;
  /// Those of each_row that are on disk; answers the iteration of the last one.
  double each_row_on_disk(const Trial& trial, const UseRow& use) const;
  /// The rank of each trial by each metric, the worst 0, equal values the same, compared by all
  /// digits.
  std::vector<std::vector<double>> exact_places(const std::vector<TrialId>& ids, Scope scope) const;
  const RecordedResults& recorded() const;
  const RecordedResults& newest() const;

  mutable Experiment experiment_;  ///< `complete_summaries` completes what was read
  mutable bool is_settled_ = false;
  /// Read when they are first needed.
  mutable std::optional<RecordedResults> recorded_, newest_;
  mutable std::vector<std::string> left_out_;
  mutable std::map<TrialId, std::uint32_t> lacking_;  ///< how many results, of those that lack some
  ExperimentSpec spec_;
  std::filesystem::path directory_;
  std::vector<Constraint> constraints_;
};

}  // namespace tune
