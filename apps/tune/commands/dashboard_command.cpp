// `tune dashboard`: the page of `tune report` that goes on, by a server of its own. Takes nothing
// from a driver: it reads the files.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "apps/dashboard/server/http_server.h"
#include "apps/tune/commands.h"
#include "apps/tune/dashboard_source.h"
#include "apps/tune/output.h"
#include "apps/tune/report_page.h"
#include "tuner/base/error.h"
#include "tuner/base/quoted.h"
#include "tuner/disk/file_system.h"
#include "tuner/view/experiment_view.h"

namespace tune {

namespace {

bool has(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

/// Whoever looks at a page here sees it here.
bool has_display() {
  return ::isatty(STDOUT_FILENO) == 1 && (has("DISPLAY") || has("WAYLAND_DISPLAY")) &&
         !has("SSH_CONNECTION");
}

/// Answers whether a browser was started. Nobody waits for it: the first child is none of it.
bool open_browser(const std::string& address) {
  const pid_t child = ::fork();
  if (child < 0) return false;
  if (child == 0) {
    if (::fork() != 0) ::_exit(0);
    ::setsid();
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int descriptor : {0, 1, 2}) ::dup2(nothing, descriptor);
    ::execlp("xdg-open", "xdg-open", address.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::waitpid(child, nullptr, 0);
  return true;
}

void require_readable(const DashboardRequest& request) {
  if (request.waits) return;
  for (const std::string& directory : request.directories) {
    if (!is_experiment(directory) && experiments_in(directory).empty()) {
      require_experiment(directory);
    }
  }
}

std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

}  // namespace

int dashboard_command(const DashboardRequest& request) {
  require_readable(request);
  // Trials and their driver come first.
  constexpr int niceness = 10;
  (void)::setpriority(PRIO_PROCESS, 0, niceness);
  GuardRules rules{.token = make_token(),
                   .start_code = "",
                   .hosts = {},
                   .allows_control = request.allow_control};
  for (const std::string& host : request.hosts) rules.hosts.push_back(lower(host));
  const std::string token = rules.token;
  const bool opens = !request.no_browser && has_display();
  // Other users see the words of a process: a code that is good once is all that they could see.
  const std::string code = opens ? make_token() : "";
  rules.start_code = code;
  ExperimentsSource source({request.directories.begin(), request.directories.end()},
                           request.allow_control);
  HttpServer server({.address = request.bind, .port = request.port}, std::move(rules), live_page(),
                    source);
  const std::string address = "http://" + server.authority() + "/#token=" + token;
  if (!server.is_loopback()) {
    print_notice(
        "whoever reads the network can read the token, as there is no TLS: better keep "
        "127.0.0.1 and use ssh -L");
  }
  print("The dashboard is at " + address + "\n");
  if (has("SSH_CONNECTION")) {
    const std::string port = std::to_string(server.port());
    print("From your own machine: ssh -L " + port + ":127.0.0.1:" + port +
          " HOST, then open that address there.\n");
  }
  print(request.parent == 0 ? "It ends by Ctrl-C.\n" : "It ends with the driver.\n");
  if (opens) open_browser("http://" + server.authority() + "/#start=" + code);
  // Asked each second. A driver's last words are still to be told when it is gone.
  constexpr int most_looks_alone = 3;
  int looks_alone = 0;
  server.run([&] {
    const bool is_alone = request.parent != 0 && ::getppid() != request.parent;
    return is_alone && ++looks_alone > most_looks_alone;
  });
  return exit_ok;
}

}  // namespace tune
