#include "apps/tune/domain_option.h"

#include <algorithm>
#include <optional>

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

Error without_arguments(const std::string& domain) {
  return user_error("-p: the domain " + as_quoted(domain) + " has no arguments: " + domain +
                    (domain == "choice" || domain == "grid_search" ? ":16,32" : ":0,1") +
                    "; a text is given as JSON: \"" + domain + "\"");
}

/// Error (user) for what is a domain in another language: "loguniform(1e-4, 0.1)", "1e-4..0.1".
void refuse_other_forms(const std::string& text) {
  const std::string as_text = "; a text is given as JSON: '\"" + shortened(text) + "\"'";
  const std::size_t bracket = text.find('(');
  if (bracket != std::string::npos && text.ends_with(')')) {
    const std::string word = text.substr(0, bracket);
    const std::string called = word.substr(word.rfind('.') + 1);
    const auto& kinds = domain_names();
    if (std::find(kinds.begin(), kinds.end(), called) == kinds.end()) return;
    std::string arguments = text.substr(bracket + 1, text.size() - bracket - 2);
    std::erase(arguments, ' ');
    throw user_error("-p: a domain is written with a colon, " + called + ":" +
                     shortened(arguments) + ", got " + as_quoted(text) + as_text);
  }
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos || !json_or_text(text.substr(0, dots)).is_number() ||
      !json_or_text(text.substr(dots + 2)).is_number()) {
    return;
  }
  throw user_error("-p: a range is written uniform:" + text.substr(0, dots) + "," +
                   text.substr(dots + 2) + ", or loguniform, randint ... (docs/spec.md), got " +
                   as_quoted(text) + as_text);
}

}  // namespace

Json domain_of_option(const std::string& name, const std::string& text, TypedNumbers& typed) {
  if (auto json = structured("-p", text)) {
    add_typed_numbers_of_value(name, text, typed);
    return *std::move(json);
  }
  refuse_other_forms(text);
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const auto& kinds = domain_names();
  if (colon == std::string::npos || std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
    auto near = nearest_name(kind, std::span(kinds));
    // Or its beginning alone.
    constexpr std::size_t least_letters = 3;
    const auto longer = std::find_if(kinds.begin(), kinds.end(),
                                     [&](const auto& each) { return each.starts_with(kind); });
    if (!near && kind.size() >= least_letters && longer != kinds.end()) near = *longer;
    if (near && colon != std::string::npos) {
      throw user_error("-p: unknown domain " + as_quoted(kind) + ", did you mean '" + *near +
                       "'? A text is given as JSON: \"" + shortened(text) + "\"");
    }
    if (near && *near == kind) throw without_arguments(kind);
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
    values.push_back(json_or_text(trimmed(item)));
    if (is_listed) add_typed_numbers_of_value(name, trimmed(item), typed);
  }
  return {{kind, std::move(values)}};
}

}  // namespace tune
