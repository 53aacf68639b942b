// Suggests what a model of the largest budget that has one expects most of, and now and then
// anything. The rules: bohb_model.h. Goes with a scheduler that stops trials early at budgets.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "searchers/bohb_model.h"
#include "searchers/priors.h"
#include "searchers/searchers.h"
#include "searchers/suggestion.h"
#include "tuner/model/constraint.h"
#include "tuner/policy/policy_state.h"

namespace tune {

namespace {

/// Rising: floor(max_t / reduction_factor^k), as the milestones of hyperband are.
std::vector<std::int64_t> budgets_of(const BohbOptions& options) {
  constexpr double tolerance = 1e-9;  // 81 / 3^4 may be a little less than 1
  std::vector<std::int64_t> budgets;
  for (double budget = options.max_t; budget >= 1 - tolerance; budget /= options.reduction_factor) {
    budgets.push_back(static_cast<std::int64_t>(budget + tolerance));
  }
  std::reverse(budgets.begin(), budgets.end());
  budgets.erase(std::unique(budgets.begin(), budgets.end()), budgets.end());
  return budgets;
}

class Bohb : public Searcher {
 public:
  Bohb(const SearchSpace& space, const BohbOptions& options)
      : space_(space),
        options_(options),
        axes_(axes_of(space_)),
        priors_(space_),
        budgets_(budgets_of(options)),
        data_(budgets_.size()),
        random_(options.seed) {
    for (std::size_t leaf = 0; leaf < axes_.size(); ++leaf) {
      if (!axes_[leaf].is_modelled()) continue;
      free_.push_back(leaf);
      free_axes_.push_back(axes_[leaf]);
    }
  }

  Answer suggest(TrialId) override {
    Random random = random_;
    Suggestion suggestion = suggestion_of(space_, [&] { return draw(random); });
    random_ = random;
    return suggestion;
  }

  void on_trial_add(TrialId id, const std::string& config) override {
    const std::vector<double> coordinates = coordinates_of(space_, axes_, Json::parse(config));
    std::vector<double> point;
    for (const std::size_t leaf : free_) point.push_back(to_unit(axes_[leaf], coordinates[leaf]));
    Trained& trial = trials_[id];
    trial.point = std::move(point);
    trial.has_failed = false;
  }

  void on_result(TrialId id, const Observation& result) override {
    const auto found = trials_.find(id);
    if (found == trials_.end()) return;
    Trained& trial = found->second;
    while (trial.budgets < budgets_.size() && result.iteration >= budgets_[trial.budgets]) {
      note(trial, result.scores[0], violation(result.constraints));
    }
  }

  void on_trial_end(TrialId id, const Observation& last, Ended how) override {
    const auto found = trials_.find(id);
    if (found == trials_.end()) return;
    const bool has_result = last.iteration > 0;
    if (has_result) on_result(id, last);
    const bool has_number = has_result && std::isfinite(last.scores[0]);
    found->second.has_failed = how != Ended::lost && (how == Ended::failed || !has_number);
  }

  bool may_take_long() const override { return true; }

  Json save() const override {
    Json trials = Json::array(), data = Json::array();
    for (const auto& [id, trial] : trials_) {
      trials.push_back({id, trial.budgets, save_numbers(trial.point)});
      if (trial.has_failed) trials.back().push_back(true);
    }
    for (const BohbData& budget : data_) {
      Json points = Json::array();
      for (const auto& point : budget.points) points.push_back(save_numbers(point));
      data.push_back({{"points", std::move(points)},
                      {"scores", save_numbers(budget.scores)},
                      {"violations", save_numbers(budget.violations)}});
    }
    return {{"random", random_.save()}, {"trials", std::move(trials)}, {"data", std::move(data)}};
  }

  void load(const Json& state) override {
    load_state("the searcher bohb", [&] {
      Random random(0);
      random.load(state.at("random"));
      std::map<TrialId, Trained> trials;
      for (const Json& saved : state.at("trials")) {
        Trained& trial = trials[TrialId(load_whole<std::uint32_t>(saved.at(0)))];
        trial.budgets = load_whole<std::size_t>(saved.at(1));
        trial.point = decode_point(saved.at(2));
        trial.has_failed = saved.size() > 3;
      }
      std::vector<BohbData> data;
      for (const Json& saved : state.at("data")) {
        BohbData& budget = data.emplace_back();
        for (const Json& point : saved.at("points")) budget.points.push_back(decode_point(point));
        budget.scores = load_numbers(saved.at("scores"));
        const auto violations = saved.find("violations");  // older states lack it
        budget.violations = violations != saved.end() ? load_numbers(*violations)
                                                      : std::vector<double>(budget.scores.size());
        if (budget.scores.size() != budget.points.size() ||
            budget.violations.size() != budget.points.size()) {
          throw std::invalid_argument("lengths");
        }
      }
      if (data.size() != budgets_.size()) throw std::invalid_argument("other budgets");
      random_ = random;
      trials_ = std::move(trials);
      data_ = std::move(data);
    });
  }

