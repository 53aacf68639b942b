// The steps of one download: marker, tree, hand-over; asynchronous jobs of rclone that `look`
// advances.
#include "tuner/remote/checkpoint_fetches.h"

#include <utility>

#include "tuner/checkpoints/checkpoint_store.h"
#include "tuner/checkpoints/evicted.h"
#include "tuner/checkpoints/manifest.h"
#include "tuner/model/paths.h"

namespace tune {

using std::filesystem::path;

std::optional<std::string> note_evicted(FileSystem& files, const path& experiment,
                                        const std::string& root, const CheckpointMarker& marker,
                                        const path& manifest) {
  const auto there = files.entry(manifest);
  const bool is_it = there && there->is_regular && there->bytes == marker.manifest_bytes;
  const std::string text = is_it ? files.read(manifest) : std::string();
  if (auto wrong = wrong_manifest(marker, text)) return wrong;
  const path place = paths::checkpoint(experiment, marker.checkpoint);
  const path aside = remote_directory(experiment) / "evicted";
  files.remove_tree(aside);
  const auto own = files.open_directory(experiment);
  own->give(place.lexically_relative(experiment), aside);
  files.remove_tree(aside);
  remove_evicted(files, place);  // what lies there may be no file
  files.replace(aside, evicted_text({{root, marker.directory}, text}));
  own->take(aside, paths::evicted(place).lexically_relative(experiment));
  files.sync_directory(place.parent_path());
  return std::nullopt;
}

CheckpointFetches::CheckpointFetches(FileSystem& files, path directory, RemoteStore& store,
                                     const UploadMemory& memory)
    : files_(files), directory_(std::move(directory)), store_(store), memory_(memory) {}

CheckpointFetches::FetchState CheckpointFetches::begin(CheckpointRef checkpoint) {
  const path place = paths::checkpoint(directory_, checkpoint);
  if (files_.exists(place)) return FetchState::came;
  if (const auto evicted = find_evicted(files_, place)) {
    begin_tree({.checkpoint = checkpoint, .directory = evicted->place.directory},
               bytes_in(evicted->manifest));
    return FetchState::coming;
  }
  // Of what this disk has lost, nothing here says what it was: its marker there does.
  const auto up = memory_.checkpoints().find(checkpoint);
  if (up == memory_.checkpoints().end()) return FetchState::lost;
  files_.make_directories(remote_directory(directory_));
  files_.remove_file(found_marker());
  const std::string marker = checkpoint_marker_name(up->second);
  current_ = Current{.checkpoint = checkpoint,
                     .directory = up->second,
                     .stage = Stage::marker,
                     .job = store_.begin_get(marker, found_marker(), most_checkpoint_marker_bytes)};
  return FetchState::coming;
}

void CheckpointFetches::begin_tree(Current current, std::uint64_t bytes) {
  const path to = CheckpointStore(files_, directory_).begin(current.checkpoint, 0);
  current.stage = Stage::tree;
  current.job = store_.begin_get_tree(current.directory, to, bytes);
  current.progress = {};
  current_ = std::move(current);
}

path CheckpointFetches::found_marker() const {
  return remote_directory(directory_) / "found-marker.json";
}

path CheckpointFetches::aside(CheckpointRef checkpoint) const {
  return paths::checkpoint_aside(paths::trial(directory_, checkpoint.trial), checkpoint.index, 0);
}

std::optional<CheckpointRef> CheckpointFetches::under_way() const {
  return current_ ? std::optional(current_->checkpoint) : std::nullopt;
}

CheckpointFetches::FetchState CheckpointFetches::look() {
  const std::string doing = "downloading " + current_->directory;
  try {
    if (!store_.rcd().look(doing, current_->job)) {
      current_->progress.require(doing, store_.rcd().moved_bytes(current_->job));
      return FetchState::coming;
    }
    Current ended = std::move(*current_);
    current_.reset();
    const bool is_whole = ended.stage == Stage::marker ? advance(std::move(ended)) : note(ended);
    if (current_) return FetchState::coming;
    if (is_whole) return FetchState::came;
  } catch (const RemoteError& error) {
    abandon();
    // What rclone itself finds damaged, CheckpointStorage finds missing.
    if (error.kind() == RemoteError::Kind::damaged || error.kind() == RemoteError::Kind::too_large)
      return FetchState::came;
    if (error.kind() != RemoteError::Kind::missing) throw;
  } catch (const Error&) {
    abandon();
    throw;
  }
  return lost(doing);
}

/// With the checkpoint, once its marker is here.
bool CheckpointFetches::advance(Current current) {
  const auto there = files_.entry(found_marker());
  if (!there || !there->is_regular || there->bytes > most_checkpoint_marker_bytes) return false;
  auto marker = parse_checkpoint_marker(files_.read(found_marker()));
  files_.remove_file(found_marker());
  if (!marker || marker->checkpoint != current.checkpoint ||
      marker->directory != current.directory) {
    return false;
  }
  const std::uint64_t bytes = marker->bytes();
  current.marker = std::move(marker);
  begin_tree(std::move(current), bytes);
  return true;
}

/// From now on it is as good as evicted.
bool CheckpointFetches::note(const Current& current) {
  if (!current.marker) return true;
  const path manifest = paths::manifest(aside(current.checkpoint));
  return !note_evicted(files_, directory_, store_.root(), *current.marker, manifest);
}

CheckpointFetches::FetchState CheckpointFetches::lost(const std::string& doing) {
  // A disk that is not mounted has nothing at all.
  if (store_.list("", false).contains("experiment.json")) return FetchState::lost;
  throw RemoteError(RemoteError::Kind::unreachable,
                    doing + ": nothing of the experiment is on " + store_.root());
}

void CheckpointFetches::abandon() noexcept {
  if (!current_) return;
  store_.rcd().stop(current_->job);
  try {
    files_.remove_tree(aside(current_->checkpoint));
  } catch (const Error&) {
    // The next try removes it, or the next driver.
  }
  current_.reset();
}

}  // namespace tune
