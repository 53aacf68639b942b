// Names the socket through /proc/self/fd: the path of a deep directory does not fit sockaddr_un.
#include "tuner/control/control_address.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdio>

#include "tuner/base/error.h"
#include "tuner/control/control.h"

namespace tune {

ControlAddress::ControlAddress(const std::filesystem::path& directory)
    : directory_(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
  if (!directory_) throw file_error("cannot open", directory.native(), errno);
  address_.sun_family = AF_UNIX;
  std::snprintf(address_.sun_path, sizeof address_.sun_path, "/proc/self/fd/%d/%s",
                directory_.get(), control_socket_name);
}

}  // namespace tune
