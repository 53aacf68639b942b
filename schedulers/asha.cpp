// Asynchronous successive halving, the variant that stops trials. A trial that is worse at a rung
// than most that came by before ends there; nobody waits for anybody.
#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "schedulers/progress.h"
#include "schedulers/rungs.h"
#include "schedulers/schedulers.h"
#include "tuner/base/error.h"
#include "tuner/policy/policy_state.h"

namespace tune {

namespace {

class Asha : public Scheduler {
 public:
  explicit Asha(AshaOptions options)
      : options_(std::move(options)),
        objective_reader_(options_.time_attr, options_.objective),
        milestones_(
            rung_milestones(options_.grace_period, options_.max_t, options_.reduction_factor)),
        random_(options_.seed) {
    ensure(options_.brackets >= 1 && options_.brackets <= std::ssize(milestones_),
           "every bracket has a rung");
    for (int s = 0; s < options_.brackets; ++s) {
      brackets_.emplace_back(milestones_.size() - static_cast<std::size_t>(s));
      tallies_.emplace_back(brackets_.back().size());
    }
  }

  void on_trial_add(const Trial& trial) override {
    const int rungs = static_cast<int>(milestones_.size());
    live_[trial.id] = {draw_bracket(options_.brackets, rungs, random_)};
  }

  bool is_at_max(const Trial& trial) const override {
    const auto progress = objective_reader_.of(trial);
    return options_.stop_last_trials && progress && progress->time >= options_.max_t;
  }

  Decision on_result(const Trial& trial, const Result& result) override {
    const auto progress = objective_reader_.of(result);
    const auto found = live_.find(trial.id);
    if (!progress || found == live_.end()) return {};
    if (options_.stop_last_trials && progress->time >= options_.max_t) {
      return {
          .action = Action::stop, .at_max = true, .why = Rationale().add("max_t", options_.max_t)};
    }
    // Its last save may have failed, and it been tried again.
    RungPosition& position = found->second;
    Rationale why;
    if (!position.has_lost) position.has_lost = !enter_rung(trial.id, position, *progress, why);
    return {.action = position.has_lost ? Action::stop : Action::proceed, .why = std::move(why)};
  }

  void on_trial_end(const Trial& trial) override {
    // One that ended well is a competitor like any other. What a scheduler stopped is there
    // already.
    const auto found = live_.find(trial.id);
    if (found == live_.end()) return;
    const auto progress = objective_reader_.of(trial);
    if (trial.state == TrialState::terminated && progress) {
      Rationale nobody_asks;
      enter_rung(trial.id, found->second, *progress, nobody_asks, true);
    }
    live_.erase(found);
  }

  std::optional<RungsReport> rungs() const override {
    RungsReport report{objective_reader_.time_attr(), objective_reader_.metric(), {}};
    for (std::size_t s = 0; s < brackets_.size(); ++s) {
      for (std::size_t k = 0; k < brackets_[s].size(); ++k) {
        const Rung& rung = brackets_[s][k];
        RungReport& one = report.rungs.emplace_back();
        one = {.bracket = static_cast<std::int64_t>(s), .milestone = milestones_[s + k]};
        if (knows_tallies_) one.reached = tallies_[s][k].reached;
        if (knows_tallies_) one.went_on = tallies_[s][k].went_on;
        if (rung.size() > 0)
          one.cutoff = objective_reader_.value_of(rung.quantile(lost_fraction()));
      }
    }
    return report;
  }

  std::unique_ptr<Scheduler> copy() const override { return std::make_unique<Asha>(*this); }

  Json save() const override {
    Json live = Json::array();
    for (const auto& [id, position] : live_) {
      live.push_back({index_of(id), position.bracket, position.rung, position.has_lost});
    }
    Json brackets = Json::array();
    for (const auto& rungs : brackets_) {
      brackets.push_back(Json::array());
      for (const Rung& rung : rungs) brackets.back().push_back(rung.save());
    }
    Json state = {
        {"random", random_.save()}, {"live", std::move(live)}, {"brackets", std::move(brackets)}};
    if (knows_tallies_) state["tallies"] = save_tallies(tallies_);
    return state;
  }

