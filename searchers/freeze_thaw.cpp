// Decides, whenever a place is free, which paused trial goes on or which config starts. The model:
// freeze_thaw_model.h. The pauses: schedulers/freeze_thaw.cpp.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "searchers/freeze_thaw_model.h"
#include "searchers/gp_dimensions.h"
#include "searchers/gp_model.h"
#include "searchers/normal.h"
#include "searchers/searchers.h"
#include "searchers/suggestion.h"
#include "tuner/policy/policy_state.h"

namespace tune {

namespace {

/// A fit is kept until there are so many times the results.
constexpr double curve_fit_growth = 1.3;
/// Candidates: new configs all over the space and around the best ones, and trials that wait.
constexpr std::size_t spread_candidates = 120;
constexpr std::size_t near_candidates = 60;
constexpr std::size_t waiting_candidates = 70;

class FreezeThawSearch : public Searcher {
 public:
  FreezeThawSearch(const SearchSpace& space, const FreezeThawSearchOptions& options)
      : space_(space),
        options_(options),
        axes_(axes_of(space_)),
        dimensions_(space_, axes_),
        epochs_(decision_epochs(options.epochs)) {
    for (const Json& config : options.only_configs) {
      only_.push_back(coordinates_of(space_, axes_, config));
    }
    if (has_unfit(space_, options_.constraints)) {
      is_allowed_ = [this](const std::vector<double>& coordinates) {
        return !why_unfit(space_, options_.constraints, config_at(coordinates));
      };
    }
  }

  Answer suggest(TrialId) override {
    Random random = random_of(decisions_);
    Answer answer = decide(true, random);
    auto* const suggestion = std::get_if<Suggestion>(&answer);
    // Asked once more it has another answer, if this one cannot be tried.
    if (suggestion != nullptr) ++decisions_;
    return answer;
  }

  Answer suggest_waiting() override {
    Random random = random_of(decisions_);
    return decide(false, random);
  }

  void on_trial_add(TrialId id, const std::string& config) override {
    Known trial;
    trial.coordinates = coordinates_of(space_, axes_, Json::parse(config));
    trial.curve.point = dimensions_.point_of(trial.coordinates);
    const auto found = trials_.find(id);
    // A clone has trained as long as it has; of what it is now, nothing is known.
    if (found != trials_.end()) trial.iteration = found->second.iteration;
    trials_[id] = std::move(trial);
  }

  void on_trial_resume(TrialId id) override {
    ++decisions_;
    if (Known* const trial = find(id)) trial->state = State::running;
  }

  void on_trial_hold(TrialId id, bool released) override {
    if (Known* const trial = find(id)) trial->is_held = !released;
  }

  void on_result(TrialId id, const Observation& result) override {
    Known* const trial = find(id);
    if (trial == nullptr) return;
    trial->state = State::running;
    const std::size_t known = trial->curve.epochs.size();
    const std::int64_t last = known > 0 ? iteration_of(trial->curve.epochs.back()) : 0;
    const bool is_due = result.iteration >= epochs_[next_decision(epochs_, last)];
    trial->iteration = std::max(trial->iteration, result.iteration);
    if (is_due && std::isfinite(result.scores[0])) note(*trial, result);
  }

  void on_trial_pause(TrialId id, const Observation& last) override {
    Known* const trial = find(id);
    if (trial == nullptr) return;
    on_result(id, last);
    trial->state = State::waiting;
  }

  void on_trial_end(TrialId id, const Observation& last, Ended how) override {
    Known* const trial = find(id);
    if (trial == nullptr) return;
    trial->state = State::closed;
    trial->iteration = std::max(trial->iteration, last.iteration);
    if (how == Ended::lost) return;
    const bool has_number = last.iteration > 0 && std::isfinite(last.scores[0]);
    Observation end = last;
    end.iteration = std::max<std::int64_t>(last.iteration, 1);
    // Known from elsewhere, and by its end alone: that is the end of a training.
    if (how == Ended::complete && trial->curve.epochs.empty())
      end.iteration = options_.epochs.max_t;
    if (how == Ended::failed || !has_number) {
      end.scores = {std::numeric_limits<double>::quiet_NaN()};
      trial->has_failed = true;
    } else {
      trial->has_failed = false;
    }
    note(*trial, end);
  }

