#include "tuner/core/json_text.h"

#include <simdjson.h>

#include <charconv>
#include <cmath>

namespace tune {

void append_string(std::string& out, std::string_view text) {
  static constexpr char hex[] = "0123456789abcdef";
  const bool is_utf8 = simdjson::validate_utf8(text.data(), text.size());
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += "\\u00";
          out += hex[static_cast<unsigned char>(c) >> 4];
          out += hex[static_cast<unsigned char>(c) & 15];
        } else {
          out += is_utf8 || static_cast<unsigned char>(c) < 0x80 ? c : '?';
        }
    }
  }
  out += '"';
}

void append_number(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "\"NaN\"";
  } else if (std::isinf(value)) {
    out += value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  } else {
    char buffer[32];
    char* end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
    // Above 2^63 the shortest text may be a whole number, which parsers want to fit 64 bits.
    constexpr double two_to_63 = 9223372036854775808.0;
    if (std::abs(value) >= two_to_63) {
      end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
    }
    out.append(buffer, end);
    if (value == 0 && std::signbit(value)) out += ".0";  // "-0" reads back as the integer 0
  }
}

void append_integer(std::string& out, std::int64_t value) {
  char buffer[24];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

void append_key(std::string& out, std::string_view name) {
  if (out.empty() || out.back() != '{') out += ',';
  out += '"';
  out += name;
  out += "\":";
}

void append_member(std::string& out, std::string_view name, std::string_view text) {
  append_key(out, name);
  append_string(out, text);
}

void append_member(std::string& out, std::string_view name, double value) {
  append_key(out, name);
  append_number(out, value);
}

void append_member_if(std::string& out, std::string_view name, const std::string& text) {
  if (!text.empty()) append_member(out, name, text);
}

void append_member_if(std::string& out, std::string_view name, const std::optional<double>& value) {
  if (value) append_member(out, name, *value);
}

}  // namespace tune
