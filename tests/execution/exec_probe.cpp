// A small program to be launched: what it finds and how it behaves is chosen by its arguments.
// Knows nothing of the driver but the socket on descriptor 3.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

namespace {

constexpr int socket_fd = 3;

void say(const std::string& text) {
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t count = ::send(socket_fd, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count < 0) std::exit(90);
    sent += static_cast<std::size_t>(count);
  }
}

const std::string hello = R"({"type":"hello","protocol":1,"api":"class"})"
                          "\n";

std::string result(const std::string& name, std::size_t value) {
  return R"({"type":"result","metrics":{")" + name + "\":" + std::to_string(value) + "}}\n";
}

/// A hello, and the number of another process as a result that nobody has asked for.
std::string hello_beside(pid_t other) {
  return hello + result("pid", static_cast<std::size_t>(other));
}

/// False at the end of the worker group.
bool read_line(std::string& line) {
  static std::string rest;
  std::size_t end = 0;
  while ((end = rest.find('\n')) == rest.npos) {
    char buffer[65536];
    const ssize_t count = ::read(socket_fd, buffer, sizeof buffer);
    if (count <= 0) return false;
    rest.append(buffer, static_cast<std::size_t>(count));
  }
  line = rest.substr(0, end);
  rest.erase(0, end + 1);
  return true;
}

[[noreturn]] void stay_forever() {
  for (;;) ::pause();
}

void until_told() {
  std::string line;
  read_line(line);
}

int describe() {
  int oom_score_adj = 0;
  std::ifstream("/proc/self/oom_score_adj") >> oom_score_adj;
  std::cout << "oom_score_adj " << oom_score_adj << "\ndescriptors";
  for (int fd = 0; fd < 1024; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) std::cout << ' ' << fd;
  }
  int death_signal = 0;
  ::prctl(PR_GET_PDEATHSIG, &death_signal);
  char place[4096];
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  std::cout << "\ndescriptor_limit " << limit.rlim_cur;
  std::cout << "\ndeath_signal " << death_signal << "\nleads_group "
            << (::getpgrp() == ::getpid() ? "yes" : "no") << "\ndirectory "
            << ::getcwd(place, sizeof place) << '\n';
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("SigBlk") || line.starts_with("SigIgn")) std::cout << line << '\n';
  }
  char byte = 0;
  std::cout << "stdin " << ::read(0, &byte, 1) << '\n';
  return 0;
}

int have_grandchild() {
  const pid_t grandchild = ::fork();
  if (grandchild == 0) stay_forever();
  say(hello_beside(grandchild));
  until_told();
  return 0;
}

/// Neither it nor its child ends by anything but SIGKILL; says the child's number.
int have_stubborn_grandchild() {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::signal(signal, SIG_IGN);
  const pid_t grandchild = ::fork();
  if (grandchild == 0) stay_forever();
  std::cout << grandchild << std::endl;
  say(hello_beside(grandchild));
  stay_forever();
}

/// A process of a session of its own, whose parent has ended.
pid_t start_daemon(bool ends_at_once) {
  int ends[2];
  if (::pipe(ends) != 0) std::exit(93);
  const pid_t parent = ::fork();
  if (parent == 0) {
    ::setsid();
    const pid_t daemon = ::fork();
    if (daemon != 0) ::_exit(::write(ends[1], &daemon, sizeof daemon) == sizeof daemon ? 0 : 94);
    ::close(socket_fd);
    if (ends_at_once) ::_exit(0);
    stay_forever();
  }
  pid_t daemon = 0;
  if (::read(ends[0], &daemon, sizeof daemon) != sizeof daemon) std::exit(95);
  ::waitpid(parent, nullptr, 0);
  ::close(ends[0]);
  ::close(ends[1]);
  return daemon;
}

int have_daemon() {
  say(hello_beside(start_daemon(false)));
  until_told();
  return 0;
}

/// Of which nothing runs any more when it says hello.
int have_had_daemons(int count) {
  for (int i = 0; i < count; ++i) {
    const pid_t daemon = start_daemon(true);
    const auto state = [&] {
      std::ifstream stat("/proc/" + std::to_string(daemon) + "/stat");
      std::string text{std::istreambuf_iterator<char>(stat), {}};
      return text.empty() ? 'X' : text[text.rfind(')') + 2];
    };
    while (state() != 'Z' && state() != 'X') ::usleep(1000);
  }
  say(hello);
  until_told();
  return 0;
}

int leave_group() {
  const pid_t other = ::fork();
  if (other == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::setpgid(0, 0);
    stay_forever();
  }
  while (::setpgid(0, other) != 0) {  // until it has made its group
  }
  say(hello);
  stay_forever();
}

int answer_steps() {
  say(hello);
  std::size_t steps = 0;
  for (std::string line; read_line(line);) {
    if (line.find("\"stop\"") != line.npos) return 0;
    say(result("steps", ++steps));
  }
  return 91;
}

/// Reads nothing before SIGUSR2, and then tells the length of the first line.
int read_late() {
  sigset_t late;
  sigemptyset(&late);
  sigaddset(&late, SIGUSR2);
  ::sigprocmask(SIG_BLOCK, &late, nullptr);
  say(hello);
  int signal = 0;
  ::sigwait(&late, &signal);
  std::string line;
  read_line(line);
  say(result("bytes", line.size()));
  until_told();
  return 0;
}

int flood(std::size_t count) {
  std::string lines;
  for (std::size_t i = 0; i < count; ++i) {
    lines += result("i", i);
    if (lines.size() > 60'000 || i + 1 == count) {
      say(lines);
      lines.clear();
    }
  }
  return 0;
}

int long_line(std::size_t bytes) {
  const std::string piece(1024 * 1024, 'x');
  for (std::size_t sent = 0; sent < bytes; sent += piece.size()) say(piece);
  say("\n");
  return 0;
}

int alternate(int count) {
  for (int i = 0; i < count; ++i) {
    const std::string line = std::to_string(i) + "\n";
    if (::write(i % 2 == 0 ? 1 : 2, line.data(), line.size()) < 0) return 92;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv, argv + argc);
  const std::string mode = argc > 1 ? arguments[1] : "";
  const std::string value = argc > 2 ? arguments[2] : "";
  if (mode == "describe") return describe();
  if (mode == "exit") return std::stoi(value);
  if (mode == "die") return ::raise(std::stoi(value));
  if (mode == "print-environment") {
    for (char** variable = environ; *variable != nullptr; ++variable) std::puts(*variable);
    return 0;
  }
  if (mode == "print-arguments") {
    for (const auto& argument : arguments) std::puts(argument.c_str());
    return 0;
  }
  if (mode == "alternate") return alternate(std::stoi(value));
  if (mode == "say") say(value);
  if (mode == "say-and-stay") {
    say(value);
    stay_forever();
  }
  if (mode == "answer-steps") return answer_steps();
  if (mode == "read-late") return read_late();
  if (mode == "flood") return flood(std::stoul(value));
  if (mode == "long-line") return long_line(std::stoul(value));
  if (mode == "hang-up") {
    ::close(socket_fd);
    stay_forever();
  }
  if (mode == "grandchild") return have_grandchild();
  if (mode == "stubborn-grandchild") return have_stubborn_grandchild();
  if (mode == "daemon") return have_daemon();
  if (mode == "had-daemons") return have_had_daemons(std::stoi(value));
  if (mode == "leave-group") return leave_group();
  if (mode == "until-told") until_told();
  if (mode == "stay") stay_forever();
  return 0;
}
