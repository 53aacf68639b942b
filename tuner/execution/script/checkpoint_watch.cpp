// The order of events tells what was printed before a checkpoint was begun: writes to the logs and
// to the checkpoints come through one queue of inotify. Where an event is missing, the time before
// the look that found a change counts, which may be too early and never too late.
#include "tuner/execution/script/checkpoint_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <set>
#include <system_error>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/disk/regular_file.h"
#include "tuner/process/process_stat.h"
#include "tuner/process/system_clock.h"
#include "tuner/script/last_save.h"

namespace tune {

namespace fs = std::filesystem;

namespace {

// Between looks at what changes; at what is only to be looked at; at what events tell of.
constexpr Seconds busy_period_s = 0.05;
constexpr Seconds blind_period_s = 0.25;
constexpr Seconds idle_period_s = 1;
/// Between two proofs that this thread does not stand still: see late_s.
constexpr Seconds awake_period_s = 0.05;

/// So long nothing may change before what is there counts as whole.
constexpr Seconds quiet_s = 1;
/// The same of one file that was closed: hardly anybody opens it again to go on with it.
constexpr Seconds closed_quiet_s = 0.25;
/// A clock of a file system stands still for so long: another write might have the same time.
constexpr std::int64_t clock_step_ns = 20'000'000;

constexpr std::size_t most_directories = 1'000;  ///< watched for one launch
constexpr std::size_t most_writing = 1'000;

constexpr std::uint32_t tree_events = IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_FROM |
                                      IN_MOVED_TO | IN_DELETE | IN_ONLYDIR | IN_DONT_FOLLOW |
                                      IN_EXCL_UNLINK;

Seconds steady_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

LogSizes earlier(const LogSizes& a, const LogSizes& b) {
  return {std::min(a.stdout_bytes, b.stdout_bytes), std::min(a.stderr_bytes, b.stderr_bytes)};
}

LogSizes later(const LogSizes& a, const LogSizes& b) {
  return {std::max(a.stdout_bytes, b.stdout_bytes), std::max(a.stderr_bytes, b.stderr_bytes)};
}

bool is_later(const LogSizes& printed, const LogSizes& than) {
  return printed.stdout_bytes >= than.stdout_bytes || printed.stderr_bytes >= than.stderr_bytes;
}

bool is_more(const LogSizes& a, const LogSizes& b) {
  return a.stdout_bytes > b.stdout_bytes || a.stderr_bytes > b.stderr_bytes;
}

bool is_open_to_write(const fs::path& fdinfo) {
  std::string text(256, '\0');
  const FileDescriptor file(::open(fdinfo.c_str(), O_RDONLY | O_CLOEXEC));
  const ssize_t count = file ? ::read(file.get(), text.data(), text.size()) : 0;
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  const auto at = text.find("flags:");
  if (at == text.npos) return false;
  constexpr int octal = 8;
  const auto flags = std::strtoul(text.c_str() + at + 6, nullptr, octal);
  return (flags & O_ACCMODE) != O_RDONLY;
}

/// Whether it is one of these files, under whatever name.
bool is_one_of(const fs::path& open_file, const std::vector<FileVersion>& files) {
  struct stat status {};
  if (::stat(open_file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  return std::any_of(files.begin(), files.end(),
                     [&status](const FileVersion& file) { return file.inode == status.st_ino; });
}

bool lies_in(const std::string& file, const std::string& place) {
  return file.starts_with(place) && (file.size() == place.size() || file[place.size()] == '/');
}

/// The files there that a process of the group has open for writing, by name within the checkpoint;
/// "" is the checkpoint itself, or a file that has another name by now.
std::set<std::string> files_being_written(pid_t group, const CheckpointFiles& files) {
  std::error_code error;
  std::set<std::string> open;
  const std::string place = fs::canonical(files.place(), error).string();
  if (error) return open;
  for (const pid_t pid : all_processes()) {
    const auto stat = read_process_stat(pid);
    if (!stat || stat->group != group) continue;
    const fs::path process = "/proc/" + std::to_string(pid);
    std::error_code ended;
    for (fs::directory_iterator at(process / "fd", ended); !ended && at != fs::directory_iterator();
         at.increment(ended)) {
      std::error_code ignored;
      const std::string file = fs::read_symlink(at->path(), ignored).string();
      const bool is_there = lies_in(file, place);
      const bool is_of_it = is_there || is_one_of(at->path(), files.files);
      if (is_of_it && is_open_to_write(process / "fdinfo" / at->path().filename())) {
        const bool has_name = is_there && file.size() > place.size();
        open.insert(has_name ? file.substr(place.size() + 1) : "");
      }
    }
  }
  return open;
}

bool is_dead(pid_t pid) {
  const auto stat = read_process_stat(pid);
  return stat ? stat->is_dead() || stat->is_exiting : ::kill(pid, 0) != 0 && errno == ESRCH;
}

}  // namespace

CheckpointWatch::CheckpointWatch(OnNews on_news, Seconds patience_s)
    : on_news_(std::move(on_news)),
      patience_s_(patience_s),
      inotify_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)),
      wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (!wake_) throw machine_error("cannot look for checkpoints: no file descriptors are left");
  thread_ = std::thread([this] { run(); });
}

