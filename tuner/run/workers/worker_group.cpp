// The state machine: what each message, end and deadline comes to in each state.
#include "tuner/run/workers/worker_group.h"

#include <algorithm>
#include <csignal>
#include <stdexcept>
#include <utility>

#include "tuner/base/decimal.h"
#include "tuner/base/error.h"

namespace tune {

namespace {

std::string show(Seconds seconds) {
  std::string text;
  append_decimal(text, seconds);
  return text + " s";
}

}  // namespace

WorkerGroup::WorkerEvent WorkerGroup::on_wakeup(const Launched& wakeup) {
  RankProcess& launched = ranks_.at(wakeup.launch);
  launched.pid = wakeup.pid;
  launched.start_ticks = wakeup.start_ticks;
  launched.log_begin = wakeup.stderr_begin;
  launched.runs = true;
  // What it has waited for before is the machine's time: others were started, modules loaded.
  if (state_ == State::launching && !ranks_.is_hung_up()) {
    set_deadline(transport_.steady() + timeouts_.launch_s);
  }
  if (launched.number() != 0) return {};
  failure_.first_runs(wakeup.stderr_begin);
  return Started{wakeup.pid, wakeup.start_ticks};
}

WorkerGroup::WorkerEvent WorkerGroup::on_wakeup(const LaunchFailed& wakeup) {
  return remove(wakeup.launch, {.how = Gone::How::not_launched,
                                .reason = wakeup.reason,
                                .is_trials_fault = wakeup.is_trials_fault});
}

WorkerGroup::WorkerEvent WorkerGroup::on_wakeup(const Greeted& wakeup) {
  const auto& hello = wakeup.hello;
  RankProcess& speaker = ranks_.at(wakeup.launch);
  if (state_ != State::launching || speaker.has_answered) {
    return unexpected(speaker, speaker.name() + " said hello twice");
  }
  const bool is_function = hello.api == protocol::Api::function_api;
  if (has_greeting_ && is_function != is_function_) {
    return unexpected(speaker, speaker.name() + " is a " + (is_function ? "function" : "class") +
                                   ", and another rank is not");
  }
  note_hello(hello);
  speaker.has_answered = true;
  if (!ranks_.all_have_answered()) return {};
  say_start(false);
  start_.reset();
  was_told_ = true;
  wait_for(State::ready, never_s);
  return Ready{};
}

/// All can what each of them can.
void WorkerGroup::note_hello(const protocol::Hello& hello) {
  const bool is_first = !std::exchange(has_greeting_, true);
  is_function_ = hello.api == protocol::Api::function_api;
  can_save_ = hello.can_save && (is_first || can_save_);
  can_save_at_start_ = hello.can_save_at_start && (is_first || can_save_at_start_);
  can_reset_ = hello.can_reset && (is_first || can_reset_);
  can_stay_ = hello.can_stay && (is_first || can_stay_);
}

WorkerGroup::WorkerEvent WorkerGroup::on_wakeup(const Refused& wakeup) {
  RankProcess& speaker = ranks_.at(wakeup.launch);
  if (is_being_reset() && !speaker.has_answered) return replace(StopLevel::request);
  if (state_ == State::offered) {
    why_not_stayed_ = wakeup.reason;
    withdraw_offer();
    return {};
  }
  return unexpected(speaker, speaker.name() + " refused a reset that it was not asked for");
}

/// One of them does not stay, so none does.
void WorkerGroup::withdraw_offer() {
  state_ = State::leaving;
  for (const RankProcess& each : ranks_) {
    if (!each.is_unmonitored) transport_.send(each.id, protocol::Stop{});
  }
}

/// Whatever is wrong with processes that have trained another trial is no fault of this one before
/// its first result.
WorkerGroup::WorkerEvent WorkerGroup::replace(StopLevel stop_level) {
  state_ = State::replacing;
  stop_all(stop_level);
  return Replaced{};
}

WorkerGroup::WorkerEvent WorkerGroup::on_wakeup(Reported& wakeup) {
  RankProcess& speaker = ranks_.at(wakeup.launch);
  if (state_ == State::offered) {
    speaker.has_answered = speaker.has_answered || wakeup.stays;
    if (!ranks_.all_have_answered()) return {};
    stop_level_ = StopLevel::none;
    wait_for(State::idle, never_s);
    return Stayed{};
  }
  if (state_ != State::stepping || speaker.has_answered) {
    return unexpected(speaker,
                      speaker.name() + " reported a result without having been told to step");
  }
  if (const auto other = RankSet::wrong_iteration(speaker, wakeup.iteration, asked_);
      !other.empty()) {
    return unexpected(speaker, other);
  }
  if (!ranks_.note_reported(speaker, std::move(wakeup))) {
    return unexpected(speaker, "what its ranks have reported of iteration " +
                                   std::to_string(asked_) + " up to " + speaker.name() +
                                   " is more than 16 MiB, and all of it is one result");
  }
  return ranks_.all_have_answered() ? end_of_step() : WorkerEvent();
}

WorkerGroup::WorkerEvent WorkerGroup::end_of_step() {
  if (const auto disagrees = ranks_.disagreement()) {
    return unexpected(*disagrees->who, disagrees->sentence);
  }
  Reported whole;
  try {
    whole = ranks_.take_result();
  } catch (const std::invalid_argument& error) {
    return unexpected(ranks_.front(), std::string("its metrics, ") + error.what());
  }
  start_.reset();
  specs_.clear();
  is_done_ = whole.done;
  wait_for(State::ready, never_s);
  return Stepped{std::move(whole)};
}

WorkerGroup::WorkerEvent WorkerGroup::on_wakeup(const SaveAnswered& wakeup) {
  RankProcess& speaker = ranks_.at(wakeup.launch);
  if (state_ != State::saving || speaker.has_answered) {
    return unexpected(speaker, speaker.name() + " said saved without having been asked");
  }
  if (const auto other = RankSet::wrong_iteration(speaker, wakeup.iteration, asked_);
      !other.empty()) {
    return unexpected(speaker, other);
  }
  speaker.has_answered = true;
  speaker.saved = {speaker.number(), transport_.steady() - told_at_, wakeup.bytes, speaker.load_s};
  if (!save_error_ && wakeup.error) save_error_ = speaker.prefix() + *wakeup.error;
  return ranks_.all_have_answered() ? end_of_save() : WorkerEvent();
}

WorkerGroup::WorkerEvent WorkerGroup::end_of_save() {
  Saved saved{std::exchange(save_error_, std::nullopt), ranks_.saved_parts()};
  start_.reset();
  specs_.clear();
  wait_for(State::ready, never_s);
  return saved;
}

WorkerGroup::WorkerEvent WorkerGroup::on_wakeup(const Faulted& wakeup) {
  RankProcess& speaker = ranks_.at(wakeup.launch);
  return unexpected(speaker, speaker.prefix() + wakeup.reason);
}

/// Of several, the others are on their way out.
WorkerGroup::WorkerEvent WorkerGroup::on_wakeup(const RanToEnd& wakeup) {
  const bool is_asked_alone =
      state_ == State::leaving && stop_level_ == StopLevel::request && ranks_.size() == 1;
  if (!is_asked_alone) {
    transport_.send(wakeup.launch, protocol::Stop{});
    return {};
  }
  stop_level_ = StopLevel::none;
  wait_for(State::ready, never_s);
  return AtEnd{};
}

/// Mostly the process is about to exit, and its exit says more.
WorkerGroup::WorkerEvent WorkerGroup::on_wakeup(const Disconnected& wakeup) {
  RankProcess& speaker = ranks_.at(wakeup.launch);
  speaker.is_disconnected = true;
  if (is_spoken_to()) failure_.suspect(speaker.id);
  if (!speaker.is_unmonitored && (is_spoken_to() || state_ == State::idle)) {
    set_deadline(std::min(deadline_, transport_.steady() + timeouts_.leave_s));
  }
  return {};
}

WorkerGroup::WorkerEvent WorkerGroup::on_wakeup(const Exited& wakeup) {
  failure_.note_obstacle(wakeup.obstacle);
  return remove(wakeup.launch, {.how = Gone::How::exited,
                                .exit_code = wakeup.exit_code,
                                .signal = wakeup.signal,
                                .memory_kills = wakeup.memory_kills});
}

WorkerGroup::WorkerEvent WorkerGroup::on_wakeup(const Lost& wakeup) {
  return remove(wakeup.launch, {.how = Gone::How::node_lost, .reason = wakeup.reason});
}

WorkerGroup::WorkerEvent WorkerGroup::on_timeout() {
  set_deadline(never_s);
  switch (state_) {
    case State::none:
    case State::lost:
      return {};
    case State::idle:
      leave(StopLevel::sigterm);
      return {};
    case State::offered:
    case State::leaving:
    case State::replacing:
      if (state_ == State::offered) state_ = State::leaving;
      if (stop_level_ != StopLevel::sigkill) {
        stop_all(stop_level_ == StopLevel::request ? StopLevel::sigterm : StopLevel::sigkill);
        return {};
      }
      state_ = State::lost;
      return Gone{.how = Gone::How::lost,
                  .reason = "process " + std::to_string(ranks_.front().pid) +
                            " does not end, killed or not, and keeps what it holds",
                  .was_told = was_told_};
    default:
      break;
  }
  if (is_being_reset()) return replace(StopLevel::sigterm);
  if (const RankProcess* const silent = ranks_.disconnected()) {
    failure_.attribute(*silent);
    return Overdue{silent->name() + " closed its connection and lived on"};
  }
  if (state_ == State::launching && !ranks_.all_run()) {
    set_deadline(transport_.steady() + timeouts_.launch_s);
    return {};
  }
  if (const RankProcess* const first = ranks_.unanswered()) failure_.attribute(*first);
  const std::string late = this->late();
  const std::string who = late.empty() ? "it" : late;
  if (state_ == State::launching) {
    return Overdue{who + " did not say hello within " + show(timeouts_.launch_s) +
                   " (launch_timeout_s): does it speak the protocol of docs/protocol.md? If not, "
                   "put \"plain\": {} beside its command (docs/plain.md)"};
  }
  return Overdue{who + " said nothing for " + show(timeouts_.answer_s.value_or(timeouts_.leave_s)) +
                 " (trial_timeout_s)"};
}

void WorkerGroup::adopt(const Adopted& adopted) {
  ensure(state_ == State::none && !adopted.processes.empty(), "processes are adopted once");
  failure_.begin(adopted.processes.front().spec.stderr_path);
  failure_.first_runs(adopted.processes.front().launched.stderr_begin);
  was_told_ = true;
  for (const Adopted::Process& each : adopted.processes) {
    RankProcess& added = ranks_.add(each.spec);
    added.id = each.launched.launch;
    added.pid = each.launched.pid;
    added.start_ticks = each.launched.start_ticks;
    added.log_begin = each.launched.stderr_begin;
    added.runs = true;
    note_hello(each.hello);
  }
  asked_ = adopted.iteration;
  told_at_ = transport_.steady() - adopted.told_for_s;
  const bool is_asked = adopted.state != State::ready;
  wait_for(adopted.state, is_asked ? timeouts_.answer_s.value_or(never_s) : never_s);
  for (std::size_t i = 0; i < adopted.processes.size(); ++i) {
    if (!is_asked || adopted.processes[i].is_told || ranks_[i].is_unmonitored) continue;
    if (adopted.state == State::stepping) {
      transport_.send(ranks_[i].id, protocol::Step{asked_});
    } else {
      transport_.send(ranks_[i].id, protocol::Save{adopted.directory, asked_});
    }
  }
}

void WorkerGroup::begin(std::vector<LaunchSpec> specs, protocol::Start start) {
  ensure(!specs.empty(), "an attempt has a process");
  specs_ = std::move(specs);
  start_ = std::move(start);
  switch (state_) {
    case State::none:
      launch();
      break;
    case State::idle:
      // Its output goes to the files of its new trial, behind what may be there.
      for (std::size_t i = 0; i < ranks_.size(); ++i) {
        ranks_[i].stdout_log = specs_.at(i).stdout_path;
        ranks_[i].stderr_log = specs_.at(i).stderr_path;
        ranks_[i].log_begin = 0;
      }
      failure_.begin_trial(specs_.front().stderr_path);
      is_done_ = false;
      say_start(true);
      wait_for(State::ready, never_s);
      break;
    default:
      ensure(state_ == State::leaving, "an attempt is begun once");
      state_ = State::replacing;
  }
}

void WorkerGroup::say_start(bool reset) {
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const RankProcess& each = ranks_[i];
    // The last one that is not to be said again takes it along.
    const bool is_last = !reset && i + 1 == ranks_.size();
    protocol::Start start = is_last ? std::move(*start_) : *start_;
    start.reset = reset;
    if (each.rank) {
      start.rank = each.rank->rank;
      start.local_rank = each.rank->local_rank;
      start.world_size = each.rank->world_size;
      start.resources = each.rank->resources;
      start.devices = each.rank->devices;
      start.stdout_log = each.stdout_log.string();
      start.stderr_log = each.stderr_log.string();
    }
    transport_.send(each.id, std::move(start));
  }
}

