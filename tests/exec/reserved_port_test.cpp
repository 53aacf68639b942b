// A port that is kept for somebody is his alone.
#include "tuner/exec/reserved_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <set>

#include "tests/support/catch.h"

using namespace tune;

TEST_CASE(
    "Whoever asks for a reserved port with SO_REUSEADDR gets it, and nobody gets it by chance",
    "[port]") {
  std::vector<ReservedPort> held;
  std::set<int> numbers;
  for (int i = 0; i < 200; ++i) {
    held.push_back(reserve_port().value());
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
  CHECK(::listen(server.get(), 1) == 0);
}
