// Maps a log that others truncate (logrotate's copytruncate) to ever-growing offsets, by its size
// and its first bytes.
#include "tuner/execution/plain/launch_logs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/disk/regular_file.h"
#include "tuner/process/system_clock.h"

namespace tune {

namespace {

FileDescriptor open_to_read(const std::filesystem::path& path) {
  try {
    return FileDescriptor(open_regular(path.string(), O_RDONLY));
  } catch (const Error&) {
    return {};  // the trial has put something else there
  }
}

constexpr std::uint64_t most_head_bytes = 1024;

/// Fewer where the file ends.
std::string read_at(const FileDescriptor& file, std::uint64_t begin, std::uint64_t bytes) {
  std::string text(static_cast<std::size_t>(bytes), '\0');
  const ssize_t count = ::pread(file.get(), text.data(), text.size(), static_cast<off_t>(begin));
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return text;
}

}  // namespace

void LaunchLogs::open(const std::filesystem::path& stdout_path,
                      const std::filesystem::path& stderr_path, const LogSizes& begin) {
  const std::lock_guard lock(mutex_);
  logs_.front().file = open_to_read(stdout_path);
  logs_.back().file = open_to_read(stderr_path);
  logs_.front().read = begin.stdout_bytes;
  logs_.back().read = begin.stderr_bytes;
  watched_ns_ = unix_ns();
  for (std::size_t i = 0; i < logs_.size(); ++i) look(i);
}

LogSizes LaunchLogs::look() {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < logs_.size(); ++i) look(i);
  return {logs_.front().begin + logs_.front().bytes, logs_.back().begin + logs_.back().bytes};
}

void LaunchLogs::note_saves(SavesSeen seen) {
  const std::lock_guard lock(mutex_);
  saves_ = std::move(seen);
}

SavesSeen LaunchLogs::saves_seen() {
  const std::lock_guard lock(mutex_);
  return saves_;
}

void LaunchLogs::watched_until(std::int64_t ns) {
  const std::lock_guard lock(mutex_);
  watched_ns_ = ns;
}

/// A log's own time says when it has grown, however late it is looked; but not that of a server
/// with another clock.
void LaunchLogs::look(std::size_t log) {
  constexpr std::int64_t ns_per_s = 1'000'000'000, most_late_ns = 1'000'000'000;
  Log& of = logs_.at(log);
  struct stat status {};
  if (!of.file || ::fstat(of.file.get(), &status) != 0) return;
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  if (bytes < of.bytes) note_cut(of, bytes);
  of.bytes = bytes;
  const std::uint64_t head_bytes = std::min(bytes, most_head_bytes), known = of.head.size();
  if (known < head_bytes) of.head += read_at(of.file, known, head_bytes - known);
  const std::int64_t changed_ns = status.st_mtim.tv_sec * ns_per_s + status.st_mtim.tv_nsec;
  const std::int64_t now_ns = unix_ns();
  const bool is_plausible = changed_ns <= now_ns && changed_ns >= now_ns - most_late_ns;
  const std::int64_t grown_ns = is_plausible ? changed_ns : now_ns;
  const bool is_late = now_ns - watched_ns_ > static_cast<std::int64_t>(late_s * ns_per_s);
  const std::int64_t lag_ns = is_late ? std::max<std::int64_t>(0, grown_ns - watched_ns_) : 0;
  times_.note(log, of.begin + of.bytes, grown_ns, lag_ns);
}

/// If it begins as before, all that it has was there. Else somebody has emptied it, and what it has
/// came since; or has rewritten it, which looks the same.
void LaunchLogs::note_cut(Log& log, std::uint64_t bytes) {
  const std::string head = read_at(log.file, 0, std::min<std::uint64_t>(bytes, log.head.size()));
  log.is_read_again = !log.head.starts_with(head);
  const std::uint64_t left = log.is_read_again ? 0 : bytes;
  const std::uint64_t left_of_read = std::min(left, log.read - std::min(log.read, log.begin));
  // A byte stands for what is missing, so that whoever has read all else notices.
  log.cut = log.begin + log.bytes + 1;
  log.begin = log.cut - left_of_read;
  log.read = log.cut;
  log.head = head;
}

LaunchLogs::Read LaunchLogs::read(std::size_t log, std::uint64_t& at, std::span<char> block) {
  const std::lock_guard lock(mutex_);
  look(log);
  Log& of = logs_.at(log);
  if (!of.file) return {};
  const bool is_behind_cut = at < of.cut;
  Read read{.is_behind_cut = is_behind_cut, .is_read_again = is_behind_cut && of.is_read_again};
  at = std::max(at, of.cut);
  const ssize_t count =
      ::pread(of.file.get(), block.data(), block.size(), static_cast<off_t>(at - of.begin));
  read.bytes = count > 0 ? static_cast<std::size_t>(count) : 0;
  of.read = at + read.bytes;
  of.bytes = std::max(of.bytes, of.read - of.begin);
  return read;
}

std::string LaunchLogs::before(std::size_t log, std::uint64_t at, std::size_t most_bytes) {
  const std::lock_guard lock(mutex_);
  const Log& of = logs_.at(log);
  if (!of.file || at < of.begin) return "";
  const std::uint64_t end = at - of.begin, begin = end - std::min<std::uint64_t>(end, most_bytes);
  return read_at(of.file, begin, end - begin);
}

}  // namespace tune
