// Checkpoints that leave this disk for a remote, which has them already, and come back.
// At every instant a checkpoint is whole here, or the file that says where it is, is.
#include <stdexcept>

#include "tuner/base/error.h"
#include "tuner/checkpoints/checkpoint_store.h"
#include "tuner/checkpoints/manifest.h"
#include "tuner/model/paths.h"

namespace tune {

namespace {

using std::filesystem::path;

/// A remote keeps no links: they are in the manifest.
void make_links(FileSystem& files, const DescribedTree& tree, const path& top) {
  const auto directory = files.open_directory(top);
  for (const auto& link : tree.links) directory->make_link(link.target, link.path);
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
  const auto damage = damage_of_arrived(arrived, evicted->manifest, checkpoint);
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
                                                              const std::string& manifest,
                                                              const path& checkpoint) {
  const auto there = files_.entry(paths::manifest(arrived));
  if (!there) return "manifest.json is missing";
  if (!there->is_regular || there->bytes != manifest.size() ||
      files_.read(paths::manifest(arrived)) != manifest) {
    return "manifest.json has changed";
  }
  const Json json = parse_manifest(manifest);
  if (!is_manifest_of(json, checkpoint)) return "its manifest is that of another one, or none";
  try {
    const DescribedTree tree = tree_in(json);
    if (auto wrong = wrong_tree(tree)) return wrong;
    make_links(files_, tree, arrived);
  } catch (const std::invalid_argument& wrong) {
    return wrong.what();
  } catch (const Json::exception&) {
    return "its manifest does not say what it must";
  } catch (const PlaceTaken& taken) {
    return taken.what();  // by what has come
  }
  return check_.damage_of(arrived);
}

}  // namespace tune
