// Decides, whenever a place is free, which paused trial goes on or which config starts. The model:
// freeze_thaw_model.h. The pauses: schedulers/freeze_thaw.cpp.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "searchers/failures.h"
#include "searchers/freeze_thaw_candidates.h"
#include "searchers/freeze_thaw_model.h"
#include "searchers/gp_dimensions.h"
#include "searchers/normal.h"
#include "searchers/searchers.h"
#include "searchers/suggestion.h"
#include "tuner/policy/policy_state.h"

namespace tune {

namespace {

/// A fit is kept until there are so many times the results.
constexpr double curve_fit_growth = 1.3;
/// So many of the trials that wait are candidates.
constexpr std::size_t waiting_candidates = 70;

class FreezeThawSearch : public Searcher {
 public:
  FreezeThawSearch(const SearchSpace& space, const FreezeThawSearchOptions& options)
      : space_(space),
        options_(options),
        axes_(axes_of(space_)),
        dimensions_(space_, axes_),
        epochs_(decision_epochs(options.epochs)),
        candidates_(space_, axes_, dimensions_, options_),
        seed_(options.seed) {}

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
            {"seed", seed_},
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
      const auto seed = load_whole<std::uint64_t>(state.at("seed"));
      auto fitted = state.at("fitted").get<CurveHyperparameters>();
      const auto fitted_to = load_whole<std::size_t>(state.at("fitted_to"));
      if (!fitted.empty() && fitted.size() != dimensions_.size() + 4) {
        throw std::invalid_argument("another space");
      }
      trials_ = std::move(trials);
      seed_ = seed;
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
    return Random(seed_ + decision * 0x9e3779b97f4a7c15u);
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
    // A failure has NaN, and what it had reported there stays.
    const double score =
        is_broken && std::isfinite(result.scores[0]) ? -infinity : result.scores[0];
    const double epoch = share(result.iteration);
    if (!curve.epochs.empty() && curve.epochs.back() >= epoch) {
      // The later end of a trial replaces the earlier.
      if (!std::isnan(score)) curve.scores.back() = score;
    } else {
      curve.epochs.push_back(epoch);
      curve.scores.push_back(score);
    }
    fit_if_due();
  }

  void fit_if_due() {
    std::size_t results = 0;
    for (const auto& [id, trial] : trials_) results += trial.curve.scores.size();
    const bool is_due =
        static_cast<double>(results) >= curve_fit_growth * static_cast<double>(fitted_to_);
    if (!is_any_known() || !is_due || results < most_unfitted) return;
    fitted_ = CurveModel(dimensions_.categorical(), curves()).fit(fitted_, random_of(results));
    fitted_to_ = results;
  }

