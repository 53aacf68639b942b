// The thread: waits for events and for the next look, hands both to the trackers, and tells what
// they find.
#include "tuner/execution/plain/checkpoint_watch.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <system_error>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/execution/plain/open_files.h"
#include "tuner/process/system_clock.h"

namespace tune {

namespace fs = std::filesystem;

namespace {

/// Between two proofs that this thread does not stand still: see late_s.
constexpr Seconds awake_period_s = 0.05;
constexpr std::size_t most_others = 1'000;

Seconds steady_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

/// A launch, and where it saves.
class CheckpointWatch::Launch : public SaveTracker::Place {
 public:
  Launch(CheckpointWatch& watch, LaunchId id, Watched watched)
      : watch_(watch), id_(id), watched_(std::move(watched)) {
    if (!watched_.logs) {
      watched_.logs = std::make_shared<LaunchLogs>();
      watched_.logs->open(watched_.stdout_path, watched_.stderr_path);
    }
    // It has run for a moment already, or for long, if the driver stood still.
    const LogSizes seen = watched_.logs->look();
    watch_.events_.watch_log(id_, watched_.stdout_path);
    if (watched_.stderr_path != watched_.stdout_path) {
      watch_.events_.watch_log(id_, watched_.stderr_path);
    }
    watch_tree({});
    std::vector<SaveTracker::Other> others;
    find_others({}, others);
    tracker_.emplace(SaveTracker::Launch{watched_.what, watched_.begin, seen}, others, watch_.logs_,
                     *this, watch_.patience_s_);
  }
  ~Launch() override { watch_.events_.forget(id_); }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  SaveTracker& tracker() { return *tracker_; }
  LaunchLogs& logs() { return *watched_.logs; }

  std::vector<CheckpointFiles> checkpoints() override {
    return look_at_checkpoints(watched_.what.root, watched_.what.pattern);
  }
  std::optional<CheckpointFiles> checkpoint(const fs::path& name) override {
    return look_at_checkpoint(watched_.what.root, name);
  }
  std::set<std::string> being_written(const CheckpointFiles& files) override {
    return tune::being_written(open_files(watched_.group), files);
  }
  LogSizes log_sizes() override { return watched_.logs->look(); }
  bool is_alive() override { return !is_dead(watched_.group); }
  Seconds now() override { return steady_now(); }
  std::int64_t unix_ns() override { return tune::unix_ns(); }
  void watch(const fs::path& directory) override { watch_tree(directory); }
  bool has_events() const override { return watch_.events_.is_open(); }
  /// A directory is let go of once a rename in it has been told: so who lists it hears of all that
  /// he has seen there. Without that a file is there for a moment before its event is.
  void catch_up(const fs::path& name) override {
    std::error_code ignored;
    const fs::directory_iterator listed((watched_.what.root / name).parent_path(), ignored);
    watch_.take_events();
  }

 private:
  bool watch_directory(const fs::path& directory) {
    return watch_.events_.watch_directory(id_, watched_.what.root, directory);
  }
  void watch_tree(const fs::path& directory);
  bool find_others(const fs::path& directory, std::vector<SaveTracker::Other>& others);

