// All worker groups of a run: finds the group of a launch and the next deadline, and passes the
// groups' commands on to the executor.
#pragma once

#include <algorithm>
#include <list>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tuner/base/clock.h"
#include "tuner/execution/reactor.h"
#include "tuner/run/commit/after_commit.h"
#include "tuner/run/workers/worker_group.h"

namespace tune {

class WorkerGroups final : private WorkerGroup::Transport {
 public:
  /// All parts outlive it.
  WorkerGroups(Executor& executor, AfterWrite& after_write, const Clock& clock, Timeouts timeouts)
      : executor_(executor), after_write_(after_write), clock_(clock), timeouts_(timeouts) {}

  /// A new one; it is there until it is closed.
  WorkerGroup& open(Allocation allocation);
  /// Whose processes an earlier driver has launched; see WorkerGroup::adopt.
  WorkerGroup& adopt(Allocation allocation, const WorkerGroup::Adopted& adopted);
  /// Ids up to that one are not given again.
  void begin_launches_after(LaunchId launch) {
    last_launch_ = std::max(last_launch_, static_cast<std::uint64_t>(launch));
  }
  /// One without processes.
  void close(WorkerGroup& worker_group);

  /// The group of the launch; null if it is in none.
  WorkerGroup* of(LaunchId launch);
  std::list<WorkerGroup>& all() { return all_; }
  /// Some process still lives, and may be waited for.
  bool any_lives() const;

  /// Steady time at which the next deadline is over.
  Seconds deadline() const;
  /// One whose deadline is over; null if there is none.
  WorkerGroup* late() const;
  void extend_deadlines(Seconds seconds);

  /// Nothing more is recorded: all processes get SIGTERM, so that a program that saves something by
  /// itself can, and SIGKILL after `patience_s`, or when somebody interrupts.
  void abandon(Reactor& reactor, Seconds patience_s);

 private:
  LaunchId launch(WorkerGroup& worker_group, LaunchSpec spec) override;
  void send(LaunchId launch, protocol::Command command) override;
  void signal(LaunchId launch, int signal) override;
  void forget(LaunchId launch) override { processes_.erase(launch); }
  void remind(WorkerGroup& worker_group, Seconds before) override;
  Seconds steady() const override { return clock_.steady(); }

  struct Process {
    WorkerGroup* worker_group;
    bool is_launched = false;  ///< the executor has it; before, it is but decided on
  };

  Executor& executor_;
  AfterWrite& after_write_;
  const Clock& clock_;
  const Timeouts timeouts_;
  std::list<WorkerGroup> all_;  ///< in the order in which they were opened
  std::unordered_map<const WorkerGroup*, std::list<WorkerGroup>::iterator> places_;
  std::unordered_map<LaunchId, Process> processes_;
  std::set<std::pair<Seconds, WorkerGroup*>> deadlines_;
  std::uint64_t last_launch_ = 0;
};

}  // namespace tune
