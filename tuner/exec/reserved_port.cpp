#include "tuner/exec/reserved_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace tune {

std::optional<ReservedPort> reserve_port() {
  ReservedPort port{FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))};
  if (!port.socket) return std::nullopt;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  const bool is_bound = ::bind(port.socket.get(), any, size) == 0 &&
                        ::getsockname(port.socket.get(), any, &size) == 0;
  // Only now, or it might share the port of another reservation.
  const int yes = 1;
  if (!is_bound ||
      ::setsockopt(port.socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0) {
    return std::nullopt;
  }
  port.number = ntohs(address.sin_port);
  return port;
}

}  // namespace tune
