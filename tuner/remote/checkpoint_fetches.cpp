#include "tuner/remote/checkpoint_fetches.h"

#include <string_view>
#include <utility>

#include "tuner/store/checksum.h"
#include "tuner/store/evicted.h"
#include "tuner/store/paths.h"

namespace tune {

using std::filesystem::path;

std::optional<std::string> note_evicted(FileSystem& files, const std::string& root,
                                        const CheckpointMarker& marker, const path& manifest,
                                        const path& place) {
  const std::string text = files.exists(manifest) ? files.read(manifest) : std::string();
  const ChecksumDigits digits = checksum(text);
  if (std::string_view(digits.data(), digits.size()) != marker.manifest_xxh3) {
    return marker.directory + "/manifest.json is missing, or has changed";
  }
  files.make_directories(place.parent_path());
  files.remove_tree(place);
  remove_evicted(files, place);  // what lies there may be no file
  write_evicted(files, place, {{root, marker.directory}, text});
  return std::nullopt;
}

CheckpointFetches::CheckpointFetches(FileSystem& files, path directory, RemoteStore& store,
                                     const UploadMemory& memory)
    : files_(files), directory_(std::move(directory)), store_(store), memory_(memory) {}

CheckpointFetches::Look CheckpointFetches::begin(CheckpointRef checkpoint) {
  const path place = paths::checkpoint(directory_, checkpoint);
  if (files_.exists(place)) return Look::came;
  if (const auto evicted = find_evicted(files_, place)) {
    begin_tree({.checkpoint = checkpoint, .directory = evicted->place.directory});
    return Look::coming;
  }
  // Of what this disk has lost, nothing here says what it was: its marker there does.
  const auto up = memory_.checkpoints().find(checkpoint);
  if (up == memory_.checkpoints().end()) return Look::lost;
  files_.make_directories(remote_directory(directory_));
  files_.remove_file(found_marker());
  const std::string marker = checkpoint_marker_name(up->second);
  current_ = Current{.checkpoint = checkpoint,
                     .directory = up->second,
                     .stage = Stage::marker,
                     .job = store_.begin_get(marker, found_marker())};
  return Look::coming;
}

void CheckpointFetches::begin_tree(Current current) {
  const path to = aside(current.checkpoint);
  files_.remove_tree(to);
  files_.make_directories(to);
  current.stage = Stage::tree;
  current.job = store_.begin_get_tree(current.directory, to);
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

CheckpointFetches::Look CheckpointFetches::look() {
  const std::string doing = "downloading " + current_->directory;
  try {
    if (!store_.rcd().look(doing, current_->job)) {
      current_->progress.require(doing, store_.rcd().moved_bytes(current_->job));
      return Look::coming;
    }
    Current ended = std::move(*current_);
    current_.reset();
    const bool is_whole = ended.stage == Stage::marker ? go_on(std::move(ended)) : note(ended);
    if (current_) return Look::coming;
    if (is_whole) return Look::came;
  } catch (const RemoteError& error) {
    abandon();
    // What rclone itself finds damaged, the keeper finds missing.
    if (error.kind() == RemoteError::Kind::damaged) return Look::came;
    if (error.kind() != RemoteError::Kind::missing) throw;
  } catch (const Error&) {
    abandon();
    throw;
  }
  return lost(doing);
}

/// With the checkpoint, once its marker is here.
bool CheckpointFetches::go_on(Current current) {
  if (!files_.exists(found_marker())) return false;
  auto marker = parse_checkpoint_marker(files_.read(found_marker()));
  files_.remove_file(found_marker());
  if (!marker || marker->checkpoint != current.checkpoint ||
      marker->directory != current.directory) {
    return false;
  }
  current.marker = std::move(marker);
  begin_tree(std::move(current));
  return true;
}

/// From now on it is as good as evicted.
bool CheckpointFetches::note(const Current& current) {
  if (!current.marker) return true;
  const path place = paths::checkpoint(directory_, current.checkpoint);
  const path manifest = paths::manifest(aside(current.checkpoint));
  return !note_evicted(files_, store_.root(), *current.marker, manifest, place);
}

CheckpointFetches::Look CheckpointFetches::lost(const std::string& doing) {
  // A disk that is not mounted has nothing at all.
  if (store_.list("", false).contains("experiment.json")) return Look::lost;
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
