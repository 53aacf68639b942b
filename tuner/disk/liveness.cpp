// Compares boot id, pid namespace and start ticks from /proc, so that a reused pid is not taken for
// the old process.
#include "tuner/disk/liveness.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tuner/base/error.h"

namespace tune {

namespace {

std::string directory_of(const std::string& process) { return "/proc/" + process; }

std::string first_line(const char* file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

std::optional<std::uint64_t> start_ticks_of(const std::string& process) {
  std::ifstream in(directory_of(process) + "/stat");
  // Whoever dies between the opening and the reading is an error of reading, and no exception here.
  std::ostringstream read;
  read << in.rdbuf();
  const std::string stat = read.str();
  // The second field is the program's name in brackets, and may hold anything, brackets too.
  const std::size_t bracket = stat.rfind(')');
  if (bracket == std::string::npos) return std::nullopt;
  std::istringstream fields(stat.substr(bracket + 1));
  std::string field;
  for (int number = 3; number <= 22; ++number) {
    fields >> field;
    if (number == 3 && (field == "Z" || field == "X")) return std::nullopt;
  }
  if (!fields) return std::nullopt;
  return std::stoull(field);
}

/// 0 if it cannot be seen.
std::uint64_t pid_namespace_of(const std::string& process) {
  struct stat status {};
  if (::stat((directory_of(process) + "/ns/pid").c_str(), &status) != 0) return 0;
  return status.st_ino;
}

/// The number that a process has in its own namespace; 0 if it cannot be seen.
std::int64_t own_pid_of(const std::string& process) {
  std::ifstream in(directory_of(process) + "/status");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("NSpid:")) continue;
    std::istringstream numbers(line.substr(6));  // from this namespace down to its own
    std::int64_t pid = 0;
    while (numbers >> pid) {
    }
    return pid;
  }
  return 0;
}

/// A new namespace may still see the /proc of the one around it, where its pids are others'.
bool is_proc_of_this_namespace() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self", ignored) == std::to_string(::getpid());
}

bool is_number(const std::string& name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Life life_in_this_namespace(const ProcessIdentity& process) {
  if (const auto ticks = process_start_ticks(process.pid)) {
    return *ticks == process.start_ticks ? Life::running : Life::dead;
  }
  // Not shown running in /proc: dead, or waiting to be reaped, or hidden from us as another user's.
  const bool is_shown = std::filesystem::exists(directory_of(std::to_string(process.pid)));
  const bool is_hidden =
      !is_shown && ::kill(static_cast<pid_t>(process.pid), 0) == -1 && errno == EPERM;
  return is_hidden ? Life::running : Life::dead;
}

/// Looks at all that /proc shows: processes of the namespace that it belongs to, and of those
/// below. A process whose namespace is not known is looked for in each.
Life life_in_any_namespace(const ProcessIdentity& process) {
  const bool is_namespace_known = process.pid_namespace != 0;
  bool is_namespace_seen = !is_namespace_known;
  std::error_code ignored;
  std::filesystem::directory_iterator entry("/proc", ignored);
  for (; entry != std::filesystem::directory_iterator(); entry.increment(ignored)) {
    const std::string name = entry->path().filename().native();
    if (!is_number(name)) continue;
    if (is_namespace_known && pid_namespace_of(name) != process.pid_namespace) continue;
    is_namespace_seen = true;
    if (start_ticks_of(name) == process.start_ticks && own_pid_of(name) == process.pid) {
      return Life::running;
    }
  }
  return is_namespace_seen ? Life::dead : Life::unknown;
}

Seconds clock_s(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<Seconds>(time.tv_sec) + static_cast<Seconds>(time.tv_nsec) * 1e-9;
}

}  // namespace

ProcessIdentity this_identity() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const auto ticks = start_ticks_of("self");
  if (!ticks) throw machine_error("cannot read /proc/self/stat: is /proc mounted?");
  return {host.data(), ::getpid(), *ticks, first_line("/proc/sys/kernel/random/boot_id"),
          pid_namespace_of("self")};
}

std::optional<std::uint64_t> process_start_ticks(std::int64_t pid) {
  return start_ticks_of(std::to_string(pid));
}

bool is_same_kernel(const ProcessIdentity& a, const ProcessIdentity& b) {
  return a.boot.empty() || b.boot.empty() ? a.host == b.host : a.boot == b.boot;
}

Life life_of(const ProcessIdentity& process, const ProcessIdentity& self,
             std::optional<Seconds> last_sign) {
  if (!is_same_kernel(process, self)) {
    const bool was_before_this_boot = process.host == self.host && last_sign &&
                                      *last_sign < clock_s(CLOCK_REALTIME) - seconds_since_boot();
    return was_before_this_boot ? Life::dead : Life::unknown;
  }
  const bool is_shown_by_pid =
      process.pid_namespace == 0 || self.pid_namespace == 0 ||
      (process.pid_namespace == self.pid_namespace && is_proc_of_this_namespace());
  if (!is_shown_by_pid) return life_in_any_namespace(process);
  const Life life = life_in_this_namespace(process);
  const bool is_elsewhere_perhaps = life == Life::dead && process.pid_namespace == 0;
  return is_elsewhere_perhaps ? life_in_any_namespace(process) : life;
}

Seconds seconds_since_boot() { return clock_s(CLOCK_BOOTTIME); }

}  // namespace tune