CheckpointWatch::~CheckpointWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  ::eventfd_write(wake_.get(), 1);
  thread_.join();
}

void CheckpointWatch::begin(LaunchId launch, Watched watched) {
  post(Begin{launch, std::move(watched)});
}

void CheckpointWatch::end(LaunchId launch, bool ended_well) { post(End{launch, ended_well}); }

void CheckpointWatch::quiesce(LaunchId launch, Seconds time_to_begin_s, LogSizes too_late) {
  post(Quiesce{launch, time_to_begin_s, too_late});
}

void CheckpointWatch::forget(LaunchId launch) { post(End{launch, std::nullopt}); }

void CheckpointWatch::post(Command command) {
  {
    const std::lock_guard lock(mutex_);
    commands_.push_back(std::move(command));
  }
  ::eventfd_write(wake_.get(), 1);
}

void CheckpointWatch::run() {
  for (;;) {
    std::array<pollfd, 2> files{{{wake_.get(), POLLIN, 0}, {inotify_.get(), POLLIN, 0}}};
    ::poll(files.data(), inotify_ ? 2 : 1, milliseconds_to_wait());
    eventfd_t ignored = 0;
    ::eventfd_read(wake_.get(), &ignored);
    std::deque<Command> commands;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      commands.swap(commands_);
    }
    const std::int64_t watched_ns = unix_ns();
    take_events();
    for (auto& [id, launch] : launches_) launch.watched.logs->watched_until(watched_ns);
    for (Command& command : commands) std::visit([this](auto& what) { handle(what); }, command);
    const Seconds now = steady_now();
    for (auto& [id, launch] : launches_) {
      if (launch.next_look > now) continue;
      auto found = look(launch, std::nullopt);
      const bool is_settled = launch.settles_at <= now && !launch.is_waited_for;
      if (is_settled) launch.settles_at = never_s;
      if (is_settled || !found.empty()) {
        on_news_(id, std::move(found), is_settled ? News::quiesced : News::found);
      }
      if (auto restless = std::exchange(launch.restless, std::nullopt)) {
        on_news_(id, {{*std::move(restless), {}}}, News::restless);
      }
    }
  }
}

int CheckpointWatch::milliseconds_to_wait() const {
  if (launches_.empty()) return -1;
  Seconds next = never_s;
  for (const auto& [id, launch] : launches_) next = std::min(next, launch.next_look);
  constexpr double ms_per_s = 1e3;
  return static_cast<int>(
      std::ceil(std::clamp(next - steady_now(), 0.0, awake_period_s) * ms_per_s));
}