  /// Without a score there is nothing to model.
  bool is_any_known() const {
    return std::any_of(trials_.begin(), trials_.end(), [](const auto& trial) {
      const std::vector<double>& scores = trial.second.curve.scores;
      return std::any_of(scores.begin(), scores.end(),
                         [](double score) { return std::isfinite(score); });
    });
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
    if (left && *left <= 0) return nothing(/*may_hold=*/false);
    if (fitted_.empty() || !is_any_known() ||
        (may_start && std::ssize(trials_) < options_.n_startup_trials)) {
      if (may_start) return start(candidates_.any(curves(), random), random);
      // So few results that no model was made: those that came farthest go on.
      return best_waiting();
    }
    const bool is_promotion = may_start && random.uniform() < options_.promote_share;
    if (is_promotion) {
      if (const auto promoted = next_promotion()) return Resume{*promoted};
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
    if (is_promotion) waiting.clear();  // the most promising new config starts
    return may_start ? next_or_new(model, std::move(waiting), left, random)
                     : most_probable(model, std::move(waiting));
  }

  /// By successive halving with every third decision epoch as a rung, so with a factor of 1.5^3
  /// (asha_promotion's rule): the best of the farthest.
  std::optional<TrialId> next_promotion() const {
    constexpr std::size_t stride = 3;
    constexpr double factor = 1.5 * 1.5 * 1.5;
    for (std::size_t rung = (epochs_.size() - 1) / stride * stride + stride; rung >= stride;) {
      rung -= stride;
      const double epoch = share(epochs_[rung]);
      const double next = rung + stride < epochs_.size() ? share(epochs_[rung + stride]) : 1.0;
      std::vector<std::pair<double, TrialId>> ranking;
      for (const auto& [id, trial] : trials_) {
        const auto& [point, epochs, scores] = trial.curve;
        const auto at = std::lower_bound(epochs.begin(), epochs.end(), epoch);
        if (at == epochs.end()) continue;
        const double score = scores[static_cast<std::size_t>(at - epochs.begin())];
        ranking.emplace_back(std::isfinite(score) ? -score : infinity, id);
      }
      std::sort(ranking.begin(), ranking.end());
      const auto most = static_cast<std::size_t>(static_cast<double>(ranking.size()) / factor);
      for (std::size_t i = 0; i < most; ++i) {
        const Known& trial = trials_.at(ranking[i].second);
        const bool may_go_on = trial.state == State::waiting && !trial.is_held &&
                               std::isfinite(ranking[i].first) && share(trial.iteration) < next;
        if (may_go_on) return ranking[i].second;
      }
    }
    return std::nullopt;
  }

  /// By their last scores.
  void keep_best(std::vector<std::pair<TrialId, Place>>& waiting) const {
    if (waiting.size() <= waiting_candidates) return;
    const auto last = [&](const auto& each) {
      const auto& scores = trials_.at(each.first).curve.scores;
      const double score = scores.empty() ? std::nan("") : scores.back();
      return std::isfinite(score) ? score : -infinity;
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
    const auto fresh = likeliest_to_work(candidates_.points(curves(), random));
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

  /// Those that are not likelier to fail than not, or the least likely.
  std::vector<ConfigCandidates::Point> likeliest_to_work(
      std::vector<ConfigCandidates::Point> points) const {
    // What a config has no value for, has one there, as in `points`.
    std::vector<std::vector<double>> tried;
    std::vector<TrialOutcome> outcomes;
    tried.reserve(trials_.size());
    for (const auto& [id, trial] : trials_) {
      if (trial.curve.scores.empty()) continue;
      tried.push_back(dimensions_.coordinates_at(trial.curve.point));
      outcomes.push_back({&tried.back(), trial.has_failed});
    }
    std::vector<double> risks;
    for (const auto& point : points) {
      risks.push_back(share_of_failures_near(dimensions_.coordinates_at(point), axes_, outcomes));
    }
    const double most = std::max(0.5, *std::min_element(risks.begin(), risks.end()));
    std::size_t number = 0;
    std::erase_if(points, [&](const auto&) { return risks[number++] > most; });
    return points;
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

  /// Nobody has come to the end, be it before max_t, nor is on the last stretch.
  bool lacks_a_whole_training() const {
    return std::none_of(trials_.begin(), trials_.end(), [&](const auto& each) {
      const Known& trial = each.second;
      if (trial.has_failed) return false;
      if (trial.state == State::closed && !trial.curve.epochs.empty()) return true;
      return (trial.state == State::running ? target_of(trial) : trial.iteration) >=
             options_.epochs.max_t;
    });
  }

  /// What still runs may change that: it may pause short of the iterations that are counted for it.
  /// `may_hold`: so may what the user holds, once it is released.
  Answer nothing(bool may_hold) const {
    const bool is_open = std::any_of(trials_.begin(), trials_.end(), [&](const auto& each) {
      return each.second.state == State::running || (may_hold && each.second.is_held);
    });
    return is_open ? Answer(NothingNow{}) : Answer(Exhausted{});
  }

  Suggestion start(const std::vector<double>& coordinates, Random& random) const {
    return suggestion_of(space_, [&] {
      return space_.assemble(0, [&](std::size_t leaf) {
        return next_leaf_value(space_.leaves()[leaf].domain, axes_[leaf], coordinates[leaf],
                               [&] { return random.uniform(); });
      });
    });
  }

  static constexpr double infinity = std::numeric_limits<double>::infinity();
  /// With fewer results there is nothing to fit.
  static constexpr std::size_t most_unfitted = 2;

  const SearchSpace space_;
  const FreezeThawSearchOptions options_;
  const std::vector<Axis> axes_;
  const GpDimensions dimensions_;
  const std::vector<std::int64_t> epochs_;
  const ConfigCandidates candidates_;
  std::map<TrialId, Known> trials_;
  std::uint64_t seed_ = 0;
  std::uint64_t decisions_ = 0;  ///< that were recorded
  CurveHyperparameters fitted_;
  std::size_t fitted_to_ = 0;  ///< so many results
};

}  // namespace

std::unique_ptr<Searcher> make_freeze_thaw_search(const SearchSpace& space,
                                                  const FreezeThawSearchOptions& options) {
  return std::make_unique<FreezeThawSearch>(space, options);
}

}  // namespace tune
