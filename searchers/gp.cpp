// Bayesian optimisation with a Gaussian process: a few points that fill the space, then always the
// one with the highest expected improvement.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>

#include "searchers/gp_model.h"
#include "searchers/history.h"
#include "searchers/normal.h"
#include "searchers/searchers.h"
#include "searchers/sequences.h"
#include "searchers/suggestion.h"
#include "tuner/policy/policy_state.h"

namespace tune {

namespace {

/// Puts ranks in the place of scores, as normal quantiles, of trials that came farther above those
/// of others: a score after one iteration cannot be compared with one after fifty. What is not
/// finite stays.
void rank(std::vector<double>& scores, const std::vector<std::int64_t>& iterations) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (std::isfinite(scores[i])) order.push_back(i);
  }
  const auto place = [&](std::size_t i) { return std::pair(iterations[i], scores[i]); };
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return place(a) < place(b); });
  const auto count = static_cast<double>(order.size());
  for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
    const auto equal = place(order[first]);
    while (last < order.size() && place(order[last]) == equal) ++last;
    const double quantile = normal_quantile(static_cast<double>(first + last) / 2 / count);
    for (std::size_t k = first; k < last; ++k) scores[order[k]] = quantile;
  }
}

class Gp : public Searcher {
 public:
  Gp(const SearchSpace& space, const GpOptions& options)
      : options_(options), history_(space, 1), priors_(space), random_(options.seed) {
    if (has_unfit(space, options_.constraints)) {
      is_allowed_ = [this](const std::vector<double>& coordinates) {
        return !why_unfit(history_.space(), options_.constraints, config_at(coordinates));
      };
    }
    for (std::size_t i = 0; i < history_.axes().size(); ++i) shift_.push_back(random_.uniform());
    constexpr std::int64_t most = 10'000;
    hypercubes_ = latin_hypercube_points(
        shift_.size(), static_cast<std::uint64_t>(std::min(options.n_startup_trials, most)));
  }

  Answer suggest(TrialId) override {
    const SearchSpace& space = history_.space();
    return suggestion_of(space, [&] {
      const std::vector<double> coordinates = next();
      return space.assemble(0, [&](std::size_t leaf) {
        return next_leaf_value(space.leaves()[leaf].domain, history_.axes()[leaf],
                               coordinates[leaf], [this] { return random_.uniform(); });
      });
    });
  }

  void on_trial_add(TrialId id, const std::string& config) override {
    (void)history_.add(id, config);
  }
  void on_trial_pause(TrialId id, const Observation& last) override {
    (void)history_.end(id, last, Ended::stopped);
  }
  void on_trial_end(TrialId id, const Observation& last, Ended how) override {
    (void)history_.end(id, last, how);
  }

  bool may_take_long() const override { return true; }

  Json save() const override {
    Json constraints = Json::array();
    for (const GpFit& fit : fits_.constraints) {
      constraints.push_back({fit.hyperparameters, fit.observations});
    }
    return {{"history", history_.save()},
            {"random", random_.save()},
            {"shift", shift_},
            {"spread", spread_},
            {"fitted", fits_.scores.hyperparameters},
            {"fitted_to", fits_.scores.observations},
            {"fitted_constraints", std::move(constraints)}};
  }

  void load(const Json& state) override {
    load_state("the searcher gp", [&] {
      Random random(0);
      random.load(state.at("random"));
      auto shift = state.at("shift").get<std::vector<double>>();
      if (shift.size() != shift_.size()) throw std::invalid_argument("a state of another space");
      const auto spread = state.at("spread").get<std::uint64_t>();
      GpFits fits;
      fits.scores = {state.at("fitted").get<std::vector<double>>(),
                     state.at("fitted_to").get<std::size_t>()};
      for (const Json& fit : state.value("fitted_constraints", Json::array())) {
        fits.constraints.push_back(
            {fit.at(0).get<std::vector<double>>(), fit.at(1).get<std::size_t>()});
      }
      history_.load(state.at("history"));
      random_ = random;
      shift_ = std::move(shift);
      spread_ = spread;
      fits_ = std::move(fits);
    });
  }

