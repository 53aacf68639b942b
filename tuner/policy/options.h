// Reads a policy's options out of JSON: typed, with defaults, and with a complaint about the rest.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuner/policy/catalogue.h"

namespace tune {

/// Reads the options of one policy. `finish` throws OptionError (tuner/policy/catalogue.h) with all
/// that was wrong by then: until it has been called nothing is to be made of the values. An option
/// that is wrong reads as its default.
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
    return get_optional<T>(name).value_or(std::move(otherwise));
  }

  template <class T>
  std::optional<T> get_optional(const std::string& name) {
    const Json* value = find(name);
    if (value == nullptr) return std::nullopt;
    try {
      return convert<T>(name, *value);
    } catch (const OptionError& error) {
      note(name, error.problems[0]);
      return std::nullopt;
    }
  }

  /// An option that has no default; T() if it is missing or wrong.
  template <class T>
  T get_required(const std::string& name) {
    if (find(name) == nullptr) missing(name);
    return get(name, T());
  }

  /// Unless `holds`: "'top' must be at least 2, got 1", where `expected` is "at least 2". Nothing
  /// of an option that is wrong already.
  void require(bool holds, const std::string& name, const std::string& expected);

  /// A problem of the option `name` in the caller's own words; `pointer` is below the options.
  void complain(const std::string& name, Problem problem) { note(name, std::move(problem)); }

  /// Nothing was wrong yet: what has been read may be used.
  bool is_good() const { return problems_.empty(); }

  /// Of these nothing is said where the names of options are listed: they are read to be refused.
  void do_not_offer(const std::vector<std::string>& names);

  /// Throws what was wrong, options that nobody asked for among it.
  void finish();

 private:
  const Json* find(const std::string& name);
  void missing(const std::string& name);
  void note(const std::string& name, Problem problem);
  template <class T>
  static T convert(const std::string& name, const Json& value);

  const Json& options_;
  std::vector<std::string> known_;
  std::vector<std::string> not_offered_;
  std::vector<std::string> wrong_;  ///< names that are in `problems_`
  std::vector<Problem> problems_;
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

/// The option `mode` of a policy that compares by `metric`, else that metric's in the experiment.
/// Of a new search it is a problem if there is neither: another metric's mode says nothing of this
/// one, and the best would be taken for the worst. A begun search goes on by `otherwise`.
Mode read_mode(OptionReader& reader, const PolicyContext& context, const std::string& metric,
               Mode otherwise);

}  // namespace tune
