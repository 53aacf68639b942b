// The built-in stopping rules (bounds, plateaus, time budget), each with the state that it saves,
// and the rule that combines several.
#include "tuner/policy/stopper.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <sstream>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/base/wide_sum.h"
#include "tuner/policy/policy_state.h"

namespace tune {

namespace {

/// Infinite where one of them is no number: that has not settled.
double population_deviation(const std::vector<double>& values) {
  const bool is_finite =
      std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
  return is_finite ? standard_deviation_of(values, static_cast<double>(values.size()))
                   : std::numeric_limits<double>::infinity();
}

class MetricBound : public Stopper {
 public:
  MetricBound(std::string metric, Comparison comparison, double bound)
      : metric_(std::move(metric)), comparison_(comparison), bound_(bound) {}

  bool should_stop(const Trial&, const Result& result) override {
    const auto value = result.find(metric_);
    if (!value || std::isnan(*value)) return false;
    value_ = *value;
    switch (comparison_) {
      case Comparison::less:
        return *value < bound_;
      case Comparison::less_equal:
        return *value <= bound_;
      case Comparison::greater_equal:
        return *value >= bound_;
      case Comparison::greater:
        return *value > bound_;
    }
    return false;
  }
  // Looks at this result alone, so a bound that was changed since counts at once.
  bool should_stop_again(const Trial& trial, const Result& result) override {
    return should_stop(trial, result);
  }

  Rationale why() const override {
    return Rationale().add("metric", metric_).add("value", value_).add("bound", bound_);
  }

 private:
  std::string metric_;
  Comparison comparison_;
  double bound_;
  double value_ = 0;  ///< the last
};

class MaxIteration : public Stopper {
 public:
  explicit MaxIteration(std::int64_t iterations) : iterations_(iterations) {}

  bool should_stop(const Trial&, const Result& result) override {
    return result.training_iteration >= iterations_;
  }
  bool should_stop_again(const Trial& trial, const Result& result) override {
    return should_stop(trial, result);
  }

  Rationale why() const override { return Rationale().add("max_iteration", iterations_); }

 private:
  std::int64_t iterations_;
};

class NotFinite : public Stopper {
 public:
  explicit NotFinite(NotFiniteOptions options) : options_(std::move(options)) {}

  bool should_stop(const Trial& trial, const Result& result) override {
    bool is_any = false, is_all_finite = true;
    for (const std::string& metric : options_.metrics) {
      const auto value = result.find(metric);
      if (!value) continue;
      is_any = true;
      if (std::isfinite(*value)) continue;
      is_all_finite = false;
      last_ = metric;
    }
    // A result without the metrics neither continues the row nor breaks it.
    if (!is_any) return false;
    if (is_all_finite) {
      in_a_row_.erase(trial.id);
      return false;
    }
    return ++in_a_row_[trial.id] >= options_.times;
  }
  /// Its count is that of the farthest iteration, so it answers only there: at earlier repetitions
  /// the count would be of later results.
  bool should_stop_again(const Trial& trial, const Result& result) override {
    const auto known = in_a_row_.find(trial.id);
    return known != in_a_row_.end() && known->second >= options_.times &&
           result.training_iteration == trial.counted_iteration;
  }

  Rationale why() const override {
    return Rationale().add("not_finite", last_).add("times", options_.times);
  }

  void on_trial_end(const Trial& trial) override { in_a_row_.erase(trial.id); }

  Json save() const override {
    Json trials = Json::array();
    for (const auto& [id, times] : in_a_row_) trials.push_back({index_of(id), times});
    return {{"trials", std::move(trials)}};
  }

  void load(const Json& state) override {
    std::map<TrialId, std::int64_t> in_a_row;
    load_state("the stopper nan", [&] {
      for (const Json& trial : state.at("trials")) {
        in_a_row[TrialId(load_whole<std::uint32_t>(trial.at(0)))] =
            load_whole<std::int64_t>(trial.at(1));
      }
    });
    in_a_row_ = std::move(in_a_row);
  }

 private:
  NotFiniteOptions options_;
  std::map<TrialId, std::int64_t> in_a_row_;  ///< of trials whose last value was none
  std::string last_;                          ///< the metric that was not finite
};

class TimeBudget : public Stopper {
 public:
  explicit TimeBudget(Seconds budget_s) : budget_s_(budget_s) {}

  bool should_stop(const Trial&, const Result&) override { return false; }
  bool should_stop_again(const Trial&, const Result&) override { return false; }

  std::optional<std::string> should_stop_all(Seconds running_s) const override {
    if (running_s < budget_s_) return std::nullopt;
    std::ostringstream sentence;
    sentence << "the time budget of " << budget_s_ << " s is used up";
    return sentence.str();
  }

 private:
  Seconds budget_s_;
};

class TrialPlateau : public Stopper {
 public:
  explicit TrialPlateau(TrialPlateauOptions options) : options_(std::move(options)) {}

