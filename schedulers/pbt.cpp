// Population-based training: from time to time the worst trials go on as copies of the best, with
// changed hyperparameters. With several intervals, models migrate between sub-populations.
#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "schedulers/barriers.h"
#include "schedulers/copy_on_write.h"
#include "schedulers/population.h"
#include "schedulers/progress.h"
#include "schedulers/rungs.h"
#include "schedulers/schedulers.h"
#include "schedulers/sub_populations.h"
#include "tuner/base/error.h"
#include "tuner/model/experiment.h"
#include "tuner/policy/policy_state.h"

namespace tune {

namespace {

constexpr int most_tries = 100;

/// A trial that has not ended.
struct Member {
  double perturbed = 0;         ///< time of its last chance to exploit
  double trained = 0;           ///< time of the result that its score is of
  std::optional<double> score;  ///< nothing: it has had no chance yet
  std::string config;           ///< JSON text
  /// It is about to start as a clone, and so about to give up the model that its score is of.
  bool becomes_clone = false;
  std::optional<std::uint64_t> place;  ///< in the queue, while it waits
};

/// A place in the queue of those that wait.
struct InQueue {
  double trained = 0;
  std::uint64_t place = 0;
  TrialId trial{};
};
struct LeastTrainedFirst {
  bool operator()(const InQueue& a, const InQueue& b) const {
    return std::pair(a.trained, a.place) < std::pair(b.trained, b.place);
  }
};

/// In a state of before, there is the config of what it starts from instead.
bool was_to_be_clone(const Json& saved) {
  return saved.is_string() ? !saved.get_ref<const std::string&>().empty() : saved.get<bool>();
}

class Population : public Scheduler {
 public:
  /// Without an explorer nobody is cloned.
  Population(PopulationOptions options, std::unique_ptr<Explorer> explorer)
      : options_(std::move(options)),
        explorer_(std::move(explorer)),
        objective_reader_(options_.time_attr, options_.objective),
        random_(options_.seed),
        barriers_(options_.perturbation_intervals, options_.burn_in_period),
        groups_(options_.perturbation_intervals, options_.quantile_fraction) {}

  void on_trial_add(const Trial& trial) override {
    if (trial.attempt == 0) ++created_;
    Member& member = members_[trial.id];
    member.config = trial.config.text();
    behind_ += is_held(member) ? 0 : 1;
    if (const auto progress = objective_reader_.of(trial)) {
      member.perturbed = progress->time;
      go_on_behind(progress->time);
      set_trained(member, progress->time);
    }
    wait(trial.id, member);
  }

  void on_trial_start(const Trial& trial) override {
    Member& member = members_.at(trial.id);
    stop_waiting(member);
    member.config = trial.config.text();
    member.becomes_clone = false;
    if (is_complete() || !is_held(member) || behind_ > 0) return;
    // Nobody else is to come (see choose): the population is what there is, and this barrier, which
    // would hold all of them again and again, is open.
    population_ = created_;
    sync_if_all_are_there(trial.id);
  }

  void on_trial_wait(const Trial& trial) override {
    Member& member = members_.at(trial.id);
    if (options_.synch && has_lost_results(trial)) {
      forget_score(trial.id, member);
      set_trained(member, 0);  // known with its next result
    }
    wait(trial.id, member);
    if (options_.synch) sync_if_all_are_there();
  }

  void on_trial_end(const Trial& trial) override {
    Member* const member = members_.find(trial.id);
    if (member == nullptr) return;
    stop_waiting(*member);
    forget_score(trial.id, *member);
    behind_ -= is_held(*member) ? 0 : 1;
    members_.erase(trial.id);
    // Of those that are taken up again, perhaps none has come to where the last one was.
    if (members_.empty()) barriers_.reset();
    explorer_->on_end(trial.id);
    forget_order(trial.id);
    // The others wait for it no longer.
    if (options_.synch) sync_if_all_are_there();
  }

