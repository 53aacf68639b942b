// Titles below which programs say once more, at their end, what they have come to. Knows no metric.
#pragma once

#include <string_view>

namespace tune {

/// Of one stream.
class ClosingTitle {
 public:
  /// What the title is of below which a line stands.
  enum class Of {
    nothing,
    best,     ///< of the next line, which is one of before: "Early stopping, best iteration is:"
    summary,  ///< of the indented lines below "***** eval metrics *****"
  };
  /// Of the next line.
  Of take(std::string_view line);

 private:
  Of open_ = Of::nothing;
};

}  // namespace tune