  bool should_stop(const Trial& trial, const Result& result) override {
    const auto value = result.find(options_.metric);
    if (!value) return false;
    Window& window = windows_[trial.id];
    ++window.results;
    window.last.push_back(*value);
    const auto wanted = static_cast<std::size_t>(options_.num_results);
    if (window.last.size() > wanted) window.last.erase(window.last.begin());
    return has_settled(window);
  }
  /// Its window ends with the farthest iteration, so it answers only there.
  bool should_stop_again(const Trial& trial, const Result& result) override {
    const auto known = windows_.find(trial.id);
    return known != windows_.end() && result.training_iteration == trial.counted_iteration &&
           has_settled(known->second);
  }

  Rationale why() const override {
    return Rationale()
        .add("metric", options_.metric)
        .add("deviation", deviation_)
        .add("bound", options_.std)
        .add("of", options_.num_results);
  }

  void on_trial_end(const Trial& trial) override { windows_.erase(trial.id); }

  Json save() const override {
    Json trials = Json::array();
    for (const auto& [id, window] : windows_) {
      trials.push_back({index_of(id), window.results, window.last});
    }
    return encode_numbers({{"trials", std::move(trials)}});
  }

  void load(const Json& state) override {
    std::map<TrialId, Window> windows;
    load_state("the stopper trial_plateau", [&] {
      for (const Json& trial : state.at("trials")) {
        Window& window = windows[TrialId(load_whole<std::uint32_t>(trial.at(0)))];
        window.results = load_whole<std::int64_t>(trial.at(1));
        for (const Json& value : trial.at(2)) window.last.push_back(load_number(value));
        // It may have been written for a longer window.
        const auto wanted = static_cast<std::size_t>(options_.num_results);
        const auto surplus = window.last.size() - std::min(window.last.size(), wanted);
        window.last.erase(window.last.begin(), window.last.begin() + std::ptrdiff_t(surplus));
      }
    });
    windows_ = std::move(windows);
  }

 private:
  struct Window {
    std::int64_t results = 0;
    std::vector<double> last;  ///< of `num_results` values at most, oldest first
  };

  bool has_settled(const Window& window) {
    const bool may_stop = window.last.size() == static_cast<std::size_t>(options_.num_results) &&
                          window.results >= options_.grace_period &&
                          is_past_threshold(window.last.back());
    if (may_stop) deviation_ = population_deviation(window.last);
    return may_stop && deviation_ <= options_.std;
  }

  bool is_past_threshold(double value) const {
    if (!options_.metric_threshold) return true;
    return value == *options_.metric_threshold ||
           better(options_.mode, value, *options_.metric_threshold);
  }

  TrialPlateauOptions options_;
  std::map<TrialId, Window> windows_;
  double deviation_ = 0;  ///< the last
};

class ExperimentPlateau : public Stopper {
 public:
  explicit ExperimentPlateau(ExperimentPlateauOptions options) : options_(std::move(options)) {}

  bool should_stop(const Trial& trial, const Result& result) override {
    const auto value = result.find(options_.metric);
    if (!value || !std::isfinite(*value)) return false;
    add(trial.id, *value);
    // Only results with a finite value count towards the patience.
    settled_results_ = has_settled() ? settled_results_ + 1 : 0;
    return false;
  }
  bool should_stop_again(const Trial&, const Result&) override { return false; }

  std::optional<std::string> should_stop_all(Seconds) const override {
    // The result with which the values settled is not one of the `patience` further ones.
    if (settled_results_ <= options_.patience) return std::nullopt;
    return "the best " + std::to_string(options_.top) + " values of '" + options_.metric +
           "' have settled";
  }

  Json save() const override {
    Json best = Json::array();
    for (const auto& [value, id] : best_) best.push_back({value, index_of(id)});
    return encode_numbers({{"best", std::move(best)}, {"settled_results", settled_results_}});
  }

  void load(const Json& state) override {
    std::vector<std::pair<double, TrialId>> best;
    std::int64_t settled_results = 0;
    load_state("the stopper experiment_plateau", [&] {
      for (const Json& entry : state.at("best")) {
        best.emplace_back(load_number(entry.at(0)),
                          TrialId(load_whole<std::uint32_t>(entry.at(1))));
      }
      settled_results = load_whole<std::int64_t>(state.at("settled_results"));
    });
    // It may have been written for another mode, or for more values.
    std::stable_sort(best.begin(), best.end(), [&](const auto& a, const auto& b) {
      return better(options_.mode, a.first, b.first);
    });
    const auto most = static_cast<std::size_t>(options_.top);
    if (best.size() > most) best.resize(most);
    best_ = std::move(best);
    settled_results_ = settled_results;
  }

 private:
  /// A trial that has dropped out of the best needs no memory: to come back it must beat the worst
  /// of them, which its earlier values did not.
  void add(TrialId id, double value) {
    const auto known = std::find_if(best_.begin(), best_.end(),
                                    [&](const auto& entry) { return entry.second == id; });
    if (known != best_.end()) {
      if (!better(options_.mode, value, known->first)) return;
      best_.erase(known);
    }
    const auto place = std::find_if(best_.begin(), best_.end(), [&](const auto& entry) {
      return better(options_.mode, value, entry.first);
    });
    best_.emplace(place, value, id);
    if (best_.size() > static_cast<std::size_t>(options_.top)) best_.pop_back();
  }

