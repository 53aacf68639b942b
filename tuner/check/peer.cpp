// Starts one process and talks to it synchronously: poll with a deadline on its socket and its
// pidfd.
#include "tuner/check/peer.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>

#include "tuner/base/clean_text.h"
#include "tuner/base/error_line.h"
#include "tuner/disk/log_tail.h"
#include "tuner/disk/signals_blocked.h"

namespace tune {

namespace {

using Clock = std::chrono::steady_clock;

/// Between looks at whether a process has ended, where its pidfd says nothing.
constexpr int look_ms = 50;
/// What ends its connection mostly ends at once; how is more telling than that it does.
constexpr Seconds end_after_hangup_s = 2;

Seconds now_s() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

int left_ms(Seconds until) {
  constexpr double most = 1e6;  // a poll that ends is asked again
  return static_cast<int>(std::clamp((until - now_s()) * 1e3 + 1, 0.0, most));
}

bool is_ready(int fd, short events, int timeout_ms) {
  pollfd wanted{fd, events, 0};
  return ::poll(&wanted, 1, timeout_ms) > 0;
}

std::string show(Seconds seconds) {
  const auto whole = static_cast<long>(std::ceil(seconds));
  return std::to_string(whole) + " s";
}

const char* kind_of(const Wakeup& heard) {
  if (std::holds_alternative<Greeted>(heard)) return "a hello";
  if (std::holds_alternative<Refused>(heard)) return "a refusal";
  if (std::holds_alternative<Reported>(heard)) return "a result";
  if (std::holds_alternative<SaveAnswered>(heard)) return "that it has saved";
  return "an error";
}

}  // namespace

std::pair<LaunchId, Spawned> PeerLauncher::launch(LaunchSpec spec) {
  const LaunchId launch{++launches_};
  spec.knows_socket = !spec.plain;
  spec.own_environment.push_back(adopted_.variable(launch));
  adopted_.expect(launch);
  try {
    Spawned spawned = [&] {
      const SignalsBlocked blocked;
      return spawner_.spawn(spec);
    }();
    adopted_.began(launch, spawned.process.pid());
    return {launch, std::move(spawned)};
  } catch (...) {
    adopted_.forget(launch);
    throw;
  }
}

void PeerLauncher::end(LaunchId launch, Process& process) {
  process.signal(SIGKILL);
  const Seconds until = now_s() + end_after_hangup_s;
  while (!process.ended() && now_s() < until) is_ready(process.pidfd(), POLLIN, 1);
  adopted_.ended(launch);
  for (;;) {
    const bool is_cleared = process.clear();
    adopted_.look();
    const bool is_gone = is_cleared && adopted_.left_of(launch) != Subreaper::Left::some;
    if (is_gone || now_s() >= until) break;
    ::poll(nullptr, 0, 1);
  }
  adopted_.forget(launch);
}

void Peer::send(const protocol::Command& command, Seconds limit_s) {
  const std::string line = protocol::format(command);
  const Seconds until = now_s() + limit_s;
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t count =
        ::send(socket_.get(), line.data() + sent, line.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count >= 0) {
      sent += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN) {
      if (!is_ready(socket_.get(), POLLOUT, left_ms(until)) && now_s() >= until) {
        throw Trouble("it does not read what it is told");
      }
    } else if (errno != EINTR) {
      return;  // it has gone; what it says last tells more
    }
  }
}

bool Peer::read_line(Seconds until) {
  for (;;) {
    // Lines without anything in them are no messages, however many there are.
    unread_.erase(0, std::min(unread_.find_first_not_of(" \t\r\n"), unread_.size()));
    if (unread_.find('\n') != unread_.npos) return true;
    if (now_s() >= until) return false;
    if (unread_.size() >= protocol::max_line_bytes) {
      throw Trouble("it says a line longer than 16 MiB");
    }
    if (!is_ready(socket_.get(), POLLIN, left_ms(until))) continue;
    char block[64 * 1024];
    const ssize_t count = ::recv(socket_.get(), block, sizeof block, MSG_DONTWAIT);
    if (count > 0) {
      unread_.append(block, static_cast<std::size_t>(count));
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
      const auto status = end_within(end_after_hangup_s);
      const bool is_quiet_end = status && status->signal == 0 && status->exit_code == 0;
      throw Trouble((status ? text_of(*status) : "it closed its connection, and lives on") +
                    ", and " + expected_ + " was due" +
                    (is_quiet_end ? " (a run takes that for the end of the trial)" : "") +
                    last_words());
    }
  }
}

Wakeup Peer::next_wakeup(Seconds limit_s) {
  if (!read_line(now_s() + limit_s)) {
    throw Trouble(expected_ + " did not come within " + show(limit_s) + last_words());
  }
  const std::size_t end = unread_.find('\n');
  std::string line = unread_.substr(0, end);
  unread_.erase(0, end + 1);
  const std::size_t bytes = line.size();
  line.append(MessageParser::padding_bytes, ' ');
  Wakeup heard = parser_.parse(LaunchId{}, std::string_view(line).substr(0, bytes));
  if (const auto* const faulted = std::get_if<Faulted>(&heard)) {
    constexpr std::string_view not_ours = "not the protocol: ";
    const bool is_garbage = faulted->reason.starts_with(not_ours);
    throw Trouble(is_garbage ? "it sent a line that is " +
                                   clean_text(faulted->reason.substr(not_ours.size(), 500)) +
                                   " (what it prints belongs on standard output)"
                             : "it said: " + clean_text(faulted->reason.substr(0, 500)));
  }
  return heard;
}

Trouble Peer::unexpected(const Wakeup& heard, const char* wanted) {
  return Trouble(std::string("it said ") + kind_of(heard) + " where " + wanted + " was due");
}

std::optional<std::string> Peer::breaks_silence(Seconds seconds) {
  expect("nothing");
  if (!read_line(now_s() + seconds)) return std::nullopt;
  return kind_of(next_wakeup(seconds));
}

std::optional<ExitStatus> Peer::end_within(Seconds seconds) {
  const Seconds until = now_s() + seconds;
  for (;;) {
    if (const auto status = process_.ended()) return status;
    if (now_s() >= until) return std::nullopt;
    // What it still says is read, so that it does not wait for that.
    char block[64 * 1024];
    while (socket_ && ::recv(socket_.get(), block, sizeof block, MSG_DONTWAIT) > 0) {
    }
    is_ready(process_.pidfd(), POLLIN, std::min(left_ms(until), look_ms));
  }
}

void Peer::kill() {
  process_.signal(SIGKILL);
  end_within(end_after_hangup_s);
}

std::string Peer::last_words() const {
  const ErrorLine said = error_line(log_tail(log_, 0));
  if (said.text.empty()) return "";
  return (said.is_last ? "; its stderr ends with: " : "; its stderr says: ") + said.text;
}

std::string text_of(const ExitStatus& status) {
  if (status.signal != 0) {
    return "it was killed by signal " + std::to_string(status.signal) + " (" +
           strsignal(status.signal) + ")";
  }
  return "it exited with code " + std::to_string(status.exit_code);
}

}  // namespace tune
