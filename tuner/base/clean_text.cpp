// Decodes UTF-8 by hand and replaces control characters and malformed bytes.
#include "tuner/base/clean_text.h"

#include <algorithm>
#include <cstdint>

namespace tune {
namespace {

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;  ///< 0: no UTF-8 begins here
};

/// The one at the front of `text`, which is not empty.
Character first_of(std::string_view text) {
  const auto byte_at = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte_at(0);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return {};
  char32_t code = first & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte_at(i) & 0xc0U) != 0x80) return {};
    code = code << 6 | (byte_at(i) & 0x3fU);
  }
  const bool is_overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  if (is_overlong || is_surrogate || code > 0x10ffff) return {};
  return {code, bytes};
}

bool is_obeyed(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) ||       // of seven bits and of eight
         code == 0x200e || code == 0x200f || code == 0x61c ||  // marks of direction
         (code >= 0x2028 && code <= 0x202e) ||                 // lines, paragraphs, directions
         (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Character character = first_of(text);
    if (character.bytes == 0) return false;
    text.remove_prefix(character.bytes);
  }
  return true;
}

std::string clean_text(std::string_view text, Lines lines) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_of(text);
    const bool is_layout = text.front() == '\n' || text.front() == '\t';
    if (character.bytes == 0) {
      clean += '?';
    } else if (is_obeyed(character.code) && !(is_layout && lines == Lines::keep)) {
      clean += ' ';
    } else {
      clean += text.substr(0, character.bytes);
    }
    text.remove_prefix(std::max<std::size_t>(character.bytes, 1));
  }
  return clean;
}

std::string headline(std::string_view text) {
  constexpr std::size_t most_bytes = 1000;
  constexpr std::size_t kept_at_end = 400;
  const std::string_view line = text.size() <= most_bytes ? text : text.substr(0, text.find('\n'));
  if (line.size() <= most_bytes) return std::string(line);
  const auto is_inside_character = [&](std::size_t i) {
    return i < line.size() && (line[i] & 0xC0) == 0x80;
  };
  std::size_t end = most_bytes - kept_at_end;
  while (end > 0 && is_inside_character(end)) --end;
  std::size_t rest = line.size() - kept_at_end;
  while (is_inside_character(rest)) ++rest;
  return std::string(line.substr(0, end)) + " ... " + std::string(line.substr(rest));
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? ""
                                    : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

}  // namespace tune
