// A trial: one config and its life, as a value. Only Experiment::apply changes one.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainable/values.h"
#include "tuner/base/boxed_default.h"
#include "tuner/base/interned_text.h"
#include "tuner/base/wide_sum.h"
#include "tuner/model/checkpoint.h"
#include "tuner/model/objective.h"
#include "tuner/model/resources.h"
#include "tuner/model/result.h"

namespace tune {

/// The trial's number, from 0; its position in Experiment::trials().
enum class TrialId : std::uint32_t {};

inline std::size_t index_of(TrialId id) { return static_cast<std::size_t>(id); }

/// "trial_00012": the id in messages, files and records, and the name of the trial's directory.
std::string to_string(TrialId id);
/// The inverse; also understands "12". Nothing for other text.
std::optional<TrialId> parse_trial_id(std::string_view text);

enum class TrialState : std::uint8_t {
  pending,     ///< waits for resources
  running,     ///< an attempt is under way
  paused,      ///< paused by a scheduler, which may choose it again, or by hand
  terminated,  ///< ended without an error
  error,       ///< failed for good
};
const char* to_string(TrialState state);  ///< "PENDING", ...
std::optional<TrialState> parse_trial_state(std::string_view text);
inline bool is_final(TrialState state) {
  return state == TrialState::terminated || state == TrialState::error;
}

/// Who has ended a trial.
enum class EndedBy : std::uint8_t {
  nobody,     ///< it has not ended, or an older program has recorded how it did
  done,       ///< it said so itself
  exit,       ///< its program ended, with success
  rule,       ///< a stop rule
  scheduler,  ///< which found that it was not worth more
  user,       ///< tune stop
  run,        ///< which ended, and its trials with it
  failure,
};
const char* to_string(EndedBy by);  ///< "done", ...; "" for nobody
std::optional<EndedBy> parse_ended_by(std::string_view text);

/// How a trial has ended, for counts: every ended trial is one of these.
enum class TrialEnd : std::uint8_t {
  completed,  ///< it trained as far as it was to: it was done, or its stop rule or scheduler lets
              ///< no trial train longer
  pruned,     ///< before that, by its scheduler
  stopped,    ///< before that, by the user or by the end of the run
  failed,     ///< ERROR
};
inline constexpr TrialEnd trial_ends[] = {TrialEnd::completed, TrialEnd::pruned, TrialEnd::stopped,
                                          TrialEnd::failed};
const char* to_string(TrialEnd end);  ///< "completed", ...

/// A pointer to an interned text, which the Experiment owns.
class InternedName {
 public:
  InternedName() = default;
  InternedName(const std::string& text) : text_(&text) {}  // NOLINT(google-explicit-constructor)
  InternedName(std::string&&) = delete;
  operator std::string_view() const {  // NOLINT(google-explicit-constructor)
    return text_ != nullptr ? std::string_view(*text_) : std::string_view();
  }
  bool operator==(std::string_view other) const { return std::string_view(*this) == other; }

 private:
  const std::string* text_ = nullptr;
};

/// Statistics of one metric of a trial over the results that its result.json has: those since its
/// last cloning that no restore has taken back. NaN and infinities are no numbers here: a score
/// that is not finite is never best.
struct MetricSummary {
  InternedName name;  ///< kept by the Experiment that the trial is of
  double last = 0;
  double min = 0;  ///< over numbers only
  double max = 0;
  double sum = 0;  ///< of `total`, with `sum_rest` and `is_sum_divided`
  /// Averages of the last values when the trial last ended, over the numbers among them; NaN if
  /// there were none.
  double ended_average_5 = std::numeric_limits<double>::quiet_NaN();
  double ended_average_10 = std::numeric_limits<double>::quiet_NaN();
  float sum_rest = 0;            ///< what rounding took away, in units of the sum's last place
  std::uint32_t count : 31 = 0;  ///< of numbers
  std::uint32_t is_sum_divided : 1 = 0;

  /// The sum of all numbers. Kept with 77 bits, so that it takes no more room than a plain one.
  WideSum total() const;
  void set_total(const WideSum& total);
  double average() const;        ///< over numbers only; NaN if there were none
  double best(Mode mode) const;  ///< the same
};

/// The last ten values of one metric.
struct RecentValues {
  std::array<double, 10> ring{};
  std::uint32_t seen = 0;  ///< values ever put into `ring`

