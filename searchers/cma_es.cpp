// CMA-ES for the numbers that every config has; all else is left to another searcher. The rule for
// the numbers: cma_descent.h.
#include "searchers/cma_es.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "searchers/cma_descent.h"
#include "searchers/searchers.h"
#include "searchers/suggestion.h"
#include "tuner/policy/policy_state.h"

namespace tune {

namespace {

/// With more dimensions, to learn from a generation takes longer than a turn of the loop may.
constexpr std::size_t most_quick_dimensions = 40;
/// A search starts from what is known if these are so many trials or more: where the best tenth of
/// them is, with a deviation of a tenth of each range (Nomura et al., "Warm Starting CMA-ES for
/// Hyperparameter Optimization", AAAI 2021).
constexpr std::size_t least_known = 10;
constexpr double best_share = 0.1;
constexpr double known_deviation = 0.1;

std::vector<std::size_t> numbers_of(const SearchSpace& space, const std::vector<Axis>& axes) {
  std::vector<std::size_t> numbers;
  for (std::size_t leaf = 0; leaf < axes.size(); ++leaf) {
    const bool is_always_there = !space.leaves()[leaf].conditional;
    if (is_always_there && !axes[leaf].is_choice() && axes[leaf].is_modelled()) {
      numbers.push_back(leaf);
    }
  }
  return numbers;
}

std::vector<Axis> those(const std::vector<Axis>& axes, const std::vector<std::size_t>& places) {
  std::vector<Axis> chosen;
  for (const std::size_t place : places) chosen.push_back(axes[place]);
  return chosen;
}

class CmaEs : public Searcher {
 public:
  CmaEs(const SearchSpace& space, const CmaOptions& options)
      : space_(space),
        all_axes_(axes_of(space)),
        numbers_(numbers_of(space, all_axes_)),
        axes_(those(all_axes_, numbers_)),
        priors_(space_),
        random_(options.seed),
        may_restart_(options.restarts != CmaRestarts::none),
        runs_(options),
        descent_(axes_, runs_.current(), first_mean()) {
    if (options.independent_tpe && numbers_.size() < all_axes_.size()) {
      TpeOptions tpe;
      tpe.seed = random_.bits();
      others_ = make_tpe(space, 1, tpe);
    }
  }

  Answer suggest(TrialId id) override {
    if (!has_begun_) begin();
    Random random = random_;
    CmaDrawn drawn = descent_.draw(random);
    Suggestion suggestion =
        suggestion_of(space_, [&] { return assemble(id, drawn.tried, random); });
    random_ = random;
    asked_[id] = {std::move(drawn), shares_of(suggestion.config), run_, descent_.generation()};
    return suggestion;
  }

  void on_trial_add(TrialId id, const std::string& config) override {
    if (others_) others_->on_trial_add(id, config);
    std::vector<double> shares = shares_of(Json::parse(config));
    const auto found = asked_.find(id);
    if (found != asked_.end() && found->second.shares == shares) return;
    asked_[id] = {{{}, shares}, std::move(shares), std::nullopt, 0};
  }

  void on_trial_end(TrialId id, const Observation& last, Ended how) override {
    if (others_) others_->on_trial_end(id, last, how);
    const CmaOutcome outcome(last, how);
    const auto found = asked_.find(id);
    if (found == asked_.end()) {  // it has ended before, and trained on
      if (how == Ended::lost) return;
      if (CmaResult* const earlier = descent_.find(id)) earlier->outcome = outcome;
      return;
    }
    const Asked asked = std::move(found->second);
    asked_.erase(found);
    if (how == Ended::lost) return;
    if (!has_begun_) {
      known_.push_back({id, asked.drawn.tried, false, outcome});
    } else if (!asked.run || *asked.run == run_) {
      tell(id, asked, outcome);
    }
  }

  bool may_take_long() const override {
    return axes_.size() > most_quick_dimensions || (others_ && others_->may_take_long());
  }

  Json save() const override;
  void load(const Json& state) override;

