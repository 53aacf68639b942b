// A thread (inotify, and regular looks) that finds the checkpoints of programs that save by
// themselves.
// Changes nothing on the disk.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "tuner/base/clock.h"
#include "tuner/disk/file_descriptor.h"
#include "tuner/execution/executor.h"
#include "tuner/execution/plain/file_events.h"
#include "tuner/execution/plain/launch_logs.h"
#include "tuner/plain/save_tracker.h"

namespace tune {

/// What is whole a SaveTracker says, one for each launch.
class CheckpointWatch : private EventSource {
 public:
  enum class News {
    found,     ///< what is whole and was not before
    quiesced,  ///< the answer to `quiesce`
    last,      ///< the answer to `end`
    restless,  ///< what has been changed for a while, and was never whole; said once
  };
  /// On the watch's thread. Must not throw.
  using OnNews = std::function<void(LaunchId, std::vector<SavedFiles>, News)>;

  struct Watched {
    PlainWatch what;
    std::filesystem::path stdout_path;
    std::filesystem::path stderr_path;  ///< may be the same
    LogSizes begin;
    pid_t group = 0;
    /// The logs, if somebody reads them, too; null: nobody does.
    std::shared_ptr<LaunchLogs> logs = {};
  };

  /// `patience_s`: who changes what it saves for longer than that is restless.
  explicit CheckpointWatch(OnNews on_news, Seconds patience_s = 10);
  ~CheckpointWatch() override;

  void begin(LaunchId launch, Watched watched);
  /// The launch is going to be ended: answers once it has had time to begin a save, and nothing is
  /// half-written of what began by then.
  void quiesce(LaunchId launch, Seconds time_to_begin_s);
  /// All processes of it are gone. `ended_well`: by itself, and not by a failure. `cut_off`: names
  /// of checkpoints that were half-written as the last of them were ended.
  void end(LaunchId launch, bool ended_well, std::set<std::filesystem::path> cut_off = {});
  /// Nobody waits for an answer.
  void forget(LaunchId launch);

 private:
  class Launch;
  struct Begin {
    LaunchId launch{};
    Watched watched;
  };
  struct Quiesce {
    LaunchId launch{};
    Seconds time_to_begin_s = 0;
  };
  struct End {
    LaunchId launch{};
    std::optional<bool> ended_well;  ///< nothing: forget it
    std::set<std::filesystem::path> cut_off = {};
  };
  using Command = std::variant<Begin, Quiesce, End>;

  void post(Command command);
  void run();
  void handle(Begin& command);
  void handle(const Quiesce& command);
  void handle(const End& command);
  void read(std::vector<LaunchFileEvent>& told) override;
  LogSizes log_sizes(LaunchId launch) override;
  void take_events();
  void look(LaunchId id, SaveTracker& tracker);
  int milliseconds_to_wait() const;

  const OnNews on_news_;
  const Seconds patience_s_;
  FileEventQueue events_;  ///< closed where the kernel gives no more: then it is only looked
  FileDescriptor wake_;
  Seconds events_read_at_ = 0;  ///< steady; all that had happened by then
  std::set<std::string> logs_;  ///< see SaveTracker
  std::map<LaunchId, std::unique_ptr<Launch>> launches_;
  std::mutex mutex_;
  std::deque<Command> commands_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tune