  bool may_take_long() const override { return true; }

  Json save() const override {
    Json trials = Json::array();
    for (const auto& [id, trial] : trials_) {
      trials.push_back({index_of(id), static_cast<int>(trial.state), trial.is_held,
                        trial.has_failed, trial.iteration, save_numbers(trial.coordinates),
                        save_numbers(trial.curve.epochs), save_numbers(trial.curve.scores)});
    }
    return {{"trials", std::move(trials)},
            {"decisions", decisions_},
            {"fitted", fitted_},
            {"fitted_to", fitted_to_}};
  }

  void load(const Json& state) override {
    load_state("the searcher freeze_thaw", [&] {
      std::map<TrialId, Known> trials;
      for (const Json& saved : state.at("trials")) {
        Known& trial = trials[TrialId(load_whole<std::uint32_t>(saved.at(0)))];
        const int how = load_whole<int>(saved.at(1));
        if (how < 0 || how > static_cast<int>(State::closed)) throw std::invalid_argument("state");
        trial.state = static_cast<State>(how);
        trial.is_held = saved.at(2).get<bool>();
        trial.has_failed = saved.at(3).get<bool>();
        trial.iteration = load_whole<std::int64_t>(saved.at(4));
        trial.coordinates = load_numbers(saved.at(5));
        trial.curve.epochs = load_numbers(saved.at(6));
        trial.curve.scores = load_numbers(saved.at(7));
        if (trial.coordinates.size() != axes_.size() ||
            trial.curve.epochs.size() != trial.curve.scores.size()) {
          throw std::invalid_argument("another space");
        }
        trial.curve.point = dimensions_.point_of(trial.coordinates);
      }
      const auto decisions = load_whole<std::uint64_t>(state.at("decisions"));
      auto fitted = state.at("fitted").get<CurveHyperparameters>();
      const auto fitted_to = load_whole<std::size_t>(state.at("fitted_to"));
      if (!fitted.empty() && fitted.size() != dimensions_.size() + 4) {
        throw std::invalid_argument("another space");
      }
      trials_ = std::move(trials);
      decisions_ = decisions;
      fitted_ = std::move(fitted);
      fitted_to_ = fitted_to;
    });
  }

 private:
  enum class State : char { running, waiting, closed };
  struct Known {
    State state = State::running;  ///< or about to run
    bool is_held = false;          ///< by the user
    bool has_failed = false;
    std::int64_t iteration = 0;  ///< the highest that it has reported
    std::vector<double> coordinates;
    LearningCurve curve;
  };
  using Place = CurveModel::Place;

  Known* find(TrialId id) {
    const auto found = trials_.find(id);
    return found != trials_.end() ? &found->second : nullptr;
  }

  /// Numbers drawn for a decision depend on nothing but which one it is: what was asked in vain
  /// leaves no trace.
  Random random_of(std::uint64_t decision) const {
    return Random(options_.seed + decision * 0x9e3779b97f4a7c15u);
  }

  double share(std::int64_t iteration) const {
    return std::clamp(static_cast<double>(iteration) / static_cast<double>(options_.epochs.max_t),
                      1e-9, 1.0);
  }
  std::int64_t iteration_of(double share) const {
    return std::llround(share * static_cast<double>(options_.epochs.max_t));
  }

  void note(Known& trial, const Observation& result) {
    LearningCurve& curve = trial.curve;
    const bool is_broken = violation(result.constraints) > 0;
    const double score = is_broken ? std::numeric_limits<double>::quiet_NaN() : result.scores[0];
    const double epoch = share(result.iteration);
    if (!curve.epochs.empty() && curve.epochs.back() >= epoch) {
      curve.scores.back() = score;  // the later end of a trial replaces the earlier
    } else {
      curve.epochs.push_back(epoch);
      curve.scores.push_back(score);
    }
    fit_if_due();
  }

  void fit_if_due() {
    std::size_t results = 0;
    bool is_any_known = false;
    for (const auto& [id, trial] : trials_) {
      results += trial.curve.scores.size();
      for (const double score : trial.curve.scores) is_any_known |= std::isfinite(score);
    }
    const bool is_due =
        static_cast<double>(results) >= curve_fit_growth * static_cast<double>(fitted_to_);
    if (!is_any_known || !is_due || results < most_unfitted) return;
    fitted_ = CurveModel(dimensions_.categorical(), curves()).fit(fitted_, random_of(results));
    fitted_to_ = results;
  }

