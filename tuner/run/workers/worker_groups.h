// All conversations of a run: who speaks in which, whose time is up next, and how what they decide
// reaches the executor.
// Knows no policy and no record.
#pragma once

#include <list>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tuner/base/clock.h"
#include "tuner/run/commit/after_commit.h"
#include "tuner/run/workers/worker_group.h"

namespace tune {

class Conversations final : private Conversation::Link {
 public:
  /// All parts outlive it.
  Conversations(Executor& executor, AfterWrite& after_write, const Clock& clock, Patience patience)
      : executor_(executor), after_write_(after_write), clock_(clock), patience_(patience) {}

  /// A new one; it is there until it is closed.
  Conversation& open(Allocation allocation);
  /// One without processes.
  void close(Conversation& conversation);

  /// Who speaks; null for a process that is not in any.
  Conversation* of(LaunchId launch);
  std::list<Conversation>& all() { return all_; }
  /// Some process has not gone and may be waited for.
  bool any_lives() const;

  /// Steady time at which the next deadline is over.
  Seconds deadline() const;
  /// One whose deadline is over; null if there is none.
  Conversation* late() const;
  void forgive(Seconds seconds);

  /// Nothing more is recorded: all processes get SIGTERM, so that a program that saves something by
  /// itself can, and SIGKILL after `patience_s`, or when somebody interrupts.
  void abandon(Seconds patience_s);

 private:
  LaunchId launch(Conversation& conversation, LaunchSpec spec) override;
  void send(LaunchId launch, protocol::Command command) override;
  void signal(LaunchId launch, int signal) override;
  void forget(LaunchId launch) override { processes_.erase(launch); }
  void remind(Conversation& conversation, Seconds before) override;
  Seconds steady() const override { return clock_.steady(); }

  struct Process {
    Conversation* conversation;
    bool is_launched = false;  ///< the executor has it; before, it is but decided on
  };

  Executor& executor_;
  AfterWrite& after_write_;
  const Clock& clock_;
  const Patience patience_;
  std::list<Conversation> all_;  ///< in the order in which they were opened
  std::unordered_map<const Conversation*, std::list<Conversation>::iterator> places_;
  std::unordered_map<LaunchId, Process> processes_;
  std::set<std::pair<Seconds, Conversation*>> deadlines_;
  std::uint64_t last_launch_ = 0;
};

}  // namespace tune