void CheckpointWatch::handle(Begin& command) {
  Launch& launch = launches_[command.launch];
  launch.watched = std::move(command.watched);
  launch.sizes_at_look = launch.watched.begin;
  launch.looked_at = steady_now();
  if (!launch.watched.logs) {
    launch.watched.logs = std::make_shared<LaunchLogs>();
    launch.watched.logs->open(launch.watched.stdout_path, launch.watched.stderr_path);
  }
  // It has run for a moment already, or for long, if the driver stood still.
  launch.sizes = launch.watched.logs->look();
  watch_log(command.launch, launch, launch.watched.stdout_path);
  if (launch.watched.stderr_path != launch.watched.stdout_path) {
    watch_log(command.launch, launch, launch.watched.stderr_path);
  }
  watch_tree(command.launch, launch, {});
  const LogSizes now = launch.watched.logs->look();
  launch.has_printed_since = is_more(now, launch.sizes);
  launch.began_ns = unix_ns();
  launch.unseen = unseen({launch.watched.begin, launch.began_ns, now});
  for (const CheckpointFiles& known : launch.watched.what.known) note_known(launch, known);
  note_others(command.launch, launch, {});
  note_begun(launch);
  note_changed(launch, {}, launch.unseen);
}

void CheckpointWatch::handle(const Quiesce& command) {
  const auto launch = launches_.find(command.launch);
  if (launch == launches_.end()) return;
  launch->second.settles_at =
      std::min(launch->second.settles_at, steady_now() + command.time_to_begin_s);
  launch->second.too_late = earlier(launch->second.too_late, command.too_late);
  launch->second.next_look = 0;
}

void CheckpointWatch::handle(const End& command) {
  const auto found = launches_.find(command.launch);
  if (found != launches_.end()) {
    Launch& launch = found->second;
    std::vector<SavedFiles> last;
    if (command.ended_well) last = look(launch, command.ended_well);
    for (const int watch : launch.watches) {
      ::inotify_rm_watch(inotify_.get(), watch);
      places_.erase(watch);
    }
    launches_.erase(found);
    if (command.ended_well) on_news_(command.launch, std::move(last), News::last);
  } else if (command.ended_well) {
    on_news_(command.launch, {}, News::last);
  }
}

void CheckpointWatch::watch_log(LaunchId id, Launch& launch, const fs::path& log) {
  if (!inotify_) return;
  const int watch = ::inotify_add_watch(inotify_.get(), log.c_str(), IN_MODIFY | IN_DONT_FOLLOW);
  if (watch < 0) return;
  launch.watches.push_back(watch);
  places_[watch] = {id, true, {}};
}

bool CheckpointWatch::watch_directory(LaunchId id, Launch& launch, const fs::path& directory) {
  if (!inotify_ || launch.watches.size() >= most_directories) return false;
  const fs::path& root = launch.watched.what.root;
  const fs::path place = directory.empty() ? root : root / directory;
  const int watch = ::inotify_add_watch(inotify_.get(), place.c_str(), tree_events);
  if (watch < 0) return false;
  launch.watches.push_back(watch);
  places_[watch] = {id, false, directory};
  return true;
}

