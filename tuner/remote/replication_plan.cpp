// Which upload, fetch and removal comes next, and what is said of them.
#include "tuner/remote/replication_plan.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "tuner/base/count_of.h"
#include "tuner/model/paths.h"

namespace tune {

using Checkpoints = RemoteConfig::Checkpoints;

void ReplicationPlan::begin(const std::vector<Known>& known) {
  std::set<CheckpointRef> all;
  for (const Known& one : known) {
    if (one.evicted_to.empty()) continue;
    evicted_[one.checkpoint] = one.evicted_to;
    up_[one.checkpoint] = one.evicted_to;
  }
  for (const Known& one : known) {
    all.insert(one.checkpoint);
    expect(one.checkpoint, one.is_best);
    committed(one.checkpoint);
  }
  for (const auto& [checkpoint, directory] : up_) {
    const bool is_known = all.contains(checkpoint);
    if (!is_known && config_.checkpoints != Checkpoints::all) removals_.push_back(directory);
  }
  std::erase_if(up_, [&](const auto& each) { return !all.contains(each.first); });
  // What an earlier driver did not come to evict, or under another number.
  for (const Known& one : known) {
    const TrialId trial = one.checkpoint.trial;
    auto& settled = news_.settled;
    if (config_.keep_local && (settled.empty() || settled.back() != trial)) {
      settled.push_back(trial);
    }
  }
}

void ReplicationPlan::expect(CheckpointRef checkpoint, bool is_best) {
  const Checkpoints which = config_.checkpoints;
  if (which == Checkpoints::none || (which == Checkpoints::best && !is_best)) return;
  if (!up_.contains(checkpoint)) expected_.insert(checkpoint);
}

void ReplicationPlan::committed(CheckpointRef checkpoint) {
  if (expected_.erase(checkpoint) == 0) return;
  if (config_.checkpoints == Checkpoints::best) {
    // The best until now, which is not wanted any more: were it put up later, it would replace
    // this.
    std::erase_if(queue_,
                  [&](const CheckpointRef& other) { return other.trial == checkpoint.trial; });
  }
  queue_.insert(checkpoint);
}

void ReplicationPlan::dropped(TrialId trial, const std::vector<int>& indices) {
  for (const int index : indices) {
    const CheckpointRef checkpoint{trial, index};
    expected_.erase(checkpoint);
    queue_.erase(checkpoint);
    unfit_.erase(checkpoint);
    const auto up = up_.find(checkpoint);
    if (up == up_.end()) continue;
    if (config_.checkpoints != Checkpoints::all) removals_.push_back(up->second);
    up_.erase(up);
  }
}

bool ReplicationPlan::needs(CheckpointRef checkpoint) const {
  const bool waits = expected_.contains(checkpoint) || queue_.contains(checkpoint);
  if (waits && config_.checkpoints == Checkpoints::all) return true;
  // Of a trial that saves faster than that goes up, there would never be one.
  if (under_way_ == checkpoint && waits) return true;
  const auto up = up_.find(checkpoint);
  if (up == up_.end()) return false;
  const auto next_up = std::next(up);
  const bool is_newest = next_up == up_.end() || next_up->first.trial != checkpoint.trial;
  const auto is_newer = [&](const std::set<CheckpointRef>& coming) {
    const auto next = coming.upper_bound(checkpoint);
    return next != coming.end() && next->trial == checkpoint.trial;
  };
  return is_newest && (is_newer(expected_) || is_newer(queue_));
}

std::optional<RemotePlace> ReplicationPlan::place(CheckpointRef checkpoint) const {
  const auto up = up_.find(checkpoint);
  if (up == up_.end()) return std::nullopt;
  return RemotePlace{root_, up->second};
}

void ReplicationPlan::fetch(CheckpointRef checkpoint) {
  fetches_.insert(checkpoint);
  if (!is_reachable()) say_it_waits(checkpoint, last_error_);
}

void ReplicationPlan::finish() {
  is_finishing_ = true;
  queue_.insert(expected_.begin(), expected_.end());
  expected_.clear();
}

std::optional<CheckpointRef> ReplicationPlan::next_upload() {
  if (queue_.empty()) return std::nullopt;
  constexpr int no_more = std::numeric_limits<int>::max();
  auto next = queue_.upper_bound({last_trial_, no_more});
  if (next == queue_.end()) next = queue_.begin();
  last_trial_ = next->trial;
  under_way_ = *std::prev(queue_.upper_bound({last_trial_, no_more}));
  return under_way_;
}

void ReplicationPlan::note_nothing_under_way() {
  if (!under_way_) return;
  news_.settled.push_back(under_way_->trial);
  under_way_.reset();
}

void ReplicationPlan::note_up(CheckpointRef checkpoint, const std::string& directory) {
  ++uploaded_;
  under_way_.reset();
  if (queue_.erase(checkpoint) == 0) {
    removals_.push_back(directory);  // dropped meanwhile
    return;
  }
  up_[checkpoint] = directory;
  news_.settled.push_back(checkpoint.trial);
  if (config_.checkpoints != Checkpoints::best) return;
  for (auto other = up_.lower_bound({checkpoint.trial, 0});
       other != up_.end() && other->first.trial == checkpoint.trial;) {
    if (other->first == checkpoint) {
      ++other;
    } else {
      removals_.push_back(other->second);
      other = up_.erase(other);
    }
  }
}

void ReplicationPlan::note_lost(CheckpointRef checkpoint) {
  queue_.erase(checkpoint);
  under_way_.reset();
  news_.settled.push_back(checkpoint.trial);
}

void ReplicationPlan::note_unfit(CheckpointRef checkpoint, const std::string& why) {
  note_lost(checkpoint);
  note_error(why);
  if (unfit_.empty()) {
    news_.notices.push_back(why + ": until then such checkpoints stay on this disk alone");
  }
  unfit_.insert(checkpoint);
}

std::optional<CheckpointRef> ReplicationPlan::next_fetch() const {
  if (fetches_.empty() || is_finishing_) return std::nullopt;
  return *fetches_.begin();
}

void ReplicationPlan::note_fetched(CheckpointRef checkpoint, const std::string& lost) {
  fetches_.erase(checkpoint);
  said_.erase(checkpoint);
  news_.fetched.push_back({checkpoint, lost});
}

void ReplicationPlan::note_slow_fetch(CheckpointRef checkpoint) {
  news_.notices.push_back("checkpoint " + std::to_string(checkpoint.index) + " of " +
                          to_string(checkpoint.trial) + " is still on its way from " + root_ +
                          "; who is to start from it waits, and the others go on");
}

void ReplicationPlan::note_fetch_failure(CheckpointRef checkpoint, const std::string& why) {
  note_error(why);
  say_it_waits(checkpoint, why);
}

/// Once, until it has come.
void ReplicationPlan::say_it_waits(CheckpointRef checkpoint, const std::string& why) {
  if (!said_.insert(checkpoint).second) return;
  news_.notices.push_back("checkpoint " + std::to_string(checkpoint.index) + " of " +
                          to_string(checkpoint.trial) +
                          " is only on the remote and cannot be fetched: " + why +
                          "; who is to start from it waits, and the others go on");
}

void ReplicationPlan::note_removed(std::size_t count) {
  removals_.erase(removals_.begin(), removals_.begin() + static_cast<std::ptrdiff_t>(count));
}

void ReplicationPlan::note_error(const std::string& why) {
  ++failures_;
  last_error_ = why;
}

void ReplicationPlan::note_failure(const std::string& why, Seconds now) {
  note_error(why);
  if (is_reachable()) {
    unreachable_since_ = now;
    news_.notices.push_back(why + "; training goes on, and what is to be on the remote waits");
  }
  for (const CheckpointRef& each : fetches_) say_it_waits(each, why);
}

void ReplicationPlan::note_success(Seconds now) {
  if (is_reachable()) return;
  news_.notices.push_back(
      "the remote is well again after " +
      std::to_string(std::max(0L, static_cast<long>(now - unreachable_since_))) +
      " s, and what waited goes up");
  unreachable_since_ = 0;
}

void ReplicationPlan::note_taken_over(const std::string& why) {
  note_error(why);
  news_.taken_over = why;
}

std::string ReplicationPlan::left() const {
  const std::size_t checkpoints = queue_.size() + expected_.size() + unfit_.size();
  return checkpoints > 0 ? count_of(checkpoints, "checkpoint") : "the last part of the state";
}

std::string ReplicationPlan::waiting() const {
  const std::size_t count = queue_.size() + expected_.size();
  if (count == 0) return "";
  return std::to_string(count) + (count == 1 ? " more checkpoint is" : " more checkpoints are");
}

Json ReplicationPlan::status() const {
  Json fetches = Json::array();
  for (const auto& [trial, index] : fetches_) {
    fetches.push_back(paths::checkpoint(to_string(trial), index).native());
  }
  return {{"remote", root_},
          {"checkpoints_up", up_.size()},
          {"checkpoints_waiting", queue_.size() + expected_.size()},
          {"uploaded", uploaded_},
          {"failures", failures_},
          {"last_error", last_error_},
          {"unreachable_since", is_reachable() ? Json() : Json(unreachable_since_)},
          {"fetching", std::move(fetches)}};
}

}  // namespace tune
