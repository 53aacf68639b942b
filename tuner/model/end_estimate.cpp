// Estimates how long trials live from the ended and the running ones (Kaplan and Meier's survival
// function), and deals the trials to come out to the places that come free.
#include "tuner/model/end_estimate.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <queue>
#include <vector>

#include "tuner/base/count_of.h"

namespace tune {

namespace {

/// So many trials to come are dealt out one by one; more of them are as good as their mean.
constexpr std::uint64_t most_dealt = 512;

/// How far a trial that runs has come.
struct Underway {
  Seconds age_s = 0;                 ///< how long it has held a place
  std::optional<Seconds> longest_s;  ///< that it can still last, by a rule
};

/// The part of trials that live longer than a time.
class Survival {
 public:
  Survival(const Lifetimes& ended, const std::vector<Underway>& underway)
      : spread_(spread_of(ended)) {
    std::vector<Seconds> ages;
    for (const Underway& trial : underway) ages.push_back(trial.age_s);
    std::sort(ages.begin(), ages.end());
    auto at_risk = static_cast<double>(ended.count() + ages.size());
    auto age = ages.begin();
    double survives = 1;
    for (const auto& [number, bin] : ended.bins()) {
      for (; age != ages.end() && *age < bin.mean_s(); ++age) --at_risk;
      survives *= 1 - static_cast<double>(bin.count) / at_risk;
      at_risk -= static_cast<double>(bin.count);
      steps_.push_back({bin.mean_s(), survives});
    }
  }

  /// How much longer one lives, on average, that has lived so long.
  Seconds residual(Seconds age_s) const {
    double at_age = 1;
    Seconds from_s = age_s;
    double survives = 1;
    double area = 0;
    for (const Step& step : steps_) {
      if (step.time_s > age_s) {
        area += survives * (step.time_s - from_s);
        from_s = step.time_s;
      } else {
        at_age = step.survives;
      }
      survives = step.survives;
    }
    if (at_age <= 0 || from_s == age_s) return tail_s(age_s);
    return (area + survives * tail_s(from_s)) / at_age;
  }

  /// What a part of trials does not outlive.
  Seconds quantile(double part) const {
    for (const Step& step : steps_) {
      if (1 - step.survives >= part) return step.time_s;
    }
    const Seconds longest_s = steps_.empty() ? 0 : steps_.back().time_s;
    return longest_s + tail_s(longest_s);
  }

 private:
  struct Step {
    Seconds time_s;
    double survives;  ///< after it
  };

  /// How much lives differ: their standard deviation as a part of their mean.
  static double spread_of(const Lifetimes& ended) {
    constexpr std::uint64_t few = 3;
    constexpr double spread_of_few = 0.25, least = 0.1, most = 1.5;
    if (ended.count() < few) return spread_of_few;
    const Seconds mean_s = ended.sum_s() / static_cast<double>(ended.count());
    double squares = 0;
    for (const auto& [number, bin] : ended.bins()) {
      squares += static_cast<double>(bin.count) * (bin.mean_s() - mean_s) * (bin.mean_s() - mean_s);
    }
    return std::clamp(std::sqrt(squares / static_cast<double>(ended.count())) / mean_s, least,
                      most);
  }

  /// How much longer one lives that has outlived all that have ended. Where lives are alike, it is
  /// as good as over; where rungs are a factor apart, the next one is as far away as the last.
  Seconds tail_s(Seconds age_s) const { return spread_ * age_s; }

  std::vector<Step> steps_;
  double spread_;
};

Seconds age_of(const Experiment& experiment, const Trial& trial, Seconds now) {
  const auto attempt = experiment.attempts().find(trial.id);
  const bool is_known = attempt != experiment.attempts().end() && attempt->second.since != 0;
  return trial.occupied_s + (is_known ? std::max(0.0, now - attempt->second.since) : 0);
}

/// What iterations have taken so far, launches included.
class IterationPace {
 public:
  void add(Seconds occupied_s, std::int64_t iterations) {
    if (iterations <= 0) return;
    sum_s_ += occupied_s;
    iterations_ += static_cast<double>(iterations);
  }
  std::optional<Seconds> each_s() const {
    return iterations_ > 0 ? std::optional(sum_s_ / iterations_) : std::nullopt;
  }

