// Whether a process lives that may be of this kernel or not, of this process namespace or not.
// The one place that answers it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tuner/base/clock.h"

namespace tune {

/// A process, named so that other namespaces, containers and hosts know which one is meant.
struct ProcessIdentity {
  std::string host;
  std::int64_t pid = 0;           ///< as its own process namespace has it
  std::uint64_t start_ticks = 0;  ///< field 22 of /proc/PID/stat: a pid is used again, this is not
  std::string boot;               ///< random number of the kernel's start; empty: not known
  std::uint64_t pid_namespace = 0;  ///< inode of /proc/PID/ns/pid; 0: not known
};

/// This process. Error (machine) without /proc.
ProcessIdentity this_identity();

/// When process `pid` of this namespace started, in clock ticks since boot; nothing if there is
/// none, if it is dead and only waits to be reaped, or if /proc does not show it.
std::optional<std::uint64_t> process_start_ticks(std::int64_t pid);

/// Whether both are, or were, processes of one start of one kernel. By the host's name where an
/// older program has not said which start it was.
bool is_same_kernel(const ProcessIdentity& a, const ProcessIdentity& b);

enum class Life {
  running,
  dead,
  unknown,  ///< cannot be seen from here
};

/// What `self` can say of `process`. A process of another namespace is running if it is seen, and
/// dead if it is not although others of that namespace are. One of this host's earlier boot is dead
/// if its last sign of life (Unix time) is older than this boot; without that time it is unknown.
Life life_of(const ProcessIdentity& process, const ProcessIdentity& self,
             std::optional<Seconds> last_sign = {});

/// Seconds that never go back and go on while the machine is suspended, unlike a steady clock's.
Seconds seconds_since_boot();

}  // namespace tune