void WorkerGroup::launch() {
  stop_level_ = StopLevel::none;
  has_greeting_ = false;
  is_done_ = false;
  was_told_ = false;
  failure_.begin(specs_.front().stderr_path);
  ranks_.forget_ended();
  for (LaunchSpec& spec : specs_) {
    if (spec.rank && !ranks_.empty()) spec.rank->first = ranks_.front().id;
    RankProcess& added = ranks_.add(spec);
    added.id = transport_.launch(*this, std::move(spec));
  }
  specs_.clear();
  wait_for(State::launching, timeouts_.launch_s);
}

void WorkerGroup::step(std::int64_t iteration) {
  ask(State::stepping, iteration, protocol::Step{iteration});
}

void WorkerGroup::save(const std::filesystem::path& directory, std::int64_t iteration) {
  ask(State::saving, iteration, protocol::Save{directory.string(), iteration});
}

void WorkerGroup::ask(State state, std::int64_t iteration, const protocol::Command& command) {
  // One of several has gone, the others are on their way, and Gone is yet to come.
  if (state_ == State::leaving) return;
  ensure(state_ == State::ready, "who is asked for something has answered");
  for (const RankProcess& each : ranks_) {
    if (!each.is_unmonitored) transport_.send(each.id, command);
  }
  asked_ = iteration;
  told_at_ = transport_.steady();
  wait_for(state, timeouts_.answer_s.value_or(never_s));
}

