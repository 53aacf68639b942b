#include "tests/policies/scheduler_world.h"

#include <iterator>
#include <utility>

namespace tune {

class World::Configs : public Searcher {
 public:
  explicit Configs(std::uint32_t n) : n_(n) {}
  Answer suggest(TrialId id) override {
    if (index_of(id) >= n_) return Exhausted{};
    return Suggestion{{{"x", index_of(id)}}, ""};
  }
  Json save() const override { return nullptr; }
  void load(const Json&) override {}

 private:
  std::uint32_t n_;
};

World::World(Make make, std::uint32_t trials, std::size_t slots, std::uint64_t seed)
    : loss([](TrialId id, std::int64_t iteration) {
        Random of_trial(index_of(id));
        const double asymptote = of_trial.uniform();
        return asymptote + of_trial.uniform() / static_cast<double>(iteration);
      }),
      make_(std::move(make)),
      trials_(trials),
      slots_(slots),
      random_(seed) {
  policies_.searcher = Suggester(std::make_unique<Configs>(trials), {});
  policies_.scheduler = make_();
  apply(SessionStarted{"host", 1, "test"});
}

void World::run() {
  while (step()) {
  }
}

bool World::step() {
  now_ += 1;
  carry_out_orders();
  while (fill_slots()) {
  }
  if (reload_every != 0 && experiment_.last_event() % reload_every == 0) look_for_traces();
  if (copy_every != 0 && experiment_.last_event() % copy_every == 0) check_copy();
  if (attempts_.empty()) {
    // A retry may wait for its time.
    for (const auto& [place, id] : experiment_.pending()) {
      const bool waits = experiment_.trial(id).not_before > now_;
      if (waits) return true;
    }
    return false;
  }
  if (happens(troubles.interrupt)) {
    while (!attempts_.empty()) end(attempts_.begin()->first, Outcome::interrupted);
    return true;
  }
  if (happens(troubles.stop)) {
    const TrialId id{static_cast<std::uint32_t>(random_.below(experiment_.trials().size()))};
    const Trial& trial = experiment_.trial(id);
    if (!is_final(trial.state) && !trial.stopping) {
      apply(TrialStopRequested{id, "by hand"});
      if (trial.state == TrialState::running) attempts_[id].stop_asked = true;
    }
    return true;
  }
  auto any = attempts_.begin();
  std::advance(any, static_cast<std::ptrdiff_t>(random_.below(attempts_.size())));
  if (any->first == stuck) return true;
  if (happens(troubles.failure)) {
    end(any->first, Outcome::failed, random_.uniform() < 0.5);
  } else if (any->second.next != Action::proceed) {
    carry_out(any->first, any->second);
  } else {
    report(any->first, any->second);
  }
  return true;
}

void World::report(TrialId id, Attempt& attempt) {
  const Trial& trial = experiment_.trial(id);
  ResultReported reported{id, trial.attempt, {}, {}};
  Result& result = reported.result;
  result.training_iteration = trial.iteration + 1;
  result.time_total_s = trial.time_total_s + 1;
  result.timestamp = now_;
  result.metrics.numbers = {{"loss", loss(id, result.training_iteration)}};
  result.done = result.training_iteration >= longest || happens(troubles.early_end);
  reported.decision = policies_.decide(experiment_, trial, result);
  attempt.next = reported.decision.action;
  const bool saves = reported.decision.checkpoint && attempt.next == Action::proceed;
  apply(std::move(reported));
  if (saves) save(id);
}

void World::save(TrialId id) {
  const Trial& trial = experiment_.trial(id);
  Checkpoint checkpoint;
  checkpoint.index = trial.saves + 1;
  checkpoint.iteration = trial.iteration;
  checkpoint.time_total_s = trial.time_total_s;
  apply(CheckpointCommitted{id, checkpoint});
}

/// Some time later, because a save takes its time.
void World::carry_out(TrialId id, Attempt& attempt) {
  if (attempt.next == Action::stop || attempt.stop_asked) {
    end(id, Outcome::completed);
  } else if (attempt.next == Action::exploit) {
    end(id, Outcome::exploiting);
  } else if (happens(troubles.failed_save)) {
    attempt.next = Action::proceed;
  } else {
    save(id);
    end(id, Outcome::paused);
  }
}

void World::end(TrialId id, Outcome outcome, bool retry) {
  AttemptEnded ended{id, experiment_.trial(id).attempt, outcome, "", false, 0};
  // As the loop does with a wish to stop it.
  if (attempts_[id].stop_asked && outcome != Outcome::failed) ended.outcome = Outcome::completed;
  if (outcome == Outcome::failed) {
    ended.retry = retry && !attempts_[id].stop_asked;
    ended.not_before = ended.retry ? now_ + 3 : 0;
  }
  attempts_.erase(id);
  apply(ended);
}

void World::carry_out_orders() {
  while (const auto order = policies_.scheduler->order()) {
    if (order->exploit) {
      apply(TrialExploited{order->trial, *order->exploit});
      continue;
    }
    apply(TrialStopRequested{order->trial, order->reason});
    const auto running = attempts_.find(order->trial);
    if (running != attempts_.end()) running->second.stop_asked = true;
  }
}

bool World::fill_slots() {
  if (attempts_.size() >= slots_) return false;
  auto chosen = policies_.scheduler->choose(experiment_, now_, true);
  const TrialId next{static_cast<std::uint32_t>(experiment_.trials().size())};
  if (!chosen && index_of(next) < trials_) {
    apply(TrialAdded{next, R"({"x":)" + std::to_string(index_of(next)) + "}", "", ""});
    chosen = next;
    carry_out_orders();
  }
  if (!chosen) chosen = policies_.scheduler->choose(experiment_, now_, false);
  if (!chosen) return false;
  start(*chosen);
  return true;
}

void World::start(TrialId id) {
  const auto [owner, checkpoint] = experiment_.restore_point(id);
  starts_.push_back(id);
  attempts_[id] = {};
  apply(AttemptStarted{id,
                       experiment_.trial(id).attempt + 1,
                       checkpoint != nullptr ? checkpoint->index : 0,
                       {},
                       owner == id ? std::nullopt : std::optional(owner)});
}

void World::apply(EventBody body) {
  const Event event{experiment_.last_event() + 1, now_, std::move(body)};
  events_.emplace_back();
  append_json(events_.back(), event);
  experiment_.apply(event);
  policies_.learn(experiment_, event);
}

void World::check_copy() {
  if (copy_ != nullptr && copy_->save() != saved_when_copied_) {
    traces_.push_back("a copy has changed by event " + std::to_string(experiment_.last_event()));
  }
  saved_when_copied_ = policies_.scheduler->save();
  copy_ = policies_.scheduler->copy();
}

void World::look_for_traces() {
  const Scheduler& scheduler = *policies_.scheduler;
  const Json before = scheduler.save();
  const auto check = [&](bool is_same, const char* what) {
    if (!is_same)
      traces_.push_back(what + std::string(" at event ") +
                        std::to_string(experiment_.last_event()));
  };
  for (const bool more : {true, false}) {
    check(scheduler.choose(experiment_, now_, more) == scheduler.choose(experiment_, now_, more),
          "another choice");
  }
  const auto order = scheduler.order();
  const auto again = scheduler.order();
  check(order.has_value() == again.has_value() && (!order || order->trial == again->trial),
        "another order");
  check(scheduler.save() == before, "a trace");
  auto fresh = make_();
  fresh->load(Json::parse(before.dump()));
  check(fresh->save() == before, "another state");
  policies_.scheduler = std::move(fresh);
}

}  // namespace tune
