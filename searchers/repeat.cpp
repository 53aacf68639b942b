// Tries each config several times, and lets the searcher learn from the mean.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "searchers/front.h"
#include "tuner/core/error.h"
#include "tuner/core/policy_state.h"

namespace tune {

namespace {

class Repeat : public Searcher {
 public:
  Repeat(std::unique_ptr<Searcher> searcher, std::int64_t repeat, std::string key)
      : searcher_(std::move(searcher)), repeat_(repeat), key_(std::move(key)) {}

  Answer suggest(TrialId id) override {
    if (given_ < repeat_) return repeated(id);
    Answer answer = searcher_->suggest(id);
    auto* const suggestion = std::get_if<Suggestion>(&answer);
    if (suggestion == nullptr) return answer;
    current_ = std::move(*suggestion);
    first_ = id;
    given_ = 0;
    return repeated(id);
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
    if (std::ssize(ends) == repeat_) tell_mean(found->second, ends);
  }

  std::optional<std::uint64_t> total() const override {
    const auto configs = searcher_->total();
    return configs ? std::optional(*configs * static_cast<std::uint64_t>(repeat_)) : std::nullopt;
  }
  bool may_take_long() const override { return searcher_->may_take_long(); }
  Pace pace() const override { return searcher_->pace(); }

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
    return {
        {"searcher", searcher_->save()}, {"config", current_.config}, {"tag", current_.tag},
        {"first", index_of(first_)},     {"given", given_},           {"groups", std::move(groups)},
        {"ends", std::move(ends)}};
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
      searcher_->load(state.at("searcher"));
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

  Suggestion repeated(TrialId id) {
    groups_[id] = first_;
    Suggestion suggestion = current_;
    suggestion.config[key_] = given_;
    suggestion.tag += (suggestion.tag.empty() ? "" : ",") + key_ + "=" + std::to_string(given_);
    ++given_;
    return suggestion;
  }

  /// Of those that have a number; the config has failed if none has. Of constraints, the mean has
  /// no number if one of them has none.
  void tell_mean(TrialId first, const std::map<TrialId, End>& ends) {
    Observation mean;
    std::vector<int> counts;
    const auto has_worked = [](const End& end) {
      return end.how == Ended::complete || end.how == Ended::stopped;
    };
    const auto good = static_cast<double>(std::count_if(
        ends.begin(), ends.end(), [&](const auto& end) { return has_worked(end.second); }));
    const bool is_lost = std::all_of(ends.begin(), ends.end(),
                                     [](const auto& end) { return end.second.how == Ended::lost; });
    Ended how = is_lost ? Ended::lost : Ended::failed;
    for (const auto& [id, end] : ends) {
      if (!has_worked(end)) continue;
      if (how != Ended::stopped) how = end.how;
      mean.iteration = std::max(mean.iteration, end.last.iteration);
      mean.scores.resize(end.last.scores.size());
      counts.resize(end.last.scores.size());
      for (std::size_t i = 0; i < end.last.scores.size(); ++i) {
        if (std::isnan(end.last.scores[i])) continue;
        mean.scores[i] += end.last.scores[i];
        ++counts[i];
      }
      mean.constraints.resize(end.last.constraints.size());
      for (std::size_t i = 0; i < mean.constraints.size(); ++i) {
        mean.constraints[i] += end.last.constraints[i] / good;
      }
    }
    for (std::size_t i = 0; i < mean.scores.size(); ++i) {
      mean.scores[i] =
          counts[i] > 0 ? mean.scores[i] / counts[i] : std::numeric_limits<double>::quiet_NaN();
    }
    searcher_->on_trial_end(first, mean, how);
  }

  std::unique_ptr<Searcher> searcher_;
  const std::int64_t repeat_;
  const std::string key_;
  Suggestion current_;
  TrialId first_{};                                 ///< of the trials with the current config
  std::int64_t given_ = repeat_;                    ///< how many of these there are
  std::map<TrialId, TrialId> groups_;               ///< each trial's first one of the same config
  std::map<TrialId, std::map<TrialId, End>> ends_;  ///< by first trial
};

}  // namespace

std::unique_ptr<Searcher> make_repeat(std::unique_ptr<Searcher> searcher, const Turns& turns) {
  if (turns.repeat == 1) return searcher;
  return std::make_unique<Repeat>(std::move(searcher), turns.repeat, turns.repeat_key);
}

}  // namespace tune