void WorkerGroup::keep_idle() {
  ensure(state_ == State::ready, "who is kept has answered");
  start_.reset();
  specs_.clear();
  wait_for(State::idle, never_s);
}

void WorkerGroup::offer(protocol::Stay stay) {
  ensure(state_ == State::ready, "who may stay has answered");
  start_.reset();
  specs_.clear();
  wait_for(State::offered, timeouts_.leave_s);
  stop_level_ = StopLevel::request;
  for (const RankProcess& each : ranks_) {
    if (!each.is_unmonitored) transport_.send(each.id, protocol::Stop{stay});
  }
}

void WorkerGroup::resume() {
  ensure(state_ == State::idle, "who goes on has waited");
  wait_for(State::ready, never_s);
}

void WorkerGroup::leave(StopLevel stop_level) {
  // What it was to become is not to be any more.
  if (state_ == State::replacing) state_ = State::leaving;
  specs_.clear();
  start_.reset();
  if (state_ == State::offered && stop_level == StopLevel::request) return withdraw_offer();
  if (ranks_.empty() || state_ == State::lost || stop_level <= stop_level_) return;
  state_ = State::leaving;
  stop_all(stop_level);
}

/// Who listens while it trains is told before it is signalled, except in a hurry.
void WorkerGroup::stop_all(StopLevel stop_level) {
  const bool is_told = stop_level_ == StopLevel::none && stop_level != StopLevel::sigkill;
  stop_level_ = stop_level;
  for (const RankProcess& each : ranks_) {
    if (is_told && each.hears_stop && !(each.is_unmonitored && is_done_)) {
      transport_.send(each.id, protocol::Stop{});
    }
    if (stop_level == StopLevel::sigterm) transport_.signal(each.id, SIGTERM);
    if (stop_level == StopLevel::sigkill) transport_.signal(each.id, SIGKILL);
  }
  const Seconds timeouts = stop_level == StopLevel::sigkill ? timeouts_.kill_s : timeouts_.leave_s;
  set_deadline(transport_.steady() + timeouts);
}

