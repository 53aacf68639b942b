// TLS 1.3 with a key that both sides know (a pre-shared key): so both prove it in the handshake,
// and there is no certificate to make, to trust or to lose.
#pragma once

#include <boost/asio/ssl/context.hpp>

#include "tuner/cluster/cluster_files.h"

namespace tune {

enum class TlsSide { driver, agent };

class Tls {
 public:
  Tls(TlsSide side, const Secret& secret);
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  boost::asio::ssl::context& context() { return context_; }
  /// Whether the handshake was by the key; a connection without is to be closed.
  static bool is_by_key(SSL* connection);

 private:
  const Secret secret_;
  boost::asio::ssl::context context_;
};

}  // namespace tune
