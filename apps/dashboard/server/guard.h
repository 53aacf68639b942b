// Which requests the dashboard's server answers. It knows a request as values, and no socket.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "apps/dashboard/server/routes.h"

namespace tune {

struct HttpRequest {
  std::string method;
  std::string target;
  std::vector<std::pair<std::string, std::string>> fields;  ///< names in small letters
  std::string body;
};

struct Refusal {
  int status = 400;
  std::string sentence;
};

struct GuardRules {
  std::string token;
  /// Opens one page: whoever sends it first gets the token for it. Empty: none, or used already.
  std::string start_code;
  /// Besides localhost, 127.0.0.1 and [::1]; without a port.
  std::vector<std::string> hosts;
  bool allows_control = false;
};

/// What is asked, or why it is not answered. A page of another origin reaches no route: its Host is
/// another one if the name was bound to this address, and it does not know the token else.
std::variant<RouteMatch, Refusal> check_request(const HttpRequest& request,
                                                const GuardRules& rules);

/// A line that begins with a blank goes on with the one before, as HTTP once had it: programs
/// disagree on what such a field says. `head`: all lines of it.
bool has_folded_line(std::string_view head);

/// Takes as long whatever they hold.
bool is_equal_in_constant_time(std::string_view a, std::string_view b);

/// 32 random bytes as 64 digits. Error (machine) if the system has none.
std::string make_token();

}  // namespace tune
