#include "tuner/loop/conversation.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "tuner/core/error.h"

namespace tune {

namespace {

std::string show(Seconds seconds) { return std::to_string(static_cast<long>(seconds)) + " s"; }

}  // namespace

Conversation::Heard Conversation::hear(const Launched& wakeup) {
  Member& launched = member(wakeup.launch);
  launched.pid = wakeup.pid;
  launched.start_ticks = wakeup.start_ticks;
  if (&launched == &members_.front()) log_begin_ = wakeup.stderr_begin;
  return Started{wakeup.pid, wakeup.start_ticks};
}

Conversation::Heard Conversation::hear(const LaunchFailed& wakeup) {
  return remove(wakeup.launch, {.how = Gone::How::not_launched,
                                .reason = wakeup.reason,
                                .is_trials_fault = wakeup.is_trials_fault});
}

Conversation::Heard Conversation::hear(const Greeted& wakeup) {
  const auto& hello = wakeup.hello;
  if (state_ != State::launching || member(wakeup.launch).has_answered) {
    return out_of_turn("it said hello twice");
  }
  is_function_ = hello.api == protocol::Api::function_api;
  can_save_ = hello.can_save;
  can_reset_ = hello.can_reset;
  if (!all_have_answered(wakeup.launch)) return {};
  say_start(false);
  start_.reset();
  was_told_ = true;
  wait_for(State::ready, never_s);
  return Ready{};
}

Conversation::Heard Conversation::hear(const Refused& wakeup) {
  if (is_being_reset() && !member(wakeup.launch).has_answered) return replace(Urge::asked);
  return out_of_turn("it refused a reset that it was not asked for");
}

/// Whatever is wrong with processes that have trained another trial is no fault of this one before
/// its first result.
Conversation::Heard Conversation::replace(Urge urge) {
  state_ = State::replacing;
  urge_all(urge);
  return Replaced{};
}

Conversation::Heard Conversation::hear(Reported& wakeup) {
  if (state_ != State::stepping || member(wakeup.launch).has_answered) {
    return out_of_turn("it reported a result without having been told to step");
  }
  if (const auto other = other_answer(wakeup.iteration); !other.empty()) return out_of_turn(other);
  const LaunchId from = wakeup.launch;
  const bool is_first = from == members_.front().id;
  if (!all_have_answered(from)) {
    if (is_first) reported_ = std::move(wakeup);
    return {};
  }
  start_.reset();
  specs_.clear();
  wait_for(State::ready, never_s);
  return Stepped{is_first ? std::move(wakeup) : *std::exchange(reported_, std::nullopt)};
}

Conversation::Heard Conversation::hear(const SaveAnswered& wakeup) {
  if (state_ != State::saving || member(wakeup.launch).has_answered) {
    return out_of_turn("it said saved without having been asked");
  }
  if (const auto other = other_answer(wakeup.iteration); !other.empty()) return out_of_turn(other);
  if (!save_error_) save_error_ = wakeup.error;
  if (!all_have_answered(wakeup.launch)) return {};
  wait_for(State::ready, never_s);
  return Saved{std::exchange(save_error_, std::nullopt)};
}

Conversation::Heard Conversation::hear(const Faulted& wakeup) { return out_of_turn(wakeup.reason); }

/// Mostly the process is about to exit, and its exit says more.
Conversation::Heard Conversation::hear(const Disconnected& wakeup) {
  member(wakeup.launch);
  is_disconnected_ = true;
  if (is_spoken_to() || state_ == State::idle) {
    set_deadline(std::min(deadline_, link_.steady() + patience_.leave_s));
  }
  return {};
}

Conversation::Heard Conversation::hear(const Exited& wakeup) {
  return remove(wakeup.launch,
                {.how = Gone::How::exited, .exit_code = wakeup.exit_code, .signal = wakeup.signal});
}

Conversation::Heard Conversation::be_late() {
  set_deadline(never_s);
  switch (state_) {
    case State::none:
    case State::lost:
      return {};
    case State::idle:
      leave(Urge::terminated);
      return {};
    case State::leaving:
    case State::replacing:
      if (urge_ != Urge::killed) {
        urge_all(urge_ == Urge::asked ? Urge::terminated : Urge::killed);
        return {};
      }
      state_ = State::lost;
      return Gone{.how = Gone::How::lost,
                  .reason = "process " + std::to_string(members_.front().pid) +
                            " does not end, killed or not, and keeps what it holds",
                  .was_told = was_told_};
    default:
      break;
  }
  if (is_being_reset()) return replace(Urge::terminated);
  if (is_disconnected_) return Overdue{"it closed its connection and lived on"};
  if (state_ == State::launching) {
    return Overdue{"it did not say hello within " + show(patience_.launch_s) +
                   " (launch_timeout_s): does it speak the protocol of docs/protocol.md? If not, "
                   "put \"plain\": {} beside its command (docs/plain.md)"};
  }
  return Overdue{"it said nothing for " + show(patience_.answer_s.value_or(patience_.leave_s)) +
                 " (trial_timeout_s)"};
}

void Conversation::begin(std::vector<LaunchSpec> specs, protocol::Start start) {
  ensure(!specs.empty(), "an attempt has a process");
  specs_ = std::move(specs);
  start_ = std::move(start);
  switch (state_) {
    case State::none:
      launch();
      break;
    case State::idle:
      // Its output goes to the files of its new trial, behind what may be there.
      log_ = specs_.front().stderr_path;
      log_begin_ = 0;
      say_start(true);
      wait_for(State::ready, never_s);
      break;
    default:
      ensure(state_ == State::leaving, "an attempt is begun once");
      state_ = State::replacing;
  }
}

void Conversation::say_start(bool reset) {
  for (std::size_t rank = 0; rank < members_.size(); ++rank) {
    // The last one that is not to be said again takes it along.
    const bool is_last = !reset && rank + 1 == members_.size();
    protocol::Start start = is_last ? std::move(*start_) : *start_;
    start.rank = static_cast<int>(rank);
    start.world_size = static_cast<int>(members_.size());
    start.reset = reset;
    link_.send(members_[rank].id, std::move(start));
  }
}

void Conversation::launch() {
  urge_ = Urge::none;
  is_disconnected_ = false;
  was_told_ = false;
  echoes_ = false;
  first_end_.reset();
  reported_.reset();
  log_ = specs_.front().stderr_path;
  log_begin_ = 0;
  for (LaunchSpec& spec : specs_) members_.push_back({.id = link_.launch(*this, std::move(spec))});
  specs_.clear();
  wait_for(State::launching, patience_.launch_s);
}

void Conversation::step(std::int64_t iteration) {
  ask(State::stepping, iteration, protocol::Step{iteration});
}

void Conversation::save(const std::filesystem::path& directory, std::int64_t iteration) {
  ask(State::saving, iteration, protocol::Save{directory.string(), iteration});
}

void Conversation::ask(State state, std::int64_t iteration, const protocol::Command& command) {
  ensure(state_ == State::ready, "who is asked for something has answered");
  for (const Member& each : members_) link_.send(each.id, command);
  asked_ = iteration;
  told_at_ = link_.steady();
  wait_for(state, patience_.answer_s.value_or(never_s));
}

void Conversation::park() {
  ensure(state_ == State::ready, "who is kept has answered");
  wait_for(State::idle, never_s);
}

void Conversation::go_on() {
  ensure(state_ == State::idle, "who goes on has waited");
  wait_for(State::ready, never_s);
}

void Conversation::leave(Urge urge) {
  // What it was to become is not to be any more.
  if (state_ == State::replacing) state_ = State::leaving;
  specs_.clear();
  start_.reset();
  if (members_.empty() || state_ == State::lost || urge <= urge_) return;
  state_ = State::leaving;
  urge_all(urge);
}

/// Who listens while it trains is told before it is signalled, except in a hurry.
void Conversation::urge_all(Urge urge) {
  const bool is_told = urge_ == Urge::none && urge != Urge::killed;
  urge_ = urge;
  for (const Member& each : members_) {
    if (is_told) link_.send(each.id, protocol::Stop{});
    if (urge == Urge::terminated) link_.signal(each.id, SIGTERM);
    if (urge == Urge::killed) link_.signal(each.id, SIGKILL);
  }
  const Seconds patience = urge == Urge::killed ? patience_.kill_s : patience_.leave_s;
  set_deadline(link_.steady() + patience);
}

void Conversation::hurry(Seconds seconds) {
  set_deadline(std::min(deadline_, link_.steady() + seconds));
}

void Conversation::forgive(Seconds seconds) {
  if (deadline_ != never_s) set_deadline(deadline_ + seconds);
}

Conversation::Started Conversation::first() const {
  if (members_.empty()) return {};
  return {members_.front().pid, members_.front().start_ticks};
}

Conversation::Member& Conversation::member(LaunchId id) {
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [id](const Member& each) { return each.id == id; });
  ensure(found != members_.end(), "a process speaks in its own conversation");
  return *found;
}