  Decision on_result(const Trial& trial, const Result& result) override {
    const auto progress = objective_reader_.of(result);
    if (!progress) return {};
    return options_.synch ? on_synchronous(trial.id, *progress)
                          : on_asynchronous(trial.id, *progress);
  }

  std::optional<Order> order() const override {
    // The donor, too, must have come to rest: before that, its newest checkpoint is an older one.
    const auto runs = [this](TrialId id) {
      const Member* const member = members_.find(id);
      return member != nullptr && !member->place;
    };
    std::optional<Order> next;
    orders_.for_each_until([&](TrialId id, const Exploit& exploit) {
      if (!runs(id) && !runs(exploit.donor)) next = Order{id, exploit, ""};
      return next.has_value();
    });
    return next;
  }

  void on_order(const Trial& trial) override { forget_order(trial.id); }

  std::optional<TrialId> choose(const Experiment& experiment, Seconds now,
                                bool more) const override {
    const auto is_free = [&](TrialId id) {
      return !orders_.contains(id) && !donors_.contains(id) && experiment.may_start(id, now);
    };
    // The population comes first, before anybody's next interval; unless it has no end.
    if (more && options_.population > 0) return std::nullopt;
    // Of a population that never gets complete, those that are held go on; but not where one that
    // is behind comes yet: it waits for a retry, or somebody has paused it by hand.
    const bool is_stuck = all_rest() && orders_.empty();
    bool one_comes = false;
    for (const InQueue& next : waiting_) {
      const bool is_ahead = is_held(members_.at(next.trial));
      // So are all that have trained more.
      if (is_ahead && (!is_stuck || one_comes)) break;
      // The best one opens the barrier, as it is nobody's copy.
      const auto best = is_ahead && behind_ == 0 ? groups_.best() : std::nullopt;
      if (best && is_free(best->trial)) return best->trial;
      if (is_free(next.trial)) return next.trial;
      const Trial& trial = experiment.trial(next.trial);
      one_comes = one_comes || (!is_ahead && (trial.held || trial.not_before > now));
    }
    return std::nullopt;
  }

  std::unique_ptr<Scheduler> copy() const override { return std::make_unique<Population>(*this); }

  Json save() const override {
    Json members = Json::array();
    members_.for_each([&](TrialId id, const Member& member) {
      members.push_back({index_of(id), encode_number(member.perturbed),
                         encode_number(member.trained),
                         member.score ? encode_number(*member.score) : Json(), member.config,
                         member.place ? Json(*member.place) : Json(), member.becomes_clone});
    });
    Json orders = Json::array();
    orders_.for_each([&](TrialId id, const Exploit& exploit) {
      orders.push_back({index_of(id), index_of(exploit.donor), exploit.config, exploit.tag});
    });
    Json state = {{"random", random_.save()},
                  {"created", created_},
                  {"last_place", last_place_},
                  {"members", std::move(members)},
                  {"orders", std::move(orders)}};
    barriers_.save_to(state);
    if (population_ != options_.population) state["population"] = population_;
    if (Json explorer = explorer_->save(); !explorer.is_null()) {
      state["explorer"] = std::move(explorer);
    }
    return state;
  }

