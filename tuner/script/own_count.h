// The numbers with which a program counts its results itself, "step 60: ...": by them it is known
// when it prints once more what it was restored to, with other values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tune {

class OwnCount {
 public:
  /// The line of a result, `iteration`. One that was restored may have shown its checkpoint's once
  /// more, so that it counts one too many: that tells nothing.
  void note(std::int64_t iteration, std::string_view line, bool is_restored = false);
  /// Whether `line` has the count of `iteration`, and lines tell by their counts which they are.
  bool is_of(std::int64_t iteration, std::string_view line) const;

 private:
  std::vector<std::string> counts_;  ///< up to the first number, with it; by iteration, from 1
  bool tells_ = true;                ///< no two of them are the same
};

}  // namespace tune
