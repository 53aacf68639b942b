// Depth, size and duplicate-key limits for JSON that is written to the journal or read back.
#include "tuner/base/json_limits.h"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tuner/base/clean_text.h"

namespace tune {

namespace {

std::invalid_argument too_deep(std::size_t most_levels) {
  return std::invalid_argument("it is nested deeper than " + std::to_string(most_levels) +
                               " levels");
}

std::string kept_text(Json value, std::size_t most_levels) {
  if (!value.is_object()) throw std::invalid_argument("it is no JSON object");
  std::string text;
  try {
    text = encode_numbers(std::move(value)).dump();
  } catch (const Json::type_error&) {
    throw std::invalid_argument("it holds text that is not UTF-8");
  }
  if (levels_of(text) <= most_levels) return text;
  throw too_deep(most_levels);
}

}  // namespace

Json parse_unambiguous(std::string_view text) {
  std::vector<std::set<std::string>> keys;  // of the objects that are open, outermost first
  const auto watch = [&keys](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event != Json::parse_event_t::key) return true;
    const auto& key = parsed.get_ref<const std::string&>();
    if (keys.back().insert(key).second) return true;
    // The sentence goes to a terminal, and the name may be as long as a line.
    throw std::invalid_argument("'" + clean_text(headline(key)) + "' is in it twice");
  };
  if (levels_of(text) > most_file_levels) throw too_deep(most_file_levels);
  try {
    return Json::parse(text, watch);
  } catch (const Json::out_of_range&) {
    throw std::invalid_argument("it holds a number that is too large");
  } catch (const Json::exception&) {
    throw std::invalid_argument("it is no JSON");
  }
}

Json parse_shallow(std::string_view text, std::size_t most_levels) {
  if (levels_of(text) > most_levels) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

std::string config_text(Json config) {
  std::string text = kept_text(std::move(config), most_config_levels);
  if (text.size() <= most_config_bytes) return text;
  throw std::invalid_argument("it has " + std::to_string(text.size()) + " bytes, and may have " +
                              std::to_string(most_config_bytes));
}

std::string state_text(Json state) { return kept_text(std::move(state), most_state_levels); }

}  // namespace tune