  bool has_settled() const {
    if (best_.size() < static_cast<std::size_t>(options_.top)) return false;
    std::vector<double> values;
    for (const auto& entry : best_) values.push_back(entry.first);
    return population_deviation(values) <= options_.std;
  }

  ExperimentPlateauOptions options_;
  std::vector<std::pair<double, TrialId>> best_;  ///< best first, one for each trial
  std::int64_t settled_results_ = 0;              ///< in a row
};

class AnyStopper : public Stopper {
 public:
  explicit AnyStopper(std::vector<NamedStopper> stoppers) : stoppers_(std::move(stoppers)) {}

  bool should_stop(const Trial& trial, const Result& result) override {
    return any_says([&](Stopper& each) { return each.should_stop(trial, result); });
  }
  bool should_stop_again(const Trial& trial, const Result& result) override {
    return any_says([&](Stopper& each) { return each.should_stop_again(trial, result); });
  }

  Rationale why() const override {
    if (first_ == nullptr) return {};
    return first_->stopper->why().add("rule", first_->name);
  }

  void on_trial_end(const Trial& trial) override {
    for (const auto& [name, stopper] : stoppers_) stopper->on_trial_end(trial);
  }

  std::optional<std::string> should_stop_all(Seconds running_s) const override {
    for (const auto& [name, stopper] : stoppers_) {
      if (auto reason = stopper->should_stop_all(running_s)) return reason;
    }
    return std::nullopt;
  }

  Json save() const override {
    Json states = Json::object();
    for (const auto& [name, stopper] : stoppers_) states[name] = stopper->save();
    return {{"stoppers", std::move(states)}};
  }

  void load(const Json& state) override {
    const auto states = state.is_object() ? state.find("stoppers") : state.end();
    if (states == state.end() || !states->is_object()) {
      throw user_error("the saved state of the stoppers is not its own");
    }
    for (const auto& [name, stopper] : stoppers_) {
      const auto own = states->find(name);
      // A rule without a saved state is new in the spec, and begins anew.
      if (own != states->end()) stopper->load(*own);
    }
  }

 private:
  template <class Ask>
  bool any_says(const Ask& ask) {
    // All rules are asked, also after one has said yes: each counts the results by itself, and must
    // not miss one because of another rule.
    bool stops = false;
    for (const auto& named : stoppers_) {
      if (!ask(*named.stopper)) continue;
      if (!stops) first_ = &named;
      stops = true;
    }
    return stops;
  }

  std::vector<NamedStopper> stoppers_;
  const NamedStopper* first_ = nullptr;  ///< that ended the last trial that one has ended
};

}  // namespace

bool Stopper::should_stop_again(const Trial& trial, const Result& result) {
  // A rule had ended the trial at `end_iteration`, but the driver died before the last save was
  // committed: so it trains up to there again, and ends there.
  return trial.ended_by == EndedBy::rule && trial.end_iteration != 0 &&
         result.training_iteration >= trial.end_iteration;
}

std::unique_ptr<Stopper> make_metric_bound(std::string metric, Comparison comparison,
                                           double bound) {
  return std::make_unique<MetricBound>(std::move(metric), comparison, bound);
}

std::unique_ptr<Stopper> make_max_iteration(std::int64_t iterations) {
  return std::make_unique<MaxIteration>(iterations);
}

std::unique_ptr<Stopper> make_not_finite(NotFiniteOptions options) {
  ensure(options.times >= 1, "a metric that is not finite is seen in at least one result");
  return std::make_unique<NotFinite>(std::move(options));
}

std::unique_ptr<Stopper> make_time_budget(Seconds budget_s) {
  return std::make_unique<TimeBudget>(budget_s);
}

std::unique_ptr<Stopper> make_trial_plateau(TrialPlateauOptions options) {
  ensure(options.num_results >= 1, "a trial plateau is seen in at least one result");
  return std::make_unique<TrialPlateau>(std::move(options));
}

std::unique_ptr<Stopper> make_experiment_plateau(ExperimentPlateauOptions options) {
  ensure(options.top >= 1, "an experiment plateau is seen in at least one value");
  return std::make_unique<ExperimentPlateau>(std::move(options));
}

std::unique_ptr<Stopper> make_any_of(std::vector<NamedStopper> stoppers) {
  return std::make_unique<AnyStopper>(std::move(stoppers));
}

std::unique_ptr<Stopper> make_any_of(std::vector<std::unique_ptr<Stopper>> stoppers) {
  std::vector<NamedStopper> named;
  for (auto& stopper : stoppers) {
    named.push_back({std::to_string(named.size()), std::move(stopper)});
  }
  return make_any_of(std::move(named));
}

}  // namespace tune
