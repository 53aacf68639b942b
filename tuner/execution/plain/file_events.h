// What happens to logs and in directories, as inotify tells it: through one queue, so that its
// order is that in which it has happened.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <unordered_map>
#include <vector>

#include "tuner/disk/file_descriptor.h"
#include "tuner/execution/plain/event_batches.h"

namespace tune {

class FileEventQueue {
 public:
  FileEventQueue();

  /// False: the kernel gives no more, and nothing is ever told.
  bool is_open() const { return static_cast<bool>(queue_); }
  int descriptor() const { return queue_.get(); }

  /// From now on tells when `log` has grown.
  void watch_log(LaunchId launch, const std::filesystem::path& log);
  /// From now on tells what happens in a directory within `root`. False: it does not.
  bool watch_directory(LaunchId launch, const std::filesystem::path& root,
                       const std::filesystem::path& directory);
  void forget(LaunchId launch);

  /// Appends all that has happened so far.
  void read(std::vector<LaunchFileEvent>& told);

 private:
  struct Watched {
    LaunchId launch{};
    bool is_log = false;
    std::filesystem::path directory;  ///< within the root
  };
  static std::optional<FileEvent::What> what_of(std::uint32_t mask);
  bool watch(const std::filesystem::path& path, std::uint32_t mask, Watched watched);

  FileDescriptor queue_;
  std::unordered_map<int, Watched> watched_;
  std::unordered_map<LaunchId, std::vector<int>> watches_;
};

}  // namespace tune
