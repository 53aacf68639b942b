// What there is and what a trial takes of it, as written in a spec. Knows no machine: what the spec
// leaves out is detected later, and only then can be compared.
#include <cmath>

#include "tuner/spec/spec_parts.h"

namespace tune {

namespace {

constexpr double most_gpus = 1'000'000;

bool is_whole(double amount) { return amount == std::trunc(amount); }

/// Whether all amounts of the field are good.
bool read_amounts(const FieldReader& top, const std::string& field, Resources& to,
                  std::vector<Problem>& problems) {
  const Json* json = top.find(field);
  if (!json) return true;
  if (!json->is_object()) {
    top.wrong(field, "an object like {\"cpu\": 2, \"gpu\": 0.5}", *json);
    return false;
  }
  const std::size_t before = problems.size();
  to.clear();
  for (const auto& [name, value] : json->items()) {
    const auto amount = to_number(value);
    if (amount && *amount >= 0) {
      to[name] = *amount;
    } else {
      problems.push_back(
          {append_pointer("/" + field, name),
           "the amount of " + quote(name) + " must be a number from 0, got " + describe(value)});
    }
  }
  return problems.size() == before;
}

void check_totals(const Resources& totals, std::vector<Problem>& problems) {
  const auto gpus = totals.find("gpu");
  if (gpus == totals.end() || (is_whole(gpus->second) && gpus->second <= most_gpus)) return;
  problems.push_back({"/resources/gpu",
                      "the amount of 'gpu' must be a whole number of devices up to 1000000, got " +
                          describe(gpus->second)});
}

void check_request(const Resources& request, const Resources& totals,
                   std::vector<Problem>& problems) {
  for (const auto& [name, amount] : request) {
    const std::string pointer = append_pointer("/resources_per_trial", name);
    const std::string got = ", got " + describe(amount);
    if (name == "gpu" && amount > 1 && !is_whole(amount)) {
      problems.push_back({pointer, "more than one gpu must be a whole number of them" + got});
    }
    const auto total = totals.find(name);
    if (total != totals.end() && amount > total->second) {
      problems.push_back({pointer, "a trial can never take more " + quote(name) + " than the " +
                                       describe(total->second) + " in resources" + got});
    }
  }
}

}  // namespace

void parse_resources(const FieldReader& top, ExperimentSpec& spec, std::vector<Problem>& problems) {
  const bool are_totals_good = read_amounts(top, "resources", spec.resources, problems);
  const bool is_request_good =
      read_amounts(top, "resources_per_trial", spec.resources_per_trial, problems);
  if (!are_totals_good || !is_request_good) return;
  check_totals(spec.resources, problems);
  check_request(spec.resources_per_trial, spec.resources, problems);

  bool takes_anything = spec.max_concurrent_trials.has_value();
  for (const auto& [name, amount] : spec.resources_per_trial) {
    takes_anything = takes_anything || amount > 0;
  }
  if (!takes_anything) {
    top.complain("resources_per_trial",
                 "trials that take no resources would all start at once: "
                 "give an amount above 0, or set max_concurrent_trials");
  }
}

}  // namespace tune
