// Parses the text of -p ("loguniform:1e-4,0.1") into a domain's JSON, and explains what other
// tools' forms are called here.
#include "apps/tune/domain_option.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "apps/tune/option_words.h"
#include "tuner/base/clean_text.h"
#include "tuner/base/error.h"
#include "tuner/base/nearest_name.h"
#include "tuner/base/quoted.h"
#include "tuner/space/domain.h"
#include "tuner/spec/spec_fields.h"
#include "tuner/spec/typed_numbers.h"

namespace tune {

namespace {

/// With arguments that it may have.
std::string example_of(const std::string& domain) {
  if (domain == "choice" || domain == "grid_search") return domain + ":16,32";
  if (domain == "lograndint") return domain + ":1,64";
  return domain + (domain.find("log") != std::string::npos ? ":1e-4,1" : ":0,1");
}

Error without_arguments(const std::string& domain) {
  return user_error("-p: the domain " + as_quoted(domain) + " has no arguments: " +
                    example_of(domain) + "; a text is given as JSON: \"" + domain + "\"");
}

/// A comma at the end is a slip of the pen, and the trials that drew nothing would run in vain.
Error with_empty_value(const std::string& domain, const std::string& arguments) {
  return user_error("-p: a value is missing beside a comma in " +
                    as_quoted(domain + ":" + arguments) +
                    "; an empty text is given as JSON: " + domain + ":'[\"\", \"a\"]'");
}

std::string as_text(const std::string& text) {
  return "; a text is given as JSON: '\"" + shortened(text) + "\"'";
}

bool is_number(const std::string& text) { return json_or_text(text).is_number(); }

/// Error (user) for values to choose from, as Hydra takes them: "4,8,16", "sgd,adam".
void refuse_list(const std::string& text) {
  const auto items = split_at_commas(text);
  if (items.size() < 2 || json_or_text(text) != Json(text)) return;
  const auto is_word = [](const std::string& item) {
    const std::string word = trimmed(item);
    return !word.empty() && word.find_first_of(" \t") == std::string::npos;
  };
  // Else it is prose.
  if (!std::all_of(items.begin(), items.end(), is_word)) return;
  const std::string list = shortened(text);
  throw user_error("-p: each trial would get all of " + as_quoted(text) +
                   " as one text: choice:" + list +
                   " draws one of the values, grid_search:" + list + " tries each" + as_text(text));
}

bool is_whole(const std::string& item) {
  return trimmed(item).empty() || json_or_text(trimmed(item)).is_number_integer();
}

/// Our name for the domain that others call `kind`: "int:1,8".
std::optional<std::string> name_here(const std::string& kind, const std::string& arguments) {
  if (kind == "range") {
    const auto items = split_at_commas(arguments);
    return std::all_of(items.begin(), items.end(), is_whole) ? "randint" : "uniform";
  }
  static constexpr std::pair<std::string_view, const char*> names[] = {
      {"int", "randint"},        {"integer", "randint"}, {"logrange", "loguniform"},
      {"float", "uniform"},      {"real", "uniform"},    {"double", "uniform"},
      {"categorical", "choice"}, {"values", "choice"},   {"options", "choice"},
      {"list", "choice"},        {"one_of", "choice"},   {"normal", "randn"},
      {"gauss", "randn"},        {"gaussian", "randn"}};
  const auto* const found = std::find_if(std::begin(names), std::end(names),
                                         [&](const auto& each) { return each.first == kind; });
  return found == std::end(names) ? std::nullopt : std::optional<std::string>(found->second);
}

/// Error (user) for "const:3", since a value has no word here.
void refuse_word_of_value(const std::string& text) {
  for (const std::string_view word : {"const:", "constant:", "fixed:", "value:"}) {
    if (!text.starts_with(word)) continue;
    throw user_error("-p: a value stands alone, " + shortened(text.substr(word.size())) + ", got " +
                     as_quoted(text) + as_text(text));
  }
}

/// Error (user) for what is a domain in another language: "loguniform(1e-4, 0.1)", "1e-4..0.1".
void refuse_other_forms(const std::string& text) {
  const std::size_t bracket = text.find('(');
  if (bracket != std::string::npos && text.ends_with(')')) {
    const std::string word = text.substr(0, bracket);
    const std::string called = word.substr(word.rfind('.') + 1);
    const auto& kinds = domain_names();
    if (std::find(kinds.begin(), kinds.end(), called) == kinds.end()) return;
    std::string arguments = text.substr(bracket + 1, text.size() - bracket - 2);
    std::erase(arguments, ' ');
    throw user_error("-p: a domain is written with a colon, " + called + ":" +
                     shortened(arguments) + ", got " + as_quoted(text) + as_text(text));
  }
  for (const std::string_view sign : {"..", ":"}) {
    const std::size_t at = text.find(sign);
    if (at == std::string::npos) continue;
    const std::string lower = text.substr(0, at);
    const std::string upper = text.substr(at + sign.size());
    if (!is_number(lower) || !is_number(upper)) continue;
    throw user_error("-p: a range is written uniform:" + lower + "," + upper +
                     ", or loguniform, randint ... (docs/spec.md), got " + as_quoted(text) +
                     as_text(text));
  }
}

}  // namespace

Json domain_of_option(const std::string& name, const std::string& text, TypedNumbers& typed) {
  if (auto json = structured("-p", text)) {
    add_typed_numbers_of_value(name, text, typed);
    return *std::move(json);
  }
  refuse_other_forms(text);
  refuse_word_of_value(text);
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const auto& kinds = domain_names();
  if (colon == std::string::npos || std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
    const std::string arguments = colon == std::string::npos ? "" : text.substr(colon + 1);
    auto near = name_here(kind, arguments);
    if (!near) near = nearest_name(kind, std::span(kinds));
    // Or its beginning alone.
    constexpr std::size_t least_letters = 3;
    const auto longer = std::find_if(kinds.begin(), kinds.end(),
                                     [&](const auto& each) { return each.starts_with(kind); });
    if (!near && kind.size() >= least_letters && longer != kinds.end()) near = *longer;
    if (near && colon != std::string::npos) {
      throw user_error(
          "-p: unknown domain " + as_quoted(kind) + ", did you mean '" + *near +
          "'? It is written " +
          (arguments.empty() ? example_of(*near) : *near + ":" + shortened(arguments)) +
          "; a text is given as JSON: \"" + shortened(text) + "\"");
    }
    if (near && *near == kind) throw without_arguments(kind);
    refuse_list(text);
    add_typed_numbers_of_value(name, text, typed);
    return json_or_text(text);
  }
  const std::string rest = text.substr(colon + 1);
  if (rest.empty()) throw without_arguments(kind);
  if (kind == "expr") return {{kind, rest}};
  const bool is_listed = kind == "choice" || kind == "grid_search";
  if (auto json = structured("-p", rest)) {
    if (is_listed) add_typed_numbers_of_value(name, rest, typed);
    return {{kind, *std::move(json)}};
  }
  Json values = Json::array();
  for (const auto& item : split_at_commas(rest)) {
    if (trimmed(item).empty()) throw with_empty_value(kind, rest);
    values.push_back(json_or_text(trimmed(item)));
    if (is_listed) add_typed_numbers_of_value(name, trimmed(item), typed);
  }
  return {{kind, std::move(values)}};
}

}  // namespace tune
