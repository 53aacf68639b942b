// Splits the texts behind options at '=' and commas, and reads them as JSON where they are JSON.
#include "apps/tune/option_words.h"

#include <algorithm>

#include "tuner/base/clean_text.h"
#include "tuner/base/error.h"
#include "tuner/base/json_limits.h"
#include "tuner/base/json_text.h"
#include "tuner/base/quoted.h"

namespace tune {

Json json_or_text(const std::string& text) {
  if (levels_of(text) > most_file_levels) return text;
  Json json = Json::parse(text, nullptr, false, true);
  if (!json.is_discarded()) return json;
  const auto number = with_digits_around_point(text);
  json = number ? Json::parse(*number, nullptr, false) : json;
  return json.is_discarded() ? Json(text) : json;
}

std::optional<Json> structured(const std::string& name, const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string::npos || (text[first] != '{' && text[first] != '[')) return {};
  if (levels_of(text) > most_file_levels) {
    throw user_error(name + ": it is nested deeper than " + std::to_string(most_file_levels) +
                     " levels");
  }
  try {
    return Json::parse(text, nullptr, true, true);
  } catch (const Json::parse_error& error) {
    throw user_error(name + ": this is no JSON, at byte " + std::to_string(error.byte) + ": " +
                     shortened(text));
  } catch (const Json::out_of_range&) {
    throw user_error(
        name + ": a number is too large for a 64-bit floating point number: " + shortened(text));
  }
}

std::pair<std::string, std::string> split_at_equals(const std::string& name,
                                                    const std::string& text,
                                                    const std::string& expected) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw user_error(name + " must be " + expected + ", got " + as_quoted(text));
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> items;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    items.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return items;
}

}  // namespace tune