void CheckpointWatch::watch_tree(LaunchId id, Launch& launch, const fs::path& directory) {
  const PlainWatch& what = launch.watched.what;
  if (is_too_deep(directory) || !may_hold_checkpoints(what.pattern, directory)) return;
  if (!watch_directory(id, launch, directory)) return;
  const fs::path place = directory.empty() ? what.root : what.root / directory;
  std::error_code error;
  for (fs::directory_iterator at(place, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    std::error_code ignored;
    if (at->is_directory(ignored) && !at->is_symlink(ignored)) {
      watch_tree(id, launch, directory / at->path().filename());
    }
  }
}

/// Of what was written while nobody saw it: between which results is not known, if some were
/// printed meanwhile.
CheckpointWatch::Begun CheckpointWatch::unseen(Begun begun) {
  if (!is_more(begun.at_most, begun.printed)) return begun;
  begun.bursts = std::max(begun.bursts, 1);
  begun.is_late = true;
  return begun;
}

/// What was put back is written from its first change on, as what lies beside it is.
void CheckpointWatch::note_known(Launch& launch, const CheckpointFiles& known) {
  launch.units[known.name].known = known.files;
  if (known.is_file) return;
  const auto now = look_at_checkpoint(known.root, known.name);
  for (const FileVersion& file : known.files) {
    if (launch.writing.size() >= most_writing) return;
    const FileVersion* const found = now ? now->find(file.name) : nullptr;
    const bool is_old = found != nullptr && *found == file;
    launch.writing[known.name / file.name] = {launch.unseen, is_old};
  }
}

/// What it has written before it was watched is written anew by its next change.
void CheckpointWatch::note_begun(Launch& launch) {
  const PlainWatch& what = launch.watched.what;
  for (const CheckpointFiles& files : look_at_checkpoints(what.root, what.pattern)) {
    for (const FileVersion& file : files.files) {
      if (files.is_file || launch.writing.size() >= most_writing) break;
      launch.writing.try_emplace(files.name / file.name, Writing{launch.unseen, true});
    }
  }
}

/// What lies there and is no checkpoint may be a save that was interrupted, and may become one by a
/// rename: what is as it was before the launch is written from its first change on, not from the
/// launch on. Answers whether all of `directory` is.
bool CheckpointWatch::note_others(LaunchId id, Launch& launch, const fs::path& directory) {
  const PlainWatch& what = launch.watched.what;
  bool is_all_old = true;
  std::error_code error;
  for (fs::directory_iterator at(what.root / directory, error);
       !error && at != fs::directory_iterator(); at.increment(error)) {
    std::error_code ignored;
    const fs::path name = directory / at->path().filename();
    if (is_too_deep(name) || at->is_symlink(ignored) || checkpoint_of(what.pattern, name)) continue;
    bool is_old = false;
    if (at->is_directory(ignored)) {
      const bool is_watched =
          may_hold_checkpoints(what.pattern, name) || watch_directory(id, launch, name);
      is_old = note_others(id, launch, name) && is_watched;
    } else if (const auto file = look_at_checkpoint(what.root, name)) {
      const auto before =
          std::lower_bound(what.others.begin(), what.others.end(), name.string(),
                           [](const FileVersion& a, const std::string& b) { return a.name < b; });
      is_old = before != what.others.end() && before->name == name.string() &&
               before->inode == file->files.front().inode &&
               before->bytes == file->files.front().bytes &&
               before->changed_ns == file->files.front().changed_ns;
    }
    if (launch.writing.size() >= most_writing) return false;
    launch.writing[name] = {launch.unseen, is_old};
    is_all_old = is_all_old && is_old;
  }
  return is_all_old;
}

void CheckpointWatch::read_events(std::vector<Event>& events) {
  constexpr std::size_t block_bytes = 64 * 1024;
  alignas(inotify_event) std::array<char, block_bytes> block;
  for (;;) {
    const ssize_t count = ::read(inotify_.get(), block.data(), block.size());
    if (count <= 0) return;
    for (std::size_t at = 0; at < static_cast<std::size_t>(count);) {
      const auto* const event = reinterpret_cast<const inotify_event*>(block.data() + at);
      at += sizeof(inotify_event) + event->len;
      const auto place = places_.find(event->wd);
      if (place == places_.end()) continue;
      if ((event->mask & IN_IGNORED) != 0) {
        places_.erase(place);
        continue;
      }
      events.push_back(
          {place->second, event->len > 0 ? event->name : "", event->mask, event->cookie});
    }
  }
}

void CheckpointWatch::take_events() {
  if (!inotify_) return;
  const Seconds read_before_at = std::exchange(events_read_at_, steady_now());
  std::vector<Event> events;
  read_events(events);
  if (events.empty()) return;
  const auto sizes = log_sizes(events);
  const std::size_t first_read = events.size();
  // Whatever was printed before the sizes were taken has come by now, and perhaps more.
  read_events(events);
  const auto later_sizes = log_sizes(events);
  // Also if it stood still between the reads.
  const bool is_late = steady_now() - read_before_at > late_s;
  struct Prints {
    std::size_t last = 0;      ///< event of printing
    int bursts = 0;            ///< so far, and perhaps not in the sizes of the launch
    bool is_newer = false;     ///< one of them came since the first read
    bool is_going_on = false;  ///< nothing was saved since
  };
  std::map<LaunchId, Prints> prints;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const LaunchId id = events[i].place.launch;
    const auto launch = launches_.find(id);
    if (launch == launches_.end()) continue;
    Prints& of = prints[id];
    if (std::exchange(launch->second.has_printed_since, false)) of = {0, 1, false, true};
    if (events[i].place.is_log) of.last = i;
  }
  for (std::size_t i = 0; i < events.size(); ++i) {
    const LaunchId id = events[i].place.launch;
    const auto launch = launches_.find(id);
    if (launch == launches_.end()) continue;
    Prints& of = prints[id];
    if (events[i].place.is_log) {
      if (!std::exchange(of.is_going_on, true)) ++of.bursts;
      of.is_newer = of.is_newer || i >= first_read;
      continue;
    }
    of.is_going_on = false;
    const auto now = sizes.find(id);
    const bool is_after_all = of.last <= i && now != sizes.end();
    Begun begun{is_after_all ? now->second : launch->second.sizes, unix_ns()};
    begun.at_most = later_sizes.at(id);
    begun.bursts = is_after_all ? (of.is_newer ? 1 : 0) : of.bursts;
    begun.is_late = is_late;
    take(events[i], begun);
  }
  for (const auto& [id, size] : sizes) {
    const auto launch = launches_.find(id);
    if (launch == launches_.end()) continue;
    launch->second.sizes = size;
    launch->second.has_printed_since = is_more(later_sizes.at(id), size);
  }
}

