// A port that is kept for somebody is his alone.
#include "tuner/process/reserved_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <set>
#include <string>

#include "tests/support/catch.h"

using namespace tune;

TEST_CASE(
    "Whoever asks for a reserved port with SO_REUSEADDR gets it, and nobody gets it by chance",
    "[port]") {
  std::vector<ReservedPort> held;
  std::set<int> numbers;
  for (int i = 0; i < 200; ++i) {
    held.push_back(reserve_port());
    numbers.insert(held.back().number);
  }
  CHECK(numbers.size() == held.size());
  const FileDescriptor server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  REQUIRE(::setsockopt(server.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(held.front().number);
  REQUIRE(::bind(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  CHECK_FALSE(is_taken(held.front()));
  CHECK(::listen(server.get(), 1) == 0);
  CHECK(is_taken(held.front()));
  CHECK_FALSE(is_taken(held.back()));
}

TEST_CASE("What keeps a port from being reserved is said as it is", "[port]") {
#ifndef TUNE_SANITIZED  // whose own look at an object's type needs a descriptor
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit none{0, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  std::string said;
  try {
    (void)reserve_port();
  } catch (const Error& error) {
    said = error.what();
  }
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(said ==
        "cannot reserve a port for its ranks to meet at: socket: Too many open files (of the "
        "driver: see ulimit -n)");
#endif
  CHECK(std::string(no_port("bind", EADDRINUSE).what()) ==
        "cannot reserve a port for its ranks to meet at: bind: Address already in use (no port is "
        "free: see net.ipv4.ip_local_port_range)");
  CHECK(no_port("socket", EAFNOSUPPORT).fault() == Fault::machine);
}
