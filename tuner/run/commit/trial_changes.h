// Which trials have changed since the last snapshot took them in.
#pragma once

#include <deque>
#include <vector>

#include "tuner/model/event.h"

namespace tune {

/// In the order of their first change.
class TrialChanges {
 public:
  /// Marks what `event` is about.
  void note(const Event& event);

  /// Calls `visit(trial)` for each, and forgets them.
  template <class Visit>
  void take_all(const Visit& visit) {
    for (const TrialId trial : changed_) take(trial, visit);
    changed_.clear();
    ended_.clear();
  }
  /// The same for at most `limit` of those whose attempt has ended: they mostly stay as they are.
  template <class Visit>
  void take_ended(std::size_t limit, const Visit& visit) {
    for (; limit > 0 && !ended_.empty(); --limit) {
      take(ended_.front(), visit);
      ended_.pop_front();
    }
  }

 private:
  void mark(TrialId trial);
  template <class Visit>
  void take(TrialId trial, const Visit& visit) {
    if (!is_marked_[index_of(trial)]) return;
    is_marked_[index_of(trial)] = false;
    visit(trial);
  }
  std::vector<TrialId> changed_;  ///< also those that were taken since
  std::deque<TrialId> ended_;
  std::vector<bool> is_marked_;
};

}  // namespace tune
