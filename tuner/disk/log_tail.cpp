// Reads the last lines of a regular file with pread, also while the file grows or is truncated.
#include "tuner/disk/log_tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "tuner/base/error.h"
#include "tuner/disk/regular_file.h"

namespace tune {

namespace {

/// Whatever a trial has put in place of its log: nothing then, and nobody waits.
int open_log(const std::filesystem::path& file) {
  try {
    return open_regular(file.string(), O_RDONLY);
  } catch (const Error&) {
    return -1;
  }
}

std::string read_from(int fd, std::uint64_t begin) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return {};
  const auto size = static_cast<std::uint64_t>(status.st_size);
  // Whoever has cut the file meanwhile has left only what is newer.
  const std::uint64_t kept = begin > size ? 0 : begin;
  const std::uint64_t start = std::max(kept, size > tail_bytes ? size - tail_bytes : 0);
  std::string text(static_cast<std::size_t>(size - start), '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t got =
        ::pread(fd, text.data() + have, text.size() - have, static_cast<off_t>(start + have));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  text.resize(have);
  return text;
}

}  // namespace

std::string log_tail(const std::filesystem::path& file, std::uint64_t begin) {
  const int fd = open_log(file);
  if (fd < 0) return {};
  const std::string text = read_from(fd, begin);
  ::close(fd);
  std::size_t at = text.ends_with('\n') ? text.size() - 1 : text.size();
  for (std::size_t lines = 0; lines < tail_lines; ++lines) {
    if (at == 0) return text;
    at = text.rfind('\n', at - 1);
    if (at == std::string::npos) return text;
  }
  return text.substr(at + 1);
}

}  // namespace tune
