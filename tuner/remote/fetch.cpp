// Downloads an evicted checkpoint aside, and has CheckpointStore verify and accept it.
#include "tuner/remote/fetch.h"

#include <algorithm>
#include <atomic>

#include "tuner/base/error.h"
#include "tuner/checkpoints/checkpoint_store.h"
#include "tuner/checkpoints/evicted.h"
#include "tuner/checkpoints/manifest.h"
#include "tuner/model/paths.h"
#include "tuner/remote/remote_store.h"
#include "tuner/remote/upload_memory.h"

namespace tune {

namespace {

using std::filesystem::path;

path experiment_of(const path& place) { return place.parent_path().parent_path(); }

Evicted require_evicted(FileSystem& files, const path& place) {
  auto evicted = find_evicted(files, place);
  if (evicted) return *std::move(evicted);
  throw user_error("there is no " + place.native() +
                   ", and nothing says where it is: tune checkpoints " +
                   experiment_of(place).native() + " lists those that there are");
}

void download(FileSystem& files, const Evicted& evicted, const path& staging, const path& to) {
  const std::atomic<bool> stop = false;
  Rcd rcd(std::nullopt, stop);
  RemoteStore store(rcd, files, evicted.place.remote, staging);
  store.check_name();
  store.get_tree(evicted.place.directory, to, bytes_in(evicted.manifest));
}

}  // namespace

std::vector<path> evicted_below(FileSystem& files, const path& directory) {
  std::vector<path> found;
  for (const DirectoryEntry& entry : files.list(directory)) {
    const auto trial = parse_trial_id(entry.name);
    if (entry.is_directory && trial && entry.name == to_string(*trial)) {
      const auto more = evicted_below(files, directory / entry.name);
      found.insert(found.end(), more.begin(), more.end());
    } else if (const auto index = paths::parse_evicted(entry.name)) {
      const path place = paths::checkpoint(directory, *index);
      if (find_evicted(files, place)) found.push_back(place);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

CheckpointRef checkpoint_at(const path& place) {
  const auto trial = parse_trial_id(place.parent_path().filename().native());
  const auto index = paths::parse_checkpoint(place.filename().native());
  if (trial && index) return {*trial, *index};
  throw user_error(place.native() +
                   " is no checkpoint's place: name it like results/digits/trial_00003/" +
                   "checkpoint_000001");
}

bool fetch(FileSystem& files, const path& place) {
  const CheckpointRef checkpoint = checkpoint_at(place);
  if (const auto there = files.entry(place)) {
    if (there->is_directory) return false;
    throw user_error(place.native() + " is no directory: remove it");
  }
  const Evicted evicted = require_evicted(files, place);
  CheckpointStore keeper(files, experiment_of(place));
  try {
    download(files, evicted, remote_directory(experiment_of(place)), keeper.begin(checkpoint, 0));
  } catch (const Error&) {
    keeper.discard(checkpoint, 0);
    throw;
  }
  if (const auto damage = keeper.accept(checkpoint)) throw machine_error(*damage);
  return true;
}

void fetch_copy(FileSystem& files, const path& place, const path& to) {
  const CheckpointRef checkpoint = checkpoint_at(place);
  if (files.exists(to) && !files.list(to).empty()) {
    throw user_error(to.native() + " is not empty: name another directory");
  }
  files.make_directories(to);
  CheckpointStore keeper(files, experiment_of(place));
  if (files.exists(place)) {
    if (const auto damage = keeper.verify(checkpoint)) {
      throw machine_error(place.native() + " cannot be trusted: " + *damage);
    }
    keeper.put_back(place, to);
    files.replace(paths::manifest(to), files.read(paths::manifest(place)));
    return;
  }
  const Evicted evicted = require_evicted(files, place);
  download(files, evicted, to, to);
  if (const auto damage = keeper.damage_of_arrived(to, evicted.manifest, place)) {
    throw machine_error(evicted.place.remote + "/" + evicted.place.directory + ": " + *damage);
  }
}

}  // namespace tune
