// The order of precedence for the next launch, and the words for what is awaited when there is
// none.
#include "tuner/run/commit/next_trial.h"

#include <algorithm>
#include <cmath>

#include "tuner/base/count_of.h"
#include "tuner/base/error.h"

namespace tune {

NextTrial::NextTrial(EventCommitter& committer, Policies& policies, std::string start_checkpoint,
                     std::set<TrialId> only, std::function<void()> on_added)
    : committer_(committer),
      policies_(policies),
      start_checkpoint_(std::move(start_checkpoint)),
      only_(std::move(only)),
      on_added_(std::move(on_added)),
      retry_at_(never_s) {
  for (const auto& [place, id] : committer_.experiment().pending()) {
    if (trial(id).not_before > 0) delayed_.insert({trial(id).not_before, id});
  }
}

void NextTrial::forget_last_look() {
  nothing_left_ = false;
  retry_at_ = never_s;
}

std::optional<NextTrial::Choice> NextTrial::choose(bool anything_runs) {
  const Experiment& experiment = committer_.experiment();
  const Seconds now = committer_.now();
  if (!only_.empty()) return choose_named(now, anything_runs);
  // Until there is one: the scheduler may stop a new trial before it starts.
  for (;;) {
    if (const auto chosen = ask_scheduler(now, true)) return chosen;
    wait_for_retries(now);
    const TrialId id{static_cast<std::uint32_t>(experiment.trials().size())};
    ask_searcher(id, true);
    auto answer = policies_.searcher.answer(id);
    searcher_thinks_ = !answer;
    if (!answer) return std::nullopt;
    if (const auto* const resume = std::get_if<Resume>(&*answer)) {
      if (can_go_on(resume->trial, now)) return Choice{resume->trial, true};
      policies_.searcher.pass_over();
      answer = NothingNow{};
    }
    auto* const suggestion = std::get_if<Suggestion>(&*answer);
    searcher_is_dry_ = suggestion == nullptr;
    if (suggestion == nullptr) {
      if (const auto chosen = ask_scheduler(now, false)) return chosen;
      nothing_left_ = !anything_runs && retry_at_ == never_s;
      searcher_waits_ = std::holds_alternative<NothingNow>(*answer);
      return std::nullopt;
    }
    add(std::move(*suggestion), false);
    if (!is_final(trial(id).state)) return Choice{id};
  }
}

bool NextTrial::can_go_on(TrialId id, Seconds now) const {
  const Experiment& experiment = committer_.experiment();
  if (index_of(id) >= experiment.trials().size()) {
    throw user_error("the searcher asks for what is not possible, that " + to_string(id) +
                     " goes on, which there is not; the run was ended, and what was recorded "
                     "before is kept");
  }
  return is_waiting(id) && experiment.may_start(id, now);
}

bool NextTrial::is_waiting(TrialId id) const {
  return trial(id).state == TrialState::pending || trial(id).state == TrialState::paused;
}

void NextTrial::add(Suggestion suggestion, bool by_hand) {
  const TrialId id{static_cast<std::uint32_t>(committer_.experiment().trials().size())};
  committer_.commit(TrialAdded{id, config_of(id, std::move(suggestion.config)),
                               std::move(suggestion.tag), start_checkpoint_, by_hand});
  on_added_();
}

std::optional<NextTrial::Choice> NextTrial::ask_scheduler(Seconds now, bool more) const {
  const Experiment& experiment = committer_.experiment();
  const auto chosen = policies_.scheduler->choose(experiment, now, more);
  if (!chosen) return std::nullopt;
  const bool is_known = index_of(*chosen) < experiment.trials().size();
  const bool waits = is_known && is_waiting(*chosen);
  if (waits && experiment.may_start(*chosen, now)) return Choice{*chosen};
  throw scheduler_fault("the start of " + to_string(*chosen) + ", which " +
                        (!is_known ? "there is not"
                         : waits   ? "has to wait yet"
                                   : std::string("is ") + to_string(trial(*chosen).state)));
}

void NextTrial::wait_for_retries(Seconds now) {
  for (; !delayed_.empty(); delayed_.erase(delayed_.begin())) {
    const auto [at, id] = *delayed_.begin();
    const bool waits = trial(id).state == TrialState::pending && trial(id).not_before == at;
    if (!waits || at <= now || at > now + Experiment::longest_backoff_s) continue;
    retry_at_ = std::min(retry_at_, at);
    return;
  }
}

/// If it may take long: its answer comes with a later turn.
void NextTrial::ask_searcher(TrialId next, bool needed) {
  while (const auto asked = policies_.searcher.to_ask(next, needed)) {
    committer_.commit(SuggestionAsked{*asked});
  }
}

void NextTrial::look_ahead() {
  if (!only_.empty()) return;
  ask_searcher(TrialId(static_cast<std::uint32_t>(committer_.experiment().trials().size())), false);
}

/// The user has chosen, no policy is asked.
std::optional<NextTrial::Choice> NextTrial::choose_named(Seconds now, bool anything_runs) {
  const Experiment& experiment = committer_.experiment();
  for (const auto* const queue : {&experiment.pending(), &experiment.paused()}) {
    for (const auto& [place, id] : *queue) {
      if (!only_.contains(id)) continue;
      if (experiment.may_start(id, now)) return Choice{id};
      retry_at_ = std::min(retry_at_, trial(id).not_before);
    }
  }
  nothing_left_ = !anything_runs && retry_at_ == never_s;
  return std::nullopt;
}

std::vector<TrialId> NextTrial::held() const {
  std::vector<TrialId> held;
  for (const auto& [place, id] : committer_.experiment().paused()) {
    if (trial(id).held) held.push_back(id);
  }
  return held;
}

std::size_t NextTrial::waiting() const {
  constexpr std::size_t very_many = 1'000'000;
  const Experiment& experiment = committer_.experiment();
  const Seconds now = committer_.now();
  if (!only_.empty()) {
    return static_cast<std::size_t>(std::count_if(only_.begin(), only_.end(), [&](TrialId id) {
      return is_waiting(id) && experiment.may_start(id, now);
    }));
  }
  std::size_t later = 0;
  for (auto each = delayed_.rbegin(); each != delayed_.rend() && each->first > now; ++each) {
    const Trial& delayed = trial(each->second);
    if (delayed.state == TrialState::pending && delayed.not_before == each->first) ++later;
  }
  std::size_t waiting = experiment.pending().size() - std::min(later, experiment.pending().size());
  if (!searcher_is_dry_) {
    const auto total = policies_.total_trials(experiment);
    waiting += total ? *total - experiment.trials().size() : very_many;
  }
  if (waiting > 0) return waiting;
  // Of those that are paused only the scheduler knows.
  return ask_scheduler(now, false) ? 1 : 0;
}

std::string NextTrial::waits_for() const {
  if (retry_at_ != never_s) {
    const Seconds left_s = std::max(retry_at_ - committer_.now(), 0.0);
    return "the next try of a trial that has failed, in " +
           std::to_string(static_cast<long>(std::ceil(left_s))) + " s";
  }
  if (!only_.empty()) return "";
  if (searcher_thinks_) return "the searcher, which is thinking about the next config";
  if (searcher_waits_) return "the searcher, which waits for results";
  const Experiment& experiment = committer_.experiment();
  const auto held = this->held();
  const std::size_t waiting =
      experiment.pending().size() + experiment.paused().size() - held.size();
  if (waiting > 0) {
    return "the scheduler, which lets " + count_of(waiting, "trial wait", "trials wait");
  }
  if (held.empty()) return "";
  return count_of(held.size(), "trial that was", "trials that were") +
         " paused by hand (tune unpause)";
}

std::vector<std::string> NextTrial::what_waits() const {
  std::vector<std::string> sentences;
  if (!only_.empty()) return sentences;  // the others were not to run
  if (searcher_waits_) {
    sentences.emplace_back(
        "the searcher waits for results, but no trial is left that could give one");
  }
  const Experiment& experiment = committer_.experiment();
  std::string held;
  const auto all_held = this->held();
  for (const TrialId id : all_held) held += " --trial " + std::to_string(index_of(id));
  const std::size_t waiting =
      experiment.pending().size() + experiment.paused().size() - all_held.size();
  if (!held.empty()) {
    sentences.push_back(
        "nothing is left to run but what was paused by hand; to go on with it: "
        "tune resume with" +
        held);
  }
  if (waiting > 0) {
    const std::string why = policies_.scheduler->why_left(experiment);
    const std::string otherwise =
        std::string("the scheduler would go on only after results of ") +
        (held.empty() ? "new trials, and there are no more"
                      : "what was paused by hand, or of new trials; once there are some, tune "
                        "resume goes on with all");
    sentences.push_back(std::to_string(waiting) + (waiting == 1 ? " trial is" : " trials are") +
                        " left waiting: " + (why.empty() ? otherwise : why));
  }
  return sentences;
}

}  // namespace tune
