// Lines of several curves that are printed in turn, such as those of processes or of models whose
// number is called as nobody knows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/plain/closing_line.h"

namespace tune {

/// Numbers before the metric count: the first ones least often, as an epoch and a step do. Where
/// two lines are alike but for a number that is not the last one, and that goes back while a later
/// one goes on ("[a0] epoch 1", "[a1] epoch 1", "[a0] epoch 2"), it is none that counts the
/// results. Nor does any number where lines with all the same ones come again and again
/// ("epoch 1", "epoch 1", "epoch 2", "epoch 2"), be it that the epoch stands behind the metric or
/// is no whole number ("{'loss': 0.5, 'epoch': 2.0}").
class InterleavedLines {
 public:
  struct Two {
    std::string first;
    std::string second;
  };
  /// The next line that counts as a result. Once: two lines of different curves.
  std::optional<Two> take(const ClosingLine& line, std::string_view text);

 private:
  struct Kind {
    std::string beginning;
    std::vector<std::int64_t> counts;       ///< of its last line
    std::string text;                       ///< that line
    std::optional<std::size_t> place = {};  ///< of the number by which two lines differed
    Two two = {};                           ///< these
    std::size_t repeats = 0;                ///< how many counts have come more than once
    bool is_repeated = false;               ///< so has the last one
  };
  std::optional<Two> take_whole(std::string_view text);

  std::vector<Kind> kinds_;
  Kind whole_;  ///< of lines without counts
  bool has_told_ = false;
};

}  // namespace tune
