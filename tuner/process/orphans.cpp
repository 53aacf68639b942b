// The mark is looked for in all of /proc, because the journal cannot name everything: a driver may
// die before it has recorded a process, and a process's own children outlive it.
#include "tuner/process/orphans.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <functional>
#include <map>

#include "trainable/protocol.h"
#include "tuner/disk/file_descriptor.h"
#include "tuner/process/process_stat.h"
#include "tuner/process/subreaper.h"

namespace tune {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

struct Orphan {
  pid_t pid = 0;
  FileDescriptor pidfd;  ///< none where the kernel, or a container, does not give any
  std::uint64_t start_ticks = 0;
  std::string of;  ///< whose it is, for people
};

bool runs(pid_t pid, std::uint64_t start_ticks) {
  const auto stat = read_process_stat(pid);
  return stat && !stat->is_dead() && stat->start_ticks == start_ticks;
}

bool has_ended(const Orphan& orphan) {
  if (!orphan.pidfd) return !runs(orphan.pid, orphan.start_ticks);
  pollfd ended{orphan.pidfd.get(), POLLIN, 0};
  return ::poll(&ended, 1, 0) > 0;
}

void end(const Orphan& orphan) {
  if (orphan.pidfd &&
      ::syscall(SYS_pidfd_send_signal, orphan.pidfd.get(), SIGKILL, nullptr, 0) == 0) {
    return;
  }
  // A number is given again only after all others, so hardly between these two lines.
  if (runs(orphan.pid, orphan.start_ticks)) ::kill(orphan.pid, SIGKILL);
}

/// Whether somebody with these variables is meant.
using Environment = std::vector<std::string>;
using IsMeant = std::function<bool(const Environment&)>;

/// The process, if it is meant and lives.
std::optional<Orphan> as_orphan(pid_t pid, const IsMeant& is_meant) {
  if (pid <= 1 || pid == ::getpid()) return std::nullopt;
  // Before anything else is read: that is then this process's, or it has ended by what was taken.
  Orphan orphan{.pid = pid,
                .pidfd = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)))};
  const auto stat = read_process_stat(pid);
  if (!stat) return std::nullopt;
  orphan.start_ticks = stat->start_ticks;
  const auto variables = read_environment(pid);
  if (!is_meant(variables) || has_ended(orphan)) return std::nullopt;
  const auto part = find_variable(variables, part_variable);
  orphan.of = find_variable(variables, protocol::env_trial_id).value_or(part.value_or("a trial"));
  return orphan;
}

std::vector<Orphan> find_orphans(const IsMeant& is_meant) {
  std::vector<Orphan> orphans;
  for (const pid_t pid : all_processes()) {
    if (auto orphan = as_orphan(pid, is_meant)) orphans.push_back(std::move(*orphan));
  }
  return orphans;
}

/// Not somebody else's process, nor one whose driver lives (of a copy of the directory).
IsMeant left_by_dead_driver_of(const SessionMark& self) {
  return [&self](const Environment& variables) {
    const auto value = find_variable(variables, protocol::env_session);
    const auto mark = value ? parse_session_mark(*value) : std::nullopt;
    return mark && mark->experiment == self.experiment &&
           life_of(mark->driver, self.driver) == Life::dead;
  };
}

IsMeant launched_as(std::string_view word) {
  return [word](const Environment& variables) {
    const auto value = find_variable(variables, launch_variable);
    return value && (" " + std::string(*value) + " ").find(" " + std::string(word) + " ") !=
                        std::string::npos;
  };
}

void wait_for_ends(const std::vector<Orphan>& orphans, SteadyTime until) {
  constexpr int look_again_ms = 10;
  for (const auto& orphan : orphans) {
    while (!orphan.pidfd && !has_ended(orphan) && std::chrono::steady_clock::now() < until) {
      ::poll(nullptr, 0, look_again_ms);
    }
    if (!orphan.pidfd) continue;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd ended{orphan.pidfd.get(), POLLIN, 0};
    ::poll(&ended, 1, std::max(0, static_cast<int>(left.count())));
  }
}

/// "process 12 of trial_00003, process 14 of trial_00004 and 7 more".
std::string names_of(const std::map<pid_t, std::string>& processes) {
  constexpr std::size_t most_named = 5;
  std::string names;
  std::size_t named = 0;
  for (const auto& [pid, trial] : processes) {
    if (named == most_named) break;
    names += (named++ > 0 ? ", " : "") + ("process " + std::to_string(pid)) + " of " + trial;
  }
  const std::size_t rest = processes.size() - named;
  return names + (rest > 0 ? " and " + std::to_string(rest) + " more" : "");
}

}  // namespace