  void load(const Json& state) override {
    load_state("the scheduler asha", [&] {
      Random random(0);
      random.load(state.at("random"));
      std::vector<std::vector<Rung>> brackets;
      for (const auto& rungs : brackets_) {
        const Json& saved = state.at("brackets").at(brackets.size());
        if (saved.size() != rungs.size()) throw std::invalid_argument("another number of rungs");
        brackets.emplace_back();
        for (const Json& rung : saved) brackets.back().push_back(Rung::loaded(rung));
      }
      std::map<TrialId, RungPosition> live;
      for (const Json& trial : state.at("live")) {
        const RungPosition position{load_whole<int>(trial.at(1)), load_whole<int>(trial.at(2)),
                                    trial.at(3).get<bool>()};
        if (position.bracket < 0 || position.bracket >= options_.brackets || position.rung < -1) {
          throw std::invalid_argument("a place that does not exist");
        }
        live[TrialId(load_whole<std::uint32_t>(trial.at(0)))] = position;
      }
      auto tallies = tallies_;
      knows_tallies_ = load_tallies(state.value("tallies", Json()), tallies);
      tallies_ = std::move(tallies);
      random_ = random;
      brackets_ = std::move(brackets);
      live_ = std::move(live);
    });
  }

 private:
  /// Where a trial is that has not ended.
  struct RungPosition {
    int bracket = 0;
    int rung = -1;          ///< the highest in which it has been seen; -1: none
    bool has_lost = false;  ///< and is to end
  };

  /// Enters the trial into the highest rung that it has passed, unless it has been there before.
  /// False if it is to stop. `why`: if it was entered.
  bool enter_rung(TrialId id, RungPosition& position, const TrialProgress& progress, Rationale& why,
                  bool has_ended = false) {
    auto& rungs = brackets_[static_cast<std::size_t>(position.bracket)];
    const int highest = static_cast<int>(rungs.size()) - 1;
    int passed = -1;
    while (passed < highest && milestone(position.bracket, passed + 1) <= progress.time) ++passed;
    if (passed <= position.rung) return true;
    position.rung = passed;
    Rung& rung = rungs[static_cast<std::size_t>(passed)];
    RungTally& tally =
        tallies_[static_cast<std::size_t>(position.bracket)][static_cast<std::size_t>(passed)];
    const bool is_number = !std::isnan(progress.score);
    why.add("rung", milestone(position.bracket, passed)).add("score", progress.value);
    bool goes_on = true;
    if (rung.size() > 0) {
      goes_on = is_number && rung.is_reached(progress.score, lost_fraction());
      why.add("cutoff", objective_reader_.value_of(rung.quantile(lost_fraction())));
    }
    why.add("of", rung.size());
    if (options_.brackets > 1) why.add("bracket", position.bracket);
    if (is_number) rung.add({progress.score, id});
    ++tally.reached;
    if (goes_on && !has_ended) ++tally.went_on;
    return goes_on;
  }

  double lost_fraction() const { return 1 - 1 / options_.reduction_factor; }

  double milestone(int bracket, int rung) const {
    return milestones_[static_cast<std::size_t>(bracket + rung)];
  }

  const AshaOptions options_;
  const ObjectiveReader objective_reader_;
  const std::vector<double> milestones_;
  Random random_;
  std::vector<std::vector<Rung>> brackets_;      ///< bracket s leaves out the s lowest milestones
  std::vector<std::vector<RungTally>> tallies_;  ///< by bracket and rung
  bool knows_tallies_ = true;                    ///< the state may be an older program's
  std::map<TrialId, RungPosition> live_;
};

}  // namespace

std::unique_ptr<Scheduler> make_asha(AshaOptions options) {
  return std::make_unique<Asha>(std::move(options));
}

}  // namespace tune
