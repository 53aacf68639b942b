// Shares out what is free: trials of any other scheduler take more when fewer of them are left.
#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>

#include "schedulers/schedulers.h"
#include "tuner/base/error.h"
#include "tuner/model/experiment.h"
#include "tuner/policy/policy_state.h"

namespace tune {

namespace {

double amount_of(const Resources& resources, const std::string& name) {
  const auto found = resources.find(name);
  return found == resources.end() ? 0 : found->second;
}

/// A trial that has not ended.
struct Holder {
  std::int64_t has = 0;   ///< increases, in the attempt that runs
  std::int64_t next = 0;  ///< in the one after
  bool is_running = false;
  bool is_changing = false;  ///< told to pause, only for that
};

class ResourceChanging : public Scheduler {
 public:
  ResourceChanging(ResourceChangingOptions options, std::unique_ptr<Scheduler> base)
      : options_(std::move(options)),
        base_(std::move(base)),
        most_at_once_(most_at_once(options_)) {}

  void on_trial_add(const Trial& trial) override {
    if (trial.attempt == 0) ++created_;
    holders_[trial.id] = {0, increases_of(trial)};
    base_->on_trial_add(trial);
  }

  void on_trial_start(const Trial& trial) override {
    holders_.at(trial.id) = {increases_of(trial), increases_of(trial), true, false};
    base_->on_trial_start(trial);
  }

  void on_trial_wait(const Trial& trial) override {
    Holder& holder = holders_.at(trial.id);
    holder.is_running = false;
    holder.has = 0;
    if (!holder.is_changing) {
      base_->on_trial_wait(trial);
      return;
    }
    // For the base it is as if it had been interrupted: nobody there has paused it.
    Trial interrupted = trial;
    interrupted.state = TrialState::pending;
    base_->on_trial_wait(interrupted);
  }

  std::optional<RungsReport> rungs() const override { return base_->rungs(); }

  void on_trial_end(const Trial& trial) override {
    holders_.erase(trial.id);
    base_->on_trial_end(trial);
  }

  std::string why_left(const Experiment& experiment) const override {
    return base_->why_left(experiment);
  }

  bool is_at_max(const Trial& trial) const override { return base_->is_at_max(trial); }

  Decision on_result(const Trial& trial, const Result& result) override {
    Decision decision = base_->on_result(trial, result);
    Holder& holder = holders_.at(trial.id);
    // A save may have failed that was to precede a change.
    holder.is_changing = false;
    if (decision.action != Action::proceed) return decision;
    if (options_.allocation_function) {
      auto wanted = options_.allocation_function(trial, result);
      const Resources& has =
          trial.resources.empty() ? options_.resources_per_trial : *trial.resources;
      if (!wanted || *wanted == has) return decision;
      holder.is_changing = true;
      decision.action = Action::pause;
      decision.resources = std::move(wanted);
      return decision;
    }
    const std::int64_t share = share_of(trial.id);
    holder.next = share;
    if (share == holder.has) return decision;
    holder.is_changing = true;
    decision.action = Action::pause;
    decision.resources = options_.resources_per_trial;
    for (const auto& [name, amount] : options_.increase_by) {
      (*decision.resources)[name] += static_cast<double>(share) * amount;
    }
    return decision;
  }

  std::optional<Order> order() const override { return base_->order(); }
  void on_order(const Trial& trial) override { base_->on_order(trial); }

  std::optional<TrialId> choose(const Experiment& experiment, Seconds now,
                                bool more) const override {
    for (const auto& [id, holder] : holders_) {
      const bool waits = holder.is_changing && !holder.is_running;
      if (waits && experiment.may_start(id, now)) return id;
    }
    return base_->choose(experiment, now, more);
  }

  std::unique_ptr<Scheduler> copy() const override {
    auto base = base_->copy();
    if (base == nullptr) return nullptr;
    auto made = std::make_unique<ResourceChanging>(options_, std::move(base));
    made->created_ = created_;
    made->holders_ = holders_;
    return made;
  }