  std::vector<LearningCurve> curves() const {
    std::vector<LearningCurve> all;
    for (const auto& [id, trial] : trials_) all.push_back(trial.curve);
    return all;
  }

  /// Iterations that may still be trained, beyond what runs; nothing: no end of them.
  std::optional<std::int64_t> left() const {
    if (!options_.max_total_t) return std::nullopt;
    std::int64_t used = 0;
    for (const auto& [id, trial] : trials_) {
      used += trial.state == State::running ? target_of(trial) : trial.iteration;
    }
    return std::max<std::int64_t>(*options_.max_total_t - used, 0);
  }

  /// Where a trial pauses next.
  std::int64_t target_of(const Known& trial) const {
    return std::max(epochs_[next_decision(epochs_, trial.iteration)], trial.iteration);
  }

  Answer decide(bool may_start, Random& random) const {
    const auto left = this->left();
    if (left && *left <= 0) return nothing(/*may_ever=*/false);
    if (fitted_.empty() || (may_start && std::ssize(trials_) < options_.n_startup_trials)) {
      if (may_start) return start(spread(random), random);
      // So few results that no model was made: those that came farthest go on.
      return best_waiting();
    }
    CurveModel model(dimensions_.categorical(), curves());
    model.set(fitted_);
    std::vector<std::pair<TrialId, Place>> waiting;
    std::size_t number = 0;
    for (const auto& [id, trial] : trials_) {
      if (trial.state == State::running) {
        model.believe(number, trial.curve.point, share(target_of(trial)));
      } else if (trial.state == State::waiting && !trial.is_held) {
        waiting.push_back({id, {number, &trial.curve.point, share(trial.iteration)}});
      }
      ++number;
    }
    keep_best(waiting);
    return may_start ? next_or_new(model, std::move(waiting), left, random)
                     : most_probable(model, std::move(waiting));
  }

  /// By their last scores.
  void keep_best(std::vector<std::pair<TrialId, Place>>& waiting) const {
    if (waiting.size() <= waiting_candidates) return;
    const auto last = [&](const auto& each) {
      const auto& scores = trials_.at(each.first).curve.scores;
      const double score = scores.empty() ? std::nan("") : scores.back();
      return std::isfinite(score) ? score : -std::numeric_limits<double>::infinity();
    };
    std::stable_sort(waiting.begin(), waiting.end(),
                     [&](const auto& a, const auto& b) { return last(a) > last(b); });
    waiting.resize(waiting_candidates);
  }

  Answer next_or_new(const CurveModel& model, std::vector<std::pair<TrialId, Place>> waiting,
                     std::optional<std::int64_t> left, Random& random) const {
    const double most = left ? share(std::min(*left, options_.epochs.max_t)) : 1;
    const RandomHorizon horizon = draw_horizon(most, model.best(), random);
    const double step = 1 / static_cast<double>(options_.epochs.max_t);
    const double ahead = std::max(std::ceil(horizon.epochs / step), 1.0) * step;
    std::vector<Place> places;
    for (auto& [id, place] : waiting) {
      place.epoch = std::min(place.epoch + ahead, 1.0);
      places.push_back(place);
    }
    const auto fresh = new_points(random);
    for (const auto& point : fresh) places.push_back({std::nullopt, &point, std::min(ahead, 1.0)});
    const auto predictions = model.predict(places);
    std::size_t best = 0;
    for (std::size_t i = 1; i < predictions.size(); ++i) {
      if (margin(predictions[i], horizon.threshold) >
          margin(predictions[best], horizon.threshold)) {
        best = i;
      }
    }
    if (best < waiting.size()) return Resume{waiting[best].first};
    return start(dimensions_.coordinates_at(fresh[best - waiting.size()]), random);
  }

