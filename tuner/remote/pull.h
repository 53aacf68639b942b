// An experiment from its remote into a directory of this machine, and the check of what is there.
// Whatever its marker does not confirm, byte by byte, counts as damaged.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tuner/disk/file_system.h"
#include "tuner/remote/markers.h"

namespace tune {

struct Pulled {
  std::size_t checkpoints = 0;
  std::uint64_t bytes = 0;  ///< of checkpoints
  bool is_whole = true;     ///< false: of the checkpoints only where they are
  Seconds time = 0;         ///< Unix: when the state was put up, by the clock of whoever did
  std::vector<std::string> problems;  ///< what could not be taken, as sentences
  /// Of checkpoints, and of a state newer than the one taken, that have an empty marker, as
  /// sentences.
  std::vector<std::string> unmarked;
};

struct PullOptions {
  std::string root;                 ///< of the experiment on the remote
  std::filesystem::path directory;  ///< empty or absent, or left by a pull that was interrupted
  /// Takes the lease, so that a driver can go on from here, which fetches the checkpoints that it
  /// needs; without it the copy is to look at, with all of them.
  bool takes_over = false;
  double lease_s = 60;
  std::function<void(const std::string& sentence)> on_wait = {};
  /// Once it is true: WaitInterrupted, after the lease is given back. Null: never.
  const std::atomic<bool>* stop = nullptr;
};

/// Error (user) if there is no experiment on the remote, or one in the directory. RemoteError.
/// After an error there is no experiment in the directory, and another pull into it goes on.
Pulled pull(FileSystem& files, const PullOptions& options);

/// Says that a directory is a copy to look at, while the experiment may go on elsewhere.
struct CopyNote {
  std::string of;    ///< the root on the remote
  Seconds time = 0;  ///< Unix: when the state was put up
};
/// Nothing if it was not. A driver that went on from there has later events.
std::optional<CopyNote> read_copy_note(FileSystem& files, const std::filesystem::path& directory);

/// Gives back the lease that a pull which `takes_over` has left to `directory`, if that still has
/// it: nobody goes on from there.
void give_back(FileSystem& files, const std::string& root,
               const std::filesystem::path& directory) noexcept;

/// Whether an experiment's state was ever put on the remote; whether one is whole is not looked at.
/// `scratch`: a directory of the caller's alone. RemoteError if that cannot be told.
bool is_experiment_there(FileSystem& files, const std::string& root,
                         const std::filesystem::path& scratch);

struct RemoteCheck {
  bool is_empty = false;             ///< there is nothing of an experiment
  std::optional<StateMarker> state;  ///< the one that a pull would take
  std::size_t checkpoints = 0;       ///< whole ones
  std::uint64_t bytes = 0;           ///< of those
  /// Directories without a marker, and a newer state with an empty one: being put up, or garbage.
  std::vector<std::string> unmarked;
  std::vector<std::string> damage;  ///< sentences
};
/// Compares sizes; with `reads`, every byte, by way of `scratch`, a directory of the caller's
/// alone.
RemoteCheck check_remote(FileSystem& files, const std::string& root,
                         const std::filesystem::path& scratch, bool reads);

}  // namespace tune
