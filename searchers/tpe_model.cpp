// Keeps trials in sorted lists as they report, splits them into good and other ones, and picks the
// candidate with the best density ratio.
#include "searchers/tpe_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "tuner/math/pareto.h"
#include "tuner/model/constraint.h"
#include "tuner/policy/policy_state.h"

namespace tune {

namespace {

using State = History::State;

/// Inserts or erases `row` at its place in a sorted list.
template <class Before>
void insert_sorted(std::vector<std::uint32_t>& list, std::uint32_t row, Before before) {
  list.insert(std::upper_bound(list.begin(), list.end(), row, before), row);
}
template <class Before>
void erase_sorted(std::vector<std::uint32_t>& list, std::uint32_t row, Before before) {
  list.erase(std::lower_bound(list.begin(), list.end(), row, before));
}

/// Training is compared at so many iterations: 1, 2, 3, 4, 6, 8, 12, 16 ...
std::int64_t level_at(std::size_t level) {
  if (level == 0) return 1;
  const auto half = static_cast<std::int64_t>(level / 2);
  return level % 2 == 1 ? std::int64_t{2} << half : (std::int64_t{3} << half) / 2;
}

/// The last one that is not after `iteration`, from 1.
std::size_t level_of(std::int64_t iteration) {
  constexpr std::size_t most = 100;
  std::size_t level = 0;
  while (level < most && level_at(level + 1) <= iteration) ++level;
  return level;
}

/// The newest 25 count fully, the older ones less the older they are.
std::vector<double> weights_by_age(std::size_t n) {
  constexpr std::size_t newest = 25;
  std::vector<double> weights(n, 1.0);
  if (n <= newest) return weights;
  const double least = 1 / static_cast<double>(n);
  const std::size_t older = n - newest;
  for (std::size_t i = 0; i < older; ++i) {
    const double age = older == 1 ? 0 : static_cast<double>(i) / static_cast<double>(older - 1);
    weights[i] = least + age * (1 - least);
  }
  return weights;
}

/// Somewhat worse than the worst of `points` for each objective.
Scores reference_of(const std::vector<Scores>& points) {
  Scores reference = points[0];
  for (const Scores& point : points) {
    for (std::size_t j = 0; j < point.size(); ++j) reference[j] = std::min(reference[j], point[j]);
  }
  for (double& worst : reference) {
    worst = std::min(1.1 * worst, 0.9 * worst);
    if (worst == 0) worst = -1e-12;
  }
  return reference;
}

}  // namespace

TpeModel::TpeModel(History history, TpeRules rules)
    : history_(std::move(history)),
      priors_(history_.space()),
      rules_(rules),
      columns_(history_.axes().size()),
      ascending_(history_.axes().size()) {
  curves_.resize(history_.rows().size());
  for (std::size_t row = 0; row < history_.rows().size(); ++row) place(row);
}

/// Whether the model keeps away from the trial.
bool TpeModel::is_failure(const History::Row& row) const {
  return rules_.avoid_failures && row.has_failed();
}

/// Whether the trial is good, or not, beside others.
bool TpeModel::is_compared(const History::Row& row) const {
  return (row.state == State::complete || row.state == State::stopped) && !is_failure(row);
}

std::size_t TpeModel::known() const {
  return complete_.size() + stopped_.size() + infeasible_.size() + failures_;
}

void TpeModel::add(TrialId id, const std::string& config) {
  if (const auto row = history_.find(id)) displace(*row);
  const std::size_t row = history_.add(id, config);
  curves_.resize(history_.rows().size());
  curves_[row].clear();
  place(row);
}

void TpeModel::note(TrialId id, const Observation& result) {
  const auto row = history_.find(id);
  if (!row || result.iteration < 1 || history_.objectives() != 1 || result.scores.empty()) return;
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  std::vector<double>& curve = curves_[*row];
  const std::size_t level = level_of(result.iteration);
  if (level >= curve.size()) curve.resize(level + 1, unknown);
  // The first result there: what comes later has trained longer.
  if (std::isnan(curve[level])) curve[level] = result.scores[0];
}

void TpeModel::end(TrialId id, const Observation& last, Ended how) {
  const auto row = history_.find(id);
  if (!row) return;
  note(id, last);
  displace(*row);
  history_.end(id, last, how);
  place(*row);
}

Json TpeModel::save_curves() const {
  Json curves = Json::array();
  for (const auto& curve : curves_) curves.push_back(save_numbers(curve));
  return curves;
}

void TpeModel::load(const Json& state, const Json& saved_curves) {
  History history = history_;
  history.load(state);
  std::vector<std::vector<double>> curves(history.rows().size());
  for (std::size_t row = 0; row < std::min(curves.size(), saved_curves.size()); ++row) {
    curves[row] = load_numbers(saved_curves[row]);
  }
  *this = TpeModel(std::move(history), rules_);
  curves_ = std::move(curves);
}

/// Where a trial has its place; null if nothing is known of it.
std::vector<std::uint32_t>* TpeModel::list_of(const History::Row& row) {
  if (!is_compared(row)) return nullptr;
  if (violation(row.constraints) > 0) return &infeasible_;
  return row.state == State::complete ? &complete_ : &stopped_;
}

/// Of two in one list: whether `a` comes before `b`.
bool TpeModel::is_better(std::size_t a, std::size_t b) const {
  const History::Row &one = history_.rows()[a], &two = history_.rows()[b];
  const double excess = violation(one.constraints), other_excess = violation(two.constraints);
  if (excess > 0) return std::pair(excess, a) < std::pair(other_excess, b);
  if (one.iteration != two.iteration && one.state == State::stopped) {
    return one.iteration > two.iteration;
  }
  const double left = one.scores[0], right = two.scores[0];
  if (left > right || (std::isnan(right) && !std::isnan(left))) return true;
  if (left < right || (std::isnan(left) && !std::isnan(right))) return false;
  return a < b;
}

/// The shape of configs that have these coordinates.
std::size_t TpeModel::shape_like(const std::vector<double>& point) {
  std::vector<bool> has;
  for (const double x : point) has.push_back(!std::isnan(x));
  const auto found = std::find_if(shapes_.begin(), shapes_.end(),
                                  [&](const Shape& shape) { return shape.has == has; });
  const auto number = static_cast<std::size_t>(found - shapes_.begin());
  if (found == shapes_.end()) shapes_.push_back({std::move(has)});
  return number;
}

void TpeModel::place(std::size_t row) {
  const History::Row& what = history_.rows()[row];
  const auto number = static_cast<std::uint32_t>(row);
  for (std::size_t leaf = 0; leaf < columns_.size(); ++leaf) {
    auto& column = columns_[leaf];
    if (row >= column.size()) column.resize(row + 1);
    column[row] = what.point[leaf];
    if (std::isnan(column[row])) continue;
    insert_sorted(ascending_[leaf], number, [&](std::uint32_t a, std::uint32_t b) {
      return std::pair(column[a], a) < std::pair(column[b], b);
    });
  }
  shape_of_.resize(std::max(shape_of_.size(), row + 1));
  shape_of_[row] = shape_like(what.point);
  if (is_failure(what)) ++failures_;
  if (is_compared(what)) ++shapes_[shape_of_[row]].known;
  const auto better = [&](std::uint32_t a, std::uint32_t b) { return is_better(a, b); };
  if (auto* const list = list_of(what)) insert_sorted(*list, number, better);
}

void TpeModel::displace(std::size_t row) {
  const auto number = static_cast<std::uint32_t>(row);
  for (std::size_t leaf = 0; leaf < columns_.size(); ++leaf) {
    const auto& column = columns_[leaf];
    if (std::isnan(column[row])) continue;
    erase_sorted(ascending_[leaf], number, [&](std::uint32_t a, std::uint32_t b) {
      return std::pair(column[a], a) < std::pair(column[b], b);
    });
  }
  const auto better = [&](std::uint32_t a, std::uint32_t b) { return is_better(a, b); };
  if (is_failure(history_.rows()[row])) --failures_;
  if (is_compared(history_.rows()[row])) --shapes_[shape_of_[row]].known;
  if (auto* const list = list_of(history_.rows()[row])) erase_sorted(*list, number, better);
}

/// The `n` best of the complete trials, of several objectives: whole fronts, and of the last one
/// those that cover most.
std::vector<std::size_t> TpeModel::pareto_best(std::size_t n) const {
  std::vector<std::size_t> rows(complete_.begin(), complete_.end());
  std::sort(rows.begin(), rows.end());
  if (n >= rows.size()) return rows;
  std::vector<Scores> points;
  for (const std::size_t row : rows) points.push_back(history_.rows()[row].scores);
  const std::vector<std::size_t> ranks = domination_ranks(points, n);
  std::vector<std::size_t> best;
  for (std::size_t rank = 0; best.size() < n; ++rank) {
    std::vector<std::size_t> front;
    std::vector<Scores> front_points;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (ranks[i] != rank) continue;
      front.push_back(rows[i]);
      front_points.push_back(points[i]);
    }
    if (best.size() + front.size() <= n) {
      best.insert(best.end(), front.begin(), front.end());
      continue;
    }
    const Scores reference = reference_of(front_points);
    for (const std::size_t i : select_by_hypervolume(front_points, n - best.size(), reference)) {
      best.push_back(front[i]);
    }
  }
  return best;
}

