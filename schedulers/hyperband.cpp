// Hyperband: successive halving in several brackets, each of which waits for all of its trials
// before it decides. Trials pause at the barrier and go on from their checkpoints.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "schedulers/progress.h"
#include "schedulers/rungs.h"
#include "schedulers/schedulers.h"
#include "tuner/model/experiment.h"
#include "tuner/policy/policy_state.h"

namespace tune {

namespace {

/// A trial of a bracket that has neither ended nor lost.
struct BracketMember {
  bool has_arrived = false;  ///< at the bracket's barrier
  bool is_paused = false;
  double score = 0;  ///< at the barrier
};

struct Bracket {
  int rung = 0;              ///< halvings so far
  std::int64_t added = 0;    ///< trials ever, those that have died included
  bool is_closed = false;    ///< takes no more trials, though there may be room
  std::int64_t arrived = 0;  ///< of the members
  std::map<TrialId, BracketMember> members;

  bool all_have_arrived() const { return arrived > 0 && arrived == std::ssize(members); }
};

class Hyperband : public Scheduler {
 public:
  explicit Hyperband(HyperbandOptions options)
      : options_(std::move(options)),
        objective_reader_(options_.time_attr, options_.objective),
        shapes_(hyperband_shapes(options_.max_t, options_.reduction_factor)) {
    for (const BracketShape& shape : shapes_) {
      tallies_.emplace_back(shape.milestones.size());
      cutoffs_.emplace_back(shape.milestones.size());
    }
  }

  void on_trial_add(const Trial& trial) override {
    if (newest_ < 0 || !has_room(newest_)) brackets_[++newest_];
    Bracket& bracket = brackets_[newest_];
    bracket.members[trial.id] = {};
    if (++bracket.added >= shape(newest_).sizes[0]) bracket.is_closed = true;
    bracket_of_[trial.id] = newest_;
  }

  void on_trial_start(const Trial& trial) override {
    const auto place = bracket_of_.find(trial.id);
    if (place == bracket_of_.end()) return;
    const std::int64_t number = place->second;
    Bracket& bracket = brackets_.at(number);
    BracketMember& member = bracket.members.at(trial.id);
    member.is_paused = false;
    ready_.erase({number, trial.id});
    if (member.has_arrived && bracket.all_have_arrived() && !bracket.is_closed) {
      // See `choose`: the bracket is as full as it gets.
      bracket.is_closed = true;
      halve_if_due(number);
    }
  }

  void on_trial_wait(const Trial& trial) override {
    if (lost_.contains(trial.id)) to_stop_.insert(trial.id);
    const auto place = bracket_of_.find(trial.id);
    if (place == bracket_of_.end()) return;
    BracketMember& member = brackets_.at(place->second).members.at(trial.id);
    member.is_paused = trial.state == TrialState::paused;
    if (member.is_paused && !member.has_arrived) ready_.insert({place->second, trial.id});
  }

  void on_trial_end(const Trial& trial) override {
    lost_.erase(trial.id);
    to_stop_.erase(trial.id);
    const auto place = bracket_of_.find(trial.id);
    if (place == bracket_of_.end()) return;
    const std::int64_t number = place->second;
    bracket_of_.erase(place);
    ready_.erase({number, trial.id});
    Bracket& bracket = brackets_.at(number);
    if (bracket.members.at(trial.id).has_arrived) --bracket.arrived;
    if (trial.state == TrialState::terminated) count_reached(number, trial);
    bracket.members.erase(trial.id);
    // Nobody waits for the dead.
    halve_if_due(number);
  }

  bool is_at_max(const Trial& trial) const override {
    const auto progress = objective_reader_.of(trial);
    return options_.stop_last_trials && progress && progress->time >= options_.max_t;
  }

