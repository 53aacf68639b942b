// Replaces text comparisons and odd names by stand-ins, so that the expression parser sees numbers
// alone.
#include "tuner/view/trial_filter.h"

#include <algorithm>
#include <cmath>
#include <regex>
#include <stdexcept>

#include "tuner/base/clean_text.h"
#include "tuner/base/quoted.h"

namespace tune {

namespace {

constexpr const char* stand_in = "text_comparison_";
constexpr const char* stand_in_of_name = "name_as_given_";
constexpr std::size_t most_name_bytes = 200;  ///< that is looked for with a pattern

Error no_condition(const std::string& text) {
  return user_error("--filter: " + as_quoted(text) +
                    " is no condition: it wants numbers, and a text in quotes behind == or !=, " +
                    "as in 'optimizer == \"adam\" and loss < 1'");
}

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }
bool is_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || !is_ascii(c);
}

/// Whether an expression cannot have it as a name, and it is no number: "précision", "1st".
bool needs_stand_in(const std::string& word) {
  static const std::regex number(R"RE([0-9.]+([eE][0-9]*)?)RE");
  const bool begins_as_number = std::isdigit(static_cast<unsigned char>(word.front())) != 0;
  return !std::all_of(word.begin(), word.end(), is_ascii) ||
         (begins_as_number && word.size() <= most_name_bytes && !std::regex_match(word, number));
}

/// Of a list, such as tags, one of them.
bool is_text(const Json& value, const std::string& text) {
  if (value.is_array()) {
    return std::any_of(value.begin(), value.end(),
                       [&](const Json& each) { return is_text(each, text); });
  }
  return (value.is_string() ? value.get<std::string>() : value.dump()) == text;
}

/// The longest name in the condition that an expression reads as a difference or a quotient, such
/// as "eval-rmse"; empty if there is none.
std::string misread_in(const std::string& text, const TrialFields& fields) {
  std::string longest;
  for (const auto& field : fields.all()) {
    const bool is_there = TrialFields::written(field.key) != field.key &&
                          field.key.size() > longest.size() && text.find(field.key) != text.npos;
    if (is_there) longest = field.key;
  }
  return longest;
}

/// Why a name that no trial has stands in the condition.
Error unknown_in(const std::string& text, const std::string& name, const TrialFields& fields,
                 const Error& unknown) {
  if (const std::string misread = misread_in(text, fields); misread.find(name) != misread.npos) {
    return user_error("--filter: " + as_quoted(misread) + " is written " +
                      TrialFields::written(misread) + " in a condition");
  }
  // An expression's names have nothing in them that a pattern reads otherwise but dots.
  const std::regex compared("([A-Za-z_][A-Za-z0-9_.]*)\\s*(==|!=)\\s*" + name + "\\b");
  std::smatch found;
  if (name.size() > most_name_bytes || !std::regex_search(text, found, compared)) return unknown;
  return user_error("--filter: there is no " + as_quoted(name) +
                    " to compare with; a text stands in " + "quotes: " + found[1].str() + " " +
                    found[2].str() + " \"" + name + "\"");
}

}  // namespace

TrialFilter::TrialFilter(const std::string& text, const TrialFields& fields)
    : expression_(parse(text)) {
  for (const auto& name : expression_.variables()) {
    const auto test = tests_.find(name);
    if (test == tests_.end() && (name == "state" || name == "tags")) {
      throw user_error(name == "state"
                           ? "--filter: a state is a text: state == \"ERROR\", or --state ERROR"
                           : "--filter: tags are texts: tags == \"good\"");
    }
    const std::string field = as_given(test != tests_.end() ? test->second.name : name);
    try {
      fields_.push_back(fields.find_written("name in --filter", field));
    } catch (const Error& unknown) {
      throw unknown_in(text, field, fields, unknown);
    }
  }
}

