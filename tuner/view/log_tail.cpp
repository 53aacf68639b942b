#include "tuner/view/log_tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "tuner/base/error.h"
#include "tuner/disk/file_descriptor.h"
#include "tuner/disk/regular_file.h"

namespace tune {

LogTail read_log_tail(const std::filesystem::path& file, std::size_t most_bytes) {
  LogTail tail;
  try {
    const FileDescriptor log(open_regular(file.string(), O_RDONLY));
    struct stat status {};
    if (!log || ::fstat(log.get(), &status) != 0) return tail;
    const auto size = static_cast<std::uint64_t>(status.st_size);
    const std::uint64_t begin = size - std::min<std::uint64_t>(size, most_bytes);
    tail.text.resize(static_cast<std::size_t>(size - begin));
    const ssize_t count =
        ::pread(log.get(), tail.text.data(), tail.text.size(), static_cast<off_t>(begin));
    tail.text.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    tail.left_out = begin;
  } catch (const Error&) {
    return {};
  }
  const std::size_t newline = tail.left_out > 0 ? tail.text.find('\n') : std::string::npos;
  if (newline != std::string::npos && newline + 1 < tail.text.size()) {
    tail.left_out += newline + 1;
    tail.text.erase(0, newline + 1);
  }
  return tail;
}

}  // namespace tune