 private:
  /// Where the priors are; else in the middle.
  std::vector<double> first_mean() const {
    std::vector<double> mean;
    for (std::size_t j = 0; j < axes_.size(); ++j) {
      const double range = axes_[j].high - axes_[j].low;
      const bool has_prior = priors_.has(numbers_[j]);
      mean.push_back(has_prior ? (priors_.center(numbers_[j]) - axes_[j].low) / range : 0.5);
    }
    return mean;
  }

  /// A trial that has not ended.
  struct Asked {
    CmaDrawn drawn;              ///< of one that came from elsewhere, `tried` alone
    std::vector<double> shares;  ///< where its config is, on all steps
    std::optional<std::uint64_t> run;
    std::uint64_t generation = 0;
  };

  std::vector<double> shares_of(const Json& config) const {
    const std::vector<double> coordinates = coordinates_of(space_, all_axes_, config);
    std::vector<double> shares;
    for (std::size_t j = 0; j < axes_.size(); ++j) {
      shares.push_back((coordinates[numbers_[j]] - axes_[j].low) / (axes_[j].high - axes_[j].low));
    }
    return shares;
  }

  Json assemble(TrialId id, const std::vector<double>& tried, Random& random) {
    std::vector<Json> values;
    if (others_) {
      Answer answer = others_->suggest(id);
      values = space_.leaf_values(std::get<Suggestion>(answer).config);
    }
    const DrawnFrom from = others_ ? DrawnFrom::space : priors_.pick(random);
    return space_.assemble(0, [&](std::size_t leaf) -> Json {
      const Domain& domain = space_.leaves()[leaf].domain;
      const auto number = std::lower_bound(numbers_.begin(), numbers_.end(), leaf);
      if (number == numbers_.end() || *number != leaf) {
        return others_ ? values[leaf] : priors_.draw(leaf, from, random);
      }
      const auto j = static_cast<std::size_t>(number - numbers_.begin());
      const Axis& axis = axes_[j];
      return leaf_value_at(domain, axis, axis.low + tried[j] * (axis.high - axis.low));
    });
  }

  void tell(TrialId id, const Asked& asked, const CmaOutcome& outcome) {
    // What was drawn for an earlier generation counts in this one, like what is from elsewhere.
    const bool is_own = asked.run && asked.generation == descent_.generation();
    tell({id, is_own ? asked.drawn.point : descent_.point_of(asked.drawn.tried), is_own, outcome});
  }

  void tell(CmaResult result) {
    descent_.tell(std::move(result));
    if (!descent_.has_converged() || !may_restart_) return;
    const CmaRun run = runs_.next(descent_.evaluations(), random_);
    std::vector<double> mean;
    for (std::size_t j = 0; j < axes_.size(); ++j) mean.push_back(random_.uniform());
    descent_ = CmaDescent(axes_, run, std::move(mean));
    ++run_;
  }

  /// With the first suggestion: takes up what is known by then.
  void begin() {
    has_begun_ = true;
    std::vector<CmaResult> known = std::move(known_);
    known_.clear();
    std::stable_sort(known.begin(), known.end(), [](const CmaResult& a, const CmaResult& b) {
      return a.outcome.is_better_than(b.outcome);
    });
    std::erase_if(known, [](const CmaResult& r) { return r.outcome.how == Ended::failed; });
    if (known.size() >= least_known) {
      begin_among(known);
    } else {
      const std::size_t half = runs_.current().population / 2;
      for (std::size_t i = 0; i < std::min(half, known.size()); ++i) {
        known[i].point = descent_.point_of(known[i].point);
        descent_.tell(std::move(known[i]));
      }
    }
  }