  /// For the end of a search: no draw, so that it ends by a rule.
  Answer most_probable(const CurveModel& model,
                       std::vector<std::pair<TrialId, Place>> waiting) const {
    constexpr double worthwhile = 1e-3;  // of a deviation
    std::vector<Place> places;
    for (auto& [id, place] : waiting) {
      place.epoch = 1;
      places.push_back(place);
    }
    if (places.empty()) return nothing(true);
    const auto predictions = model.predict(places);
    const double threshold = model.best() + worthwhile;
    std::size_t best = 0;
    for (std::size_t i = 1; i < predictions.size(); ++i) {
      if (margin(predictions[i], threshold) > margin(predictions[best], threshold)) best = i;
    }
    const double probability = normal_cdf(margin(predictions[best], threshold));
    // One at least trains to the end, or the search has no result that can be relied on.
    if (probability < options_.min_probability && !lacks_a_whole_training()) return nothing(true);
    return Resume{waiting[best].first};
  }

  /// Without a model: the best of those that came farthest.
  Answer best_waiting() const {
    std::optional<TrialId> best;
    std::pair<std::int64_t, double> highest{-1, 0};
    for (const auto& [id, trial] : trials_) {
      if (trial.state != State::waiting || trial.is_held) continue;
      const double score = trial.curve.scores.empty() ? std::nan("") : trial.curve.scores.back();
      const std::pair<std::int64_t, double> height{
          trial.iteration, std::isfinite(score) ? score : std::numeric_limits<double>::lowest()};
      if (best && height <= highest) continue;
      best = id;
      highest = height;
    }
    return best ? Answer(Resume{*best}) : nothing(true);
  }

  /// Nobody has come to the end, nor is on the last stretch.
  bool lacks_a_whole_training() const {
    return std::none_of(trials_.begin(), trials_.end(), [&](const auto& each) {
      const Known& trial = each.second;
      if (trial.has_failed) return false;
      return (trial.state == State::running ? target_of(trial) : trial.iteration) >=
             options_.epochs.max_t;
    });
  }

  /// `may_ever`: what still runs, or is held by the user, may change that.
  Answer nothing(bool may_ever) const {
    const bool is_open = std::any_of(trials_.begin(), trials_.end(), [](const auto& each) {
      return each.second.state == State::running || each.second.is_held;
    });
    return may_ever && is_open ? Answer(NothingNow{}) : Answer(Exhausted{});
  }

  std::vector<double> spread(Random& random) const {
    if (!only_.empty()) return dimensions_.coordinates_at(untried({}, random)[0]);
    constexpr int most_tried = 1000;
    std::vector<double> coordinates;
    for (int tried = 0; tried < most_tried; ++tried) {
      std::vector<double> shares;
      for (std::size_t leaf = 0; leaf < axes_.size(); ++leaf) shares.push_back(random.uniform());
      coordinates = coordinates_at(axes_, shares);
      if (!is_allowed_ || is_allowed_(coordinates)) break;
    }
    return coordinates;
  }

  /// By dimension; at least one.
  std::vector<std::vector<double>> new_points(Random& random) const {
    std::vector<std::vector<double>> points;
    const auto take = [&](const std::vector<double>& coordinates) {
      if (is_allowed_ && !is_allowed_(coordinates)) return;
      points.push_back(dimensions_.snapped(dimensions_.point_of(coordinates)));
    };
    const auto best = best_points();
    if (!only_.empty()) return untried(best, random);
    std::vector<double> shift;
    for (std::size_t leaf = 0; leaf < axes_.size(); ++leaf) shift.push_back(random.uniform());
    const SpreadPoints all_over(axes_, shift);
    for (std::size_t i = 0; i < spread_candidates; ++i) take(all_over(i));
    for (std::size_t i = 0; !best.empty() && i < near_candidates; ++i) {
      take(dimensions_.coordinates_at(near(*best[i % best.size()], random)));
    }
    if (points.empty()) take(spread(random));
    if (points.empty()) points.push_back(dimensions_.point_of(all_over(0)));
    return points;
  }

