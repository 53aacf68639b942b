// The kernel's own answer: where a datagram to that host would leave this machine.
#include "tuner/cluster/own_address.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>

namespace tune {

namespace asio = boost::asio;

std::string address_towards(const std::vector<std::string>& hosts) {
  asio::io_context context;
  asio::ip::udp::resolver resolver(context);
  for (const std::string& host : hosts) {
    // "user@host", as ssh has it.
    const std::string name = host.substr(host.find('@') == host.npos ? 0 : host.find('@') + 1);
    boost::system::error_code error;
    const auto found = resolver.resolve(name, "9", error);
    if (error || found.empty()) continue;
    asio::ip::udp::socket socket(context);
    const auto endpoint = found.begin()->endpoint();
    (void)socket.open(endpoint.protocol(), error);
    if (!error) (void)socket.connect(endpoint, error);  // sends nothing
    if (error) continue;
    const auto local = socket.local_endpoint(error);
    if (!error) return local.address().to_string();
  }
  return "127.0.0.1";
}

}  // namespace tune
