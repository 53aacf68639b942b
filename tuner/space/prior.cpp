// Reads the value and the confidence of a prior, and finds the value in its domain.
#include "tuner/space/prior.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

namespace tune {

namespace {

constexpr std::array<std::pair<std::string_view, Confidence>, 3> confidences{
    {{"low", Confidence::low}, {"medium", Confidence::medium}, {"high", Confidence::high}}};

std::string name_of(const Json& json) {
  for (const auto& [key, unused] : json.items()) {
    if (key != "prior") return key;
  }
  return "";
}

/// Why nothing is believed of such a domain; empty: something may be.
std::string why_none(const Domain& domain) {
  const auto* const integer = std::get_if<Integer>(&domain);
  if (integer != nullptr && integer->is_seed) return "no searcher learns anything from a seed";
  if (std::holds_alternative<GridSearch>(domain)) return "all of its values are tried";
  if (std::holds_alternative<Expr>(domain)) return "its value follows from others";
  return "";
}

/// Whether `value` has all that `part` has.
bool has_part(const Json& value, const Json& part) {
  if (!value.is_object()) return false;
  for (const auto& [key, wanted] : part.items()) {
    const auto found = value.find(key);
    if (found == value.end() || !is_same(*found, wanted)) return false;
  }
  return true;
}

/// The index of a choice's value: the same one, or the only one that has all of an object's parts,
/// as people name the branch of a conditional space.
std::optional<std::size_t> find_in(const Choice& choice, const Json& value) {
  if (const auto found = find_value(choice.values, value)) return found;
  if (!value.is_object() || value.empty()) return std::nullopt;
  std::optional<std::size_t> only;
  for (std::size_t i = 0; i < choice.values.size(); ++i) {
    if (!has_part(choice.values[i], value)) continue;
    if (only) return std::nullopt;
    only = i;
  }
  return only;
}

/// As a draw has it, or a drawn config would not be known for the same: 1e3 is a whole number among
/// whole ones, and 1 is 1.0 among others.
Json as_written_for(const Domain& domain, const Json& value) {
  if (!std::holds_alternative<Integer>(domain) && value.is_number_integer()) {
    return value.get<double>();
  }
  const bool is_whole = std::holds_alternative<Integer>(domain) && value.is_number_float() &&
                        std::trunc(value.get<double>()) == value.get<double>() &&
                        std::abs(value.get<double>()) < 0x1p53;
  return is_whole ? Json(static_cast<std::int64_t>(value.get<double>())) : value;
}

}  // namespace

std::optional<UserPrior> parse_prior(const Json& json, const Domain& domain,
                                     const std::string& pointer, std::vector<Problem>& problems) {
  const auto found = json.find("prior");
  if (found == json.end()) return std::nullopt;
  const std::string place = append_pointer(pointer, "prior");
  const std::string name = name_of(json);
  const std::size_t problems_before = problems.size();
  const auto complain = [&](const std::string& at, const std::string& sentence) {
    problems.push_back({at, sentence});
  };
  if (const std::string why = why_none(domain); !why.empty()) {
    complain(place, "'" + name + "' takes no prior: " + why);
    return std::nullopt;
  }

  UserPrior prior{*found};
  std::string value_place = place;
  const auto* const choice = std::get_if<Choice>(&domain);
  const bool is_value = choice != nullptr && find_value(choice->values, *found);
  if (found->is_object() && found->contains("value") && !is_value) {
    value_place = append_pointer(place, "value");
    prior.value = (*found)["value"];
    for (const auto& [key, value] : found->items()) {
      const auto* const known =
          std::find_if(confidences.begin(), confidences.end(),
                       [&v = value](const auto& one) { return v == one.first; });
      if (key == "confidence" && known == confidences.end()) {
        complain(append_pointer(place, key),
                 "a confidence is \"low\", \"medium\" or \"high\", got " + shorten(value));
      } else if (key == "confidence") {
        prior.confidence = known->second;
      } else if (key != "value") {
        complain(append_pointer(place, key),
                 "a prior has 'value' and 'confidence', not '" + key + "'");
      }
    }
  } else if (found->is_object() && choice == nullptr) {
    complain(place, "a prior is a value, or {\"value\": ..., \"confidence\": ...}, got " +
                        shorten(*found));
    return std::nullopt;
  }

  if (choice != nullptr) {
    if (const auto index = find_in(*choice, prior.value)) {
      prior.value = *index;
    } else {
      complain(value_place,
               "the prior's value must be one of those of 'choice', got " + shorten(prior.value));
    }
  } else {
    const Json given = std::exchange(prior.value, as_written_for(domain, prior.value));
    if (!contains(domain, prior.value)) {
      Json alone = json;
      alone.erase("prior");
      complain(value_place, "the prior's value must be one that " + shorten(alone) +
                                " can draw, got " + shorten(given));
    }
  }
  return problems.size() == problems_before ? std::optional(std::move(prior)) : std::nullopt;
}

}  // namespace tune
