// Sockets by Boost.Asio, requests by the parser of Boost.Beast, which no other file includes. Each
// connection has one request; what it costs is bounded in bytes and in seconds.
#include "apps/dashboard/server/http_server.h"

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <csignal>
#include <map>
#include <set>
#include <utility>

#include "apps/dashboard/server/job_thread.h"
#include "trainable/values.h"
#include "tuner/base/error.h"

namespace tune {

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds look_period{250};
constexpr seconds ping_period{15};
constexpr std::size_t write_bytes = 64 * 1024;
/// Of what a refused client still sends: closed at once, it would not see the answer.
constexpr std::size_t most_discarded_bytes = 2 * 1024 * 1024;

const char* reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    default:
      return status < 500 ? "Bad Request" : "Internal Server Error";
  }
}

std::string head_of(int status, const char* type, const std::string& policy,
                    std::optional<std::size_t> length) {
  std::string head = "HTTP/1.1 " + std::to_string(status) + " " + reason_of(status) +
                     "\r\nContent-Type: " + type + "\r\nContent-Security-Policy: " + policy;
  head +=
      "\r\nConnection: close\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff"
      "\r\nReferrer-Policy: no-referrer\r\nX-Frame-Options: DENY"
      "\r\nCross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin";
  if (length) head += "\r\nContent-Length: " + std::to_string(*length);
  return head + "\r\n\r\n";
}

constexpr const char* policy_of_data = "default-src 'none'; frame-ancestors 'none'";

}  // namespace

WebAnswer error_answer(int status, const std::string& sentence) {
  return {status, std::make_shared<const std::string>(Json{{"error", sentence}}.dump(
                      -1, ' ', false, Json::error_handler_t::replace))};
}

class HttpServer::Server {
 public:
  Server(const HttpOptions& options, GuardRules rules, StaticPage page, DashboardSource& source);
  ~Server();

  tcp::endpoint endpoint() const { return acceptor_.local_endpoint(); }
  void run(const std::function<bool()>& is_over);

 private:
  class Connection;
  using Shared = std::shared_ptr<Connection>;

  void accept();
  void look();
  void give(std::uint32_t experiment, const Changes& changes);
  void watch(const std::function<bool()>& is_over);

  GuardRules rules_;
  std::shared_ptr<const std::string> page_text_;
  std::string page_policy_;
  DashboardSource& source_;
  asio::io_context context_;
  tcp::acceptor acceptor_;
  asio::signal_set signals_;
  asio::steady_timer retry_, look_timer_, over_timer_;
  std::set<Shared> connections_;
  std::map<std::uint32_t, std::set<Shared>> streams_;
  std::set<std::uint32_t> looked_at_;        ///< a look is under way
  std::unique_ptr<JobThread> quick_, slow_;  ///< their jobs use what is above
};

