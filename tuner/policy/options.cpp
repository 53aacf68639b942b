// OptionReader: one conversion for each type, and the collection of problems.
#include "tuner/policy/options.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "tuner/base/nearest_name.h"
#include "tuner/base/whole_number.h"

namespace tune {

namespace {

const Json no_options = Json::object();

std::string pointer_to(const std::string& name) {
  return (Json::json_pointer() / name).to_string();
}

std::string shown(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Problem problem_of(const std::string& name, const std::string& expected, const Json& value) {
  return {pointer_to(name), "'" + name + "' must be " + expected + ", got " + shown(value)};
}

[[noreturn]] void wrong(const std::string& name, const std::string& expected, const Json& value) {
  throw OptionError({problem_of(name, expected, value)});
}

template <class Int>
Int to_integer(const std::string& name, const Json& value) {
  const auto number = whole_number<Int>(value);
  if (!number)
    wrong(name, std::is_unsigned_v<Int> ? "a whole number from 0" : "a whole number", value);
  return *number;
}

}  // namespace

OptionReader::OptionReader(const Json& options)
    : options_(options.is_null() ? no_options : options) {
  if (!options_.is_object()) {
    throw OptionError("", "options must be an object, got " + shown(options_));
  }
}

const Json* OptionReader::find(const std::string& name) {
  if (std::find(known_.begin(), known_.end(), name) == known_.end()) known_.push_back(name);
  const auto found = options_.find(name);
  return found == options_.end() || found->is_null() ? nullptr : &*found;
}

void OptionReader::missing(const std::string& name) {
  note(name, {"", "'" + name + "' is needed here and has no default"});
}

void OptionReader::note(const std::string& name, Problem problem) {
  if (std::find(wrong_.begin(), wrong_.end(), name) != wrong_.end()) return;
  wrong_.push_back(name);
  problems_.push_back(std::move(problem));
}

void OptionReader::require(bool holds, const std::string& name, const std::string& expected) {
  if (!holds) note(name, problem_of(name, expected, options_.value(name, Json())));
}

void OptionReader::do_not_offer(const std::vector<std::string>& names) { not_offered_ = names; }

void OptionReader::finish() {
  std::vector<std::string> offered;
  std::copy_if(known_.begin(), known_.end(), std::back_inserter(offered), [&](const auto& name) {
    return std::find(not_offered_.begin(), not_offered_.end(), name) == not_offered_.end();
  });
  for (const auto& [name, value] : options_.items()) {
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    note(name, {pointer_to(name), unknown_name("option", name, offered)});
  }
  if (problems_.empty()) return;
  OptionError error(std::move(problems_));
  error.is_of_options = true;
  throw error;
}

template <>
bool OptionReader::convert(const std::string& name, const Json& value) {
  if (!value.is_boolean()) wrong(name, "true or false", value);
  return value.get<bool>();
}

template <>
int OptionReader::convert(const std::string& name, const Json& value) {
  return to_integer<int>(name, value);
}

template <>
std::int64_t OptionReader::convert(const std::string& name, const Json& value) {
  return to_integer<std::int64_t>(name, value);
}

template <>
std::uint64_t OptionReader::convert(const std::string& name, const Json& value) {
  return to_integer<std::uint64_t>(name, value);
}

template <>
double OptionReader::convert(const std::string& name, const Json& value) {
  if (!value.is_number() || !std::isfinite(value.get<double>())) wrong(name, "a number", value);
  return value.get<double>();
}

template <>
std::string OptionReader::convert(const std::string& name, const Json& value) {
  if (!value.is_string()) wrong(name, "a string", value);
  return value.get<std::string>();
}

template <>
Mode OptionReader::convert(const std::string& name, const Json& value) {
  const auto mode = value.is_string() ? parse_mode(value.get<std::string>()) : std::nullopt;
  if (!mode) wrong(name, "\"min\" or \"max\"", value);
  return *mode;
}

template <>
Json OptionReader::convert(const std::string&, const Json& value) {
  return value;
}

template <>
std::vector<std::string> OptionReader::convert(const std::string& name, const Json& value) {
  const bool is_ours = value.is_array() && std::all_of(value.begin(), value.end(),
                                                       [](const Json& v) { return v.is_string(); });
  if (!is_ours) wrong(name, "a list of strings", value);
  return value.get<std::vector<std::string>>();
}

Mode read_mode(OptionReader& reader, const PolicyContext& context, const std::string& metric,
               Mode otherwise) {
  const auto mode = reader.get_optional<Mode>("mode");
  const Objective* const own = find_objective(context.objectives, metric);
  if (!mode && own == nullptr && context.is_new) {
    reader.complain("mode", {"/mode", "'" + metric +
                                          "' is not the metric of the experiment: say which values "
                                          "of it are better, \"mode\": \"min\" or \"max\""});
  }
  return mode ? *mode : own != nullptr ? own->mode : otherwise;
}

}  // namespace tune
