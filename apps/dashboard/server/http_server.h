// The dashboard's HTTP server: one thread for all connections, and two that look at files, so that
// no slow disk holds up a connection, and no long report a stream. It knows nothing of experiments.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apps/dashboard/server/changes.h"
#include "apps/dashboard/server/guard.h"

namespace tune {

struct WebAnswer {
  int status = 200;
  /// JSON text; of an error {"error": sentence}.
  std::shared_ptr<const std::string> body;
};

WebAnswer error_answer(int status, const std::string& sentence);

/// Who knows what is asked about. Called by two threads: one asks for changes and logs, the other
/// for all that may take its time.
class DashboardSource {
 public:
  virtual ~DashboardSource() = default;
  /// Of all routes but the page, the start and streams. Must not throw.
  virtual WebAnswer answer(const RouteMatch& match, const std::string& body) = 0;
  /// What has happened to the experiment since event `since`. A reset if that is not known.
  virtual Changes changes_since(std::uint32_t experiment, std::uint64_t since) = 0;
  /// The same since the last call of this.
  virtual Changes next_changes(std::uint32_t experiment) = 0;
};

struct StaticPage {
  std::string html;
  std::string policy;  ///< Content-Security-Policy
};

struct HttpOptions {
  std::string address = "127.0.0.1";  ///< to listen on
  std::uint16_t port = 0;             ///< 0: a free one
};

class HttpServer {
 public:
  static constexpr std::size_t most_header_bytes = 8 * 1024;
  static constexpr std::size_t most_body_bytes = 64 * 1024;
  static constexpr std::size_t most_connections = 64;
  static constexpr std::size_t most_streams = 8;
  static constexpr int request_patience_s = 10;
  static constexpr int write_patience_s = 15;  ///< for each 64 KiB to be taken

  /// Listens from now on; Error (user) if that cannot be. A bound address that names one host is
  /// added to the hosts that `rules` have.
  HttpServer(const HttpOptions& options, GuardRules rules, StaticPage page,
             DashboardSource& source);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;
  bool is_loopback() const;
  /// "127.0.0.1:8080", as an address has it.
  std::string authority() const;

  /// Answers until SIGINT or SIGTERM comes, or `is_over` says so, which is asked each second.
  void run(const std::function<bool()>& is_over);

 private:
  class Server;
  std::unique_ptr<Server> server_;
};

}  // namespace tune