  CheckpointWatch& watch_;
  const LaunchId id_;
  Watched watched_;
  std::optional<SaveTracker> tracker_;
};

void CheckpointWatch::Launch::watch_tree(const fs::path& directory) {
  const PlainWatch& what = watched_.what;
  if (is_too_deep(directory) || !may_hold_checkpoints(what.pattern, directory)) return;
  if (!watch_directory(directory)) return;
  const fs::path place = directory.empty() ? what.root : what.root / directory;
  std::error_code error;
  for (fs::directory_iterator at(place, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    std::error_code ignored;
    if (at->is_directory(ignored) && !at->is_symlink(ignored)) {
      watch_tree(directory / at->path().filename());
    }
  }
}

/// What lies there and is no checkpoint may be a save that was interrupted, and may become one by a
/// rename: what is as it was before the launch is written from its first change on, not from the
/// launch on. Answers whether all of `directory` is.
bool CheckpointWatch::Launch::find_others(const fs::path& directory,
                                          std::vector<SaveTracker::Other>& others) {
  const PlainWatch& what = watched_.what;
  bool is_all_old = true;
  std::error_code error;
  for (fs::directory_iterator at(what.root / directory, error);
       !error && at != fs::directory_iterator(); at.increment(error)) {
    std::error_code ignored;
    const fs::path name = directory / at->path().filename();
    if (is_too_deep(name) || at->is_symlink(ignored) || checkpoint_of(what.pattern, name)) continue;
    bool is_old = false;
    if (at->is_directory(ignored)) {
      const bool is_watched = may_hold_checkpoints(what.pattern, name) || watch_directory(name);
      is_old = find_others(name, others) && is_watched;
    } else if (const auto file = look_at_checkpoint(what.root, name)) {
      const auto before =
          std::lower_bound(what.others.begin(), what.others.end(), name.string(),
                           [](const FileVersion& a, const std::string& b) { return a.name < b; });
      FileVersion now = file->files.front();
      now.name = name.string();
      is_old = before != what.others.end() && *before == now;
    }
    if (others.size() >= most_others) return false;
    others.push_back({name, is_old});
    is_all_old = is_all_old && is_old;
  }
  return is_all_old;
}

CheckpointWatch::CheckpointWatch(OnNews on_news, Seconds patience_s)
    : on_news_(std::move(on_news)),
      patience_s_(patience_s),
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

void CheckpointWatch::end(LaunchId launch, bool ended_well, std::set<fs::path> cut_off) {
  post(End{launch, ended_well, std::move(cut_off)});
}

void CheckpointWatch::quiesce(LaunchId launch, Seconds time_to_begin_s) {
  post(Quiesce{launch, time_to_begin_s});
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
    std::array<pollfd, 2> files{{{wake_.get(), POLLIN, 0}, {events_.descriptor(), POLLIN, 0}}};
    ::poll(files.data(), events_.is_open() ? 2 : 1, milliseconds_to_wait());
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
    for (auto& [id, launch] : launches_) launch->logs().watched_until(watched_ns);
    for (Command& command : commands) std::visit([this](auto& what) { handle(what); }, command);
    for (auto& [id, launch] : launches_) look(id, launch->tracker());
  }
}

void CheckpointWatch::look(LaunchId id, SaveTracker& tracker) {
  if (tracker.next_look() > steady_now()) return;
  auto found = tracker.look();
  launches_.at(id)->logs().note_saves(tracker.seen());
  const bool has_settled = tracker.take_settled();
  if (has_settled || !found.empty()) {
    on_news_(id, std::move(found), has_settled ? News::quiesced : News::found);
  }
  if (auto restless = tracker.take_restless()) {
    on_news_(id, {{*std::move(restless), {}}}, News::restless);
  }
}

int CheckpointWatch::milliseconds_to_wait() const {
  if (launches_.empty()) return -1;
  Seconds next = never_s;
  for (const auto& [id, launch] : launches_) next = std::min(next, launch->tracker().next_look());
  constexpr double ms_per_s = 1e3;
  return static_cast<int>(
      std::ceil(std::clamp(next - steady_now(), 0.0, awake_period_s) * ms_per_s));
}

void CheckpointWatch::handle(Begin& command) {
  launches_[command.launch] =
      std::make_unique<Launch>(*this, command.launch, std::move(command.watched));
}

void CheckpointWatch::handle(const Quiesce& command) {
  const auto launch = launches_.find(command.launch);
  if (launch == launches_.end()) return;
  launch->second->tracker().quiesce(command.time_to_begin_s);
}

void CheckpointWatch::handle(const End& command) {
  std::vector<SavedFiles> last;
  const auto found = launches_.find(command.launch);
  if (found != launches_.end()) {
    if (command.ended_well)
      last = found->second->tracker().look(command.ended_well, command.cut_off);
    launches_.erase(found);
  }
  if (command.ended_well) on_news_(command.launch, std::move(last), News::last);
}

void CheckpointWatch::read(std::vector<LaunchFileEvent>& told) {
  events_.read(told);
  std::erase_if(told, [this](const auto& each) { return !launches_.contains(each.launch); });
}

LogSizes CheckpointWatch::log_sizes(LaunchId launch) { return launches_.at(launch)->log_sizes(); }

void CheckpointWatch::take_events() {
  const Seconds read_before_at = std::exchange(events_read_at_, steady_now());
  auto batches = gather_events(*this);
  // Also if it stood still between the reads.
  const bool is_late = steady_now() - read_before_at > late_s;
  for (auto& [id, batch] : batches) {
    batch.is_late = is_late;
    Launch& launch = *launches_.at(id);
    launch.tracker().take(batch);
    launch.logs().note_saves(launch.tracker().seen());
  }
}

}  // namespace tune
