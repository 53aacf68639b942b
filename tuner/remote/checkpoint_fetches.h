// Checkpoints on their way back from the remote, one at a time, to a directory aside: evicted ones,
// and those that this disk has lost. That what came is the checkpoint is for CheckpointStorage to
// say.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "tuner/model/checkpoint_ref.h"
#include "tuner/remote/progress.h"
#include "tuner/remote/remote_store.h"
#include "tuner/remote/upload_memory.h"

namespace tune {

/// Marks the checkpoint as evicted in `experiment`, without downloading it; what is wrong, as a
/// sentence. `manifest`: the downloaded file. Error (machine).
std::optional<std::string> note_evicted(FileSystem& files, const std::filesystem::path& experiment,
                                        const std::string& root, const CheckpointMarker& marker,
                                        const std::filesystem::path& manifest);

/// One thread, that of the store.
class CheckpointFetches {
 public:
  CheckpointFetches(FileSystem& files, std::filesystem::path directory, RemoteStore& store,
                    const UploadMemory& memory);

  /// Lost: the remote answers and has the experiment, but does not have this checkpoint whole.
  enum class FetchState { coming, came, lost };
  /// Begins with it; none may be under way. It came if it is here already. Error: nothing is
  /// under way.
  FetchState begin(CheckpointRef checkpoint);
  std::optional<CheckpointRef> under_way() const;

  /// Takes the one under way further without waiting for its bytes. RemoteError, and none is under
  /// way any more: the remote does not answer.
  FetchState look();
  void abandon() noexcept;

 private:
  enum class Stage { marker, tree };
  struct Current {
    CheckpointRef checkpoint;
    std::string directory;  ///< on the remote
    Stage stage = Stage::tree;
    Rcd::Job job{};
    Progress progress = {};
    std::optional<CheckpointMarker> marker = {};  ///< of one that this disk has lost
  };
  void begin_tree(Current current, std::uint64_t bytes);
  bool advance(Current current);
  bool note(const Current& current);
  FetchState lost(const std::string& doing);
  std::filesystem::path found_marker() const;
  std::filesystem::path aside(CheckpointRef checkpoint) const;

  FileSystem& files_;
  const std::filesystem::path directory_;
  RemoteStore& store_;
  const UploadMemory& memory_;
  std::optional<Current> current_;
};

}  // namespace tune
