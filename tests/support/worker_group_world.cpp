#include "tests/support/worker_group_world.h"

#include <algorithm>
#include <csignal>
#include <stdexcept>
#include <utility>

namespace tune {

using State = WorkerGroup::State;
using StopLevel = WorkerGroup::StopLevel;

LaunchId Notes::launch(WorkerGroup&, LaunchSpec) {
  did += "launch ";
  live.insert(++last);
  return LaunchId{last};
}

void Notes::send(LaunchId launch, protocol::Command command) {
  spoke_to_nobody |= live.count(static_cast<std::uint64_t>(launch)) == 0;
  if (const auto* start = std::get_if<protocol::Start>(&command)) {
    did += start->reset ? "reset " : "start ";
    ranks.push_back(start->rank);
  }
  if (std::holds_alternative<protocol::Step>(command)) did += "step ";
  if (std::holds_alternative<protocol::Save>(command)) did += "save ";
  if (std::holds_alternative<protocol::Stop>(command)) did += "stop ";
}

void Notes::signal(LaunchId launch, int signal) {
  spoke_to_nobody |= live.count(static_cast<std::uint64_t>(launch)) == 0;
  did += signal == SIGKILL ? "kill " : "term ";
}

protocol::Hello hello(bool can_reset) {
  protocol::Hello said;
  said.can_reset = can_reset;
  return said;
}

std::vector<LaunchSpec> World::specs() const {
  std::vector<LaunchSpec> all(n);
  for (std::size_t i = 0; i < n && n > 1; ++i) {
    all[i].rank = Rank{static_cast<int>(i), static_cast<int>(n), {}, {}, {}};
    all[i].stderr_path = "/log_" + std::to_string(i);
  }
  return all;
}

std::vector<LaunchId> World::ids() const {
  std::vector<LaunchId> all;
  for (const auto id : notes.live) all.push_back(LaunchId{id});
  return all;
}

void World::all_greet() {
  for (const auto id : std::set(notes.live)) (void)talk.on_wakeup(Greeted{LaunchId{id}, hello()});
}

void World::all_run() {
  for (const auto id : std::set(notes.live)) {
    if (id > last_to_run)
      (void)talk.on_wakeup(Launched{LaunchId{id}, static_cast<std::int64_t>(id), 1});
  }
  last_to_run = notes.last;
}

void World::go_to(State state) {
  if (state == State::none) return;
  talk.begin(specs(), {});
  all_run();
  if (state == State::launching) {
    notes.did.clear();
    return;
  }
  all_greet();
  if (state == State::stepping) talk.step(7);
  if (state == State::saving) talk.save("/aside", 7);
  if (state == State::leaving) talk.leave(StopLevel::request);
  if (state == State::lost) {
    talk.leave(StopLevel::sigkill);
    (void)talk.on_timeout();
  }
  if (state == State::offered) talk.offer(protocol::Stay::if_clean);
  if (state == State::idle) talk.keep_idle();
  if (state == State::replacing) {
    reset();
    (void)talk.on_wakeup(Refused{only()});
  }
  if (talk.state() != state) throw std::logic_error("the way to a state leads elsewhere");
  notes.did.clear();
}

void World::reset() {
  talk.keep_idle();
  talk.begin(specs(), {});
}

void World::go_to_reset(State state) {
  go_to(State::ready);
  reset();
  if (state == State::stepping) talk.step(7);
  if (state == State::saving) talk.save("/aside", 0);
  notes.did.clear();
}

WorkerGroup::WorkerEvent say(WorkerGroup& talk, Message message, LaunchId who) {
  Reported reported{.launch = who, .stays = true};
  switch (message) {
    case Message::greeted:
      return talk.on_wakeup(Greeted{who, hello()});
    case Message::refused:
      return talk.on_wakeup(Refused{who});
    case Message::reported:
      return talk.on_wakeup(reported);
    case Message::saved:
      return talk.on_wakeup(SaveAnswered{.launch = who});
    case Message::faulted:
      return talk.on_wakeup(Faulted{who, "oh"});
    case Message::disconnected:
      return talk.on_wakeup(Disconnected{who});
    case Message::exited:
      return talk.on_wakeup(Exited{who, 1, 0});
    case Message::late:
      return talk.on_timeout();
  }
  return {};
}

std::string word(const WorkerGroup::WorkerEvent& event) {
  static constexpr const char* words[] = {"",        "started", "ready",  "replaced",
                                          "stepped", "saved",   "failed", "overdue",
                                          "gone",    "stayed",  "at end"};
  return words[event.index()];
}

const std::vector<Row>& worker_group_table() {
  static const std::vector<Row> table{
      {State::launching,
       false,
       {"ready>ready", "failed>launching", "failed>launching", "failed>launching",
        "failed>launching", ">launching", "gone>none", "overdue>launching"}},
      {State::replacing,
       false,
       {">replacing", ">replacing", ">replacing", ">replacing", ">replacing", ">replacing",
        ">launching", ">replacing"}},
      {State::ready,
       false,
       {"failed>ready", "failed>ready", "failed>ready", "failed>ready", "failed>ready", ">ready",
        "gone>none", "overdue>ready"}},
      {State::ready,
       true,
       {"replaced>replacing", "replaced>replacing", "replaced>replacing", "replaced>replacing",
        "replaced>replacing", ">ready", "replaced>launching", "replaced>replacing"}},
      {State::stepping,
       false,
       {"failed>stepping", "failed>stepping", "stepped>ready", "failed>stepping", "failed>stepping",
        ">stepping", "gone>none", "overdue>stepping"}},
      {State::stepping,
       true,
       {"replaced>replacing", "replaced>replacing", "stepped>ready", "replaced>replacing",
        "replaced>replacing", ">stepping", "replaced>launching", "replaced>replacing"}},
      {State::saving,
       false,
       {"failed>saving", "failed>saving", "failed>saving", "saved>ready", "failed>saving",
        ">saving", "gone>none", "overdue>saving"}},
      {State::saving,
       true,
       {"replaced>replacing", "replaced>replacing", "replaced>replacing", "saved>ready",
        "replaced>replacing", ">saving", "replaced>launching", "replaced>replacing"}},
      {State::offered,
       false,
       {">offered", ">leaving", "stayed>idle", ">offered", ">offered", ">offered", "gone>none",
        ">leaving"}},
      {State::idle,
       false,
       {">leaving", ">leaving", ">leaving", ">leaving", ">leaving", ">idle", "gone>none",
        ">leaving"}},
      {State::leaving,
       false,
       {">leaving", ">leaving", ">leaving", ">leaving", ">leaving", ">leaving", "gone>none",
        ">leaving"}},
      {State::lost,
       false,
       {">lost", ">lost", ">lost", ">lost", ">lost", ">lost", "gone>none", ">lost"}},
  };
  return table;
}

namespace {

/// The table's answer, and what it says of one process turned into what it means for several.
std::string expected(const World& world, Message message, LaunchId who,
                     const std::set<LaunchId>& answered, bool is_reset, LaunchId failed_first) {
  const State state = world.talk.state();
  const std::string name = to_string(state);
  const bool is_last = world.notes.live.size() == 1;
  const bool is_new =
      is_reset && (state == State::ready || state == State::stepping || state == State::saving);
  if (is_new) {
    if (message == Message::exited && !is_last) return "replaced>replacing";
    const bool is_said_again = message <= Message::faulted && answered.count(who) != 0;
    if (is_said_again) return "replaced>replacing";
  }
  if (message == Message::exited && !is_last) {
    return state == State::lost || state == State::replacing ? ">" + name : ">leaving";
  }
  if (message == Message::late && world.talk.stop_level() == StopLevel::sigkill &&
      state != State::lost) {
    return "gone>lost";
  }
  const auto& table = worker_group_table();
  const auto row = std::find_if(table.begin(), table.end(), [&](const Row& r) {
    return r.state == state && r.is_reset == is_new;
  });
  const std::string& one = row->comes_to[static_cast<std::size_t>(message)];
  // What befalls the others when one has gone is not why the attempt ends.
  const bool is_followed =
      failed_first != LaunchId{} && failed_first != who && message != Message::late;
  const bool is_answer = one.starts_with("ready>") || one.starts_with("stepped>") ||
                         one.starts_with("saved>") || one.starts_with("stayed>");
  if (!is_answer) return is_followed && one.starts_with("failed>") ? ">leaving" : one;
  // Who has said that it stays may say it again.
  if (answered.count(who) != 0 && state == State::offered) return ">offered";
  if (answered.count(who) != 0) return is_followed ? ">leaving" : "failed>" + name;
  return answered.size() + 1 < world.notes.live.size() ? ">" + name : one;
}

}  // namespace

std::string walk(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) return "";
  World world(1 + bytes[0] % 3);
  WorkerGroup& talk = world.talk;
  std::set<LaunchId> answered;  // to what the state waits for
  bool is_reset = false;        // and has not answered since
  LaunchId failed_first{};      // none
  std::uint64_t launched = 0;
  const auto is_spoken_to = [&talk] {
    return talk.state() == State::launching || talk.state() == State::ready ||
           talk.state() == State::stepping || talk.state() == State::saving;
  };
  for (std::size_t i = 1; i + 1 < bytes.size(); i += 2) {
    const State before = talk.state();
    const int what = bytes[i] % 16;
    const auto faulty = [&](const std::string& why) {
      return "step " + std::to_string(i / 2) + ", in state " + to_string(before) + ", message " +
             std::to_string(what) + ": " + why;
    };
    if (what < static_cast<int>(messages)) {
      const auto message = static_cast<Message>(what);
      if (world.notes.live.empty()) continue;
      if (message == Message::late && talk.deadline() == never_s) continue;
      const LaunchId who{*std::next(world.notes.live.begin(),
                                    bytes[i + 1] % static_cast<int>(world.notes.live.size()))};
      const std::string should = expected(world, message, who, answered, is_reset, failed_first);
      if (message == Message::disconnected && is_spoken_to() && failed_first == LaunchId{}) {
        failed_first = who;
      }
      const std::string event = word(say(talk, message, who));
      const std::string is = event + ">" + to_string(talk.state());
      if (is != should) return faulty("comes to " + is + ", and not to " + should);
      if (event == "stepped" || event == "saved" || event == "replaced") is_reset = false;
      const bool counts = (before == State::launching && message == Message::greeted) ||
                          (before == State::stepping && message == Message::reported) ||
                          (before == State::saving && message == Message::saved) ||
                          (before == State::offered && message == Message::reported);
      if (counts) answered.insert(who);
      // What the loop does of it.
      if (event == "failed" || event == "overdue") talk.leave(StopLevel::sigterm);
    } else if (what < 13) {
      if (before == State::none || before == State::idle) {
        talk.begin(world.specs(), {});
        is_reset = before == State::idle;
      }
      // Only processes that were kept for another attempt can be on their way out when it begins.
      if (before == State::ready)
        what < 11               ? talk.step(7)
        : what < 12             ? talk.save("/", 7)
        : bytes[i + 1] % 2 == 0 ? talk.keep_idle()
                                : talk.offer(protocol::Stay::if_clean);
    } else if (what == 13) {
      talk.leave(static_cast<StopLevel>(1 + bytes[i + 1] % 3));
    } else if (what == 14) {
      if (before == State::idle) {
        talk.leave(StopLevel::request);
        talk.begin(world.specs(), {});
        if (talk.state() != State::replacing) return faulty("others do not take their place");
      }
    } else {
      talk.shorten_deadline(bytes[i + 1]);
      world.notes.now += bytes[i + 1];
    }
    if (std::exchange(launched, world.notes.last) != world.notes.last) failed_first = {};
    world.all_run();
    if (talk.state() != before) answered.clear();
    const bool is_theirs = talk.state() == State::ready || talk.state() == State::stepping ||
                           talk.state() == State::saving;
    if (!is_theirs) is_reset = false;
    if (world.notes.spoke_to_nobody) return faulty("something was said to nobody");
    if (talk.has_processes() == world.notes.live.empty()) return faulty("a process is forgotten");
    const bool is_leaving = talk.state() == State::leaving || talk.state() == State::replacing ||
                            talk.state() == State::offered;
    if (is_leaving && talk.deadline() == never_s) return faulty("it may leave for ever");
    if (!talk.has_processes() && talk.state() != State::none) return faulty("nobody is left");
  }
  talk.leave(StopLevel::request);
  for (int late = 0; late < 4 && talk.has_processes(); ++late) (void)talk.on_timeout();
  if (talk.has_processes() && talk.state() != State::lost) return "it comes to no end";
  return "";
}

}  // namespace tune
