// Punches a hole into the middle of a log (fallocate): beginning and end stay, and so does its
// writer's offset.
#include "tuner/disk/log_limit.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "tuner/base/error.h"
#include "tuner/disk/file_descriptor.h"
#include "tuner/disk/regular_file.h"

namespace tune {

namespace {

constexpr std::uint64_t page_bytes = 4096;  ///< parts of one are zeroed, and not given back

struct LogSize {
  std::uint64_t bytes = 0;
  std::uint64_t taken_bytes = 0;  ///< of the disk
  bool has_one_name = false;      ///< another name of the same file may be somebody's own
};

/// Zero if it cannot be told.
LogSize size_of(const FileDescriptor& log) {
  struct stat status {};
  if (::fstat(log.get(), &status) != 0) return {};
  constexpr std::uint64_t unit_bytes = 512;  // of st_blocks, whatever the file system's own are
  return {static_cast<std::uint64_t>(status.st_size),
          static_cast<std::uint64_t>(status.st_blocks) * unit_bytes, status.st_nlink <= 1};
}

FileDescriptor open_to_cut(const std::filesystem::path& file) {
  try {
    return FileDescriptor(open_regular(file.string(), O_RDWR));
  } catch (const Error&) {
    return {};  // a trial may have put anything there
  }
}

}  // namespace

std::optional<std::uint64_t> limit_log(const std::filesystem::path& file,
                                       std::uint64_t most_bytes) try {
  const FileDescriptor log = open_to_cut(file);
  return log ? limit_log(log, most_bytes) : std::nullopt;
} catch (const Error& error) {
  throw machine_error(std::string(error.what()) + ": " + file.string());
}

std::optional<std::uint64_t> limit_log(const FileDescriptor& log, std::uint64_t most_bytes) {
  const LogSize size = size_of(log);
  if (!size.has_one_name) return std::nullopt;
  if (size.taken_bytes <= most_bytes || size.bytes <= most_bytes) return 0;
  const std::uint64_t begin = most_bytes / 4 / page_bytes * page_bytes;
  const std::uint64_t end = (size.bytes - most_bytes / 2) / page_bytes * page_bytes;
  const int failed = ::fallocate(log.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                 static_cast<off_t>(begin), static_cast<off_t>(end - begin));
  if (failed != 0) {
    throw machine_error("cannot give back the middle of a log (" +
                        std::string(std::strerror(errno)) + ")");
  }
  const std::uint64_t left = size_of(log).taken_bytes;
  return size.taken_bytes > left ? size.taken_bytes - left : 0;
}

}  // namespace tune