  void load(const Json& state) override {
    load_state("the scheduler", [&] {
      Population other(options_, nullptr);
      other.random_.load(state.at("random"));
      other.created_ = load_whole<std::int64_t>(state.at("created"));
      other.last_place_ = load_whole<std::uint64_t>(state.at("last_place"));
      other.barriers_.load_from(state);
      if (const auto fewer = state.find("population"); fewer != state.end()) {
        other.population_ = load_whole<std::int64_t>(*fewer);
      }
      for (const Json& saved : state.at("members")) {
        const auto id = TrialId(load_whole<std::uint32_t>(saved.at(0)));
        Member& member = other.members_[id];
        member.perturbed = load_number(saved.at(1));
        member.trained = load_number(saved.at(2));
        member.config = saved.at(4).get<std::string>();
        if (saved.size() > 6) member.becomes_clone = was_to_be_clone(saved[6]);
        if (!saved.at(3).is_null()) other.set_score(id, member, load_number(saved.at(3)));
        if (!saved.at(5).is_null()) {
          member.place = load_whole<std::uint64_t>(saved.at(5));
          other.waiting_.insert({member.trained, *member.place, id});
        }
      }
      for (const Json& saved : state.at("orders")) {
        const auto id = TrialId(load_whole<std::uint32_t>(saved.at(0)));
        if (!other.members_.contains(id)) throw std::invalid_argument("an order for nobody");
        other.add_order(id, {TrialId(load_whole<std::uint32_t>(saved.at(1))),
                             saved.at(2).get<std::string>(), saved.at(3).get<std::string>()});
      }
      other.count_behind();
      if (!explorer_->save().is_null()) explorer_->load(state.at("explorer"));
      random_ = other.random_;
      created_ = other.created_;
      last_place_ = other.last_place_;
      barriers_.take(other.barriers_);
      population_ = other.population_;
      members_ = std::move(other.members_);
      groups_.take_ranks(other.groups_);
      waiting_ = std::move(other.waiting_);
      orders_ = std::move(other.orders_);
      donors_ = std::move(other.donors_);
      behind_ = other.behind_;
    });
  }

 private:
  Decision on_asynchronous(TrialId id, const TrialProgress& progress) {
    Member& member = members_.at(id);
    const std::size_t group = groups_.of(id);
    if (progress.time < options_.burn_in_period) return {};
    if (progress.time - member.perturbed < groups_.interval(group)) {
      return keep_pace(member, progress.time);
    }
    update(id, member, progress);
    explorer_->on_score(id, progress, member.config);
    const double last_chance = std::exchange(member.perturbed, progress.time);
    const std::size_t size = groups_.quantile_size(group);
    const Rung& ranks = groups_.ranks(group);
    const std::size_t rank = ranks.rank({*member.score, id});
    Decision decision{.why = why_of(id, progress)};
    decision.why.add("place", rank + 1).add("of", ranks.size()).add("quantile", size);
    decision.exploit = exploit_from(id, rank, last_chance);
    if (decision.exploit) {
      decision.action = Action::exploit;
      const std::size_t from = groups_.of(decision.exploit->donor);
      if (from != group) decision.why.add("migrant_of", groups_.interval(from));
      return decision;
    }
    if (others_wait()) decision.action = Action::pause;
    decision.checkpoint = rank < size;
    return decision;
  }

  /// Those with longer intervals take turns with the others, or they would be compared with trials
  /// that they have left far behind.
  Decision keep_pace(Member& member, double time) {
    if (time - member.trained < groups_.shortest() || !others_wait()) return {};
    set_trained(member, time);
    return {.action = Action::pause};
  }

  bool others_wait() const { return !waiting_.empty() || !is_complete(); }

  Decision on_synchronous(TrialId id, const TrialProgress& progress) {
    Member& member = members_.at(id);
    update(id, member, progress);
    if (progress.time < barriers_.next()) return {};
    explorer_->on_score(id, progress, member.config);
    return {.action = Action::pause, .why = why_of(id, progress).add("sync", barriers_.next())};
  }

  Rationale why_of(TrialId id, const TrialProgress& progress) const {
    Rationale why;
    if (groups_.size() > 1) why.add("interval", groups_.interval(groups_.of(id)));
    why.add("time", progress.time).add("score", progress.value);
    return why;
  }

  /// One is taken up again that has trained so long. Only where all have ended before is it behind
  /// the barrier at which nobody waits yet: the first one is then that which all have before them.
  void go_on_behind(double trained) {
    const bool nobody_waits = static_cast<std::size_t>(behind_) == members_.size();
    if (!options_.synch || !nobody_waits || !(trained >= barriers_.next())) return;
    barriers_.go_on_behind(trained);
    count_behind();
  }

  /// There will be no more of them.
  bool is_complete() const { return created_ >= population_; }

