// What the tests of policies share: the catalogue of all that ship, and spaces to try them on.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "schedulers/schedulers.h"
#include "searchers/searchers.h"
#include "tests/space/space_helpers.h"
#include "tuner/policy/stopper_catalogue.h"

namespace tune {

inline Catalogue all_policies() {
  Catalogue catalogue;
  add_searchers(catalogue);
  add_schedulers(catalogue);
  add_stoppers(catalogue);
  return catalogue;
}

/// The searcher `name` with these options. `space` must outlive the call alone.
inline std::unique_ptr<Searcher> make_searcher(
    const std::string& name, const Json& space, std::int64_t num_samples,
    const Json& options = nullptr, std::uint64_t seed = 1,
    const std::vector<Objective>& objectives = {{"loss", Mode::min}},
    const std::vector<std::string>& constraints = {}) {
  const SearchSpace parsed = space_of(space);
  PolicyContext context{parsed, objectives, num_samples, seed};
  for (const std::string& text : constraints)
    context.constraints.push_back(parsed.constraint(text));
  return all_policies().searchers.at(name)(options, context);
}

/// The next config, or null if there is none.
inline Json next_config(Searcher& searcher, std::uint32_t trial = 0) {
  const Answer answer = searcher.suggest(TrialId(trial));
  const auto* suggestion = std::get_if<Suggestion>(&answer);
  return suggestion ? suggestion->config : Json();
}

/// All configs until there are no more, at most `limit`.
inline std::vector<Json> all_configs(Searcher& searcher, std::size_t limit = 1000) {
  std::vector<Json> configs;
  while (configs.size() < limit) {
    Json config = next_config(searcher, static_cast<std::uint32_t>(configs.size()));
    if (config.is_null()) break;
    configs.push_back(std::move(config));
  }
  return configs;
}

}  // namespace tune