std::string to_text(const SessionMark& mark) {
  const ProcessIdentity& driver = mark.driver;
  std::string text = std::to_string(mark.experiment) + ":" + std::to_string(driver.pid) + ":" +
                     std::to_string(driver.start_ticks) + ":" + driver.host;
  if (!driver.boot.empty()) text += ";boot=" + driver.boot;
  if (driver.pid_namespace != 0) text += ";pid_ns=" + std::to_string(driver.pid_namespace);
  return text;
}

std::optional<SessionMark> parse_session_mark(std::string_view text) {
  SessionMark mark;
  // Without what older programs do not say, the host's name is the rest.
  const auto take_last = [&text](std::string_view name) {
    const auto at = text.rfind(name);
    if (at == text.npos) return std::string_view();
    const auto value = text.substr(at + name.size());
    text = text.substr(0, at);
    return value;
  };
  const auto number = take_last(";pid_ns=");
  std::from_chars(number.data(), number.data() + number.size(), mark.driver.pid_namespace);
  mark.driver.boot = take_last(";boot=");
  const char* const end = text.data() + text.size();
  const char* at = text.data();
  const auto take = [&](auto& value) {
    const auto [stop, error] = std::from_chars(at, end, value);
    if (error != std::errc() || stop == end || *stop != ':') return false;
    at = stop + 1;
    return true;
  };
  if (!take(mark.experiment) || !take(mark.driver.pid) || !take(mark.driver.start_ticks)) {
    return std::nullopt;
  }
  mark.driver.host.assign(at, end);
  return mark;
}

std::vector<std::string> end_orphans(const SessionMark& self,
                                     const std::vector<RecordedProcess>& recorded,
                                     Seconds patience_s) {
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::milliseconds>(
                                             std::chrono::duration<double>(patience_s));
  std::map<pid_t, std::string> ended;
  std::map<pid_t, std::string> left;
  // Until a look finds none: they may start more while they are being ended.
  for (;;) {
    const auto orphans = find_orphans(left_by_dead_driver_of(self));
    left.clear();
    for (const auto& orphan : orphans) {
      left.emplace(orphan.pid, orphan.of);
      ended.emplace(orphan.pid, orphan.of);
      end(orphan);
    }
    if (orphans.empty() || std::chrono::steady_clock::now() >= until) break;
    wait_for_ends(orphans, until);
  }
  std::vector<std::string> sentences;
  for (const auto& [pid, trial] : left) ended.erase(pid);
  if (!ended.empty()) {
    sentences.push_back("ended what an earlier driver had left behind: " + names_of(ended));
  }
  if (!left.empty()) {
    sentences.push_back(
        "an earlier driver has left behind what cannot be ended, and may still "
        "hold devices: " +
        names_of(left));
  }
  for (const auto& process : recorded) {
    if (process.pid <= 1 || left.contains(static_cast<pid_t>(process.pid))) continue;
    const auto pid = static_cast<pid_t>(process.pid);
    if (!runs(pid, process.start_ticks)) continue;
    // Has no environment any more, and ends without anybody: a big one takes seconds to give its
    // memory back.
    if (const auto stat = read_process_stat(pid); !stat || stat->is_exiting) continue;
    sentences.push_back("process " + std::to_string(process.pid) +
                        " has number and start time of what ran " + process.trial +
                        ", but not its environment, and is left alone; if it is that one, end it");
  }
  return sentences;
}

namespace {

void end_all(const IsMeant& is_meant, Seconds patience_s) {
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::milliseconds>(
                                             std::chrono::duration<double>(patience_s));
  // Until a look finds none: they may start more while they are being ended.
  do {
    const auto found = find_orphans(is_meant);
    if (found.empty()) return;
    for (const Orphan& each : found) end(each);
    wait_for_ends(found, until);
    for (const Orphan& each : found) {
      siginfo_t ignored{};
      if (!each.pidfd) continue;
      (void)::waitid(P_PIDFD, static_cast<id_t>(each.pidfd.get()), &ignored,
                     WEXITED | WNOHANG | __WALL);
    }
  } while (std::chrono::steady_clock::now() < until);
}

IsMeant marked_by(const ProcessIdentity& launcher) {
  return [&launcher](const Environment& variables) {
    const auto value = find_variable(variables, protocol::env_session);
    const auto mark = value ? parse_session_mark(*value) : std::nullopt;
    return mark && mark->driver.pid == launcher.pid &&
           mark->driver.start_ticks == launcher.start_ticks &&
           is_same_kernel(mark->driver, launcher) &&
           mark->driver.pid_namespace == launcher.pid_namespace;
  };
}

}  // namespace

void end_launched(std::string_view word, Seconds patience_s) {
  end_all(launched_as(word), patience_s);
}

void end_launched_by(const ProcessIdentity& launcher, Seconds patience_s) {
  end_all(marked_by(launcher), patience_s);
}

}  // namespace tune
