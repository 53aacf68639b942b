// A line that has closed a result, and what the words in it tell of that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tune {

/// What a result is measured on, as far as a line says it; of two, the later one tells more of a
/// config.
enum class Phase {
  unnamed,  ///< no word says it
  training,
  test,
  validation,
};
const char* to_string(Phase phase);
/// That of the last word in `text` that names one by itself: "training_iteration" does not.
Phase phase_named_in(std::string_view text);

/// A line that has closed a result, as far as it tells what kind of a result that is.
struct ClosingLine {
  /// The text before the metric's name, without numbers and in small letters: "epoch loss: ". In a
  /// program that prints a line each epoch it is always the same.
  std::string beginning;
  bool sums_up = false;  ///< it has a word for a whole training, such as "best"
  /// Which words `beginning` has that stand for a measure after the training, such as "test".
  std::uint32_t after_words = 0;
  Phase phase = Phase::unnamed;  ///< the last one that is named in front of it
  std::size_t word = 0;          ///< where the word for that begins; else the line's first word
  /// Of the other numbers that the line has behind a colon, sorted: "epoch", "lr".
  std::vector<std::string> neighbours = {};
  bool is_bar = false;                    ///< a progress bar's drawing
  std::vector<std::int64_t> counts = {};  ///< before the metric, see counts_in
};
/// Nothing: `name` with a number is not in `line`. `overwritten`: see LineSplitter.
std::optional<ClosingLine> closing_line(std::string_view line, std::string_view name,
                                        bool overwritten = false);
/// The line of a row in a table, which has no name in it.
ClosingLine row_of_table();

}  // namespace tune
