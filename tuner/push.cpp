#include "tuner/push.h"

#include "tuner/core/error.h"
#include "tuner/exec/system_clock.h"
#include "tuner/store/lock.h"
#include "tuner/store/paths.h"

namespace tune {

std::vector<Mirror::Known> known_checkpoints(const Experiment& experiment,
                                             const CheckpointConfig& config) {
  std::vector<Mirror::Known> known;
  for (const Trial& trial : experiment.trials()) {
    const auto order = rank_checkpoints(trial.checkpoints, config);
    for (const auto& checkpoint : trial.checkpoints) {
      const bool is_best = checkpoint.index == trial.checkpoints[order.front()].index;
      known.push_back({{trial.id, checkpoint.index}, is_best});
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
  Mirror mirror(*files, {.directory = grid.directory(),
                         .name = grid.spec().name,
                         .config = config,
                         .lease_s = options.lease_s,
                         .on_wait = options.on_wait});
  mirror.begin(known_checkpoints(grid.experiment(), grid.spec().checkpoint_config));
  const std::string left = mirror.finish(1e9, options.patience_s);
  if (!left.empty()) throw machine_error(left);
}

}  // namespace tune
