// The lock file: made by one, refused to all others, taken over from a dead owner by exactly one.
// Knows nothing of what it protects.
#include "tuner/store/lock.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "trainable/values.h"
#include "tuner/core/error.h"
#include "tuner/core/whole_number.h"

namespace tune {

namespace {

using std::filesystem::path;

std::string to_text(const LockOwner& owner) {
  const Json json = {{"host", owner.host},
                     {"pid", owner.pid},
                     {"start_ticks", owner.start_ticks},
                     {"since", owner.since}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

LockOwner parse_owner(const path& file, const std::string& text) {
  const auto refuse = [&] {
    return user_error("the lock " + file.native() +
                      " does not say who holds it (the machine may have gone down while it was "
                      "written); if no driver runs there, remove that file");
  };
  try {
    const Json json = Json::parse(text);
    return {json.at("host").get<std::string>(), load_whole<std::int64_t>(json.at("pid")),
            load_whole<std::uint64_t>(json.at("start_ticks")), json.at("since").get<Seconds>()};
  } catch (const Json::exception&) {
    throw refuse();
  } catch (const std::invalid_argument&) {
    throw refuse();
  }
}

/// What the file holds; nothing if it is not there (any more).
std::optional<std::string> read_if_there(FileSystem& files, const path& file) {
  // It may be gone when it is read and there again when that is asked for: others come and go.
  for (int tries_left = 20;; --tries_left) {
    try {
      return files.read(file);
    } catch (const Error&) {
      if (!files.exists(file)) return std::nullopt;
      if (tries_left == 0) throw;
    }
  }
}

/// Removes the file if it holds `content`. An error leaves it there: a dead owner's, soon.
void remove_if(FileSystem& files, const path& file, const std::string& content) noexcept {
  try {
    if (read_if_there(files, file) == content) files.remove_file(file);
  } catch (const Error&) {
  }
}

std::string utc(Seconds unix_time) {
  const auto seconds = static_cast<std::time_t>(std::floor(unix_time));
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text.data();
}

Error refused(const path& file, const LockOwner& owner, const std::string& here) {
  return user_error(
      "experiment " + file.parent_path().native() + " is driven by pid " +
      std::to_string(owner.pid) + " on host " + owner.host + " since " + utc(owner.since) +
      (owner.host == here
           ? "; tune pause " + file.parent_path().native() + " makes it leave"
           : "; whether it still runs can only be seen there (ps -p " + std::to_string(owner.pid) +
                 "): if that driver is surely gone, remove " + file.native()));
}

void acquire(FileSystem& files, const path& file, const std::string& content, const LockOwner& self,
             std::vector<std::string>& notices) {
  while (!files.create_exclusive(file, content)) {
    const std::optional<std::string> held = read_if_there(files, file);
    if (!held) continue;  // just given back
    const LockOwner owner = parse_owner(file, *held);
    if (is_running(owner, self.host)) throw refused(file, owner, self.host);

    // A dead owner's lock is replaced only by who holds the lock on doing so, and only while it
    // still is that owner's: of two takers, the second finds the first's. If a taker dies here, its
    // lock is a dead owner's in turn, and the same holds one level up.
    path guard_file = file;
    guard_file += ".takeover";
    std::vector<std::string> ignored;
    const DirectoryLock guard(files, guard_file, self, ignored);
    if (read_if_there(files, file) != held) continue;
    try {
      files.replace(file, content);
    } catch (...) {
      remove_if(files, file, content);
      throw;
    }
    notices.push_back("took over the lock of pid " + std::to_string(owner.pid) +
                      ", which has driven the experiment since " + utc(owner.since) +
                      " and is dead");
    return;
  }
}

}  // namespace

std::optional<std::uint64_t> process_start_ticks(std::int64_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  const std::string stat{std::istreambuf_iterator<char>(in), {}};
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

LockOwner this_process(Seconds now) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const std::optional<std::uint64_t> ticks = process_start_ticks(::getpid());
  if (!ticks) throw machine_error("cannot read /proc/self/stat: is /proc mounted?");
  return {host.data(), ::getpid(), *ticks, now};
}

std::optional<LockOwner> read_lock(FileSystem& files, const path& file) {
  const std::optional<std::string> text = read_if_there(files, file);
  if (!text) return std::nullopt;
  return parse_owner(file, *text);
}

bool is_running(const LockOwner& owner, const std::string& here) {
  if (owner.host != here) return true;
  if (const auto ticks = process_start_ticks(owner.pid)) return *ticks == owner.start_ticks;
  // Not shown running in /proc: dead, or waiting to be reaped, or hidden from us as another user's.
  const bool shown = std::filesystem::exists("/proc/" + std::to_string(owner.pid));
  return !shown && ::kill(static_cast<pid_t>(owner.pid), 0) == -1 && errno == EPERM;
}

void remove_lock_leftovers(FileSystem& files, const path& file, const std::string& here) {
  const std::string name = file.filename().native();
  const auto is_live = [&here](const std::string& text, const std::string& entry) {
    try {
      return is_running(parse_owner(entry, text), here);
    } catch (const Error&) {
      // Empty after a power cut, or being written: .LOCK.tmp-<pid>-<n> says by whom.
      const std::size_t number = entry.find(".tmp-") + 5;
      return process_start_ticks(std::atoll(entry.c_str() + number)).has_value();
    }
  };
  for (const DirectoryEntry& entry : files.list(file.parent_path())) {
    const bool is_ours = entry.name.starts_with("." + name + ".tmp-") ||
                         entry.name.starts_with("." + name + ".takeover.tmp-");
    if (!is_ours || !entry.is_regular) continue;
    const path aside = file.parent_path() / entry.name;
    const auto text = read_if_there(files, aside);
    if (text && !is_live(*text, entry.name)) files.remove_file(aside);
  }
}

DirectoryLock::DirectoryLock(FileSystem& files, path file, const LockOwner& self,
                             std::vector<std::string>& notices)
    : files_(files), file_(std::move(file)), content_(to_text(self)) {
  acquire(files_, file_, content_, self, notices);
}

DirectoryLock::~DirectoryLock() { remove_if(files_, file_, content_); }

}  // namespace tune