/// Something is asked of its processes, or may be.
bool Conversation::is_spoken_to() const {
  return state_ == State::launching || state_ == State::ready || state_ == State::stepping ||
         state_ == State::saving;
}

/// What is wrong with an answer that names `iteration`; empty if nothing is.
std::string Conversation::other_answer(std::optional<std::int64_t> iteration) {
  if (!iteration && echoes_) {
    return "its answer names no iteration, as its answers did before: does it answer twice?";
  }
  echoes_ = iteration.has_value();
  if (!iteration || *iteration == asked_) return "";
  return "it answered iteration " + std::to_string(*iteration) + ", and was asked for iteration " +
         std::to_string(asked_) + ": does it answer twice?";
}

Conversation::Heard Conversation::out_of_turn(const std::string& sentence) {
  if (is_being_reset()) return replace(Urge::terminated);
  if (is_spoken_to()) return Failed{sentence};
  if (state_ == State::idle) leave(Urge::terminated);
  return {};
}

bool Conversation::all_have_answered(LaunchId id) {
  member(id).has_answered = true;
  return std::all_of(members_.begin(), members_.end(),
                     [](const Member& each) { return each.has_answered; });
}

void Conversation::wait_for(State state, Seconds seconds) {
  state_ = state;
  for (Member& each : members_) each.has_answered = false;
  const Seconds limit = is_disconnected_ ? std::min(seconds, patience_.leave_s) : seconds;
  set_deadline(link_.steady() + limit);
}

