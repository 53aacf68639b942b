// Deferred actions: what a turn has decided to do (launch, send, signal) is done only once the
// turn's events are written to the journal (write-ahead).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

namespace tune {

class AfterWrite {
 public:
  /// To be done after the write of this turn, in the order of the calls.
  void add(std::function<void()> act) { acts_.push_back(std::move(act)); }

  /// Ends a turn, whose last event is `last_event`: does what was decided in turns up to `written`,
  /// and keeps the rest.
  void end_turn(std::uint64_t last_event, std::uint64_t written) {
    for (; !held_.empty() && held_.front().first <= written; held_.pop_front()) {
      do_all(held_.front().second);
    }
    if (held_.empty() && last_event == written) {
      do_all(acts_);
    } else if (!acts_.empty()) {
      held_.emplace_back(last_event, std::exchange(acts_, {}));
    }
  }

 private:
  using Acts = std::vector<std::function<void()>>;
  static void do_all(Acts& acts) {
    for (const auto& act : acts) act();  // none of them adds to the list
    acts.clear();
  }

  Acts acts_;                                        ///< of this turn
  std::deque<std::pair<std::uint64_t, Acts>> held_;  ///< by the last event of their turn
};

}  // namespace tune