/// Handlers hold a shared_ptr; the server outlives them.
class HttpServer::Server::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Server& server, tcp::socket socket)
      : server_(server),
        socket_(std::move(socket)),
        deadline_(server.context_),
        ping_(server.context_) {
    parser_.header_limit(most_header_bytes);
    parser_.body_limit(most_body_bytes);
  }

  void start() {
    limit_time(request_patience_s);
    read();
  }

  void close() {
    error_code ignored;
    deadline_.cancel();
    ping_.cancel();
    socket_.close(ignored);
  }

  void give(const Changes& changes) {
    pending_.add(changes);
    send_changes();
  }

  void begin_stream(std::uint32_t experiment, const Changes& changes) {
    if (!socket_.is_open()) return;
    stream_ = experiment;
    server_.streams_[experiment].insert(shared_from_this());
    pending_.add(changes);
    is_writing_ = true;
    send(head_of(200, "text/event-stream; charset=utf-8", policy_of_data, {}), nullptr,
         [](Connection& self) { self.go_on(); });
    notice_end();
    ping_later();
  }

  void answer(const WebAnswer& answer) {
    if (!socket_.is_open()) return;
    send(head_of(answer.status, "application/json; charset=utf-8", policy_of_data,
                 answer.body->size()),
         answer.body, [](Connection& self) { self.finish(); });
  }

 private:
  using Then = void (*)(Connection&);

  void limit_time(int limit_s) {
    deadline_.expires_after(seconds(limit_s));
    deadline_.async_wait([self = shared_from_this()](error_code error) {
      if (!error) self->leave();
    });
  }

  void leave() {
    const auto self = shared_from_this();
    close();
    if (stream_) {
      const auto found = server_.streams_.find(*stream_);
      if (found != server_.streams_.end()) {
        found->second.erase(self);
        if (found->second.empty()) server_.streams_.erase(found);
      }
    }
    server_.connections_.erase(self);
  }

  void read() {
    socket_.async_read_some(asio::buffer(block_),
                            [self = shared_from_this()](error_code error, std::size_t count) {
                              if (error) return self->leave();
                              self->take(count);
                            });
  }

  void take(std::size_t count) {
    in_.append(block_.data(), count);
    if (!parser_.is_header_done()) {
      const std::size_t end = in_.find("\r\n\r\n");
      if (std::min(end, in_.size()) > most_header_bytes)
        return refuse(431, "the header is too long");
      if (end == in_.npos) return read();
      if (has_folded_line(std::string_view(in_).substr(0, end))) {
        return refuse(400, "a field of a request must be one line");
      }
    }
    parser_.eager(true);
    error_code error;
    while (!in_.empty() && !parser_.is_done()) {
      const std::size_t used = parser_.put(asio::buffer(in_), error);
      in_.erase(0, used);
      if (error == http::error::need_more) {
        error = {};
        break;
      }
      if (error || used == 0) break;
    }
    if (error == http::error::body_limit) return refuse(413, "the body is too long");
    if (error == http::error::header_limit) return refuse(431, "the header is too long");
    if (error) return refuse(400, "this is no request of HTTP/1.1");
    if (parser_.is_header_done() && parser_.chunked()) {
      return refuse(411, "a body must say its length");
    }
    if (!parser_.is_done()) return read();
    deadline_.cancel();
    serve();
  }

  void refuse(int status, const std::string& sentence) { answer(error_answer(status, sentence)); }

  HttpRequest request() {
    const auto& message = parser_.get();
    HttpRequest request{.method = std::string(message.method_string()),
                        .target = std::string(message.target()),
                        .fields = {},
                        .body = message.body()};
    for (const auto& field : message) {
      std::string name(field.name_string());
      std::transform(name.begin(), name.end(), name.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      });
      request.fields.emplace_back(std::move(name), std::string(field.value()));
    }
    return request;
  }

  void serve() {
    HttpRequest asked = request();
    const auto checked = check_request(asked, server_.rules_);
    if (const auto* const refusal = std::get_if<Refusal>(&checked)) {
      return refuse(refusal->status, refusal->sentence);
    }
    const RouteMatch match = std::get<RouteMatch>(checked);
    switch (match.route->name) {
      case Route::Name::page:
        return send(head_of(200, "text/html; charset=utf-8", server_.page_policy_,
                            server_.page_text_->size()),
                    server_.page_text_, [](Connection& self) { self.finish(); });
      case Route::Name::start:
        server_.rules_.start_code.clear();
        return answer({200, std::make_shared<const std::string>(
                                Json{{"token", server_.rules_.token}}.dump())});
      case Route::Name::stream:
        return ask_for_stream(match);
      default:
        break;
    }
    const bool is_quick = match.route->name == Route::Name::log;
    JobThread& thread = is_quick ? *server_.quick_ : *server_.slow_;
    thread.add([self = shared_from_this(), match, body = std::move(asked.body)] {
      WebAnswer made = self->server_.source_.answer(match, body);
      asio::post(self->server_.context_, [self, made = std::move(made)] { self->answer(made); });
    });
  }

  void ask_for_stream(const RouteMatch& match) {
    std::size_t streams = 0;
    for (const auto& [experiment, all] : server_.streams_) streams += all.size();
    if (streams >= most_streams) return refuse(503, "too many pages look at this server");
    const auto given = match.query.find("since");
    std::uint64_t since = 0;
    if (given != match.query.end()) {
      try {
        std::size_t used = 0;
        since = std::stoull(given->second, &used);
        if (used != given->second.size()) throw std::invalid_argument("");
      } catch (const std::logic_error&) {
        return refuse(400, "since is the number of an event");
      }
    }
    server_.quick_->add([self = shared_from_this(), since, experiment = match.numbers.at(0)] {
      Changes changes = self->server_.source_.changes_since(experiment, since);
      asio::post(self->server_.context_, [self, experiment, changes = std::move(changes)] {
        self->begin_stream(experiment, changes);
      });
    });
  }

  /// Sends the head, then the body, 64 KiB by 64 KiB: a reader who takes none of it is left.
  void send(std::string head, std::shared_ptr<const std::string> body, Then then) {
    head_ = std::move(head);
    body_ = std::move(body);
    sent_ = 0;
    then_ = then;
    limit_time(write_patience_s);
    asio::async_write(socket_, asio::buffer(head_),
                      [self = shared_from_this()](error_code error, std::size_t) {
                        if (error) return self->leave();
                        self->send_on();
                      });
  }

  void send_on() {
    if (!body_ || sent_ == body_->size()) {
      deadline_.cancel();
      body_.reset();
      return then_(*this);
    }
    limit_time(write_patience_s);
    const std::size_t count = std::min(write_bytes, body_->size() - sent_);
    asio::async_write(socket_, asio::buffer(body_->data() + sent_, count),
                      [self = shared_from_this(), count](error_code error, std::size_t) {
                        if (error) return self->leave();
                        self->sent_ += count;
                        self->send_on();
                      });
  }

  /// Takes what the client still sends: with bytes unread, closing would take back the answer.
  void finish() {
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    limit_time(request_patience_s);
    discard();
  }

  void discard() {
    socket_.async_read_some(asio::buffer(block_),
                            [self = shared_from_this()](error_code error, std::size_t count) {
                              self->discarded_ += count;
                              if (error || self->discarded_ > most_discarded_bytes) {
                                return self->leave();
                              }
                              self->discard();
                            });
  }

  /// Of a stream. What a client says then is of no interest, only that he leaves.
  void notice_end() {
    socket_.async_read_some(asio::buffer(block_),
                            [self = shared_from_this()](error_code error, std::size_t count) {
                              self->discarded_ += count;
                              if (error || self->discarded_ > most_header_bytes) {
                                return self->leave();
                              }
                              self->notice_end();
                            });
  }

  void send_changes() {
    if (is_writing_ || !socket_.is_open()) return;
    std::string frame = pending_.take_frame();
    if (frame.empty()) return;
    is_writing_ = true;
    send(std::move(frame), nullptr, [](Connection& self) { self.go_on(); });
  }

  /// The next frame leaves with the next look, so there are at most four in a second.
  void go_on() { is_writing_ = false; }

  void ping_later() {
    ping_.expires_after(ping_period);
    ping_.async_wait([self = shared_from_this()](error_code error) {
      if (error || !self->socket_.is_open()) return;
      if (!self->is_writing_) {
        self->is_writing_ = true;
        self->send("event: ping\ndata: {}\n\n", nullptr, [](Connection& s) { s.go_on(); });
      }
      self->ping_later();
    });
  }

  Server& server_;
  tcp::socket socket_;
  asio::steady_timer deadline_, ping_;
  http::request_parser<http::string_body> parser_;
  std::array<char, 16 * 1024> block_;
  std::string in_;
  std::string head_;
  std::shared_ptr<const std::string> body_;
  std::size_t sent_ = 0, discarded_ = 0;
  Then then_ = nullptr;
  bool is_writing_ = false;
  std::optional<std::uint32_t> stream_;
  PendingChanges pending_;
};

