// Starts one process that inherits nothing of the driver's descriptors, signal settings and limits
// but what it is given.
#pragma once

#include <sys/resource.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tuner/base/error.h"
#include "tuner/disk/file_descriptor.h"
#include "tuner/process/process.h"
#include "tuner/process/process_spec.h"
#include "tuner/process/program.h"

namespace tune {

/// A process that runs its program.
struct Spawned {
  Process process;
  FileDescriptor socket;           ///< our end
  std::uint64_t start_ticks = 0;   ///< see ProcessStat; 0 if it cannot be read
  std::uint64_t stdout_begin = 0;  ///< bytes in that file before it ran
  std::uint64_t stderr_begin = 0;  ///< the same
  std::string remark = {};         ///< see LaunchAdvisory, of `cold`
};

/// What a process is given to write to and to talk with.
struct LaunchFiles {
  FileDescriptor out;
  FileDescriptor own_err;  ///< none if both logs are one file
  FileDescriptor ours;     ///< of a stream socket
  FileDescriptor theirs;
  std::uint64_t stdout_begin = 0;  ///< bytes that are there
  std::uint64_t stderr_begin = 0;  ///< the same

  int err() const { return own_err ? own_err.get() : out.get(); }
};

/// Something in the launch's directories, or missing there, prevents it: so the machine is not at
/// fault.
class DirectoryFault : public Error {
 public:
  explicit DirectoryFault(const Error& error) : Error(error) {}
};

/// Throws as Spawner::spawn does.
LaunchFiles open_launch_files(const ProcessSpec& spec);

/// Starts processes, one at a time. The child leads its own process group, dies with the thread
/// that spawned it (PR_SET_PDEATHSIG), has default signal dispositions, an empty mask, a limit of
/// descriptors that is given, a higher score than the driver where memory runs out, and the
/// descriptors 0 (/dev/null), 1, 2 and 3 (its end of a stream
/// socket), and no others.
/// vfork-like, so that the cost does not depend on the driver's memory.
class Spawner {
 public:
  /// The environment is taken from the driver's as it is now.
  explicit Spawner(const rlimit& descriptors);

  /// Blocks until the program runs or could not be started, usually below a millisecond. Throws
  /// Error with a sentence that names program or file and the reason; nothing is left then.
  /// To be called with all signals blocked. A log that is there and is no regular file, or a
  /// directory that is gone, is a DirectoryFault.
  Spawned spawn(const ProcessSpec& spec);

  /// What `spawn` would run. Error if there is no such program.
  Program resolve(const ProcessSpec& spec) const { return resolve_program(spec, environment_); }

  /// Test: starts a program that does nothing in the same way. Error (machine) with a sentence that
  /// names what this kernel, or the container's runtime, does not allow. Blocks until it has ended.
  void try_out();

 private:
  Process start(const Program& program, const std::filesystem::path& directory,
                const std::array<int, 4>& sources);

  rlimit descriptors_;
  std::string oom_score_adj_;
  std::vector<std::string> environment_;
  FileDescriptor dev_null_;
  std::vector<std::byte> stack_;
};

/// Error (machine) if this machine cannot start processes as the driver does; see Spawner::try_out.
void require_launches();

}  // namespace tune
