// A number's prior is a normal distribution on its axis, cut off at the bounds; a choice's makes
// one value so many times likelier than each other.
#include "searchers/priors.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "searchers/normal.h"
#include "searchers/quantile.h"

namespace tune {

namespace {

constexpr double endless = std::numeric_limits<double>::infinity();

/// In ranges. Those of NePS.
double deviation_of(Confidence confidence) {
  if (confidence == Confidence::low) return 0.5;
  return confidence == Confidence::medium ? 0.25 : 0.125;
}

double preference_of(Confidence confidence) {
  if (confidence == Confidence::low) return 2;
  return confidence == Confidence::medium ? 4 : 8;
}

}  // namespace

Priors::Priors(const SearchSpace& space) : space_(space), leaves_(space.leaves().size()) {
  for (std::size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
    if (const auto& prior = space.leaves()[leaf].prior) add(leaf, *prior);
  }
}

Priors::Priors(const SearchSpace& space, const std::vector<double>& coordinates)
    : space_(space), leaves_(space.leaves().size()) {
  for (std::size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
    const Domain& domain = space.leaves()[leaf].domain;
    const Axis axis = axis_of(domain);
    if (std::isnan(coordinates[leaf]) || !axis.is_modelled()) continue;
    add(leaf, {leaf_value_at(domain, axis, coordinates[leaf]), Confidence::medium});
  }
}

void Priors::add(std::size_t leaf, const UserPrior& prior) {
  Leaf one;
  one.value = prior.value;
  one.axis = axis_of(space_.leaves()[leaf].domain);
  any_ = true;
  const double value = prior.value.get<double>();
  if (one.axis.is_choice()) {
    one.center = value;
    one.preference = preference_of(prior.confidence);
  } else if (one.axis.is_single()) {
    one.center = one.axis.coordinate_of(value);
  } else {
    const double range = one.axis.high - one.axis.low;
    one.center = one.axis.coordinate_of(value);
    one.deviation = deviation_of(prior.confidence) * range;
    one.log_scale = -std::log(one.deviation);
    if (one.axis.bounded) {
      one.center = std::clamp(one.center, one.axis.low, one.axis.high);
      one.log_scale += std::log(range) - half_log_two_pi -
                       log_normal_mass((one.axis.low - one.center) / one.deviation,
                                       (one.axis.high - one.center) / one.deviation);
    } else {
      one.log_scale += std::log(range / 4);  // the domain's own deviation
    }
  }
  leaves_[leaf] = std::move(one);
}

double Priors::log_ratio(std::size_t leaf, double coordinate, double* slope) const {
  if (slope != nullptr) *slope = 0;
  if (!leaves_[leaf] || std::isnan(coordinate)) return 0;
  const Leaf& one = *leaves_[leaf];
  if (one.axis.is_choice()) {
    const auto count = static_cast<double>(one.axis.choices);
    const double even = std::log(count / (count - 1 + one.preference));
    return coordinate == one.center ? even + std::log(one.preference) : even;
  }
  if (one.axis.is_single()) return 0;
  const double z = (coordinate - one.center) / one.deviation;
  double value = one.log_scale - z * z / 2;
  if (slope != nullptr) *slope = -z / one.deviation;
  if (!one.axis.bounded) {
    const double own = (one.axis.high - one.axis.low) / 4;
    const double own_z = (coordinate - (one.axis.low + one.axis.high) / 2) / own;
    value += own_z * own_z / 2;
    if (slope != nullptr) *slope += own_z / own;
  }
  return value;
}

double Priors::log_believed(std::size_t leaf, double coordinate, double* slope) const {
  const double ratio = log_ratio(leaf, coordinate, slope);
  if (!leaves_[leaf] || std::isnan(coordinate)) return 0;
  // log((1 + e^ratio) / 2), and how much of it the prior is.
  const double rest = std::log1p(std::exp(-std::abs(ratio)));
  if (slope != nullptr) *slope /= 1 + std::exp(-ratio);
  return std::max(ratio, 0.0) + rest - std::log(2);
}

double Priors::quantile(std::size_t leaf, double share) const {
  const Leaf& one = *leaves_[leaf];
  if (one.axis.is_choice()) {
    const double total = static_cast<double>(one.axis.choices) - 1 + one.preference;
    double left = share * total;
    for (std::size_t i = 0; i < one.axis.choices; ++i) {
      const auto coordinate = static_cast<double>(i);
      left -= coordinate == one.center ? one.preference : 1;
      if (left < 0) return coordinate;
    }
    return one.center;
  }
  if (one.axis.is_single()) return one.center;
  const double lowest = one.axis.bounded ? (one.axis.low - one.center) / one.deviation : -endless;
  const double highest = one.axis.bounded ? (one.axis.high - one.center) / one.deviation : endless;
  const double inside = std::clamp(share, 0x1p-53, 1 - 0x1p-53);  // nobody wants endless
  return one.center + one.deviation * truncated_normal_quantile(inside, lowest, highest);
}

Json Priors::value_at(std::size_t leaf, double share) const {
  return leaf_value_at(space_.leaves()[leaf].domain, leaves_[leaf]->axis, quantile(leaf, share));
}

DrawnFrom Priors::pick(Random& random) const {
  constexpr double believed = 0.5;
  return any_ && random.uniform() < believed ? DrawnFrom::priors : DrawnFrom::space;
}

Json Priors::draw(std::size_t leaf, DrawnFrom from, Random& random) const {
  const Domain& domain = space_.leaves()[leaf].domain;
  if (from == DrawnFrom::space || !leaves_[leaf]) return draw_leaf(domain, random);
  if (from == DrawnFrom::values) return leaves_[leaf]->value;
  return value_at(leaf, random.uniform());
}

Json Priors::sample(DrawnFrom from, Random& random, std::uint64_t grid_point,
                    const Json& preset) const {
  return space_.assemble(
      grid_point, [&](std::size_t leaf) { return draw(leaf, from, random); }, preset);
}

double prior_share(const SearchSpace& space, const Priors& priors,
                   const std::vector<std::vector<double>>& best) {
  if (best.empty()) return 1;
  const Priors nearby(space, best[0]);
  double by_priors = 0, by_best = 0;
  for (std::size_t i = 0; i < best.size(); ++i) {
    double log_prior = 0, log_near = 0;
    for (std::size_t leaf = 0; leaf < best[i].size(); ++leaf) {
      if (!priors.has(leaf)) continue;
      log_prior += priors.log_ratio(leaf, best[i][leaf]);
      log_near += nearby.log_ratio(leaf, best[i][leaf]);
    }
    const auto weight = static_cast<double>(best.size() - i);
    by_priors += weight * std::exp(log_prior);
    by_best += weight * std::exp(log_near);
  }
  return by_priors / (by_priors + by_best);
}

}  // namespace tune