  /// Where nothing else can be tried: some of what is left, and what is nearest to the best.
  std::vector<std::vector<double>> untried(const std::vector<const std::vector<double>*>& best,
                                           Random& random) const {
    std::set<std::vector<double>> taken;
    for (const auto& [id, trial] : trials_) taken.insert(trial.curve.point);
    std::vector<std::vector<double>> left;
    for (const auto& coordinates : only_) {
      auto point = dimensions_.point_of(coordinates);
      if (!taken.contains(point)) left.push_back(std::move(point));
    }
    if (left.empty()) return {dimensions_.point_of(only_[0])};
    const std::size_t wanted = std::min(left.size(), spread_candidates);
    for (std::size_t i = 0; i < wanted; ++i) {
      std::swap(left[i], left[i + random.below(left.size() - i)]);
    }
    std::vector<std::vector<double>> points(left.begin(),
                                            left.begin() + static_cast<std::ptrdiff_t>(wanted));
    left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(wanted));
    const auto is_categorical = dimensions_.categorical();
    for (const auto* const center : best) {
      const auto apart = [&](const std::vector<double>& point) {
        double sum = 0;
        for (std::size_t j = 0; j < point.size(); ++j) {
          const double by = point[j] - (*center)[j];
          sum += is_categorical[j] ? (by != 0 ? 1 : 0) : by * by;
        }
        return sum;
      };
      const auto near = std::min(left.size(), near_candidates / best.size());
      std::partial_sort(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(near), left.end(),
                        [&](const auto& a, const auto& b) { return apart(a) < apart(b); });
      points.insert(points.end(), left.begin(), left.begin() + static_cast<std::ptrdiff_t>(near));
      left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(near));
    }
    return points;
  }

  /// The configs of the three best scores.
  std::vector<const std::vector<double>*> best_points() const {
    constexpr std::size_t most = 3;
    std::vector<std::pair<double, const std::vector<double>*>> ranking;
    for (const auto& [id, trial] : trials_) {
      double best = -std::numeric_limits<double>::infinity();
      for (const double score : trial.curve.scores) best = score > best ? score : best;
      if (std::isfinite(best)) ranking.emplace_back(best, &trial.curve.point);
    }
    std::stable_sort(ranking.begin(), ranking.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<const std::vector<double>*> points;
    for (std::size_t i = 0; i < std::min(most, ranking.size()); ++i) {
      points.push_back(ranking[i].second);
    }
    return points;
  }

  /// A tenth of each range away, or another category.
  std::vector<double> near(std::vector<double> point, Random& random) const {
    constexpr double range = 0.1, other_category = 0.2;
    const auto is_categorical = dimensions_.categorical();
    for (std::size_t j = 0; j < point.size(); ++j) {
      if (is_categorical[j]) {
        const auto values = dimensions_.values(j);
        if (random.uniform() < other_category) point[j] = values[random.below(values.size())];
      } else {
        point[j] = std::clamp(point[j] + random.normal(0, range), dimensions_.lower(j),
                              dimensions_.upper(j));
      }
    }
    return point;
  }

  Suggestion start(const std::vector<double>& coordinates, Random& random) const {
    return suggestion_of(space_, [&] {
      return space_.assemble(0, [&](std::size_t leaf) {
        return next_leaf_value(space_.leaves()[leaf].domain, axes_[leaf], coordinates[leaf],
                               [&] { return random.uniform(); });
      });
    });
  }

  /// Of seeds any value: no constraint is about those.
  Json config_at(const std::vector<double>& coordinates) const {
    return space_.assemble(0, [&](std::size_t leaf) {
      return leaf_value_at(space_.leaves()[leaf].domain, axes_[leaf], coordinates[leaf]);
    });
  }

  /// With fewer results there is nothing to fit.
  static constexpr std::size_t most_unfitted = 2;

  const SearchSpace space_;
  const FreezeThawSearchOptions options_;
  const std::vector<Axis> axes_;
  const GpDimensions dimensions_;
  const std::vector<std::int64_t> epochs_;
  std::vector<std::vector<double>> only_;  ///< coordinates of what alone can be tried
  std::map<TrialId, Known> trials_;
  std::uint64_t decisions_ = 0;  ///< that were recorded
  CurveHyperparameters fitted_;
  std::size_t fitted_to_ = 0;  ///< so many results
  IsAllowed is_allowed_;
};

}  // namespace

std::unique_ptr<Searcher> make_freeze_thaw_search(const SearchSpace& space,
                                                  const FreezeThawSearchOptions& options) {
  return std::make_unique<FreezeThawSearch>(space, options);
}

}  // namespace tune
