// How long steps take, and what is known of one that takes far longer.
// The loop is given the function that looks at processes.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tuner/base/clock.h"
#include "tuner/model/trial.h"

namespace tune {

/// The last few durations, for their median. Adding one has constant cost.
class RecentTimes {
 public:
  void add(Seconds time_s) { times_[count_++ % times_.size()] = time_s; }
  /// Nothing of fewer than `least`.
  std::optional<Seconds> median(std::size_t least = 1) const;

 private:
  std::array<Seconds, 15> times_{};
  std::size_t count_ = 0;
};

/// What some processes are doing.
struct ProcessesSeen {
  struct Group {
    bool is_stopped = false;      ///< by a signal, or a debugger
    bool waits_for_disk = false;  ///< or for another device, in the kernel
    double cpu_s = 0;             ///< processor time of all that live, so far
  };
  std::vector<Group> groups;
  std::optional<Seconds> silent_s;  ///< since they have printed anything; nothing: not known
};

/// A trial whose step takes far too long.
struct TrialHang {
  TrialId trial{};
  std::string sentence;  ///< which step, for how long, and what its processes are doing
};

/// Looks at process groups, and at the logs that they write. May take long. Empty: nobody looks.
using ProcessLook = std::function<ProcessesSeen(const std::vector<std::int64_t>& groups,
                                                const std::vector<std::filesystem::path>& logs)>;

/// A step that takes so long that it may never end.
struct Hang {
  Seconds told_at = 0;             ///< steady; of that step
  std::vector<std::string> names;  ///< of the processes that have not answered
  std::vector<std::int64_t> groups;
  std::optional<ProcessesSeen> seen;  ///< when it was last looked at
  Seconds seen_at = 0;                ///< steady
  std::string state;                  ///< what they are at, as a phrase; empty: not known yet
};

/// "rank 2 is stopped by a signal": the worst state among them, by two looks that are `between_s`
/// apart.
std::string state_of(const std::vector<std::string>& names, const ProcessesSeen& before,
                     const ProcessesSeen& now, Seconds between_s);

}  // namespace tune
