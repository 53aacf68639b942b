// Builds the Parzen mixture's kernels, samples from it, and evaluates its log density for many
// points at once.
#include "searchers/parzen.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

#include "searchers/normal.h"
#include "tuner/base/error.h"

namespace tune {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double least_deviation = 1e-12;  ///< without magic_clip

/// The logarithm of a sum of exponentials, of which more come again and again.
class LogSum {
 public:
  /// What is less than this part of the sum does not change its digits.
  static constexpr double negligible = -45;

  void add(const double* terms, std::size_t n) {
    const double most = *std::max_element(terms, terms + n);
    if (most > most_) {
      sum_ *= std::exp(most_ - most);
      most_ = most;
    }
    for (std::size_t i = 0; i < n; ++i) {
      if (terms[i] > most_ + negligible) sum_ += std::exp(terms[i] - most_);
    }
  }
  double value() const { return most_ + std::log(sum_); }

 private:
  double most_ = -std::numeric_limits<double>::max(), sum_ = 0;
};

/// How far the neighbours of each observation are, at least `least` and at most the range.
std::vector<double> deviations_of(const ParzenColumn& column, const ParzenRules& rules) {
  const Axis& axis = *column.axis;
  const std::size_t n = column.at.size();
  const double range = axis.high - axis.low;
  const double least =
      rules.magic_clip ? range / std::min(100.0, 2.0 + static_cast<double>(n)) : least_deviation;
  std::vector<double> deviations;
  deviations.reserve(n + 1);  // for the wide kernel's
  deviations.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double here = column.at[column.ascending[i]];
    const double left = here - (i > 0 ? column.at[column.ascending[i - 1]] : axis.low);
    const double right = (i + 1 < n ? column.at[column.ascending[i + 1]] : axis.high) - here;
    double farther = std::max(left, right);
    if (!rules.endpoints && n >= 2 && i == 0) farther = right;
    if (!rules.endpoints && n >= 2 && i + 1 == n) farther = left;
    deviations[column.ascending[i]] = std::clamp(farther, least, std::max(least, range));
  }
  return deviations;
}

/// Where the step of `x` begins and ends.
std::pair<double, double> step_of(const Axis& axis, double x) {
  const double value = axis.value_at(x);
  return {axis.coordinate_of(value - axis.step / 2), axis.coordinate_of(value + axis.step / 2)};
}

}  // namespace

std::vector<std::uint32_t> ascending_order(const std::vector<double>& at) {
  std::vector<std::uint32_t> order(at.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return at[a] < at[b]; });
  return order;
}

Parzen::Parzen(std::vector<ParzenColumn> columns, std::vector<double> weights,
               const ParzenRules& rules, double belief_weight)
    : has_belief_(std::any_of(columns.begin(), columns.end(),
                              [](const auto& column) { return column.belief.has_value(); })) {
  const std::size_t seen = weights.size();
  if (has_belief_) weights.push_back(belief_weight);
  weights.push_back(weights.empty() ? 1 : rules.prior_weight);
  kernels_ = weights.size();
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double sum = 0;
  constant_.reserve(kernels_);
  cumulated_.reserve(kernels_);
  for (const double weight : weights) {
    constant_.push_back(std::log(weight / total));
    cumulated_.push_back(sum += weight / total);
  }
  for (std::size_t place = 0; place < columns.size(); ++place) {
    ensure(columns[place].at.size() == seen, "all columns of a model have the same configs");
    axes_.push_back(columns[place].axis);
    add(columns[place], rules, place);
  }
}

void Parzen::add(const ParzenColumn& column, const ParzenRules& rules, std::size_t place) {
  if (column.axis->is_choice()) {
    add_choices(column, rules, place);
  } else {
    add_numbers(column, rules, place);
  }
}

void Parzen::add_choices(const ParzenColumn& column, const ParzenRules& rules, std::size_t place) {
  const auto count = static_cast<double>(column.axis->choices);
  const double base = rules.prior_weight / static_cast<double>(kernels_);
  const double total = count * base + 1;
  Choices choices{place, column.axis->choices, column.at, std::log((base + 1) / total),
                  std::log(base / total)};
  if (column.belief) choices.seen.push_back(column.belief->mean);
  while (choices.seen.size() < kernels_) {  // nothing is, and all values are as probable
    constant_[choices.seen.size()] += -std::log(count) - choices.miss;
    choices.seen.push_back(-1);
  }
  choices_.push_back(std::move(choices));
}

