// Reads the fields of one JSON object of the spec and collects what is wrong with them.
// Knows which fields there are, not what they mean.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuner/space/search_space.h"

namespace tune {

/// Every field that the spec knows, by the pointer of the object it belongs to: "" for the spec
/// itself, "/trainable", "/checkpoint_config", "/failure_config".
const std::map<std::string, std::vector<std::string>>& spec_fields();

/// `value` for the end of a sentence: "an object", "a list", or the JSON text, cut short.
std::string describe(const Json& value);

/// A name of the user's that is fit for a sentence: control characters escaped, cut short.
std::string shown(const std::string& name);
/// The same in single quotes.
std::string quote(const std::string& name);

/// Reads fields by name and type. A field that is not there leaves its default; one that is wrong
/// adds "<name> must be <expected>, got <value>" to the problems.
class FieldReader {
 public:
  /// Unknown fields become problems at once. `json` and `problems` must outlive the reader.
  /// `pointer` is a key of `spec_fields`.
  FieldReader(const Json& json, std::string pointer, std::vector<Problem>& problems);

  /// Null if the field is not there.
  const Json* find(const std::string& name) const;

  /// Gives `to` what `convert` makes of the field. `convert` takes a Json and answers with an
  /// optional, which is empty if the value is not acceptable.
  template <class T, class Convert>
  void read(const std::string& name, const std::string& expected, const Convert& convert,
            T& to) const {
    const Json* json = find(name);
    if (!json) return;
    if (auto value = convert(*json)) {
      to = *std::move(value);
    } else {
      wrong(name, expected, *json);
    }
  }

  /// The same for a field that may be null, which means "none".
  template <class T, class Convert>
  void read(const std::string& name, const std::string& expected, const Convert& convert,
            std::optional<T>& to) const {
    const Json* json = find(name);
    if (!json) return;
    to = json->is_null() ? std::nullopt : convert(*json);
    if (!to && !json->is_null()) wrong(name, expected, *json);
  }

  void wrong(const std::string& name, const std::string& expected, const Json& value) const;
  /// A problem of the field `name` in the caller's own words.
  void complain(const std::string& name, const std::string& sentence) const;

 private:
  const Json& json_;
  std::string pointer_;
  std::vector<Problem>& problems_;
};

// Conversions for FieldReader::read: empty if the value is of another type or out of range.

std::optional<bool> to_flag(const Json& json);
/// Not empty, and without NUL characters, which no path and no argument can hold.
std::optional<std::string> to_text(const Json& json);
/// A whole number of at least `lowest`; 1e3 is one.
std::optional<std::int64_t> to_integer(const Json& json, std::int64_t lowest);
/// The same, if an int can hold it.
std::optional<int> to_int(const Json& json, int lowest);
/// A whole number from 0, or text like "10GB".
std::optional<std::uint64_t> to_bytes(const Json& json);
std::optional<double> to_number(const Json& json);
/// Above 0, and at most 1e9 (31 years), so that a deadline never overflows.
std::optional<double> to_seconds(const Json& json);

}  // namespace tune