  void begin_among(const std::vector<CmaResult>& known) {
    const std::size_t n = axes_.size();
    const double share = best_share * static_cast<double>(known.size());
    const auto count = static_cast<std::size_t>(std::ceil(share));
    std::vector<double> mean(n, 0), covariance(n * n, 0);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        mean[j] += known[i].point[j] / static_cast<double>(count);
      }
    }
    // In units of its start's deviation, so that sigma keeps its meaning.
    const double unit = known_deviation * known_deviation;
    for (std::size_t j = 0; j < n; ++j) covariance[j * n + j] = 1;
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t k = 0; k < n; ++k) {
          covariance[j * n + k] += (known[i].point[j] - mean[j]) * (known[i].point[k] - mean[k]) /
                                   (static_cast<double>(count) * unit);
        }
      }
    }
    descent_ = CmaDescent(axes_, {runs_.current().population, known_deviation}, std::move(mean),
                          std::move(covariance));
  }

  const SearchSpace space_;
  const std::vector<Axis> all_axes_;        ///< by leaf
  const std::vector<std::size_t> numbers_;  ///< leaves that are modelled
  const std::vector<Axis> axes_;            ///< of these
  const Priors priors_;
  Random random_;
  const bool may_restart_;
  CmaRunList runs_;
  CmaDescent descent_;
  std::unique_ptr<Searcher> others_;  ///< for leaves that are not modelled, unless at random
  std::map<TrialId, Asked> asked_;
  std::vector<CmaResult> known_;  ///< until the search begins
  bool has_begun_ = false;
  std::uint64_t run_ = 0;
};

Json CmaEs::save() const {
  Json asked = Json::array(), known = Json::array();
  for (const auto& [id, trial] : asked_) {
    asked.push_back({static_cast<std::uint32_t>(id), trial.drawn.point, trial.drawn.tried,
                     trial.shares, trial.run ? Json(*trial.run) : Json(), trial.generation});
  }
  for (const CmaResult& result : known_) known.push_back(save_result(result));
  return {{"random", random_.save()},
          {"runs", runs_.save()},
          {"run", run_},
          {"descent", descent_.save()},
          {"others", others_ ? others_->save() : Json()},
          {"asked", std::move(asked)},
          {"known", std::move(known)},
          {"has_begun", has_begun_}};
}

void CmaEs::load(const Json& state) {
  load_state("the searcher cma_es", [&] {
    Random random(0);
    random.load(state.at("random"));
    const auto numbers_in = [&](const Json& json, bool may_be_empty = false) {
      auto numbers = json.get<std::vector<double>>();
      const bool is_empty = may_be_empty && numbers.empty();
      if (numbers.size() != axes_.size() && !is_empty) {
        throw std::invalid_argument("a point of another space");
      }
      return numbers;
    };
    std::map<TrialId, Asked> asked;
    for (const Json& entry : state.at("asked")) {
      Asked& trial = asked[TrialId(load_whole<std::uint32_t>(entry.at(0)))];
      const Json& run = entry.at(4);
      if (!run.is_null()) trial.run = load_whole<std::uint64_t>(run);
      trial.drawn = {numbers_in(entry.at(1), !trial.run), numbers_in(entry.at(2))};
      trial.shares = numbers_in(entry.at(3));
      trial.generation = load_whole<std::uint64_t>(entry.at(5));
    }
    std::vector<CmaResult> known;
    for (const Json& entry : state.at("known")) {
      known.push_back(load_result(entry));
      (void)numbers_in(entry.at(1));
    }
    const auto run = load_whole<std::uint64_t>(state.at("run"));
    const bool has_begun = state.at("has_begun").get<bool>();
    CmaDescent descent = descent_;
    descent.load(state.at("descent"));
    CmaRunList runs = runs_;
    runs.load(state.at("runs"));
    if (others_) others_->load(state.at("others"));
    random_ = random;
    runs_.load(state.at("runs"));
    descent_ = std::move(descent);
    asked_ = std::move(asked);
    known_ = std::move(known);
    has_begun_ = has_begun;
    run_ = run;
  });
}

}  // namespace

std::size_t cma_es_dimensions(const SearchSpace& space) {
  return numbers_of(space, axes_of(space)).size();
}

std::unique_ptr<Searcher> make_cma_es(const SearchSpace& space, const CmaOptions& options) {
  return std::make_unique<CmaEs>(space, options);
}

}  // namespace tune
