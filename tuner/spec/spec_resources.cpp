// What there is and what a trial takes of it, as written in a spec. Looks at no machine: what the
// spec leaves out is detected later, and only then can be compared.
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "tuner/spec/spec_parts.h"

namespace tune {

namespace {

constexpr double most_gpus = 1'000'000;

bool is_whole(double amount) { return amount == std::trunc(amount); }

constexpr int most_workers = 1'000;

std::optional<Placement> to_placement(const Json& json) {
  if (json == "pack") return Placement::pack;
  return json == "spread" ? std::optional(Placement::spread) : std::nullopt;
}

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

void check_request(const ExperimentSpec& spec, bool may_have_nodes,
                   std::vector<Problem>& problems) {
  const Resources& totals = spec.resources;
  const std::string of_workers =
      spec.workers ? " for " + std::to_string(spec.workers->count) + " workers" : "";
  for (const auto& [name, amount] : spec.resources_per_trial) {
    const std::string pointer = append_pointer("/resources_per_trial", name);
    const std::string got = ", got " + describe(amount);
    if (name == "gpu" && amount > 1 && !is_whole(amount)) {
      problems.push_back({pointer, "more than one gpu must be a whole number of them" + got});
    }
    const auto total = totals.find(name);
    // Of each node: workers of one trial may be on several.
    const bool is_of_one = !spec.workers || !may_have_nodes;
    if (total != totals.end() && amount > total->second && is_of_one) {
      problems.push_back({pointer, "a trial can never take more " + quote(name) + " than the " +
                                       describe(total->second) + " in resources" + got +
                                       of_workers});
    }
  }
}

/// What `workers` take together. Devices are whole: who shares one with nobody holds all of it.
Resources sum_of(const TrialWorkers& workers) {
  Resources sum;
  for (const auto& [name, amount] : workers.each) {
    sum[name] = amount * workers.count;
    if (name == "gpu" && sum[name] > 1) sum[name] = std::ceil(sum[name] - 1e-9);
  }
  return sum;
}

/// A trial takes what its workers take, or more.
void read_workers(const FieldReader& top, bool has_trials_own, ExperimentSpec& spec,
                  std::vector<Problem>& problems) {
  const auto to_count = [](const Json& json) {
    const auto count = to_int(json, 1);
    return count && *count <= most_workers ? count : std::nullopt;
  };
  const std::size_t before = problems.size();
  std::optional<int> count;
  top.read("num_workers", "an integer from 1 to " + std::to_string(most_workers), to_count, count);
  TrialWorkers workers{.count = count.value_or(1)};
  const Json* const each = top.find("resources_per_worker");
  if (each != nullptr && !each->is_null()) {
    read_amounts(top, "resources_per_worker", workers.each, problems);
  }
  if (problems.size() > before) return;
  if (!count) {
    if (each != nullptr && !each->is_null()) {
      top.complain("resources_per_worker",
                   "resources_per_worker needs num_workers, the number of workers");
    }
    return;
  }
  if (workers.each.empty() && !has_trials_own) workers.each = {{"cpu", 1}};
  const auto gpus = workers.each.find("gpu");
  if (gpus != workers.each.end() && gpus->second > 1 && !is_whole(gpus->second)) {
    problems.push_back(
        {"/resources_per_worker/gpu",
         "more than one gpu must be a whole number of them, got " + describe(gpus->second)});
    return;
  }
  const Resources sum = sum_of(workers);
  if (!has_trials_own) spec.resources_per_trial = sum;
  for (const auto& [name, amount] : sum) {
    const auto found = spec.resources_per_trial.find(name);
    const double given = found == spec.resources_per_trial.end() ? 0 : found->second;
    if (amount > given + 1e-9) {
      top.complain("resources_per_trial", std::to_string(workers.count) + " workers take " +
                                              describe(amount) + " of " + quote(name) +
                                              " together, and resources_per_trial has " +
                                              describe(given) + ": leave it out, or give more");
    }
  }
  spec.workers = std::move(workers);
}

}  // namespace

void parse_resources(const FieldReader& top, ExperimentSpec& spec, std::vector<Problem>& problems) {
  const bool are_totals_good = read_amounts(top, "resources", spec.resources, problems);
  const bool is_request_good =
      read_amounts(top, "resources_per_trial", spec.resources_per_trial, problems);
  top.read("placement", "\"pack\" or \"spread\"", to_placement, spec.placement);
  if (!are_totals_good || !is_request_good) return;
  const std::size_t before = problems.size();
  read_workers(top, top.find("resources_per_trial") != nullptr, spec, problems);
  if (problems.size() > before) return;
  check_totals(spec.resources, problems);
  const Json* const cluster = top.find("cluster");
  check_request(spec, cluster != nullptr && cluster->is_object(), problems);

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
