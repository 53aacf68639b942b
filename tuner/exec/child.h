// One running process on the loop: reads its lines, writes its commands, notices its end.
// Knows no trial. A last line without its newline is dropped: whoever wrote it died in it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/exec/message_parser.h"
#include "tuner/exec/spawn.h"

namespace tune {

class Child;

/// What the children of one executor share. One thread.
struct ChildrenShared {
  boost::asio::io_context context{1};
  std::vector<Wakeup> happened;  ///< since the last wait returned
  MessageParser parser;
  std::vector<char> block;  ///< to receive into; longer by the parser's padding
  std::uint64_t batch = 0;  ///< each gives every child a new share of what may be read
  std::vector<std::shared_ptr<Child>> paused;  ///< said more than their share in this batch
  std::function<void(LaunchId)> gone;          ///< called when Exited has been noted
};

/// Handlers hold a shared_ptr, so that one that was cancelled finds its object.
class Child : public std::enable_shared_from_this<Child> {
 public:
  Child(ChildrenShared& shared, LaunchId launch, Spawned spawned);

  /// Notes Launched and begins to listen.
  void start();

  /// Adds to what the next `flush` writes.
  void queue(std::string_view lines);
  /// Writes what is queued as far as the socket takes it, and the rest when it can.
  void flush();
  /// Listens again, after having been paused.
  void resume();
  void signal(int signal) const noexcept { process_.signal(signal); }
  /// Ends and reaps the process without a word.
  void close();

 private:
  void wait_for_input();
  void receive();
  bool receive_once();
  void take(std::string_view bytes);
  void take_line(std::string_view line);
  void fault_for_length(std::string_view line);
  void disconnect();
  bool over_share();
  void wait_for_exit();
  void on_exit_ready();
  void drain();
  void announce_end();
  bool group_lingers() const;

  ChildrenShared& shared_;
  LaunchId launch_;
  Process process_;
  std::uint64_t start_ticks_;
  std::uint64_t stderr_begin_;
  boost::asio::posix::stream_descriptor socket_;
  boost::asio::posix::stream_descriptor exit_watch_;  ///< on the process's pidfd, not owned
  std::string partial_;                               ///< a line whose newline has not come yet
  std::string outbox_;
  std::size_t sent_ = 0;  ///< of outbox_
  ExitStatus status_;
  boost::asio::steady_timer linger_;
  int looks_ = 0;  ///< at whether its group is gone
  bool write_pending_ = false;
  bool faulted_ = false;  ///< and so not listened to any more
  std::uint64_t batch_ = 0;
  std::size_t messages_in_batch_ = 0;
  std::size_t bytes_in_batch_ = 0;
};

}  // namespace tune
