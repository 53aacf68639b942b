// PED-ANOVA: densities of the best trials and of all trials along each hyperparameter, compared by
// Pearson divergence.
#include "searchers/importance.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "searchers/normal.h"
#include "tuner/base/error.h"

namespace tune {

namespace {

/// Numbers are sorted into at most so many cells.
constexpr std::size_t most_cells = 50;
/// A part of the space in which fewer trials are says nothing.
constexpr std::size_t fewest_trials = 2;
constexpr double prior_weight = 1;
/// 90 % of the narrowest kernel are in one cell.
constexpr double narrowest_deviation = 0.5 / 1.64;

using Counts = std::vector<double>;  ///< of trials, by cell

std::size_t cells_of(const Domain& domain, const Axis& axis) {
  if (axis.is_choice()) return axis.choices;
  const auto values = count_values(domain);
  if (!values) return most_cells;
  const auto n = static_cast<double>(*values);
  const double cells = axis.log ? std::ceil(std::log2(n)) + 1 : n;
  return static_cast<std::size_t>(std::min(cells, static_cast<double>(most_cells)));
}

std::size_t cell_of(const Axis& axis, std::size_t cells, double coordinate) {
  if (axis.is_choice()) return static_cast<std::size_t>(coordinate);
  const double low = axis.coordinate_of(axis.first), high = axis.coordinate_of(axis.last);
  const double width = (high - low) / static_cast<double>(cells - 1);
  const double cell = std::ceil((coordinate - low) / width - 0.5);
  return static_cast<std::size_t>(std::clamp(cell, 0.0, static_cast<double>(cells - 1)));
}

/// As Parzen has it: a kernel for each value that was seen, and one of all values.
std::vector<double> choice_masses(const Counts& counts) {
  const auto n = static_cast<double>(counts.size());
  const double seen = static_cast<double>(
      std::count_if(counts.begin(), counts.end(), [](double count) { return count > 0; }));
  const double base = prior_weight / (seen + 1);
  const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
  std::vector<double> masses;
  for (const double count : counts) {
    const double kernels = (all * base + count) / (n * base + 1);
    masses.push_back((kernels + prior_weight / n) / (all + prior_weight));
  }
  return masses;
}

/// Scott's rule over cells (Scott, "Multivariate Density Estimation", 1992).
double deviation_of(const std::vector<std::size_t>& seen, const Counts& counts, double all) {
  double mean = 0, squares = 0;
  for (const std::size_t cell : seen) mean += counts[cell] * static_cast<double>(cell) / all;
  for (const std::size_t cell : seen) {
    squares += counts[cell] * std::pow(static_cast<double>(cell) - mean, 2);
  }
  const double deviation = std::sqrt(squares / std::max(1.0, all - 1));
  std::vector<double> cumulated;
  for (const std::size_t cell : seen) {
    cumulated.push_back(counts[cell] + (cumulated.empty() ? 0 : cumulated.back()));
  }
  const auto first =
      std::lower_bound(cumulated.begin(), cumulated.end(), std::floor(all / 4)) - cumulated.begin();
  const auto third = std::upper_bound(cumulated.begin(), cumulated.end(), std::floor(all * 3 / 4)) -
                     cumulated.begin();
  const auto place = static_cast<std::size_t>(third);
  const auto quartiles = static_cast<double>(seen[std::min(seen.size() - 1, place)]) -
                         static_cast<double>(seen[static_cast<std::size_t>(first)]);
  const double width = 1.059 * std::min(quartiles / 1.34, deviation) * std::pow(all, -0.2);
  return std::max(width, narrowest_deviation);
}

std::vector<double> number_masses(const Counts& counts) {
  const double last = static_cast<double>(counts.size()) - 1;
  const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
  std::vector<std::size_t> seen;
  for (std::size_t cell = 0; cell < counts.size(); ++cell) {
    if (counts[cell] > 0) seen.push_back(cell);
  }
  std::vector<double> masses(counts.size());
  const auto add_kernel = [&](double mean, double deviation, double weight) {
    const double within =
        log_normal_mass((-0.5 - mean) / deviation, (last + 0.5 - mean) / deviation);
    for (std::size_t cell = 0; cell < masses.size(); ++cell) {
      const double left = static_cast<double>(cell) - 0.5 - mean;
      masses[cell] += weight / (all + prior_weight) *
                      std::exp(log_normal_mass(left / deviation, (left + 1) / deviation) - within);
    }
  };
  const double deviation = deviation_of(seen, counts, all);
  for (const std::size_t cell : seen) {
    add_kernel(static_cast<double>(cell), deviation, counts[cell]);
  }
  add_kernel(last / 2, last + 1, prior_weight);
  return masses;
}

std::vector<double> masses_of(const Axis& axis, const Counts& counts) {
  return axis.is_choice() ? choice_masses(counts) : number_masses(counts);
}

/// The Pearson divergence of the best trials' density from that of all.
double divergence(const Axis& axis, const Counts& best, const Counts& all) {
  constexpr double tiny = 1e-12;
  const std::vector<double> top = masses_of(axis, best), region = masses_of(axis, all);
  double sum = 0;
  for (std::size_t cell = 0; cell < top.size(); ++cell) {
    const double here = region[cell] + tiny;
    sum += here * std::pow((top[cell] + tiny) / here - 1, 2);
  }
  return sum;
}

}  // namespace

std::vector<bool> best_part(const std::vector<double>& scores, double part) {
  ensure(!scores.empty(), "the best of no trials");
  std::vector<double> sorted = scores;
  const double wanted = std::ceil(part * static_cast<double>(scores.size()));
  const auto place =
      std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(wanted), 1, std::ssize(scores)) - 1;
  std::nth_element(sorted.begin(), sorted.begin() + place, sorted.end(), std::greater<>());
  const double least = sorted[static_cast<std::size_t>(place)];
  std::vector<bool> is_best;
  for (const double score : scores) is_best.push_back(score >= least);
  return is_best;
}

