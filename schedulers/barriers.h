// When the sub-populations of a synchronous population exploit. All trials wait for all at each of
// these times, whosever turn it is.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "tuner/policy/policy_state.h"

namespace tune {

class Barriers {
 public:
  /// One interval for each sub-population; none exploits before `burn_in`.
  Barriers(std::vector<double> intervals, double burn_in)
      : intervals_(std::move(intervals)), burn_in_(burn_in) {
    reset();
  }

  void reset() {
    turns_ = intervals_;
    for (double& turn : turns_) turn = std::max(turn, burn_in_);
    next_ = *std::min_element(turns_.begin(), turns_.end());
  }

  double next() const { return next_; }

  /// Whose turn is at the next one.
  bool is_turn_of(std::size_t group) const {
    // Multiples of two intervals that are one barrier may differ in their last digits.
    constexpr double rounding = 1e-9;
    return turns_[group] <= next_ * (1 + rounding);
  }

  /// All have come to it, one of them as far as `latest`.
  void open(double latest) {
    for (std::size_t group = 0; group < turns_.size(); ++group) {
      double& turn = turns_[group];
      if (is_turn_of(group)) turn = std::max(turn + intervals_[group], latest);
    }
    next_ = std::max(*std::min_element(turns_.begin(), turns_.end()), latest);
  }

  /// To the first ones that are behind `time`.
  void go_on_behind(double time) {
    for (std::size_t group = 0; group < turns_.size(); ++group) {
      double& turn = turns_[group];
      if (time < turn) continue;
      turn += (std::floor((time - turn) / intervals_[group]) + 1) * intervals_[group];
    }
    next_ = *std::min_element(turns_.begin(), turns_.end());
  }

  /// The times of others with the same intervals.
  void take(const Barriers& others) {
    turns_ = others.turns_;
    next_ = others.next_;
  }
  /// Of one interval, the barrier alone.
  void save_to(Json& state) const {
    state["next_sync"] = encode_number(next_);
    if (turns_.size() == 1) return;
    for (const double turn : turns_) state["turns"].push_back(encode_number(turn));
  }
  void load_from(const Json& state) {
    next_ = load_number(state.at("next_sync"));
    turns_.assign(intervals_.size(), next_);
    if (turns_.size() == 1) return;
    for (std::size_t group = 0; group < turns_.size(); ++group) {
      turns_[group] = load_number(state.at("turns").at(group));
    }
  }

 private:
  const std::vector<double> intervals_;
  const double burn_in_;
  std::vector<double> turns_;  ///< next times at which each sub-population exploits
  double next_ = 0;
};

}  // namespace tune