  Decision on_result(const Trial& trial, const Result& result) override {
    if (const auto lost = lost_.find(trial.id); lost != lost_.end()) {
      return {.action = Action::stop, .why = lost->second};
    }
    const auto progress = objective_reader_.of(result);
    const auto place = bracket_of_.find(trial.id);
    if (!progress || place == bracket_of_.end()) return {};
    if (progress->time >= options_.max_t && options_.stop_last_trials) {
      return {
          .action = Action::stop, .at_max = true, .why = Rationale().add("max_t", options_.max_t)};
    }
    const std::int64_t number = place->second;
    Bracket& bracket = brackets_.at(number);
    BracketMember& member = bracket.members.at(trial.id);
    // At the barrier already: the save for its pause has failed.
    if (member.has_arrived) return {Action::pause};
    const auto& milestones = shape(number).milestones;
    const auto rung = static_cast<std::size_t>(bracket.rung);
    const bool is_last = rung + 1 == milestones.size();
    if (is_last || progress->time < milestones[rung]) return {};
    member.has_arrived = true;
    ++tallies_[shape_of(number)][rung].reached;
    member.score = progress->score;
    ++bracket.arrived;
    Rationale why;
    why.add("rung", milestones[rung])
        .add("score", progress->value)
        .add("arrived", bracket.arrived)
        .add("of", bracket.members.size())
        .add("bracket", number);
    const auto halving = halve_if_due(number);
    if (!halving) return {.action = Action::pause, .why = std::move(why)};
    why.add("cutoff", objective_reader_.value_of(halving->cutoff)).add("kept", halving->kept);
    const bool has_lost = lost_.contains(trial.id);
    if (has_lost) to_stop_.erase(trial.id);
    return {.action = has_lost ? Action::stop : Action::proceed, .why = std::move(why)};
  }

  std::optional<Order> order() const override {
    if (to_stop_.empty()) return std::nullopt;
    const Rationale& why = lost_.at(*to_stop_.begin());
    return Order{*to_stop_.begin(), std::nullopt,
                 why.empty() ? "it was not among the best of its bracket" : why.words()};
  }

  void on_order(const Trial& trial) override { to_stop_.erase(trial.id); }

  std::optional<TrialId> choose(const Experiment& experiment, Seconds now,
                                bool more) const override {
    for (const auto& [queued, id] : experiment.pending()) {
      if (!waits_at_barrier(id) && !lost_.contains(id) && experiment.may_start(id, now)) return id;
    }
    for (const auto& [number, id] : ready_) {
      if (experiment.may_start(id, now)) return id;
    }
    // If no new trial will fill the newest bracket, it has to do with those it has. The start of
    // one of them is the record of that.
    return more ? std::nullopt : best_of_unfilled(experiment, now);
  }

  std::optional<RungsReport> rungs() const override {
    RungsReport report{objective_reader_.time_attr(), objective_reader_.metric(), {}};
    for (std::size_t s = 0; s < shapes_.size(); ++s) {
      for (std::size_t k = 0; k < shapes_[s].milestones.size(); ++k) {
        // Halvings at one milestone are one rung, and the first of them is counted.
        if (k > 0 && shapes_[s].milestones[k] == shapes_[s].milestones[k - 1]) continue;
        RungReport& one = report.rungs.emplace_back();
        one = {.bracket = static_cast<std::int64_t>(s), .milestone = shapes_[s].milestones[k]};
        if (knows_tallies_) one.reached = tallies_[s][k].reached;
        if (knows_tallies_) one.went_on = tallies_[s][k].went_on;
        const auto& cutoff = cutoffs_[s][k];
        if (cutoff && !std::isnan(*cutoff)) one.cutoff = objective_reader_.value_of(*cutoff);
        one.waiting = waiting_at(s, k);
      }
    }
    return report;
  }

  std::unique_ptr<Scheduler> copy() const override { return std::make_unique<Hyperband>(*this); }

  Json save() const override {
    Json brackets = Json::array();
    for (const auto& [number, bracket] : brackets_) {
      Json members = Json::array();
      for (const auto& [id, member] : bracket.members) {
        members.push_back(
            {index_of(id), member.has_arrived, member.is_paused, encode_number(member.score)});
      }
      brackets.push_back(
          {number, bracket.rung, bracket.added, bracket.is_closed, std::move(members)});
    }
    Json lost = Json::array();
    for (const auto& [id, why] : lost_) {
      lost.push_back({index_of(id), to_stop_.contains(id), why.text()});
    }
    Json state = {
        {"newest", newest_}, {"brackets", std::move(brackets)}, {"lost", std::move(lost)}};
    if (!knows_tallies_) return state;
    state["tallies"] = save_tallies(tallies_);
    state["cutoffs"] = save_cutoffs();
    return state;
  }

