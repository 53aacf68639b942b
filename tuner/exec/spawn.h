// Starts one process with a clean slate: nothing of the driver's reaches it but what it is given.
// Knows no loop and no protocol.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tuner/exec/executor.h"
#include "tuner/exec/file_descriptor.h"
#include "tuner/exec/process.h"

namespace tune {

/// A process that runs its program.
struct Spawned {
  Process process;
  FileDescriptor socket;           ///< our end
  std::uint64_t start_ticks = 0;   ///< see ProcessStat; 0 if it cannot be read
  std::uint64_t stderr_begin = 0;  ///< bytes in that file before it ran
};

/// Starts processes, one at a time. The child leads its own process group, dies with the thread
/// that spawned it (PR_SET_PDEATHSIG), has default signal dispositions, an empty mask and the
/// descriptors 0 (/dev/null), 1, 2 and 3 (its end of a stream socket), and no others.
/// vfork-like, so that the cost does not depend on the driver's memory.
class Spawner {
 public:
  /// The environment is taken from the driver's as it is now.
  Spawner();

  /// Blocks until the program runs or could not be started, usually below a millisecond. Throws
  /// Error with a sentence that names program or file and the reason; nothing is left then.
  /// To be called with all signals blocked.
  Spawned spawn(const LaunchSpec& spec);

 private:
  std::vector<std::string> environment_;
  FileDescriptor dev_null_;
  std::vector<std::byte> stack_;
};

}  // namespace tune
