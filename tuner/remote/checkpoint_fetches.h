// Evicted checkpoints on their way back from the remote, one at a time, to a directory aside. That
// what came is the checkpoint is for the keeper to say.
// Knows no journal.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "tuner/core/checkpoint_ref.h"
#include "tuner/remote/progress.h"
#include "tuner/remote/remote_store.h"

namespace tune {

/// One thread, that of the store.
class CheckpointFetches {
 public:
  CheckpointFetches(FileSystem& files, std::filesystem::path directory, RemoteStore& store);

  /// Begins with it; none may be under way. Nothing is under way afterwards if it is here already.
  void begin(CheckpointRef checkpoint);
  std::optional<CheckpointRef> under_way() const;

  enum class Look { coming, came, lost };
  /// Takes the one under way further without waiting for its bytes. RemoteError, and none is under
  /// way any more: the remote does not answer. Lost: it answers, and has the experiment, and not
  /// this.
  Look look();
  void abandon() noexcept;

 private:
  FileSystem& files_;
  const std::filesystem::path directory_;
  RemoteStore& store_;
  struct Current {
    CheckpointRef checkpoint;
    std::string directory;  ///< on the remote
    Rcd::Job job{};
    Progress progress;
  };
  std::optional<Current> current_;
};

}  // namespace tune
