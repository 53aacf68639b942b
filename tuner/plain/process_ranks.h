// Of a program that runs as several processes, such as one for each GPU, which one's lines are its
// results: each may print them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tune {

/// The rank that a line begins with.
struct ProcessRank {
  std::int64_t rank = 0;
  /// "rank 1 epoch 3": a process has it only if another line begins with rank 0. Matrices have
  /// ranks, too.
  bool is_word = false;
};
/// As launchers put it there, or people print it: "[rank1]: ", "[default1]:", "[1,1]<stdout>:".
std::optional<ProcessRank> rank_of(std::string_view line);

/// The results are those of the lowest rank that prints any. Which one that is shows with the
/// second line: none is awaited before another.
class ProcessRanks {
 public:
  struct Answer {
    enum class Count {
      yes,
      no,
      later,
    };
    enum class Held {
      waits,
      counts,
      dropped,
    };
    Count line = Count::yes;
    Held held = Held::waits;  ///< the line that was to wait, if there is one
  };
  /// A line of `rank`; `may_close`: it may close a result.
  Answer take(const ProcessRank& rank, bool may_close);

 private:
  std::optional<std::int64_t> lowest_;  ///< whose lines count
  std::optional<ProcessRank> held_;     ///< of the line that waits
  bool are_none_ = false;               ///< what the lines begin with is no process's rank
};

}  // namespace tune
