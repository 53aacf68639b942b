// Quotes and shortens a user's word for a message.
#include "tuner/base/quoted.h"

namespace tune {

std::string shortened(std::string_view text) {
  constexpr std::size_t most_bytes = 120;
  constexpr std::size_t kept_at_begin = 60;
  constexpr std::size_t kept_at_end = 30;
  if (text.size() <= most_bytes) return std::string(text);
  const auto is_inside_character = [&](std::size_t i) { return (text[i] & 0xC0) == 0x80; };
  std::size_t begin = kept_at_begin;
  while (begin > 0 && is_inside_character(begin)) --begin;
  std::size_t end = text.size() - kept_at_end;
  while (end < text.size() && is_inside_character(end)) ++end;
  return std::string(text.substr(0, begin)) + "..." + std::string(text.substr(end));
}

std::string as_quoted(std::string_view text) { return "'" + shortened(text) + "'"; }

}  // namespace tune
