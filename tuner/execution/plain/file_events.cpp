// Each watch of inotify stands for a log or a directory; what it tells is named by that.
#include "tuner/execution/plain/file_events.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace tune {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t most_watches = 1'000;  ///< for one launch

constexpr std::uint32_t tree_events = IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_FROM |
                                      IN_MOVED_TO | IN_DELETE | IN_ONLYDIR | IN_DONT_FOLLOW |
                                      IN_EXCL_UNLINK;

}  // namespace

FileEventQueue::FileEventQueue() : queue_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

bool FileEventQueue::watch(const fs::path& path, std::uint32_t mask, Watched watched) {
  if (!queue_) return false;
  std::vector<int>& mine = watches_[watched.launch];
  if (mine.size() >= most_watches) return false;
  const int watch = ::inotify_add_watch(queue_.get(), path.c_str(), mask);
  if (watch < 0) return false;
  mine.push_back(watch);
  watched_[watch] = std::move(watched);
  return true;
}

void FileEventQueue::watch_log(LaunchId launch, const fs::path& log) {
  watch(log, IN_MODIFY | IN_DONT_FOLLOW, {launch, true, {}});
}

bool FileEventQueue::watch_directory(LaunchId launch, const fs::path& root,
                                     const fs::path& directory) {
  const fs::path place = directory.empty() ? root : root / directory;
  return watch(place, tree_events, {launch, false, directory});
}

void FileEventQueue::forget(LaunchId launch) {
  const auto watches = watches_.find(launch);
  if (watches == watches_.end()) return;
  for (const int watch : watches->second) {
    ::inotify_rm_watch(queue_.get(), watch);
    watched_.erase(watch);
  }
  watches_.erase(watches);
}

std::optional<FileEvent::What> FileEventQueue::what_of(std::uint32_t mask) {
  using What = FileEvent::What;
  constexpr std::pair<std::uint32_t, What> whats[] = {
      {IN_CREATE, What::created}, {IN_MODIFY, What::modified},       {IN_CLOSE_WRITE, What::closed},
      {IN_DELETE, What::deleted}, {IN_MOVED_FROM, What::moved_from}, {IN_MOVED_TO, What::moved_to}};
  for (const auto& [bit, what] : whats) {
    if ((mask & bit) != 0) return what;
  }
  return std::nullopt;
}

void FileEventQueue::read(std::vector<LaunchFileEvent>& told) {
  constexpr std::size_t block_bytes = 64 * 1024;
  alignas(inotify_event) std::array<char, block_bytes> block;
  while (queue_) {
    const ssize_t count = ::read(queue_.get(), block.data(), block.size());
    if (count <= 0) return;
    for (std::size_t at = 0; at < static_cast<std::size_t>(count);) {
      const auto* const event = reinterpret_cast<const inotify_event*>(block.data() + at);
      at += sizeof(inotify_event) + event->len;
      const auto place = watched_.find(event->wd);
      if (place == watched_.end()) continue;
      if ((event->mask & IN_IGNORED) != 0) {
        watched_.erase(place);
        continue;
      }
      const auto& [launch, is_log, directory] = place->second;
      const auto what = is_log ? FileEvent::What::printed : what_of(event->mask);
      if (!what) continue;
      told.push_back({launch,
                      {*what, (event->mask & IN_ISDIR) != 0, directory,
                       event->len > 0 ? event->name : "", event->cookie}});
    }
  }
}

}  // namespace tune
