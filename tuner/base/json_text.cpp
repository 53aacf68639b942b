// Appends numbers with std::to_chars and strings with JSON escapes, without an intermediate tree.
#include "tuner/base/json_text.h"

#include <simdjson.h>

#include <charconv>
#include <cmath>
#include <cstring>

#include "tuner/base/decimal.h"

namespace tune {

namespace {

/// What has at most six digits behind its point, as Unix times in records have: its shortest text
/// is that of a whole number of millionths, which is written far sooner than it is found. False if
/// `value` is another one, or its shortest text might have an exponent.
bool append_millionths(std::string& out, double value) {
  // Below, neighbours are less than a millionth apart: no two such texts read back as the same.
  constexpr double end = 4e9;
  constexpr std::uint64_t million = 1'000'000;
  if (!(value >= 1 && value < end)) return false;
  const auto millionths = static_cast<std::uint64_t>(value * million + 0.5);
  std::uint64_t fraction = millionths % million;
  if (fraction == 0 || static_cast<double>(millionths) / million != value) return false;
  char buffer[24];
  char* const point = std::to_chars(buffer, buffer + sizeof buffer, millionths / million).ptr;
  *point = '.';
  for (char* digit = point + 6; digit != point; fraction /= 10) {
    *digit-- = static_cast<char>('0' + fraction % 10);
  }
  char* last = point + 6;
  while (*last == '0') --last;
  out.append(buffer, last + 1);
  return true;
}

}  // namespace

void append_string(std::string& out, std::string_view text) {
  static constexpr char hex[] = "0123456789abcdef";
  const bool is_utf8 = simdjson::validate_utf8(text.data(), text.size());
  out += '"';
  std::size_t begin = 0;  // of what stands there as it is
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && c != '"' && c != '\\' && (is_utf8 || byte < 0x80)) continue;
    out.append(text, begin, i - begin);
    begin = i + 1;
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
        if (byte < 0x20) {
          out += "\\u00";
          out += hex[byte >> 4];
          out += hex[byte & 15];
        } else {
          out += '?';
        }
    }
  }
  out.append(text, begin);
  out += '"';
}

void append_number(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "\"NaN\"";
  } else if (std::isinf(value)) {
    out += value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  } else if (!append_millionths(out, value)) {
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

std::optional<std::string> with_digits_around_point(std::string_view text) {
  const auto is_digit = [text](std::size_t at) {
    return at < text.size() && text[at] >= '0' && text[at] <= '9';
  };
  const std::size_t point = text.find('.');
  if (point == text.npos) return std::nullopt;
  const bool has_before = point > 0 && is_digit(point - 1);
  if (has_before == is_digit(point + 1)) return std::nullopt;
  std::string number(text);
  number.insert(has_before ? point + 1 : point, "0");
  const std::size_t first = number.front() == '-' ? 1 : 0;
  const bool has_needless_zero = number[first] == '0' && number[first + 1] != '.';
  if (has_needless_zero || read_decimal(number).length != number.size()) return std::nullopt;
  return number;
}

void append_key(std::string& out, std::string_view name) {
  const bool has_comma = out.empty() || out.back() != '{';
  const std::size_t begin = out.size();
  out.resize(begin + name.size() + (has_comma ? 4 : 3));
  char* to = out.data() + begin;
  if (has_comma) *to++ = ',';
  *to++ = '"';
  std::memcpy(to, name.data(), name.size());
  to += name.size();
  to[0] = '"';
  to[1] = ':';
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
