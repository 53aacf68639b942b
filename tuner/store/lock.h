// One driver per experiment: a lock file that says whose it is, and is taken over from the dead.
// Knows nothing of what it protects.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tuner/core/clock.h"
#include "tuner/store/file_system.h"

namespace tune {

/// Which process holds an experiment's lock.
struct LockOwner {
  std::string host;
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;  ///< field 22 of /proc/PID/stat: a pid is used again, this is not
  Seconds since = 0;              ///< Unix time
};

/// When process `pid` of this host started, in clock ticks since boot; nothing if there is none,
/// if it is dead and only waits to be reaped, or if /proc does not show it.
std::optional<std::uint64_t> process_start_ticks(std::int64_t pid);

/// This process as an owner. Error (machine) without /proc.
LockOwner this_process(Seconds now);

/// Who holds the lock, dead or alive; nothing if there is no lock. An unreadable one is an
/// Error (user) that says what to do.
std::optional<LockOwner> read_lock(FileSystem& files, const std::filesystem::path& file);

/// Whether the process runs. One of another host than `here` counts as running: nobody can tell.
bool is_running(const LockOwner& owner, const std::string& here);

/// Removes what processes that died while they made a lock beside `file` have left there. For the
/// holder of the lock; what may be somebody's who still tries stays.
void remove_lock_leftovers(FileSystem& files, const std::filesystem::path& file,
                           const std::string& here);

/// Holds the lock file from construction to destruction.
class DirectoryLock {
 public:
  /// Refused with an Error (user) by name of host and pid if another process has it. The lock of a
  /// dead process of this host is taken over, which is said in `notices`.
  DirectoryLock(FileSystem& files, std::filesystem::path file, const LockOwner& self,
                std::vector<std::string>& notices);
  /// Removes the file if it still is ours; an error leaves it there, for the next to take over.
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  FileSystem& files_;
  std::filesystem::path file_;
  std::string content_;
};

}  // namespace tune