bool TpeModel::may_be_good(std::size_t row) const {
  const History::Row& what = history_.rows()[row];
  if (what.state == State::running) return true;
  return is_compared(what) && !(violation(what.constraints) > 0);
}

double TpeModel::score_at(std::size_t row, std::size_t level) const {
  const std::vector<double>& curve = curves_[row];
  return level < curve.size() ? curve[level] : std::numeric_limits<double>::quiet_NaN();
}

/// The highest one that enough trials have come to, for `n` of them to be told from others.
std::optional<std::size_t> TpeModel::level_for(std::size_t n) const {
  constexpr std::size_t least = 4;
  std::vector<std::size_t> counts;
  for (std::size_t row = 0; row < curves_.size(); ++row) {
    if (!may_be_good(row)) continue;
    counts.resize(std::max(counts.size(), curves_[row].size()));
    for (std::size_t level = 0; level < curves_[row].size(); ++level) {
      if (std::isfinite(curves_[row][level])) ++counts[level];
    }
  }
  for (std::size_t level = counts.size(); level-- > 0;) {
    if (counts[level] >= std::max(least, 2 * n)) return level;
  }
  return std::nullopt;
}

std::vector<TpeModel::Side> TpeModel::split() const {
  const auto& rows = history_.rows();
  std::vector<Side> sides(rows.size(), Side::none);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (is_compared(rows[row])) sides[row] = Side::other;
    if (is_failure(rows[row])) sides[row] = Side::failed;
    if (rows[row].state == State::running && rules_.constant_liar) sides[row] = Side::running;
  }
  const bool is_single = history_.objectives() == 1;
  constexpr std::int64_t usual_cap = 25;
  auto n =
      static_cast<std::size_t>(std::ceil(rules_.gamma * static_cast<double>(known() - failures_)));
  if (rules_.gamma_cap || is_single) {
    n = std::min(n, static_cast<std::size_t>(rules_.gamma_cap.value_or(usual_cap)));
  }
  const bool is_unequal = is_single && rules_.equal_training && !stopped_.empty();
  if (const auto level = is_unequal ? level_for(n) : std::nullopt) {
    std::vector<std::pair<double, std::size_t>> ranking;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const double score = score_at(row, *level);
      if (may_be_good(row) && std::isfinite(score)) ranking.emplace_back(-score, row);
    }
    std::sort(ranking.begin(), ranking.end());
    for (std::size_t i = 0; i < std::min(n, ranking.size()); ++i) {
      sides[ranking[i].second] = Side::good;
    }
    return sides;
  }
  std::size_t good = std::min(n, complete_.size());
  if (is_single) {
    for (std::size_t i = 0; i < good; ++i) sides[complete_[i]] = Side::good;
  } else {
    for (const std::size_t row : pareto_best(good)) sides[row] = Side::good;
  }
  for (const auto* const list : {&stopped_, &infeasible_}) {
    for (std::size_t i = 0; i < list->size() && good < n; ++i, ++good) {
      sides[(*list)[i]] = Side::good;
    }
  }
  return sides;
}

