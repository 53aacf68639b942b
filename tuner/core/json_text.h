// Appends JSON to a string by hand, for lines that are written thousands of times a second.
// Knows nothing of what the values mean.
#pragma once

#include <cstdint>
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

/// `"name":` after a comma, unless `out` ends with an opening brace.
void append_key(std::string& out, std::string_view name);

}  // namespace tune
