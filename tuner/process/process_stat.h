// What /proc says of a process that need not be ours.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tune {

struct ProcessStat {
  char state = '?';  ///< R, S, D ...; Z: dead and not yet reaped
  pid_t group = 0;
  bool is_exiting = false;        ///< it runs no program any more: no memory, no environment
  std::uint64_t start_ticks = 0;  ///< clock ticks since boot: a pid is used again, this is not

  double cpu_s = 0;  ///< processor time of all its threads

  std::uint64_t handled = 0;  ///< bit n - 1: it has a handler for signal n

  bool handles(int signal) const { return (handled >> (signal - 1) & 1) != 0; }
  bool is_dead() const { return state == 'Z' || state == 'X'; }
};

/// Nothing if there is no such process, or /proc does not show it.
std::optional<ProcessStat> read_process_stat(pid_t pid);

/// The variables ("NAME=value") that it was started with; empty if they cannot be read: another
/// user's process, a dead one, or one that has overwritten them.
std::vector<std::string> read_environment(pid_t pid);

/// The value of `name` in variables of the form "NAME=value".
std::optional<std::string_view> find_variable(const std::vector<std::string>& variables,
                                              std::string_view name);

/// The children of this process, the dead ones that nobody has reaped included, among which are all
/// that it has not started itself: those of the thread that the kernel gives orphans to, mostly the
/// first. Nothing if /proc does not show this process, or shows another namespace's numbers.
std::optional<std::vector<pid_t>> adopted_children();

/// The Python packages whose libraries it has in memory, those that take most of it first, and only
/// those that count beside that: what takes long to import. Empty if it cannot be looked at.
std::vector<std::string> python_packages(pid_t pid);

/// All processes that /proc shows.
std::vector<pid_t> all_processes();

/// Whether anything in the process group still runs. What is dead and not yet reaped does not.
bool group_runs(pid_t group);

}  // namespace tune
