// The route table, and how a target is read.
#include "apps/dashboard/server/routes.h"

#include <algorithm>
#include <charconv>

namespace tune {

namespace {

using Name = Route::Name;

constexpr Route all[] = {
    {Name::page, "GET", "/", false},
    {Name::start, "POST", "/api/start"},
    {Name::experiments, "GET", "/api/experiments"},
    {Name::report, "GET", "/api/e/#/report"},
    {Name::log, "GET", "/api/e/#/trials/#/log"},
    {Name::stream, "GET", "/api/e/#/stream"},
    {Name::control, "POST", "/api/e/#/control"},
};

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_plain);
}

/// Cuts off what comes before the next `separator`, or all.
std::string_view take(std::string_view& rest, char separator) {
  const std::size_t at = std::min(rest.find(separator), rest.size());
  const std::string_view part = rest.substr(0, at);
  rest.remove_prefix(std::min(at + 1, rest.size()));
  return part;
}

std::optional<std::vector<std::uint32_t>> match(std::string_view pattern, std::string_view path) {
  std::vector<std::uint32_t> numbers;
  if (std::count(pattern.begin(), pattern.end(), '/') != std::count(path.begin(), path.end(), '/'))
    return std::nullopt;
  while (!pattern.empty() || !path.empty()) {
    const std::string_view wanted = take(pattern, '/'), given = take(path, '/');
    if (wanted == "#") {
      const auto number = parse_digits(given);
      if (!number) return std::nullopt;
      numbers.push_back(*number);
    } else if (wanted != given) {
      return std::nullopt;
    }
  }
  return numbers;
}

}  // namespace

std::span<const Route> routes() { return all; }

std::optional<RequestTarget> parse_target(std::string_view target) {
  RequestTarget parsed;
  std::string_view query = target;
  const std::string_view path = take(query, '?');
  if (!path.starts_with('/') || path.find("//") != path.npos) return std::nullopt;
  if (!std::all_of(path.begin(), path.end(), [](char c) { return c == '/' || is_plain(c); }))
    return std::nullopt;
  parsed.path = path;
  while (!query.empty()) {
    std::string_view value = take(query, '&');
    const std::string_view name = take(value, '=');
    if (!is_word(name) || !is_word(value)) return std::nullopt;
    if (!parsed.query.emplace(name, value).second) return std::nullopt;
  }
  return parsed;
}

std::optional<std::uint32_t> parse_digits(std::string_view text) {
  constexpr std::size_t most_digits = 9;
  std::uint32_t number = 0;
  if (text.empty() || text.size() > most_digits) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<RouteMatch> find_route(std::string_view method, const RequestTarget& target,
                                     bool& is_known) {
  is_known = false;
  for (const Route& route : all) {
    auto numbers = match(route.pattern, target.path);
    if (!numbers) continue;
    is_known = true;
    if (method == route.method) return RouteMatch{&route, std::move(*numbers), target.query};
  }
  return std::nullopt;
}

}  // namespace tune
