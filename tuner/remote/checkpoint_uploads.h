// Checkpoints on their way to the remote, one at a time: to a directory of its own, which nobody
// has used, and then the marker that says it is whole. Removal goes the other way round. Decides
// nothing about which.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "tuner/remote/markers.h"
#include "tuner/remote/progress.h"
#include "tuner/remote/remote_store.h"
#include "tuner/remote/upload_memory.h"

namespace tune {

/// One thread, that of the store.
/// A checkpoint that can never be uploaded; do not try again.
class UnfitCheckpoint : public Error {
 public:
  explicit UnfitCheckpoint(const std::string& sentence) : Error(Fault::user, sentence) {}
};

class CheckpointUploads {
 public:
  CheckpointUploads(FileSystem& files, std::filesystem::path directory, RemoteStore& store,
                    UploadMemory& memory);

  /// Begins with it; none may be under way. Error (machine) if it is not there.
  void begin(CheckpointRef checkpoint);
  std::optional<CheckpointRef> under_way() const;
  /// Takes the one under way further without waiting for its bytes; true once it is up.
  /// `before_marker`: whether what is put there may count now; throws if not. Error: it is not up,
  /// and none is under way any more.
  bool look(const std::function<void()>& before_marker);
  /// Nobody wants it any more, or another server goes on.
  void abandon() noexcept;

  /// Removes what is there of it; `directory` as `UploadMemory` has it.
  void remove(const std::string& directory);

 private:
  void finish(const std::function<void()>& before_marker);

  FileSystem& files_;
  const std::filesystem::path directory_;
  RemoteStore& store_;
  UploadMemory& memory_;
  struct Current {
    CheckpointMarker marker;
    Rcd::Job job{};
    Progress progress;
  };
  std::optional<Current> current_;
};

/// Compares what a checkpoint's directory on the remote holds with its marker; what is wrong as a
/// sentence. `there`: sizes by name within that directory.
std::optional<std::string> wrong_sizes(const CheckpointMarker& marker,
                                       const std::map<std::string, std::uint64_t>& there);

}  // namespace tune
