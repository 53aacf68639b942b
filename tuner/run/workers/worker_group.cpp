#include "tuner/run/workers/worker_group.h"

#include <algorithm>
#include <csignal>
#include <stdexcept>
#include <utility>

#include "tuner/base/error.h"

namespace tune {

namespace {

std::string show(Seconds seconds) { return std::to_string(static_cast<long>(seconds)) + " s"; }

std::string name_of(int rank) { return "rank " + std::to_string(rank); }

}  // namespace

Conversation::Heard Conversation::hear(const Launched& wakeup) {
  Member& launched = member(wakeup.launch);
  launched.pid = wakeup.pid;
  launched.start_ticks = wakeup.start_ticks;
  launched.log_begin = wakeup.stderr_begin;
  launched.runs = true;
  // What it has waited for before is the machine's time: others were started, modules loaded.
  if (state_ == State::launching && !is_hung_up()) {
    set_deadline(link_.steady() + patience_.launch_s);
  }
  if (launched.number() != 0) return {};
  if (!is_blamed_) log_begin_ = wakeup.stderr_begin;
  return Started{wakeup.pid, wakeup.start_ticks};
}

Conversation::Heard Conversation::hear(const LaunchFailed& wakeup) {
  return remove(wakeup.launch, {.how = Gone::How::not_launched,
                                .reason = wakeup.reason,
                                .is_trials_fault = wakeup.is_trials_fault});
}

Conversation::Heard Conversation::hear(const Greeted& wakeup) {
  const auto& hello = wakeup.hello;
  Member& speaker = member(wakeup.launch);
  if (state_ != State::launching || speaker.has_answered) {
    return out_of_turn(speaker, speaker.name() + " said hello twice");
  }
  const bool is_function = hello.api == protocol::Api::function_api;
  const bool is_first = std::exchange(has_greeting_, true) == false;
  if (!is_first && is_function != is_function_) {
    return out_of_turn(speaker, speaker.name() + " is a " + (is_function ? "function" : "class") +
                                    ", and another rank is not");
  }
  is_function_ = is_function;
  can_save_ = hello.can_save && (is_first || can_save_);
  can_save_at_start_ = hello.can_save_at_start && (is_first || can_save_at_start_);
  can_reset_ = hello.can_reset && (is_first || can_reset_);
  can_stay_ = hello.can_stay && (is_first || can_stay_);
  speaker.has_answered = true;
  if (!all_have_answered()) return {};
  say_start(false);
  start_.reset();
  was_told_ = true;
  wait_for(State::ready, never_s);
  return Ready{};
}

Conversation::Heard Conversation::hear(const Refused& wakeup) {
  Member& speaker = member(wakeup.launch);
  if (is_being_reset() && !speaker.has_answered) return replace(Urge::asked);
  if (state_ == State::offered) {
    why_not_stayed_ = wakeup.reason;
    withdraw_offer();
    return {};
  }
  return out_of_turn(speaker, speaker.name() + " refused a reset that it was not asked for");
}

/// One of them does not stay, so none does.
void Conversation::withdraw_offer() {
  state_ = State::leaving;
  for (const Member& each : members_) {
    if (!each.is_mute) link_.send(each.id, protocol::Stop{});
  }
}

/// Whatever is wrong with processes that have trained another trial is no fault of this one before
/// its first result.
Conversation::Heard Conversation::replace(Urge urge) {
  state_ = State::replacing;
  urge_all(urge);
  return Replaced{};
}

Conversation::Heard Conversation::hear(Reported& wakeup) {
  Member& speaker = member(wakeup.launch);
  if (state_ == State::offered) {
    speaker.has_answered = speaker.has_answered || wakeup.stays;
    if (!all_have_answered()) return {};
    urge_ = Urge::none;
    wait_for(State::idle, never_s);
    return Stayed{};
  }
  if (state_ != State::stepping || speaker.has_answered) {
    return out_of_turn(speaker,
                       speaker.name() + " reported a result without having been told to step");
  }
  if (const auto other = other_answer(speaker, wakeup.iteration); !other.empty()) {
    return out_of_turn(speaker, other);
  }
  // As soon as it is too much: what the others wait for is kept in memory.
  if (speaker.rank && wakeup.metrics) reported_bytes_ += wakeup.metrics->text.size();
  if (reported_bytes_ > most_metric_bytes) {
    return out_of_turn(speaker, "what its ranks have reported of iteration " +
                                    std::to_string(asked_) + " up to " + speaker.name() +
                                    " is more than 16 MiB, and all of it is one result");
  }
  speaker.has_answered = true;
  if (wakeup.load_s) speaker.load_s = wakeup.load_s;
  speaker.reported = std::move(wakeup);
  return all_have_answered() ? end_of_step() : Heard();
}

/// What they have reported, as one result: the first one's, with what the others add to it.
Conversation::Heard Conversation::end_of_step() {
  if (const auto disagrees = disagreement()) {
    return out_of_turn(*disagrees->who, disagrees->sentence);
  }
  Member& first = members_.front();
  Reported whole =
      first.reported ? *std::exchange(first.reported, std::nullopt) : Reported{.done = true};
  std::vector<std::pair<int, Metrics>> others;
  for (Member& each : members_) {
    auto reported = std::exchange(each.reported, std::nullopt);
    if (!reported) continue;
    whole.should_checkpoint = whole.should_checkpoint || reported->should_checkpoint;
    whole.can_save = whole.can_save && reported->can_save;
    if (reported->checkpoint && !whole.checkpoint) {
      whole.checkpoint = std::move(reported->checkpoint);
    } else if (reported->checkpoint && reported->checkpoint != whole.checkpoint) {
      whole.more_checkpoints.push_back(*std::move(reported->checkpoint));
    }
    if (reported->metrics) others.emplace_back(each.number(), *std::move(reported->metrics));
  }
  if (first.number() != 0) whole.metrics.reset();  // rank 0 has left: only its metrics count
  if (whole.metrics && !others.empty()) {
    try {
      whole.metrics = with_workers(*std::move(whole.metrics), others);
    } catch (const std::invalid_argument& error) {
      return out_of_turn(members_.front(), std::string("its metrics, ") + error.what());
    }
  }
  start_.reset();
  specs_.clear();
  is_done_ = whole.done;
  wait_for(State::ready, never_s);
  return Stepped{std::move(whole)};
}

/// All end with the same iteration, or one would wait for the others for ever.
std::optional<Conversation::Disagreement> Conversation::disagreement() const {
  const Member* done = nullptr;
  const Member* goes_on = nullptr;
  for (const Member& each : members_) {
    if (!each.reported) continue;
    const Member*& first = each.reported->done ? done : goes_on;
    if (first == nullptr) first = &each;
  }
  if (goes_on == nullptr || (done == nullptr && ended_.empty())) {
    return std::nullopt;
  }
  const Member& who = done != nullptr ? *done : ended_.front();
  return Disagreement{
      &who, who.name() + (done != nullptr ? " says that it is done" : " has left with code 0") +
                ", and " + goes_on->name() +
                " goes on: all ranks of a trial end with the same iteration"};
}

Conversation::Heard Conversation::hear(const SaveAnswered& wakeup) {
  Member& speaker = member(wakeup.launch);
  if (state_ != State::saving || speaker.has_answered) {
    return out_of_turn(speaker, speaker.name() + " said saved without having been asked");
  }
  if (const auto other = other_answer(speaker, wakeup.iteration); !other.empty()) {
    return out_of_turn(speaker, other);
  }
  speaker.has_answered = true;
  speaker.saved = {speaker.number(), link_.steady() - told_at_, wakeup.bytes, speaker.load_s};
  if (!save_error_ && wakeup.error) {
    save_error_ = (speaker.rank ? speaker.name() + ": " : "") + *wakeup.error;
  }
  return all_have_answered() ? end_of_save() : Heard();
}

Conversation::Heard Conversation::end_of_save() {
  Saved saved{std::exchange(save_error_, std::nullopt), {}};
  for (const Member& each : members_) {
    if (each.rank && !each.is_mute) saved.parts.push_back(each.saved);
  }
  start_.reset();
  specs_.clear();
  wait_for(State::ready, never_s);
  return saved;
}

Conversation::Heard Conversation::hear(const Faulted& wakeup) {
  Member& speaker = member(wakeup.launch);
  return out_of_turn(speaker, (speaker.rank ? speaker.name() + ": " : "") + wakeup.reason);
}

/// Of several, the others are on their way out.
Conversation::Heard Conversation::hear(const RanToEnd& wakeup) {
  const bool is_asked_alone =
      state_ == State::leaving && urge_ == Urge::asked && members_.size() == 1;
  if (!is_asked_alone) {
    link_.send(wakeup.launch, protocol::Stop{});
    return {};
  }
  urge_ = Urge::none;
  wait_for(State::ready, never_s);
  return AtEnd{};
}

/// Mostly the process is about to exit, and its exit says more.
Conversation::Heard Conversation::hear(const Disconnected& wakeup) {
  Member& speaker = member(wakeup.launch);
  speaker.is_disconnected = true;
  if (is_spoken_to() && !culprit_) culprit_ = speaker.id;
  if (!speaker.is_mute && (is_spoken_to() || state_ == State::idle)) {
    set_deadline(std::min(deadline_, link_.steady() + patience_.leave_s));
  }
  return {};
}

Conversation::Heard Conversation::hear(const Exited& wakeup) {
  if (!wakeup.obstacle.empty()) obstacle_ = wakeup.obstacle;
  return remove(wakeup.launch, {.how = Gone::How::exited,
                                .exit_code = wakeup.exit_code,
                                .signal = wakeup.signal,
                                .memory_kills = wakeup.memory_kills});
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
    case State::offered:
    case State::leaving:
    case State::replacing:
      if (state_ == State::offered) state_ = State::leaving;
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
  for (const Member& each : members_) {
    if (!each.is_disconnected || each.is_mute) continue;
    blame(each);
    return Overdue{each.name() + " closed its connection and lived on"};
  }
  if (state_ == State::launching && !all_run()) {
    set_deadline(link_.steady() + patience_.launch_s);
    return {};
  }
  for (const Member& each : members_) {
    if (each.has_answered) continue;
    blame(each);
    break;
  }
  const std::string late = this->late();
  const std::string who = late.empty() ? "it" : late;
  if (state_ == State::launching) {
    return Overdue{who + " did not say hello within " + show(patience_.launch_s) +
                   " (launch_timeout_s): does it speak the protocol of docs/protocol.md? If not, "
                   "put \"plain\": {} beside its command (docs/plain.md)"};
  }
  return Overdue{who + " said nothing for " + show(patience_.answer_s.value_or(patience_.leave_s)) +
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
      for (std::size_t i = 0; i < members_.size(); ++i) {
        members_[i].stdout_log = specs_.at(i).stdout_path;
        members_[i].stderr_log = specs_.at(i).stderr_path;
        members_[i].log_begin = 0;
      }
      log_ = specs_.front().stderr_path;
      log_begin_ = 0;
      is_done_ = false;
      say_start(true);
      wait_for(State::ready, never_s);
      break;
    default:
      ensure(state_ == State::leaving, "an attempt is begun once");
      state_ = State::replacing;
  }
}

void Conversation::say_start(bool reset) {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Member& each = members_[i];
    // The last one that is not to be said again takes it along.
    const bool is_last = !reset && i + 1 == members_.size();
    protocol::Start start = is_last ? std::move(*start_) : *start_;
    start.reset = reset;
    if (each.rank) {
      start.rank = start.local_rank = each.rank->rank;
      start.world_size = each.rank->world_size;
      start.resources = each.rank->resources;
      start.devices = each.rank->devices;
      start.stdout_log = each.stdout_log.string();
      start.stderr_log = each.stderr_log.string();
    }
    link_.send(each.id, std::move(start));
  }
}

