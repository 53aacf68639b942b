#include "tuner/execution/script/launch_logs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

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

}  // namespace

void LaunchLogs::open(const std::filesystem::path& stdout_path,
                      const std::filesystem::path& stderr_path) {
  const std::lock_guard lock(mutex_);
  logs_.front().file = open_to_read(stdout_path);
  logs_.back().file = open_to_read(stderr_path);
  for (std::size_t i = 0; i < logs_.size(); ++i) look(i);
}

LogSizes LaunchLogs::look() {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < logs_.size(); ++i) look(i);
  return {logs_.front().begin + logs_.front().bytes, logs_.back().begin + logs_.back().bytes};
}

/// A log's own time says when it has grown, however late it is looked; but not that of a server
/// with another clock.
void LaunchLogs::look(std::size_t log) {
  constexpr std::int64_t ns_per_s = 1'000'000'000, most_late_ns = 1'000'000'000;
  Log& of = logs_.at(log);
  struct stat status {};
  if (!of.file || ::fstat(of.file.get(), &status) != 0) return;
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  // A byte stands for what is missing, so that whoever has read all else notices.
  if (bytes < of.bytes) of.begin += of.bytes + 1;
  of.bytes = bytes;
  const std::int64_t changed_ns = status.st_mtim.tv_sec * ns_per_s + status.st_mtim.tv_nsec;
  const std::int64_t now_ns = unix_ns();
  const bool is_plausible = changed_ns <= now_ns && changed_ns >= now_ns - most_late_ns;
  times_.note(log, of.begin + of.bytes, is_plausible ? changed_ns : now_ns);
}

LaunchLogs::Read LaunchLogs::read(std::size_t log, std::uint64_t& at, std::span<char> block) {
  const std::lock_guard lock(mutex_);
  look(log);
  Log& of = logs_.at(log);
  if (!of.file) return {};
  Read read{.is_behind_cut = at < of.begin};
  at = std::max(at, of.begin);
  const ssize_t count =
      ::pread(of.file.get(), block.data(), block.size(), static_cast<off_t>(at - of.begin));
  read.bytes = count > 0 ? static_cast<std::size_t>(count) : 0;
  of.bytes = std::max(of.bytes, at - of.begin + read.bytes);
  return read;
}

std::string LaunchLogs::before(std::size_t log, std::uint64_t at, std::size_t most_bytes) {
  const std::lock_guard lock(mutex_);
  const Log& of = logs_.at(log);
  if (!of.file || at < of.begin) return "";
  const std::uint64_t end = at - of.begin, begin = end - std::min<std::uint64_t>(end, most_bytes);
  std::string text(static_cast<std::size_t>(end - begin), '\0');
  const ssize_t count = ::pread(of.file.get(), text.data(), text.size(), static_cast<off_t>(begin));
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return text;
}

}  // namespace tune