  void load(const Json& state) override {
    load_state("the scheduler hyperband", [&] {
      Hyperband other(options_);
      other.newest_ = load_whole<std::int64_t>(state.at("newest"));
      for (const Json& saved : state.at("brackets")) other.load_bracket(saved);
      for (const Json& saved : state.at("lost")) {
        const auto id = TrialId(load_whole<std::uint32_t>(saved.at(0)));
        other.lost_[id] = Rationale::recorded(saved.size() > 2 ? saved[2].get<std::string>() : "");
        if (saved.at(1).get<bool>()) other.to_stop_.insert(id);
      }
      other.load_rungs(state);
      tallies_.swap(other.tallies_);
      cutoffs_.swap(other.cutoffs_);
      knows_tallies_ = other.knows_tallies_;
      newest_ = other.newest_;
      brackets_.swap(other.brackets_);
      bracket_of_.swap(other.bracket_of_);
      ready_.swap(other.ready_);
      lost_.swap(other.lost_);
      to_stop_.swap(other.to_stop_);
    });
  }

 private:
  /// Brackets are numbered through, band after band.
  std::size_t shape_of(std::int64_t number) const {
    return static_cast<std::size_t>(number) % shapes_.size();
  }
  const BracketShape& shape(std::int64_t number) const { return shapes_[shape_of(number)]; }

  /// Members of all brackets of one shape that have arrived at the barrier there.
  std::uint64_t waiting_at(std::size_t shape, std::size_t rung) const {
    std::uint64_t waiting = 0;
    for (const auto& [number, bracket] : brackets_) {
      const bool is_there = shape_of(number) == shape && std::cmp_equal(bracket.rung, rung);
      if (is_there) waiting += static_cast<std::uint64_t>(bracket.arrived);
    }
    return waiting;
  }

  Json save_cutoffs() const {
    Json state = Json::array();
    for (const auto& bracket : cutoffs_) {
      Json& saved = state.emplace_back(Json::array());
      for (const auto& cutoff : bracket) {
        saved.push_back(cutoff ? encode_number(*cutoff) : Json());
      }
    }
    return state;
  }

  void load_rungs(const Json& state) {
    knows_tallies_ = load_tallies(state.value("tallies", Json()), tallies_);
    if (!knows_tallies_) return;
    for (std::size_t s = 0; s < cutoffs_.size(); ++s) {
      for (std::size_t k = 0; k < cutoffs_[s].size(); ++k) {
        const Json& saved = state.at("cutoffs").at(s).at(k);
        if (!saved.is_null()) cutoffs_[s][k] = load_number(saved);
      }
    }
  }

  /// The rungs that a member has reached without being judged there, since it has ended: it was
  /// done, a stop rule met, or the last milestone ends it.
  void count_reached(std::int64_t number, const Trial& trial) {
    const Bracket& bracket = brackets_.at(number);
    const auto progress = objective_reader_.of(trial);
    if (!progress) return;
    const auto& milestones = shape(number).milestones;
    const bool is_counted = bracket.members.at(trial.id).has_arrived;
    const std::size_t next = static_cast<std::size_t>(bracket.rung) + (is_counted ? 1 : 0);
    for (std::size_t k = next; k < milestones.size() && milestones[k] <= progress->time; ++k) {
      ++tallies_[shape_of(number)][k].reached;
    }
  }

  bool has_room(std::int64_t number) const {
    const auto found = brackets_.find(number);
    return found != brackets_.end() && !found->second.is_closed;
  }

  bool waits_at_barrier(TrialId id) const {
    const auto place = bracket_of_.find(id);
    return place != bracket_of_.end() && brackets_.at(place->second).members.at(id).has_arrived;
  }

  /// How a bracket was halved.
  struct Halving {
    double cutoff = 0;  ///< the score of the worst that was kept, or of the best, if none was
    std::size_t kept = 0;
  };