void Conversation::launch() {
  urge_ = Urge::none;
  has_greeting_ = false;
  is_done_ = false;
  is_blamed_ = false;
  is_explained_ = false;
  was_told_ = false;
  culprit_.reset();
  fault_.reset();
  obstacle_.clear();
  first_end_.reset();
  ended_.clear();
  log_ = specs_.front().stderr_path;
  log_begin_ = 0;
  for (LaunchSpec& spec : specs_) {
    if (spec.rank && !members_.empty()) spec.rank->first = members_.front().id;
    Member& added = members_.emplace_back();
    added.rank = spec.rank;
    added.is_mute = spec.plain && spec.plain->is_mute;
    added.hears_stop = !added.is_mute || spec.plain->stop_signal;
    added.stdout_log = spec.stdout_path;
    added.stderr_log = spec.stderr_path;
    added.id = link_.launch(*this, std::move(spec));
  }
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
  // One of several has gone, the others are on their way, and Gone is yet to come.
  if (state_ == State::leaving) return;
  ensure(state_ == State::ready, "who is asked for something has answered");
  for (const Member& each : members_) {
    if (!each.is_mute) link_.send(each.id, command);
  }
  asked_ = iteration;
  told_at_ = link_.steady();
  wait_for(state, patience_.answer_s.value_or(never_s));
}

