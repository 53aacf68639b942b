// NSGA-II (Deb et al., "A Fast and Elitist Multiobjective Genetic Algorithm: NSGA-II", 2002)
// without generations: what is suggested are children of the best trials so far, whenever that is.
#include "searchers/nsga2.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "searchers/failures.h"
#include "searchers/history.h"
#include "searchers/priors.h"
#include "searchers/suggestion.h"
#include "tuner/math/pareto.h"
#include "tuner/model/constraint.h"
#include "tuner/policy/policy_state.h"

namespace tune {

namespace {

/// The larger, the nearer to the old value.
constexpr double mutation_eta = 20;
/// How often another child is made in the place of one that has been tried, or is likely to fail.
constexpr int most_children = 10;

/// Polynomial mutation (Deb and Agrawal, "A Niched-Penalty Approach for Constraint Handling in
/// Genetic Algorithms", 1999) of a coordinate; by one step at least.
double mutated(const Axis& axis, double x, Random& random) {
  const double range = axis.high - axis.low;
  const double u = random.uniform();
  const bool is_down = u < 0.5;
  const double room = (is_down ? x - axis.low : axis.high - x) / range;
  const double beyond = axis.bounded ? std::pow(std::max(0.0, 1 - room), mutation_eta + 1) : 0;
  const double v = is_down ? 2 * u : 2 * (1 - u);
  const double distance = range * (1 - std::pow(v + (1 - v) * beyond, 1 / (mutation_eta + 1)));
  const double moved = is_down ? x - distance : x + distance;
  const double before = axis.value_at(x);
  if (axis.step == 0 || axis.value_at(moved) != before) return moved;
  const auto next = [&](bool down) { return down ? before - axis.step : before + axis.step; };
  const double half = axis.step / 2;
  const bool is_outside =
      axis.bounded && (next(is_down) < axis.first - half || next(is_down) > axis.last + half);
  return axis.coordinate_of(next(is_down != is_outside));
}

class Nsga2 : public Searcher {
 public:
  Nsga2(const SearchSpace& space, std::size_t objectives, const Nsga2Options& options)
      : history_(space, objectives), priors_(space), options_(options), random_(options.seed) {
    const auto& axes = history_.axes();
    const auto open = std::count_if(axes.begin(), axes.end(),
                                    [](const Axis& axis) { return axis.is_modelled(); });
    mutation_prob_ = options.mutation_prob.value_or(
        1.0 / static_cast<double>(std::max<std::ptrdiff_t>(open, 1)));
  }

  Answer suggest(TrialId) override {
    Random random = random_;
    Suggestion suggestion = suggestion_of(space(), [&] { return draw(random); });
    random_ = random;
    return suggestion;
  }

  void on_trial_add(TrialId id, const std::string& config) override { history_.add(id, config); }
  void on_trial_pause(TrialId id, const Observation& last) override {
    history_.end(id, last, Ended::stopped);
  }
  void on_trial_end(TrialId id, const Observation& last, Ended how) override {
    history_.end(id, last, how);
  }

  bool may_take_long() const override { return true; }

  Json save() const override { return {{"random", random_.save()}, {"history", history_.save()}}; }
  void load(const Json& state) override {
    load_state("the searcher nsga2", [&] {
      Random random(0);
      random.load(state.at("random"));
      history_.load(state.at("history"));
      random_ = random;
    });
  }

 private:
  const SearchSpace& space() const { return history_.space(); }

  /// The points of those that may have children, the best first.
  std::vector<std::vector<double>> parents() const {
    std::vector<std::size_t> rows;
    std::vector<Scores> scores;
    std::vector<double> violations;
    for (std::size_t i = 0; i < history_.rows().size(); ++i) {
      const History::Row& row = history_.rows()[i];
      if (!row.has_worked()) continue;
      rows.push_back(i);
      scores.push_back(row.scores);
      violations.push_back(violation(row.constraints));
    }
    std::vector<std::vector<double>> best;
    for (const std::size_t i :
         best_by_crowding(scores, static_cast<std::size_t>(options_.population), violations)) {
      best.push_back(history_.rows()[rows[i]].point);
    }
    return best;
  }

  Json draw(Random& random) const {
    const auto parents = this->parents();
    const bool has_parents = std::ssize(parents) >= options_.population;
    Json config;
    for (int children = 0; children < most_children; ++children) {
      config = has_parents ? child_of(parents, random) : priors_.sample(random);
      const auto point = coordinates_of(space(), history_.axes(), config);
      if (!is_known(point) && !is_among_failures(point)) break;
    }
    return config;
  }

  Json child_of(const std::vector<std::vector<double>>& parents, Random& random) const {
    // A tournament of two: the better one is the one that comes first.
    const auto winner = [&] {
      return std::min(random.below(parents.size()), random.below(parents.size()));
    };
    const std::uint64_t one = winner();
    std::uint64_t other = winner();
    while (other == one) other = winner();
    const std::vector<double>& second = parents[other];
    std::vector<double> point = parents[one];
    const bool crosses = random.uniform() < options_.crossover_prob;
    for (std::size_t leaf = 0; leaf < point.size(); ++leaf) {
      const bool swaps = crosses && random.uniform() < options_.swapping_prob;
      if (std::isnan(point[leaf]) || (swaps && !std::isnan(second[leaf]))) {
        point[leaf] = second[leaf];
      }
    }
    return space().assemble(0, [&](std::size_t leaf) {
      const SpaceLeaf& what = space().leaves()[leaf];
      const Axis& axis = history_.axes()[leaf];
      const bool mutates = axis.is_modelled() && random.uniform() < mutation_prob_;
      const bool is_redrawn = mutates && (axis.is_choice() || what.conditional);
      if (is_redrawn || axis.is_seed || std::isnan(point[leaf]))
        return draw_leaf(what.domain, random);
      return leaf_value_at(what.domain, axis,
                           mutates ? mutated(axis, point[leaf], random) : point[leaf]);
    });
  }

  /// Whether most of the trials nearest to the point have failed.
  bool is_among_failures(const std::vector<double>& point) const {
    std::vector<TrialOutcome> outcomes;
    for (const History::Row& row : history_.rows()) {
      if (row.has_failed() || row.has_worked()) outcomes.push_back({&row.point, row.has_failed()});
    }
    return share_of_failures_near(point, history_.axes(), outcomes) > 0.5;
  }

  bool is_known(const std::vector<double>& point) const {
    const auto is_same = [](double a, double b) {
      return a == b || (std::isnan(a) && std::isnan(b));
    };
    return std::any_of(history_.rows().begin(), history_.rows().end(), [&](const auto& row) {
      return std::equal(point.begin(), point.end(), row.point.begin(), is_same);
    });
  }

  History history_;
  const Priors priors_;
  const Nsga2Options options_;
  double mutation_prob_;
  Random random_;
};

}  // namespace

std::unique_ptr<Searcher> make_nsga2(const SearchSpace& space, std::size_t objectives,
                                     const Nsga2Options& options) {
  return std::make_unique<Nsga2>(space, objectives, options);
}

}  // namespace tune
