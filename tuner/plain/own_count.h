// A program's own count of its results, "step 60: ...". It tells when a restored program prints its
// checkpoint's result again, with other values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tune {

class OwnCount {
 public:
  /// Notes the line of result `iteration`. A restored program may have printed its checkpoint's
  /// result again, and then its results are counted one too high: so a count that is known already
  /// is ignored there.
  void note(std::int64_t iteration, std::string_view line, bool is_restored = false);
  /// Whether `line` has the count of `iteration`, and lines tell by their counts which they are.
  bool is_of(std::int64_t iteration, std::string_view line) const;

 private:
  std::vector<std::string> counts_;  ///< up to the first number, with it; by iteration, from 1
  bool tells_ = true;                ///< no two of them are the same
};

}  // namespace tune
