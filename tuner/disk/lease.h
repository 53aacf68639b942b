// A lock's lease: its owner renews it while it lives (a heartbeat), and who asks watches whether
// that happens.
// Never compares the clocks of two hosts.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "tuner/base/clock.h"
#include "tuner/disk/liveness.h"

namespace tune {

/// A lock is renewed so many times in its lease: some renewals may come late.
inline constexpr int renewals_in_lease = 6;

/// Watches, by this process's clock, the locks of owners whose processes it cannot see.
class LeaseWatch {
 public:
  enum class Sign {
    none,   ///< not renewed since the first look
    alive,  ///< renewed since the first look
    over,   ///< not renewed for the whole lease
  };
  /// If two looks are further apart, this process was stopped or the disk did not answer, so a
  /// renewal may have been missed: the watch begins anew.
  static constexpr Seconds longest_gap_s = 5;

  explicit LeaseWatch(std::function<Seconds()> clock = seconds_since_boot);

  /// To be called again and again with what `file` holds and when it was changed last.
  Sign look(const std::filesystem::path& file, const std::string& content, std::int64_t modified_ns,
            Seconds lease_s);
  /// For how long `file` has been watched without a sign.
  Seconds silent_s(const std::filesystem::path& file) const;

 private:
  struct Seen {
    std::string content;
    std::int64_t modified_ns = 0;
    Seconds since = 0;
    Seconds last = 0;
    bool is_alive = false;
  };
  std::function<Seconds()> clock_;
  std::map<std::filesystem::path, Seen> seen_;
};

/// A thread that calls `work` periodically until it is destroyed. Signals are blocked in it.
class Repetition {
 public:
  Repetition(Seconds period_s, std::function<void()> work);
  ~Repetition();
  Repetition(const Repetition&) = delete;
  Repetition& operator=(const Repetition&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace tune
