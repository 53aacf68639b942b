// posix_spawn, socketpair, epoll, and nothing between them.
// Knows nothing of the engine.
#include "tests/bench/raw_limits.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <string_view>
#include <system_error>

#include "trainable/protocol.h"

namespace tune::bench {

namespace {

using SteadyClock = std::chrono::steady_clock;

double seconds_since(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

[[noreturn]] void fail(const char* what, int error) {
  throw std::system_error(error, std::generic_category(), what);
}

pid_t spawn(std::vector<std::string> arguments, posix_spawn_file_actions_t* actions) {
  std::vector<char*> argv;
  for (auto& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, argv[0], actions, nullptr, argv.data(), environ);
  if (error != 0) fail("posix_spawn", error);
  return pid;
}

void reap(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) fail("waitpid", errno);
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw std::runtime_error("a process of the raw limit did not end well");
  }
}

struct EchoChild {
  pid_t pid = 0;
  int socket = -1;
  bool has_spoken = false;
};

EchoChild start_echo(std::vector<std::string> arguments) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("socketpair", errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // dup2 of a descriptor to itself would keep its close-on-exec flag in an old C library.
  const int above = ::fcntl(ends[1], F_DUPFD_CLOEXEC, protocol::socket_fd + 1);
  posix_spawn_file_actions_adddup2(&actions, above, protocol::socket_fd);
  EchoChild child{spawn(std::move(arguments), &actions), ends[0]};
  posix_spawn_file_actions_destroy(&actions);
  ::close(above);
  ::close(ends[1]);
  return child;
}

/// Answers every line until the first child is done; the lines per second from the moment when the
/// last child had begun.
class EchoServer {
 public:
  explicit EchoServer(std::vector<EchoChild>& children)
      : children_(children), epoll_(::epoll_create1(EPOLL_CLOEXEC)), block_(64 * 1024) {
    if (epoll_ < 0) fail("epoll_create1", errno);
    for (std::size_t i = 0; i < children_.size(); ++i) {
      epoll_event wanted{};
      wanted.events = EPOLLIN;
      wanted.data.u64 = i;
      if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, children_[i].socket, &wanted) != 0) {
        fail("epoll_ctl", errno);
      }
    }
  }
  ~EchoServer() { ::close(epoll_); }
  EchoServer(const EchoServer&) = delete;
  EchoServer& operator=(const EchoServer&) = delete;

  double run() {
    std::vector<epoll_event> events(children_.size());
    std::size_t open = children_.size();
    while (open > 0) {
      const int ready = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
      if (ready < 0 && errno != EINTR) fail("epoll_wait", errno);
      for (int i = 0; i < ready; ++i) {
        EchoChild& child = children_[events[static_cast<std::size_t>(i)].data.u64];
        if (!answer(child)) --open;
      }
    }
    return rate_;
  }

 private:
  bool answer(EchoChild& child) {
    const ssize_t count = ::recv(child.socket, block_.data(), block_.size(), 0);
    if (count <= 0) {
      if (rate_ == 0 && all_speak_) rate_ = static_cast<double>(lines_) / seconds_since(begin_);
      ::epoll_ctl(epoll_, EPOLL_CTL_DEL, child.socket, nullptr);
      ::close(child.socket);
      return false;
    }
    const std::string_view text(block_.data(), static_cast<std::size_t>(count));
    lines_ += std::count(text.begin(), text.end(), '\n');
    if (text.back() == '\n') ::send(child.socket, step_.data(), step_.size(), MSG_NOSIGNAL);
    if (!std::exchange(child.has_spoken, true) && ++speaking_ == children_.size()) {
      begin_ = SteadyClock::now();
      lines_ = 0;
      all_speak_ = true;
    }
    return true;
  }

  std::vector<EchoChild>& children_;
  int epoll_;
  std::vector<char> block_;
  const std::string step_ = protocol::format(protocol::Step{});
  std::size_t speaking_ = 0;
  bool all_speak_ = false;
  SteadyClock::time_point begin_;
  std::ptrdiff_t lines_ = 0;
  double rate_ = 0;
};

}  // namespace

RawSpawns raw_spawns(const std::string& program, int trials, int in_flight) {
  const auto begin = SteadyClock::now();
  const CpuTime begin_cpu;
  int live = 0;
  for (int started = 0; started < trials || live > 0;) {
    if (started < trials && live < in_flight) {
      spawn({program, "--exit"}, nullptr);
      ++started;
      ++live;
    } else {
      reap(-1);
      --live;
    }
  }
  return {trials / seconds_since(begin), CpuTime{}.since(begin_cpu)};
}

RawEcho raw_echo(const std::string& program, int children, double duration_s,
                 const std::filesystem::path& scratch, int cpu) {
  const auto file = scratch / "raw_latencies.txt";
  std::vector<EchoChild> running;
  for (int i = 0; i < children; ++i) {
    std::vector<std::string> arguments{program, "--echo", std::to_string(duration_s),
                                       std::to_string(cpu)};
    if (children == 1) arguments.push_back(file.string());
    running.push_back(start_echo(std::move(arguments)));
  }
  RawEcho echo;
  echo.per_s = EchoServer(running).run();
  for (const auto& child : running) reap(child.pid);
  if (children == 1) echo.latency_s = read_latencies(file);
  return echo;
}

std::vector<double> read_latencies(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<double> seconds;
  for (double nanoseconds = 0; in >> nanoseconds;) seconds.push_back(nanoseconds * 1e-9);
  if (seconds.empty()) throw std::runtime_error("there are no latencies in " + file.string());
  return seconds;
}

}  // namespace tune::bench
