// Whether the results of a program come from lines of several kinds, such as those of batches and
// those of validations: then they are no one curve, though each line has the metric.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tune {

/// Kinds are told apart by the text before the metric. A line that comes once, such as one at the
/// end, makes no kind.
class LineKinds {
 public:
  /// A line that counts as a result; `beginning`: ClosingLine's. Once, when two kinds have come
  /// twice each: the first line of the other kind.
  std::optional<std::string> take(std::string_view beginning, std::string_view line);

 private:
  struct Kind {
    std::string beginning;
    std::string first_line;
    std::size_t lines = 0;
  };
  std::vector<Kind> kinds_;
  bool has_told_ = false;
};

}  // namespace tune
