// Asio's callbacks around a TLS stream. Each holds the connection, so that it outlives them.
#include "tuner/cluster/connection.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <utility>

namespace tune {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t block_bytes = 64 * 1024;
constexpr std::size_t share_bytes = std::size_t{4} << 20;

std::string phrase_of(error_code error) {
  const bool is_end = error == asio::error::eof || error == asio::ssl::error::stream_truncated ||
                      error == asio::error::connection_reset;
  return is_end ? "the other side has closed it" : error.message();
}

}  // namespace

Connection::Connection(asio::ip::tcp::socket socket, Tls& tls, TlsSide side, Owner& owner)
    : stream_(std::move(socket), tls.context()), side_(side), owner_(&owner) {
  error_code ignored;
  // What is said is waited for.
  (void)stream_.lowest_layer().set_option(asio::ip::tcp::no_delay(true), ignored);
}

std::string Connection::peer_address() const {
  boost::system::error_code error;
  const auto endpoint = stream_.lowest_layer().remote_endpoint(error);
  return error ? "" : endpoint.address().to_string();
}

void Connection::start() {
  const auto type =
      side_ == TlsSide::driver ? asio::ssl::stream_base::server : asio::ssl::stream_base::client;
  stream_.async_handshake(type, [self = shared_from_this()](error_code error) {
    if (self->is_closed()) return;
    if (error) return self->end(phrase_of(error));
    if (!Tls::is_by_key(self->stream_.native_handle())) {
      return self->end("it does not know the secret");
    }
    self->is_open_ = true;
    self->block_.resize(block_bytes);
    self->share_ = share_bytes;
    self->owner_->on_open(*self);
    self->read();
    self->flush();
  });
}

void Connection::say(const Message& message) { append_frame(unsent_, id, message); }

void Connection::flush() {
  if (!is_open_ || is_writing_) return;
  if (unsent_.empty()) {
    if (closes_after_) close();
    return;
  }
  std::swap(unsent_, under_way_);
  is_writing_ = true;
  asio::async_write(stream_, asio::buffer(under_way_),
                    [self = shared_from_this()](error_code error, std::size_t) {
                      self->is_writing_ = false;
                      self->under_way_.clear();
                      if (error) return self->end(phrase_of(error));
                      self->flush();
                    });
}

void Connection::read() {
  if (is_closed() || is_reading_ || share_ == 0) return;
  is_reading_ = true;
  stream_.async_read_some(asio::buffer(block_),
                          [self = shared_from_this()](error_code error, std::size_t bytes) {
                            self->is_reading_ = false;
                            if (self->is_closed()) return;
                            if (error) return self->end(phrase_of(error));
                            self->take(bytes);
                            self->read();
                          });
}

void Connection::take(std::size_t bytes) {
  share_ -= std::min(share_, bytes);
  try {
    reader_.feed({block_.data(), bytes});
    while (!is_closed()) {
      const auto frame = reader_.next();
      if (!frame) return;
      if (frame->id != id) throw WireError("a frame of another session or attempt");
      owner_->on_frame(*this, *frame);
    }
  } catch (const WireError& error) {
    end(std::string("it said what is not of the wire: ") + error.what());
  }
}

void Connection::begin_batch() {
  if (!is_open_) return;
  share_ = share_bytes;
  read();
}

void Connection::end(const std::string& reason) {
  if (is_closed()) return;
  Owner& owner = *owner_;
  const auto self = shared_from_this();  // the owner lets go of it
  close();
  owner.on_end(*this, reason);
}

void Connection::close() {
  owner_ = nullptr;
  error_code ignored;
  (void)stream_.lowest_layer().shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  (void)stream_.lowest_layer().close(ignored);
}

void Connection::close_after_flush() {
  closes_after_ = true;
  flush();
}

}  // namespace tune
