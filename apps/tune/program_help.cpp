// Runs a program with --help in a process group of its own, with a time limit and a size limit, and
// kills the group at the end.
#include "apps/tune/program_help.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string_view>

#include "apps/tune/output.h"
#include "tuner/base/error.h"
#include "tuner/base/quoted.h"
#include "tuner/disk/file_descriptor.h"

extern char** environ;

namespace tune {

namespace {

using Steady = std::chrono::steady_clock;

/// While it lives, interrupts wait here: a group of its own does not hear the terminal's, so
/// whoever starts one has to end it.
class HeldInterrupts {
 public:
  HeldInterrupts() {
    ::sigemptyset(&wanted_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&wanted_, signal);
    ::pthread_sigmask(SIG_BLOCK, &wanted_, &before_);
    descriptor_ = FileDescriptor(::signalfd(-1, &wanted_, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  /// What has come while they were held comes now, and ends us.
  ~HeldInterrupts() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  HeldInterrupts(const HeldInterrupts&) = delete;
  HeldInterrupts& operator=(const HeldInterrupts&) = delete;

  int descriptor() const { return descriptor_.get(); }
  const sigset_t& before() const { return before_; }

 private:
  sigset_t wanted_{};
  sigset_t before_{};
  FileDescriptor descriptor_;
};

std::string command_line_of(const std::vector<std::string>& argv) {
  std::string text;
  for (const auto& word : argv) text += (text.empty() ? "" : " ") + shell_word(word);
  return text;
}

/// Our environment, with a wide page without colours: names and what is said of them stand in fewer
/// lines then.
std::vector<std::string> environment_for_help() {
  constexpr std::array<std::string_view, 4> ours = {"COLUMNS=160", "NO_COLOR=1", "TERM=dumb",
                                                    "PYTHONIOENCODING=utf-8"};
  std::vector<std::string> all(ours.begin(), ours.end());
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const auto is_same = [&](std::string_view mine) {
      return text.starts_with(mine.substr(0, mine.find('=') + 1));
    };
    if (std::none_of(ours.begin(), ours.end(), is_same)) all.emplace_back(text);
  }
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Error (user) if it cannot be started.
pid_t start_with_output(std::vector<std::string> argv, int output, const sigset_t& mask) {
  std::vector<std::string> environment = environment_for_help();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  posix_spawn_file_actions_adddup2(&actions, output, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setsigmask(&attributes, &mask);
  sigset_t ignored_by_us;
  ::sigemptyset(&ignored_by_us);
  for (const int signal : {SIGPIPE, SIGXFSZ}) ::sigaddset(&ignored_by_us, signal);
  posix_spawnattr_setsigdefault(&attributes, &ignored_by_us);
  pid_t pid = 0;
  const int failed = ::posix_spawnp(&pid, argv.front().c_str(), &actions, &attributes,
                                    pointers_to(argv).data(), pointers_to(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failed != 0) {
    throw user_error("cannot start " + as_quoted(argv.front()) + ": " + std::strerror(failed));
  }
  return pid;
}

/// Takes what is there; false at its end, or once that is enough.
bool take_output(int descriptor, std::string& text) {
  std::array<char, 16384> block;
  while (text.size() < most_help_bytes) {
    const ssize_t count = ::read(descriptor, block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN;
    if (count == 0) return false;
    text.append(block.data(), static_cast<std::size_t>(count));
  }
  text.resize(most_help_bytes);
  return false;
}

}  // namespace

Printed printed_by(const std::vector<std::string>& argv, Seconds limit_s) {
  constexpr std::chrono::milliseconds silence(1500);
  const auto begin = Steady::now();
  const auto until =
      begin + std::chrono::duration_cast<Steady::duration>(std::chrono::duration<double>(limit_s));
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw file_error("cannot make", "a pipe", errno);
  const FileDescriptor ours(ends[0]);
  FileDescriptor theirs(ends[1]);
  ::fcntl(ours.get(), F_SETFL, O_NONBLOCK);
  const HeldInterrupts interrupts;
  const pid_t pid = start_with_output(argv, theirs.get(), interrupts.before());
  theirs = FileDescriptor();
  // What it starts may hold its output open: the end is the end of the program itself.
  const FileDescriptor ended(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  Printed printed;
  bool is_over = false;
  bool has_said = false;
  std::array<pollfd, 3> wanted = {
      {{ours.get(), POLLIN, 0}, {ended.get(), POLLIN, 0}, {interrupts.descriptor(), POLLIN, 0}}};
  while (!is_over) {
    const auto next = has_said ? until : std::min(until, begin + silence);
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(next - Steady::now()).count();
    const int ready = ::poll(wanted.data(), wanted.size(), static_cast<int>(std::max(left, 0L)));
    if (ready < 0 && errno != EINTR) break;
    if (ready <= 0) {
      printed.is_late = Steady::now() >= until;
      is_over = printed.is_late;
      if (!is_over && !has_said && ready == 0) {
        has_said = true;
        char limit[32];
        std::snprintf(limit, sizeof limit, "%.6g", limit_s);
        print_notice("waiting for " + command_line_of(argv) + ", at most " + limit + " s");
      }
      continue;
    }
    is_over = wanted[1].revents != 0 || wanted[2].revents != 0;
    // Its output may be closed, or enough, while it goes on.
    if (!take_output(ours.get(), printed.text)) {
      wanted[0].fd = -1;
      printed.is_cut = printed.text.size() >= most_help_bytes;
      is_over = is_over || printed.is_cut;
    }
  }
  ::kill(-pid, SIGKILL);  // it has ended, has said enough, or is too late
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  printed.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  printed.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return printed;
}

}  // namespace tune
