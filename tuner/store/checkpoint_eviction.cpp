// Checkpoints that leave this disk for a remote, which has them already, and come back.
// At every instant a checkpoint is whole here, or the file that says where it is, is.
#include <algorithm>

#include "tuner/core/error.h"
#include "tuner/store/checkpoint_store.h"
#include "tuner/store/paths.h"

namespace tune {

namespace {

using std::filesystem::path;

/// A remote keeps no links: they are in the manifest.
std::optional<std::string> make_links(FileSystem& files, const std::string& manifest,
                                      const path& top) {
  const Json json = Json::parse(manifest, nullptr, false);
  if (!json.is_object()) return "its manifest is no JSON";
  for (const Json& entry : json.value("links", Json::array())) {
    const path name = entry.at("path").get<std::string>();
    const path target = entry.at("target").get<std::string>();
    const path link = top / name;
    const path leads_to = (link.parent_path() / target).lexically_normal();
    if (name.is_absolute() || target.is_absolute() || !is_within(top, link.lexically_normal()) ||
        !is_within(top, leads_to)) {
      return "the link " + name.native() + " leads out of it";
    }
    files.make_directories(link.parent_path());
    if (!files.exists(link)) files.make_link(target, link);
  }
  return std::nullopt;
}

}  // namespace

bool CheckpointStore::is_evicted(CheckpointRef checkpoint) {
  return find_evicted(files_, locate(checkpoint)).has_value();
}

void CheckpointStore::evict(CheckpointRef ref, const RemotePlace& place) {
  const path trial = own_dir(ref.trial);
  const path checkpoint = locate(ref);
  if (!files_.exists(checkpoint)) return;
  write_evicted(files_, checkpoint, {place, files_.read(paths::manifest(checkpoint))});
  const path leaving = aside(ref, 0);
  files_.remove_tree(leaving);
  files_.rename(checkpoint, leaving);
  files_.sync_directory(trial);
  files_.remove_tree(leaving);
}

std::optional<std::string> CheckpointStore::accept(CheckpointRef ref) {
  const path checkpoint = locate(ref);
  const path arrived = aside(ref, 0);
  const auto evicted = find_evicted(files_, checkpoint);
  if (!evicted) {
    if (files_.exists(checkpoint)) return std::nullopt;
    return checkpoint.native() + " is not there, and nothing says where it is";
  }
  const auto damage = damage_of_arrived(arrived, evicted->manifest);
  if (damage) {
    files_.remove_tree(arrived);
    return evicted->place.remote + "/" + evicted->place.directory + ": " + *damage;
  }
  const path trial = own_dir(ref.trial);
  const CheckpointTree tree =
      read_tree(files_, arrived, {files_.real_path(arrived)}, TopManifest::ours);
  for (const auto& [name, bytes] : tree.files) files_.sync_file(arrived / name);
  for (const path& name : tree.directories) files_.sync_directory(arrived / name);
  files_.sync_file(paths::manifest(arrived));
  files_.sync_directory(arrived);
  files_.rename(arrived, checkpoint);
  files_.sync_directory(trial);
  files_.remove_file(paths::evicted(checkpoint));
  return std::nullopt;
}

std::optional<std::string> CheckpointStore::damage_of_arrived(const path& arrived,
                                                              const std::string& manifest) {
  if (!files_.exists(paths::manifest(arrived))) return "manifest.json is missing";
  if (files_.read(paths::manifest(arrived)) != manifest) return "manifest.json has changed";
  try {
    if (auto wrong = make_links(files_, manifest, arrived)) return wrong;
  } catch (const Json::exception&) {
    return "its manifest does not say what it must";
  }
  return verify_in(arrived);
}

}  // namespace tune