 private:
  struct Trained {
    std::vector<double> point;
    std::size_t budgets = 0;  ///< how many it has reached
    bool has_failed = false;
  };

  void note(Trained& trial, double score, double excess) {
    data_[trial.budgets].points.push_back(trial.point);
    data_[trial.budgets].scores.push_back(
        std::isfinite(score) ? score : std::numeric_limits<double>::quiet_NaN());
    data_[trial.budgets].violations.push_back(excess);
    ++trial.budgets;
  }

  /// What is known on a budget. That a trial has failed on its way there is worse than whatever it
  /// could have reported there.
  BohbData known_on(std::size_t budget) const {
    BohbData known = data_[budget];
    for (const auto& [id, trial] : trials_) {
      if (!trial.has_failed || trial.budgets > budget) continue;
      known.points.push_back(trial.point);
      known.scores.push_back(std::numeric_limits<double>::quiet_NaN());
      known.violations.push_back(0);
    }
    return known;
  }

  /// Of the largest budget with enough for a model; nothing if none has.
  std::optional<BohbData> data() const {
    for (std::size_t budget = budgets_.size(); budget-- > 0;) {
      if (!has_enough_good(data_[budget], free_.size(), options_.rules)) continue;
      BohbData known = known_on(budget);
      if (is_enough(known, free_.size(), options_.rules)) return known;
    }
    return std::nullopt;
  }

  Json draw(Random& random) const {
    const auto uniform = [&] { return random.uniform(); };
    const std::optional<BohbData> model = free_.empty() ? std::nullopt : data();
    if (!model || uniform() < options_.random_fraction) {
      const DrawnFrom from = priors_.pick(random);
      return from == DrawnFrom::priors ? draw_believed(random) : priors_.sample(from, random);
    }
    const std::vector<double> point = next_by_bohb(free_axes_, *model, options_.rules, uniform);
    std::vector<double> coordinates;
    for (const Axis& axis : axes_) coordinates.push_back(axis.low);
    for (std::size_t k = 0; k < free_.size(); ++k) {
      coordinates[free_[k]] = from_unit(free_axes_[k], point[k]);
    }
    return space_.assemble(0, [&](std::size_t leaf) {
      return next_leaf_value(space_.leaves()[leaf].domain, axes_[leaf], coordinates[leaf], uniform);
    });
  }

  /// From the priors, or near the best: PriorBand's shares of the draws that are not from the whole
  /// space.
  Json draw_believed(Random& random) const {
    std::vector<std::vector<double>> best = best_points();
    for (auto& point : best) point = coordinates_at(point);
    if (random.uniform() < prior_share(space_, priors_, best)) {
      return priors_.sample(DrawnFrom::priors, random);
    }
    return Priors(space_, best[0]).sample(DrawnFrom::priors, random);
  }

  /// Of the configs on the largest budget with enough of them one in `reduction_factor`, the best
  /// first.
  std::vector<std::vector<double>> best_points() const {
    const auto least = static_cast<std::size_t>(std::ceil(options_.reduction_factor));
    for (std::size_t budget = budgets_.size(); budget-- > 0;) {
      const BohbData& known = data_[budget];
      std::vector<std::size_t> order;
      for (std::size_t i = 0; i < known.scores.size(); ++i) {
        if (std::isfinite(known.scores[i])) order.push_back(i);
      }
      if (order.size() < least) continue;
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::pair(known.violations[a], -known.scores[a]) <
               std::pair(known.violations[b], -known.scores[b]);
      });
      order.resize(std::max<std::size_t>(1, order.size() / least));
      std::vector<std::vector<double>> best;
      for (const std::size_t i : order) best.push_back(known.points[i]);
      return best;
    }
    return {};
  }

  /// By leaf; NaN where there is nothing to model.
  std::vector<double> coordinates_at(const std::vector<double>& point) const {
    std::vector<double> coordinates(axes_.size(), std::numeric_limits<double>::quiet_NaN());
    for (std::size_t k = 0; k < free_.size(); ++k) {
      if (!std::isnan(point[k])) coordinates[free_[k]] = from_unit(free_axes_[k], point[k]);
    }
    return coordinates;
  }

  std::vector<double> decode_point(const Json& json) const {
    std::vector<double> point = load_numbers(json);
    if (point.size() != free_.size()) throw std::invalid_argument("another space");
    return point;
  }

  const SearchSpace space_;
  const BohbOptions options_;
  const std::vector<Axis> axes_;
  const Priors priors_;
  std::vector<std::size_t> free_;  ///< leaves that are modelled
  std::vector<Axis> free_axes_;
  const std::vector<std::int64_t> budgets_;  ///< in iterations, rising
  std::vector<BohbData> data_;               ///< by budget
  std::map<TrialId, Trained> trials_;
  Random random_;
};

}  // namespace

std::unique_ptr<Searcher> make_bohb(const SearchSpace& space, const BohbOptions& options) {
  return std::make_unique<Bohb>(space, options);
}

}  // namespace tune