  Json save() const override {
    Json holders = Json::array();
    for (const auto& [id, holder] : holders_) {
      holders.push_back(
          {index_of(id), holder.has, holder.next, holder.is_running, holder.is_changing});
    }
    return {{"created", created_}, {"holders", std::move(holders)}, {"base", base_->save()}};
  }

  void load(const Json& state) override {
    load_state("the scheduler resource_changing", [&] {
      const auto created = load_whole<std::int64_t>(state.at("created"));
      std::map<TrialId, Holder> holders;
      for (const Json& saved : state.at("holders")) {
        holders[TrialId(load_whole<std::uint32_t>(saved.at(0)))] = {
            load_whole<std::int64_t>(saved.at(1)), load_whole<std::int64_t>(saved.at(2)),
            saved.at(3).get<bool>(), saved.at(4).get<bool>()};
      }
      if (state.at("base").type() != base_->save().type()) {
        throw std::invalid_argument("a state of another scheduler");
      }
      base_->load(state.at("base"));
      created_ = created;
      holders_.swap(holders);
    });
  }

 private:
  static std::int64_t most_at_once(const ResourceChangingOptions& options) {
    std::int64_t most = options.max_concurrent_trials.value_or(1'000'000'000);
    for (const auto& [name, amount] : options.resources_per_trial) {
      const auto total = options.resources.find(name);
      if (amount <= 0 || total == options.resources.end()) continue;
      most = std::min(most, static_cast<std::int64_t>(total->second / amount + 1e-9));
    }
    return std::max<std::int64_t>(most, 1);
  }

  /// How often `increase_by` fits into what is left of `totals` after `taken` times the first
  /// amounts; below 0 if even these do not fit.
  std::int64_t fitting(double taken) const {
    double least = 1e9;
    for (const auto& [name, amount] : options_.increase_by) {
      const double total =
          amount_of(options_.resources, name) - amount_of(options_.reserve_resources, name);
      const double left = total - taken * amount_of(options_.resources_per_trial, name);
      least = std::min(least, std::floor(left / amount + 1e-9));
    }
    return static_cast<std::int64_t>(least);
  }

  /// All that live, or are to come, have equal shares, as many as can run at once.
  std::int64_t share_of(TrialId id) const {
    std::int64_t sharers = static_cast<std::int64_t>(holders_.size());
    if (options_.population < 0) return 0;  // there is always one more to come
    sharers += std::max<std::int64_t>(options_.population - created_, 0);
    sharers = std::min(sharers, most_at_once_);
    const std::int64_t all = std::max<std::int64_t>(fitting(static_cast<double>(sharers)), 0);
    std::int64_t share = all / sharers;
    std::int64_t others = 0, running = 1, with_more = 0;
    for (const auto& [other, holder] : holders_) {
      const bool holds = holder.is_running || holder.is_changing;
      if (other == id || !holds) continue;
      ++running;
      const std::int64_t holding = std::max(holder.has, holder.next);
      others += holding;
      with_more += holding > share ? 1 : 0;
    }
    // One of the odd ones. Who has one keeps it: a change costs a restart.
    if (with_more < all % sharers) ++share;
    if (options_.increase_by_times > 0) share = std::min(share, options_.increase_by_times);
    const std::int64_t free = fitting(static_cast<double>(running)) - others;
    return std::clamp<std::int64_t>(share, 0, std::max<std::int64_t>(free, 0));
  }

  std::int64_t increases_of(const Trial& trial) const {
    if (trial.resources.empty()) return 0;
    const auto& [name, amount] = *options_.increase_by.begin();
    const double more =
        amount_of(trial.resources, name) - amount_of(options_.resources_per_trial, name);
    return std::max<std::int64_t>(std::llround(more / amount), 0);
  }

  const ResourceChangingOptions options_;
  const std::unique_ptr<Scheduler> base_;
  const std::int64_t most_at_once_;
  std::int64_t created_ = 0;
  std::map<TrialId, Holder> holders_;
};

}  // namespace

std::unique_ptr<Scheduler> make_resource_changing(ResourceChangingOptions options,
                                                  std::unique_ptr<Scheduler> base) {
  return std::make_unique<ResourceChanging>(std::move(options), std::move(base));
}

}  // namespace tune
