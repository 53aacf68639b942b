// Adds time, iteration and totals to reported metrics, and says which metric is missing.
#include "tuner/run/trials/make_result.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tuner/base/json_text.h"
#include "tuner/plain/name_meant.h"
#include "tuner/spec/spec_fields.h"

namespace tune {

namespace {

/// A sum that starts when it is first reported; a total that the user reports wins.
std::optional<double> total(const Metrics& metrics, const char* total_name, const char* this_name,
                            std::optional<double> before) {
  if (const auto given = metrics.find(total_name)) return given;
  const auto more = metrics.find(this_name);
  return more ? before.value_or(0) + *more : before;
}

/// Not all of thousands.
std::string names_of(const Metrics& metrics) {
  constexpr std::size_t most_named = 20;
  std::string names;
  std::size_t named = 0;
  for (const auto& metric : metrics.numbers) {
    if (named++ == most_named)
      return names + " and " + std::to_string(metrics.numbers.size() - most_named) + " more";
    if (!names.empty()) names += ", ";
    names += metric.name;
  }
  return names.empty() ? "none" : names;
}

std::string metric_meant(const std::string& metric, const Metrics& metrics) {
  std::vector<std::string> names;
  for (const auto& each : metrics.numbers) names.emplace_back(each.name);
  return did_you_mean(metric, names);
}

/// What a result says under a name that is none of its numbers: "the text \"0.3\""; empty if it
/// says nothing there.
std::string value_that_is_no_number(const Metrics& metrics, const std::string& name) {
  const Json all = Json::parse(metrics.text, nullptr, false);
  const Json* at = &all;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string key = name.substr(begin, end - begin);
    if (!at->is_object() || !at->contains(key)) return "";
    at = &at->at(key);
    begin = end + 1;
  }
  return (at->is_string() ? "the text " : "") + describe(*at);
}

}  // namespace

Result make_result(const ResultRules& rules, const Trial& trial, Metrics metrics, Seconds now,
                   Seconds took_s) {
  Result result;
  result.metrics = std::move(metrics);
  result.training_iteration = trial.iteration + 1;
  if (const auto given = result.metrics.find("training_iteration")) {
    constexpr double last_iteration = 9e15;
    if (*given > last_iteration) {
      throw std::invalid_argument("it reported training_iteration " + Json(*given).dump() +
                                  ": the last that can be counted is " +
                                  Json(static_cast<std::int64_t>(last_iteration)).dump());
    }
    if (!(*given > static_cast<double>(trial.iteration)) || std::floor(*given) != *given) {
      std::string number;
      append_number(number, *given);
      throw std::invalid_argument("it reported training_iteration " + number + " after " +
                                  std::to_string(trial.iteration) +
                                  ": expected a larger whole number");
    }
    result.training_iteration = static_cast<std::int64_t>(*given);
  }
  const auto lacks = [&result](const std::string& what, const std::string& metric = "") {
    const std::string meant = metric_meant(metric, result.metrics);
    return std::invalid_argument("the result of iteration " +
                                 std::to_string(result.training_iteration) + " lacks the metric " +
                                 what + "; it has: " + names_of(result.metrics) +
                                 (meant.empty() ? "" : "; ") + meant);
  };
  for (const auto& [metric, mode] : rules.objectives) {
    if (result.find(metric)) continue;
    const std::string value = value_that_is_no_number(result.metrics, metric);
    if (value.empty()) throw lacks("'" + metric + "'", metric);
    throw std::invalid_argument("the result of iteration " +
                                std::to_string(result.training_iteration) + " has the metric '" +
                                metric + "' as " + value + ", which is not a number");
  }
  result.timestamp = now;
  result.time_this_iter_s = Result::iteration_time(result.metrics, took_s);
  result.time_total_s = trial.time_total_s + result.time_this_iter_s;
  result.time_since_restore = result.time_total_s - trial.restored_time_s;
  result.iterations_since_restore = result.training_iteration - trial.restored_iteration;
  result.timesteps_total =
      total(result.metrics, "timesteps_total", "timesteps_this_iter", trial.timesteps_total);
  result.episodes_total =
      total(result.metrics, "episodes_total", "episodes_this_iter", trial.episodes_total);
  if (const auto lacking = lacking_metric(rules.constraints, result)) throw lacks(*lacking);
  return result;
}

}  // namespace tune
