// Recognises lines with the metric that are no new result: a repetition on the other stream, a
// summary at the end, and an evaluation of the restored model.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/model/metrics.h"
#include "tuner/plain/closing_line.h"
#include "tuner/plain/closing_title.h"
#include "tuner/plain/line_kinds.h"

namespace tune {

/// Judges the results of one program by the lines and the values that closed them.
class SaidAgain {
 public:
  enum class Kind {
    result,
    held,  ///< whether it is a result shows with a later one, or at the program's end: then it
           ///< is one
    other_kind,  ///< the results are lines of another kind
    echo,        ///< the other stream has said it before
    summary,     ///< it begins otherwise than all results, or stands below a title that none has,
                 ///< and says that it measures what has been trained, or that it sums up, with a
                 ///< value that is not beyond them
  };
  struct Verdict {
    Kind kind{};
    std::vector<bool> held = {};  ///< see LineKinds
  };

  /// `known`: see LineKinds.
  explicit SaidAgain(KnownKinds& known) : kinds_(known), counted_(known.counted) {}

  /// Any line, before it is judged. `stream`: 0 or 1.
  void see(std::size_t stream, std::string_view line) { title_ = titles_[stream].take(line); }

  /// `text` has closed a result. `line`: nothing where the user has said how the metric is read:
  /// then summaries and kinds are not told apart.
  Verdict judge(std::size_t stream, std::string_view text, const std::optional<ClosingLine>& line,
                const std::vector<double>& values);

  /// What was judged so far are lines of earlier launches: what they tell of the program stays.
  /// Until then one stream may be as far ahead of the other as it likes.
  void begin_launch();

  /// What its trial has, from earlier launches or as a copy of another trial: the best of that is
  /// no new one.
  void know(const ValueRange& range);

  LineKinds& kinds() { return kinds_; }

 private:
  struct Result {
    double value = 0;
    bool is_titled = false;
  };
  bool is_echo(std::size_t stream, Phase phase, const std::vector<double>& values);
  bool is_summary(const ClosingLine& line, double value) const;
  bool is_among(double value) const;
  void note(const Result& result);

  LineKinds kinds_;
  const std::optional<Phase>& counted_;
  std::vector<Result> held_;  ///< as in `kinds_`
  std::array<ClosingTitle, 2> titles_;
  ClosingTitle::Of title_ = ClosingTitle::Of::nothing;  ///< of the line that was seen last
  bool has_titled_ = false;                             ///< a result stood below one

  /// Results of each stream that the other has not repeated, in their order.
  struct Said {
    Phase phase = Phase::unnamed;
    std::vector<double> values;
  };
  std::array<std::deque<Said>, 2> not_repeated_;
  bool is_of_earlier_ = true;  ///< launches
  std::size_t results_ = 0;
  /// Of the first value of each, and what else is known; NaN: nothing yet.
  double least_ = std::numeric_limits<double>::quiet_NaN();
  double most_ = std::numeric_limits<double>::quiet_NaN();
  static constexpr int no_decimals = -400;
  int decimals_ = no_decimals;  ///< the most of them
};

/// What the first result after a restore is, compared with the checkpoint's.
enum class FirstResult {
  trained,    ///< it differs
  evaluated,  ///< it has the same numbers, one of them with so many digits that this is no chance
  unclear,    ///< it has the same numbers, all of them with few digits
};
FirstResult judge_first(const Metrics& first, const Metrics& restored);

}  // namespace tune
