// When the logs of a launch had grown to a size: the watcher's thread notes it, the reader's thread
// asks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

namespace tune {

class LogTimes {
 public:
  /// `log`: 0 is stdout, 1 stderr. It had so many bytes at `ns`, Unix time, and fewer at the note
  /// before. `lag_ns`: some of them may be so much older.
  void note(std::size_t log, std::uint64_t bytes, std::int64_t ns, std::int64_t lag_ns = 0);

  struct Growth {
    std::uint64_t bytes = 0;
    std::int64_t ns = 0;
    std::int64_t lag_ns = 0;
  };
  /// That with which the byte before `end` came; nothing: nobody has seen that, or it is long ago.
  std::optional<Growth> growth_to(std::size_t log, std::uint64_t end) const;

 private:
  static constexpr std::size_t most_kept = 1'000;

  mutable std::mutex mutex_;
  std::array<std::deque<Growth>, 2> growths_;  ///< the last ones
};

}  // namespace tune
