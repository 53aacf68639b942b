// Counts trials that fail in a row; opens with a pause that doubles, probes with one trial, closes
// at a result, and names the trials that were not to blame.
#include "tuner/run/trials/circuit_breaker.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tune {

namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

bool CircuitBreaker::allows_launch(Seconds now) {
  if (given_up_) return false;
  if (!is_open_) return true;
  const Seconds life_s = std::max(shortest_life_s, 2 * longest_life_s_);
  // The probe has lived twice as long as those that failed: it counts as working, since its first
  // result may be an hour away.
  if (probe_ && now >= probed_at_ + life_s) close();
  return !is_open_ || (!probe_ && now >= until_);
}

void CircuitBreaker::on_launch(TrialId trial, Seconds now) {
  if (!is_open_) return;
  probe_ = trial;
  probed_at_ = now;
}

void CircuitBreaker::on_launch_failed(TrialId trial, const std::string& reason, Seconds now) {
  last_reason_ = reason;
  if (is_open_ && probe_ != trial) return;  // launched before, and no news
  if (!is_open_ && streak_.empty()) streak_began_at_ = now;
  open("the machine cannot run a trial (" + first_line(reason) + ")", now);
}

void CircuitBreaker::on_failure(TrialId trial, const std::string& reason, Blame blame,
                                Seconds began_at, Seconds now) {
  const bool was_probe = probe_ == trial;
  if (was_probe) probe_.reset();
  if (given_up_) {
    blameless_.insert(trial);
    return;
  }
  // It has failed before, and on a machine that worked.
  if (limit_ < 0 || forgiven_.contains(trial)) return;
  const std::string kind = kind_of_failure(reason);
  const auto returns = returns_.find(kind);
  // An unknown kind that came and went before, while other trials went on, is the configs' too.
  const bool is_explained =
      blame == Blame::config ||
      (blame == Blame::unknown && returns != returns_.end() && returns->second >= least_returns);
  if (is_explained && has_results_) return;
  const bool is_first = streak_.empty() && explained_.empty();
  is_one_reason_ = is_first || (is_one_reason_ && kind == kind_of_failure(last_reason_));
  last_trial_ = trial;
  last_reason_ = reason;
  if (is_first) {
    first_trial_ = trial;
    first_reason_ = reason;
  }
  if (is_explained) {
    explained_.insert(trial);
    if (explained_.size() < most_explained_before_any_result) return;
    streak_.merge(explained_);
  }
  streak_began_at_ = streak_.empty() ? began_at : std::min(streak_began_at_, began_at);
  longest_life_s_ = std::max(longest_life_s_, now - began_at);
  streak_.insert(trial);
  if (blame == Blame::unknown) streak_kinds_.insert(kind);
  const auto limit = static_cast<std::size_t>(limit_);
  if (!has_results_ && is_unfit_) {
    give_up("no trial has reported what it should: " + first_line(reason));
  } else if (!has_results_ && streak_.size() >= std::min(limit, most_failures_before_any_result)) {
    give_up("the first " + streak_text() + ", and there is no result yet");
  } else if (is_open_ ? was_probe : streak_.size() >= limit) {
    open(streak_text(), now);
  }
}

void CircuitBreaker::on_result(Seconds began_at) {
  has_results_ = true;
  explained_.clear();
  const bool is_doubtful = is_open_ || !streak_.empty();
  if (is_doubtful && began_at < streak_began_at_) return;
  if (is_open_) {
    close();
  } else if (!streak_.empty()) {
    constexpr std::size_t most_kinds = 1000;
    if (returns_.size() > most_kinds) returns_.clear();
    for (const std::string& kind : streak_kinds_) ++returns_[kind];
    end_streak();
  }
}

void CircuitBreaker::on_end(TrialId trial) {
  if (probe_ == trial) probe_.reset();
}

std::string CircuitBreaker::waits_for(Seconds now) const {
  if (!is_open_ || given_up_) return "";
  const std::string why = " (" + first_line(last_reason_) + ")";
  if (probe_) return to_string(*probe_) + ", which is tried alone after failures" + why;
  return "the end of a pause after failures, in " +
         std::to_string(static_cast<long>(std::ceil(std::max(until_ - now, 0.0)))) + " s" + why;
}

Seconds CircuitBreaker::deadline() const {
  if (!is_open_ || given_up_) return std::numeric_limits<Seconds>::infinity();
  return probe_ ? probed_at_ + std::max(shortest_life_s, 2 * longest_life_s_) : until_;
}

void CircuitBreaker::forgive(const std::set<TrialId>& trials) {
  for (const TrialId trial : trials) {
    streak_.erase(trial);
    explained_.erase(trial);
    if (forgiven_.insert(trial).second) blameless_.insert(trial);
  }
  if (streak_.empty() && is_open_ && !given_up_) close();
}

std::vector<std::string> CircuitBreaker::take_notices() { return std::exchange(notices_, {}); }

std::set<TrialId> CircuitBreaker::take_blameless() { return std::exchange(blameless_, {}); }

void CircuitBreaker::open(const std::string& reason, Seconds now) {
  if (given_up_) return;
  probe_.reset();
  if (pauses_ == (has_results_ ? most_pauses : most_pauses_before_any_result)) {
    give_up(reason);
    return;
  }
  const Seconds pause_s = std::min(longest_pause_s, first_pause_s * std::exp2(pauses_));
  ++pauses_;
  is_open_ = true;
  until_ = now + pause_s;
  notices_.push_back(reason + ": that looks like a fault of the machine, so the next is tried in " +
                     std::to_string(static_cast<int>(pause_s)) + " s, alone");
}

void CircuitBreaker::close() {
  notices_.push_back("trials run again: launches go on");
  for (const TrialId trial : streak_) {
    if (forgiven_.insert(trial).second) blameless_.insert(trial);
  }
  end_streak();
  is_open_ = false;
  pauses_ = 0;
}

void CircuitBreaker::end_streak() {
  streak_.clear();
  streak_kinds_.clear();
  longest_life_s_ = 0;
}

void CircuitBreaker::give_up(const std::string& reason) {
  given_up_ = reason;
  blameless_ = streak_;
}

std::string CircuitBreaker::streak_text() const {
  const std::string all =
      std::to_string(streak_.size()) + " trials that were started have all failed";
  // The first one may have been forgiven, or be one whose config explains it.
  if (is_one_reason_ && streak_.contains(first_trial_)) {
    return all + " alike, the first of them " + to_string(first_trial_) + ": " +
           first_line(first_reason_);
  }
  return all + (is_one_reason_ ? " alike" : "") + ", the last of them " + to_string(last_trial_) +
         ": " + first_line(last_reason_);
}

}  // namespace tune
