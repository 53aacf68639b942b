// Rules are checked from the cheapest on; what is allowed is listed, and all else refused.
#include "apps/dashboard/server/guard.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "tuner/base/error.h"

namespace tune {

namespace {

/// Of a name that is there exactly once.
const std::string* sole_field(const HttpRequest& request, std::string_view name) {
  const std::string* found = nullptr;
  for (const auto& [each, value] : request.fields) {
    if (each != name) continue;
    if (found != nullptr) return nullptr;
    found = &value;
  }
  return found;
}

bool has_field(const HttpRequest& request, std::string_view name) {
  return std::any_of(request.fields.begin(), request.fields.end(),
                     [&](const auto& field) { return field.first == name; });
}

/// Without ":8080"; nothing if that is no port.
std::optional<std::string> without_port(const std::string& host) {
  const std::size_t end = host.starts_with('[') ? host.find(']') : 0;
  if (end == host.npos) return std::nullopt;
  const std::size_t colon = host.find(':', end);
  if (colon == host.npos) return host;
  if (!parse_digits(std::string_view(host).substr(colon + 1))) return std::nullopt;
  return host.substr(0, colon);
}

bool is_known_host(const std::string& host, const GuardRules& rules) {
  auto name = without_port(host);
  if (!name) return false;
  std::transform(name->begin(), name->end(), name->begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (*name == "localhost" || *name == "127.0.0.1" || *name == "[::1]") return true;
  return std::find(rules.hosts.begin(), rules.hosts.end(), *name) != rules.hosts.end();
}

/// Whether a page of this server sends it. Browsers say so; a program that is none need not.
std::optional<Refusal> check_origin(const HttpRequest& request, const std::string& host) {
  if (has_field(request, "sec-fetch-site")) {
    const auto* const site = sole_field(request, "sec-fetch-site");
    if (site != nullptr && *site == "same-origin") return std::nullopt;
    return Refusal{403, "a page of another origin may not ask for this"};
  }
  if (!has_field(request, "origin")) return std::nullopt;
  const auto* const origin = sole_field(request, "origin");
  if (origin != nullptr && (*origin == "http://" + host || *origin == "https://" + host))
    return std::nullopt;
  return Refusal{403, "a page of another origin may not ask for this"};
}

}  // namespace

std::variant<RouteMatch, Refusal> check_request(const HttpRequest& request,
                                                const GuardRules& rules) {
  const std::string* const host = sole_field(request, "host");
  if (host == nullptr) return Refusal{400, "a request must have exactly one Host"};
  if (!is_known_host(*host, rules)) {
    return Refusal{403,
                   "this server does not go by that name: give it with --host if it is to do so"};
  }
  const auto target = parse_target(request.target);
  if (!target) return Refusal{400, "there is no such page"};
  if (request.method != "GET" && request.method != "POST") {
    return Refusal{405, "only GET and POST are answered"};
  }
  bool is_known = false;
  auto match = find_route(request.method, *target, is_known);
  const bool is_open = match && !match->route->needs_token;
  if (!is_open) {
    constexpr std::string_view scheme = "Bearer ";
    const std::string* const given = sole_field(request, "authorization");
    const bool has_scheme = given != nullptr && given->starts_with(scheme);
    const std::string_view bearer =
        has_scheme ? std::string_view(*given).substr(scheme.size()) : std::string_view();
    const bool is_start = match && match->route->name == Route::Name::start;
    const std::string& wanted = is_start ? rules.start_code : rules.token;
    if (wanted.empty() || !is_equal_in_constant_time(bearer, wanted)) {
      return Refusal{401, "open the address that tune dashboard has printed: it has the token"};
    }
  }
  if (!match) {
    return is_known ? Refusal{405, "that is not asked in this way"}
                    : Refusal{404, "there is no such page"};
  }
  if (request.method == "POST") {
    if (const auto refusal = check_origin(request, *host)) return *refusal;
    const std::string* const type = sole_field(request, "content-type");
    if (type == nullptr || *type != "application/json") {
      return Refusal{415, "send it as application/json"};
    }
  }
  if (match->route->name == Route::Name::control && !rules.allows_control) {
    return Refusal{403, "this page only looks: start it with --allow-control to steer from it"};
  }
  return std::move(*match);
}

bool has_folded_line(std::string_view head) {
  return head.find("\n ") != head.npos || head.find("\n\t") != head.npos;
}

bool is_equal_in_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;  // how long a token is, is no secret
  unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
  }
  return difference == 0;
}

std::string make_token() {
  std::array<unsigned char, 32> bytes{};
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t count = ::getrandom(bytes.data() + have, bytes.size() - have, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw machine_error("the system has no random numbers for a token");
    have += static_cast<std::size_t>(count);
  }
  std::string token;
  for (const unsigned char byte : bytes) {
    token += "0123456789abcdef"[byte >> 4];
    token += "0123456789abcdef"[byte & 15];
  }
  return token;
}

}  // namespace tune
