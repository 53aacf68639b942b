// A thread (inotify, and regular looks) that finds the checkpoints of programs that save by
// themselves: which are whole, and how far the logs had come before their writing began.
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
#include <unordered_map>
#include <variant>
#include <vector>

#include "tuner/base/clock.h"
#include "tuner/disk/file_descriptor.h"
#include "tuner/execution/executor.h"
#include "tuner/execution/script/launch_logs.h"
#include "tuner/script/last_save.h"
#include "tuner/script/save_fold.h"

namespace tune {

/// A checkpoint is whole if the file that completes it is new; if it is one file that was renamed
/// to its name; if its program has ended well; or if nothing has changed for a second, of a file
/// that was closed for a quarter of one, and no process of the group has a file of it open for
/// writing but logs, which stay open from one save to the next.
class CheckpointWatch {
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
  explicit CheckpointWatch(OnNews on_news, Seconds patience_s = 30);
  ~CheckpointWatch();

  void begin(LaunchId launch, Watched watched);
  /// The launch is going to be ended: answers once it has had time to begin a save, and nothing is
  /// half-written. A save that began when the logs had reached `too_late` is not waited for.
  void quiesce(LaunchId launch, Seconds time_to_begin_s, LogSizes too_late = no_sizes);
  /// All processes of it are gone. `ended_well`: by itself, and not by a failure.
  void end(LaunchId launch, bool ended_well);
  /// Nobody waits for an answer.
  void forget(LaunchId launch);

 private:
  /// When the writing of something began.
  struct Begun {
    LogSizes printed;      ///< before it, at least
    std::int64_t ns = 0;   ///< Unix time, or somewhat later
    LogSizes at_most;      ///< printed before it, perhaps, if there are `bursts`
    int bursts = 0;        ///< of printing, behind `printed`
    bool is_late = false;  ///< see SavedFiles
  };
  struct Unit {
    std::vector<FileVersion> known;  ///< when it was whole last
    std::vector<FileVersion> seen;   ///< when it was looked at last
    Seconds seen_since = 0;          ///< steady
    std::optional<Begun> begun;      ///< its change; nothing: it is as known
    bool is_completed = false;       ///< nothing was written since the file that completes it
    bool is_renamed = false;         ///< its file got its name by a rename
    bool is_closed = false;          ///< nobody has written to its file since
    Seconds busy_since = never_s;    ///< steady; half-written at all looks since
  };
  struct Writing {
    Begun begun;
    bool is_closed = false;            ///< nobody has written to it since: whoever does begins anew
    std::optional<Begun> before = {};  ///< it was begun the time before
  };
  struct Launch {
    Watched watched;
    std::map<std::filesystem::path, Unit> units;
    std::vector<int> watches;                          ///< of inotify
    std::map<std::filesystem::path, Writing> writing;  ///< what may be renamed to a checkpoint
    std::int64_t began_ns = 0;                         ///< Unix time
    LogSizes sizes;                                    ///< of the logs, when events were read last
    Seconds alive_at = 0;                              ///< steady; its leader, at the last look
    bool has_printed_since = false;                    ///< and the event of that was read
    Begun unseen;                                      ///< of what was begun before all of that
    LogSizes sizes_at_look;                            ///< when it was looked at last
    Seconds looked_at = 0;                             ///< steady; then
    Seconds next_look = 0;                             ///< steady
    Seconds settles_at = never_s;                      ///< steady; not before
    LogSizes too_late = no_sizes;                      ///< see `quiesce`
    bool is_busy = false;                     ///< something was half-written at the last look
    bool is_waited_for = false;               ///< and is not too late
    bool is_restless = false;                 ///< that was said
    std::optional<CheckpointFiles> restless;  ///< what is to be said of that
  };
  struct WatchedDirectory {
    LaunchId launch{};
    bool is_log = false;
    std::filesystem::path directory;  ///< within the root
  };
  struct Event {
    WatchedDirectory place;
    std::string name;
    std::uint32_t mask = 0;
    std::uint32_t cookie = 0;
  };
  struct Begin {
    LaunchId launch{};
    Watched watched;
  };
  struct Quiesce {
    LaunchId launch{};
    Seconds time_to_begin_s = 0;
    LogSizes too_late;
  };
  struct End {
    LaunchId launch{};
    std::optional<bool> ended_well;  ///< nothing: forget it
  };
  using Command = std::variant<Begin, Quiesce, End>;

  void post(Command command);
  void run();
  void handle(Begin& command);
  void handle(const Quiesce& command);
  void handle(const End& command);
  void watch_log(LaunchId id, Launch& launch, const std::filesystem::path& log);
  bool watch_directory(LaunchId id, Launch& launch, const std::filesystem::path& directory);
  void watch_tree(LaunchId id, Launch& launch, const std::filesystem::path& directory);
  static Begun unseen(Begun begun);
  static void note_known(Launch& launch, const CheckpointFiles& known);
  static void note_begun(Launch& launch);
  bool note_others(LaunchId id, Launch& launch, const std::filesystem::path& directory);
  void take_events();
  void read_events(std::vector<Event>& events);
  std::map<LaunchId, LogSizes> log_sizes(const std::vector<Event>& of) const;
  void take(const Event& event, const Begun& printed);
  Writing note_writing(Launch& launch, const Event& event, const std::filesystem::path& name,
                       const Begun& printed);
  void note_changed(Launch& launch, const std::filesystem::path& within, const Begun& printed);
  std::vector<SavedFiles> look(Launch& launch, std::optional<bool> ended_well);
  bool is_known(const Unit& unit, const CheckpointFiles& files) const;
  static WriteBegin write_of(const Begun& begun);
  Begun begun_at(const Launch& launch, const CheckpointFiles& files, const Begun& first) const;
  bool is_held_for_logs(const Launch& launch, const CheckpointFiles& files);
  static bool is_written_since(const Launch& launch, const CheckpointFiles& files,
                               const FileVersion& complete, bool has_logs);
  bool is_as_seen(const Launch& launch, const CheckpointFiles& files);
  bool is_whole(const Launch& launch, const Unit& unit, const CheckpointFiles& files,
                std::optional<bool> ended_well);
  int milliseconds_to_wait() const;

  const OnNews on_news_;
  const Seconds patience_s_;
  FileDescriptor inotify_;  ///< none where the kernel gives no more: then it is only looked
  FileDescriptor wake_;
  Seconds events_read_at_ = 0;  ///< steady; all that had happened by then
  std::map<LaunchId, Launch> launches_;
  std::unordered_map<int, WatchedDirectory> places_;
  std::unordered_map<std::uint32_t, Writing> moving_;  ///< by cookie
  std::set<std::string> logs_;  ///< kinds of files that programs hold open over their saves
  std::mutex mutex_;
  std::deque<Command> commands_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tune