/// The sets of leaves that are modelled together; what is in none is modelled alone.
std::vector<std::vector<std::size_t>> TpeModel::joint_groups() const {
  const bool is_joint = rules_.multivariate.value_or(rules_.group || history_.objectives() == 1);
  if (!is_joint) return {};
  // Each shape divides the groups so far into what it has and what it lacks.
  std::vector<std::vector<std::size_t>> groups;
  std::vector<bool> is_new(columns_.size(), true);
  bool is_first = true;
  for (const Shape& shape : shapes_) {
    if (shape.known == 0) continue;
    std::vector<std::vector<std::size_t>> finer;
    for (const auto& group : groups) {
      std::vector<std::size_t> in, out;
      for (const std::size_t leaf : group) (shape.has[leaf] ? in : out).push_back(leaf);
      finer.push_back(std::move(in));
      if (rules_.group) finer.push_back(std::move(out));
    }
    std::vector<std::size_t> fresh;
    for (std::size_t leaf = 0; leaf < columns_.size(); ++leaf) {
      if (!shape.has[leaf] || !is_new[leaf]) continue;
      is_new[leaf] = false;
      if (history_.axes()[leaf].is_modelled()) fresh.push_back(leaf);
    }
    if (rules_.group || is_first) finer.push_back(std::move(fresh));
    std::erase_if(finer, [](const auto& group) { return group.empty(); });
    groups = std::move(finer);
    is_first = false;
  }
  return groups;
}

