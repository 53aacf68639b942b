// From a typed object of the spec, {"type": ..., options}, to a policy.
// The catalogue's factories make the policies.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tuner/base/error.h"
#include "tuner/base/nearest_name.h"
#include "tuner/policy/catalogue.h"
#include "tuner/spec/foreign_fields.h"
#include "tuner/spec/spec_fields.h"

namespace tune {

/// The factory that `typed` names. `kind` is the word for it in sentences ("scheduler"). Null, with
/// a problem at `pointer` + "/type", if the type is missing or unknown.
template <class Policy>
const Factory<Policy>* find_factory(const Json& typed, const std::string& pointer,
                                    const std::string& kind,
                                    const std::map<std::string, Factory<Policy>>& factories,
                                    std::vector<Problem>& problems) {
  const auto type = typed.find("type");
  if (type == typed.end()) {
    const std::vector<std::string> known = {"type"};
    for (const auto& [key, value] : typed.items()) {
      if (!nearest_name(shown(key), known)) continue;
      problems.push_back({append_pointer(pointer, key), unknown_name("field", shown(key), known)});
      return nullptr;
    }
  }
  if (type == typed.end() || !type->is_string()) {
    const std::string got = type == typed.end() ? "nothing" : describe(*type);
    problems.push_back(
        {append_pointer(pointer, "type"), "type must be the name of a " + kind + ", got " + got});
    return nullptr;
  }
  const auto found = factories.find(type->get<std::string>());
  if (found != factories.end()) return &found->second;
  std::vector<std::string> names;
  for (const auto& [name, factory] : factories) names.push_back(name);
  const std::string name = shown(type->get<std::string>());
  const auto ours = policy_of_others(name, names);
  problems.push_back({append_pointer(pointer, "type"),
                      ours ? "unknown " + kind + " '" + name + "': here that is '" + *ours + "'"
                           : unknown_name(kind, name, names)});
  return nullptr;
}

/// The policy that `typed` names, made from all of it but the "type". Null, with a problem at or
/// below `pointer`, if the type is missing or unknown or an option is refused.
template <class Policy>
std::unique_ptr<Policy> make_policy(const Json& typed, const std::string& pointer,
                                    const std::string& kind,
                                    const std::map<std::string, Factory<Policy>>& factories,
                                    const PolicyContext& context, std::vector<Problem>& problems) {
  const Factory<Policy>* factory = find_factory(typed, pointer, kind, factories, problems);
  if (!factory) return nullptr;
  Json options = typed;
  options.erase("type");
  try {
    return (*factory)(options, context);
  } catch (const OptionError& error) {
    if (context.is_partial && !error.is_of_options) return nullptr;
    for (const Problem& each : error.problems) {
      problems.push_back({pointer + each.pointer, each.sentence});
    }
  } catch (const Error& error) {
    if (context.is_partial) return nullptr;
    problems.push_back({pointer, error.what()});
  }
  return nullptr;
}

}  // namespace tune
