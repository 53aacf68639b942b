#include "tuner/store/log_limit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tuner/core/error.h"
#include "tuner/files/regular_file.h"

namespace tune {

namespace {

constexpr std::uint64_t page_bytes = 4096;  ///< parts of one are zeroed, and not given back

std::uint64_t taken_bytes(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return 0;
  return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

/// Another name of the same file may be somebody's own.
bool has_one_name(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 && status.st_nlink <= 1;
}

std::uint64_t size_of(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

/// Open until the end of the scope.
struct Opened {
  int descriptor;
  ~Opened() {
    if (descriptor >= 0) ::close(descriptor);
  }
};

int open_to_cut(const std::filesystem::path& file) {
  try {
    return open_regular(file.string(), O_RDWR);
  } catch (const Error&) {
    return -1;  // a trial may have put anything there
  }
}

}  // namespace

std::optional<std::uint64_t> limit_log(const std::filesystem::path& file,
                                       std::uint64_t most_bytes) {
  const Opened log{open_to_cut(file)};
  if (log.descriptor < 0 || !has_one_name(log.descriptor)) return std::nullopt;
  const std::uint64_t taken = taken_bytes(log.descriptor);
  const std::uint64_t size = size_of(log.descriptor);
  if (taken <= most_bytes || size <= most_bytes) return 0;
  const std::uint64_t begin = most_bytes / 4 / page_bytes * page_bytes;
  const std::uint64_t end = (size - most_bytes / 2) / page_bytes * page_bytes;
  const int failed = ::fallocate(log.descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                 static_cast<off_t>(begin), static_cast<off_t>(end - begin));
  if (failed != 0) {
    throw machine_error("cannot give back the middle of " + file.string() + ": " +
                        std::strerror(errno));
  }
  const std::uint64_t left = taken_bytes(log.descriptor);
  return taken > left ? taken - left : 0;
}

}  // namespace tune
