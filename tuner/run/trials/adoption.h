// Which trials go on in the processes that they had under a driver that has died.
// Pure: what the journal says against what the processes were told.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <vector>

#include "tuner/execution/kept_launch.h"
#include "tuner/model/experiment.h"
#include "tuner/model/resources.h"
#include "tuner/spec/spec.h"

namespace tune {

struct Adoption {
  /// What its processes are at.
  enum class Stage {
    ready,     ///< what they have answered is recorded, and nothing more was asked of them
    stepping,  ///< told to train until the next result, which may have come
    saving,    ///< told to save, which they may have done
  };
  TrialId trial{};
  Allocation allocation;
  Stage stage = Stage::ready;
  int save_index = 0;                 ///< of the checkpoint, if they are saving
  std::vector<KeptLaunch> processes;  ///< by rank

  /// That one process is at what all are at. Else it was not told yet, as its driver died between.
  bool is_told(const KeptLaunch& process) const;
  /// One that was told what all were.
  const KeptLaunch& told() const;
};

struct AdoptionPlan {
  std::vector<Adoption> adopted;
  /// Of all that were kept, adopted or not: no launch gets such an id again.
  LaunchId last_launch{};

  bool is_adopted(TrialId trial) const;
  /// What ids the adopted launches have.
  std::set<LaunchId> launches() const;
};

/// A trial is adopted if its attempt is the recorded one, all of its processes were kept, none was
/// told more than what follows from the record, and what they hold is there. `only`: these alone
/// run; empty: all. `nodes`: as Allocation numbers them.
AdoptionPlan plan_adoption(const Experiment& experiment, const ExperimentSpec& spec,
                           const std::vector<NodeResources>& nodes, std::vector<KeptLaunch> kept,
                           const std::set<TrialId>& only);

}  // namespace tune
