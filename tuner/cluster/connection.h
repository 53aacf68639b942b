// One connection between a driver and an agent: handshake, frames in, frames out.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <memory>
#include <string>

#include "tuner/cluster/messages.h"
#include "tuner/cluster/tls.h"

namespace tune {

/// From one thread, its io_context's. Lives until it is let go of and has nothing under way.
class Connection final : public std::enable_shared_from_this<Connection> {
 public:
  class Owner {
   public:
    /// The other side has proved that it knows the secret.
    virtual void on_open(Connection& connection) = 0;
    /// It is of the connection's session and attempt. Throws WireError if it means nothing.
    virtual void on_frame(Connection& connection, const Frame& frame) = 0;
    /// It has ended, and says no more; `reason`: a phrase.
    virtual void on_end(Connection& connection, const std::string& reason) = 0;

   protected:
    ~Owner() = default;
  };

  /// `socket` is connected. `owner` and `tls` outlive it, or close it.
  Connection(boost::asio::ip::tcp::socket socket, Tls& tls, TlsSide side, Owner& owner);

  void start();
  /// Who hears of it from now on, as said above.
  void hand_over(Owner& owner) { owner_ = &owner; }
  /// What is said goes out at the next `flush`.
  void say(const Message& message);
  /// As one write, behind what is on its way.
  void flush();
  /// The owner hears nothing more of it.
  void close();
  /// Closes it once all that was said is out.
  void close_after_flush();
  /// Each sender has a new share of what may be read at once.
  void begin_batch();
  bool is_closed() const { return owner_ == nullptr; }
  bool has_unsent() const { return is_writing_ || !unsent_.empty(); }
  std::size_t unsent_bytes() const { return unsent_.size() + under_way_.size(); }

  /// The other side's numeric address; empty if it has ended.
  std::string peer_address() const;

  /// Of what is said, and of what may be heard.
  FrameId id;
  /// The other side may say more from now on.
  void expect_large() { reader_.expect_large(); }

 private:
  void read();
  void take(std::size_t bytes);
  void end(const std::string& reason);

  boost::asio::ssl::stream<boost::asio::ip::tcp::socket> stream_;
  const TlsSide side_;
  Owner* owner_;
  FrameReader reader_;
  std::string block_;
  std::string unsent_;
  std::string under_way_;
  std::size_t share_ = 0;  ///< bytes that may be read before others have their turn
  bool is_open_ = false;
  bool is_reading_ = false;
  bool is_writing_ = false;
  bool closes_after_ = false;
};

}  // namespace tune
