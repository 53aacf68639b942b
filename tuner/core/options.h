// Reads a policy's options out of JSON: typed, with defaults, and with a complaint about the rest.
// Knows no policy.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/core/catalogue.h"

namespace tune {

/// Reads the options of one policy. All members throw OptionError (tuner/core/catalogue.h).
///
///   OptionReader reader(json);
///   options.top = reader.get("top", options.top);
///   reader.require(options.top >= 2, "top", "at least 2");
///   reader.finish();
///
/// T is bool, int, std::int64_t, std::uint64_t, double, std::string, Mode, Json or
/// std::vector<std::string>. Integers may be written as integral floats (1e3). A `null` counts as
/// "not given".
class OptionReader {
 public:
  /// `options`: an object, or null for "none given"; must live as long as the reader.
  explicit OptionReader(const Json& options);

  template <class T>
  T get(const std::string& name, T otherwise) {
    const Json* value = find(name);
    return value ? convert<T>(name, *value) : otherwise;
  }

  template <class T>
  std::optional<T> get_optional(const std::string& name) {
    const Json* value = find(name);
    return value ? std::optional<T>(convert<T>(name, *value)) : std::nullopt;
  }

  /// An option that has no default.
  template <class T>
  T get_required(const std::string& name) {
    const Json* value = find(name);
    if (!value) missing(name);
    return convert<T>(name, *value);
  }

  /// Unless `holds`: "'top' must be at least 2, got 1", where `expected` is "at least 2".
  void require(bool holds, const std::string& name, const std::string& expected) const;

  /// Complains about options that nobody asked for.
  void finish() const;

 private:
  const Json* find(const std::string& name);
  [[noreturn]] void missing(const std::string& name) const;
  template <class T>
  static T convert(const std::string& name, const Json& value);

  const Json& options_;
  std::vector<std::string> known_;
};

template <>
bool OptionReader::convert(const std::string& name, const Json& value);
template <>
int OptionReader::convert(const std::string& name, const Json& value);
template <>
std::int64_t OptionReader::convert(const std::string& name, const Json& value);
template <>
std::uint64_t OptionReader::convert(const std::string& name, const Json& value);
template <>
double OptionReader::convert(const std::string& name, const Json& value);
template <>
std::string OptionReader::convert(const std::string& name, const Json& value);
template <>
Mode OptionReader::convert(const std::string& name, const Json& value);
template <>
Json OptionReader::convert(const std::string& name, const Json& value);
template <>
std::vector<std::string> OptionReader::convert(const std::string& name, const Json& value);

}  // namespace tune