HttpServer::Server::Server(const HttpOptions& options, GuardRules rules, StaticPage page,
                           DashboardSource& source)
    : rules_(std::move(rules)),
      page_text_(std::make_shared<const std::string>(std::move(page.html))),
      page_policy_(std::move(page.policy)),
      source_(source),
      acceptor_(context_),
      signals_(context_, SIGINT, SIGTERM),
      retry_(context_),
      look_timer_(context_),
      over_timer_(context_) {
  error_code error;
  const auto address = asio::ip::make_address(options.address, error);
  if (error) {
    throw user_error("--bind takes an address of this machine like 127.0.0.1, got " +
                     options.address);
  }
  const tcp::endpoint wanted(address, options.port);
  acceptor_.open(wanted.protocol());
  acceptor_.set_option(tcp::acceptor::reuse_address(true));
  acceptor_.bind(wanted, error);
  if (!error) acceptor_.listen(static_cast<int>(most_connections), error);
  if (error) {
    throw user_error("cannot listen on " + options.address +
                     (options.port == 0 ? "" : " at port " + std::to_string(options.port)) + ": " +
                     error.message());
  }
  if (!address.is_unspecified()) {
    const std::string text = address.to_string();
    rules_.hosts.push_back(address.is_v6() ? "[" + text + "]" : text);
  }
  quick_ = std::make_unique<JobThread>();
  slow_ = std::make_unique<JobThread>();
}

