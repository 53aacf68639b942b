// One running process on the loop: reads its lines, writes its commands, notices its end. It reads
// no more than the loop processes (backpressure): a program that prints faster blocks in its write.
// A last line without its newline is dropped: its writer died while writing it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/execution/local/message_parser.h"
#include "tuner/execution/plain/plain_session.h"
#include "tuner/execution/reactor/asio_reactor.h"
#include "tuner/process/spawn.h"
#include "tuner/process/subreaper.h"

namespace tune {

class Child;

/// What the children of one executor share. One thread.
struct ChildrenShared {
  explicit ChildrenShared(AsioReactor& reactor)
      : context(reactor.context()), happened(reactor.happened()) {}

  boost::asio::io_context& context;
  std::vector<Wakeup>& happened;  ///< since the last wait returned
  MessageParser parser;
  std::vector<char> block;  ///< to receive into; longer by the parser's padding
  std::uint64_t batch = 0;  ///< each gives every child a new share of what may be read
  std::vector<std::shared_ptr<Child>> paused;  ///< said more than their share in this batch
  std::function<void(LaunchId)> gone;          ///< called when Exited has been noted
  Subreaper adopted;
  CheckpointWatch* watch = nullptr;  ///< there is one if a plain program saves by itself
  /// Children whose leaders have ended, while processes that they started may still run.
  std::vector<std::shared_ptr<Child>> leaving;
  bool to_settle = false;  ///< is posted
  bool start_is_remarked = false;
};

/// Handlers hold a shared_ptr, so that one that was cancelled finds its object.
class Child : public std::enable_shared_from_this<Child> {
 public:
  /// If the program knows nothing of the driver: how what it prints is read, and how it saves.
  struct Plain {
    std::unique_ptr<PlainSession> session;  ///< null: it speaks the protocol
    bool saves = false;
    std::filesystem::path root = {};  ///< where it saves, and the names of that: see PlainWatch
    std::string pattern = {};
    std::optional<int> save_signal = {};
    std::optional<int> checkpoint_exit_code = {};
  };
  Child(ChildrenShared& shared, LaunchId launch, Spawned spawned, Plain plain);

  /// Notes Launched, with that MASTER_PORT, and begins to listen.
  void start(std::uint16_t port);

  /// It is a Python program: if it takes long to say hello, an advisory names `preload`.
  void look_at_start() { looks_at_start_ = true; }
  /// It is one of several ranks: its end must be reported before the failures that it causes in the
  /// others.
  void announce_end() { announces_end_ = true; }

  /// Adds to what the next `flush` writes.
  void queue(std::string_view lines);
  /// Whether commands are not for its socket, but for `handle`.
  bool is_plain() const { return plain_.session != nullptr; }
  /// Carries out a command for a program that does not speak the protocol.
  void handle(const protocol::Command& command);
  /// What it has saved by itself.
  void find(std::vector<SavedFiles> found, CheckpointWatch::News news);
  /// Writes what is queued as far as the socket takes it, and the rest when it can.
  void flush();
  /// Listens again, after having been paused.
  void resume();
  /// Signals the group; of a plain program only the leader, except for SIGKILL, since its helper
  /// processes would save, or die, too.
  void signal(int signal);
  pid_t pid() const { return process_.pid(); }
  /// Schedules one pass (for all callers together) that ends and reaps what is left of children
  /// that are leaving, and reports each of which nothing is left.
  static void settle_soon(ChildrenShared& shared);
  /// Stops listening: output and end of the process are ignored from now on.
  void close();
  /// Once closed, reaps what is dead of it; true if nothing is left.
  bool is_gone();
  /// Gives up a process that cannot be killed.
  void let_go() noexcept { process_.let_go(); }

 private:
  void wait_for_input();
  void receive();
  bool receive_once();
  void take(std::string_view bytes);
  void take_line(std::string_view line);
  void remark_start();
  void fault_for_length(std::string_view line);
  void disconnect();
  bool over_share();
  void wait_for_exit();
  void on_exit_ready();
  bool leaves_time_to_end();
  std::set<std::filesystem::path> being_saved() const;
  void drain();
  void conclude();
  void finish();
  void look_again();
  void read_logs_later();
  void read_logs();
  void say_plainly();
  void ask_to_leave();
  bool waits_for_order();
  bool has_saved_last() const;
  void leave();
  void signal_leader(int signal);
  bool has_run_to_end() const;
  void offer_rest();

  ChildrenShared& shared_;
  LaunchId launch_;
  Process process_;
  std::uint64_t start_ticks_;
  std::uint64_t stderr_begin_;
  boost::asio::posix::stream_descriptor socket_;
  boost::asio::posix::stream_descriptor exit_watch_;  ///< on the process's pidfd, not owned
  std::string partial_;                               ///< a line whose newline has not come yet
  std::string outbox_;
  std::size_t sent_ = 0;              ///< of outbox_
  std::optional<ExitStatus> status_;  ///< it has ended
  boost::asio::steady_timer linger_;
  Plain plain_;
  std::optional<std::int64_t> told_to_save_ns_;  ///< Unix time
  std::optional<std::int64_t> signalled_ns_;     ///< the same; with the first signal of all
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  bool looks_at_start_ = false;
  bool announces_end_ = false;
  bool is_to_read_ = false;  ///< in the next batch
  std::uint64_t read_batch_ = 0;
  bool is_to_leave_ = false;  ///< once it has saved its last results, or does not save
  bool is_told_to_stop_ = false;
  int seconds_to_leave_ = 0;  ///< it was given so far
  boost::asio::steady_timer next_read_;
  bool has_left_time_ = false;
  /// Names of the checkpoints to which what it has left running was writing, as it was ended.
  std::set<std::filesystem::path> cut_off_;
  bool is_all_gone_ = false;  ///< of a plain program: printed results may be undelivered
  int looks_ = 0;             ///< at whether all of it is gone
  bool write_pending_ = false;
  bool faulted_ = false;  ///< and so not listened to any more
  std::uint64_t batch_ = 0;
  std::size_t messages_in_batch_ = 0;
  std::size_t bytes_in_batch_ = 0;
};

}  // namespace tune
