// The pool of warm processes: those of paused trials, which wait with all that they have in memory.
// It says how many may, and which is evicted first.
// Its caller measures memory and tells it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tuner/model/resources.h"
#include "tuner/model/trial.h"
#include "tuner/spec/spec.h"

namespace tune {

class WorkerGroup;

/// What processes have in memory, and what there is.
struct MemoryMeter {
  struct Use {
    std::uint64_t bytes = 0;         ///< of main memory; what is shared counts in parts
    std::uint64_t device_bytes = 0;  ///< of all devices
  };
  /// Of the process groups, in their order. May take long.
  std::function<std::vector<Use>(const std::vector<std::int64_t>& groups)> of;
  /// What could still be had before something is swapped or killed. Empty: nothing is measured.
  std::function<std::uint64_t()> available;
};

class WarmPool {
 public:
  struct Kept {
    WorkerGroup* worker_group = nullptr;
    Allocation held;           ///< what it held of the machine, which others may have now
    int checkpoint = 0;        ///< of its trial, the same that it has in memory; 0: there is none
    std::size_t clonings = 0;  ///< of its trial until then: each may have changed its config
    double eviction_priority = 0;              ///< the less, the sooner it is given up; no NaN
    std::vector<std::int64_t> groups = {};     ///< of its processes
    std::optional<MemoryMeter::Use> use = {};  ///< once measured
  };

  bool empty() const { return kept_.empty(); }
  void add(TrialId trial, Kept kept);
  /// Null if the trial has none.
  const Kept* find(TrialId trial) const;
  /// Whose it is; nothing if it is nobody's.
  std::optional<TrialId> find(const WorkerGroup& worker_group) const;
  void remove(TrialId trial);
  std::vector<TrialId> trials() const;

  bool has_unmeasured() const { return measured_ < kept_.size(); }
  /// The groups of all, to be measured.
  std::vector<std::int64_t> groups() const;
  /// The measured memory of `groups`, and what else is available; processes that joined or left
  /// meanwhile are left as they are.
  void measured(const std::vector<std::int64_t>& groups, const std::vector<MemoryMeter::Use>& uses,
                std::uint64_t available);

  /// The next that has to go; nothing if all may wait.
  std::optional<TrialId> next_to_evict(const std::optional<KeepPaused>& limit) const;

  /// Where nobody has said how many: each takes a few of the files that the driver may have open.
  static constexpr std::size_t most_by_default = 64;

 private:
  std::map<TrialId, Kept> kept_;
  std::set<std::pair<double, TrialId>> by_eviction_priority_;
  std::size_t processes_ = 0;
  std::size_t measured_ = 0;
  std::uint64_t bytes_ = 0;              ///< of all that are measured, devices' included
  std::optional<std::uint64_t> budget_;  ///< of bytes, where nobody has said how many
};

}  // namespace tune
