#include "schedulers/mutations.h"

#include <algorithm>
#include <cmath>

#include "tuner/core/error.h"

namespace tune {

namespace {

/// Larger ones are not all numbers of type double.
constexpr double most_integer = 9e15;

void parse_into(std::vector<Mutation>& mutations, const Json& json, const std::string& at,
                const std::string& pointer, std::vector<Problem>& problems) {
  for (const auto& [key, value] : json.items()) {
    const std::string place = append_pointer(at, key);
    const std::string where = append_pointer(pointer, key);
    if (value.is_array() && !value.empty()) {
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
  const auto found =
      current == nullptr ? values.end() : std::find(values.begin(), values.end(), *current);
  if (resample || found == values.end()) return values[random.below(values.size())];
  const auto last = values.size() - 1;
  const auto i = static_cast<std::size_t>(found - values.begin());
  const bool goes_up = random.below(2) == 1;
  return values[goes_up ? std::min(i + 1, last) : (i == 0 ? 0 : i - 1)];
}

Json scale(const Domain& domain, const Json* current, bool resample,
           const std::vector<double>& factors, Random& random) {
  if (resample || current == nullptr || !current->is_number()) return draw(domain, random);
  const double scaled =
      nearest_in(domain, current->get<double>() * factors[random.below(factors.size())]);
  if (current->is_number_integer()) return static_cast<std::int64_t>(std::trunc(scaled));
  return scaled;
}

}  // namespace

double nearest_in(const Domain& domain, double number) {
  double lower = -most_integer, upper = most_integer, step = 0;
  if (const auto* const real = std::get_if<Uniform>(&domain)) {
    lower = real->lower, upper = real->upper, step = real->q;
  } else if (const auto* const whole = std::get_if<Integer>(&domain)) {
    lower = static_cast<double>(whole->lower);
    upper = static_cast<double>(whole->q > 1 ? whole->upper : whole->upper - 1);
    step = whole->q > 1 ? static_cast<double>(whole->q) : 0;
  } else if (const auto* const normal = std::get_if<Normal>(&domain)) {
    step = normal->q;
  }
  const double stepped = step > 0 ? std::round(number / step) * step : number;
  return std::clamp(stepped, lower, upper);
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
