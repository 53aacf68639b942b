// The kernel names the children of a process, so that nobody has to look through all processes.
// A dead one has no environment any more: whose it was is remembered from when it was seen alive.
#include "tuner/process/subreaper.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "tuner/process/process_stat.h"

namespace tune {
namespace {

/// Each may bring to light children of what was reaped in the one before; chains are short.
constexpr int most_looks = 64;

enum class ChildLife { gone, dead, alive };

/// Of a child. Not by its state in /proc, where a process whose first thread has ended looks dead.
ChildLife child_life(pid_t pid) {
  siginfo_t info{};
  const int flags = WEXITED | WNOHANG | WNOWAIT | __WALL;
  if (::waitid(P_PID, static_cast<id_t>(pid), &info, flags) != 0) return ChildLife::gone;
  return info.si_pid != 0 ? ChildLife::dead : ChildLife::alive;
}

void reap(pid_t pid) {
  siginfo_t ignored{};
  (void)::waitid(P_PID, static_cast<id_t>(pid), &ignored, WEXITED | WNOHANG | __WALL);
}

/// It may be about to run its first program.
bool is_young(const ProcessStat& stat) {
  timespec now{};
  if (::clock_gettime(CLOCK_BOOTTIME, &now) != 0) return false;
  const auto ticks_a_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  return static_cast<std::uint64_t>(now.tv_sec) <= stat.start_ticks / ticks_a_second + 1;
}

/// The number behind `prefix`, of a word of the variable that is nothing else.
std::optional<std::uint64_t> number_in(std::string_view value, std::string_view prefix) {
  while (!value.empty()) {
    const auto word = value.substr(0, value.find(' '));
    value.remove_prefix(std::min(word.size() + 1, value.size()));
    if (!word.starts_with(prefix)) continue;
    std::uint64_t number = 0;
    const char* const end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data() + prefix.size(), end, number);
    if (error == std::errc() && stop == end) return number;
  }
  return std::nullopt;
}

/// What begins the words of this process alone.
std::string process_prefix() {
  const auto self = read_process_stat(::getpid());
  return std::to_string(::getpid()) + "." + std::to_string(self ? self->start_ticks : 0) + ".";
}

std::string next_prefix() {
  static std::atomic<unsigned> counter = 0;
  return process_prefix() + std::to_string(counter++) + ".";
}

/// Of one that this process has started, directly or not.
bool is_of_side_program(std::string_view value) {
  static const std::string prefix = process_prefix();
  static const std::string end = std::string(".") + side_launch;
  while (!value.empty()) {
    const auto word = value.substr(0, value.find(' '));
    value.remove_prefix(std::min(word.size() + 1, value.size()));
    if (word.starts_with(prefix) && word.ends_with(end)) return true;
  }
  return false;
}

}  // namespace

std::string side_word() { return next_prefix() + side_launch; }

std::string mark_of(const std::string& word) {
  const char* const outer = std::getenv(launch_variable);
  return outer != nullptr ? outer + (" " + word) : word;
}

std::uint64_t LivingServers::add() {
  const std::lock_guard lock(mutex_);
  living_.insert(++last_);
  return last_;
}

void LivingServers::remove(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  living_.erase(number);
}

bool LivingServers::has(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  return living_.contains(number);
}

Subreaper::Subreaper() : prefix_(next_prefix()), session_(::getsid(0)) {
  for (const pid_t pid : adopted_children().value_or(std::vector<pid_t>())) {
    seen_.emplace(pid, Owner{Owner::Kind::program, {}});
  }
}

std::string Subreaper::variable(LaunchId launch) const {
  return launch_variable +
         ("=" + mark_of(prefix_ + std::to_string(static_cast<std::uint64_t>(launch))));
}

void Subreaper::expect(LaunchId launch, bool is_forked) {
  launches_.emplace(launch, Known{.is_forked = is_forked});
  awaited_forks_ += is_forked ? 1 : 0;
}

void Subreaper::began(LaunchId launch, pid_t leader) {
  settle_fork(launches_[launch]);
  launches_[launch].leader = leader;
  leaders_.insert_or_assign(leader, launch);
}

void Subreaper::ended(LaunchId launch) {
  settle_fork(launches_[launch]);
  launches_[launch].ended = true;
}

void Subreaper::forget(LaunchId launch) {
  const auto known = launches_.find(launch);
  if (known == launches_.end()) return;
  settle_fork(known->second);
  leaders_.erase(known->second.leader);
  launches_.erase(known);
}

Subreaper::Left Subreaper::left_of(LaunchId launch) const {
  const auto known = launches_.find(launch);
  return known == launches_.end() ? Left::nothing : known->second.left;
}

