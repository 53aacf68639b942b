// Recognises lines with the metric that are no new result: a repetition on the other stream, a
// summary at the end, and an evaluation of the restored model.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/model/metrics.h"
#include "tuner/script/closing_title.h"

namespace tune {

/// What a result is measured on, as far as a line says it; of two, the later one tells more of a
/// config.
enum class Phase { unknown, training, test, validation };
const char* to_string(Phase phase);

/// A line that has closed a result, as far as it tells what kind of a result that is.
struct ClosingLine {
  /// The text before the metric's name, without numbers and in small letters: "epoch loss: ". In a
  /// program that prints a line each epoch it is always the same.
  std::string beginning;
  bool sums_up = false;  ///< it has a word for a whole training, such as "best"
  /// Which words `beginning` has that stand for a measure after the training, such as "test".
  std::uint32_t after_words = 0;
  Phase phase = Phase::unknown;  ///< the last one that is named in front of it
};
/// Nothing: `name` with a number is not in `line`.
std::optional<ClosingLine> closing_line(std::string_view line, std::string_view name);

/// Judges the results of one program by the lines and the values that closed them.
class SaidAgain {
 public:
  enum class Kind {
    result,
    held,         ///< whether it is a result shows with the next one, or at the program's end: then
                  ///< it is one
    other_phase,  ///< the results are those of another phase
    echo,         ///< the other stream has said it before
    summary,      ///< it begins otherwise than all results, or stands below a title that none has,
                  ///< and says that it measures what has been trained, or that it sums up, with a
                  ///< value that is not beyond them
  };
  struct Verdict {
    Kind kind{};
    bool held_counts = false;  ///< the line that was held is a result
  };

  /// `counted`: the phase whose lines are the program's results, once it is known; outlives this.
  explicit SaidAgain(Phase& counted) : counted_(counted) {}

  /// Any line, before it is judged. `stream`: 0 or 1.
  void see(std::size_t stream, std::string_view line) { title_ = titles_[stream].take(line); }

  /// `line`: nothing where the user has said how the metric is read: then summaries and phases are
  /// not told apart.
  Verdict judge(std::size_t stream, const std::optional<ClosingLine>& line,
                const std::vector<double>& values);

 private:
  bool is_echo(std::size_t stream, const std::vector<double>& values);
  bool is_summary(const std::optional<ClosingLine>& line, double value) const;
  /// Result, held or other_phase.
  Verdict judge_phase(Phase phase);
  bool is_among(double value) const;

  Phase& counted_;
  Phase held_ = Phase::unknown;  ///< of the line that is held; unknown: none is
  std::array<ClosingTitle, 2> titles_;
  ClosingTitle::Of title_ = ClosingTitle::Of::nothing;  ///< of the line that was seen last
  bool has_titled_ = false;                             ///< a result stood below one

  /// Results of each stream that the other has not repeated, in their order.
  std::array<std::deque<std::vector<double>>, 2> not_repeated_;
  static constexpr std::size_t most_beginnings = 8;
  std::vector<std::string> beginnings_;  ///< of the results so far, each once
  bool is_mixed_ = false;                ///< there are several, or it is not known
  bool has_repeated_ = false;            ///< two results have the same one
  std::uint32_t after_words_ = 0;        ///< of all results so far
  std::size_t results_ = 0;
  double least_ = 0, most_ = 0;  ///< of the first value of each
};

/// What the first result after a restore is, compared with the checkpoint's.
enum class FirstResult {
  trained,    ///< it differs
  evaluated,  ///< it has the same numbers, one of them with so many digits that this is no chance
  unclear,    ///< it has the same numbers, all of them with few digits
};
FirstResult judge_first(const Metrics& first, const Metrics& restored);

}  // namespace tune
