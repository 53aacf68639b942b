// All that can be asked of the dashboard's server: one list, so that a rule about routes holds for
// each of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tune {

struct Route {
  enum class Name { page, start, experiments, report, log, stream, control };
  Name name;
  const char* method;
  /// A '#' stands for a number. Nothing else of a path is the caller's.
  const char* pattern;
  bool needs_token = true;
};

std::span<const Route> routes();

/// A route, and what was asked of it.
struct RouteMatch {
  const Route* route = nullptr;
  std::vector<std::uint32_t> numbers;        ///< for each '#', in order
  std::map<std::string, std::string> query;  ///< small letters; values of letters and digits
};

/// Nothing if the target has no such form: "/path" or "/path?name=value&...", of letters, digits,
/// '/' and '_' alone. There is nothing to decode, so nothing is decoded twice.
struct RequestTarget {
  std::string path;
  std::map<std::string, std::string> query;
};
std::optional<RequestTarget> parse_target(std::string_view target);

/// "17"; nothing if it is no number of at most nine digits. No other text of a caller becomes a
/// part of a path.
std::optional<std::uint32_t> parse_digits(std::string_view text);

/// `is_known`: whether some method can ask this path.
std::optional<RouteMatch> find_route(std::string_view method, const RequestTarget& target,
                                     bool& is_known);

}  // namespace tune
