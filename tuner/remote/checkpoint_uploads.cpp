// The steps of one upload: tree to a fresh directory, a check of sizes, marker last (commit
// record).
#include "tuner/remote/checkpoint_uploads.h"

#include <utility>

#include "tuner/base/clean_text.h"
#include "tuner/model/paths.h"
#include "tuner/remote/object_names.h"

namespace tune {

std::optional<std::string> wrong_sizes(const CheckpointMarker& marker,
                                       const std::map<std::string, std::uint64_t>& there) {
  const auto wrong = [&](const std::string& name,
                         std::uint64_t bytes) -> std::optional<std::string> {
    const auto found = there.find(name);
    const std::string shown = marker.directory + "/" + clean_text(name);
    if (found == there.end()) return shown + " is missing";
    if (found->second == bytes) return std::nullopt;
    return shown + " has " + std::to_string(found->second) + " bytes, not " + std::to_string(bytes);
  };
  for (const auto& file : marker.tree.files) {
    if (auto sentence = wrong(file.path, file.bytes)) return sentence;
  }
  return wrong("manifest.json", marker.manifest_bytes);
}

CheckpointUploads::CheckpointUploads(FileSystem& files, std::filesystem::path directory,
                                     RemoteStore& store, UploadMemory& memory)
    : files_(files), directory_(std::move(directory)), store_(store), memory_(memory) {}

void CheckpointUploads::begin(CheckpointRef checkpoint) {
  const auto local = paths::checkpoint(directory_, checkpoint);
  const std::string name =
      to_string(checkpoint.trial) + "/" + local.filename().native() + "." + random_name();
  CheckpointMarker marker = marker_of(checkpoint, name, files_.read(paths::manifest(local)));
  for (const auto& file : marker.tree.files) {
    if (is_fit_for_stores(file.path)) continue;
    throw UnfitCheckpoint(local.lexically_relative(directory_).native() +
                          " has a file whose name no store takes, '" + clean_text(file.path) +
                          "': it has a control character, or U+201B. Use another name");
  }
  memory_.begin(name);
  const Rcd::Job job = store_.begin_put_tree(local, name);
  current_ = Current{std::move(marker), job, {}};
}

std::optional<CheckpointRef> CheckpointUploads::under_way() const {
  return current_ ? std::optional(current_->marker.checkpoint) : std::nullopt;
}

bool CheckpointUploads::look(const std::function<void()>& before_marker) {
  const std::string doing = "uploading " + current_->marker.directory;
  try {
    if (store_.rcd().look(doing, current_->job)) {
      finish(before_marker);
      current_.reset();
      return true;
    }
    current_->progress.require(doing, store_.rcd().moved_bytes(current_->job));
    return false;
  } catch (const Error&) {
    abandon();
    throw;
  }
}

void CheckpointUploads::finish(const std::function<void()>& before_marker) {
  const CheckpointMarker& marker = current_->marker;
  if (const auto wrong = wrong_sizes(marker, store_.list(marker.directory, true))) {
    before_marker();  // it may have a better reason
    throw RemoteError(RemoteError::Kind::damaged, "what was put up is not there whole: " + *wrong);
  }
  before_marker();
  store_.put_text(to_text(marker), checkpoint_marker_name(marker.directory));
  memory_.commit(marker.checkpoint, marker.directory);
}

void CheckpointUploads::abandon() noexcept {
  if (!current_) return;
  store_.rcd().stop(current_->job);
  current_.reset();
}

void CheckpointUploads::remove(const std::string& directory) {
  store_.remove(checkpoint_marker_name(directory));
  store_.remove_tree(directory);
  memory_.forget(directory);
}

}  // namespace tune
