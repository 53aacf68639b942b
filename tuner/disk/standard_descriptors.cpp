// Opens /dev/null on each of the descriptors 0 to 2 that is closed.
#include "tuner/disk/standard_descriptors.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace tune {

void fill_standard_descriptors() {
  // The lowest that is free is given, and those below are there by then.
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) == -1 && errno == EBADF) (void)::open("/dev/null", O_RDWR);
  }
}

}  // namespace tune