/// Of the trials on these sides that have all these leaves.
Parzen TpeModel::model_of(const std::vector<std::size_t>& leaves, const std::vector<Side>& sides,
                          std::initializer_list<Side> wanted) const {
  std::vector<bool> fits;
  for (const Shape& shape : shapes_) {
    fits.push_back(std::all_of(leaves.begin(), leaves.end(),
                               [&](std::size_t leaf) { return shape.has[leaf]; }));
  }
  constexpr auto none = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> places(sides.size(), none);  // by row, in the model
  std::uint32_t n = 0;
  for (std::size_t row = 0; row < sides.size(); ++row) {
    const bool is_wanted = std::find(wanted.begin(), wanted.end(), sides[row]) != wanted.end();
    if (is_wanted && fits[shape_of_[row]]) places[row] = n++;
  }
  const bool is_good = wanted.size() == 1 && *wanted.begin() == Side::good;
  std::vector<ParzenColumn> columns;
  for (const std::size_t leaf : leaves) {
    ParzenColumn column{&history_.axes()[leaf], std::vector<double>(n), {}};
    if (is_good && priors_.has(leaf)) {
      column.belief = {priors_.center(leaf), priors_.deviation(leaf)};
    }
    column.ascending.reserve(n);
    if (column.axis->is_choice()) {
      for (std::size_t row = 0; row < sides.size(); ++row) {
        if (places[row] != none) column.at[places[row]] = columns_[leaf][row];
      }
    } else {
      for (const std::uint32_t row : ascending_[leaf]) {
        if (places[row] == none) continue;
        column.at[places[row]] = columns_[leaf][row];
        column.ascending.push_back(places[row]);
      }
    }
    columns.push_back(std::move(column));
  }
  const bool is_even = is_good && history_.objectives() > 1;
  return {std::move(columns), is_even ? std::vector<double>(n, 1.0) : weights_by_age(n),
          rules_.parzen, is_good && priors_.any() ? agreement(leaves, places) : 1};
}

