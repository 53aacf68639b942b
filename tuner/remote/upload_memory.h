// A local log of what was uploaded, so that the next driver goes on without listing the remote. If
// it is lost or damaged, files are uploaded again; nothing else is lost.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "trainable/values.h"
#include "tuner/disk/file_system.h"
#include "tuner/model/checkpoint_ref.h"
#include "tuner/remote/markers.h"

namespace tune {

/// `<experiment>/remote`.
std::filesystem::path remote_directory(const std::filesystem::path& experiment);

/// One thread. Members that change something throw Error (machine).
class UploadMemory {
 public:
  /// Reads what is there, if that is of the same `root`.
  UploadMemory(FileSystem& files, const std::filesystem::path& experiment, std::string root);

  struct Identity {
    std::string experiment;    ///< empty: it was never on a remote
    std::string owner;         ///< that of the last lease that was had from here
    std::int64_t session = 0;  ///< the same
  };
  const Identity& identity() const { return identity_; }
  void set_identity(Identity identity);

  /// Directories of checkpoints that are up, whole and marked.
  const std::map<CheckpointRef, std::string>& checkpoints() const { return checkpoints_; }
  /// Directories that an upload has begun and not ended.
  const std::set<std::string>& begun() const { return begun_; }
  void begin(const std::string& directory);
  void commit(CheckpointRef checkpoint, const std::string& directory);
  void forget(const std::string& directory);

  struct FileSeen {
    std::uint64_t bytes = 0;
    std::int64_t modified_ns = 0;
    bool operator==(const FileSeen&) const = default;
  };
  /// Whether a small file went up as it is.
  bool has(const std::string& name, const FileSeen& seen) const;
  void add_file(const std::string& name, const FileSeen& seen);

  /// The last marker of the state that is up.
  const std::optional<StateMarker>& state() const { return state_; }
  void set_state(const StateMarker& marker);

 private:
  void load();
  void take(const Json& json);
  void compact();
  void append(const Json& json);

  FileSystem& files_;
  const std::filesystem::path directory_;
  const std::string root_;
  std::unique_ptr<AppendFile> out_;
  Identity identity_;
  std::map<CheckpointRef, std::string> checkpoints_;
  std::set<std::string> begun_;
  std::map<std::string, FileSeen> small_;
  std::optional<StateMarker> state_;
};

}  // namespace tune