bool TrialFilter::accepts(const TrialSource& source, const Trial& trial) const {
  const std::vector<Json> values = values_of(source, trial, fields_);
  const auto value =
      expression_.evaluate([&](const std::string& name) -> std::optional<ExactNumber> {
        const auto& names = expression_.variables();
        const auto found = std::find(names.begin(), names.end(), name);
        const Json& there = values[static_cast<std::size_t>(found - names.begin())];
        const auto test = tests_.find(name);
        if (test == tests_.end()) return exact_number(there);
        if (there.is_null()) return std::nullopt;
        return ExactNumber::of_truth(is_text(there, test->second.text) == test->second.wants_equal);
      });
  return value && value->is_true() && !std::isnan(value->value());
}

Expression TrialFilter::parse(const std::string& text) {
  const std::string numeric = take_out_texts(take_out_names(text));
  try {
    return Expression(numeric);
  } catch (const std::invalid_argument& error) {
    static const std::regex membership(R"RE((^|[^A-Za-z0-9_.])in([^A-Za-z0-9_.]|$))RE");
    if (std::regex_search(numeric, membership)) {
      throw user_error("--filter: there is no 'in': write tags == \"good\", or x == 1 or x == 2");
    }
    if (tests_.empty()) throw user_error("--filter: " + as_given(headline(error.what())));
    throw no_condition(text);
  }
}

/// What an expression cannot have as a name, outside of texts, becomes one that stands for it.
std::string TrialFilter::take_out_names(const std::string& text) {
  constexpr std::size_t longest = 4096;  // the comparison with a pattern goes as deep
  if (text.size() > longest) {
    throw user_error("--filter is longer than " + std::to_string(longest) + " characters");
  }
  if (text.find(stand_in) != text.npos || text.find(stand_in_of_name) != text.npos) {
    throw no_condition(text);
  }
  std::string out;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end) {
    const char c = text[at];
    const bool is_quote = c == '"' || c == '\'';
    end = at + 1;
    if (is_quote) end = std::min(text.find(c, end), text.size() - 1) + 1;
    while (is_of_name(c) && end < text.size() && is_of_name(text[end])) ++end;
    const std::string piece = text.substr(at, end - at);
    if (!is_of_name(c) || !needs_stand_in(piece)) {
      out += piece;
      continue;
    }
    const std::string name = stand_in_of_name + std::to_string(names_.size()) + "_";
    names_[name] = piece;
    out += name;
  }
  return out;
}

std::string TrialFilter::as_given(const std::string& text) const {
  std::string out = text;
  for (const auto& [name, given] : names_) {
    const std::size_t at = out.find(name);
    if (at != out.npos) out.replace(at, name.size(), given);
  }
  return out;
}

/// Expressions know numbers alone: a comparison with a text becomes a name for what it answers.
std::string TrialFilter::take_out_texts(const std::string& text) {
  static const std::regex comparison(
      R"RE(([A-Za-z_][A-Za-z0-9_.]*)\s*(==|!=)\s*("([^"]*)"|'([^']*)'))RE");
  std::string numeric;
  auto rest = text.cbegin();
  for (std::sregex_iterator at(text.begin(), text.end(), comparison), end; at != end; ++at) {
    const auto before = std::find_if_not(std::make_reverse_iterator((*at)[0].first), text.crend(),
                                         [](char c) { return c == ' '; });
    // Arithmetic on either side would bind stronger than the comparison.
    if (before != text.crend() &&
        std::string_view("+-*/%^<>=").find(*before) != std::string::npos) {
      throw no_condition(text);
    }
    const std::string name = stand_in + std::to_string(tests_.size());
    const std::string wanted = (*at)[4].matched ? (*at)[4].str() : (*at)[5].str();
    tests_[name] = {(*at)[1].str(), wanted, (*at)[2].str() == "=="};
    numeric.append(rest, (*at)[0].first).append(name);
    rest = (*at)[0].second;
  }
  return numeric.append(rest, text.cend());
}

}  // namespace tune
