// Parsing and formatting of byte sizes with decimal and binary units.
#include "tuner/base/byte_size.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace tune {

std::optional<std::uint64_t> parse_byte_size(std::string_view text) {
  double number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc() || !std::isfinite(number) || number < 0) return std::nullopt;
  std::string_view unit(end, static_cast<std::size_t>(last - end));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  double factor = 1;
  if (!unit.empty() && unit != "B") {
    const std::size_t power = std::string_view("KMGT").find(unit.front()) + 1;
    const std::string_view rest = unit.substr(1);
    if (power == 0 || (rest != "B" && rest != "iB")) return std::nullopt;
    factor = std::pow(rest == "B" ? 1000.0 : 1024.0, static_cast<double>(power));
  } else if (unit.empty() && text.back() == ' ') {
    return std::nullopt;
  }
  const double bytes = std::floor(number * factor);
  constexpr double limit = 9e18;
  if (bytes > limit) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

std::string show_byte_size(std::uint64_t bytes) {
  constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double number = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; number >= 1024; number /= 1024) ++unit;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", number, units[unit]);
  return text;
}

}  // namespace tune
