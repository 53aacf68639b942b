// Where agents come in: listens at one address, and lets in who knows the secret, is of this
// version, and sees the experiment's directory. Who is silent or strange costs the others nothing.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "tuner/base/clock.h"
#include "tuner/cluster/connection.h"

namespace tune {

class AgentDoor final : private Connection::Owner {
 public:
  struct Options {
    std::filesystem::path directory;  ///< of the experiment
    std::string bind;                 ///< numeric address
    std::string version;
  };
  struct Callbacks {
    /// One that may come in; empty: it has been taken, else why not, as a sentence.
    std::function<std::string(const std::shared_ptr<Connection>&, const Join&)> admit;
    /// An agent could not join; a sentence.
    std::function<void(const std::string& node, const std::string& reason)> refused;
  };

  /// Somebody who has connected has so long to say who it is.
  static constexpr Seconds patience_s = 10;
  /// More at one time: the one that has waited longest is closed.
  static constexpr std::size_t most_waiting = 256;

  /// Writes the meeting's file. Error (user) if it cannot listen there.
  AgentDoor(boost::asio::io_context& context, Options options, Callbacks callbacks);
  ~AgentDoor();

  const Meeting& meeting() const { return meeting_; }
  /// Connections that were closed, as nobody who may join was at their other end.
  std::uint64_t strangers() const { return strangers_; }

 private:
  struct Waiting {
    std::shared_ptr<Connection> connection;
    Seconds since = 0;  ///< since boot
  };

  Connection::Owner& owner() { return *this; }
  void accept();
  void look_at_waiting();
  void refuse(Connection& connection, const std::string& node, const std::string& reason);
  std::shared_ptr<Connection> forget(Connection& connection);

  void on_open(Connection&) override {}
  void on_frame(Connection& connection, const Frame& frame) override;
  void on_end(Connection& connection, const std::string& reason) override;

  const Options options_;
  const Callbacks callbacks_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer next_look_;
  Meeting meeting_;
  std::unique_ptr<Tls> tls_;
  std::list<Waiting> waiting_;  ///< in the order in which they came
  std::uint64_t strangers_ = 0;
};

}  // namespace tune
