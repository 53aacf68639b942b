// Recognises numbers behind a metric's name that are no results: in stack traces and other source,
// in help and settings, and behind words such as "target".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tune {

/// Lines of one stream that are none of its program's results, whatever they say: stack traces with
/// their message, source below a warning, help and settings below their title.
class QuotedLines {
 public:
  /// Whether the next line is one of them. `overwritten`: see LineSplitter; no progress bar is.
  bool take(std::string_view line, bool overwritten);

 private:
  enum class Block {
    none,
    next,     ///< the next line, if it is indented more than the first one
    deeper,   ///< all lines that are, or are drawn in a frame
    message,  ///< and the one behind them
  };
  Block opened_by(std::string_view line);
  bool is_within(std::string_view line) const;

  Block block_ = Block::none;
  std::string prefix_;          ///< of all its lines, such as "[rank0]: "
  std::size_t indent_ = 0;      ///< of its first line, behind that
  bool is_unfinished_ = false;  ///< its last line ends with a comma, or an open bracket
};

/// What the words around a name say of its number.
enum class Standing {
  result,
  best,  ///< "best loss: 0.3": one of several results, if those are printed
  none,  ///< "target loss: 0.3", "Namespace(lr=0.1, loss=0.3)", "ValueError: loss: 0.3"
};
/// Of the name that begins at `at` in `line`.
Standing standing_of(std::string_view line, std::size_t at);

/// Whether `before` ends within settings that are printed in a line: "Config: ", "Namespace(a=1, ".
bool ends_in_settings(std::string_view before);

/// Whether an assignment is source, as a term goes on `behind` its number: "loss = 0.5 * x".
bool is_term(std::string_view behind);

}  // namespace tune
