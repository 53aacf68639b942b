// Quotes and shortens a user's words, for a message or a shell.
#include "tuner/base/quoted.h"

#include <algorithm>
#include <cctype>

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

std::string shell_word(const std::string& text) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) ||
           std::string_view("/._-+=:,@").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain)) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace tune
