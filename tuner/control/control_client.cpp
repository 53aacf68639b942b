// Connects to the control socket, sends one request, and waits for the answer with a timeout.
#include "tuner/control/control_client.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <string>

#include "tuner/control/control_address.h"

namespace tune {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// The names of all trials are less.
constexpr std::size_t longest_answer_bytes = std::size_t{64} << 20;

std::string seconds_text(Seconds seconds) { return std::to_string(std::lround(seconds)) + " s"; }

/// False if nothing came in time, or time is up.
bool wait_for_input(int socket, SteadyClock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - SteadyClock::now());
    if (left.count() <= 0) return false;
    pollfd readable{socket, POLLIN, 0};
    const int ready = ::poll(&readable, 1, static_cast<int>(left.count()));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

/// What came; nothing at the connection's end, of whatever kind.
std::string receive(int socket) {
  char block[4096];
  ssize_t count = -1;
  do {
    count = ::recv(socket, block, sizeof block, 0);
  } while (count < 0 && errno == EINTR);
  return {block, static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
}

}  // namespace

std::optional<ControlClient> ControlClient::connect(const std::filesystem::path& directory,
                                                    Seconds patience_s) {
  const ControlAddress address(directory);
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) throw file_error("cannot make a socket for", directory.native(), errno);
  // Otherwise it waits without limit for a stopped driver that has many connections to take.
  const auto whole_s = static_cast<time_t>(patience_s);
  const timeval patience{whole_s, static_cast<suseconds_t>((patience_s - whole_s) * 1e6)};
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  int result = -1;
  do {
    result = ::connect(socket.get(), address.get(), ControlAddress::size);
  } while (result != 0 && errno == EINTR);
  if (result == 0) return ControlClient(std::move(socket));
  if (errno == ENOENT || errno == ECONNREFUSED) return std::nullopt;
  if (errno == EAGAIN) {
    throw NoAnswer("the driver has taken no connection for " + seconds_text(patience_s) +
                   ": is it stopped?");
  }
  throw file_error("cannot connect to", (directory / control_socket_name).native(), errno);
}

ControlAnswer ControlClient::ask(const ControlRequest& request, Seconds patience_s) {
  const std::string line = format(request) + "\n";  // far less than what a socket takes at once
  (void)::send(socket_.get(), line.data(), line.size(), MSG_NOSIGNAL);
  const auto until = SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(
                                              std::chrono::duration<double>(patience_s));
  std::string answer;
  std::size_t end = answer.npos;
  while (end == answer.npos) {
    if (!wait_for_input(socket_.get(), until)) {
      throw NoAnswer("the driver has not answered for " + seconds_text(patience_s) +
                     ": is it stopped?");
    }
    const std::string more = receive(socket_.get());
    if (more.empty()) throw machine_error("the driver has left before it answered");
    const std::size_t old_size = answer.size();
    answer += more;
    end = answer.find('\n', old_size);
    if (answer.size() > longest_answer_bytes) throw NoAnswer("the driver's answer has no end");
  }
  try {
    return parse_control_answer(answer.substr(0, end));
  } catch (const std::invalid_argument& error) {
    throw NoAnswer(std::string("cannot understand the driver's answer: ") + error.what());
  }
}

void ControlClient::wait_for_end() {
  while (!receive(socket_.get()).empty()) {
  }
}

}  // namespace tune
