// The inverse distribution function of each kind of domain, for quasi-random searchers.
#include "searchers/quantile.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "searchers/normal.h"
#include "tuner/base/error.h"

namespace tune {

namespace {

/// Number `i` of `n` that share the probability evenly.
std::uint64_t place_of(double share, std::uint64_t n) {
  const auto place = static_cast<std::uint64_t>(share * static_cast<double>(n));
  return std::min(place, n - 1);
}

double between(double lower, double upper, double share, bool log) {
  if (share == 0) return lower;  // which is not always the exponential of its logarithm
  if (!log) return lower + share * (upper - lower);
  return std::exp(std::log(lower) + share * (std::log(upper) - std::log(lower)));
}

Json quantile_of(const Uniform& domain, double share) {
  const auto steps = domain.log ? std::nullopt : count_values(domain);
  if (steps) return nth_value(domain, place_of(share, *steps));
  const auto [lower, upper] = span_of(domain);
  return nearest(domain, between(lower, upper, share, domain.log));
}

Json quantile_of(const Normal& domain, double share) {
  // Nobody wants infinity.
  const double inside = std::clamp(share, 0x1p-53, 1 - 0x1p-53);
  return nearest(domain, domain.mean + domain.sd * normal_quantile(inside));
}

Json quantile_of(const Integer& domain, double share) {
  if (!domain.log) return nth_value(domain, place_of(share, *count_values(domain)));
  const auto [lower, upper] = span_of(domain);
  const double value = between(lower, upper, share, true);
  return nearest(domain, domain.q == 1 ? std::floor(value) : value);
}

Json quantile_of(const Choice& domain, double share) {
  return place_of(share, domain.values.size());
}

template <class Other>
Json quantile_of(const Other&, double) {
  ensure(false, "a leaf of a space is a number or a choice");
  return nullptr;
}

}  // namespace

Json leaf_quantile(const Domain& domain, double share) {
  return std::visit([&](const auto& one) { return quantile_of(one, share); }, domain);
}

}  // namespace tune
