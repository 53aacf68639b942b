// The scheduler's half of freeze_thaw: a trial pauses at each decision epoch. Which one goes on
// then, or whether a new one starts, its searcher decides (searchers/freeze_thaw.cpp).
#include <cmath>
#include <utility>

#include "schedulers/copy_on_write.h"
#include "schedulers/schedulers.h"
#include "tuner/base/whole_number.h"
#include "tuner/model/experiment.h"
#include "tuner/policy/policy_state.h"

namespace tune {

namespace {

class FreezeThaw : public Scheduler {
 public:
  explicit FreezeThaw(FreezeThawOptions options)
      : options_(std::move(options)),
        epochs_(decision_epochs(options_.epochs)),
        tallies_(epochs_.size()) {}

  void on_trial_add(const Trial& trial) override { places_[trial.id] = {}; }

  void on_trial_start(const Trial& trial) override {
    Place* const place = places_.find(trial.id);
    if (place == nullptr || !place->is_waiting) return;
    place->is_waiting = false;
    if (tallies_) ++(*tallies_)[place->next - 1].went_on;
  }

  void on_trial_wait(const Trial& trial) override {
    Place* const place = places_.find(trial.id);
    // What an attempt that broke off has trained again must not be decided on again.
    if (place == nullptr || trial.state != TrialState::paused) return;
    const std::size_t next = next_decision(epochs_, trial.counted_iteration);
    // Paused by hand it may be short of the next one.
    if (next > place->next) {
      place->is_waiting = true;
      if (tallies_) ++(*tallies_)[next - 1].reached;
    }
    place->next = next;
  }

  void on_trial_end(const Trial& trial) override {
    const Place* const place = std::as_const(places_).find(trial.id);
    if (place == nullptr) return;
    const bool has_reached = trial.iteration >= epochs_[place->next];
    if (has_reached && tallies_) {
      ++(*tallies_)[trial.iteration >= epochs_.back() ? epochs_.size() - 1 : place->next].reached;
    }
    places_.erase(trial.id);
  }

  bool is_at_max(const Trial& trial) const override {
    return trial.at_max || trial.iteration >= options_.epochs.max_t;
  }

  Decision on_result(const Trial& trial, const Result& result) override {
    const Place* const place = std::as_const(places_).find(trial.id);
    if (place == nullptr) return {};
    if (result.training_iteration >= options_.epochs.max_t) {
      return {.action = Action::stop,
              .at_max = true,
              .why = Rationale().add("max_t", static_cast<double>(options_.epochs.max_t))};
    }
    const std::int64_t epoch = epochs_[place->next];
    // Where the metric comes only now and then, the next result that has it is the one to judge by.
    const auto value = result.find(options_.objective.metric);
    if (result.training_iteration < epoch || !value) return {};
    Rationale why;
    why.add("epoch", static_cast<double>(epoch)).add("score", *value);
    // A diverged training does not come back: to keep its checkpoint would be for nothing.
    const bool has_diverged = !std::isfinite(*value);
    return {.action = has_diverged ? Action::stop : Action::pause, .why = std::move(why)};
  }

  /// Of what waits, only what broke off: what has paused waits for the searcher.
  std::optional<TrialId> choose(const Experiment& experiment, Seconds now, bool) const override {
    for (const auto& [queued, id] : experiment.pending()) {
      if (experiment.may_start(id, now)) return id;
    }
    return std::nullopt;
  }

  std::string why_left(const Experiment& experiment) const override {
    return spent_text(options_.max_total_t, experiment);
  }

  /// Without cutoffs: a model decides, and not a score.
  std::optional<RungsReport> rungs() const override {
    RungsReport report{"training_iteration", options_.objective.metric, {}};
    for (std::size_t k = 0; k < epochs_.size(); ++k) {
      RungReport& one = report.rungs.emplace_back();
      one.milestone = static_cast<double>(epochs_[k]);
      if (!tallies_) continue;
      one.reached = (*tallies_)[k].reached;
      one.went_on = (*tallies_)[k].went_on;
    }
    places_.for_each([&](TrialId, const Place& place) {
      if (place.is_waiting) ++report.rungs[place.next - 1].waiting;
    });
    return report;
  }

  std::unique_ptr<Scheduler> copy() const override { return std::make_unique<FreezeThaw>(*this); }

  Json save() const override {
    Json next = Json::array();
    places_.for_each([&](TrialId id, const Place& place) {
      next.push_back({index_of(id), place.next, place.is_waiting});
    });
    Json state = {{"next", std::move(next)}};
    if (!tallies_) return state;
    Json& tallies = state["tallies"] = Json::array();
    for (const auto& [reached, went_on] : *tallies_) tallies.push_back({reached, went_on});
    return state;
  }

  void load(const Json& state) override {
    load_state("the scheduler freeze_thaw", [&] {
      TrialTable<Place> places;
      for (const Json& saved : state.at("next")) {
        Place place{.next = load_whole<std::size_t>(saved.at(1))};
        // States of older programs do not say who waits, nor how many have been where.
        place.is_waiting = saved.size() > 2 && saved.at(2).get<bool>();
        if (place.next >= epochs_.size() || (place.is_waiting && place.next == 0)) {
          throw std::invalid_argument("other decision epochs");
        }
        places[TrialId(load_whole<std::uint32_t>(saved.at(0)))] = place;
      }
      std::optional<std::vector<Tally>> tallies;
      if (state.contains("tallies")) {
        tallies.emplace();
        for (const Json& saved : state.at("tallies")) {
          tallies->push_back(
              {load_whole<std::uint64_t>(saved.at(0)), load_whole<std::uint64_t>(saved.at(1))});
        }
        if (tallies->size() != epochs_.size()) throw std::invalid_argument("other decision epochs");
      }
      places_ = std::move(places);
      tallies_ = std::move(tallies);
    });
  }

 private:
  struct Place {
    std::size_t next = 0;     ///< where it pauses next, of the epochs
    bool is_waiting = false;  ///< at the one before
  };
  /// Trials.
  struct Tally {
    std::uint64_t reached = 0, went_on = 0;
  };

  const FreezeThawOptions options_;
  const std::vector<std::int64_t> epochs_;
  TrialTable<Place> places_;                   ///< of trials that have not ended
  std::optional<std::vector<Tally>> tallies_;  ///< by epoch; nothing: not known
};

}  // namespace

std::unique_ptr<Scheduler> make_freeze_thaw(FreezeThawOptions options) {
  return std::make_unique<FreezeThaw>(std::move(options));
}

}  // namespace tune
