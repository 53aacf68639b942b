// Appends names and values as JSON members, and makes the words for people of them.
#include "tuner/model/rationale.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "tuner/base/json_text.h"
#include "tuner/model/metrics_dom.h"

namespace tune {

/// A record is read by its names: see JsonFields::raw_last.
void Rationale::begin(std::string_view name) {
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (name.empty() || !std::all_of(name.begin(), name.end(), is_allowed) || name == "metrics") {
    throw std::invalid_argument("'" + std::string(name) + "' is no name for what judged a result");
  }
  if (text_.empty()) {
    text_.reserve(96);  // mostly enough
    text_ = '{';
  } else {
    text_.pop_back();
  }
  append_key(text_, name);
}

Rationale& Rationale::add(std::string_view name, double value) {
  begin(name);
  append_number(text_, value);
  text_ += '}';
  return *this;
}

Rationale& Rationale::add(std::string_view name, std::string_view text) {
  begin(name);
  append_string(text_, text);
  text_ += '}';
  return *this;
}

std::string Rationale::words() const {
  simdjson::dom::object fields;
  if (empty() || parse_record(text_).get(fields) != simdjson::SUCCESS) return "";
  const bool has_metric = !fields["metric"].error();
  std::string words;
  for (const auto& [name, value] : fields) {
    if (name == "rule") continue;  // its other words say which
    // "metric" and "value" are one thing: "loss 0.05".
    const bool is_value = name == "value" && has_metric;
    if (!words.empty()) words += is_value ? " " : ", ";
    if (name != "metric" && !is_value) {
      const auto begin = static_cast<std::ptrdiff_t>(words.size());
      words += name;
      std::replace(words.begin() + begin, words.end(), '_', ' ');
      words += ' ';
    }
    if (value.is_double()) {
      char number[32];
      words.append(number,
                   std::to_chars(number, number + sizeof number, value.get_double().value_unsafe(),
                                 std::chars_format::general, 5)
                       .ptr);
    } else if (value.is_string()) {
      words += value.get_string().value_unsafe();
    } else {
      words += simdjson::minify(value);
    }
  }
  return words;
}

bool Rationale::is_only(std::string_view name) const {
  simdjson::dom::object fields;
  if (empty() || parse_record(text_).get(fields) != simdjson::SUCCESS) return false;
  return fields.size() == 1 && fields.begin().key() == name;
}

Rationale& Rationale::add_integer(std::string_view name, std::int64_t value) {
  begin(name);
  append_integer(text_, value);
  text_ += '}';
  return *this;
}

}  // namespace tune
