// Tries each config several times, and lets the searcher learn from the mean. In a race, a config
// gets all of its tries only while it may still be the best.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "searchers/suggestion_filter.h"
#include "tuner/base/error.h"
#include "tuner/base/wide_sum.h"
#include "tuner/policy/policy_state.h"

namespace tune {

namespace {

/// What Student's t with so many degrees of freedom, from 1, exceeds with a probability of 5 %.
double t_95(std::size_t freedom) {
  static constexpr std::array quantiles = {6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895,
                                           1.860, 1.833, 1.812, 1.796, 1.782, 1.771, 1.761,
                                           1.753, 1.746, 1.740, 1.734, 1.729, 1.725};
  return quantiles[std::min(freedom, quantiles.size()) - 1];
}

/// Whether the mean of `differences`, which are at least two, is above 0, by a t-test.
bool is_clearly_positive(const std::vector<double>& differences) {
  const auto n = static_cast<double>(differences.size());
  const double error = standard_deviation_of(differences, n - 1) / std::sqrt(n);
  return average_of(differences) > t_95(differences.size() - 1) * error;
}

class Repeat : public Searcher {
 public:
  Repeat(std::unique_ptr<Searcher> searcher, const Batching& batching)
      : searcher_(std::move(searcher)),
        repeat_(batching.repeat),
        at_least_(batching.repeat_at_least),
        key_(batching.repeat_key) {}

  Answer suggest(TrialId id) override {
    if (given_ < at_least_) return first_try(id);
    for (auto& [first, racer] : racers_) {
      const auto ends = ends_.find(first);
      if (ends == ends_.end() || std::ssize(ends->second) < racer.given) continue;
      return next_try(id, first, racer);
    }
    Answer answer = searcher_->suggest(id);
    auto* const suggestion = std::get_if<Suggestion>(&answer);
    const bool is_over = std::holds_alternative<Exhausted>(answer) && racers_.empty();
    if (suggestion == nullptr) return is_over ? answer : Answer(NothingNow{});
    current_ = std::move(*suggestion);
    first_ = id;
    given_ = 0;
    return first_try(id);
  }

  void on_trial_add(TrialId id, const std::string& config) override {
    // The searcher knows the first of them alone.
    const bool is_first = !groups_.contains(id) || groups_.at(id) == id;
    if (is_first) searcher_->on_trial_add(id, config);
  }

  /// Curves of single tries say little about the mean.
  void on_result(TrialId, const Observation&) override {}

  void on_trial_end(TrialId id, const Observation& last, Ended how) override {
    const auto found = groups_.find(id);
    if (found == groups_.end()) {
      searcher_->on_trial_end(id, last, how);
      return;
    }
    auto& ends = ends_[found->second];
    ends[id] = {last, how};
    if (is_decided(found->second, ends)) tell_mean(found->second, ends);
  }

  std::optional<std::uint64_t> total() const override {
    if (at_least_ < repeat_) return std::nullopt;
    const auto configs = searcher_->total();
    return configs ? std::optional(*configs * static_cast<std::uint64_t>(repeat_)) : std::nullopt;
  }
  bool may_take_long() const override { return searcher_->may_take_long(); }
  SuggestionLimits limits() const override { return searcher_->limits(); }

  Json save() const override {
    Json groups = Json::array();
    for (const auto& [id, first] : groups_) groups.push_back({index_of(id), index_of(first)});
    Json ends = Json::array();
    for (const auto& [first, group] : ends_) {
      for (const auto& [id, end] : group) {
        ends.push_back({index_of(first), index_of(id), end.last.iteration,
                        save_numbers(end.last.scores), static_cast<int>(end.how),
                        save_numbers(end.last.constraints)});
      }
    }
    Json racers = Json::array();
    for (const auto& [first, racer] : racers_) {
      racers.push_back(
          {index_of(first), racer.suggestion.config, racer.suggestion.tag, racer.given});
    }
    return {{"searcher", searcher_->save()},
            {"config", current_.config},
            {"tag", current_.tag},
            {"first", index_of(first_)},
            {"given", given_},
            {"groups", std::move(groups)},
            {"ends", std::move(ends)},
            {"racers", std::move(racers)},
            {"best", best_ ? Json(index_of(*best_)) : Json()}};
  }

