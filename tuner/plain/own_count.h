// A program's own count of its results, "step 60: ...". It tells when a restored program prints its
// checkpoint's result again, with other values, and which result it goes on with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tune {

class OwnCount {
 public:
  /// Notes the line of result `iteration`. A restored program may have printed its checkpoint's
  /// result again, and then its results are counted one too high: so a count that is known already
  /// is ignored there. Of one that began anew and counts otherwise than another, nothing is told.
  void note(std::int64_t iteration, std::string_view line, bool is_restored = false);
  /// A checkpoint says so, whose results before that are of an earlier driver.
  void know(std::int64_t iteration, std::string_view line);
  /// Whether `line` has the count of `iteration`, and lines tell by their counts which they are.
  bool is_of(std::int64_t iteration, std::string_view line) const;
  /// The same, where it is known already that a result of the iteration may come once more: then
  /// two results that count differently are enough.
  bool repeats(std::int64_t iteration, std::string_view line) const;
  /// Also of iterations that none has come to, if those that are known are numbers at equal steps.
  bool would_be_of(std::int64_t iteration, std::string_view line) const;

 private:
  bool has(std::string_view count) const;
  std::optional<std::int64_t> step() const;

  std::map<std::int64_t, std::string> counts_;  ///< name and number, by iteration
  bool tells_ = true;                           ///< no two of them are the same
  std::int64_t confirmed_ = 0;  ///< another run has counted so many of them in the same way
};

/// "step 60" of "step 60: val loss 2.31"; empty if there is no whole number, or it stands far away.
std::string count_in(std::string_view line);

/// The counts of the last results of a trial. A checkpoint keeps those of the results that it has,
/// so that whoever goes on from it knows the result that it may print once more.
class LastCounts {
 public:
  /// So many tell the step from one to the next.
  static constexpr std::size_t most_kept = 3;

  /// It goes on from a checkpoint; the last of `counts` is that of result `iteration`.
  void begin(std::int64_t iteration, const std::vector<std::string>& counts);
  void note(std::int64_t iteration, std::string_view line);
  /// The counts of the last results up to `iteration`, its own the last one; as many of them as
  /// count upwards with no iteration between them. Empty: it has none.
  std::vector<std::string> up_to(std::int64_t iteration) const;

 private:
  std::map<std::int64_t, std::string> counts_;  ///< by iteration
};

/// The step of the iterations that a program names, from one of its results to the next one.
class CountStep {
 public:
  /// `iterations`: between two results of one launch that follow each other.
  void note(std::int64_t iterations);
  /// Nothing: too few results have come, or their steps differ.
  std::optional<std::int64_t> known() const;

 private:
  std::int64_t step_ = 0;
  int seen_ = 0;
  bool differs_ = false;
};

}  // namespace tune