std::map<LaunchId, LogSizes> CheckpointWatch::log_sizes(const std::vector<Event>& of) const {
  std::map<LaunchId, LogSizes> sizes;
  for (const Event& event : of) {
    const auto launch = launches_.find(event.place.launch);
    if (launch == launches_.end() || sizes.contains(launch->first)) continue;
    sizes[launch->first] = launch->second.watched.logs->look();
  }
  return sizes;
}

/// What has been written within a directory before it was watched was begun after `printed`.
void CheckpointWatch::note_changed(Launch& launch, const fs::path& within, const Begun& printed) {
  const PlainWatch& what = launch.watched.what;
  for (const CheckpointFiles& files : look_at_checkpoints(what.root, what.pattern)) {
    if (!within.empty() && !lies_in(files.name.string(), within.string())) continue;
    Unit& unit = launch.units[files.name];
    if (!unit.begun && files.files != unit.known) unit.begun = printed;
    const FileVersion* const complete = what.complete.empty() ? nullptr : files.find(what.complete);
    const bool is_known = complete != nullptr && std::find(unit.known.begin(), unit.known.end(),
                                                           *complete) != unit.known.end();
    unit.is_completed = unit.is_completed || (complete != nullptr && !is_known);
  }
}

/// Of whatever may be renamed to a checkpoint: since when it is written. Answers what had been
/// printed before the writing of what `event` is about.
CheckpointWatch::Writing CheckpointWatch::note_writing(Launch& launch, const Event& event,
                                                       const fs::path& name, const Begun& printed) {
  const auto known = launch.writing.find(name);
  const bool is_known = known != launch.writing.end();
  const auto begun_before = is_known ? std::optional(known->second.begun) : std::nullopt;
  if ((event.mask & IN_CLOSE_WRITE) != 0) {
    if (is_known) {
      known->second.is_closed = true;
    } else if (launch.writing.size() < most_writing) {
      launch.writing[name] = {{launch.watched.begin, launch.began_ns}, true};
    }
  } else if ((event.mask & IN_DELETE) != 0) {
    launch.writing.erase(name);
  } else if ((event.mask & IN_MOVED_FROM) != 0) {
    if (moving_.size() >= most_writing) moving_.clear();
    moving_[event.cookie] =
        is_known ? known->second : Writing{{launch.watched.begin, unix_ns()}, false};
    launch.writing.erase(name);
  } else if ((event.mask & IN_MOVED_TO) != 0) {
    const auto moved = moving_.extract(event.cookie);
    // What was written elsewhere was begun at a time that nobody has seen.
    const Writing written =
        moved.empty() ? Writing{{launch.watched.begin, printed.ns}, false} : moved.mapped();
    Begun since = written.begun;
    since.printed = earlier(printed.printed, since.printed);
    const Writing named = {since, written.is_closed, begun_before};
    if (is_known || launch.writing.size() < most_writing) launch.writing[name] = named;
    return named;
  } else if ((event.mask & IN_CREATE) != 0 || (is_known && known->second.is_closed)) {
    if (is_known || launch.writing.size() < most_writing) {
      launch.writing[name] = {printed, false, begun_before};
    }
  }
  return {printed, false};
}

