// The two logs of a launch, with offsets that only grow: if a log is truncated while its program
// writes to it (logrotate), later bytes get offsets behind all earlier ones. So the reader's thread
// and the watcher's thread mean the same place by an offset.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <span>
#include <string>

#include "tuner/base/clock.h"
#include "tuner/disk/file_descriptor.h"
#include "tuner/execution/plain/log_times.h"
#include "tuner/plain/save_fold.h"

namespace tune {

class LaunchLogs {
 public:
  /// The files that have these names now, whatever has them later. One that cannot be opened stays
  /// empty. The second may be the first one. They are read from `begin` on.
  void open(const std::filesystem::path& stdout_path, const std::filesystem::path& stderr_path,
            const LogSizes& begin = {});

  /// How far they have come; also notes when.
  LogSizes look();
  /// How far it is known what the launch saves; nothing is known at first.
  void note_saves(SavesSeen seen);
  SavesSeen saves_seen();
  /// All that they had at `ns`, Unix time, was looked at soon after it came.
  void watched_until(std::int64_t ns);

  struct Read {
    std::size_t bytes = 0;
    bool is_behind_cut = false;  ///< what stood before `at` or behind it may never have been read
    bool is_read_again = false;  ///< and what was read may stand there again: its begin is another
  };
  /// Reads what `log`, 0 or 1, has from `at` on. If it was cut down since, `at` becomes the place
  /// behind what is left of all that was read.
  Read read(std::size_t log, std::uint64_t& at, std::span<char> block);
  /// What it has right before `at`, as much as fits.
  std::string before(std::size_t log, std::uint64_t at, std::size_t most_bytes);

  LogTimes& times() { return times_; }

 private:
  struct Log {
    FileDescriptor file;
    std::uint64_t begin = 0;  ///< place of its first byte
    std::uint64_t bytes = 0;  ///< that it had when it was looked at last
    std::uint64_t read = 0;   ///< place of what is to be read next
    std::uint64_t cut = 0;    ///< place where reading goes on since it was cut down last
    bool is_read_again = false;
    std::string head;  ///< its first bytes, which tell whether what is left after a cut was there
  };
  void look(std::size_t log);
  static void note_cut(Log& log, std::uint64_t bytes);

  std::mutex mutex_;
  std::array<Log, 2> logs_;
  std::int64_t watched_ns_ = 0;  ///< Unix time
  SavesSeen saves_;
  LogTimes times_;
};

}  // namespace tune