void WorkerGroup::shorten_deadline(Seconds seconds) {
  set_deadline(std::min(deadline_, transport_.steady() + seconds));
}

void WorkerGroup::extend_deadlines(Seconds seconds) {
  if (deadline_ != never_s) set_deadline(deadline_ + seconds);
}

WorkerGroup::Started WorkerGroup::first() const {
  if (ranks_.empty()) return {};
  return {ranks_.front().pid, ranks_.front().start_ticks};
}

/// Something is asked of its processes, or may be.
bool WorkerGroup::is_spoken_to() const {
  return state_ == State::launching || state_ == State::ready || state_ == State::stepping ||
         state_ == State::saving;
}

WorkerGroup::WorkerEvent WorkerGroup::unexpected(const RankProcess& speaker,
                                                 const std::string& sentence) {
  if (is_being_reset()) return replace(StopLevel::sigterm);
  if (state_ == State::idle) leave(StopLevel::sigterm);
  if (!is_spoken_to()) return {};
  if (failure_.is_of_another(speaker.id)) {
    // What befalls the others when one is gone is no reason: its end is, if that was none in order.
    failure_.note_consequence(speaker, sentence);
    leave(StopLevel::sigterm);
    return {};
  }
  failure_.attribute(speaker);
  return Failed{sentence};
}

