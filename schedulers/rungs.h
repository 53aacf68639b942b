// What successive halving is made of: milestones, and the scores that were seen at one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "schedulers/sorted_chunks.h"
#include "tuner/math/random.h"
#include "tuner/model/trial.h"

namespace tune {

/// first, first * factor, first * factor^2 ... up to `last`, inclusive but for rounding.
std::vector<double> rung_milestones(double first, double last, double factor);

/// How hyperband's bracket halves: so many trials train until each milestone; the last is max_t.
/// Milestones that are the same are one, at which as many are left as train until the next.
struct BracketShape {
  std::vector<std::int64_t> sizes;
  std::vector<double> milestones;
};

/// The brackets of one band for max_t >= 1, the one with the most halvings first. With
/// s_max = floor(log(max_t) / log(factor)), bracket s = s_max ... 0 has
/// n = ceil((s_max + 1) / (s + 1) * factor^s) trials, of which floor(n / factor^i) train until
/// floor(max_t * factor^(i - s)), for i = 0 ... s.
std::vector<BracketShape> hyperband_shapes(double max_t, double factor);

/// A bracket for a new trial: bracket s has `rungs` - s rungs, and probability proportional to
/// e^(number of its rungs). Draws nothing if there is only one bracket.
int draw_bracket(int brackets, int rungs, Random& random);

/// The score of a trial at a milestone. The best comes first; NaN, worse than all numbers, last.
/// Of equal scores that of the older trial comes first.
struct RungEntry {
  double score = 0;
  TrialId trial{};
  bool operator==(const RungEntry&) const = default;
};
struct BestFirst {
  bool operator()(const RungEntry& a, const RungEntry& b) const;
};

/// How many trials were judged at one milestone, and how many of them were let go on.
struct RungTally {
  std::uint64_t reached = 0;
  std::uint64_t went_on = 0;
};
/// Those of brackets, by bracket and milestone: [[[reached, went on], ...], ...].
Json save_tallies(const std::vector<std::vector<RungTally>>& tallies);
/// Into ones of the same shape. False, and as they were, if `state` is null: an older program's.
bool load_tallies(const Json& state, std::vector<std::vector<RungTally>>& tallies);

/// The scores at one milestone.
class Rung {
 public:
  void add(const RungEntry& entry) { entries_.insert(entry); }
  void remove(const RungEntry& entry) { entries_.erase(entry); }
  std::size_t size() const { return entries_.size(); }
  /// The one that `rank` others are better than: 0 is the best.
  const RungEntry& at(std::size_t rank) const { return entries_.at(rank); }
  /// How many entries are better.
  std::size_t rank(const RungEntry& entry) const { return entries_.rank(entry); }
  /// The `fraction` quantile from below, 0 to 1, interpolated linearly between neighbours (as
  /// numpy's percentile does). Needs at least one entry, and none that is NaN.
  double quantile(double fraction) const;
  /// Whether a score is at least that quantile. If that lies between two scores, one that is equal
  /// to it but for rounding is.
  bool is_reached(double score, double fraction) const;

  /// [[trial, ...], [score, ...]], best first.
  Json save() const;
  /// std::invalid_argument or Json::exception if that was not written by `save`.
  static Rung loaded(const Json& state);

 private:
  struct Neighbours {
    double lower, upper;
    double part;  ///< of the way from the one to the other
  };
  Neighbours around(double fraction) const;

  SortedChunks<RungEntry, BestFirst> entries_;
};

}  // namespace tune
