// The ranks in a population whose trials exploit at several intervals: one sub-population for each.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "schedulers/rungs.h"

namespace tune {

class SubPopulations {
 public:
  /// `intervals`: ascending, at least one. `quantile_fraction`: of a sub-population, so many are
  /// its best, and as many its worst.
  SubPopulations(std::vector<double> intervals, double quantile_fraction)
      : intervals_(std::move(intervals)),
        quantile_fraction_(quantile_fraction),
        ranks_(intervals_.size()) {}

  std::size_t size() const { return intervals_.size(); }
  /// Trials take turns, so that a trial's sub-population is known from its number alone.
  std::size_t of(TrialId id) const { return index_of(id) % size(); }

  double interval(std::size_t group) const { return intervals_[group]; }
  double shortest() const { return intervals_.front(); }
  const Rung& ranks(std::size_t group) const { return ranks_[group]; }

  /// Of the best, and of the worst: ceil(n * quantile_fraction), at most half of all.
  std::size_t quantile_size(std::size_t group) const {
    return quantile_of(ranks_[group].size(), quantile_fraction_);
  }
  static std::size_t quantile_of(std::size_t n, double fraction) {
    constexpr double rounding = 1e-9;
    const double share = static_cast<double>(n) * fraction;
    return std::min(static_cast<std::size_t>(std::ceil(share - rounding)), n / 2);
  }

  /// Of all; nothing if none has a score.
  std::optional<RungEntry> best() const {
    std::optional<RungEntry> best;
    for (const Rung& ranks : ranks_) {
      if (ranks.size() > 0 && (!best || BestFirst()(ranks.at(0), *best))) best = ranks.at(0);
    }
    return best;
  }

  void add(const RungEntry& entry) { ranks_[of(entry.trial)].add(entry); }
  void remove(const RungEntry& entry) { ranks_[of(entry.trial)].remove(entry); }
  /// The ranks of others with the same intervals.
  void take_ranks(SubPopulations& others) { ranks_ = std::move(others.ranks_); }

 private:
  const std::vector<double> intervals_;
  const double quantile_fraction_;
  std::vector<Rung> ranks_;
};

}  // namespace tune
