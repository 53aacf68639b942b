// Appends JSON to a string by hand, for lines that are written thousands of times a second.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tune {

/// `text` as a JSON string with quotes. If it is not UTF-8, as the output of a program may be, its
/// bytes above 127 become question marks.
void append_string(std::string& out, std::string_view text);

/// The shortest text that reads back as the same double; non-finite values as the strings "NaN",
/// "Infinity", "-Infinity".
void append_number(std::string& out, double value);
void append_integer(std::string& out, std::int64_t value);

/// `text`, if it is a number without a digit on one side of its point, as Python takes it (".5",
/// "5."), with a zero there, as JSON has it; else nothing.
std::optional<std::string> with_digits_around_point(std::string_view text);

/// `"name":` after a comma, unless `out` ends with an opening brace.
void append_key(std::string& out, std::string_view name);

template <class Number>
concept WholeNumber = std::integral<Number> && !std::same_as<Number, bool>;

/// `"name":value`, after a comma as `append_key` says.
void append_member(std::string& out, std::string_view name, std::string_view text);
void append_member(std::string& out, std::string_view name, double value);
void append_member(std::string& out, std::string_view name, WholeNumber auto value) {
  append_key(out, name);
  append_integer(out, static_cast<std::int64_t>(value));
}

/// The same, and nothing if the value is empty, absent, false or zero.
void append_member_if(std::string& out, std::string_view name, const std::string& text);
void append_member_if(std::string& out, std::string_view name, const std::optional<double>& value);
void append_member_if(std::string& out, std::string_view name, std::same_as<double> auto value) {
  if (value != 0) append_member(out, name, value);
}
void append_member_if(std::string& out, std::string_view name, std::same_as<bool> auto value) {
  if (!value) return;
  append_key(out, name);
  out += "true";
}
void append_member_if(std::string& out, std::string_view name, WholeNumber auto value) {
  if (value != 0) append_member(out, name, value);
}

}  // namespace tune
