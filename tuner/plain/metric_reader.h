// Reads metrics out of lines that a program prints for people.
#pragma once

#include <bitset>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trainable/values.h"
#include "tuner/model/metrics.h"
#include "tuner/plain/closing_line.h"
#include "tuner/plain/plain_program.h"
#include "tuner/plain/reading_remark.h"
#include "tuner/plain/result_join.h"

namespace tune {

/// What is wrong with an expression for a number: no RE2, or not one group. Empty if nothing is.
std::string complaint_about_expression(const std::string& expression);

/// Reads metrics by name ("loss: 0.3", "'loss'=3e-1", "loss 0.3"), out of tables, by expression,
/// and out of lines that end with a JSON object. Once a name has stood before a colon, only what
/// stands there so counts, and nothing that is no result by what is around it (see no_result.h),
/// unless an expression says so. A result is there once all of `closing` have come since the last
/// one (see ResultJoin), or one line has all of them; it has what else has come since.
class MetricReader {
 public:
  /// The expressions are right ones.
  explicit MetricReader(PlainReading reading);
  /// `counted`: see ResultJoin.
  MetricReader(PlainReading reading, CountedPhases& counted);
  ~MetricReader();
  MetricReader(MetricReader&&) noexcept;

  /// The result that `line` closes, if it closes one. `overwritten`: see LineSplitter; a bar is
  /// drawn again and again, so what it says counts only if it has changed, or its epoch has ended.
  /// `stream`: 0 or 1.
  std::optional<Metrics> read(std::string_view line, bool overwritten, std::size_t stream = 0);
  /// A result of several metrics that lines of their own had.
  struct Joined {
    std::size_t line = 0;  ///< that has closed it: the first one that was read is 1
    std::optional<Metrics> metrics;
    Phase phase = Phase::unnamed;  ///< see ResultJoin::Result
  };
  /// The results that earlier lines have closed, as the line that was read last shows; they come
  /// before its own. With `is_end`, nothing more of them will come.
  std::vector<Joined> take_late(bool is_end = false);
  /// How many lines were read.
  std::size_t lines() const { return lines_; }
  /// Whether a line may turn out to have closed a result: one of take_late.
  bool waits_for(std::size_t line) const { return join_->waits_for(line); }
  /// If lines of their own had the metrics of the last line's result: their phase.
  std::optional<Phase> joined_phase() const { return joined_phase_; }
  /// Whether the result that was read last counts. Only what counts tells whether the metrics stand
  /// before a colon.
  void judged(bool counts);
  /// The program has ended: the result of its last epoch, if that was shown by a bar alone that the
  /// next epoch would have closed.
  struct Last {
    std::size_t stream = 0;
    Metrics metrics;
  };
  std::optional<Last> finish();
  /// Whether `line`, which has not ended yet, may close a result: it has the number of a metric
  /// that does.
  bool may_close(std::string_view line) const;
  /// What was read so far are lines of earlier launches: whether a metric stands before a colon is
  /// known from them, and all else is forgotten.
  void begin_launch();

  /// Whether the line that was read last has a number of one of `closing`.
  bool has_closing() const { return has_closing_; }
  /// Whether the line that was read last is a row of a table with `metric`.
  bool is_row(std::string_view metric) const;

  /// Those of `closing` that no number has come for since the last result.
  std::vector<std::string> lacking() const;
  /// Those of all its metrics that no number has ever come for.
  const std::vector<std::string>& never_read() const { return never_read_; }
  /// How often one of `closing` has come since the last result, if that is more than usual: three
  /// times as often as before any result.
  std::size_t times_waiting() const { return join_->times_waiting(); }
  /// See ResultJoin.
  std::optional<ResultJoin::Uneven> uneven(bool is_end) const { return join_->uneven(is_end); }

  /// What was left out, or may be another number than is meant; of each kind the first line.
  std::vector<ReadingRemark> take_remarks() { return std::exchange(remarks_, {}); }

 private:
  MetricReader(PlainReading reading, std::unique_ptr<CountedPhases> own);

  struct Expressions;
  struct Forms;
  struct Stream;
  /// `text`: where it stands, with what else there is.
  void set(std::string_view name, double value, std::string_view text);
  std::vector<PrintedValue> take_closed(std::string_view line, bool overwritten);
  std::vector<PrintedValue> take_joined(std::string_view line, bool overwritten);
  void note_late(std::vector<ResultJoin::Result> results);
  bool read_json(std::string_view line);
  void read_by_name(std::string_view line, std::size_t metric, bool is_quoted, bool is_bar);
  /// The result that the numbers of `line` close, with those before it.
  std::optional<Metrics> close(std::string_view line, bool overwritten, Stream& of);
  void forget_forms_before_line();
  void note(ReadingRemark::What what, std::string_view line, std::string_view name);
  static std::optional<Metrics> metrics_of(std::vector<PrintedValue> values);
  bool is_closing(std::string_view name) const;
  bool has_all_named(const std::vector<PrintedValue>& values) const;
  /// Whether the values of `closing` are those of the last result; from now on they are.
  bool is_unchanged(const std::vector<PrintedValue>& values);

  PlainReading reading_;
  std::unique_ptr<Expressions> expressions_;
  std::unique_ptr<Forms> forms_;
  std::unique_ptr<CountedPhases> own_counted_;
  std::unique_ptr<ResultJoin> join_;   ///< of several of `closing`
  std::vector<PrintedValue> of_line_;  ///< that is being read
  std::vector<PrintedValue> pending_;  ///< since the last result
  std::vector<Joined> late_;           ///< see take_late
  std::size_t lines_ = 0;
  std::optional<Phase> joined_phase_;
  bool has_closing_ = false;
  std::vector<double> last_;  ///< of `closing`, in the last result
  std::vector<std::string> never_read_;
  bool is_by_name_ = true;  ///< no expression is for one of `closing`
  std::vector<ReadingRemark> remarks_;
  std::bitset<ReadingRemark::whats> noted_;
};

}  // namespace tune
