// Which checkpoints of a launch are whole, and how far its logs had come before the writing of each
// began: a fold over what happens to its files, and looks at them.
// Pure: reads no clock and no file; it asks a SaveTracker::Place.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tuner/base/clock.h"
#include "tuner/plain/last_save.h"
#include "tuner/plain/plain_program.h"
#include "tuner/plain/save_fold.h"

namespace tune {

/// Who looks less often than that stands still, or waits for a disk or a processor: the order of
/// what has happened since is not known from when it was seen.
inline constexpr Seconds late_s = 0.15;

/// Something has happened to a log, or to a name in a watched directory.
struct FileEvent {
  enum class What { printed, created, modified, closed, deleted, moved_from, moved_to };
  What what{};
  bool is_directory = false;
  std::filesystem::path directory;  ///< within the root
  std::string name;                 ///< in that
  std::uint32_t cookie = 0;         ///< the same for both ends of a rename

  bool is_new() const { return what == What::created || what == What::moved_to; }
};

/// What has happened to a launch since the batch before, in the order in which it has.
struct FileEvents {
  std::vector<FileEvent> events;
  std::size_t first_read = 0;     ///< so many were there before `sizes` were taken; lines that
                                  ///< are told of behind those may be in `sizes` or not
  std::optional<LogSizes> sizes;  ///< of the logs then; nothing: none was there
  LogSizes later_sizes;           ///< once all were there
  bool is_late = false;           ///< nobody looked for longer than late_s
};

/// A checkpoint is whole if the file that completes it is new and closed; if it is one file that
/// was renamed to its name; if its program has ended well; or if nothing has changed for a second,
/// of a file that was closed, or of a directory in which all was written anew, for a quarter of
/// one, and no process of the group has a file of it open for writing but logs, which stay open
/// from one save to the next.
class SaveTracker {
 public:
  /// Where the launch saves, as it is now.
  class Place {
   public:
    virtual ~Place() = default;
    virtual std::vector<CheckpointFiles> checkpoints() = 0;
    /// Nothing: it is not there any more.
    virtual std::optional<CheckpointFiles> checkpoint(const std::filesystem::path& name) = 0;
    /// The files of it that the launch has open for writing, by name within the checkpoint; "" is
    /// the checkpoint itself, or a file that has another name by now.
    virtual std::set<std::string> being_written(const CheckpointFiles& files) = 0;
    virtual LogSizes log_sizes() = 0;
    virtual bool is_alive() = 0;  ///< the launch
    virtual Seconds now() = 0;    ///< steady
    virtual std::int64_t unix_ns() = 0;
    /// A directory has been made, or has come here: tells of what happens there from now on, too.
    virtual void watch(const std::filesystem::path& directory) = 0;
    /// Whether all that happens is told, in its order; else there are looks alone.
    virtual bool has_events() const = 0;
    /// Calls `take` with all that has happened so far; of what has been seen of the checkpoint
    /// `name` nothing is told later.
    virtual void catch_up(const std::filesystem::path& name) = 0;
  };

  struct Launch {
    PlainWatch what;
    LogSizes begin;  ///< of its logs, when it was launched
    LogSizes seen;   ///< before its files were watched
  };
  /// What lies there as the watching begins and is no checkpoint.
  struct Other {
    std::filesystem::path name;
    bool is_old = false;  ///< it is as it was before the launch
  };
  /// `logs`: kinds of files that programs of the search hold open over their saves; it and `place`
  /// outlive this. `patience_s`: who changes what it saves for longer than that is restless. All is
  /// watched already.
  SaveTracker(Launch launch, const std::vector<Other>& others, std::set<std::string>& logs,
              Place& place, Seconds patience_s);

  void take(const FileEvents& events);

  /// What is whole and was not before, in the order of their last changes. `ended_well`: the launch
  /// is over, by itself and not by a failure, or not so. `cut_off`: names of what was being written
  /// as its last processes were ended.
  std::vector<SavedFiles> look(std::optional<bool> ended_well = {},
                               const std::set<std::filesystem::path>& cut_off = {});
  Seconds next_look() const { return next_look_; }  ///< steady
  /// How far it is known what the launch saves.
  SavesSeen seen();

  /// The launch is going to be ended, and may begin a save for so long. One that begins later is
  /// not waited for.
  void quiesce(Seconds time_to_begin_s);
  /// Once, as far as the last look tells: that time is over, and nothing is half-written.
  bool take_settled();
  /// Once: what has been changed for longer than the patience lasts, and was never whole.
  std::optional<CheckpointFiles> take_restless();

