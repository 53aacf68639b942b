// Whether a process lives that may be of this kernel or not, of this process namespace or not.
// The one place that answers it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tuner/base/clock.h"

namespace tune {

/// Identifies a process across namespaces, containers and hosts.
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

/// Whether both are, or were, processes of the same boot of the same kernel. By the host's name
/// where an older program has not recorded the boot.
bool is_same_kernel(const ProcessIdentity& a, const ProcessIdentity& b);

enum class Life {
  running,
  dead,
  unknown,  ///< cannot be seen from here
};

/// Whether `process` lives, as seen by `self`. A process of another pid namespace runs if it is
/// seen, and is dead if only others of that namespace are seen. One of an earlier boot of this host
/// is dead if its last sign of life (Unix time) is older than this boot; without that time it is
/// unknown.
Life life_of(const ProcessIdentity& process, const ProcessIdentity& self,
             std::optional<Seconds> last_sign = {});

/// Seconds that never go back and go on while the machine is suspended, unlike a steady clock's.
Seconds seconds_since_boot();

}  // namespace tune
