// Asks what was opened, not what was there before: nothing can come in between.
#include "tuner/disk/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "tuner/base/error.h"

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

/// Whether the file is to be in a trial's directory, and that has become a link.
bool is_behind_link(const std::string& path) {
  const std::size_t end = path.rfind('/');
  if (end == path.npos || end == 0) return false;
  const std::string directory = path.substr(0, end);
  const bool is_of_trial = directory.substr(directory.rfind('/') + 1).starts_with("trial_");
  struct stat status {};
  return is_of_trial && ::lstat(directory.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
}

}  // namespace

int open_regular(const std::string& path, int flags) {
  if ((flags & O_ACCMODE) != O_RDONLY && is_behind_link(path)) {
    throw NotRegular("cannot use " + path +
                     ": its directory is a link where the driver's own belongs");
  }
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
