// Feeds each event to the policies as the fold does, and compares recorded answers with replayed
// ones.
#include "tuner/run/commit/policies.h"

#include <algorithm>
#include <stdexcept>

#include "tuner/base/json_limits.h"
#include "tuner/space/domain.h"

namespace tune {

namespace {

std::string name_of(const Decision& decision) {
  std::string name = std::string("'") + to_string(decision.action) + "'";
  if (decision.exploit) {
    name += " of " + to_string(decision.exploit->donor) + " with " + decision.exploit->config;
  }
  if (decision.resources) name += " for " + text_of_resources(*decision.resources);
  return name;
}

/// What the searcher would do, as a phrase after "the searcher would now".
std::string name_of(const Answer& answer, TrialId next) {
  if (const auto* const resume = std::get_if<Resume>(&answer)) {
    return "let " + to_string(resume->trial) + " go on";
  }
  const auto* const suggestion = std::get_if<Suggestion>(&answer);
  return "suggest " +
         (suggestion != nullptr ? encode_numbers(suggestion->config).dump() : "nothing") + " for " +
         to_string(next);
}

std::optional<std::string> differs(Policies& policies, const TrialAdded& recorded) {
  const auto answer = policies.searcher.answer_at_once(recorded.trial);
  const auto* const suggestion = std::get_if<Suggestion>(&answer);
  if (suggestion != nullptr &&
      is_same(encode_numbers(suggestion->config), Json::parse(recorded.config))) {
    return {};
  }
  return "the searcher would now " + name_of(answer, recorded.trial) + ", recorded was " +
         recorded.config;
}

std::optional<std::string> differs(Policies& policies, const Experiment& experiment,
                                   const AttemptStarted& recorded) {
  const TrialId next{static_cast<std::uint32_t>(experiment.trials().size())};
  const auto answer = policies.searcher.answer_at_once(next);
  const auto* const resume = std::get_if<Resume>(&answer);
  if (resume != nullptr && resume->trial == recorded.trial) return {};
  return "the searcher would now " + name_of(answer, next) + ", recorded was that " +
         to_string(recorded.trial) + " goes on";
}

std::optional<std::string> differs(Policies& policies, const Experiment& experiment,
                                   const ResultReported& recorded) {
  const Decision answer =
      policies.decide(experiment, experiment.trial(recorded.trial), recorded.result);
  // Not compared: `checkpoint`, which the record has as the sum of all triggers, and `why`, which
  // is for people.
  const bool is_same = answer.action == recorded.decision.action &&
                       answer.exploit == recorded.decision.exploit &&
                       answer.resources == recorded.decision.resources;
  if (is_same) return {};
  return "the decision would now be " + name_of(answer) + " at iteration " +
         std::to_string(recorded.result.training_iteration) + " of " + to_string(recorded.trial) +
         ", recorded was " + name_of(recorded.decision);
}

}  // namespace

std::optional<std::uint64_t> Policies::total_trials(const Experiment& experiment) const {
  const auto total = searcher.total();
  if (!total) return std::nullopt;
  return std::max<std::uint64_t>(*total + experiment.added_by_hand(), experiment.trials().size());
}

Decision Policies::decide(const Experiment& experiment, const Trial& trial, const Result& result) {
  // What was trained again counts for nobody again.
  const bool again = trial.repeats(result);
  const bool stop = stopper != nullptr && (again ? stopper->should_stop_again(trial, result)
                                                 : stopper->should_stop(trial, result));
  const bool all_stop = experiment.stop_ends_trials();
  if (stop || all_stop || result.done) {
    const bool by_rule = stop && !result.done;
    return {
        .action = Action::stop, .by_rule = by_rule, .why = by_rule ? stopper->why() : Rationale()};
  }
  // The scheduler has ended the trial there before it died in its last save. That verdict holds:
  // the scheduler, asked once more, would judge the trial a second time.
  if (again && trial.end_iteration != 0 && trial.ended_by == EndedBy::scheduler) {
    const bool is_there = result.training_iteration >= trial.end_iteration;
    return {.action = is_there ? Action::stop : Action::proceed,
            .at_max = is_there && trial.at_max};
  }
  Decision decision = scheduler->on_result(trial, result);
  evaluate(decision.exploit);
  // The result that ends a trial comes to the searcher as its end, in `learn_end`.
  if (decision.action != Action::stop && !again) searcher.on_result(trial, result);
  return decision;
}

std::optional<Order> Policies::order() const {
  auto order = scheduler->order();
  if (order) evaluate(order->exploit);
  return order;
}

Error scheduler_fault(const std::string& what) {
  return user_error("the scheduler asks for what is not possible, " + what +
                    "; the run was ended, and what was recorded before is kept");
}

/// A scheduler of a plugin need not know of expressions. What is no config is refused by who
/// clones.
void Policies::evaluate(std::optional<Exploit>& exploit) const {
  if (!exploit || space == nullptr || !space->has_expressions()) return;
  const Json given = Json::parse(exploit->config, nullptr, /*allow_exceptions=*/false);
  if (!given.is_object()) return;
  Json config = space->evaluated(given);
  if (const auto why = space->without_value(config)) {
    throw scheduler_fault("a copy of " + to_string(exploit->donor) + " with " + exploit->config +
                          ": " + *why);
  }
  if (config != given) exploit->config = encode_numbers(std::move(config)).dump();
}

Json PolicyStates::save() const {
  Json state = searcher;
  state["scheduler"] = scheduler != nullptr ? scheduler->save() : scheduler_state;
  state["stopper"] = stopper;
  return state;
}

PolicyStates Policies::states() const {
  PolicyStates states = states_of_others();
  states.searcher = searcher.save();
  return states;
}

PolicyStates Policies::states_of_others() const {
  PolicyStates states;
  states.scheduler = scheduler->copy();
  if (states.scheduler == nullptr) states.scheduler_state = scheduler->save();
  if (stopper != nullptr) states.stopper = stopper->save();
  return states;
}

void Policies::load(const Json& state) {
  try {
    searcher.load(state);
    scheduler->load(state.at("scheduler"));
    if (stopper != nullptr && !state.at("stopper").is_null()) stopper->load(state.at("stopper"));
  } catch (const Json::exception& error) {
    throw machine_error(std::string("the state of the policies cannot be understood: ") +
                        error.what());
  }
}

void Policies::learn(const Experiment& experiment, const Event& event) {
  if (const auto* added = std::get_if<TrialAdded>(&event.body)) {
    if (added->by_hand) {
      searcher.on_trial_add_by_hand(added->trial, added->config);
    } else {
      searcher.on_trial_add(added->trial, added->config);
    }
    scheduler->on_trial_add(experiment.trial(added->trial));
  } else if (const auto* asked = std::get_if<SuggestionAsked>(&event.body)) {
    searcher.on_ask(asked->next);
  } else if (const auto* reported = std::get_if<ResultReported>(&event.body)) {
    const Decision& decision = reported->decision;
    // Neither a rule nor the program has ended it, so the searcher is told that it was stopped.
    const bool is_cut_short =
        decision.action == Action::stop && !decision.by_rule && !reported->result.done;
    if (is_cut_short) searcher.on_stop(reported->trial);
    if (decision.exploit) searcher.on_exploit(reported->trial, decision.exploit->config);
  } else if (const auto* requeued = std::get_if<TrialRequeued>(&event.body)) {
    scheduler->on_trial_add(experiment.trial(requeued->trial));
  } else if (const auto* started = std::get_if<AttemptStarted>(&event.body)) {
    if (started->by_searcher) searcher.on_trial_resume(started->trial);
    scheduler->on_trial_start(experiment.trial(started->trial));
  } else if (const auto* ended = std::get_if<AttemptEnded>(&event.body)) {
    const Trial& trial = experiment.trial(ended->trial);
    if (is_final(trial.state)) {
      learn_end(trial, ended->of_machine);
    } else {
      learn_wait(trial);
    }
  } else if (const auto* stopped = std::get_if<TrialStopRequested>(&event.body)) {
    const Trial& trial = experiment.trial(stopped->trial);
    searcher.on_stop(trial.id);
    scheduler->on_order(trial);
    if (is_final(trial.state)) learn_end(trial);
  } else if (const auto* exploited = std::get_if<TrialExploited>(&event.body)) {
    searcher.on_exploit(exploited->trial, exploited->exploit.config);
    scheduler->on_order(experiment.trial(exploited->trial));
  } else if (const auto* held = std::get_if<TrialHeld>(&event.body)) {
    searcher.on_trial_hold(held->trial, held->released);
  } else if (std::holds_alternative<SpecChanged>(event.body)) {
    change(experiment.spec_changes());
  }
}

/// As at a resume: those of the changed spec take over what these know.
void Policies::change(const Json& fields) {
  if (!remade) return;
  Policies fresh = remade(fields);
  // Encoded as in a snapshot: `load` takes NaN and infinities as texts.
  fresh.scheduler->load(encode_numbers(scheduler->save()));
  if (fresh.stopper != nullptr && stopper != nullptr) {
    fresh.stopper->load(encode_numbers(stopper->save()));
  }
  searcher.on_change(std::move(fresh.searcher));
  scheduler = std::move(fresh.scheduler);
  stopper = std::move(fresh.stopper);
}

/// A pause by hand is none of theirs: to them such a trial waits as it would without it.
void Policies::learn_wait(const Trial& trial) {
  if (trial.held && *trial.held != trial.state) {
    Trial without = trial;
    without.state = *trial.held;
    scheduler->on_trial_wait(without);
    return;
  }
  scheduler->on_trial_wait(trial);
  if (trial.state == TrialState::paused) searcher.on_trial_pause(trial);
}

void Policies::learn_end(const Trial& trial, bool is_of_machine) {
  if (stopper != nullptr) stopper->on_trial_end(trial);
  scheduler->on_trial_end(trial);
  searcher.on_trial_end(trial, is_of_machine);
}

std::string config_of(TrialId trial, Json suggested) {
  try {
    return config_text(std::move(suggested));
  } catch (const std::invalid_argument& error) {
    throw user_error("the config that the searcher suggests for " + to_string(trial) +
                     " cannot be used: " + error.what() +
                     "; the run was ended, and what was recorded before is kept");
  }
}

std::optional<std::string> replay(Policies& policies, Experiment& experiment, const Event& event) {
  std::optional<std::string> difference;
  if (const auto* added = std::get_if<TrialAdded>(&event.body)) {
    if (!added->by_hand) difference = differs(policies, *added);
  } else if (const auto* started = std::get_if<AttemptStarted>(&event.body)) {
    if (started->by_searcher) difference = differs(policies, experiment, *started);
  } else if (const auto* reported = std::get_if<ResultReported>(&event.body)) {
    // `apply` refuses a record of an unknown trial.
    if (index_of(reported->trial) < experiment.trials().size()) {
      difference = differs(policies, experiment, *reported);
    }
  }
  // Asked before the record, told after it, as the loop does it: else the policies would see
  // another state than they saw then.
  experiment.apply(event);
  policies.learn(experiment, event);
  return difference;
}

}  // namespace tune
