// One function for each request of a user; each checks, acts through the loop's parts, and answers
// in a sentence.
#include "tuner/run/control_handler.h"

#include "tuner/base/count_of.h"
#include "tuner/base/error.h"
#include "tuner/run/loop.h"
#include "tuner/run/trials/launch.h"

namespace tune {

namespace {

ControlAnswer refused(std::string sentence) { return {false, std::move(sentence), {}, {}}; }

/// Of a program that keeps nothing.
constexpr const char* begins_anew =
    "; the program has no checkpoints (${checkpoint_dir}), so what pauses begins anew later";

std::string trials(std::size_t count) { return count_of(count, "running trial"); }

/// What its hello promises, its first result shows: a function may report without a way to save. A
/// plain program has neither.
bool saves_when_told(const Attempt& attempt, const ExperimentSpec& spec) {
  if (spec.plain) return false;
  return attempt.has_result ? attempt.can_save : attempt.worker_group->can_save();
}

}  // namespace

ControlAnswer ControlHandler::answer_on_leaving(const ControlRequest& request) {
  using Kind = ControlRequest::Kind;
  const bool is_granted =
      (request.kind == Kind::stop || request.kind == Kind::pause) && !request.trial;
  return {is_granted, "no trial runs; the driver is leaving", {}};
}

ControlAnswer ControlHandler::handle(const ControlRequest& request) {
  using Kind = ControlRequest::Kind;
  if (request.kind == Kind::pause && !request.trial) return pause();
  if (request.kind == Kind::waits && request.trial) return waits(*request.trial);
  if (request.kind == Kind::waits) return waits();
  const ShutdownState& shutdown = loop_.shutdown();
  if (shutdown.kind == ShutdownState::Kind::interrupted) {
    return refused("the driver is leaving already (" + shutdown.reason +
                   (can_keep_state(loop_.spec()) ? "): its trials are being saved"
                                                 : "): its trials are being ended"));
  }
  if (request.kind == Kind::set) return set(request.fields);
  if (request.kind == Kind::add) return add(request.fields);
  const Trials& all = loop_.experiment().trials();
  if (request.trial && index_of(*request.trial) >= all.size()) {
    return refused("there is no " + to_string(*request.trial) + " yet");
  }
  if (request.trial && is_final(all[index_of(*request.trial)].state)) {
    return refused(to_string(*request.trial) + " has ended already: it is " +
                   to_string(all[index_of(*request.trial)].state));
  }
  if (request.trial && request.kind != Kind::stop && is_ending(*request.trial)) {
    return refused(to_string(*request.trial) + " is ending already");
  }
  if (request.kind == Kind::checkpoint) return save(request.trial);
  if (request.kind == Kind::pause) return pause(*request.trial);
  if (request.kind == Kind::unpause) return unpause(*request.trial);
  return request.trial ? stop(*request.trial) : stop();
}

std::vector<TrialId> ControlHandler::running() const {
  std::vector<TrialId> ids;
  for (const auto& [id, attempt] : loop_.attempts()) ids.push_back(id);
  return ids;
}

ControlAnswer ControlHandler::stop() {
  if (loop_.shutdown())
    return {true, "the experiment is ending already: " + loop_.shutdown().reason, {}};
  ControlAnswer answer{true, {}, running()};
  answer.sentence = "the experiment ends: " + trials(answer.trials.size()) +
                    (answer.trials.empty()          ? ""
                     : can_keep_state(loop_.spec()) ? ", each saved with its next result"
                                                    : ", each with its next result");
  loop_.request_stop(std::string(stopped_by_user));
  return answer;
}

ControlAnswer ControlHandler::stop(TrialId id) {
  const auto found = loop_.attempts().find(id);
  const bool runs = found != loop_.attempts().end();
  if (runs && found->second.stop_asked) {
    return {true, to_string(id) + " is ending already", {id}};
  }
  const Trial& trial = loop_.experiment().trial(id);
  std::string what = !runs                      ? " has ended; it was not running"
                     : found->second.has_result ? " ends with its next result"
                                                : " ends";
  if (runs && !found->second.has_result && trial.iteration < trial.counted_iteration) {
    what += " at iteration " + std::to_string(trial.iteration) + ", from where it had gone on; " +
            "what it had reported up to iteration " + std::to_string(trial.counted_iteration) +
            " was taken back";
  }
  loop_.stop_trial(id, std::string(stopped_by_user));
  return {true, to_string(id) + what, {id}};
}

ControlAnswer ControlHandler::pause() {
  if (loop_.shutdown().kind == ShutdownState::Kind::stopping) {
    return refused("the experiment is ending: " + loop_.shutdown().reason);
  }
  ControlAnswer answer{true, {}, running()};
  answer.sentence =
      can_keep_state(loop_.spec())
          ? "the driver leaves once " +
                count_of(answer.trials.size(), "running trial is", "running trials are") + " saved"
          : "the driver leaves once " +
                count_of(answer.trials.size(), "running trial has", "running trials have") +
                " come to the next result" + (answer.trials.empty() ? "" : begins_anew);
  if (!loop_.shutdown()) loop_.interrupt("paused by the user (tune pause)");
  return answer;
}

ControlAnswer ControlHandler::pause(TrialId id) {
  if (loop_.shutdown()) return refused("the experiment is ending: " + loop_.shutdown().reason);
  if (loop_.experiment().trial(id).held) {
    return {true, to_string(id) + " is paused already", {id}};
  }
  const auto found = loop_.attempts().find(id);
  const bool runs = found != loop_.attempts().end();
  const char* const what = !runs ? " is paused; it was not running"
                           : found->second.life.is_ending()
                               ? " is paused; its program is on its way out already"
                           : loop_.spec().plain ? " pauses with its next result"
                           : !saves_when_told(found->second, loop_.spec())
                               ? " pauses with the next checkpoint that it hands over"
                               : " is saved with its next result, and pauses";
  const bool is_lost =
      !can_keep_state(loop_.spec()) && (runs || loop_.experiment().trial(id).attempt);
  loop_.hold(id);
  return {true, to_string(id) + what + (is_lost ? begins_anew : ""), {id}};
}

/// It has been told to stop, or its last result has come: it neither pauses nor goes on.
bool ControlHandler::is_ending(TrialId id) const {
  const auto found = loop_.attempts().find(id);
  const bool is_told = found != loop_.attempts().end() && found->second.stop_asked.has_value();
  return is_told || loop_.experiment().trial(id).stopping;
}

ControlAnswer ControlHandler::unpause(TrialId id) {
  if (loop_.shutdown()) return refused("the experiment is ending: " + loop_.shutdown().reason);
  const Trial& trial = loop_.experiment().trial(id);
  if (!trial.held) {
    return refused(to_string(id) + (trial.state == TrialState::paused
                                        ? " was paused by the scheduler, which says when it goes on"
                                        : " is not paused"));
  }
  const bool runs = trial.state == TrialState::running;
  const bool is_lost =
      !runs && trial.iteration > 0 && loop_.experiment().restore_point(id).second == nullptr;
  const std::string anew =
      is_lost ? " begins anew as soon as there is room for it: it has no checkpoint, and its " +
                    count_of(static_cast<std::uint64_t>(trial.iteration), "iteration is",
                             "iterations are") +
                    " trained again"
              : "";
  loop_.release(id);
  return {true,
          to_string(id) + (runs           ? " goes on; it had not paused yet"
                           : anew.empty() ? " goes on as soon as there is room for it"
                                          : anew),
          {id}};
}

ControlAnswer ControlHandler::add(const Json& config) {
  if (loop_.shutdown()) return refused("the experiment is ending: " + loop_.shutdown().reason);
  try {
    const TrialId id = loop_.add(config);
    return {true,
            to_string(id) + " is added, and runs as soon as there is room for it: " +
                loop_.experiment().trial(id).config.text(),
            {id}};
  } catch (const Error& error) {
    return refused(error.what());
  }
}

ControlAnswer ControlHandler::set(const Json& fields) {
  if (loop_.shutdown()) return refused("the experiment is ending: " + loop_.shutdown().reason);
  try {
    return {true, loop_.change(fields), {}};
  } catch (const Error& error) {
    return refused(error.what());
  }
}

ControlAnswer ControlHandler::waits() const {
  ControlAnswer answer{true, loop_.waits_for(), {}};
  for (TrialHang& hang : loop_.hangs()) {
    answer.trials.push_back(hang.trial);
    answer.notices.push_back(std::move(hang.sentence));
  }
  answer.said = loop_.last_notices();
  answer.left_out = loop_.left_out();
  return answer;
}

ControlAnswer ControlHandler::waits(TrialId id) const {
  const auto found = loop_.attempts().find(id);
  if (found == loop_.attempts().end()) return refused(to_string(id) + " does not run");
  const Attempt& attempt = found->second;
  const WorkerGroup& worker_group = *attempt.worker_group;
  const bool has_begun = attempt.life.state() != AttemptState::preparing;
  Seconds since = worker_group.told_at();
  std::string what;
  switch (worker_group.state()) {
    case WorkerGroup::State::launching:
      what = "a hello";
      since = attempt.began_at;
      break;
    case WorkerGroup::State::stepping:
      what =
          "the result of iteration " + std::to_string(loop_.experiment().trial(id).iteration + 1);
      break;
    case WorkerGroup::State::saving:
      what = "a save";
      break;
    default:
      if (has_begun) return {true, "", {id}};
      what = "its checkpoint";
      since = attempt.began_at;
      break;
  }
  const std::string late = has_begun ? worker_group.late() : "";
  return {true,
          what + (late.empty() ? "" : " from " + late) + ", for " +
              std::to_string(static_cast<std::int64_t>(loop_.steady() - since)) + " s",
          {id}};
}

ControlAnswer ControlHandler::save(std::optional<TrialId> only) {
  ControlAnswer answer{true, {}, {}};
  bool has_functions = false;
  bool has_leaving = false;
  for (const auto& [id, attempt] : loop_.attempts()) {
    if (only && id != *only) continue;
    if (attempt.life.is_ending()) {
      has_leaving = true;
      continue;
    }
    if (!saves_when_told(attempt, loop_.spec())) {
      has_functions = true;
      continue;
    }
    loop_.ask_save(id);
    answer.trials.push_back(id);
  }
  if (!answer.trials.empty()) {
    answer.sentence = count_of(answer.trials.size(), "running trial is", "running trials are") +
                      " saved at the next result";
    return answer;
  }
  if (has_functions && loop_.spec().plain) {
    return refused("the program saves by itself, and cannot be asked to");
  }
  if (has_functions) {
    return refused("the trainable is a function, which saves by itself and cannot be asked to");
  }
  if (has_leaving) {
    return refused((only ? to_string(*only) : std::string("whatever runs")) +
                   " is on its way out already");
  }
  return refused(only ? to_string(*only) + " does not run" : "no trial runs");
}

}  // namespace tune
