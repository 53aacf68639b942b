// Joins the numbers of several metrics that a program prints on lines of their own into results.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainable/values.h"
#include "tuner/plain/closing_line.h"

namespace tune {

/// A number of a metric, as it was printed.
struct PrintedValue {
  std::string name;
  double value = 0;
  Json whole;                    ///< if it is a whole number that a double would round; else null
  Phase phase = Phase::unnamed;  ///< that its line names before it, where several metrics close
  std::string count = {};        ///< "epoch 3", where its line has that; see count_in
  bool is_bar = false;           ///< a progress bar shows it, a running value
  bool sums_up = false;          ///< "best" or the like stands in front of it
};
/// `value` in the place of what has its name.
void put(std::vector<PrintedValue>& values, PrintedValue value);
/// Null: none of that name.
const PrintedValue* find(const std::vector<PrintedValue>& values, std::string_view name);

/// What counts of a metric, where several close a result.
struct CountedLines {
  Phase phase = Phase::unnamed;
  bool has_lines = false;  ///< what bars show is left out
};
/// Of each metric, from all a program's launches.
using CountedPhases = std::map<std::string, CountedLines, std::less<>>;

/// A result is there once each of its metrics has come since the one before. A metric that comes in
/// several phases counts in one of them: else its number of the validation would be left over, and
/// stand beside that of the next epoch's training. Which one shows once all have come again, so the
/// first lines wait; so do bars, which show running values of what lines may have. One phase for
/// all metrics is taken before others, and no phase before any.
class ResultJoin {
 public:
  /// `names`: of the metrics that close a result. `counted`: outlives this.
  ResultJoin(std::vector<std::string> names, CountedPhases& counted);

  struct Result {
    std::size_t line = 0;  ///< that has closed it
    std::vector<PrintedValue> values;
    Phase phase = Phase::unnamed;  ///< of all its metrics; they differ: unnamed
  };
  /// What `line` has, which is behind all lines before. The results that show by that, in order.
  std::vector<Result> take(std::size_t line, std::vector<PrintedValue> values);
  /// Nothing more of them will come: what waits is judged by what there is.
  std::vector<Result> settle();
  /// What has come of other metrics since the last result. What waits of its own is dropped.
  std::vector<PrintedValue> release();
  /// What came so far was printed by earlier launches, and closes nothing.
  void begin_launch();

  bool waits() const { return !waiting_.empty(); }
  bool waits_for(std::size_t line) const;
  /// Whether a number of it waits for the others of its result.
  bool has(std::string_view name) const;
  /// How often one of the metrics has come since the last result, if that is more than usual: three
  /// times as often as before any result. Bars, and what is left out, aside.
  std::size_t times_waiting() const;

  struct Uneven {
    std::string often;
    std::string seldom;
  };
  /// A metric that comes more often than another one, where lines name no epoch that tells which
  /// belong together: if it comes first within an epoch, results are of one, else of two. Once it
  /// has done so twice; with `is_end`, nothing more will come, and once is enough.
  std::optional<Uneven> uneven(bool is_end) const;

 private:
  struct Part {
    std::size_t line = 0;
    std::vector<PrintedValue> values;
  };
  /// How often a metric has come in each phase.
  using Times = std::map<Phase, std::size_t>;
  struct Seen {
    Times lines;
    Times bars;
    std::optional<Phase> first = {};  ///< of its lines
    bool has_plain_line = false;      ///< no bar, and none that sums up
    const Times& times() const { return lines.empty() ? bars : lines; }
  };

  bool is_closing(std::string_view name) const;
  bool has_closing(const Part& part) const;
  void note(std::vector<PrintedValue>& values);
  void wait(Part part);
  bool may_have_others() const;
  Times phases_of(const std::string& name, bool is_end) const;
  static std::optional<Phase> choose(const Times& least, bool is_end);
  std::optional<CountedPhases> choose(bool is_end) const;
  bool is_left_out(const PrintedValue& value, const CountedPhases& counted) const;
  std::vector<Result> replay(const CountedPhases& counted);
  std::optional<Result> join(Part part, const CountedPhases* counted);
  bool is_behind(const Part& part) const;
  std::optional<Result> join_earlier(const Part& part);
  void begin_anew_behind(const Result& result);
  void note_uneven(const std::vector<PrintedValue>& values);

  std::vector<std::string> names_;
  CountedPhases& counted_;
  bool goes_by_counted_ = false;  ///< what came before was judged by that
  std::map<std::string, Seen, std::less<>> seen_;
  std::map<std::string, std::size_t, std::less<>> since_;  ///< see times_waiting
  std::size_t most_since_ = 0;                             ///< before a result
  bool has_joined_ = false;                                ///< a result by lines of its own
  bool names_epochs_ = false;                              ///< the lines of the last result do
  std::size_t times_uneven_ = 0;
  Uneven uneven_;
  std::deque<Part> waiting_;
  std::vector<PrintedValue> pending_;  ///< since the last result
  std::deque<PrintedValue> recent_;    ///< of lines that name their epoch
};

}  // namespace tune