/// How likely these trials, those with a place, come from where the priors are rather than from
/// anywhere, from 0 to 1. So a prior is left as soon as the good trials are elsewhere.
double TpeModel::agreement(const std::vector<std::size_t>& leaves,
                           const std::vector<std::uint32_t>& places) const {
  double sum = 0, count = 0;
  for (std::size_t row = 0; row < places.size(); ++row) {
    if (places[row] == std::numeric_limits<std::uint32_t>::max()) continue;
    double log_ratio = 0;
    for (const std::size_t leaf : leaves) log_ratio += priors_.log_ratio(leaf, columns_[leaf][row]);
    sum += 1 / (1 + std::exp(-log_ratio));
    ++count;
  }
  return count > 0 ? sum / count : 1;
}

/// Puts candidates that are likelier to fail than not behind all others, the least likely first.
void TpeModel::put_back_failing(const std::vector<std::size_t>& leaves,
                                const std::vector<Side>& sides,
                                const std::vector<double>& candidates,
                                std::vector<double>& gains) const {
  const Parzen worked = model_of(leaves, sides, {Side::good, Side::other});
  const Parzen failed = model_of(leaves, sides, {Side::failed});
  const std::vector<double> in_worked = worked.log_density(candidates);
  const std::vector<double> in_failed = failed.log_density(candidates);
  // One more of each: with few of them, the wide kernels are most of what is known.
  const double prior = std::log(static_cast<double>(failures_ + 1)) -
                       std::log(static_cast<double>(known() - failures_ + 1));
  constexpr double behind = 1e9;
  for (std::size_t i = 0; i < gains.size(); ++i) {
    const double log_odds = in_failed[i] - in_worked[i] + prior;
    if (log_odds > 0) gains[i] = -behind - log_odds;
  }
}

/// The candidate, drawn from the model of the good ones, that is denser there than among the others
/// by the largest factor.
std::vector<double> TpeModel::draw(const std::vector<std::size_t>& leaves,
                                   const std::vector<Side>& sides,
                                   const Parzen::Uniforms& uniforms) const {
  const Parzen good = model_of(leaves, sides, {Side::good});
  const Parzen other = model_of(leaves, sides, {Side::other, Side::running});
  const std::vector<double> candidates =
      good.sample(static_cast<std::size_t>(rules_.n_ei_candidates), uniforms);
  const std::vector<double> in_good = good.log_density(candidates);
  const std::vector<double> in_other = other.log_density(candidates);
  std::vector<double> gains;
  for (std::size_t i = 0; i < in_good.size(); ++i) gains.push_back(in_good[i] - in_other[i]);
  if (failures_ > 0) put_back_failing(leaves, sides, candidates, gains);
  const auto top = std::max_element(gains.begin(), gains.end());
  const auto best = static_cast<std::size_t>(top - gains.begin());
  const auto first = candidates.begin() + static_cast<std::ptrdiff_t>(best * leaves.size());
  return {first, first + static_cast<std::ptrdiff_t>(leaves.size())};
}

Json TpeModel::suggest(const Parzen::Uniforms& uniforms) const {
  const std::vector<Side> sides = split();
  constexpr double open = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> point(columns_.size(), open);
  for (const auto& group : joint_groups()) {
    const std::vector<double> drawn = draw(group, sides, uniforms);
    for (std::size_t i = 0; i < group.size(); ++i) point[group[i]] = drawn[i];
  }
  const auto draw_leaf = [&](std::size_t leaf) {
    const Axis& axis = history_.axes()[leaf];
    if (!axis.is_modelled()) point[leaf] = axis.low;
    if (std::isnan(point[leaf])) point[leaf] = draw({leaf}, sides, uniforms)[0];
    return next_leaf_value(history_.space().leaves()[leaf].domain, axis, point[leaf], uniforms);
  };
  return history_.space().assemble(0, draw_leaf);
}

}  // namespace tune
