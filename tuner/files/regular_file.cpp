// Asks what was opened, not what was there before: nothing can come in between.
// Knows no trial.
#include "tuner/files/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "tuner/core/error.h"

namespace tune {
namespace {

constexpr mode_t file_mode = 0666;

const char* kind_of(mode_t mode) {
  if (S_ISLNK(mode)) return "a link";
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

NotRegular no_file(const std::string& path, mode_t mode) {
  return NotRegular("cannot use " + path + ": it is " + kind_of(mode) +
                    " where a file of the driver's belongs");
}

}  // namespace

int open_regular(const std::string& path, int flags) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, file_mode);
  } while (fd < 0 && errno == EINTR);
  const int reason = errno;
  struct stat status {};
  if (fd < 0) {
    if (reason == ENOENT) return -1;
    const bool is_other = ::lstat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
    if (is_other) throw no_file(path, status.st_mode);
    throw file_error("cannot open", path, reason);
  }
  const bool is_known = ::fstat(fd, &status) == 0;
  if (is_known && S_ISREG(status.st_mode)) {
    // Whoever is given the descriptor is to find an ordinary one.
    const int now = ::fcntl(fd, F_GETFL);
    ::fcntl(fd, F_SETFL, now & ~O_NONBLOCK);
    return fd;
  }
  const int why = errno;
  ::close(fd);
  if (is_known) throw no_file(path, status.st_mode);
  throw file_error("cannot look at", path, why);
}

}  // namespace tune