void Conversation::set_deadline(Seconds deadline) {
  if (deadline == deadline_) return;
  const Seconds before = std::exchange(deadline_, deadline);
  link_.remind(*this, before);
}

/// One is gone: alone, the others have nothing to do.
Conversation::Heard Conversation::remove(LaunchId id, Gone gone) {
  members_.erase(members_.begin() + (&member(id) - members_.data()));
  link_.forget(id);
  gone.was_told = was_told_;
  if (!first_end_) first_end_ = std::move(gone);
  const bool was_being_reset = is_being_reset();
  if (was_being_reset) state_ = State::replacing;
  if (!members_.empty()) {
    if (state_ != State::lost && urge_ < Urge::terminated) {
      if (state_ != State::replacing) state_ = State::leaving;
      urge_all(Urge::terminated);
    }
    return {};
  }
  set_deadline(never_s);
  if (state_ == State::replacing) {
    launch();
    return was_being_reset ? Heard(Replaced{}) : Heard();
  }
  state_ = State::none;
  return *first_end_;
}

const char* to_string(Conversation::State state) {
  switch (state) {
    case Conversation::State::none:
      return "none";
    case Conversation::State::launching:
      return "launching";
    case Conversation::State::replacing:
      return "replacing";
    case Conversation::State::ready:
      return "ready";
    case Conversation::State::stepping:
      return "stepping";
    case Conversation::State::saving:
      return "saving";
    case Conversation::State::idle:
      return "idle";
    case Conversation::State::leaving:
      return "leaving";
    case Conversation::State::lost:
      return "lost";
  }
  return "";
}

}  // namespace tune