void Parzen::add_numbers(const ParzenColumn& column, const ParzenRules& rules, std::size_t place) {
  const Axis& axis = *column.axis;
  Numbers numbers;
  numbers.column = place;
  numbers.mean.reserve(kernels_);
  numbers.mean = column.at;
  numbers.deviation = deviations_of(column, rules);
  if (column.belief) {
    numbers.mean.push_back(column.belief->mean);
    numbers.deviation.push_back(column.belief->deviation);
  }
  while (numbers.mean.size() < kernels_) {
    numbers.mean.push_back((axis.low + axis.high) / 2);
    // A normal distribution is what its user expects, and `low` and `high` are 4 deviations apart.
    numbers.deviation.push_back((axis.high - axis.low) / (axis.bounded ? 1 : 4));
  }
  numbers.inverse_deviation.reserve(kernels_);
  for (const double deviation : numbers.deviation) {
    numbers.inverse_deviation.push_back(1 / deviation);
  }
  add_scale(axis, numbers);
  if (axis.step > 0) {
    // Kernels of one mean are neighbours, and differ in few deviations.
    numbers.kind.resize(kernels_);
    const auto sort_in = [&](std::size_t kernel) {
      const double mean = numbers.mean[kernel];
      const double inverse = numbers.inverse_deviation[kernel];
      std::size_t kind = numbers.kind_mean.size();
      while (kind > 0 && numbers.kind_mean[kind - 1] == mean &&
             numbers.kind_inverse_deviation[kind - 1] != inverse) {
        --kind;
      }
      if (kind == 0 || numbers.kind_mean[kind - 1] != mean) {
        numbers.kind_mean.push_back(mean);
        numbers.kind_inverse_deviation.push_back(inverse);
        kind = numbers.kind_mean.size();
      }
      numbers.kind[kernel] = static_cast<std::uint32_t>(kind - 1);
    };
    for (const std::uint32_t kernel : column.ascending) sort_in(kernel);
    if (has_belief_) sort_in(kernels_ - 2);
    sort_in(kernels_ - 1);
  }
  numbers_.push_back(std::move(numbers));
}

/// Adds to the constants what makes each kernel's density (or sum of probabilities) 1 within
/// bounds.
void Parzen::add_scale(const Axis& axis, Numbers& numbers) {
  double deviation = 0, log_deviation = 0;  // many kernels have the same
  for (std::size_t kernel = 0; kernel < kernels_; ++kernel) {
    if (axis.bounded) {
      const double inverse = numbers.inverse_deviation[kernel];
      constant_[kernel] -= log_normal_mass((axis.low - numbers.mean[kernel]) * inverse,
                                           (axis.high - numbers.mean[kernel]) * inverse);
    }
    if (axis.step > 0) continue;
    if (deviation != numbers.deviation[kernel]) {
      deviation = numbers.deviation[kernel];
      log_deviation = std::log(deviation);
    }
    constant_[kernel] -= log_deviation + half_log_two_pi;
  }
}

std::vector<double> Parzen::sample(std::size_t n, const Uniforms& uniforms) const {
  std::vector<std::size_t> kernels(n);
  for (std::size_t& kernel : kernels) {
    const double at = uniforms();
    const auto found =
        std::upper_bound(cumulated_.begin(), cumulated_.end(), at * cumulated_.back());
    kernel =
        std::min<std::size_t>(static_cast<std::size_t>(found - cumulated_.begin()), kernels_ - 1);
  }
  const std::size_t width = axes_.size();
  std::vector<double> points(n * width);
  for (const Choices& choices : choices_) {
    for (std::size_t i = 0; i < n; ++i) {
      const double at = uniforms();
      const double seen = choices.seen[kernels[i]];
      const double even = 1 / static_cast<double>(choices.count);
      double sum = 0;
      std::size_t value = 0;
      for (; value + 1 < choices.count; ++value) {
        const bool is_seen = static_cast<double>(value) == seen;
        sum += seen < 0 ? even : std::exp(is_seen ? choices.hit : choices.miss);
        if (sum >= at) break;
      }
      points[i * width + choices.column] = static_cast<double>(value);
    }
  }
  for (const Numbers& numbers : numbers_) {
    const Axis& axis = *axes_[numbers.column];
    for (std::size_t i = 0; i < n; ++i) {
      const double mean = numbers.mean[kernels[i]], deviation = numbers.deviation[kernels[i]];
      const double lowest = axis.bounded ? (axis.low - mean) / deviation : -infinity;
      const double highest = axis.bounded ? (axis.high - mean) / deviation : infinity;
      double at = uniforms();
      if (at == 0 && !axis.bounded) at = 0x1p-54;  // the quantile is minus infinity
      double x = mean + deviation * truncated_normal_quantile(at, lowest, highest);
      if (axis.step > 0) x = axis.coordinate_of(axis.value_at(x));
      points[i * width + numbers.column] = x;
    }
  }
  return points;
}