  void add(double value) { ring[seen++ % ring.size()] = value; }
  double average_of_last(std::size_t n) const;  ///< n <= 10; over numbers among them only
};

/// The summaries of a trial as of one result: what a restore to that iteration brings back.
struct SummaryMark {
  std::int64_t iteration = 0;  ///< of that result
  std::vector<MetricSummary> summaries;
  std::vector<RecentValues> recent;
  InternedJson last_metrics;
};

/// The trial became a copy of a donor; or, if it is its own donor, went back to an earlier
/// checkpoint of its own. model/ancestry.h follows clonings back.
struct Cloning {
  std::uint64_t event = 0;     ///< number of the record that decided it
  Seconds time = 0;            ///< Unix time of that
  std::int64_t iteration = 0;  ///< of the trial, before
  TrialId donor{};             ///< whose checkpoint was restored; before the start: whose is to be
  std::int64_t donor_iteration = 0;  ///< of what was restored; 0: nothing was, or not yet
  InternedJson old_config;    ///< JSON text; the new one is the next cloning's, or the trial's
  std::uint64_t started = 0;  ///< number of the record with which it took effect; 0: not yet
  int attempt = 0;            ///< the first one after it
  int checkpoint = 0;         ///< index of the donor's that was restored; 0: none
  int saves = 0;              ///< Trial::saves at the start: later ones are of what it is since
  bool iteration_is_guess = false;         ///< it may have been a later one
  bool donor_iteration_is_guess = false;   ///< likewise
  BoxedDefault<std::string> old_tag = {};  ///< of `old_config`; kept until it takes effect
};

/// What a trial starts from after an exploit, until it has saved a checkpoint itself.
struct DonorCheckpoint {
  TrialId trial{};
  int index = 0;    ///< 0: the donor's newest, once it has one
  int attempt = 0;  ///< of the cloned trial, when it was decided: what that saves does not count
};

struct Trial {
  TrialId id{};
  TrialState state = TrialState::pending;
  EndedBy ended_by = EndedBy::nobody;  ///< or is being ended
  /// If that is the scheduler: it lets no trial train longer, so this one has not lost.
  bool at_max = false;
  InternedJson config{"{}"};  ///< JSON text in one line
  std::string tag;            ///< of the config: the values drawn, short: "lr=0.01,hidden=32"

  int attempt = 0;                  ///< number of the current or last launch, from 1
  int failures = 0;                 ///< failed attempts
  BoxedDefault<std::string> error;  ///< the last failure in one sentence; empty if none
  Seconds not_before = 0;           ///< Unix time before which a retry must wait (backoff)

  /// Why it was ended, or paused by its scheduler, in words: "rung 16, score 0.61, cutoff 0.72";
  /// may be empty.
  std::string why;

  /// A result has been decided "stop", or the trainable is done: nothing but the end is left.
  bool stopping = false;
  /// A stop rule decided so: with a longer rule the trial could go on.
  bool stopped_by_rule = false;
  /// The last result was to be saved, and that save has neither been committed nor failed. If the
  /// attempt ends before, only a new attempt from the checkpoint before can make the save.
  bool last_save_due = false;

  /// With the last result a pause was decided on.
  bool pausing = false;

  /// Set while the user has paused the trial: the state that it would be in otherwise. A RUNNING
  /// trial pauses with its next result; a waiting one is PAUSED, and would be PENDING, or PAUSED by
  /// its scheduler. Nothing once it has ended.
  std::optional<TrialState> held;
  /// Its config was given by hand: no searcher has suggested it.
  bool by_hand = false;