void WorkerGroup::wait_for(State state, Seconds seconds) {
  state_ = state;
  ranks_.ask_all(state == State::launching);
  const Seconds limit = ranks_.is_hung_up() ? std::min(seconds, timeouts_.leave_s) : seconds;
  set_deadline(transport_.steady() + limit);
}

void WorkerGroup::set_deadline(Seconds deadline) {
  if (deadline == deadline_) return;
  const Seconds before = std::exchange(deadline_, deadline);
  transport_.remind(*this, before);
}

/// One has left in good order, and the others go on: they have not come so far yet.
WorkerGroup::WorkerEvent WorkerGroup::continue_without(const RankProcess& left) {
  if (!left.is_unmonitored) ranks_.note_ended(left);
  const bool waits = state_ == State::stepping || state_ == State::saving;
  set_deadline(waits ? told_at_ + timeouts_.answer_s.value_or(never_s) : never_s);
  if (state_ == State::stepping && ranks_.all_have_answered()) return end_of_step();
  if (state_ != State::saving) return {};
  if (!left.has_answered && !save_error_) save_error_ = left.name() + " left before it had saved";
  return ranks_.all_have_answered() ? end_of_save() : WorkerEvent();
}

/// One is gone: mostly the others have nothing to do alone.
WorkerGroup::WorkerEvent WorkerGroup::remove(LaunchId id, Gone gone) {
  const RankProcess left = ranks_.remove(id);
  transport_.forget(id);
  gone.was_told = was_told_;
  gone.who = left.name();
  const bool is_clean = gone.is_clean();
  const bool was_being_reset = is_being_reset();
  const bool is_at_work = is_spoken_to() && state_ != State::launching && !was_being_reset;
  if (is_clean) failure_.acquit(id);
  if (is_clean && is_at_work && !ranks_.empty()) return continue_without(left);

  const bool is_our_doing = gone.how == Gone::How::exited &&
                            ((gone.signal == SIGTERM && stop_level_ >= StopLevel::sigterm) ||
                             (gone.signal == SIGKILL && stop_level_ == StopLevel::sigkill));
  failure_.note_end(left, std::move(gone), !is_clean && !is_our_doing, is_spoken_to());
  if (was_being_reset) state_ = State::replacing;
  if (state_ == State::offered) withdraw_offer();
  if (ranks_.empty()) return end_of_all(was_being_reset);
  stop_others(left);
  // The others go, too: what was begun with them is not.
  return was_being_reset ? WorkerEvent(Replaced{}) : WorkerEvent();
}

/// Not those that are leaving in order already, unless they are programs that go on for as long as
/// the first one does.
void WorkerGroup::stop_others(const RankProcess& left) {
  if (state_ == State::lost || stop_level_ >= StopLevel::sigterm) return;
  const bool is_in_order = state_ == State::leaving && stop_level_ == StopLevel::request;
  const bool were_to_follow = left.number() == 0 && !is_done_ && ranks_.front().is_unmonitored;
  if (is_in_order && !were_to_follow) return;
  if (state_ != State::replacing) state_ = State::leaving;
  stop_all(StopLevel::sigterm);
}

WorkerGroup::WorkerEvent WorkerGroup::end_of_all(bool was_being_reset) {
  set_deadline(never_s);
  if (state_ == State::replacing) {
    launch();
    return was_being_reset ? WorkerEvent(Replaced{}) : WorkerEvent();
  }
  state_ = State::none;
  return failure_.whole_end(was_told_);
}

const char* to_string(WorkerGroup::State state) {
  switch (state) {
    case WorkerGroup::State::none:
      return "none";
    case WorkerGroup::State::launching:
      return "launching";
    case WorkerGroup::State::replacing:
      return "replacing";
    case WorkerGroup::State::ready:
      return "ready";
    case WorkerGroup::State::stepping:
      return "stepping";
    case WorkerGroup::State::saving:
      return "saving";
    case WorkerGroup::State::offered:
      return "offered";
    case WorkerGroup::State::idle:
      return "idle";
    case WorkerGroup::State::leaving:
      return "leaving";
    case WorkerGroup::State::lost:
      return "lost";
  }
  return "";
}

}  // namespace tune
