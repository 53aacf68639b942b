// Loop: what somebody asks of the running driver by hand. What is answered has been recorded or
// will happen without further doubt.
#include "tuner/loop/loop.h"

namespace tune {

namespace {

constexpr const char* stopped_by_hand = "stopped by the user (tune stop)";

ControlAnswer refused(std::string sentence) { return {false, std::move(sentence), {}}; }

std::string trials(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " running trial" : " running trials");
}

}  // namespace

void Loop::on(const ControlAsked& wakeup) { answer(wakeup.id, obey(wakeup.request)); }

/// All trials have ended, and what is left to do (deleting, say) may take a while.
void Loop::answer_on_leaving() {
  using Kind = ControlRequest::Kind;
  for (const auto& wakeup : wakeups_) {
    const auto* const asked = std::get_if<ControlAsked>(&wakeup);
    if (asked == nullptr) continue;
    const bool is_granted = asked->request.kind != Kind::checkpoint && !asked->request.trial;
    answer(asked->id, {is_granted, "no trial runs; the driver is leaving", {}});
  }
}

void Loop::answer(ControlId id, ControlAnswer answer) {
  after_write([this, id, answer = std::move(answer)] { executor_.answer(id, answer); });
}

ControlAnswer Loop::obey(const ControlRequest& request) {
  using Kind = ControlRequest::Kind;
  if (request.kind == Kind::pause) return pause_by_hand();
  if (winding_ == Winding::interrupted) {
    return refused("the driver is leaving already (" + interrupt_reason_ +
                   "): its trials are being saved");
  }
  if (request.trial && index_of(*request.trial) >= ledger_.experiment().trials().size()) {
    return refused("there is no " + to_string(*request.trial) + " yet");
  }
  if (request.trial && is_final(trial(*request.trial).state)) {
    return refused(to_string(*request.trial) + " has ended already: it is " +
                   to_string(trial(*request.trial).state));
  }
  if (request.kind == Kind::checkpoint) return save_by_hand(request.trial);
  return request.trial ? stop_by_hand(*request.trial) : stop_by_hand();
}

ControlAnswer Loop::stop_by_hand() {
  if (winding_ == Winding::stopping) {
    return {true, "the experiment is ending already: " + ledger_.experiment().stop_reason(), {}};
  }
  ControlAnswer answer{true, {}, {}};
  for (const auto& [id, attempt] : attempts_) answer.trials.push_back(id);
  answer.sentence = "the experiment ends: " + trials(attempts_.size()) +
                    (attempts_.empty() ? "" : ", each with its next result");
  request_stop(stopped_by_hand);
  return answer;
}

ControlAnswer Loop::stop_by_hand(TrialId id) {
  Attempt* const attempt = find_attempt(id);
  if (attempt != nullptr && attempt->stop_asked) {
    return {true, to_string(id) + " is ending already", {id}};
  }
  const char* what = " ends with its next result";
  if (attempt == nullptr) {
    what = " has ended; it was not running";
  } else if (!attempt->has_result) {
    what = " ends";
  }
  stop_trial(id, stopped_by_hand);
  return {true, to_string(id) + what, {id}};
}

ControlAnswer Loop::pause_by_hand() {
  if (winding_ == Winding::stopping) {
    return refused("the experiment is ending: " + ledger_.experiment().stop_reason());
  }
  ControlAnswer answer{true, {}, {}};
  for (const auto& [id, attempt] : attempts_) answer.trials.push_back(id);
  answer.sentence = "the driver leaves once " + trials(attempts_.size()) + " are saved";
  if (winding_ == Winding::no) interrupt("paused by the user (tune pause)");
  return answer;
}

ControlAnswer Loop::save_by_hand(std::optional<TrialId> only) {
  ControlAnswer answer{true, {}, {}};
  bool has_functions = false;
  for (auto& [id, attempt] : attempts_) {
    if ((only && id != *only) || attempt.ending) continue;
    const TrialProcess* const process = attempt.process ? find_process(*attempt.process) : nullptr;
    if (process != nullptr && process->is_function) {
      has_functions = true;
      continue;
    }
    attempt.save_asked = true;
    answer.trials.push_back(id);
  }
  if (!answer.trials.empty()) {
    answer.sentence = trials(answer.trials.size()) + " saved at the next result";
    return answer;
  }
  if (has_functions) {
    return refused("the trainable is a function, which saves by itself and cannot be asked to");
  }
  return refused(only ? to_string(*only) + " does not run" : "no trial runs");
}

}  // namespace tune
