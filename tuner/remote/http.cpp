// By Boost.Beast. HTTP/1.0, so that the server closes the connection after its answer.
#include "tuner/remote/http.h"

#include <openssl/evp.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <chrono>

#include "tuner/base/error.h"

namespace tune {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30;

std::string base64(const std::string& text) {
  std::string out((text.size() + 2) / 3 * 4 + 1, '\0');  // EVP ends it with a zero
  const int size = ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

/// A sentence's end.
std::string what_happened(const boost::system::error_code& error, bool has_header) {
  if (error == beast::error::timeout) return "does not answer";
  if (error == http::error::body_limit) return "answers without an end";
  if (error == http::error::partial_message && has_header) return "breaks off in its answer";
  const bool is_no_http =
      error.category() == http::make_error_code(http::error::bad_version).category();
  return is_no_http ? "answers what is no HTTP" : "is gone";
}

}  // namespace

HttpAnswer post_to_loopback(std::uint16_t port, const std::string& path,
                            const std::string& credentials, const std::string& body,
                            Seconds limit_s) {
  http::request<http::string_body> request(http::verb::post, "/" + path, 10, body);
  request.set(http::field::host, "127.0.0.1");
  request.set(http::field::authorization, "Basic " + base64(credentials));
  request.set(http::field::content_type, "application/json");
  request.prepare_payload();
  http::response_parser<http::string_body> answer;
  answer.body_limit(most_bytes);

  asio::io_context context;
  beast::tcp_stream stream(context);
  stream.expires_after(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(limit_s)));
  beast::flat_buffer buffer;
  boost::system::error_code failure;
  const auto on_read = [&](boost::system::error_code error, std::size_t) { failure = error; };
  const auto on_write = [&](boost::system::error_code error, std::size_t) {
    failure = error;
    if (!error) http::async_read(stream, buffer, answer, on_read);
  };
  stream.async_connect(asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), port),
                       [&](boost::system::error_code error) {
                         failure = error;
                         if (!error) http::async_write(stream, request, on_write);
                       });
  context.run();
  if (failure)
    throw machine_error("rclone's server " + what_happened(failure, answer.is_header_done()));
  return {answer.get().result_int(), std::move(answer.get().body())};
}

}  // namespace tune
