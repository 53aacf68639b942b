// A searcher that has paused trials go on, in its own order: what was paused last goes first.
#pragma once

#include <set>
#include <utility>

#include "tuner/policy/policy_state.h"
#include "tuner/policy/searcher.h"

namespace tune {

/// `n` trials with configs from {"x": 0} to below {"x": 1}; `most_open` of them have not ended at
/// one time.
class ThawingSearcher : public Searcher {
 public:
  ThawingSearcher(int n, int most_open, bool is_slow = false)
      : n_(n), most_open_(most_open), is_slow_(is_slow) {}

  Answer suggest(TrialId) override {
    if (!paused_.empty()) return Resume{*paused_.rbegin()};
    const int open = static_cast<int>(running_.size());
    if (next_ < n_ && open < most_open_) return Suggestion{{{"x", 1.0 * next_++ / n_}}, ""};
    if (open > 0) return NothingNow{};
    return Exhausted{};
  }
  void on_trial_add(TrialId id, const std::string&) override { running_.insert(id); }
  void on_trial_pause(TrialId id, const Observation&) override {
    running_.erase(id);
    paused_.insert(id);
  }
  void on_trial_resume(TrialId id) override {
    paused_.erase(id);
    running_.insert(id);
  }
  /// A scheduler, or the user, has had it go on.
  void on_result(TrialId id, const Observation&) override { on_trial_resume(id); }
  void on_trial_end(TrialId id, const Observation&, Ended) override {
    running_.erase(id);
    paused_.erase(id);
  }
  bool may_take_long() const override { return is_slow_; }
  Json save() const override { return {next_, running_, paused_}; }
  void load(const Json& state) override {
    load_state("the thawing searcher", [&] {
      next_ = state.at(0).get<int>();
      running_ = state.at(1).get<std::set<TrialId>>();
      paused_ = state.at(2).get<std::set<TrialId>>();
    });
  }

 private:
  const int n_;
  const int most_open_;
  const bool is_slow_;
  int next_ = 0;
  std::set<TrialId> running_;
  std::set<TrialId> paused_;
};

}  // namespace tune