 private:
  std::vector<double> next() {
    const auto& rows = history_.rows();
    const auto has_ended = [](const History::Row& row) {
      return row.has_worked() || row.has_failed();
    };
    const auto ended = std::count_if(rows.begin(), rows.end(), has_ended);
    const bool is_any_known = std::any_of(rows.begin(), rows.end(),
                                          [](const History::Row& row) { return row.has_worked(); });
    if (!is_any_known || ended < options_.n_startup_trials) return next_spread();
    constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
    GpData data;
    bool are_unequal = false;              // some have not trained as long as they were to
    std::vector<std::int64_t> iterations;  // of complete trials, and of those that failed, the most
    for (const History::Row& row : rows) {
      if (row.state == History::State::running) {
        data.pending.push_back(row.point);
        continue;
      }
      if (!has_ended(row)) continue;
      const bool is_known = row.has_worked();
      data.constraints.resize(std::max(data.constraints.size(), row.constraints.size()));
      for (std::size_t k = 0; k < data.constraints.size(); ++k) {
        data.constraints[k].resize(data.points.size(), nothing);
        data.constraints[k].push_back(is_known && k < row.constraints.size() ? row.constraints[k]
                                                                             : nothing);
      }
      data.points.push_back(row.point);
      data.scores.push_back(is_known ? row.scores[0] : nothing);
      const bool is_stopped = is_known && row.state == History::State::stopped;
      are_unequal |= is_stopped;
      iterations.push_back(is_stopped ? row.iteration : std::numeric_limits<std::int64_t>::max());
    }
    if (are_unequal) rank(data.scores, iterations);
    return next_by_gp(history_.space(), history_.axes(), options_.rules, data, fits_, random_,
                      is_allowed_, &priors_);
  }

  /// The next point that fills the space and is allowed, if one comes soon.
  std::vector<double> next_spread() {
    constexpr int most_tried = 1000;
    std::vector<double> coordinates = spread(spread_++);
    for (int tried = 1; is_allowed_ && tried < most_tried && !is_allowed_(coordinates); ++tried) {
      coordinates = spread(spread_++);
    }
    return coordinates;
  }

  /// Point number `i`. Of many axes the sequence's strides are so near to each other, and to 1,
  /// that its first points leave wide gaps and rise and fall together.
  std::vector<double> spread(std::uint64_t i) {
    constexpr std::size_t most_strides = 8;
    std::vector<double> shares;
    if (shift_.size() <= most_strides) {
      shares = SpreadPoints(history_.axes(), shift_).shares(i);
    } else {
      const auto seed = static_cast<std::uint64_t>(shift_[0] * 0x1p63);
      shares = hypercubes_(seed, i);
    }
    std::vector<double> coordinates = coordinates_at(history_.axes(), shares);
    const bool is_believed = i % 2 == 1;
    for (std::size_t leaf = 0; is_believed && leaf < shares.size(); ++leaf) {
      if (priors_.has(leaf)) coordinates[leaf] = priors_.quantile(leaf, shares[leaf]);
    }
    return coordinates;
  }

  /// Of seeds any value: no constraint is about those.
  Json config_at(const std::vector<double>& coordinates) const {
    const SearchSpace& space = history_.space();
    return space.assemble(0, [&](std::size_t leaf) {
      return leaf_value_at(space.leaves()[leaf].domain, history_.axes()[leaf], coordinates[leaf]);
    });
  }

  const GpOptions options_;
  History history_;
  const Priors priors_;
  Random random_;
  std::vector<double> shift_;  ///< of the points that fill the space, by leaf
  UnitSequence hypercubes_;
  std::uint64_t spread_ = 0;  ///< points that did not come from the model
  GpFits fits_;
  IsAllowed is_allowed_;
};

}  // namespace

std::unique_ptr<Searcher> make_gp(const SearchSpace& space, const GpOptions& options) {
  return std::make_unique<Gp>(space, options);
}

}  // namespace tune
