// A program that the driver runs for itself, beside trials: a policy's, rclone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tuner/disk/file_descriptor.h"
#include "tuner/process/process.h"

namespace tune {

class ProcessGroups;

/// Runs as long as this object lives, or less, and nothing that it has started outlives it: what is
/// in its group ends with it, what has left that is found by its environment (TUNE_LAUNCH). If the
/// driver dies, the kernel kills the program, and the next driver the rest, where TUNE_SESSION is
/// among the variables (orphans.h). From one thread at a time, and not bound to one.
class SideProgram {
 public:
  struct Options {
    std::vector<std::string> argv;
    std::vector<std::string> environment = {};  ///< see ProcessSpec
    std::filesystem::path directory;
    std::filesystem::path log =
        {};  ///< what it prints is appended; empty: to a file without a name
    /// Of what it prints, the beginning and the end are kept, together so much at most.
    std::uint64_t most_log_bytes = 64 << 20;
    ProcessGroups* groups = nullptr;  ///< to be killed with, if the driver must leave at once
    /// What it has launched in other groups ends with it. Not where its environment goes on to
    /// what is somebody else's, as that of sbatch to a job.
    bool ends_what_it_launched = true;
  };

  /// Starts it, with signals at their defaults. Error if that cannot be.
  explicit SideProgram(Options options);
  ~SideProgram();
  SideProgram(const SideProgram&) = delete;
  SideProgram& operator=(const SideProgram&) = delete;

  int socket() const;  ///< our end of the stream that it has as TUNE_SOCKET_FD
  int pidfd() const;   ///< readable once it has ended
  /// How it has ended, if it has. Does not wait.
  std::optional<ExitStatus> ended() const;

  /// To be called now and then: costs one system call, unless it has printed too much.
  void limit_log();
  /// The first bytes that it printed.
  std::string first_words(std::size_t most_bytes) const;
  /// The last line that it printed, for a message, and where all of it is; empty: it printed
  /// nothing.
  std::string last_words() const;

 private:
  class Running;
  std::unique_ptr<Running> running_;
};

}  // namespace tune