void Conversation::park() {
  ensure(state_ == State::ready, "who is kept has answered");
  start_.reset();
  specs_.clear();
  wait_for(State::idle, never_s);
}

void Conversation::offer(protocol::Stay stay) {
  ensure(state_ == State::ready, "who may stay has answered");
  start_.reset();
  specs_.clear();
  wait_for(State::offered, patience_.leave_s);
  urge_ = Urge::asked;
  for (const Member& each : members_) {
    if (!each.is_mute) link_.send(each.id, protocol::Stop{stay});
  }
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
  if (state_ == State::offered && urge == Urge::asked) return withdraw_offer();
  if (members_.empty() || state_ == State::lost || urge <= urge_) return;
  state_ = State::leaving;
  urge_all(urge);
}

/// Who listens while it trains is told before it is signalled, except in a hurry.
void Conversation::urge_all(Urge urge) {
  const bool is_told = urge_ == Urge::none && urge != Urge::killed;
  urge_ = urge;
  for (const Member& each : members_) {
    if (is_told && each.hears_stop && !(each.is_mute && is_done_)) {
      link_.send(each.id, protocol::Stop{});
    }
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

std::vector<std::int64_t> Conversation::process_groups() const {
  std::vector<std::int64_t> groups;
  for (const Member& each : members_) groups.push_back(each.pid);
  return groups;
}

std::vector<Conversation::Late> Conversation::all_late() const {
  std::vector<Late> late;
  for (const Member& each : members_) {
    if (each.has_answered || !each.runs) continue;
    late.push_back({each.rank ? name_of(each.rank->rank) : "its process",
                    each.pid,
                    {each.stdout_log, each.stderr_log}});
  }
  return late;
}

std::string Conversation::late() const {
  constexpr std::size_t most_named = 4;
  std::vector<int> ranks;
  for (const Member& each : members_) {
    if (!each.has_answered && each.rank) ranks.push_back(each.rank->rank);
  }
  if (ranks.empty() || ended_.size() + members_.size() < 2) return "";
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size() && i < most_named; ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  }
  if (ranks.size() > most_named) {
    text += " and " + std::to_string(ranks.size() - most_named) + " others";
  }
  return text;
}

std::string Conversation::Member::name() const { return rank ? name_of(rank->rank) : "it"; }

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
std::string Conversation::other_answer(Member& speaker, std::optional<std::int64_t> iteration) {
  const bool echoes = std::exchange(speaker.echoes, iteration.has_value());
  if (!iteration && echoes) {
    return (speaker.rank ? speaker.name() + ": " : std::string()) +
           "its answer names no iteration, as its answers did before: does it answer twice?";
  }
  if (!iteration || *iteration == asked_) return "";
  return speaker.name() + " answered iteration " + std::to_string(*iteration) +
         ", and was asked for iteration " + std::to_string(asked_) + ": does it answer twice?";
}

Conversation::Heard Conversation::out_of_turn(const Member& speaker, const std::string& sentence) {
  if (is_being_reset()) return replace(Urge::terminated);
  if (state_ == State::idle) leave(Urge::terminated);
  if (!is_spoken_to()) return {};
  if (culprit_ && *culprit_ != speaker.id) {
    // What befalls the others when one is gone is no reason: its end is, if that was none in order.
    if (!fault_) fault_ = sentence;
    blame(speaker);
    leave(Urge::terminated);
    return {};
  }
  blame(speaker);
  return Failed{sentence};
}

void Conversation::blame(const Member& member) {
  is_blamed_ = true;
  log_ = member.stderr_log;
  log_begin_ = member.log_begin;
}

bool Conversation::all_have_answered() const {
  return std::all_of(members_.begin(), members_.end(),
                     [](const Member& each) { return each.has_answered; });
}

bool Conversation::all_run() const {
  return std::all_of(members_.begin(), members_.end(),
                     [](const Member& each) { return each.runs; });
}

/// One that is spoken to hears nothing any more.
bool Conversation::is_hung_up() const {
  return std::any_of(members_.begin(), members_.end(),
                     [](const Member& each) { return each.is_disconnected && !each.is_mute; });
}

void Conversation::wait_for(State state, Seconds seconds) {
  state_ = state;
  reported_bytes_ = 0;
  for (Member& each : members_) each.has_answered = each.is_mute && state != State::launching;
  const Seconds limit = is_hung_up() ? std::min(seconds, patience_.leave_s) : seconds;
  set_deadline(link_.steady() + limit);
}

void Conversation::set_deadline(Seconds deadline) {
  if (deadline == deadline_) return;
  const Seconds before = std::exchange(deadline_, deadline);
  link_.remind(*this, before);
}

/// One has left in good order, and the others go on: they have not come so far yet.
Conversation::Heard Conversation::go_on_without(const Member& left) {
  if (!left.is_mute) ended_.push_back(left);
  const bool waits = state_ == State::stepping || state_ == State::saving;
  set_deadline(waits ? told_at_ + patience_.answer_s.value_or(never_s) : never_s);
  if (state_ == State::stepping && all_have_answered()) return end_of_step();
  if (state_ != State::saving) return {};
  if (!left.has_answered && !save_error_) save_error_ = left.name() + " left before it had saved";
  return all_have_answered() ? end_of_save() : Heard();
}

/// One is gone: mostly the others have nothing to do alone.
Conversation::Heard Conversation::remove(LaunchId id, Gone gone) {
  const auto place = members_.begin() + (&member(id) - members_.data());
  const Member left = std::move(*place);
  members_.erase(place);
  link_.forget(id);
  gone.was_told = was_told_;
  gone.who = left.name();
  const bool is_clean = gone.how == Gone::How::exited && gone.exit_code == 0 && gone.signal == 0;
  const bool was_being_reset = is_being_reset();
  const bool is_at_work = is_spoken_to() && state_ != State::launching && !was_being_reset;
  if (is_clean && culprit_ == id) culprit_.reset();
  if (is_clean && is_at_work && !members_.empty()) return go_on_without(left);

  const bool is_our_doing =
      gone.how == Gone::How::exited && ((gone.signal == SIGTERM && urge_ >= Urge::terminated) ||
                                        (gone.signal == SIGKILL && urge_ == Urge::killed));
  const bool explains = !is_clean && !is_our_doing;
  if (explains && !culprit_ && is_spoken_to()) culprit_ = id;
  const bool is_culprit = culprit_ == id && explains;
  if (!first_end_ || is_culprit) {
    first_end_ = std::move(gone);
    if (is_culprit || !is_blamed_) blame(left);
  }
  is_explained_ = is_explained_ || is_culprit;

  if (was_being_reset) state_ = State::replacing;
  if (state_ == State::offered) withdraw_offer();
  if (!members_.empty()) {
    const bool is_in_order = state_ == State::leaving && urge_ == Urge::asked;
    const bool were_to_follow = left.number() == 0 && !is_done_ && members_.front().is_mute;
    if (state_ != State::lost && urge_ < Urge::terminated && (!is_in_order || were_to_follow)) {
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
  if (fault_ && !is_explained_) {
    first_end_ = Gone{.how = Gone::How::failed, .reason = *fault_, .was_told = was_told_};
  }
  first_end_->obstacle = std::exchange(obstacle_, {});
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
    case Conversation::State::offered:
      return "offered";
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
