// One driver per experiment: a lock file with the owner's name, a kernel lock on the directory, and
// a lease that the owner renews. A dead owner's lock is taken over.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tuner/base/clock.h"
#include "tuner/base/error.h"
#include "tuner/disk/file_system.h"
#include "tuner/disk/lease.h"
#include "tuner/disk/liveness.h"

namespace tune {

/// Which process holds an experiment's lock.
struct LockOwner : ProcessIdentity {
  Seconds since = 0;    ///< Unix time
  Seconds lease_s = 0;  ///< it is renewed before it is that old; 0: never, and never watched over
  std::string place;    ///< the directory that is held in the kernel; empty: none
};

/// This process as an owner, without a lease. Error (machine) without /proc.
LockOwner this_process(Seconds now);

/// Who holds the lock, dead or alive; nothing if there is no lock. An unreadable one is an
/// Error (user) that says what to do.
std::optional<LockOwner> read_lock(FileSystem& files, const std::filesystem::path& file);

/// The driver of an experiment, as far as can be seen from here.
struct Driver : LockOwner {
  bool is_here = false;   ///< on this kernel, if perhaps in another namespace
  bool is_seen = false;   ///< it was seen to live; if not, one look cannot tell
  Seconds last_sign = 0;  ///< Unix time by the file system's clock; 0 if there is none
};
/// Nothing if nobody does, or a process that is dead for sure, or one whose lock was copied here.
/// Its pid is 0 if a process of this kernel does whose lock file is gone: see `name_of`.
std::optional<Driver> find_driver(FileSystem& files, const std::filesystem::path& file);
/// "pid 12 on host pine".
std::string name_of(const LockOwner& owner);

/// Removes the temporary files of processes that died while they made a lock beside `file`. To be
/// called by the lock's holder; a file that may be of a process still trying stays.
void remove_lock_leftovers(FileSystem& files, const std::filesystem::path& file,
                           const LockOwner& self);

/// Refused for now: whether the owner lives is told by watching the lock for so long.
class LeasePending : public Error {
 public:
  LeasePending(const std::string& sentence, Seconds silence_s, Seconds whole_s)
      : Error(Fault::user, sentence), silent_s(silence_s), lease_s(whole_s) {}
  Seconds silent_s;
  Seconds lease_s;
};

/// Returns once a DirectoryLock with this `watch` can tell at once whether it is to be had: while
/// it cannot, `pause` is called again and again, and should take its time.
void await_lease(FileSystem& files, const std::filesystem::path& file, LeaseWatch& watch,
                 const std::function<void(const LeasePending&)>& pause);

/// Holds the lock file from construction to destruction.
class DirectoryLock {
 public:
  /// Refused with an Error (user) by name of host and pid if another process has it. The lock of a
  /// dead process is taken over, which is said in `notices`. Where the owner's life cannot be seen,
  /// `watch` decides: LeasePending until it knows; without one, such a lock is refused.
  DirectoryLock(FileSystem& files, std::filesystem::path file, const LockOwner& self,
                std::vector<std::string>& notices, LeaseWatch* watch = nullptr,
                std::function<Seconds()> clock = seconds_since_boot);
  /// Removes the file if it still is ours; an error leaves it there, for the next to take over.
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

  /// Whether it was taken over from an owner that may still live and not know of it.
  bool is_from_unseen() const { return is_from_unseen_; }

  // What follows is from any thread, and does nothing for an owner without a lease.

  /// Error (machine) if another process has the lock now; from then on always. A missing file is
  /// made again, unless the lease was over, so that another owner may have come and gone. A file
  /// that cannot be read decides nothing: see `require`.
  void confirm();
  /// Renews the lease, then as `confirm`.
  void renew();
  /// Whether the lease is older than the thread that renews it should ever let it become: this
  /// process did not run, or the disk does not answer.
  bool is_old() const;
  /// Call it before something is written: renews an old lease. Error (machine) also if that fails
  /// and half of the lease has passed, since others may soon take this driver for dead.
  void require();
  /// Error (machine) if one of the above has found the lock to be another's. Looks at no file.
  void refuse_if_lost() const;
  bool is_lost() const { return is_lost_; }

 private:
  void renew_quietly();

  FileSystem& files_;
  const std::filesystem::path file_;
  LockOwner self_;
  const std::function<Seconds()> clock_;
  std::unique_ptr<DirectoryHold> hold_;
  std::string content_;
  bool is_from_unseen_ = false;
  mutable std::mutex mutex_;
  std::string lost_;  ///< why, once it is
  std::atomic<bool> is_lost_ = false;
  std::atomic<Seconds> renewed_at_ = 0;
  std::optional<Repetition> renewal_;
};

}  // namespace tune
