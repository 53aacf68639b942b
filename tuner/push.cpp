// Takes the experiment's lock, gives its known checkpoints to a Replicator, and waits until all are
// up.
#include "tuner/push.h"

#include "tuner/base/error.h"
#include "tuner/disk/lock.h"
#include "tuner/model/paths.h"
#include "tuner/process/system_clock.h"

namespace tune {

namespace {

/// Where it is on the remote of this run; empty if it is not evicted.
std::string evicted_to(FileSystem& files, const std::filesystem::path& checkpoint,
                       const RemoteConfig& remote, const std::string& name) {
  const auto evicted = find_evicted(files, checkpoint);
  if (!evicted) return "";
  using Which = RemoteConfig::Checkpoints;
  const bool stays = remote.checkpoints == Which::kept || remote.checkpoints == Which::all;
  const bool is_there =
      !remote.path.empty() && evicted->place.remote == remote_below(remote.path, name);
  if (is_there && stays) return evicted->place.directory;
  throw user_error(evicted_sentence(checkpoint, *evicted) + ", and tune fetch " +
                   checkpoint.parent_path().parent_path().native() + " all of them" +
                   (is_there ? "; until then remote.checkpoints must be \"kept\" or \"all\""
                             : "; until then remote.path must name that remote"));
}

}  // namespace

std::vector<Replicator::Known> known_checkpoints(
    FileSystem& files, const std::filesystem::path& directory, const RemoteConfig& remote,
    const std::string& name, const Experiment& experiment, const CheckpointConfig& config) {
  std::vector<Replicator::Known> known;
  for (const Trial& trial : experiment.trials()) {
    const auto present = trial.present_checkpoints();
    const auto order = rank_checkpoints(present, config);
    for (const auto& checkpoint : trial.checkpoints) {
      const bool is_best = !order.empty() && checkpoint.index == present[order.front()].index;
      const CheckpointRef ref{trial.id, checkpoint.index};
      known.push_back(
          {ref, is_best, evicted_to(files, paths::checkpoint(directory, ref), remote, name)});
    }
  }
  return known;
}

void push_experiment(const ResultGrid& grid, const PushOptions& options) {
  RemoteConfig config = grid.spec().remote;
  if (!options.path.empty()) config.path = options.path;
  if (config.path.empty()) {
    throw user_error("the experiment in " + grid.directory().native() +
                     " has no remote: name one with --remote");
  }
  const auto files = make_posix_file_system(Access::owner);
  LockOwner self = this_process(make_system_clock()->now());
  self.lease_s = options.lease_s;
  std::vector<std::string> notices;
  const DirectoryLock lock(*files, paths::lock(grid.directory()), self, notices);
  const auto known = known_checkpoints(*files, grid.directory(), config, grid.spec().name,
                                       grid.experiment(), grid.spec().checkpoint_config);
  Replicator replicator(*files, {.directory = grid.directory(),
                                 .name = grid.spec().name,
                                 .config = config,
                                 .lease_s = options.lease_s,
                                 .on_wait = options.on_wait});
  replicator.begin(known);
  const std::string left = replicator.finish(1e9, options.patience_s);
  if (!left.empty()) throw machine_error(left);
}

}  // namespace tune
