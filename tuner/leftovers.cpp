// Processes, directories, and checkpoints on a remote.
#include "tuner/leftovers.h"

#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "tuner/base/count_of.h"
#include "tuner/base/error.h"
#include "tuner/process/orphans.h"
#include "tuner/remote/fetch.h"

namespace tune {

namespace {

std::set<int> indices_of(const Trial& trial) {
  std::set<int> indices;
  for (const auto& checkpoint : trial.checkpoints) indices.insert(checkpoint.index);
  return indices;
}

/// Of each trial that has a directory, which the damaged journal may not know, the checkpoints that
/// are known.
std::map<TrialId, std::set<int>> known_by_directory(Engine& engine) {
  std::map<TrialId, std::set<int>> known;
  const auto& trials = engine.experiment.trials();
  for (const auto& entry : engine.files->list(engine.directory)) {
    const auto id = parse_trial_id(entry.name);
    if (!entry.is_directory || !id || entry.name != to_string(*id)) continue;
    const bool is_known = index_of(*id) < trials.size();
    known[*id] = is_known ? indices_of(trials[index_of(*id)]) : std::set<int>();
  }
  return known;
}

}  // namespace

void look_for_orphans(Engine& engine) {
  const LockOwner self = this_process(engine.clock->now());
  std::vector<RecordedProcess> recorded;
  if (engine.experiment.host() == self.host) {
    for (const auto& [trial, process] : engine.experiment.processes()) {
      // The numbers of other nodes' processes are of others here.
      if (std::string_view(engine.experiment.trial(trial).host) != self.host) continue;
      if (engine.adoption.is_adopted(trial)) continue;
      recorded.push_back({to_string(trial), process.pid, process.start_ticks});
    }
  } else if (!engine.experiment.processes().empty()) {
    engine.callbacks.notice("the last driver has died on host " + engine.experiment.host() +
                            "; whether its trials still run there cannot be seen from here");
  }
  for (const auto& sentence : end_orphans(engine.session_mark(self), recorded)) {
    engine.callbacks.notice(sentence);
  }
}

void require_no_unknown_remote(Engine& engine) {
  const auto known = known_by_directory(engine);
  std::size_t unknown = 0;
  std::string command = "tune fetch";
  for (const auto& place : evicted_below(*engine.files, engine.directory)) {
    const CheckpointRef checkpoint = checkpoint_at(place);
    if (known.at(checkpoint.trial).contains(checkpoint.index)) continue;
    ++unknown;
    command += " " + place.native();
  }
  if (unknown == 0) return;
  throw user_error(
      count_of(unknown,
               "checkpoint that only the damaged part of the journal "
               "knows is only on the remote",
               "checkpoints that only the damaged part of the journal knows are only "
               "on the remote") +
      " and would be lost: bring back what is to be kept, and salvage then: " + command);
}

void set_aside_unknown(Engine& engine) {
  std::size_t count = 0;
  std::vector<std::string> problems;
  for (const auto& [id, known] : known_by_directory(engine)) {
    count += engine.checkpoints.set_aside_unknown(id, known, problems);
  }
  for (const auto& problem : problems) engine.callbacks.notice(problem);
  if (count == 0) return;
  engine.callbacks.notice(std::to_string(count) +
                          " checkpoints that are no longer known are renamed to "
                          "checkpoint_N.corrupt");
}

void sweep_leftovers(Engine& engine) {
  for (const auto& trial : engine.experiment.trials()) {
    const bool runs = engine.adoption.is_adopted(trial.id);
    for (const auto& problem :
         engine.checkpoints.sweep(trial.id, indices_of(trial), runs).problems) {
      engine.callbacks.notice(problem + "; it is left behind");
    }
  }
}

}  // namespace tune