  /// It died after results that no checkpoint has, in its save at a barrier perhaps, and trains
  /// them again: the model that its score is of is gone.
  static bool has_lost_results(const Trial& trial) {
    if (trial.state != TrialState::pending) return false;
    const Checkpoint* const own = trial.latest_checkpoint();
    return (own != nullptr ? own->iteration : trial.restored_iteration) < trial.iteration;
  }

  /// But for so many.
  bool all_rest(std::size_t but = 0) const { return waiting_.size() + but >= members_.size(); }

  /// All have come to the barrier, and to rest: before that, one may still die in its save and come
  /// once more with another model. `started`: it goes on as it is, whatever its place.
  void sync_if_all_are_there(std::optional<TrialId> started = {}) {
    if (members_.empty() || behind_ > 0 || !is_complete()) return;
    if (!all_rest(started ? 1 : 0)) return;
    double latest = 0;
    members_.for_each(
        [&](TrialId, const Member& member) { latest = std::max(latest, member.trained); });
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      if (!barriers_.is_turn_of(group)) continue;
      const Rung& ranks = groups_.ranks(group);
      const std::size_t changed = std::min(2 * groups_.quantile_size(group), ranks.size());
      for (std::size_t i = 1; i <= changed; ++i) {
        const std::size_t rank = ranks.size() - i;
        const TrialId id = ranks.at(rank).trial;
        if (id == started) continue;
        if (auto exploit = exploit_from(id, rank, {})) add_order(id, std::move(*exploit));
      }
    }
    barriers_.open(latest);
    count_behind();
  }

  /// What comes of that place in its sub-population. The worst exploit its best; those above them
  /// are replaced by better ones of other sub-populations.
  std::optional<Exploit> exploit_from(TrialId id, std::size_t rank,
                                      std::optional<double> last_chance) {
    const std::size_t group = groups_.of(id);
    const std::size_t size = groups_.quantile_size(group);
    const std::size_t worse = groups_.ranks(group).size() - 1 - rank;
    if (worse < size) return exploit_best(id, group);
    if (worse < 2 * size && rank >= size) return migrate(id, group, last_chance);
    return std::nullopt;
  }

  /// One of the best, changed.
  std::optional<Exploit> exploit_best(TrialId id, std::size_t group) {
    const auto chosen = draw_donor(group);
    if (!chosen || chosen->trial == id) return std::nullopt;
    const Member& donor = members_.at(chosen->trial);
    return become_clone(id, chosen->trial, explore(chosen->trial, Json::parse(donor.config)));
  }

  /// The best of one drawn of each other sub-population, if it is better. What looks best after a
  /// short interval may be worst after a long one: a model from a shorter one goes on with the
  /// hyperparameters that the trial has.
  std::optional<Exploit> migrate(TrialId id, std::size_t group, std::optional<double> last_chance) {
    RungEntry best{*members_.at(id).score, id};
    for (std::size_t other = 0; other < groups_.size(); ++other) {
      if (other == group) continue;
      const auto drawn = draw_donor(other, last_chance);
      if (drawn && !(drawn->score <= best.score)) best = *drawn;
    }
    if (best.trial == id) return std::nullopt;
    const TrialId config_of = groups_.of(best.trial) < group ? id : best.trial;
    return become_clone(id, best.trial, Json::parse(members_.at(config_of).config));
  }

  /// The trial counts as what it will be.
  Exploit become_clone(TrialId id, TrialId chosen, Json config) {
    const Member& donor = members_.at(chosen);
    Member& clone = members_.at(id);
    clone.becomes_clone = true;
    std::string tag = options_.space.tag(config);
    clone.config = encode_numbers(std::move(config)).dump();
    explorer_->on_clone(id, chosen, clone.config);
    clone.perturbed = donor.perturbed;
    // Its place among those that wait goes by what it will be, too.
    const bool was_waiting = clone.place.has_value();
    stop_waiting(clone);
    set_trained(clone, donor.trained);
    if (was_waiting) wait(id, clone);
    return Exploit{chosen, clone.config, std::move(tag)};
  }