std::size_t Subreaper::running_of(LaunchId launch) const {
  const auto children = adopted_children();
  if (!children) return 0;
  return static_cast<std::size_t>(std::count_if(children->begin(), children->end(), [&](pid_t pid) {
    if (leaders_.contains(pid) || child_life(pid) != ChildLife::alive) return false;
    const Owner owner = owner_of(pid, false);
    return owner.kind == Owner::Kind::launch && owner.launch == launch;
  }));
}

void Subreaper::look() {
  for (int looks = 0; look_once() && looks < most_looks; ++looks) {
  }
}

/// True if what was reaped may have left children, which are this process's by now.
bool Subreaper::look_once() {
  const auto children = adopted_children();
  if (!children) return false;
  for (auto& [launch, known] : launches_) known.left = Left::nothing;
  is_left_of_servers_ = false;
  std::unordered_map<pid_t, Owner> seen;
  bool again = false;
  for (const pid_t pid : *children) {
    if (leaders_.contains(pid)) continue;
    const ChildLife life = child_life(pid);
    if (life == ChildLife::gone) continue;
    const Owner owner = owner_of(pid, life == ChildLife::dead);
    const bool is_trials = owner.kind == Owner::Kind::launch || owner.kind == Owner::Kind::nobody;
    // It may be a leader that nobody has told of yet, whose end is to be read by who launched it.
    if (life == ChildLife::dead && owner.kind == Owner::Kind::nobody && awaited_forks_ > 0)
      continue;
    if (life == ChildLife::dead && is_trials) {
      reap(pid);
      again = true;
      continue;
    }
    if (owner.kind == Owner::Kind::mute) {
      for (auto& [launch, known] : launches_) known.left = Left::some;
      continue;
    }
    if (owner.kind == Owner::Kind::server) {
      end_if_left(pid, owner.server);  // and is asked anew each time: it may have become a trial
      continue;
    }
    if (owner.kind != Owner::Kind::unknown) seen.emplace(pid, owner);
    if (life == ChildLife::alive && owner.kind == Owner::Kind::launch)
      end_if_over(pid, owner.launch);
  }
  seen_ = std::move(seen);
  return again;
}

Subreaper::Owner Subreaper::owner_of(pid_t pid, bool is_dead) const {
  const auto leader = leaders_.find(::getpgid(pid));
  if (leader != leaders_.end()) return {Owner::Kind::launch, leader->second};
  const auto before = seen_.find(pid);
  if (before != seen_.end()) return before->second;
  // Whoever waits for its own children mostly leaves them where they are.
  if (is_dead) {
    const bool is_apart = ::getsid(pid) != session_ || ::getpgid(pid) != ::getpgrp();
    return {is_apart ? Owner::Kind::nobody : Owner::Kind::unknown, {}};
  }
  const auto variables = read_environment(pid);
  if (variables.empty()) {
    // Another user's, one without any; or one that is just ending, or becoming another program.
    const auto stat = read_process_stat(pid);
    const bool is_between = stat && (stat->is_exiting || is_young(*stat));
    const bool is_mute = is_between && stat->group != ::getpgrp();
    return {is_mute ? Owner::Kind::mute : Owner::Kind::unknown, {}};
  }
  const auto value = find_variable(variables, launch_variable);
  if (!value) return {Owner::Kind::program, {}};
  if (const auto number = number_in(*value, prefix_)) {
    // One that is being launched is the launcher's until it is told: perhaps this is its leader.
    const LaunchId launch{*number};
    const auto known = launches_.find(launch);
    if (known != launches_.end() && known->second.leader == 0) return {};
    return {Owner::Kind::launch, launch};
  }
  if (const auto server = number_in(*value, prefix_ + server_launch)) {
    return {Owner::Kind::server, {}, *server};
  }
  if (is_of_side_program(*value)) return {Owner::Kind::nobody, {}};
  return {Owner::Kind::program, {}};
}

void Subreaper::settle_fork(Known& launch) {
  if (std::exchange(launch.is_forked, false)) --awaited_forks_;
}

/// What is about to be a trial is not, though its server is gone.
void Subreaper::end_if_left(pid_t pid, std::uint64_t server) {
  if (awaited_forks_ > 0 || servers_.has(server)) return;
  is_left_of_servers_ = ::kill(pid, SIGKILL) == 0 || is_left_of_servers_;
}

void Subreaper::end_if_over(pid_t pid, LaunchId launch) {
  const auto known = launches_.find(launch);
  if (known != launches_.end() && !known->second.ended) return;
  // A child's number is its own until it is reaped, which nobody else does.
  const bool is_allowed = ::kill(pid, SIGKILL) == 0 || errno != EPERM;
  if (known == launches_.end()) return;
  known->second.left = std::max(known->second.left, is_allowed ? Left::some : Left::others);
}

}  // namespace tune
