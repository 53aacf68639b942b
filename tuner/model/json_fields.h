// Typed reading of one line of the journal or of a snapshot. Private to the model: it exposes
// simdjson.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/base/json_limits.h"
#include "tuner/model/metrics_dom.h"
#include "tuner/model/trial.h"

namespace tune {

/// Typed access to a record's members; a missing or ill-typed one is a broken record.
class JsonFields {
 public:
  JsonFields(std::string_view text, simdjson::dom::object object) : text_(text), object_(object) {}

  bool has(const char* name) const { return object_[name].error() == simdjson::SUCCESS; }
  std::int64_t integer(const char* name) const {
    std::int64_t value = 0;
    if (object_[name].get(value) != simdjson::SUCCESS) fail(name);
    return value;
  }
  std::int64_t integer(const char* name, std::int64_t otherwise) const {
    return has(name) ? integer(name) : otherwise;
  }
  int small(const char* name, int otherwise) const {
    return static_cast<int>(integer(name, otherwise));
  }
  double number(const char* name) const {
    simdjson::dom::element element;
    if (object_[name].get(element) != simdjson::SUCCESS) fail(name);
    const auto value = number_in(element);
    if (!value) fail(name);
    return *value;
  }
  std::optional<double> number_if(const char* name) const {
    if (!has(name)) return std::nullopt;
    return number(name);
  }
  std::string text(const char* name) const {
    std::string_view value;
    if (object_[name].get(value) != simdjson::SUCCESS) fail(name);
    return std::string(value);
  }
  /// JSON that is kept as a text, in which no parser of the record counts levels.
  std::string json_text(const char* name) const {
    std::string value = text(name);
    if (levels_of(value) > most_file_levels) fail(name);
    return value;
  }
  std::string text_if(const char* name) const { return has(name) ? text(name) : std::string(); }
  bool flag(const char* name) const {
    bool value = false;
    return object_[name].get(value) == simdjson::SUCCESS && value;
  }
  std::vector<int> integers(const char* name) const {
    simdjson::dom::array array;
    std::vector<int> values;
    if (object_[name].get(array) != simdjson::SUCCESS) return values;
    for (const auto element : array) {
      std::int64_t value = 0;
      if (element.get(value) != simdjson::SUCCESS) fail(name);
      values.push_back(static_cast<int>(value));
    }
    return values;
  }
  TrialId trial() const { return TrialId{static_cast<std::uint32_t>(integer("trial"))}; }
  std::optional<TrialId> trial_if(const char* name) const {
    if (!has(name)) return std::nullopt;
    return TrialId{static_cast<std::uint32_t>(integer(name))};
  }
  int attempt() const { return small("attempt", 0); }
  simdjson::dom::object object(const char* name) const {
    simdjson::dom::object value;
    if (object_[name].get(value) != simdjson::SUCCESS) fail(name);
    return value;
  }
  /// The text of the last member, which is there once. Quotes inside JSON strings are escaped, so
  /// the first `"name":` is the key itself.
  std::string raw_last(const std::string& name) const {
    int found = 0;
    bool is_last = false;
    for (const auto [key, value] : object_) {
      is_last = key == name;
      found += is_last ? 1 : 0;
    }
    if (found != 1 || !is_last) fail(name.c_str());
    const std::string key = "\"" + name + "\":";
    const auto at = text_.find(key);
    if (at == std::string_view::npos) fail(name.c_str());
    const auto end = text_.find_last_of('}');
    return std::string(text_.substr(at + key.size(), end - at - key.size()));
  }
  /// The text of the member before the last one, `last`: an object of numbers and texts.
  std::string raw_before_last(const std::string& name, const std::string& last) const {
    object(name.c_str());
    const std::string key = "\"" + name + "\":";
    const auto at = text_.find(key);
    const auto end = at == std::string_view::npos ? at : text_.find(",\"" + last + "\":", at);
    if (end == std::string_view::npos) fail(name.c_str());
    return std::string(text_.substr(at + key.size(), end - at - key.size()));
  }

 private:
  [[noreturn]] static void fail(const char* name) {
    throw std::invalid_argument(std::string("the record lacks a valid '") + name + "'");
  }
  std::string_view text_;
  simdjson::dom::object object_;
};

/// A checkpoint's members, to go on with in a record or an object in a list; and back.
void append_members(std::string& out, const Checkpoint& checkpoint);
Checkpoint read_checkpoint(const JsonFields& fields);

}  // namespace tune