  void load(const Json& state) override {
    load_state("the searcher", [&] {
      const auto id_of = [](const Json& json) { return TrialId(json.get<std::uint32_t>()); };
      const Suggestion current{state.at("config"), state.at("tag").get<std::string>()};
      const TrialId first = id_of(state.at("first"));
      const auto given = state.at("given").get<std::int64_t>();
      std::map<TrialId, TrialId> groups;
      for (const Json& entry : state.at("groups")) groups[id_of(entry.at(0))] = id_of(entry.at(1));
      std::map<TrialId, std::map<TrialId, End>> ends;
      for (const Json& entry : state.at("ends")) {
        End& end = ends[id_of(entry.at(0))][id_of(entry.at(1))];
        end.last.iteration = entry.at(2).get<std::int64_t>();
        end.last.scores = load_numbers(entry.at(3));
        end.how = static_cast<Ended>(entry.at(4).get<int>());
        if (entry.size() > 5) end.last.constraints = load_numbers(entry.at(5));
      }
      std::map<TrialId, Racer> racers;
      for (const Json& entry : state.value("racers", Json::array())) {
        racers[id_of(entry.at(0))] = {{entry.at(1), entry.at(2).get<std::string>()},
                                      entry.at(3).get<std::int64_t>()};
      }
      const Json best = state.value("best", Json());
      searcher_->load(state.at("searcher"));
      racers_ = std::move(racers);
      best_ = best.is_null() ? std::nullopt : std::optional(id_of(best));
      current_ = current;
      first_ = first;
      given_ = given;
      groups_ = std::move(groups);
      ends_ = std::move(ends);
    });
  }

 private:
  struct End {
    Observation last;
    Ended how = Ended::complete;
  };

  /// A config that has had its first tries, and may get more.
  struct Racer {
    Suggestion suggestion;
    std::int64_t given = 0;  ///< tries
  };
  using Ends = std::map<TrialId, End>;  ///< of one config, in the order of its tries

  Suggestion first_try(TrialId id) {
    Suggestion suggestion = repeated(id, first_, current_, given_++);
    if (given_ == at_least_ && at_least_ < repeat_) racers_[first_] = {current_, given_};
    return suggestion;
  }

  Suggestion next_try(TrialId id, TrialId first, Racer& racer) {
    return repeated(id, first, racer.suggestion, racer.given++);
  }

  Suggestion repeated(TrialId id, TrialId first, Suggestion suggestion, std::int64_t number) {
    groups_[id] = first;
    suggestion.config[key_] = number;
    suggestion.tag += (suggestion.tag.empty() ? "" : ",") + key_ + "=" + std::to_string(number);
    return suggestion;
  }

  static bool has_worked(const End& end) {
    return end.how == Ended::complete || end.how == Ended::stopped;
  }

  /// By number of the try its score; NaN: it has none. Empty unless there is one metric.
  static std::vector<double> scores_of(const Ends& ends) {
    std::vector<double> scores;
    for (const auto& [id, end] : ends) {
      if (end.last.scores.size() > 1) return {};
      const bool has_score = has_worked(end) && !end.last.scores.empty();
      scores.push_back(has_score ? end.last.scores[0] : std::numeric_limits<double>::quiet_NaN());
    }
    return scores;
  }

  /// NaN: no try has a score.
  static double mean_of(const std::vector<double>& scores) {
    std::vector<double> numbers;
    std::copy_if(scores.begin(), scores.end(), std::back_inserter(numbers),
                 [](double score) { return std::isfinite(score); });
    return numbers.empty() ? std::numeric_limits<double>::quiet_NaN() : average_of(numbers);
  }

