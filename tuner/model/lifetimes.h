// How long trials held a place among those that run, from their starts to their ends: a histogram,
// so that it costs the same for ten trials and for a million.
#pragma once

#include <cstdint>
#include <map>

#include "trainable/values.h"
#include "tuner/base/clock.h"

namespace tune {

/// Of trials that have ended. Bins are 9 % wide; each knows its sum, so the mean is exact.
class Lifetimes {
 public:
  struct Bin {
    std::uint64_t count = 0;
    Seconds sum_s = 0;
    Seconds mean_s() const { return sum_s / static_cast<double>(count); }
  };

  /// Nothing for trials that never ran.
  void add(Seconds lifetime_s);
  /// A trial that was added is taken up again.
  void remove(Seconds lifetime_s);

  std::uint64_t count() const { return count_; }
  Seconds sum_s() const { return sum_s_; }
  /// The shortest lives first.
  const std::map<int, Bin>& bins() const { return bins_; }

  /// [[bin, count, sum], ...]
  Json save() const;
  /// std::invalid_argument or Json::exception if that was not written by `save`.
  static Lifetimes loaded(const Json& state);

 private:
  std::map<int, Bin> bins_;
  std::uint64_t count_ = 0;
  Seconds sum_s_ = 0;
};

}  // namespace tune