  /// Lets go what is over, and keeps the best of a bracket that is complete and has arrived as a
  /// whole; nothing if it is not.
  std::optional<Halving> halve_if_due(std::int64_t number) {
    const auto found = brackets_.find(number);
    Bracket& bracket = found->second;
    if (!bracket.is_closed) return std::nullopt;
    if (bracket.members.empty()) {
      brackets_.erase(found);
      return std::nullopt;
    }
    if (!bracket.all_have_arrived()) return std::nullopt;
    const std::vector<RungEntry> ranking = ranking_of(bracket);
    const auto& milestones = shape(number).milestones;
    const auto rung = [&] { return static_cast<std::size_t>(bracket.rung); };
    const double reached = milestones[rung()];
    const std::size_t judged_at = rung();
    // With a small factor, several halvings come to one time.
    do {
      ++bracket.rung;
    } while (rung() + 1 < milestones.size() && milestones[rung()] <= reached);
    bracket.arrived = 0;
    const double share =
        static_cast<double>(bracket.added) / std::pow(options_.reduction_factor, bracket.rung);
    const auto places = std::max<std::size_t>(1, static_cast<std::size_t>(share + 1e-9));
    Halving halving{.cutoff = ranking.front().score};
    for (std::size_t i = 0; i < ranking.size(); ++i) {
      const TrialId id = ranking[i].trial;
      BracketMember& member = bracket.members.at(id);
      if (i < places && !std::isnan(member.score)) {
        halving = {.cutoff = member.score, .kept = i + 1};
        member.has_arrived = false;
        if (member.is_paused) ready_.insert({number, id});
      } else {
        bracket.members.erase(id);
        bracket_of_.erase(id);
        lost_[id] = Rationale()
                        .add("rung", reached)
                        .add("score", objective_reader_.value_of(ranking[i].score));
        to_stop_.insert(id);
      }
    }
    for (const RungEntry& entry : ranking) {
      const auto lost = lost_.find(entry.trial);
      if (lost == lost_.end()) continue;
      lost->second.add("cutoff", objective_reader_.value_of(halving.cutoff))
          .add("kept", halving.kept)
          .add("of", ranking.size())
          .add("bracket", number);
    }
    tallies_[shape_of(number)][judged_at].went_on += halving.kept;
    cutoffs_[shape_of(number)][judged_at] = halving.cutoff;
    if (bracket.members.empty()) brackets_.erase(found);
    return halving;
  }

  std::optional<TrialId> best_of_unfilled(const Experiment& experiment, Seconds now) const {
    const auto found = brackets_.find(newest_);
    if (found == brackets_.end()) return std::nullopt;
    const Bracket& bracket = found->second;
    if (bracket.is_closed || !bracket.all_have_arrived()) return std::nullopt;
    for (const RungEntry& entry : ranking_of(bracket)) {
      // It still saves for its pause: to start a worse one would be to start one that has lost.
      if (experiment.trial(entry.trial).state == TrialState::running) return std::nullopt;
      if (experiment.may_start(entry.trial, now)) return entry.trial;
    }
    return std::nullopt;
  }

  static std::vector<RungEntry> ranking_of(const Bracket& bracket) {
    std::vector<RungEntry> ranking;
    for (const auto& [id, member] : bracket.members) ranking.push_back({member.score, id});
    std::sort(ranking.begin(), ranking.end(), BestFirst());
    return ranking;
  }

  void load_bracket(const Json& saved) {
    const auto number = load_whole<std::int64_t>(saved.at(0));
    if (number < 0 || number > newest_) throw std::invalid_argument("no such bracket");
    Bracket& bracket = brackets_[number];
    bracket.rung = load_whole<int>(saved.at(1));
    bracket.added = load_whole<std::int64_t>(saved.at(2));
    bracket.is_closed = saved.at(3).get<bool>();
    const auto rungs = std::ssize(shape(number).milestones);
    if (bracket.rung < 0 || bracket.rung >= rungs) throw std::invalid_argument("no such rung");
    for (const Json& entry : saved.at(4)) {
      const auto id = TrialId(load_whole<std::uint32_t>(entry.at(0)));
      const BracketMember member{entry.at(1).get<bool>(), entry.at(2).get<bool>(),
                                 load_number(entry.at(3))};
      bracket.members[id] = member;
      bracket_of_[id] = number;
      if (member.has_arrived) ++bracket.arrived;
      if (member.is_paused && !member.has_arrived) ready_.insert({number, id});
    }
  }

  const HyperbandOptions options_;
  const ObjectiveReader objective_reader_;
  const std::vector<BracketShape> shapes_;
  std::vector<std::vector<RungTally>> tallies_;              ///< by shape and milestone
  std::vector<std::vector<std::optional<double>>> cutoffs_;  ///< of the last halving there
  bool knows_tallies_ = true;                 ///< the state may be an older program's
  std::int64_t newest_ = -1;                  ///< the bracket that takes new trials, or will
  std::map<std::int64_t, Bracket> brackets_;  ///< by number; only those that are not over
  std::map<TrialId, std::int64_t> bracket_of_;
  std::set<std::pair<std::int64_t, TrialId>> ready_;  ///< paused, and kept in their brackets
  std::map<TrialId, Rationale> lost_;                 ///< and have not ended yet
  std::set<TrialId> to_stop_;                         ///< those of them that nobody knows of yet
};

}  // namespace

std::unique_ptr<Scheduler> make_hyperband(HyperbandOptions options) {
  return std::make_unique<Hyperband>(std::move(options));
}

}  // namespace tune