/// What has happened to one name in a tree, after `printed` at least.
void CheckpointWatch::take(const Event& event, const Begun& printed) {
  Launch& launch = launches_.at(event.place.launch);
  const PlainWatch& what = launch.watched.what;
  const fs::path name = event.place.directory / event.name;
  launch.next_look = std::min(launch.next_look, steady_now() + busy_period_s);
  const Writing begun = note_writing(launch, event, name, printed);
  if ((event.mask & (IN_CREATE | IN_MODIFY | IN_MOVED_TO)) != 0) {
    // The directories that it lies in are written with it.
    for (fs::path above = event.place.directory; !above.empty(); above = above.parent_path()) {
      const auto found = launch.writing.find(above);
      if (found != launch.writing.end() && found->second.is_closed)
        found->second = {printed, false};
    }
  }
  const bool is_new = (event.mask & (IN_CREATE | IN_MOVED_TO)) != 0;
  if ((event.mask & IN_ISDIR) != 0 && is_new) {
    watch_tree(event.place.launch, launch, name);
    // Whether it was written once or several times nobody has seen, if that is long ago.
    note_changed(launch, name, printed.is_late ? unseen(begun.begun) : begun.begun);
  }
  const auto checkpoint = checkpoint_of(what.pattern, name);
  if (!checkpoint) return;
  Unit& unit = launch.units[*checkpoint];
  if (*checkpoint == name) {
    // A file that gets its name, or is written anew, has nothing of what was there before.
    if ((event.mask & IN_CLOSE_WRITE) != 0) {
      unit.is_closed = true;
      return;
    }
    const bool is_moved = (event.mask & IN_MOVED_TO) != 0;
    unit.is_renamed = is_moved && begun.is_closed;
    if (is_moved || std::exchange(unit.is_closed, false)) unit.begun.reset();
  } else if ((event.mask & IN_DELETE) == 0 && name == *checkpoint / what.complete) {
    unit.is_completed = true;
  } else if ((event.mask & IN_CLOSE_WRITE) == 0 && std::exchange(unit.is_completed, false)) {
    unit.begun.reset();  // another save
  }
  if (!unit.begun) unit.begun = begun.begun;
}