HttpServer::Server::~Server() {
  quick_.reset();  // a look may be under way; what it leads to is dropped with the context
  slow_.reset();
  for (const auto& connection : connections_) connection->close();
}

void HttpServer::Server::run(const std::function<bool()>& is_over) {
  signals_.async_wait([this](error_code error, int) {
    if (!error) context_.stop();
  });
  accept();
  look();
  watch(is_over);
  context_.run();
}

void HttpServer::Server::watch(const std::function<bool()>& is_over) {
  over_timer_.expires_after(seconds(1));
  over_timer_.async_wait([this, is_over](error_code error) {
    if (error) return;
    if (is_over()) return context_.stop();
    watch(is_over);
  });
}

void HttpServer::Server::accept() {
  acceptor_.async_accept([this](error_code error, tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (!error) {
      if (connections_.size() < most_connections) {
        const auto connection = std::make_shared<Connection>(*this, std::move(socket));
        connections_.insert(connection);
        connection->start();
      }
      return accept();
    }
    // Mostly no descriptor is left: at once would be again and again.
    retry_.expires_after(seconds(1));
    retry_.async_wait([this](error_code cancelled) {
      if (!cancelled) accept();
    });
  });
}

void HttpServer::Server::look() {
  look_timer_.expires_after(look_period);
  look_timer_.async_wait([this](error_code error) {
    if (error) return;
    for (const auto& [experiment, all] : streams_) {
      if (!looked_at_.insert(experiment).second) continue;
      quick_->add([this, number = experiment] {
        Changes changes = source_.next_changes(number);
        asio::post(context_, [this, number, changes = std::move(changes)] {
          looked_at_.erase(number);
          give(number, changes);
        });
      });
    }
    look();
  });
}

void HttpServer::Server::give(std::uint32_t experiment, const Changes& changes) {
  const auto found = streams_.find(experiment);
  if (found == streams_.end()) return;
  for (const auto& connection : std::set<Shared>(found->second)) connection->give(changes);
}

HttpServer::HttpServer(const HttpOptions& options, GuardRules rules, StaticPage page,
                       DashboardSource& source)
    : server_(std::make_unique<Server>(options, std::move(rules), std::move(page), source)) {}
HttpServer::~HttpServer() = default;

std::uint16_t HttpServer::port() const { return server_->endpoint().port(); }
bool HttpServer::is_loopback() const { return server_->endpoint().address().is_loopback(); }

std::string HttpServer::authority() const {
  const auto address = server_->endpoint().address();
  const std::string text = address.to_string();
  return (address.is_v6() ? "[" + text + "]" : text) + ":" + std::to_string(port());
}

void HttpServer::run(const std::function<bool()>& is_over) { server_->run(is_over); }

}  // namespace tune