  /// One of the best of the sub-population that is no clone to be: those have no model of their own
  /// to give, and two that wait for each other's would never get one. `after`: only with a score of
  /// a later time.
  std::optional<RungEntry> draw_donor(std::size_t group, std::optional<double> after = {}) {
    const std::size_t size = groups_.quantile_size(group);
    if (size == 0) return std::nullopt;
    const Rung& ranks = groups_.ranks(group);
    const std::size_t first = random_.below(size);
    for (std::size_t i = 0; i < size; ++i) {
      const RungEntry& drawn = ranks.at((first + i) % size);
      if (std::isnan(drawn.score)) return std::nullopt;
      const Member& donor = *std::as_const(members_).find(drawn.trial);
      if (!donor.becomes_clone && !(after && donor.perturbed <= *after)) return drawn;
    }
    return std::nullopt;
  }

  /// `config` of `donor`, changed; as it is, if nobody can try what comes of it.
  Json explore(TrialId donor, const Json& config) {
    const SearchSpace& space = options_.space;
    for (int tries = 0; tries < most_tries; ++tries) {
      Json changed = space.evaluated(explorer_->explore(donor, config, random_));
      if (options_.custom_explore_fn) {
        changed = space.evaluated(options_.custom_explore_fn(std::move(changed)));
      }
      if (!why_unfit(space, options_.constraints, changed)) return changed;
    }
    return config;
  }

  void update(TrialId id, Member& member, const TrialProgress& progress) {
    set_trained(member, progress.time);
    forget_score(id, member);
    set_score(id, member, progress.score);
  }

  void set_score(TrialId id, Member& member, double score) {
    member.score = score;
    groups_.add({score, id});
  }

  void forget_score(TrialId id, Member& member) {
    if (member.score) groups_.remove({*member.score, id});
    member.score.reset();
  }

  /// Synchronous: it has come as far as it may before all have.
  bool is_held(const Member& member) const {
    return options_.synch && member.trained >= barriers_.next();
  }

  void set_trained(Member& member, double time) {
    behind_ -= is_held(member) ? 0 : 1;
    member.trained = time;
    behind_ += is_held(member) ? 0 : 1;
  }

  void count_behind() {
    behind_ = 0;
    members_.for_each(
        [this](TrialId, const Member& member) { behind_ += is_held(member) ? 0 : 1; });
  }

  void add_order(TrialId id, Exploit exploit) {
    forget_order(id);
    ++donors_[exploit.donor];
    orders_[id] = std::move(exploit);
  }

  void forget_order(TrialId id) {
    const Exploit* const order = std::as_const(orders_).find(id);
    if (order == nullptr) return;
    if (--donors_.at(order->donor) == 0) donors_.erase(order->donor);
    orders_.erase(id);
  }

  void wait(TrialId id, Member& member) {
    member.place = ++last_place_;
    waiting_.insert({member.trained, *member.place, id});
  }

  void stop_waiting(Member& member) {
    if (!member.place) return;
    waiting_.erase({member.trained, *member.place, {}});
    member.place.reset();
  }

  const PopulationOptions options_;
  CopiedPtr<Explorer> explorer_;
  const ObjectiveReader objective_reader_;
  Random random_;
  std::int64_t created_ = 0;
  std::int64_t population_ = options_.population;  ///< fewer where it turned out that no more come
  std::uint64_t last_place_ = 0;
  Barriers barriers_;
  TrialTable<Member> members_;
  SubPopulations groups_;
  /// By what they have trained, and of those with equal shares by who has waited longest: a clone
  /// must not get ahead of its donor again and again.
  SortedChunks<InQueue, LeastTrainedFirst> waiting_;
  TrialTable<Exploit> orders_;  ///< synchronous, not carried out yet
  TrialTable<int> donors_;      ///< of these orders: they stay where they are until then
  std::ptrdiff_t behind_ = 0;   ///< members that are not held
};

}  // namespace

std::unique_ptr<Scheduler> make_population(PopulationOptions options,
                                           std::unique_ptr<Explorer> explorer) {
  return std::make_unique<Population>(std::move(options), std::move(explorer));
}

}  // namespace tune
