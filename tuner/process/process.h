// A started process that leads a process group of its own: signals, exit, reaping.
#pragma once

#include <sys/types.h>

#include <optional>

#include "tuner/disk/file_descriptor.h"

namespace tune {

struct ExitStatus {
  int exit_code = 0;  ///< valid if `signal` is 0; -1: somebody else reaped it and it is not known
  int signal = 0;     ///< that killed it
};

/// Owns a child and its process group. They are signalled only before the child is reaped, since
/// afterwards the pid may be another process's.
class Process {
 public:
  Process(pid_t pid, FileDescriptor pidfd);
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  /// Ends the group if that has not been done. Waits for the leader's end, but not for ever: what
  /// is stuck in the kernel is left to itself.
  ~Process();

  pid_t pid() const { return pid_; }
  /// Becomes readable when the process has exited; perhaps also without that.
  int pidfd() const { return pidfd_.get(); }

  /// Signals the group, and the leader too if it has moved to another group. Once that is reaped:
  /// nothing.
  void signal(int signal) const noexcept;
  /// Signals the leader alone.
  void signal_leader(int signal) const noexcept;

  /// How the leader has ended, if it has. Does not wait and does not reap.
  std::optional<ExitStatus> ended() const;

  /// Once the leader has ended: kills what is left of the group and reaps, leader included, what
  /// of it is dead. Does not wait. True if nothing is left (of those whose parents have ended).
  bool clear();
  bool is_cleared() const { return cleared_; }
  bool is_reaped() const { return reaped_; }
  /// Leaves it to itself: it is stuck, and nobody waits for it any more.
  void let_go() noexcept { reaped_ = cleared_ = true; }

 private:
  pid_t pid_;
  FileDescriptor pidfd_;
  bool reaped_ = false;       ///< the leader
  bool group_ended_ = false;  ///< it was sent SIGKILL, which nobody in it escapes
  bool cleared_ = false;      ///< nothing of it is left, and its number may be anybody's
};

}  // namespace tune
