// Asynchronous successive halving, the variant of the paper: a trial waits at every rung, and those
// among the best there are promoted: they go on from their checkpoints.
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "schedulers/copy_on_write.h"
#include "schedulers/progress.h"
#include "schedulers/rungs.h"
#include "schedulers/schedulers.h"
#include "tuner/base/error.h"
#include "tuner/model/experiment.h"
#include "tuner/policy/policy_state.h"

namespace tune {

namespace {

/// A rung of a bracket, and who waits at it.
struct PromotionRung {
  Rung scores;
  SortedChunks<RungEntry, BestFirst> waiting;  ///< paused there; NaN, the last, never goes on
  std::int64_t promoted = 0;
};

/// Where a trial is that has not ended.
struct RungPlace {
  int bracket = 0;
  int rung = 0;             ///< the one that it is at, or on its way to
  bool is_at_rung = false;  ///< entered, and not promoted
  bool is_waiting = false;  ///< at the rung, without a process
  double score = 0;         ///< at the rung
};

class AshaPromotion : public Scheduler {
 public:
  explicit AshaPromotion(AshaOptions options)
      : options_(std::move(options)),
        objective_reader_(options_.time_attr, options_.objective),
        milestones_(
            rung_milestones(options_.grace_period, options_.max_t, options_.reduction_factor)),
        random_(options_.seed) {
    ensure(options_.brackets >= 1 && options_.brackets <= std::ssize(milestones_),
           "every bracket has a rung");
    for (int s = 0; s < options_.brackets; ++s) {
      brackets_.emplace_back(milestones_.size() - static_cast<std::size_t>(s));
    }
  }

  void on_trial_add(const Trial& trial) override {
    const int rungs = static_cast<int>(milestones_.size());
    places_[trial.id] = {.bracket = draw_bracket(options_.brackets, rungs, random_)};
  }

  void on_trial_start(const Trial& trial) override {
    RungPlace* const place = places_.find(trial.id);
    // Whoever chose it, this is its promotion; unless it goes to the rung once more.
    if (place == nullptr || !place->is_at_rung || !place->is_waiting) return;
    leave(trial.id, *place);
    promote(*place);
  }

  void on_trial_wait(const Trial& trial) override {
    RungPlace* const place = places_.find(trial.id);
    // One whose pause has failed has nothing there to go on from.
    const bool is_paused = trial.state == TrialState::paused;
    if (is_paused && place != nullptr && place->is_at_rung) wait(trial.id, *place);
  }

  void on_trial_end(const Trial& trial) override {
    RungPlace* const found = places_.find(trial.id);
    if (found == nullptr) return;
    RungPlace& place = *found;
    leave(trial.id, place);
    // One that ended well is a competitor like any other.
    const auto progress = objective_reader_.of(trial);
    if (trial.state == TrialState::terminated && progress && !place.is_at_rung) {
      enter(trial.id, place, *progress);
    }
    places_.erase(trial.id);
  }

  bool is_at_max(const Trial& trial) const override {
    const auto progress = objective_reader_.of(trial);
    return options_.stop_last_trials && progress && progress->time >= options_.max_t;
  }

  Decision on_result(const Trial& trial, const Result& result) override {
    const auto progress = objective_reader_.of(result);
    RungPlace* const found = places_.find(trial.id);
    if (!progress || found == nullptr) return {};
    RungPlace& place = *found;
    if (progress->time >= options_.max_t) {
      return {.action = options_.stop_last_trials ? Action::stop : Action::proceed,
              .at_max = options_.stop_last_trials,
              .why = Rationale().add("max_t", options_.max_t)};
    }
    // At a rung already: the save for its pause has failed, or it comes there once more.
    if (place.is_at_rung ? progress->time < milestone_of(place)
                         : !enter(trial.id, place, *progress)) {
      return {};
    }
    wait(trial.id, place);
    const bool is_next = next_promotion([](TrialId) { return true; }) == trial.id;
    leave(trial.id, place);
    Decision decision{.action = is_next ? Action::proceed : Action::pause,
                      .why = why_of(trial.id, place, progress->value)};
    if (is_next) promote(place);
    return decision;
  }

