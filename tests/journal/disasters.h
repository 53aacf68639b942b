// What can befall the memory disk at an operation, and how it comes up again.
#pragma once

#include <cerrno>

#include "tests/support/memory_file_system.h"
#include "tuner/disk/lock.h"

namespace tune {

/// A process that will be dead by the time of the next.
inline LockOwner mortal(Seconds now) {
  LockOwner owner = this_process(now);
  owner.start_ticks -= 1;
  return owner;
}

enum class Disaster { process_dies, power_fails, disk_full, io_error };

inline void prepare(MemoryFileSystem& files, Disaster disaster, std::uint64_t k, std::size_t kept) {
  switch (disaster) {
    case Disaster::process_dies:
    case Disaster::power_fails:
      files.die_at_operation(k, kept);
      break;
    case Disaster::disk_full:
      files.fail_operation(k, ENOSPC, kept);
      break;
    case Disaster::io_error:
      files.fail_operation(k, EIO, kept);
      break;
  }
}

inline void recover(MemoryFileSystem& files, Disaster disaster) {
  disaster == Disaster::power_fails ? files.crash() : files.restart();
}

}  // namespace tune
