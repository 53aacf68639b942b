// The control socket of a driver, on the loop's io_context. Clients may be slow, silent or
// malicious: each costs a descriptor for a while and nothing else.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "tuner/control/control.h"
#include "tuner/control/control_address.h"

namespace tune {

class ControlServer {
 public:
  using Asked = std::function<void(ControlId, ControlRequest)>;

  static constexpr std::size_t max_request_bytes = 65'536;
  static constexpr std::size_t max_connections = 64;
  static constexpr int patience_s = 10;  ///< for a request to come, and for an answer to be taken

  /// Listens from now on, for this user alone. A socket that is there already is a dead driver's
  /// (the caller holds the experiment's lock) and is replaced. Throws Error if there can be none
  /// in this directory.
  ControlServer(boost::asio::io_context& context, const std::filesystem::path& directory,
                Asked asked);
  /// Closes every connection, which tells who waits for the driver's end that it has come.
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  /// Ignored if the client has disconnected.
  void answer(ControlId id, const ControlAnswer& answer);

 private:
  class Connection;
  void accept();
  void take(boost::asio::local::stream_protocol::socket socket);

  boost::asio::io_context& context_;
  ControlAddress address_;
  Asked asked_;
  boost::asio::local::stream_protocol::acceptor acceptor_;
  boost::asio::steady_timer retry_;
  std::map<ControlId, std::shared_ptr<Connection>> connections_;
  std::uint64_t last_id_ = 0;
};

}  // namespace tune
