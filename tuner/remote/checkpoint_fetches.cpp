#include "tuner/remote/checkpoint_fetches.h"

#include <utility>

#include "tuner/store/evicted.h"
#include "tuner/store/paths.h"

namespace tune {

CheckpointFetches::CheckpointFetches(FileSystem& files, std::filesystem::path directory,
                                     RemoteStore& store)
    : files_(files), directory_(std::move(directory)), store_(store) {}

void CheckpointFetches::begin(CheckpointRef checkpoint) {
  const auto evicted = find_evicted(files_, paths::checkpoint(directory_, checkpoint));
  if (!evicted) return;
  const auto to =
      paths::checkpoint_aside(paths::trial(directory_, checkpoint.trial), checkpoint.index, 0);
  files_.remove_tree(to);
  files_.make_directories(to);
  const std::string& from = evicted->place.directory;
  current_ = Current{checkpoint, from, store_.begin_get_tree(from, to), {}};
}

std::optional<CheckpointRef> CheckpointFetches::under_way() const {
  return current_ ? std::optional(current_->checkpoint) : std::nullopt;
}

CheckpointFetches::Look CheckpointFetches::look() {
  const std::string doing = "downloading " + current_->directory;
  try {
    if (!store_.rcd().look(doing, current_->job)) {
      current_->progress.require(doing, store_.rcd().moved_bytes(current_->job));
      return Look::coming;
    }
    current_.reset();
    return Look::came;
  } catch (const RemoteError& error) {
    abandon();
    // What rclone itself finds damaged, the keeper finds missing.
    if (error.kind() == RemoteError::Kind::damaged) return Look::came;
    if (error.kind() != RemoteError::Kind::missing) throw;
  } catch (const Error&) {
    abandon();
    throw;
  }
  // A disk that is not mounted has nothing at all.
  if (store_.list("", false).contains("experiment.json")) return Look::lost;
  throw RemoteError(RemoteError::Kind::unreachable,
                    doing + ": nothing of the experiment is on " + store_.root());
}

void CheckpointFetches::abandon() noexcept {
  if (!current_) return;
  store_.rcd().stop(current_->job);
  current_.reset();
}

}  // namespace tune