std::vector<SavedFiles> CheckpointWatch::look(Launch& launch, std::optional<bool> ended_well) {
  const Watched& watched = launch.watched;
  const LogSizes sizes = watched.logs->look();
  std::vector<SavedFiles> whole;
  if (!is_dead(watched.group)) launch.alive_at = steady_now();
  launch.is_busy = launch.is_waited_for = false;
  bool has_events = false;
  std::set<fs::path> names;
  for (CheckpointFiles& files : look_at_checkpoints(watched.what.root, watched.what.pattern)) {
    names.insert(files.name);
    Unit& unit = launch.units[files.name];
    if (is_known(unit, files)) {
      unit.begun.reset();
      unit.busy_since = never_s;
      continue;
    }
    if (!unit.begun && !std::exchange(has_events, true)) take_events();
    if (!unit.begun) {
      const Begun begun{launch.sizes_at_look, files.changed_ns(), sizes};
      const bool is_late =
          steady_now() - launch.looked_at > late_s + (inotify_ ? idle_period_s : blind_period_s);
      unit.begun = is_late ? unseen(begun) : begun;
    }
    if (files.files != unit.seen) {
      unit.seen = files.files;
      unit.seen_since = steady_now();
    }
    if (!is_whole(launch, unit, files, ended_well) || !is_as_seen(launch, files)) {
      launch.is_busy = true;
      launch.is_waited_for =
          launch.is_waited_for || !is_later(unit.begun->printed, launch.too_late);
      unit.busy_since = std::min(unit.busy_since, steady_now());
      const bool is_restless = steady_now() - unit.busy_since > patience_s_;
      if (is_restless && !std::exchange(launch.is_restless, true)) launch.restless = files;
      continue;
    }
    unit.busy_since = never_s;
    unit.known = unit.seen;
    const Begun begun = begun_at(launch, files, *std::exchange(unit.begun, std::nullopt));
    whole.push_back(
        {std::move(files), begun.printed, begun.ns, begun.at_most, begun.bursts, begun.is_late});
  }
  std::erase_if(launch.units, [&](const auto& unit) { return !names.contains(unit.first); });
  // By time, and not by name: step-10 comes before step-9.
  std::stable_sort(whole.begin(), whole.end(), [](const SavedFiles& a, const SavedFiles& b) {
    return a.files.changed_ns() < b.files.changed_ns();
  });
  launch.sizes_at_look = sizes;
  const Seconds period = launch.is_busy ? busy_period_s : inotify_ ? idle_period_s : blind_period_s;
  const Seconds now = steady_now();
  launch.looked_at = now;
  launch.next_look = now + period;
  if (launch.settles_at > now) launch.next_look = std::min(launch.next_look, launch.settles_at);
  return whole;
}

/// What its program holds open from one save to the next does not make the saves half-written: of
/// such a log, each save has what was written to it by then.
bool CheckpointWatch::is_held_for_logs(const Launch& launch, const CheckpointFiles& files) {
  constexpr std::size_t most_logs = 100;
  const auto open = files_being_written(launch.watched.group, files);
  if (open.empty()) return true;
  std::vector<FileWrites> closed;
  for (const FileVersion& file : files.files) {
    const auto written = launch.writing.find(files.name / file.name);
    if (written == launch.writing.end() || open.contains(file.name)) continue;
    const auto& [begun, is_closed, before] = written->second;
    if (!is_closed) continue;
    closed.push_back(
        {file.name, write_of(begun), before ? std::optional(write_of(*before)) : std::nullopt});
  }
  return std::all_of(open.begin(), open.end(), [&](const std::string& name) {
    if (name.empty()) return false;
    if (logs_.contains(kind_of_file(name))) return true;
    const auto opened = launch.writing.find(files.name / name);
    const bool is_log_too = opened != launch.writing.end() && !opened->second.is_closed &&
                            is_log(write_of(opened->second.begun), closed);
    if (is_log_too && logs_.size() < most_logs) logs_.insert(kind_of_file(name));
    return is_log_too;
  });
}

/// Whether what lies in a directory may be of the save after that which `complete` has completed:
/// all that was changed later, but for logs, which were open before and still are.
bool CheckpointWatch::is_written_since(const Launch& launch, const CheckpointFiles& files,
                                       const FileVersion& complete, bool has_logs) {
  return std::any_of(files.files.begin(), files.files.end(), [&](const FileVersion& file) {
    if (file.changed_ns <= complete.changed_ns) return false;
    const auto written = launch.writing.find(files.name / file.name);
    return !has_logs || written == launch.writing.end() || written->second.is_closed ||
           written->second.begun.ns > complete.changed_ns;
  });
}