  std::optional<TrialId> choose(const Experiment& experiment, Seconds now,
                                bool more) const override {
    for (const auto& [queued, id] : experiment.pending()) {
      const RungPlace* const place = places_.find(id);
      const bool is_waiting = place != nullptr && place->is_waiting;
      if (!is_waiting && experiment.may_start(id, now)) return id;
    }
    const auto may_start = [&](TrialId id) { return experiment.may_start(id, now); };
    if (const auto next = next_promotion(may_start)) return next;
    const bool is_over = !more && experiment.running().empty();
    return is_over ? last_promotion(may_start) : std::nullopt;
  }

  std::optional<RungsReport> rungs() const override {
    RungsReport report{objective_reader_.time_attr(), objective_reader_.metric(), {}};
    for (std::size_t s = 0; s < brackets_.size(); ++s) {
      for (std::size_t k = 0; k < brackets_[s].size(); ++k) {
        const PromotionRung& rung = brackets_[s][k];
        const std::size_t best = promotable(rung.scores);
        RungReport& one = report.rungs.emplace_back();
        one = {.bracket = static_cast<std::int64_t>(s),
               .milestone = milestones_[s + k],
               .reached = rung.scores.size(),
               .went_on = static_cast<std::uint64_t>(rung.promoted),
               .waiting = rung.waiting.size()};
        const double cutoff = best > 0 ? rung.scores.at(best - 1).score : std::nan("");
        if (!std::isnan(cutoff)) one.cutoff = objective_reader_.value_of(cutoff);
      }
    }
    return report;
  }

  std::unique_ptr<Scheduler> copy() const override {
    return std::make_unique<AshaPromotion>(*this);
  }

  Json save() const override {
    Json places = Json::array();
    places_.for_each([&](TrialId id, const RungPlace& place) {
      places.push_back({index_of(id), place.bracket, place.rung, place.is_at_rung, place.is_waiting,
                        encode_number(place.score)});
    });
    Json brackets = Json::array();
    for (const auto& rungs : brackets_) {
      brackets.push_back(Json::array());
      for (const PromotionRung& rung : rungs) {
        brackets.back().push_back({rung.scores.save(), rung.promoted});
      }
    }
    return {
        {"random", random_.save()}, {"live", std::move(places)}, {"brackets", std::move(brackets)}};
  }

  void load(const Json& state) override {
    load_state("the scheduler asha_promotion", [&] {
      AshaPromotion other(options_);
      other.random_.load(state.at("random"));
      const Json& brackets = state.at("brackets");
      for (std::size_t s = 0; s < other.brackets_.size(); ++s) {
        auto& rungs = other.brackets_[s];
        if (brackets.at(s).size() != rungs.size()) throw std::invalid_argument("other rungs");
        for (std::size_t k = 0; k < rungs.size(); ++k) {
          rungs[k].scores = Rung::loaded(brackets.at(s).at(k).at(0));
          rungs[k].promoted = load_whole<std::int64_t>(brackets.at(s).at(k).at(1));
        }
      }
      for (const Json& saved : state.at("live")) {
        const auto id = TrialId(load_whole<std::uint32_t>(saved.at(0)));
        RungPlace& place = other.places_[id];
        place.bracket = load_whole<int>(saved.at(1));
        place.rung = load_whole<int>(saved.at(2));
        place.is_at_rung = saved.at(3).get<bool>();
        place.score = load_number(saved.at(5));
        if (!other.exists(place)) throw std::invalid_argument("a place that does not exist");
        if (saved.at(4).get<bool>()) other.wait(id, place);
      }
      random_ = other.random_;
      brackets_.swap(other.brackets_);
      places_ = std::move(other.places_);
    });
  }

 private:
  bool exists(const RungPlace& place) const {
    if (place.bracket < 0 || place.bracket >= options_.brackets || place.rung < 0) return false;
    const auto rungs = std::ssize(brackets_[static_cast<std::size_t>(place.bracket)]);
    return place.rung < rungs + (place.is_at_rung ? 0 : 1);
  }

  PromotionRung& rung_of(const RungPlace& place) {
    return brackets_[static_cast<std::size_t>(place.bracket)][static_cast<std::size_t>(place.rung)];
  }