 private:
  /// When the writing of something began.
  struct Begun {
    LogSizes printed;      ///< before it, at least
    std::int64_t ns = 0;   ///< Unix time, or somewhat later
    LogSizes at_most;      ///< printed before it, perhaps, if there are `bursts`
    int bursts = 0;        ///< of printing, behind `printed`
    bool is_late = false;  ///< see SavedFiles
    bool is_by_look = false;
  };
  struct Unit {
    std::vector<FileVersion> known;   ///< when it was whole last
    std::vector<FileVersion> seen;    ///< when it was looked at last
    Seconds seen_since = 0;           ///< steady
    std::optional<Begun> begun;       ///< its change; nothing: it is as known
    bool is_untold = false;           ///< no event has told of that so far
    bool is_completed = false;        ///< nothing was written since the file that completes it
    bool is_complete_closed = false;  ///< that file, by its writer and not by the death of that
    bool is_renamed = false;          ///< its file got its name by a rename
    bool is_closed = false;           ///< nobody has written to its file since
    bool has_only_logs = false;       ///< written since: files that were open before, and still are
    Seconds busy_since = never_s;     ///< steady; half-written at all looks since
    /// By file, how far the logs had come at each write since it was whole last.
    std::map<std::string, std::vector<LogSizes>> writes = {};
  };
  struct Writing {
    Begun begun;
    bool is_closed = false;            ///< nobody has written to it since: whoever does begins anew
    std::optional<Begun> before = {};  ///< it was begun the time before
    std::optional<Begun> first = {};   ///< the first time; nothing: that was `begun`
  };

  static Begun unseen(Begun begun);
  void note_begin(const std::filesystem::path& name, Unit& unit, const Begun& begun);
  void note_known(const CheckpointFiles& known);
  void note_begun();
  void note_changed(const std::filesystem::path& within, const Begun& printed, bool is_moved);
  Writing note_writing(const FileEvent& event, const std::filesystem::path& name,
                       const Begun& printed);
  static void note_write(Unit& unit, const FileEvent& event, const std::filesystem::path& name,
                         const LogSizes& printed);
  void take(const FileEvent& event, const Begun& printed);
  bool is_known(const Unit& unit, const CheckpointFiles& files) const;
  bool has_closed(Unit& unit, const CheckpointFiles& files);
  static WriteBegin write_of(const Begun& begun);
  Begun begun_at(const CheckpointFiles& files, const Begun& first) const;
  std::optional<LogSizes> printed_before_first(const CheckpointFiles& files,
                                               std::int64_t since_ns) const;
  void note_half_written(Unit& unit, const CheckpointFiles& files);
  bool is_held_for_logs(const CheckpointFiles& files);
  bool is_written_anew(const CheckpointFiles& files) const;
  bool is_written_since(const CheckpointFiles& files, const FileVersion& complete,
                        bool has_logs) const;
  bool is_as_seen(const CheckpointFiles& files);
  bool is_whole(Unit& unit, const CheckpointFiles& files, std::optional<bool> ended_well);

  const PlainWatch what_;
  const LogSizes begin_;
  std::set<std::string>& logs_;
  Place& place_;
  const Seconds patience_s_;
  std::map<std::filesystem::path, Unit> units_;
  std::set<std::filesystem::path> begun_;  ///< names of those that are begun, perhaps of others
  std::size_t told_ = 0;                   ///< saves that were whole
  std::map<std::filesystem::path, Writing> writing_;  ///< what may be renamed to a checkpoint
  std::map<std::uint32_t, Writing> moving_;           ///< by cookie
  std::int64_t began_ns_ = 0;                         ///< Unix time
  LogSizes sizes_;                                    ///< of the logs, when events were taken last
  Seconds alive_at_ = 0;                              ///< steady; the launch, at the last look
  bool has_printed_since_ = false;                    ///< perhaps, and the event of that was taken
  Begun unseen_;                                      ///< of what was begun before all of that
  LogSizes sizes_at_look_;                            ///< when it was looked at last
  Seconds looked_at_ = 0;                             ///< steady; then
  Seconds next_look_ = 0;                             ///< steady
  Seconds settles_at_ = never_s;                      ///< steady; not before
  std::int64_t too_late_ns_ = 0;                      ///< Unix time; see `quiesce`
  bool is_busy_ = false;                     ///< something was half-written at the last look
  bool is_waited_for_ = false;               ///< and is not too late
  bool is_restless_ = false;                 ///< that was told
  std::optional<CheckpointFiles> restless_;  ///< what is to be told of that
};

}  // namespace tune
