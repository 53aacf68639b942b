// A started process that leads a process group of its own: signals, exit, reaping.
// Knows not how it was started, what it says, or any loop.
#pragma once

#include <sys/types.h>

#include "tuner/exec/file_descriptor.h"

namespace tune {

struct ExitStatus {
  int exit_code = 0;  ///< valid if `signal` is 0; -1: somebody else reaped it and it is not known
  int signal = 0;     ///< that killed it
};

/// Owns an unreaped child. Its number is signalled only before it is reaped, since afterwards it
/// may be somebody else's.
class Process {
 public:
  Process(pid_t pid, FileDescriptor pidfd);
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  /// Ends the group if that has not been done, and waits for the leader's end.
  ~Process();

  pid_t pid() const { return pid_; }
  /// Becomes readable when the process has exited; perhaps also without that.
  int pidfd() const { return pidfd_.get(); }

  /// Signals the group, and the leader too if it has moved to another group. After `reap`: nothing.
  void signal(int signal) const noexcept;

  /// True once the process has ended. Does not block and does not reap.
  bool has_exited() const;

  /// Kills what is left of the group, then takes the leader's status. Waits if the leader lives.
  ExitStatus reap();

 private:
  pid_t pid_;
  FileDescriptor pidfd_;
  bool reaped_ = false;
};

}  // namespace tune