std::vector<Importance> importances(const SearchSpace& space,
                                    const std::vector<std::vector<double>>& points,
                                    const std::vector<bool>& is_best) {
  ensure(points.size() == is_best.size(), "a point for each trial");
  const std::vector<Axis> axes = axes_of(space);
  const auto n_all = static_cast<double>(points.size());
  std::vector<Importance> found;
  std::map<std::string, std::size_t> places;
  for (std::size_t leaf = 0; leaf < axes.size(); ++leaf) {
    const Axis& axis = axes[leaf];
    if (axis.is_seed) continue;
    const SpaceLeaf& described = space.leaves()[leaf];
    const auto [entry, is_new] = places.try_emplace(described.pointer, found.size());
    if (is_new) found.push_back({.pointer = described.pointer});
    Importance& one = found[entry->second];
    const std::size_t cells = cells_of(described.domain, axis);
    Counts best(cells), all(cells);
    double here_best = 0, here_all = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (std::isnan(points[i][leaf])) continue;
      const std::size_t cell = axis.is_single() ? 0 : cell_of(axis, cells, points[i][leaf]);
      ++all[cell];
      ++here_all;
      best[cell] += is_best[i] ? 1 : 0;
      here_best += is_best[i] ? 1 : 0;
    }
    one.trials += static_cast<std::size_t>(here_all);
    if (axis.is_single() || here_best == 0 || here_all < fewest_trials) continue;
    // (best / all)^2 * alpha^2 / beta * divergence, where alpha and beta are the parts of the best
    // and of all that are here: theorem 4.2 of the conditional paper.
    one.variance += here_best * here_best / (n_all * here_all) * divergence(axis, best, all);
  }
  double sum = 0;
  for (const Importance& one : found) sum += one.variance;
  for (Importance& one : found) one.share = sum > 0 ? one.variance / sum : 0;
  std::stable_sort(found.begin(), found.end(), [](const Importance& a, const Importance& b) {
    return a.variance > b.variance;
  });
  return found;
}

}  // namespace tune
