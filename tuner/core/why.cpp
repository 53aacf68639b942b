#include "tuner/core/why.h"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "trainable/values.h"
#include "tuner/core/json_text.h"

namespace tune {

/// A record is read by its names: see JsonFields::raw_last.
void Why::begin(std::string_view name) {
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyz0123456789_";
  if (name.empty() || name.find_first_not_of(allowed) != name.npos || name == "metrics") {
    throw std::invalid_argument("'" + std::string(name) + "' is no name for what judged a result");
  }
  if (text_.empty()) {
    text_ = "{";
  } else {
    text_.pop_back();
  }
  append_key(text_, name);
}

Why& Why::add(std::string_view name, double value) {
  begin(name);
  append_number(text_, value);
  text_ += '}';
  return *this;
}

Why& Why::add(std::string_view name, std::string_view text) {
  begin(name);
  append_string(text_, text);
  text_ += '}';
  return *this;
}

std::string Why::words() const {
  if (empty()) return "";
  std::string words;
  const auto fields = nlohmann::ordered_json::parse(text_);
  for (const auto& [name, value] : fields.items()) {
    if (name == "rule") continue;  // its other words say which
    // "metric" and "value" are one thing: "loss 0.05".
    const bool is_value = name == "value" && fields.contains("metric");
    std::string said = name == "metric" || is_value ? "" : name + " ";
    std::replace(said.begin(), said.end(), '_', ' ');
    words += words.empty() ? "" : is_value ? " " : ", ";
    words += said;
    if (value.is_number_float()) {
      char number[32];
      std::snprintf(number, sizeof number, "%.5g", value.get<double>());
      words += number;
    } else {
      words += value.is_string() ? value.get<std::string>() : value.dump();
    }
  }
  return words;
}

Why& Why::add_integer(std::string_view name, std::int64_t value) {
  begin(name);
  append_integer(text_, value);
  text_ += '}';
  return *this;
}

}  // namespace tune
