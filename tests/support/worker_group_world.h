// A worker group with processes that are made up, and what each message comes to in each state: the
// table of docs/protocol.md, for tests and the fuzz target.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tuner/run/workers/worker_group.h"

namespace tune {

/// Keeps what a worker group does to the world as a line of words.
class Notes : public WorkerGroup::Transport {
 public:
  LaunchId launch(WorkerGroup&, LaunchSpec) override;
  void send(LaunchId launch, protocol::Command command) override;
  void signal(LaunchId launch, int signal) override;
  void forget(LaunchId launch) override { live.erase(static_cast<std::uint64_t>(launch)); }
  void remind(WorkerGroup&, Seconds) override {}
  Seconds steady() const override { return now; }

  std::string take() { return std::exchange(did, ""); }

  std::string did;
  std::vector<int> ranks;
  std::set<std::uint64_t> live;
  std::uint64_t last = 0;
  Seconds now = 100;
  bool spoke_to_nobody = false;  ///< something was said to a process that is gone
};

protocol::Hello hello(bool can_reset = true);

struct World {
  explicit World(std::size_t processes = 1) : n(processes) {}

  /// Of several each has its rank.
  std::vector<LaunchSpec> specs() const;
  std::vector<LaunchId> ids() const;
  LaunchId only() const { return LaunchId{*notes.live.begin()}; }
  void all_greet();
  /// What was launched runs.
  void all_run();
  /// Brings it there by what is said on the way. State none.
  void go_to(WorkerGroup::State state);
  /// To where a reset may still be refused. State none.
  void go_to_reset(WorkerGroup::State state);
  void reset();  ///< state ready

  std::size_t n;
  std::uint64_t last_to_run = 0;
  Notes notes;
  WorkerGroup talk{notes, {.launch_s = 60, .answer_s = 30, .leave_s = 10, .kill_s = 60}, {}};
};

enum class Message { greeted, refused, reported, saved, faulted, disconnected, exited, late };
inline constexpr std::size_t messages = 8;

WorkerGroup::WorkerEvent say(WorkerGroup& talk, Message message, LaunchId who);

/// "ready": Ready was heard; "": nothing.
std::string word(const WorkerGroup::WorkerEvent& event);

/// What is heard of each message in a state, and what the state becomes: "ready>ready" is Ready,
/// then State::ready. In the order of Message, of one process.
struct Row {
  WorkerGroup::State state;
  bool is_reset;  ///< since which nothing was answered
  std::string comes_to[messages];
};
const std::vector<Row>& worker_group_table();

/// Lets two bytes each say what happens next in a worker group of up to three processes, and holds
/// it against the table. The first thing that does not agree, as a sentence; or nothing.
std::string walk(std::span<const std::uint8_t> bytes);

}  // namespace tune
