// Which lines are a program's results where it prints the metric in lines of several kinds, such as
// those of training and those of validation: together they are no one curve.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/plain/closing_line.h"

namespace tune {

/// What is known of a program's lines from all its launches.
struct KnownKinds {
  std::optional<Phase> counted = {};  ///< the phase whose lines are its results
  bool is_by_bars = false;  ///< the lines that told that were bars: of other lines it tells nothing
  bool has_lines = false;   ///< it has results in lines of their own: those of bars count no more
};

/// Kinds are told apart by the phase that a line names, and those that name none by the text before
/// the metric. Those that name none count, if they come again: they have the metric as the user
/// calls it. Else those of the phase that tells most do. Once two lines have been alike, one that
/// is not waits for the next line: as a program's last words it is none of its curve.
class LineKinds {
 public:
  /// `known`: outlives this.
  explicit LineKinds(KnownKinds& known) : known_(known), counted_(known.counted) {}

  enum class Count {
    yes,
    no,
    later,  ///< shows with a later line
  };
  struct Answer {
    Count counts = Count::yes;
    /// Of each line that had to wait, in their order, whether it counts; empty: they wait on.
    std::vector<bool> held = {};
  };
  /// The next line, which has a metric and is neither an echo nor a summary.
  Answer take(const ClosingLine& line, std::string_view text);

  /// Whether what waits does so since it is not like the lines before.
  bool has_odd() const { return !odd_.empty(); }
  /// No line will come any more: of each that waits, whether it counts. Those that name no phase
  /// do, if there was one, else those of the phase that tells most; and none that is odd.
  std::vector<bool> settle_at_end();
  /// What came so far was printed by earlier launches: none of it waits any more.
  void begin_launch();

  struct Two {
    std::string usual;  ///< the first line of a kind that has come again
    std::string other;
  };
  /// Once, when lines of two kinds have counted in this launch, and one of them has come again. A
  /// single other one is told, too: it may be a check before the training, or of another model.
  std::optional<Two> take_mixed();

  /// Of the lines that count.
  bool has_repeated() const { return has_repeated_; }  ///< two begin alike
  bool are_mixed() const { return kinds_.size() > 1; }
  bool begin_all_with(std::string_view beginning) const {
    return kinds_.size() == 1 && kinds_.front().beginning == beginning;
  }
  std::uint32_t after_words() const { return after_words_; }  ///< see ClosingLine

 private:
  struct Kind {
    std::string beginning;
    Phase phase = Phase::unnamed;
    std::string first_line;
    bool is_bar = false;
    std::vector<std::string> neighbours = {};       ///< that all of them have
    std::vector<std::string> some_neighbours = {};  ///< that some have
    std::size_t lines = 0;
    std::size_t lines_of_launch = 0;
  };
  struct Held {
    ClosingLine line;
    std::string text;
  };
  static constexpr std::size_t most_kinds = 8;
  static constexpr std::size_t most_held = 8;

  std::optional<Phase> settled_by(const ClosingLine& line) const;
  bool is_counted(const ClosingLine& line) const;
  void prefer_lines();
  bool is_left_out_bar(const ClosingLine& line) const;
  bool is_odd(const ClosingLine& line) const;
  static bool is_like(const Kind& kind, const ClosingLine& line);
  bool must_wait(const ClosingLine& line) const;
  void note(const ClosingLine& line, std::string_view text);

  KnownKinds& known_;
  std::optional<Phase>& counted_;
  std::vector<Kind> kinds_;      ///< of the lines that count
  std::string last_;             ///< how the last of them begins
  std::vector<Held> held_;       ///< the first of them names a phase
  std::vector<Held> odd_;        ///< lines that are not like those that count
  bool has_many_forms_ = false;  ///< so many that the form tells nothing
  std::uint32_t after_words_ = 0;
  bool has_named_ = false;  ///< a line has named a phase
  bool has_repeated_ = false;
  bool has_told_ = false;
};

}  // namespace tune
