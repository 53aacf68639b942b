// Parses "hyperparam_mutations" and applies PBT's exploration: scale a number, move to a neighbour
// in a list, or resample.
#include "schedulers/mutations.h"

#include <algorithm>
#include <cmath>

#include "tuner/base/error.h"

namespace tune {

namespace {

void parse_into(std::vector<Mutation>& mutations, const Json& json, const std::string& at,
                const std::string& pointer, std::vector<Problem>& problems) {
  for (const auto& [key, value] : json.items()) {
    const std::string place = append_pointer(at, key);
    const std::string where = append_pointer(pointer, key);
    if (value.is_array() && !value.empty()) {
      const std::size_t earlier = problems.size();
      for (std::size_t i = 0; i < value.size(); ++i) {
        std::vector<Problem> ignored;
        if (!parse_domain(value[i], where, ignored)) continue;
        problems.push_back(
            {append_pointer(where, std::to_string(i)),
             "a domain stands alone, or values in a list: got " + shorten(value[i])});
      }
      if (problems.size() > earlier) continue;
      mutations.push_back({place, std::vector<Json>(value.begin(), value.end())});
      continue;
    }
    if (!value.is_object() || value.empty()) {
      problems.push_back({where,
                          "expected a list of values, a domain of numbers, or an object of "
                          "those, got " +
                              shorten(value)});
      continue;
    }
    const std::size_t before = problems.size();
    const auto domain = parse_domain(value, where, problems);
    if (domain && value.contains("prior")) {
      problems.push_back({append_pointer(where, "prior"),
                          "a mutation takes no prior: that belongs to the param space"});
    }
    if (problems.size() > before) continue;
    if (!domain) {
      parse_into(mutations, value, place, where, problems);
    } else if (const auto* const choice = std::get_if<Choice>(&*domain)) {
      mutations.push_back({place, choice->values});
    } else if (std::holds_alternative<GridSearch>(*domain) ||
               std::holds_alternative<Expr>(*domain)) {
      problems.push_back({where,
                          "a grid or an expression cannot be mutated: expected a list of "
                          "values or a domain of numbers"});
    } else {
      mutations.push_back({place, *domain});
    }
  }
}

Json move_in(const std::vector<Json>& values, const Json* current, bool resample, Random& random) {
  const auto found = current == nullptr ? std::nullopt : find_value(values, *current);
  if (resample || !found) return values[random.below(values.size())];
  const bool goes_up = random.below(2) == 1;
  return values[goes_up ? std::min(*found + 1, values.size() - 1) : (*found == 0 ? 0 : *found - 1)];
}

/// Between two values of a domain of numbers; 0: there is none.
double step_of(const Domain& domain) {
  if (const auto* const integer = std::get_if<Integer>(&domain)) {
    return static_cast<double>(integer->q);
  }
  const auto* const real = std::get_if<Uniform>(&domain);
  return real != nullptr ? real->q : std::get<Normal>(domain).q;
}

Json scale(const Domain& domain, const Json* current, bool resample,
           const std::vector<double>& factors, Random& random) {
  if (resample || current == nullptr || !current->is_number()) return draw(domain, random);
  const double was = current->get<double>();
  const double factor = factors[random.below(factors.size())];
  const double step = step_of(domain);
  const double by = was * factor - was;
  if (step == 0 || factor == 1) return nearest_in(domain, was + by);
  // A small number would be rounded back to what it was, time and again; and 0 times anything is 0.
  const bool goes_up = (factor > 1) == (was >= 0);
  const double distance = std::max(std::abs(by), step);
  return nearest_in(domain, goes_up ? was + distance : was - distance);
}

}  // namespace

Json nearest_in(const Domain& domain, double number) {
  const auto* const real = std::get_if<Uniform>(&domain);
  if (real != nullptr && real->q == 0) return std::clamp(number, real->lower, real->upper);
  return nearest(domain, number);
}

std::vector<Mutation> parse_mutations(const Json& json, const std::string& pointer,
                                      std::vector<Problem>& problems) {
  std::vector<Mutation> mutations;
  parse_into(mutations, json, "", pointer, problems);
  return mutations;
}

Json explore(Json config, const std::vector<Mutation>& mutations, const Exploration& options,
             Random& random) {
  for (const Mutation& mutation : mutations) {
    const Json::json_pointer place(mutation.pointer);
    const Json* const current = config.contains(place) ? &config.at(place) : nullptr;
    const bool resample = random.uniform() < options.resample_probability;
    const auto* const list = std::get_if<std::vector<Json>>(&mutation.values);
    Json changed = list != nullptr ? move_in(*list, current, resample, random)
                                   : scale(std::get<Domain>(mutation.values), current, resample,
                                           options.perturbation_factors, random);
    config[place] = std::move(changed);
  }
  return config;
}

}  // namespace tune
