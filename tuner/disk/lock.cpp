// The lock file: made by one, refused to all others, taken over from a dead owner by exactly one.
#include "tuner/disk/lock.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "trainable/values.h"
#include "tuner/base/json_limits.h"
#include "tuner/base/whole_number.h"

namespace tune {

namespace {

using std::filesystem::path;

std::string to_text(const LockOwner& owner) {
  Json json = {{"host", owner.host},
               {"pid", owner.pid},
               {"start_ticks", owner.start_ticks},
               {"since", owner.since}};
  if (!owner.boot.empty()) json["boot"] = owner.boot;
  if (owner.pid_namespace != 0) json["pid_namespace"] = owner.pid_namespace;
  if (!owner.place.empty()) json["place"] = owner.place;
  if (owner.lease_s > 0) json["lease_s"] = owner.lease_s;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

LockOwner parse_owner(const path& file, const std::string& text) {
  const auto refuse = [&] {
    return user_error("the lock " + file.native() +
                      " does not say who holds it (the machine may have gone down while it was "
                      "written); if no driver runs there, remove that file");
  };
  try {
    const Json json = parse_shallow(text);
    LockOwner owner;
    owner.host = json.at("host").get<std::string>();
    owner.pid = load_whole<std::int64_t>(json.at("pid"));
    owner.start_ticks = load_whole<std::uint64_t>(json.at("start_ticks"));
    owner.since = json.at("since").get<Seconds>();
    owner.boot = json.value("boot", "");  // older programs do not say these
    owner.place = json.value("place", "");
    owner.lease_s = json.value("lease_s", 0.0);
    if (json.contains("pid_namespace")) {
      owner.pid_namespace = load_whole<std::uint64_t>(json.at("pid_namespace"));
    }
    return owner;
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
    } catch (const Error& error) {
      if (!files.exists(file)) return std::nullopt;
      if (tries_left > 0) continue;
      throw machine_error(std::string(error.what()) + "; if no driver runs there, remove it");
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

Seconds seconds_of(std::int64_t ns) { return static_cast<Seconds>(ns) * 1e-9; }

std::string whole_seconds(Seconds seconds) {
  return std::to_string(static_cast<long>(std::ceil(seconds))) + " s";
}

/// "experiment /e is driven by pid 12 on host pine since ...".
std::string driven_by(const path& file, const LockOwner& owner) {
  const std::string by = "experiment " + file.parent_path().native() + " is driven by ";
  return by + name_of(owner) + (owner.pid == 0 ? "" : " since " + utc(owner.since));
}

Error refused_as_running(const path& file, const LockOwner& owner) {
  return user_error(driven_by(file, owner) + "; tune pause " + file.parent_path().native() +
                    " makes it leave");
}

/// Whether the owner, alive on this kernel, holds another directory than the one of `file`.
bool holds_another(FileSystem& files, const path& file, const LockOwner& owner,
                   const LockOwner& self) {
  if (owner.place.empty() || self.boot.empty() || owner.boot != self.boot) return false;
  const HoldAnswer hold = files.hold(file.parent_path(), HoldKind::looking);
  return hold.hold != nullptr && hold.place != owner.place;
}

Error refused_as_copied(const path& file, const LockOwner& owner) {
  return user_error(file.native() + " is of " + name_of(owner) +
                    ", which drives another directory: if this one is a copy of that, remove " +
                    file.native());
}

/// Nobody watches, or there is nothing to watch.
Error refused_as_unseen(const path& file, const LockOwner& owner) {
  if (owner.lease_s > 0) {
    return user_error(driven_by(file, owner) +
                      "; whether it still runs cannot be seen from here: " + "tune resume " +
                      file.parent_path().native() +
                      " takes over once its lock has not been renewed for " +
                      whole_seconds(owner.lease_s));
  }
  return user_error(
      driven_by(file, owner) + "; whether it still runs can only be seen there (ps -p " +
      std::to_string(owner.pid) + "): if that driver is surely gone, remove " + file.native());
}

LeasePending pending(const path& file, const LockOwner& owner, const LeaseWatch& watch) {
  const Seconds silent_s = watch.silent_s(file);
  return {driven_by(file, owner) + "; no sign of life for " + whole_seconds(silent_s) +
              ", it is taken over after " + whole_seconds(owner.lease_s),
          silent_s, owner.lease_s};
}

/// `self.place` is set if this process holds the directory: then nobody else of this kernel does.
Life life_of_owner(const LockOwner& owner, const LockOwner& self, Seconds last_sign) {
  const bool would_hold_it = !self.place.empty() && owner.place == self.place &&
                             !self.boot.empty() && owner.boot == self.boot;
  return would_hold_it ? Life::dead : life_of(owner, self, last_sign);
}

bool acquire(FileSystem& files, const path& file, const std::string& content, const LockOwner& self,
             std::vector<std::string>& notices, LeaseWatch* watch);

/// The right to replace a dead owner's lock file, for the moment that this takes.
class TakeoverGuard {
 public:
  TakeoverGuard(FileSystem& files, const path& of, const LockOwner& self, LeaseWatch* watch)
      : files_(files), file_(of.native() + ".takeover"), content_(to_text(self)) {
    std::vector<std::string> ignored;
    acquire(files_, file_, content_, self, ignored, watch);
  }
  ~TakeoverGuard() { remove_if(files_, file_, content_); }
  TakeoverGuard(const TakeoverGuard&) = delete;
  TakeoverGuard& operator=(const TakeoverGuard&) = delete;

 private:
  FileSystem& files_;
  const path file_;
  const std::string content_;
};

/// Whether that the owner is dead is seen, and not only believed because its lease is over. Error
/// if it lives, or may live.
bool is_death_seen(const path& file, const std::string& content, const LockOwner& owner,
                   const LockOwner& self, std::int64_t modified_ns, LeaseWatch* watch) {
  const Life life = life_of_owner(owner, self, seconds_of(modified_ns));
  if (life == Life::dead) return true;
  if (life == Life::running) throw refused_as_running(file, owner);
  if (watch == nullptr || !(owner.lease_s > 0)) throw refused_as_unseen(file, owner);
  switch (watch->look(file, content, modified_ns, owner.lease_s)) {
    case LeaseWatch::Sign::alive:
      throw user_error(driven_by(file, owner) + ", and has just renewed its lock; tune pause " +
                       file.parent_path().native() + ", given there, makes it leave");
    case LeaseWatch::Sign::none:
      throw pending(file, owner, *watch);
    case LeaseWatch::Sign::over:
      break;
  }
  return false;
}

/// Whether it was taken over from an owner whose death was not seen.
bool acquire(FileSystem& files, const path& file, const std::string& content, const LockOwner& self,
             std::vector<std::string>& notices, LeaseWatch* watch) {
  for (;;) {
    // Looked at before anything is made: many may wait for it, and ask often.
    const std::optional<std::string> held = read_if_there(files, file);
    if (!held) {
      if (files.create_exclusive(file, content)) return false;
      continue;
    }
    const LockOwner owner = parse_owner(file, *held);
    const auto modified_ns = files.modified_ns(file);
    if (!modified_ns) continue;  // just given back
    const bool is_seen = is_death_seen(file, *held, owner, self, *modified_ns, watch);

    // A dead owner's lock is replaced only by who holds the guard on doing so, and only while it
    // still is that owner's: of two takers, the second finds the first's. If a taker dies here, its
    // guard is a dead owner's lock in turn, and the same holds one level up.
    const TakeoverGuard guard(files, file, self, watch);
    if (read_if_there(files, file) != held || files.modified_ns(file) != modified_ns) continue;
    try {
      files.replace(file, content);
    } catch (...) {
      remove_if(files, file, content);
      throw;
    }
    notices.push_back(
        "took over the lock of " + name_of(owner) + ", which has driven the experiment since " +
        utc(owner.since) + " and " +
        (is_seen ? "is dead" : "has given no sign of life for " + whole_seconds(owner.lease_s)));
    return !is_seen;
  }
}

}  // namespace

LockOwner this_process(Seconds now) {
  LockOwner owner;
  static_cast<ProcessIdentity&>(owner) = this_identity();
  owner.since = now;
  return owner;
}

std::string name_of(const LockOwner& owner) {
  if (owner.pid == 0) return "a process on this machine that its file LOCK does not name";
  return "pid " + std::to_string(owner.pid) + " on host " + owner.host;
}

std::optional<LockOwner> read_lock(FileSystem& files, const path& file) {
  const std::optional<std::string> text = read_if_there(files, file);
  if (!text) return std::nullopt;
  return parse_owner(file, *text);
}

std::optional<Driver> find_driver(FileSystem& files, const path& file) {
  LockOwner self = this_process(0);
  Driver driver;
  const auto owner = read_lock(files, file);
  const std::int64_t modified_ns = files.modified_ns(file).value_or(0);
  Life life = Life::dead;
  if (owner) {
    static_cast<LockOwner&>(driver) = *owner;
    driver.last_sign = seconds_of(modified_ns);
    driver.is_here = is_same_kernel(*owner, self);
    life = life_of(*owner, self, driver.last_sign);
  }
  if (life == Life::running && holds_another(files, file, *owner, self)) return std::nullopt;
  if (life != Life::running) {
    const HoldAnswer hold = files.hold(file.parent_path(), HoldKind::looking);
    if (hold.is_taken && !(life == Life::unknown && driver.is_here)) {
      driver = Driver{};
      driver.host = self.host;
      driver.is_here = true;
    }
    if (hold.is_taken) {
      life = Life::running;
    } else if (owner && hold.hold != nullptr) {
      self.place = hold.place;
      life = life_of_owner(*owner, self, driver.last_sign);
    }
  }
  if (life == Life::dead) return std::nullopt;
  driver.is_seen = life == Life::running;
  return driver;
}

void await_lease(FileSystem& files, const path& file, LeaseWatch& watch,
                 const std::function<void(const LeasePending&)>& pause) {
  for (;;) {
    const auto content = read_if_there(files, file);
    const auto driver = find_driver(files, file);
    const auto modified_ns = files.modified_ns(file);
    const bool is_told = !content || !modified_ns || !driver || driver->is_seen;
    if (is_told || !(driver->lease_s > 0)) return;
    const auto sign = watch.look(file, *content, *modified_ns, driver->lease_s);
    if (sign != LeaseWatch::Sign::none) return;
    pause(pending(file, *driver, watch));
  }
}

void remove_lock_leftovers(FileSystem& files, const path& file, const LockOwner& self) {
  const std::string name = file.filename().native();
  const auto is_live = [&](const std::string& text, const std::string& entry) {
    try {
      return life_of(parse_owner(entry, text), self) != Life::dead;
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
                             std::vector<std::string>& notices, LeaseWatch* watch,
                             std::function<Seconds()> clock)
    : files_(files), file_(std::move(file)), self_(self), clock_(std::move(clock)) {
  // Who is plainly there need not be asked by the kernel's lock, for which takers wait a little.
  if (const auto owner = read_lock(files_, file_);
      owner && life_of(*owner, self_) == Life::running) {
    throw holds_another(files_, file_, *owner, self_) ? refused_as_copied(file_, *owner)
                                                      : refused_as_running(file_, *owner);
  }
  HoldAnswer hold = files_.hold(file_.parent_path(), HoldKind::driving);
  if (hold.is_taken) {
    const auto driver = find_driver(files_, file_);
    throw refused_as_running(file_, driver ? *driver : Driver{});
  }
  hold_ = std::move(hold.hold);
  self_.place = hold_ != nullptr ? hold.place : "";
  content_ = to_text(self_);
  is_from_unseen_ = acquire(files_, file_, content_, self_, notices, watch);
  renewed_at_ = clock_();
  if (!(self_.lease_s > 0)) return;
  try {
    renewal_.emplace(self_.lease_s / renewals_in_lease, [this] { renew_quietly(); });
  } catch (...) {
    remove_if(files_, file_, content_);
    throw;
  }
}

DirectoryLock::~DirectoryLock() {
  renewal_.reset();
  remove_if(files_, file_, content_);
}

void DirectoryLock::confirm() {
  if (!(self_.lease_s > 0)) return;
  refuse_if_lost();
  const std::lock_guard lock(mutex_);
  const std::string experiment = "experiment " + file_.parent_path().native();
  std::string by;
  try {
    const auto held = read_if_there(files_, file_);
    if (held == content_) return;
    // Somebody has removed it. Nobody else of this kernel can have it, and nobody of another host
    // while our lease lasted, or there would be a new one.
    const bool is_ours_alone = clock_() - renewed_at_ < self_.lease_s;
    if (!held && is_ours_alone && files_.create_exclusive(file_, content_)) {
      renewed_at_ = clock_();
      return;
    }
    if (!held && !is_ours_alone) {
      lost_ = experiment + ": its lock is gone, and this driver has not renewed it for " +
              whole_seconds(clock_() - renewed_at_) +
              ", so that another one may have come and gone";
    } else {
      by = "another process";
      if (const auto owner = read_lock(files_, file_)) by = name_of(*owner);
    }
  } catch (const Error&) {
    if (by.empty()) return;
  }
  if (lost_.empty()) {
    lost_ = experiment + " is driven by " + by + " now, which has taken this driver for dead";
  }
  is_lost_ = true;
  throw machine_error(lost_);
}

void DirectoryLock::renew() {
  if (!(self_.lease_s > 0)) return;
  refuse_if_lost();
  const Seconds now = clock_();
  bool is_renewed = true;
  try {
    files_.touch(file_);
  } catch (const Error&) {
    is_renewed = false;
  }
  confirm();
  if (is_renewed) renewed_at_ = now;
}

/// From the thread that renews: what it finds out is thrown where something is written.
void DirectoryLock::renew_quietly() {
  try {
    renew();
  } catch (const Error&) {
  }
}

bool DirectoryLock::is_old() const {
  return self_.lease_s > 0 && clock_() - renewed_at_ > self_.lease_s / 4;
}

void DirectoryLock::require() {
  refuse_if_lost();
  if (!is_old()) return;
  renew();
  const Seconds age_s = clock_() - renewed_at_;
  if (age_s <= self_.lease_s / 2) return;
  throw machine_error("cannot renew " + file_.native() + " since " + whole_seconds(age_s) +
                      ": another driver may soon take this one for dead");
}

void DirectoryLock::refuse_if_lost() const {
  if (!is_lost_) return;
  const std::lock_guard lock(mutex_);
  throw machine_error(lost_);
}

}  // namespace tune
