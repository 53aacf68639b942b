// xoshiro256** seeded by splitmix64, and the distributions over it.
#include "tuner/math/random.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "tuner/base/error.h"

namespace tune {

namespace {
std::uint64_t splitmix(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
}  // namespace

Random::Random(std::uint64_t seed) {
  for (auto& word : state_) word = splitmix(seed);
}

std::uint64_t Random::bits() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Random::uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

double Random::uniform(double lower, double upper) {
  // Rounding can reach `upper` when the interval is wide or far from zero.
  const double value = lower + (upper - lower) * uniform();
  return value < upper ? value : std::nextafter(upper, lower);
}

std::uint64_t Random::below(std::uint64_t n) {
  ensure(n > 0, "Random::below is given at least 1");
  auto product = static_cast<unsigned __int128>(bits()) * n;
  if (static_cast<std::uint64_t>(product) < n) {
    const std::uint64_t rejected = -n % n;
    while (static_cast<std::uint64_t>(product) < rejected) {
      product = static_cast<unsigned __int128>(bits()) * n;
    }
  }
  return static_cast<std::uint64_t>(product >> 64);
}

double Random::normal(double mean, double standard_deviation) {
  for (;;) {
    const double u = 2 * uniform() - 1;
    const double v = 2 * uniform() - 1;
    const double s = u * u + v * v;
    if (s > 0 && s < 1) return mean + standard_deviation * u * std::sqrt(-2 * std::log(s) / s);
  }
}

Json Random::save() const { return state_; }

void Random::load(const Json& state) {
  const bool is_ours = state.is_array() && state.size() == state_.size() &&
                       std::all_of(state.begin(), state.end(),
                                   [](const Json& word) { return word.is_number_unsigned(); });
  if (!is_ours) throw user_error("the saved state of a random generator is not four integers");
  state_ = state.get<std::array<std::uint64_t, 4>>();
}

}  // namespace tune
