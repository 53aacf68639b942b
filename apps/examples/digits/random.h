// A random generator that gives the same numbers on every platform and whose whole state is one
// number (SplitMix64: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators",
// 2014). The distributions of <random> differ between standard libraries, and a resumed training
// must see the same shuffles.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace digits {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  /// Uniform over all 64-bit numbers.
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  /// Uniform over 0 .. `count` - 1, without bias; `count` > 0.
  std::uint64_t below(std::uint64_t count) {
    const std::uint64_t surplus = (0 - count) % count;  // 2^64 mod count
    std::uint64_t drawn = next();
    while (drawn < surplus) drawn = next();
    return drawn % count;
  }

  /// Uniform in [low, high).
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(next() >> 11) * 0x1.0p-53;
  }

  /// Fisher and Yates: every order equally likely.
  template <class T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t left = values.size(); left > 1; --left)
      std::swap(values[left - 1], values[below(left)]);
  }

  /// `Random(r.state())` goes on where `r` is.
  std::uint64_t state() const { return state_; }

 private:
  std::uint64_t state_;
};

}  // namespace digits
