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
      : options_(std::move(options)), epochs_(decision_epochs(options_.epochs)) {}

  void on_trial_add(const Trial& trial) override { next_[trial.id] = 0; }

  void on_trial_wait(const Trial& trial) override {
    std::size_t* const next = next_.find(trial.id);
    // What an attempt that broke off has trained again must not be decided on again.
    if (next == nullptr || trial.state != TrialState::paused) return;
    *next = next_decision(epochs_, trial.counted_iteration);
  }

  void on_trial_end(const Trial& trial) override { next_.erase(trial.id); }

  bool is_at_max(const Trial& trial) const override {
    return trial.at_max || trial.iteration >= options_.epochs.max_t;
  }

  Decision on_result(const Trial& trial, const Result& result) override {
    const std::size_t* const next = std::as_const(next_).find(trial.id);
    if (next == nullptr) return {};
    if (result.training_iteration >= options_.epochs.max_t) {
      return {.action = Action::stop,
              .at_max = true,
              .why = Rationale().add("max_t", static_cast<double>(options_.epochs.max_t))};
    }
    const std::int64_t epoch = epochs_[*next];
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

  std::unique_ptr<Scheduler> copy() const override { return std::make_unique<FreezeThaw>(*this); }

  Json save() const override {
    Json next = Json::array();
    next_.for_each([&](TrialId id, std::size_t place) { next.push_back({index_of(id), place}); });
    return {{"next", std::move(next)}};
  }

  void load(const Json& state) override {
    load_state("the scheduler freeze_thaw", [&] {
      TrialTable<std::size_t> next;
      for (const Json& saved : state.at("next")) {
        const auto place = load_whole<std::size_t>(saved.at(1));
        if (place >= epochs_.size()) throw std::invalid_argument("other decision epochs");
        next[TrialId(load_whole<std::uint32_t>(saved.at(0)))] = place;
      }
      next_ = std::move(next);
    });
  }

 private:
  const FreezeThawOptions options_;
  const std::vector<std::int64_t> epochs_;
  TrialTable<std::size_t> next_;  ///< where each trial that has not ended pauses: a place there
};

}  // namespace

std::unique_ptr<Scheduler> make_freeze_thaw(FreezeThawOptions options) {
  return std::make_unique<FreezeThaw>(std::move(options));
}

}  // namespace tune
