// Loads a snapshot's parts into experiment, policies and callbacks, then replays the events behind
// it.
#include "tuner/run/commit/recovery.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/model/ancestry.h"

namespace tune {

namespace {

const Json& member(const Json& state, const char* name) {
  const auto found = state.find(name);
  if (found == state.end()) {
    throw std::invalid_argument(std::string("its state lacks '") + name + "'");
  }
  return *found;
}

}  // namespace

void ExperimentReader::on_snapshot(const Json& state) {
  experiment_.load_totals(member(state, "experiment"));
}

Recovery::Recovery(Experiment& experiment, Policies& policies, std::function<Policies()> make)
    : ExperimentReader(experiment), policies_(policies), make_(std::move(make)) {}

void Recovery::restart() {
  ExperimentReader::restart();
  policies_ = make_();
  changes_ = {};
  written_.clear();
  difference_.reset();
}

void Recovery::on_snapshot(const Json& state) {
  ExperimentReader::on_snapshot(state);
  policies_.load(member(state, "policies"));
  for (const Trial& trial : experiment_.trials()) {
    const std::int64_t last = last_own_iteration(trial);
    if (last > 0) written_.emplace(trial.id, last);
  }
}

void Recovery::on_event(Event&& event) {
  changes_.note(event);
  const auto difference = replay(policies_, experiment_, event);
  const auto id = trial_of(event.body);
  const auto written = id ? written_.find(*id) : written_.end();
  if (written != written_.end() && experiment_.trial(*id).iteration < written->second) {
    written->second = std::min(written->second, last_own_iteration(experiment_.trial(*id)));
  }
  if (difference && !difference_) difference_ = difference;
}

void CallbackReplay::load(const std::string& name, const Json& state) {
  callbacks_.call("load", [&](Callback& callback) {
    if (callback.name() == name) callback.load(state);
  });
}

void CallbackReplay::on_snapshot(const Json& state) {
  for (const auto& [name, saved] : member(state, "callbacks").items()) load(name, saved);
}

void CallbackReplay::on_event(Event&& event) {
  if (const auto* const saved = std::get_if<CallbackSaved>(&event.body)) {
    load(saved->callback, Json::parse(saved->state));
  } else if (const auto* const reported = std::get_if<ResultReported>(&event.body)) {
    const Trial& trial = experiment_.trial(reported->trial);
    callbacks_.call("on_trial_replay",
                    [&](Callback& callback) { callback.on_trial_replay(trial, reported->result); });
  }
}

SnapshotState take_state(const Experiment& experiment, PolicyStates policies,
                         CallbackList& callbacks, const StateCost& session_cost) {
  return {experiment.save_totals(session_cost), std::move(policies), callbacks.save()};
}

Json SnapshotState::make(const Json& spec) const {
  Json saved = Json::object();
  for (const auto& [name, state] : callbacks) saved[name] = encode_numbers(state);
  return {{"experiment", experiment},
          {"policies", encode_numbers(policies.save())},
          {"callbacks", std::move(saved)},
          {"spec", spec}};
}

const Json& spec_in(const Json& snapshot_state) { return member(snapshot_state, "spec"); }

}  // namespace tune