  /// Whether the config gets no more tries, whose ends are these. One of them is new.
  bool is_decided(TrialId first, const Ends& ends) {
    if (at_least_ == repeat_) return std::ssize(ends) == repeat_;
    if (first == first_ && given_ < at_least_) return false;
    const auto racer = racers_.find(first);
    if (racer == racers_.end()) return true;
    if (std::ssize(ends) < racer->second.given) return false;
    const bool goes_on = racer->second.given < repeat_ && may_be_best(first, ends);
    if (!goes_on) racers_.erase(racer);
    return !goes_on;
  }

  /// Compared is try by try, since those of one number have a seed or a fold in common.
  bool may_be_best(TrialId first, const Ends& ends) {
    const std::vector<double> scores = scores_of(ends);
    if (scores.empty()) return true;
    const double mean = mean_of(scores);
    if (std::isnan(mean)) return false;
    if (!best_ || best_ == first) {
      best_ = first;
      return true;
    }
    const std::vector<double> of_best = scores_of(ends_.at(*best_));
    if (mean > mean_of(of_best)) {
      best_ = first;
      return true;
    }
    std::vector<double> lacking;
    for (std::size_t i = 0; i < std::min(scores.size(), of_best.size()); ++i) {
      // Halved: the difference of two numbers may be more than a double holds.
      const double by = of_best[i] / 2 - scores[i] / 2;
      if (!std::isnan(by)) lacking.push_back(by);
    }
    return lacking.size() < 2 || !is_clearly_positive(lacking);
  }

  /// Of those that have a number; the config has failed if none has. Of constraints, the mean has
  /// no number if one of them has none.
  void tell_mean(TrialId first, const std::map<TrialId, End>& ends) {
    Observation mean;
    using Columns = std::vector<std::vector<double>>;  // the tries' values, one under the other
    Columns scores, constraints;
    const auto add = [](const std::vector<double>& values, Columns& columns) {
      columns.resize(values.size());
      for (std::size_t i = 0; i < values.size(); ++i) columns[i].push_back(values[i]);
    };
    const bool is_lost = std::all_of(ends.begin(), ends.end(),
                                     [](const auto& end) { return end.second.how == Ended::lost; });
    Ended how = is_lost ? Ended::lost : Ended::failed;
    for (const auto& [id, end] : ends) {
      if (!has_worked(end)) continue;
      if (how != Ended::stopped) how = end.how;
      mean.iteration = std::max(mean.iteration, end.last.iteration);
      add(end.last.scores, scores);
      add(end.last.constraints, constraints);
    }
    for (const auto& column : scores) mean.scores.push_back(mean_of(column));
    for (const auto& column : constraints) {
      const bool lacks_one =
          std::any_of(column.begin(), column.end(), [](double value) { return std::isnan(value); });
      mean.constraints.push_back(lacks_one ? std::numeric_limits<double>::quiet_NaN()
                                           : mean_of(column));
    }
    searcher_->on_trial_end(first, mean, how);
  }

  std::unique_ptr<Searcher> searcher_;
  const std::int64_t repeat_;
  const std::int64_t at_least_;  ///< tries of a config; less than `repeat_`: it is a race
  const std::string key_;
  Suggestion current_;
  TrialId first_{};                    ///< of the trials with the current config
  std::int64_t given_ = at_least_;     ///< how many of these there are, but for what a race adds
  std::map<TrialId, Racer> racers_;    ///< by first trial
  std::optional<TrialId> best_;        ///< first trial of the config with the best mean
  std::map<TrialId, TrialId> groups_;  ///< each trial's first one of the same config
  std::map<TrialId, std::map<TrialId, End>> ends_;  ///< by first trial
};

}  // namespace

std::unique_ptr<Searcher> make_repeat(std::unique_ptr<Searcher> searcher,
                                      const Batching& batching) {
  if (batching.repeat == 1) return searcher;
  return std::make_unique<Repeat>(std::move(searcher), batching);
}

}  // namespace tune