 private:
  Seconds sum_s_ = 0;
  double iterations_ = 0;
};

/// Places are given to who waits, in turn; answers when the last one is free.
class Places {
 public:
  void take(Seconds until_s) { busy_.push(until_s); }
  void next(Seconds lasts_s) {
    const Seconds from_s = busy_.top();
    busy_.pop();
    busy_.push(from_s + lasts_s);
    last_s_ = std::max(last_s_, from_s + lasts_s);
  }
  std::size_t size() const { return busy_.size(); }
  Seconds last_s() {
    while (!busy_.empty()) {
      last_s_ = std::max(last_s_, busy_.top());
      busy_.pop();
    }
    return last_s_;
  }

 private:
  std::priority_queue<Seconds, std::vector<Seconds>, std::greater<>> busy_;
  Seconds last_s_ = 0;
};

/// Numbers from (0, 1) whose first n are spread evenly, for every n (van der Corput).
double spread(std::uint64_t i) {
  double value = 0;
  double digit = 0.5;
  for (++i; i > 0; i /= 2, digit /= 2) value += static_cast<double>(i % 2) * digit;
  return value;
}

EndEstimate unknown(std::string reason) { return {.reason = std::move(reason)}; }

bool hangs(const EndConditions& conditions, TrialId id) {
  return std::find(conditions.hanging.begin(), conditions.hanging.end(), id) !=
         conditions.hanging.end();
}

EndEstimate by_trials(const Experiment& experiment, const EndConditions& conditions, Seconds now) {
  if (!experiment.stop_reason().empty()) return unknown("it is stopping");
  if (!conditions.total_trials) return unknown("how many trials there will be is not known");
  const std::size_t held = static_cast<std::size_t>(std::count_if(
      experiment.paused().begin(), experiment.paused().end(),
      [&](const auto& entry) { return experiment.trial(entry.second).held.has_value(); }));
  const std::size_t paused = experiment.paused().size() - held;
  if (paused > 0) {
    return unknown(count_of(paused, "trial") + (paused == 1 ? " is" : " are") +
                   " paused, and only the scheduler knows which go on");
  }
  if (experiment.running().empty()) return unknown("nothing runs");
  const std::uint64_t ended =
      experiment.count(TrialState::terminated) + experiment.count(TrialState::error);
  const Lifetimes& lifetimes = experiment.lifetimes();

  std::vector<Underway> underway;
  IterationPace pace;
  for (const TrialId id : experiment.running()) {
    if (hangs(conditions, id)) continue;
    const Trial& trial = experiment.trial(id);
    Underway& one = underway.emplace_back(Underway{age_of(experiment, trial, now), {}});
    pace.add(one.age_s, trial.iteration);
    if (conditions.most_iterations && trial.iteration > 0) {
      const double left = *conditions.most_iterations - static_cast<double>(trial.iteration);
      one.longest_s = std::max(0.0, left) * one.age_s / static_cast<double>(trial.iteration);
    }
  }
  const std::size_t running = underway.size();
  const std::size_t hanging = experiment.running().size() - running;
  if (running == 0)
    return unknown(hanging == 1 ? "the trial that runs hangs" : "all that runs hangs");
  const auto each_s = pace.each_s();
  const bool goes_by_rule = lifetimes.count() == 0 && conditions.most_iterations && each_s;
  if (lifetimes.count() == 0 && !goes_by_rule) return unknown("no trial has ended yet");

  const Survival survival(lifetimes, underway);
  const Seconds by_rule_s = goes_by_rule ? *conditions.most_iterations * *each_s : 0;
  const Seconds mean_s = goes_by_rule ? by_rule_s : survival.residual(0);
  Places places;
  for (const Underway& trial : underway) {
    Seconds left_s =
        goes_by_rule ? std::max(0.0, by_rule_s - trial.age_s) : survival.residual(trial.age_s);
    if (trial.longest_s) left_s = std::min(left_s, *trial.longest_s);
    places.take(left_s);
  }
  std::uint64_t fresh =
      *conditions.total_trials -
      std::min<std::uint64_t>(*conditions.total_trials, experiment.trials().size());
  for (const auto& [place, id] : experiment.pending()) {
    const Trial& trial = experiment.trial(id);
    if (trial.occupied_s == 0) {
      ++fresh;
    } else {
      places.next(goes_by_rule ? std::max(0.0, by_rule_s - trial.occupied_s)
                               : survival.residual(trial.occupied_s));
    }
  }
  const std::uint64_t dealt = std::min(fresh, most_dealt);
  for (std::uint64_t i = 0; i < dealt; ++i) {
    places.next(goes_by_rule ? by_rule_s : survival.quantile(spread(i)));
  }
  const Seconds bulk_s = static_cast<double>(fresh - dealt) * mean_s / static_cast<double>(running);
  EndEstimate estimate{.remaining_s = bulk_s + places.last_s()};
  estimate.reason = std::to_string(ended) + " of " + std::to_string(*conditions.total_trials) +
                    " trials ended, " + std::to_string(running) + " at a time, " +
                    rough_duration(mean_s) + " each";
  if (goes_by_rule) estimate.reason += " by their pace until the stop rule";
  if (hanging > 0) {
    estimate.reason +=
        "; " + count_of(hanging, "trial that hangs is", "trials that hang are") + " left out";
  }
  return estimate;
}

/// At which a stop rule ends each trial, whatever it reports.
std::optional<double> most_iterations(const Json& stop) {
  constexpr const char* iteration = "training_iteration";
  std::optional<double> most;
  const auto take = [&](const Json& rule, const char* key) {
    const auto found = rule.find(key);
    if (found == rule.end() || !found->is_number()) return;
    most = std::min(most.value_or(never_s), found->get<double>());
  };
  for (const Json& rule : stop.is_array() ? stop : Json::array({stop})) {
    if (!rule.is_object()) continue;
    if (rule.value("type", Json()) == "max_iteration") take(rule, "max_iter");
    if (!rule.contains("type")) take(rule, iteration);
    if (rule.value("metric", Json()) == iteration) take(rule, ">=");
  }
  return most;
}

}  // namespace

EndConditions end_conditions(std::optional<std::uint64_t> total_trials, const Json& stop,
                             std::optional<Seconds> time_budget_s, const Json& spec_changes) {
  const auto changed_stop = spec_changes.find("stop");
  const auto changed_budget = spec_changes.find("time_budget_s");
  if (changed_budget != spec_changes.end()) {
    time_budget_s =
        changed_budget->is_number() ? std::optional(changed_budget->get<Seconds>()) : std::nullopt;
  }
  return {total_trials,
          time_budget_s,
          most_iterations(changed_stop != spec_changes.end() ? *changed_stop : stop),
          {}};
}

std::optional<Seconds> budget_left_s(const Experiment& experiment, const EndConditions& conditions,
                                     Seconds now) {
  if (!conditions.time_budget_s) return std::nullopt;
  return std::max(0.0, *conditions.time_budget_s - experiment.running_s(now));
}

EndEstimate estimate_end(const Experiment& experiment, const EndConditions& conditions,
                         Seconds now) {
  EndEstimate estimate = by_trials(experiment, conditions, now);
  const auto left_s = budget_left_s(experiment, conditions, now);
  if (!left_s) return estimate;
  if (!estimate.remaining_s) {
    return {.remaining_s = left_s,
            .is_bound = true,
            .reason = "the time budget is over then; " + estimate.reason};
  }
  if (*estimate.remaining_s <= *left_s) return estimate;
  return {.remaining_s = left_s,
          .reason = "the time budget is over then; without it " +
                    rough_duration(*estimate.remaining_s) + " (" + estimate.reason + ")"};
}

std::string rough_duration(Seconds duration_s) {
  const auto text = [](double number, const char* unit) {
    return std::to_string(std::llround(number)) + unit;
  };
  constexpr Seconds minute_s = 60, hour_s = 3600, day_s = 86400;
  if (duration_s < 1) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.2g s", std::max(duration_s, 0.0));
    return buffer;
  }
  if (duration_s < 99.5) return text(duration_s, " s");
  if (duration_s < 99.5 * minute_s) return text(duration_s / minute_s, " min");
  const auto pair = [&](Seconds large_s, const char* large, Seconds small_s, const char* small) {
    const auto all = std::llround(duration_s / small_s);
    const auto in_large = std::llround(large_s / small_s);
    std::string both = std::to_string(all / in_large) + large;
    return all % in_large == 0 ? both : both + " " + std::to_string(all % in_large) + small;
  };
  if (duration_s < 10 * hour_s) return pair(hour_s, " h", 10 * minute_s, "0 min");
  if (duration_s < 3 * day_s) return text(duration_s / hour_s, " h");
  return pair(day_s, " d", hour_s, " h");
}

std::string text_of(const EndEstimate& estimate) {
  if (!estimate.remaining_s) return "not known: " + estimate.reason;
  return (estimate.is_bound ? "at most " : "about ") + rough_duration(*estimate.remaining_s) +
         ": " + estimate.reason;
}

}  // namespace tune