/// What probability of one step, a logarithm, is too little for a kernel to count at any of the
/// points, even if it were at its densest along all other axes: it is lost beside the wide one.
double Parzen::negligible_mass(const std::vector<double>& points) const {
  const std::size_t width = axes_.size();
  double least = infinity;
  for (std::size_t first = 0; first < points.size(); first += width) {
    double wide = constant_.back();
    for (const Choices& choices : choices_) wide += choices.miss;
    for (const Numbers& numbers : numbers_) {
      const Axis& axis = *axes_[numbers.column];
      const double x = points[first + numbers.column];
      const double mean = numbers.mean.back(), inverse = numbers.inverse_deviation.back();
      if (axis.step > 0) {
        const auto [left, right] = step_of(axis, x);
        wide += log_normal_mass((left - mean) * inverse, (right - mean) * inverse);
      } else {
        wide -= 0.5 * (x - mean) * (x - mean) * inverse * inverse;
      }
    }
    least = std::min(least, wide);
  }
  return least + LogSum::negligible - *std::max_element(constant_.begin(), constant_.end());
}

/// For each point, for each kind of kernel the logarithm of the probability of the point's step;
/// what is below `negligible` only roughly.
std::vector<double> Parzen::step_masses(const Numbers& numbers, const std::vector<double>& points,
                                        double negligible) const {
  const Axis& axis = *axes_[numbers.column];
  const std::size_t width = axes_.size(), n = points.size() / width;
  const std::size_t kinds = numbers.kind_mean.size();
  std::vector<double> masses(n * kinds);
  for (std::size_t i = 0; i < n; ++i) {
    const double x = points[i * width + numbers.column];
    double* const out = &masses[i * kinds];
    std::size_t before = 0;  // a point with the same value
    while (points[before * width + numbers.column] != x) ++before;
    if (before < i) {
      std::copy_n(&masses[before * kinds], kinds, out);
      continue;
    }
    const auto [left, right] = step_of(axis, x);
    for (std::size_t kind = 0; kind < kinds; ++kind) {
      const double mean = numbers.kind_mean[kind], inverse = numbers.kind_inverse_deviation[kind];
      const double from = (left - mean) * inverse, to = (right - mean) * inverse;
      const double nearest = std::max({from, -to, 0.0});
      const double at_most = -0.5 * nearest * nearest;
      out[kind] = at_most < negligible ? at_most : log_normal_mass(from, to);
    }
  }
  return masses;
}

std::vector<double> Parzen::log_density(const std::vector<double>& points) const {
  constexpr std::size_t block = 256;  // of kernels, which then stay in the nearest cache
  const std::size_t width = axes_.size(), n = points.size() / width;
  std::vector<std::vector<double>> masses(numbers_.size());
  const double negligible = negligible_mass(points);
  for (std::size_t j = 0; j < numbers_.size(); ++j) {
    if (!numbers_[j].kind.empty()) masses[j] = step_masses(numbers_[j], points, negligible);
  }
  std::vector<LogSum> sums(n);
  std::array<double, block> terms;
  for (std::size_t first = 0; first < kernels_; first += block) {
    const std::size_t count = std::min(block, kernels_ - first);
    for (std::size_t i = 0; i < n; ++i) {
      std::copy_n(&constant_[first], count, terms.data());
      for (const Choices& choices : choices_) {
        const double* const seen = &choices.seen[first];
        const double x = points[i * width + choices.column];
        const double hit = choices.hit, miss = choices.miss;
        for (std::size_t k = 0; k < count; ++k) terms[k] += seen[k] == x ? hit : miss;
      }
      for (std::size_t j = 0; j < numbers_.size(); ++j) {
        const Numbers& numbers = numbers_[j];
        if (!numbers.kind.empty()) {
          const std::uint32_t* const kind = &numbers.kind[first];
          const double* const mass = &masses[j][i * numbers.kind_mean.size()];
          for (std::size_t k = 0; k < count; ++k) terms[k] += mass[kind[k]];
          continue;
        }
        const double* const mean = &numbers.mean[first];
        const double* const inverse = &numbers.inverse_deviation[first];
        const double x = points[i * width + numbers.column];
        for (std::size_t k = 0; k < count; ++k) {
          const double z = (x - mean[k]) * inverse[k];
          terms[k] -= 0.5 * z * z;
        }
      }
      sums[i].add(terms.data(), count);
    }
  }
  std::vector<double> densities;
  for (const LogSum& sum : sums) densities.push_back(sum.value());
  return densities;
}

}  // namespace tune