  double milestone_of(const RungPlace& place) const {
    return milestones_[static_cast<std::size_t>(place.bracket + place.rung)];
  }

  /// Of a trial at a rung. `value`: what it has reported, which may be no number.
  Rationale why_of(TrialId id, const RungPlace& place, double value) {
    const Rung& scores = rung_of(place).scores;
    const bool has_score = !std::isnan(place.score);
    Rationale why;
    why.add("rung", milestone_of(place))
        .add("score", has_score ? objective_reader_.value_of(place.score) : value)
        .add("place", scores.rank({place.score, id}) + 1)
        .add("promoted", promotable(scores))
        .add("of", scores.size());
    if (options_.brackets > 1) why.add("bracket", place.bracket);
    return why;
  }

  /// How many of a rung go on.
  std::size_t promotable(const Rung& scores) const {
    const double share = static_cast<double>(scores.size()) / options_.reduction_factor;
    return static_cast<std::size_t>(share + 1e-9);
  }

  /// Enters the trial into the highest rung that it has passed, if it has passed its next one.
  bool enter(TrialId id, RungPlace& place, const TrialProgress& progress) {
    const int rungs = static_cast<int>(brackets_[static_cast<std::size_t>(place.bracket)].size());
    int passed = place.rung - 1;
    while (passed + 1 < rungs &&
           milestones_[static_cast<std::size_t>(place.bracket + passed + 1)] <= progress.time) {
      ++passed;
    }
    if (passed < place.rung) return false;
    place.rung = passed;
    place.is_at_rung = true;
    place.score = progress.score;
    rung_of(place).scores.add({progress.score, id});
    return true;
  }

  void wait(TrialId id, RungPlace& place) {
    place.is_waiting = true;
    rung_of(place).waiting.insert({place.score, id});
  }

  void leave(TrialId id, RungPlace& place) {
    if (!place.is_waiting) return;
    place.is_waiting = false;
    rung_of(place).waiting.erase({place.score, id});
  }

  void promote(RungPlace& place) {
    ++rung_of(place).promoted;
    place.is_at_rung = false;
    ++place.rung;
  }

  /// Calls `look` with each rung, the longest training first, until it returns something.
  template <class Look>
  std::optional<TrialId> from_the_top(const Look& look) const {
    for (std::size_t top = milestones_.size(); top-- > 0;) {
      for (std::size_t s = 0; s < brackets_.size() && s <= top; ++s) {
        if (const auto found = look(brackets_[s][top - s])) return found;
      }
    }
    return std::nullopt;
  }

  /// The best one at a rung that waits and is among the best 1/reduction_factor ever seen there.
  template <class MayStart>
  std::optional<TrialId> next_promotion(const MayStart& may_start) const {
    return from_the_top([&](const PromotionRung& rung) -> std::optional<TrialId> {
      const std::size_t best = promotable(rung.scores);
      for (const RungEntry& entry : rung.waiting) {
        if (std::isnan(entry.score) || rung.scores.rank(entry) >= best) break;
        if (may_start(entry.trial)) return entry.trial;
      }
      return std::nullopt;
    });
  }

  /// No new trial will come, nothing runs: where too few have come for even one promotion, the best
  /// goes on all the same, so that in the end one trial has come all the way.
  template <class MayStart>
  std::optional<TrialId> last_promotion(const MayStart& may_start) const {
    return from_the_top([&](const PromotionRung& rung) -> std::optional<TrialId> {
      if (rung.promoted > 0 || rung.waiting.empty()) return std::nullopt;
      const RungEntry best = *rung.waiting.begin();
      return !std::isnan(best.score) && may_start(best.trial) ? std::optional(best.trial)
                                                              : std::nullopt;
    });
  }

  const AshaOptions options_;
  const ObjectiveReader objective_reader_;
  const std::vector<double> milestones_;
  Random random_;
  /// Bracket s leaves out the s lowest milestones.
  std::vector<std::vector<PromotionRung>> brackets_;
  TrialTable<RungPlace> places_;
};

}  // namespace

std::unique_ptr<Scheduler> make_asha_promotion(AshaOptions options) {
  return std::make_unique<AshaPromotion>(std::move(options));
}

}  // namespace tune
