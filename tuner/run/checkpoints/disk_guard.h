// No new trials on a disk that is almost full: what there is left belongs to the journal and to
// those that run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "tuner/base/clock.h"
#include "tuner/disk/file_system.h"
#include "tuner/run/commit/callback_list.h"
#include "tuner/run/commit/event_committer.h"
#include "tuner/run/commit/workers.h"

namespace tune {

class DiskGuard {
 public:
  /// `min_free_bytes` 0: everything is allowed, and nothing is asked.
  DiskGuard(FileSystem& files, Workers& workers, const EventCommitter& committer,
            CallbackList& callbacks, std::filesystem::path directory, std::uint64_t min_free_bytes);

  /// Whether a trial may be launched now. If the last measurement is too old, a worker measures
  /// again, and the answer is no until its completion, which wakes the loop.
  bool allows_launch();

  /// "disk space (5 MB of 256 MB)"; empty if there is enough.
  std::string waits_for() const;

  /// Steady time at which `allows_launch` wants to be called again although nothing has happened.
  Seconds deadline() const;

 private:
  void ask();
  void add(std::uint64_t free_bytes);

  FileSystem& files_;
  Workers& workers_;
  const EventCommitter& committer_;
  CallbackList& callbacks_;
  std::filesystem::path directory_;
  std::uint64_t min_free_bytes_;
  bool asking_ = false;
  bool is_low_ = false;
  bool was_asked_ = false;
  std::uint64_t free_bytes_ = 0;  ///< when it was last asked
  Seconds asked_at_ = 0;          ///< steady
  Seconds said_at_ = 0;           ///< steady; the last notice that space is low
};

}  // namespace tune
