#include "tuner/remote/fetch.h"

#include <atomic>

#include "tuner/core/error.h"
#include "tuner/remote/remote_store.h"
#include "tuner/remote/upload_memory.h"
#include "tuner/store/checkpoint_store.h"
#include "tuner/store/evicted.h"
#include "tuner/store/paths.h"

namespace tune {

bool fetch(FileSystem& files, const std::filesystem::path& checkpoint) {
  const auto trial = parse_trial_id(checkpoint.parent_path().filename().native());
  const auto index = paths::parse_checkpoint(checkpoint.filename().native());
  if (!trial || !index) {
    throw user_error(checkpoint.native() +
                     " is no checkpoint's place: name it like results/digits/trial_00003/" +
                     "checkpoint_000001");
  }
  if (files.exists(checkpoint)) return false;
  const auto evicted = find_evicted(files, checkpoint);
  if (!evicted) {
    throw user_error("there is no " + checkpoint.native() + ", and nothing says where it is");
  }
  const auto experiment = checkpoint.parent_path().parent_path();
  const std::atomic<bool> stop = false;
  Rcd rcd(std::nullopt, stop);
  RemoteStore store(rcd, files, evicted->place.remote, remote_directory(experiment));
  store.check_name();
  CheckpointStore keeper(files, experiment);
  store.get_tree(evicted->place.directory, keeper.begin({*trial, *index}, 0));
  if (const auto damage = keeper.accept({*trial, *index})) throw machine_error(*damage);
  return true;
}

}  // namespace tune