  std::int64_t iteration = 0;  ///< of the last accepted result, rewound by a restore
  std::int64_t restored_iteration = 0;
  /// The first and the last of its results whose iteration is a guess, see Result; 0: there is
  /// none.
  std::int64_t first_guess = 0, last_guess = 0;
  /// The highest iteration since the start or the last cloning; no restore rewinds it. Results up
  /// to it are repetitions: see `repeats`.
  std::int64_t counted_iteration = 0;
  /// A rule or the scheduler (`ended_by`) ended the trial at this iteration, with a save. If the
  /// trial is restored to an earlier checkpoint before the save is committed, it trains up to this
  /// iteration again and ends there. 0: none.
  std::int64_t end_iteration = 0;
  double time_total_s = 0;
  double restored_time_s = 0;
  std::optional<double> timesteps_total;
  std::optional<double> episodes_total;
  Seconds occupied_s = 0;  ///< how long its attempts before the present one have run
  Seconds started = 0;     ///< Unix time of the first attempt; 0: never started
  Seconds ended = 0;       ///< Unix time of the end; 0: not yet
  InternedName host;       ///< where its last attempt ran; empty: it never started, or not known
  BoxedDefault<std::string> gpus;  ///< that this attempt had, by name: "0,1"
  InternedJson last_metrics;       ///< JSON text of the last result's metrics; empty: none yet

  std::vector<MetricSummary> summaries;  ///< in the order the metrics first appeared
  /// In the order of `summaries`: results since the trial began or was taken up again after its
  /// end; empty once it has ended.
  std::vector<RecentValues> recent;
  /// One for each checkpoint that the trial may be restored to, and for results that may still get
  /// one; by iteration. Few: summaries.cpp says which.
  std::vector<SummaryMark> marks;
  /// Its program saves when it likes, so that each result may turn out to have a checkpoint.
  bool saves_itself = false;
  /// The trial was restored to an iteration without a mark, so the summaries contain results that
  /// were taken back. result.json is right.
  bool summaries_in_doubt = false;
  /// What it was restored to may be of a later iteration than that which it has since; its next
  /// result ends that.
  bool restored_guess = false;

  std::vector<Checkpoint> checkpoints;  ///< committed and not dropped, oldest first
  int saves = 0;         ///< index of the newest checkpoint that was ever committed or failed
  int failed_saves = 0;  ///< in all
  BoxedDefault<std::string> save_error;  ///< of the last one that failed; empty: none has
  int failed_saves_in_a_row = 0;
  /// Where a trial that has no checkpoint of its own starts from (`resume_from_checkpoint`).
  BoxedDefault<std::string> start_checkpoint;

  /// What its next attempt takes; empty: what the spec says.
  BoxedDefault<Resources> resources;

  std::optional<DonorCheckpoint> donor;
  std::vector<Cloning> lineage;  ///< oldest first

  /// Whether the trial has reported this iteration before and repeats it after a restore: then
  /// policies must not count it again. The one place that judges it.
  bool repeats(const Result& result) const {
    return result.training_iteration <= counted_iteration;
  }

  /// Whether its result of that iteration may be of a later one.
  bool is_guess(std::int64_t of_iteration) const {
    return first_guess > 0 && of_iteration >= first_guess && of_iteration <= last_guess;
  }
  /// Whether it may be at a later iteration than its `iteration`.
  bool is_at_guess() const {
    // What it was restored to says so alone: its own result of that number may be another model's,
    // or lie between two guesses.
    return iteration == restored_iteration ? restored_guess : is_guess(iteration);
  }

  /// Nothing if it has not ended. Where an older program has not recorded who ended the trial,
  /// TERMINATED counts as completed.
  std::optional<TrialEnd> end() const;

  const MetricSummary* summary(std::string_view metric) const;
  /// A metric of the last result, or one of the fields of Result::find that the trial keeps.
  /// Nothing if there was no result, or no such number.
  std::optional<double> last_value(std::string_view name) const;
  /// Over the numbers among the last five, or ten, values; NaN if there are none. A trial that had
  /// ended and goes on begins anew: its first values do not mix with those before the end.
  double average_of_last_5(const MetricSummary& summary) const;
  double average_of_last_10(const MetricSummary& summary) const;
  /// The last cloning that has taken effect; null: the trial is what it was from the start.
  const Cloning* present_cloning() const;
  /// Its checkpoints since its last cloning, oldest first: earlier ones are of another model.
  std::span<const Checkpoint> present_checkpoints() const;
  /// The newest of `present_checkpoints`. For a trial that was its own donor and has saved none
  /// since: the checkpoint from which it went on. Null: there is none.
  const Checkpoint* latest_checkpoint() const;
  const Checkpoint* checkpoint(int index) const;
};

/// The trials of an experiment, by number. A deque: growing never moves them, so that no single
/// addition takes long.
using Trials = std::deque<Trial>;

}  // namespace tune
