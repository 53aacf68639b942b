// The callbacks by which OpenSSL gets the key.
#include "tuner/cluster/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <cstring>

#include "tuner/base/error.h"

namespace tune {

namespace {

constexpr const char* identity = "tune agent";

/// Of a context: where its secret is.
int secret_index() {
  static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

unsigned int give_secret(SSL* connection, unsigned char* key, unsigned int most_bytes) {
  const auto* const secret =
      static_cast<const Secret*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(connection), secret_index()));
  if (secret == nullptr || most_bytes < secret->size()) return 0;
  std::memcpy(key, secret->data(), secret->size());
  return static_cast<unsigned int>(secret->size());
}

unsigned int on_driver(SSL* connection, const char* who, unsigned char* key,
                       unsigned int most_bytes) {
  if (who == nullptr || std::strcmp(who, identity) != 0) return 0;
  return give_secret(connection, key, most_bytes);
}

unsigned int on_agent(SSL* connection, const char* /*hint*/, char* who, unsigned int most_who_bytes,
                      unsigned char* key, unsigned int most_bytes) {
  const std::size_t who_bytes = std::strlen(identity) + 1;
  if (most_who_bytes < who_bytes) return 0;
  std::memcpy(who, identity, who_bytes);
  return give_secret(connection, key, most_bytes);
}

void require(bool is_done, const char* what) {
  if (is_done) return;
  throw machine_error(std::string("cannot set up TLS (") + what +
                      "): " + ERR_error_string(ERR_get_error(), nullptr));
}

}  // namespace

Tls::Tls(TlsSide side, const Secret& secret)
    : secret_(secret),
      context_(side == TlsSide::driver ? boost::asio::ssl::context::tls_server
                                       : boost::asio::ssl::context::tls_client) {
  SSL_CTX* const context = context_.native_handle();
  require(SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1, "TLS 1.3");
  // A key of this kind goes with SHA-256.
  require(SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256") == 1, "its ciphers");
  require(SSL_CTX_set_ex_data(context, secret_index(), const_cast<Secret*>(&secret_)) == 1,
          "its key");
  // No tickets: each connection proves the key anew.
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  require(SSL_CTX_set_num_tickets(context, 0) == 1, "no tickets");
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  if (side == TlsSide::driver) {
    SSL_CTX_set_psk_server_callback(context, on_driver);
  } else {
    SSL_CTX_set_psk_client_callback(context, on_agent);
    // Whoever comes with a certificate instead is nobody we know.
    context_.set_verify_mode(boost::asio::ssl::verify_peer);
  }
}

bool Tls::is_by_key(SSL* connection) { return SSL_session_reused(connection) == 1; }

}  // namespace tune
