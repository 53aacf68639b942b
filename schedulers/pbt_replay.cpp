// Population-based training once more, without a population: each trial follows the schedule of
// hyperparameters that another one's policy file holds.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "schedulers/schedulers.h"
#include "tuner/model/experiment.h"
#include "tuner/policy/policy_state.h"

namespace tune {

namespace {

/// A trial that has not ended.
struct Follower {
  /// It may have what holds after so many iterations even if it goes on from fewer: what a function
  /// has saved last, or a checkpoint before one that was damaged.
  std::int64_t reached = 0;
  std::optional<std::int64_t> waiting;  ///< for what holds after so many iterations
};

class PbtReplay : public Scheduler {
 public:
  explicit PbtReplay(PbtReplayOptions options) : options_(std::move(options)) {}

  void on_trial_add(const Trial& trial) override {
    followers_[trial.id] = {};
    wait(trial);
  }
  void on_trial_start(const Trial& trial) override { followers_.at(trial.id).waiting.reset(); }
  void on_trial_wait(const Trial& trial) override { wait(trial); }
  void on_trial_end(const Trial& trial) override { followers_.erase(trial.id); }

  Decision on_result(const Trial& trial, const Result& result) override {
    const std::int64_t reached = followers_.at(trial.id).reached;
    return {is_right(trial, std::max(reached, result.training_iteration)) ? Action::proceed
                                                                          : Action::pause};
  }

  std::optional<Order> order() const override {
    for (const auto& [id, follower] : followers_) {
      if (!follower.waiting) continue;
      const Json& config = config_after(*follower.waiting);
      return Order{id, Exploit{id, config.dump(), options_.space.tag(config)}, ""};
    }
    return std::nullopt;
  }

  void on_order(const Trial& trial) override {
    const auto follower = followers_.find(trial.id);
    if (follower == followers_.end() || !follower->second.waiting) return;
    follower->second.reached = *std::exchange(follower->second.waiting, std::nullopt);
  }

  /// One that waits for its next config goes on before another one begins.
  std::optional<TrialId> choose(const Experiment& experiment, Seconds now, bool) const override {
    for (const auto* const queue : {&experiment.pending(), &experiment.paused()}) {
      for (const auto& [place, id] : *queue) {
        if (experiment.may_start(id, now)) return id;
      }
    }
    return std::nullopt;
  }

  std::unique_ptr<Scheduler> copy() const override { return std::make_unique<PbtReplay>(*this); }
  Json save() const override {
    Json followers = Json::array();
    for (const auto& [id, follower] : followers_) {
      followers.push_back(
          {index_of(id), follower.reached, follower.waiting ? Json(*follower.waiting) : Json()});
    }
    return {{"followers", std::move(followers)}};
  }

  void load(const Json& state) override {
    load_state("the scheduler pbt_replay", [&] {
      std::map<TrialId, Follower> followers;
      for (const Json& saved : state.at("followers")) {
        Follower& follower = followers[TrialId(load_whole<std::uint32_t>(saved.at(0)))];
        follower.reached = load_whole<std::int64_t>(saved.at(1));
        if (!saved.at(2).is_null()) follower.waiting = load_whole<std::int64_t>(saved.at(2));
      }
      followers_ = std::move(followers);
    });
  }

 private:
  void wait(const Trial& trial) {
    Follower& follower = followers_.at(trial.id);
    const Checkpoint* const latest = trial.latest_checkpoint();
    std::int64_t from = std::max(follower.reached, latest != nullptr ? latest->iteration : 0);
    // It stopped for its next config, and saved only what it could.
    if (trial.state == TrialState::paused) from = std::max(from, trial.iteration);
    if (!is_right(trial, from)) follower.waiting = from;
  }

  bool is_right(const Trial& trial, std::int64_t iteration) const {
    return Json::parse(trial.config.text()) == config_after(iteration);
  }

  /// What to train with after that many iterations.
  const Json& config_after(std::int64_t iteration) const {
    const Json* config = &options_.initial_config;
    for (const auto& change : options_.changes) {
      if (change.iteration > iteration) break;
      config = &change.config;
    }
    return *config;
  }

  const PbtReplayOptions options_;
  std::map<TrialId, Follower> followers_;
};

}  // namespace

std::unique_ptr<Scheduler> make_pbt_replay(PbtReplayOptions options) {
  return std::make_unique<PbtReplay>(std::move(options));
}

}  // namespace tune
