// A random generator whose numbers are the same on every platform and whose state can be saved.
// The standard distributions are implementation-defined, so the few we need are here.
#pragma once

#include <array>
#include <cstdint>

#include "trainable/values.h"

namespace tune {

/// xoshiro256** 1.0 (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2018),
/// seeded by splitmix64.
class Random {
 public:
  explicit Random(std::uint64_t seed);

  std::uint64_t bits();

  /// Uniform in [0, 1), a multiple of 2^-53.
  double uniform();
  /// Uniform in [lower, upper).
  double uniform(double lower, double upper);
  /// Uniform in {0, ..., n - 1}; without bias (Lemire, "Fast random integer generation in an
  /// interval", 2019). n > 0.
  std::uint64_t below(std::uint64_t n);
  /// Normal with the given mean and standard deviation (Marsaglia's polar method; keeps no spare,
  /// so that the state is the four words alone).
  double normal(double mean, double standard_deviation);

  /// The state as four integers; `load` throws Error on anything else.
  Json save() const;
  void load(const Json& state);

 private:
  std::array<std::uint64_t, 4> state_;
};

}  // namespace tune
