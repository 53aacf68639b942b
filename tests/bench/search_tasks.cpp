#include "tests/bench/search_tasks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "tuner/base/error.h"

namespace tune::bench {

namespace {

Json domain_of(const SearchTask& task, std::size_t place);

/// A value of a choice: its index, or an object with that and the parameters that come with it.
Json value_of(const SearchTask& task, std::size_t place, double value) {
  Json object = Json::object();
  for (std::size_t i = place + 1; i < task.params.size(); ++i) {
    const SearchParam& param = task.params[i];
    if (param.parent == place && param.parent_value == value) {
      object[param.name] = domain_of(task, i);
    }
  }
  const auto index = static_cast<std::int64_t>(value);
  if (object.empty()) return index;
  object["kind"] = index;
  return object;
}

Json domain_of(const SearchTask& task, std::size_t place) {
  const SearchParam& param = task.params[place];
  const auto whole = [](double value) { return static_cast<std::int64_t>(value); };
  switch (param.kind) {
    case SearchParam::Kind::real:
      if (param.step > 0) return {{"quniform", {param.low, param.high, param.step}}};
      return {{param.log ? "loguniform" : "uniform", {param.low, param.high}}};
    case SearchParam::Kind::whole:
      return {{param.log ? "lograndint" : "randint", {whole(param.low), whole(param.high) + 1}}};
    case SearchParam::Kind::choice:
      break;
  }
  Json values = Json::array();
  for (double value = 0; value <= param.high; ++value) {
    values.push_back(value_of(task, place, value));
  }
  return {{"choice", values}};
}

/// The object that the parameter is in; nothing if the config does not have it.
const Json* home_of(const SearchTask& task, std::size_t place, const Json& config) {
  const SearchParam& param = task.params[place];
  if (!param.parent) return &config;
  const Json* const home = home_of(task, *param.parent, config);
  if (home == nullptr) return nullptr;
  const Json& chosen = home->at(task.params[*param.parent].name);
  const bool is_there = chosen.is_object() && chosen.at("kind") == param.parent_value;
  return is_there ? &chosen : nullptr;
}

}  // namespace

Json SearchTask::space() const {
  Json json = Json::object();
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (!params[i].parent) json[params[i].name] = domain_of(*this, i);
  }
  return json;
}

Json SearchTask::space_with_priors(const std::string& which, std::uint64_t seed) const {
  constexpr int drawn = 1000;
  constexpr double off = 0.1;
  ensure(which == "good" || which == "bad", "a prior is good or bad");
  Json json = space();
  std::vector<Problem> problems;
  const SearchSpace parsed = SearchSpace::parse(json, "", problems);
  Random random(seed ^ 0x9e3779b97f4a7c15u);
  std::optional<std::pair<double, SearchValues>> chosen;
  for (int i = 0; i < drawn; ++i) {
    const SearchValues values = values_of(parsed.sample(0, random));
    const double one = which == "good" ? loss(values) : -loss(values);
    if (std::isfinite(one) && (!chosen || one < chosen->first)) chosen.emplace(one, values);
  }
  for (std::size_t i = 0; chosen && i < params.size(); ++i) {
    const SearchParam& param = params[i];
    if (param.parent) continue;
    Json& domain = json[param.name];
    double value = chosen->second[i];
    if (param.kind == SearchParam::Kind::choice) {
      domain["prior"] = domain["choice"][static_cast<std::size_t>(value)];
      continue;
    }
    const auto scale = [&](double x) { return param.log ? std::log(x) : x; };
    if (which == "good") {
      const double moved =
          random.normal(scale(value), off * (scale(param.high) - scale(param.low)));
      value = std::clamp(param.log ? std::exp(moved) : moved, param.low, param.high);
    }
    for (const SpaceLeaf& leaf : parsed.leaves()) {
      if (leaf.pointer == "/" + param.name) domain["prior"] = nearest(leaf.domain, value);
    }
  }
  return json;
}

SearchValues SearchTask::values_of(const Json& config) const {
  SearchValues values;
  for (std::size_t i = 0; i < params.size(); ++i) {
    const Json* const home = home_of(*this, i, config);
    if (home == nullptr) {
      values.push_back(std::numeric_limits<double>::quiet_NaN());
      continue;
    }
    const Json& value = home->at(params[i].name);
    values.push_back(value.is_object() ? value.at("kind").get<double>() : value.get<double>());
  }
  return values;
}

Json SearchTask::params_json() const {
  Json all = Json::array();
  for (const SearchParam& param : params) {
    const char* const kind = param.kind == SearchParam::Kind::real    ? "real"
                             : param.kind == SearchParam::Kind::whole ? "whole"
                                                                      : "choice";
    all.push_back({{"name", param.name},
                   {"kind", kind},
                   {"low", param.low},
                   {"high", param.high},
                   {"log", param.log},
                   {"step", param.step},
                   {"parent", param.parent ? Json(*param.parent) : Json()},
                   {"parent_value", param.parent_value}});
  }
  return all;
}

double expected_best(const std::vector<double>& losses, int n) {
  const auto count = static_cast<double>(losses.size());
  double sum = 0;
  for (std::size_t k = 0; k < losses.size(); ++k) {
    const double worse = 1 - static_cast<double>(k) / count;  // the share from k on
    sum += losses[k] * (std::pow(worse, n) - std::pow(worse - 1 / count, n));
  }
  return sum;
}

std::vector<double> reference_losses(const SearchTask& task) {
  if (!task.losses.empty()) return task.losses;
  constexpr int draws = 200'000;
  std::vector<Problem> problems;
  const SearchSpace space = SearchSpace::parse(task.space(), "", problems);
  ensure(problems.empty(), "the param space of a task is right");
  Random random(0);
  std::vector<double> losses;
  for (int i = 0; i < draws; ++i) {
    losses.push_back(task.loss(task.values_of(space.sample(0, random))));
  }
  std::sort(losses.begin(), losses.end());
  return losses;
}

}  // namespace tune::bench