/// Whether it is still as it was looked at, once all is read that was told of it until then: of two
/// saves that were not told apart the files would be those of the later one, and the begin that of
/// the earlier.
bool CheckpointWatch::is_as_seen(const Launch& launch, const CheckpointFiles& files) {
  take_events();
  const auto now = look_at_checkpoint(launch.watched.what.root, files.name);
  return now && now->files == files.files;
}

/// Nothing of it was saved since it was whole last: what a log has more is no new checkpoint.
bool CheckpointWatch::is_known(const Unit& unit, const CheckpointFiles& files) const {
  if (logs_.empty() || files.is_file) return files.files == unit.known;
  const auto saved = [this](std::vector<FileVersion> all) {
    std::erase_if(
        all, [this](const FileVersion& file) { return logs_.contains(kind_of_file(file.name)); });
    return all;
  };
  return saved(files.files) == saved(unit.known);
}

WriteBegin CheckpointWatch::write_of(const Begun& begun) {
  return {begun.ns, begun.printed.stdout_bytes + begun.printed.stderr_bytes};
}

/// A directory that never rests is found after several saves: then what it has is of the last one.
CheckpointWatch::Begun CheckpointWatch::begun_at(const Launch& launch, const CheckpointFiles& files,
                                                 const Begun& first) const {
  if (files.is_file || !launch.watched.what.complete.empty()) return first;
  std::vector<FileWrites> writes;
  std::vector<Begun> begun;
  for (const FileVersion& file : files.files) {
    const auto written = launch.writing.find(files.name / file.name);
    if (written == launch.writing.end()) continue;
    if (!written->second.is_closed && logs_.contains(kind_of_file(file.name))) continue;
    const auto& before = written->second.before;
    begun.push_back(written->second.begun);
    writes.push_back({file.name, write_of(begun.back()),
                      before ? std::optional(write_of(*before)) : std::nullopt});
  }
  const auto last = first_of_last_save(writes, launch.began_ns);
  Begun since = last && begun[*last].ns > first.ns ? begun[*last] : first;
  // Of what was begun while nobody looked nothing tells which was first.
  for (const Begun& each : begun) {
    if (!each.is_late || each.ns < since.ns) continue;
    since.at_most = later(each.at_most, since.at_most);
    since = unseen(since);
  }
  return since;
}

bool CheckpointWatch::is_whole(const Launch& launch, const Unit& unit, const CheckpointFiles& files,
                               std::optional<bool> ended_well) {
  const PlainWatch& what = launch.watched.what;
  const bool needs_file = !what.complete.empty() && !files.is_file;
  const FileVersion* const complete = needs_file ? files.find(what.complete) : nullptr;
  if (needs_file && complete == nullptr) return false;
  if (ended_well == true) return true;
  const std::int64_t age_ns = unix_ns() - files.changed_ns();
  if (!ended_well && age_ns >= 0 && age_ns < clock_step_ns) return false;
  if (files.is_file && unit.is_renamed) return true;
  const auto is_complete = [&](const FileVersion& file) { return file == *complete; };
  const bool is_new = needs_file && std::none_of(unit.known.begin(), unit.known.end(), is_complete);
  // Of a dead one no log is open any more.
  const bool has_logs = !ended_well;
  if (is_new && !is_written_since(launch, files, *complete, has_logs)) return true;
  const Seconds quiet = files.is_file && unit.is_closed ? closed_quiet_s : quiet_s;
  // Rest counts while it lives: its death closes a file, too, in the middle of a save.
  // Its writer may write more and close it between the look and the search for a writer: that is
  // looked for once more then.
  return launch.alive_at - unit.seen_since >= quiet && is_held_for_logs(launch, files);
}

}  // namespace tune
