// Binds a port and keeps the socket open with SO_REUSEADDR, so that a program that sets it too can
// bind the port, and the kernel gives it to nobody else.
#include "tuner/process/reserved_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>

namespace tune {
namespace {

FileDescriptor tcp_socket() {
  return FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

bool share(const FileDescriptor& socket) {
  const int yes = 1;
  return ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0;
}

sockaddr_in everywhere(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(port);
  return address;
}

}  // namespace

Error no_port(std::string_view call, int error) {
  std::string more;
  if (error == EADDRINUSE) more = " (no port is free: see net.ipv4.ip_local_port_range)";
  if (error == EMFILE) more = " (of the driver: see ulimit -n)";
  if (error == ENFILE) more = " (of the whole machine: see fs.file-max)";
  return machine_error(
      file_error("cannot reserve a port for its ranks to meet at:", call, error).what() + more);
}

ReservedPort reserve_port() {
  ReservedPort port{tcp_socket()};
  if (!port.socket) throw no_port("socket", errno);
  sockaddr_in address = everywhere(0);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  if (::bind(port.socket.get(), any, size) != 0) throw no_port("bind", errno);
  if (::getsockname(port.socket.get(), any, &size) != 0) throw no_port("getsockname", errno);
  // Only now, or it might share the port of another reservation.
  if (!share(port.socket)) throw no_port("setsockopt", errno);
  port.number = ntohs(address.sin_port);
  return port;
}

bool is_taken(const ReservedPort& port) {
  const FileDescriptor another = tcp_socket();
  const sockaddr_in address = everywhere(port.number);
  return another && share(another) &&
         ::bind(another.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
         errno == EADDRINUSE;
}

}  // namespace tune
